//! A program on a stack of its own, on the thread of its script. It is left where it waits,
//! and where it has printed; what it printed goes out, and it goes on.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// How a program leaves its stack.
pub(super) type Way = Yielder<(), Step>;

/// Addresses for the stack; memory is taken as it is used. The engine's own limit comes first.
const STACK_BYTES: usize = 128 << 20;

/// What a program printed, in order.
pub(crate) struct Piece {
    /// On standard error.
    pub(crate) error: bool,
    pub(crate) data: Vec<u8>,
}

/// Why a program was left.
pub(crate) enum Step {
    Printed(Vec<Piece>),
    /// It has nothing to do for so long.
    Waits(Duration),
    /// Its exit code.
    Ended(u8),
}

/// A program that runs. Dropped before its end, it is ended.
pub(crate) struct Running {
    machine: Coroutine<(), Step, u8, DefaultStack>,
    /// Tells the program to end.
    over: Rc<Cell<bool>>,
}

// SAFETY: a script and all of its commands are one future, which the script's own thread polls
// from its first to its last line (`Seat::runtime`, a runtime of this one thread).
#[expect(unsafe_code, reason = "the engine's commands must be Send, though nothing is sent")]
unsafe impl Send for Running {}

impl Running {
    /// Gives `program` a stack. It begins with the first [`Running::go_on`].
    pub(super) fn new(
        over: Rc<Cell<bool>>,
        program: impl FnOnce(&Way) -> u8 + 'static,
    ) -> std::io::Result<Self> {
        let stack = DefaultStack::new(STACK_BYTES)?;
        Ok(Self { machine: Coroutine::with_stack(stack, move |way, ()| program(way)), over })
    }

    /// Goes on to where it is left next. Not to be called after its end.
    pub(crate) fn go_on(&mut self) -> Step {
        match self.machine.resume(()) {
            CoroutineResult::Yield(step) => step,
            CoroutineResult::Return(exit) => Step::Ended(exit),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.over.set(true);
        // To take the stack away under it would leave the engine's C in the middle.
        while !self.machine.done() {
            let _ = self.machine.resume(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_dropped_is_ended_first() {
        let (over, ended) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
        let (told, end) = (over.clone(), ended.clone());
        let mut running = Running::new(over, move |way| {
            while !told.get() {
                way.suspend(Step::Waits(Duration::ZERO));
            }
            end.set(true);
            0
        })
        .unwrap();
        assert!(matches!(running.go_on(), Step::Waits(_)) && matches!(running.go_on(), Step::Waits(_)));
        assert!(!ended.get());
        drop(running);
        assert!(ended.get());
    }
}
