//! Output of one exec: kept up to a limit, or sent on live, byte-exact.

use std::sync::Mutex;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::clock::{self, Instant};

/// Which stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A piece of live output.
#[derive(Clone, Debug)]
pub struct OutputChunk {
    /// Which stream.
    pub stream: Stream,
    /// Milliseconds since the script started.
    pub t_ms: u64,
    /// The bytes, never empty.
    pub data: Bytes,
}

/// What a live exec sends before its reply.
#[derive(Clone, Debug)]
pub enum LiveEvent {
    /// The script is about to start: nothing that fails before it can fail any more.
    Started,
    /// Output.
    Output(OutputChunk),
}

/// What was kept of a buffered exec.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Whether more came than was kept.
    pub stdout_truncated: bool,
    /// Whether more came than was kept.
    pub stderr_truncated: bool,
}

/// Sink of one exec. What exceeds `limit` bytes a stream is dropped and flagged; the
/// script goes on.
#[derive(Debug)]
pub struct Output {
    limit: usize,
    started: Instant,
    sink: Sink,
    /// Bytes a stream that are kept of live output.
    keep: usize,
    state: Mutex<State>,
}

/// What becomes of output that is within the limit.
enum Sink {
    Keep,
    Live(mpsc::Sender<LiveEvent>),
    Forward(Box<Forward>),
}

/// Takes output further, on the thread that writes it. May block.
pub type Forward = dyn Fn(Stream, &[u8]) + Send + Sync;

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Keep => "Keep",
            Self::Live(_) => "Live",
            Self::Forward(_) => "Forward",
        })
    }
}

#[derive(Debug, Default)]
struct State {
    kept: Captured,
    seen: [usize; 2],
    left: bool,
    closed: bool,
}

impl Output {
    /// Keeps output for the reply.
    #[must_use]
    pub fn buffered(limit: usize) -> Self {
        Self { limit, started: clock::now(), sink: Sink::Keep, keep: 0, state: Mutex::default() }
    }

    /// Sends output on as it comes. Back-pressure: a full channel holds the script up.
    #[must_use]
    pub fn live(limit: usize, to: mpsc::Sender<LiveEvent>) -> Self {
        Self { sink: Sink::Live(to), ..Self::buffered(limit) }
    }

    /// Hands output on as it comes: from a worker process to its server.
    #[must_use]
    pub fn forward(limit: usize, to: Box<Forward>) -> Self {
        Self { sink: Sink::Forward(to), ..Self::buffered(limit) }
    }

    /// Bytes a stream that are not dropped.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether somebody reads it while the script runs.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self.sink, Sink::Live(_))
    }

    /// The same, with the beginning of live output kept, too.
    #[must_use]
    pub fn keeping(self, keep: usize) -> Self {
        Self { keep, ..self }
    }

    /// Takes a piece of output; waits while a live reader is behind. A reader that
    /// went away is not an error here: its departure cancels the exec elsewhere.
    pub async fn write(&self, stream: Stream, data: &[u8]) {
        let piece = {
            let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if state.closed {
                return;
            }
            let seen = state.seen[stream as usize];
            let room = self.limit.saturating_sub(seen);
            let fits = &data[..data.len().min(room)];
            state.seen[stream as usize] = seen.saturating_add(data.len());
            let cut = fits.len() < data.len();
            let kept = &mut state.kept;
            let (bytes, truncated) = match stream {
                Stream::Stdout => (&mut kept.stdout, &mut kept.stdout_truncated),
                Stream::Stderr => (&mut kept.stderr, &mut kept.stderr_truncated),
            };
            *truncated |= cut;
            let keep = match self.sink {
                Sink::Keep => fits.len(),
                Sink::Live(_) => fits.len().min(self.keep.saturating_sub(bytes.len())),
                Sink::Forward(_) => 0,
            };
            bytes.extend_from_slice(&fits[..keep]);
            if fits.is_empty() {
                return;
            }
            state.left |= self.is_live();
            fits
        };
        match &self.sink {
            Sink::Keep => {}
            Sink::Forward(to) => to(stream, piece),
            Sink::Live(live) => {
                let t_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
                // An error means that the reader left.
                let _ = live
                    .send(LiveEvent::Output(OutputChunk {
                        stream,
                        t_ms,
                        data: Bytes::copy_from_slice(piece),
                    }))
                    .await;
            }
        }
    }

    /// Drops all that still comes: the exec is over for its caller, although a thread
    /// may go on.
    pub fn close(&self) {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).closed = true;
    }

    /// Whether something was sent to a live reader: then the script cannot be re-run.
    #[must_use]
    pub fn left(&self) -> bool {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).left
    }

    /// A copy of up to `most` bytes a stream of what was kept, from its beginning.
    #[must_use]
    pub fn beginning(&self, most: usize) -> Captured {
        let state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let cut = |bytes: &[u8]| bytes[..bytes.len().min(most)].to_vec();
        let (stdout, stderr) = (cut(&state.kept.stdout), cut(&state.kept.stderr));
        let [out, err] = state.seen;
        Captured {
            stdout_truncated: out > stdout.len(),
            stderr_truncated: err > stderr.len(),
            stdout,
            stderr,
        }
    }

    /// Takes what was kept, leaving nothing: before a re-run, and for the reply.
    #[must_use]
    pub fn take(&self) -> Captured {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.seen = [0, 0];
        std::mem::take(&mut state.kept)
    }
}
