//! One worker process as the server holds it. Dropping it kills the process.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::guards::Closed;
use super::memory::OUT_OF_MEMORY;
use super::pool::Counts;
use super::wire::{self, Kind, Order, Prepare, Ready};
use super::{spawner, turns};
use crate::exec::End;

/// A worker that is not ready after this long is given up. (A busy machine may take a
/// second; nothing that works takes ten.)
const START: Duration = Duration::from_secs(10);

/// Bytes that are read at once.
const ROOM: usize = 64 << 10;

/// Both ends of the conversation, without the process.
pub(super) struct Line {
    data: UnixStream,
    received: BytesMut,
    /// A message is on its way: whoever was sending it and went away has left a part of it.
    sending: bool,
}

/// The orders to a worker.
pub(super) struct Orders(Pair);

/// A process that runs scripts.
pub(super) struct Worker {
    pub(super) line: Line,
    pub(super) orders: Orders,
    /// The thread that its scripts run on.
    pub(super) thread: i32,
    /// Stops it and lets it go on; not on kernels before 5.3.
    pub(super) handle: Option<Arc<turns::Process>>,
    /// Processor time of that thread when it was last idle.
    pub(super) used: Duration,
    /// Guards that hold.
    pub(super) closed: Closed,
    /// Its scripts may run Python.
    pub(super) python: bool,
    process: Process,
}

/// The process itself, killed when dropped.
struct Process {
    child: Option<Child>,
    last_words: Pair,
    counts: Arc<Counts>,
}

impl Worker {
    /// Starts a process and waits until it can take scripts.
    pub(super) async fn start(
        program: &Path,
        prepare: &Prepare,
        python: bool,
        counts: Arc<Counts>,
    ) -> io::Result<Self> {
        let (data, its_data) = Pair::pair()?;
        let (orders, its_orders) = Pair::pair()?;
        let (last_words, its_last_words) = Pair::pair()?;
        // Order bytes are few; a worker that does not take them is about to be killed.
        orders.set_nonblocking(true)?;
        last_words.set_nonblocking(true)?;
        let mut command = Command::new(program);
        // Its own path says little: /proc/self/exe.
        if program == Path::new(super::Workers::THIS_PROGRAM) {
            command.arg0("sqlfs");
        }
        command
            .arg("worker")
            .args(python.then_some("--python"))
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(its_data)))
            .stdout(Stdio::from(OwnedFd::from(its_orders)))
            .stderr(Stdio::from(OwnedFd::from(its_last_words)));
        let child = spawner::spawn(command).await?;
        counts.started.fetch_add(1, Ordering::Relaxed);
        counts.alive.fetch_add(1, Ordering::Relaxed);
        let tasks = format!("/proc/{}/task", child.id());
        let handle = turns::Process::of(child.id()).map(Arc::new);
        let process = Process { child: Some(child), last_words, counts };
        data.set_nonblocking(true)?;
        let mut line = Line {
            data: UnixStream::from_std(data)?,
            received: BytesMut::with_capacity(ROOM),
            sending: false,
        };
        let mut first = Vec::new();
        wire::say(&mut first, Kind::Prepare, prepare)?;
        line.send(&first).await?;
        let ready = tokio::time::timeout(START, line.next(|_| 4096)).await;
        let Ready { closed, thread, used } = match ready {
            Ok(Ok((Kind::Ready, payload))) => wire::parse(&payload)?,
            Ok(Ok(_)) => return Err(wire::bad("a worker did not say that it is ready")),
            Ok(Err(error)) => return Err(process.why(&error)),
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        };
        // Its priority will be changed: no other process' may be.
        if thread <= 0 || !Path::new(&tasks).join(thread.to_string()).exists() {
            return Err(wire::bad("a worker named a thread that it does not have"));
        }
        Ok(Self { line, orders: Orders(orders), thread, handle, used, closed, python, process })
    }

    /// Ends the process at once and says what it died of, if it had died already.
    pub(super) async fn autopsy(mut self) -> Death {
        let words = self.process.last_words();
        let Some(mut child) = self.process.child.take() else { return Death::Unknown };
        // It has closed its sockets, so it is ending; should it not, it is killed.
        let ended = tokio::task::spawn_blocking(move || {
            for _ in 0..100 {
                if let Some(status) = child.try_wait()? {
                    return Ok(status);
                }
                std::thread::park_timeout(Duration::from_millis(1));
            }
            child.kill()?;
            child.wait()
        });
        match ended.await {
            Ok(Ok(status)) => Death::of(status, &words),
            Ok(Err(_)) | Err(_) => Death::Unknown,
        }
    }
}

