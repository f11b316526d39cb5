//! What a program's calls out of JavaScript share.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::{self, Instant};
use crate::exec::commands::{Answer, absolute};
use crate::fs::WorkingCopy;

/// Most bytes that a program prints: they are held until it ends, and copied then.
const PRINTED: usize = 64 << 20;

/// One program.
pub(super) struct State {
    pub(super) files: Arc<WorkingCopy>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) stdin: Vec<u8>,
    pub(super) cwd: RefCell<String>,
    pub(super) answer: RefCell<Answer>,
    /// The exit code, once there is one: nothing runs on from there.
    pub(super) exit: Cell<Option<i32>>,
    started: Instant,
}

impl State {
    pub(super) fn new(
        files: Arc<WorkingCopy>,
        env: BTreeMap<String, String>,
        stdin: Vec<u8>,
        cwd: &str,
    ) -> Self {
        Self {
            files,
            env,
            stdin,
            cwd: RefCell::new(cwd.to_owned()),
            answer: RefCell::default(),
            exit: Cell::new(None),
            started: clock::now(),
        }
    }

    /// Milliseconds since the start of the program.
    pub(super) fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64() * 1000.0
    }

    /// A path of the program as an absolute one.
    pub(super) fn path(&self, path: &str) -> String {
        absolute(&self.cwd.borrow(), path)
    }

    /// Whether the engine has to stop where it is.
    pub(super) fn is_over(&self) -> bool {
        self.exit.get().is_some() || self.files.fatal().is_some()
    }

    /// Keeps what the program prints; one that prints more than it may hold ends there.
    pub(super) fn print(&self, error: bool, data: &[u8]) {
        if self.exit.get().is_some() {
            return;
        }
        let limit = usize::try_from(self.files.quota().memory).unwrap_or(usize::MAX).min(PRINTED);
        let mut answer = self.answer.borrow_mut();
        if answer.stdout.len() + answer.stderr.len() + data.len() > limit {
            self.exit.set(Some(134));
            answer.complain(134, format!("node: the program printed more than {limit} bytes"));
            return;
        }
        let stream = if error { &mut answer.stderr } else { &mut answer.stdout };
        stream.extend_from_slice(data);
    }
}
