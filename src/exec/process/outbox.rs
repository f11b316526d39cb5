//! The worker's way out: frames collect in a buffer and leave together, so that a short
//! script answers with one write. Whoever must not wait flushes.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::wire::{self, Kind};

/// Frames leave when this many bytes wait, whether anybody flushes or not.
const BUFFER: usize = 32 << 10;

/// Shared by the thread of the script, the one that takes orders and the memory watch.
pub(super) struct Outbox {
    state: Mutex<State>,
}

struct State {
    socket: UnixStream,
    waiting: Vec<u8>,
    /// Output is read live: nothing waits.
    live: bool,
}

impl Outbox {
    pub(super) fn new(socket: UnixStream) -> Self {
        Self { state: Mutex::new(State { socket, waiting: Vec::with_capacity(BUFFER), live: false }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether output leaves at once from here on.
    pub(super) fn set_live(&self, live: bool) {
        self.state().live = live;
    }

    /// Adds a frame. Blocks while the server does not read.
    pub(super) fn put(&self, kind: Kind, parts: &[&[u8]]) -> io::Result<()> {
        let mut state = self.state();
        if let [first @ .., large] = parts
            && large.len() >= BUFFER
        {
            // It is not copied: it may be as large as a script's memory.
            wire::put_head(&mut state.waiting, kind, parts)?;
            first.iter().for_each(|part| state.waiting.extend_from_slice(part));
            state.flush()?;
            return state.socket.write_all(large);
        }
        wire::put(&mut state.waiting, kind, parts)?;
        if state.live || state.waiting.len() >= BUFFER { state.flush() } else { Ok(()) }
    }

    /// Adds a message and sends all that waits.
    pub(super) fn say(&self, kind: Kind, message: &impl Serialize) -> io::Result<()> {
        let mut state = self.state();
        wire::say(&mut state.waiting, kind, message)?;
        state.flush()
    }

    /// Sends all that waits.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.state().flush()
    }
}

impl State {
    fn flush(&mut self) -> io::Result<()> {
        let result = self.socket.write_all(&self.waiting);
        self.waiting.clear();
        // A large content should not stay resident twice.
        self.waiting.shrink_to(4 * BUFFER);
        result
    }
}