impl Line {
    /// Sends bytes, whole.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sending = true;
        self.data.write_all(bytes).await?;
        self.sending = false;
        Ok(())
    }

    /// Whether messages begin where they should, so that others can follow.
    pub(super) fn is_whole(&self) -> bool {
        !self.sending
    }

    /// The next frame, its payload not longer than `longest` says for its kind. An error
    /// at the end of the stream.
    pub(super) async fn next(&mut self, longest: impl Fn(Kind) -> usize) -> io::Result<(Kind, Bytes)> {
        loop {
            match wire::take(&mut self.received, &longest)? {
                Ok(frame) => return Ok(frame),
                Err(missing) => self.received.reserve(missing.max(ROOM)),
            }
            if self.data.read_buf(&mut self.received).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Whether the worker has said something, or ended, while nobody asked it.
    pub(super) fn is_quiet(&self) -> bool {
        let mut byte = [0; 1];
        let nothing =
            self.data.try_read(&mut byte).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        nothing && self.received.is_empty()
    }
}

impl Orders {
    /// Tells the worker to end a script.
    pub(super) fn give(&mut self, order: Order, number: u64) {
        // One that cannot be told is killed soon.
        let _ = self.0.write_all(&order.to_bytes(number));
    }
}

impl Process {
    /// The runtime's last words: at most what fits the socket, of which a part is looked at.
    fn last_words(&self) -> String {
        let mut text = [0; 1024];
        let read = (&self.last_words).read(&mut text).unwrap_or(0);
        String::from_utf8_lossy(&text[..read]).into_owned()
    }

    fn why(&self, error: &io::Error) -> io::Error {
        io::Error::other(format!("{error}: {}", self.last_words().trim()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        /// Waits for processes that were killed, so that none is left as a zombie.
        static REAPER: LazyLock<mpsc::Sender<Child>> = LazyLock::new(|| {
            let (send, receive) = mpsc::channel::<Child>();
            let reap = move || receive.iter().for_each(|mut child| drop(child.wait()));
            let _ = std::thread::Builder::new().name("reaper".into()).spawn(reap);
            send
        });
        self.counts.alive.fetch_sub(1, Ordering::Relaxed);
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = REAPER.send(child);
        }
    }
}

/// What a worker died of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    Memory,
    Stack,
    Unknown,
}

impl Death {
    fn of(status: ExitStatus, last_words: &str) -> Self {
        match (status.code(), status.signal()) {
            (Some(OUT_OF_MEMORY), _) => Self::Memory,
            (_, Some(libc::SIGABRT)) if last_words.contains("memory allocation of") => Self::Memory,
            (_, Some(libc::SIGABRT)) if last_words.contains("overflowed its stack") => Self::Stack,
            (_, Some(libc::SIGSEGV | libc::SIGBUS)) => Self::Stack,
            _ => Self::Unknown,
        }
    }

    /// The end of the script that it died in.
    pub(super) fn end(self, memory: u64) -> End {
        match self {
            Self::Memory => End::Limit {
                name: "memory",
                message: format!("the script's process may hold {memory} bytes (WORKER_MEMORY_BYTES)"),
            },
            Self::Stack => End::Limit {
                name: "stack",
                message: "a command of the script recursed deeper than its stack".to_owned(),
            },
            Self::Unknown => End::Failed("the script's worker process died".to_owned()),
        }
    }
}
