//! What a program's calls out of JavaScript share.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::live::{Piece, Step, Way};
use crate::clock::{self, Instant};
use crate::exec::commands::absolute;
use crate::fs::WorkingCopy;

/// Most bytes that a program prints: whoever reads them may hold all.
const PRINTED: usize = 64 << 20;

/// Bytes that are held back at most, so that not each line is a way out and back in.
const HELD: usize = 64 << 10;

/// How long they are held back.
const SOON: Duration = Duration::from_millis(20);

/// One program.
pub(super) struct State {
    pub(super) files: Arc<WorkingCopy>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) stdin: Vec<u8>,
    pub(super) cwd: RefCell<String>,
    /// The exit code, once there is one: nothing runs on from there.
    pub(super) exit: Cell<Option<i32>>,
    /// Nobody waits for the program any more.
    over: Rc<Cell<bool>>,
    /// Printed, and still here.
    held: RefCell<Vec<Piece>>,
    printed: Cell<usize>,
    /// When something left last.
    left: Cell<Instant>,
    way: Cell<Option<NonNull<Way>>>,
    started: Instant,
}

impl State {
    pub(super) fn new(
        files: Arc<WorkingCopy>,
        env: BTreeMap<String, String>,
        stdin: Vec<u8>,
        cwd: &str,
        over: Rc<Cell<bool>>,
    ) -> Self {
        Self {
            files,
            env,
            stdin,
            cwd: RefCell::new(cwd.to_owned()),
            exit: Cell::new(None),
            over,
            held: RefCell::default(),
            printed: Cell::new(0),
            left: Cell::new(clock::now()),
            way: Cell::new(None),
            started: clock::now(),
        }
    }

    /// Runs `program`, which may leave its stack by `way` while it runs.
    pub(super) fn on<T>(&self, way: &Way, program: impl FnOnce() -> T) -> T {
        self.way.set(Some(NonNull::from(way)));
        let done = program();
        self.leave();
        self.way.set(None);
        done
    }

    fn step(&self, step: Step) {
        if let Some(way) = self.way.get() {
            // SAFETY: it is set while `on` holds the reference that it was made of, and what
            // asks for it runs within.
            #[expect(unsafe_code, reason = "the reference cannot be named in a type that callbacks hold")]
            let way = unsafe { way.as_ref() };
            way.suspend(step);
        }
    }

    /// Lets out what was printed.
    pub(super) fn leave(&self) {
        let pieces = self.held.take();
        if !pieces.is_empty() && !self.over.get() {
            self.step(Step::Printed(pieces));
        }
        self.left.set(clock::now());
    }

    /// Lets others run for a while.
    pub(super) fn wait(&self, time: Duration) {
        self.step(Step::Waits(time));
    }

    /// Asked by the engine again and again: whether it has to stop where it is. What was
    /// printed leaves when it is time.
    pub(super) fn looked_after(&self) -> bool {
        if !self.held.borrow().is_empty() && self.left.get().elapsed() >= SOON {
            self.leave();
        }
        self.is_over()
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
        self.exit.get().is_some() || self.over.get() || self.files.fatal().is_some()
    }

    /// Takes what the program prints; one that prints too much ends there.
    pub(super) fn print(&self, error: bool, data: &[u8]) {
        if self.exit.get().is_some() || self.over.get() {
            return;
        }
        let limit = usize::try_from(self.files.quota().memory).unwrap_or(usize::MAX).min(PRINTED);
        let printed = self.printed.get() + data.len();
        if printed > limit {
            self.hold(true, format!("node: the program printed more than {limit} bytes\n").as_bytes());
            self.exit.set(Some(134));
            return;
        }
        self.printed.set(printed);
        if self.hold(error, data) >= HELD || self.left.get().elapsed() >= SOON {
            self.leave();
        }
    }

    /// Gives the bytes that are held back.
    fn hold(&self, error: bool, data: &[u8]) -> usize {
        let mut held = self.held.borrow_mut();
        match held.last_mut() {
            Some(piece) if piece.error == error => piece.data.extend_from_slice(data),
            _ => held.push(Piece { error, data: data.to_vec() }),
        }
        held.iter().map(|piece| piece.data.len()).sum()
    }
}
