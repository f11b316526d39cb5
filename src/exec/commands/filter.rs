//! Commands that work while standard input still comes: what they print leaves before it
//! ends, and they may stop before it does.

use bytes::Bytes;

use super::{Answer, Call};

/// What a [`Filter`] does next.
pub(crate) enum Next {
    /// It waits for more of standard input.
    Input,
    /// It goes on when what it printed has left.
    Again,
    /// As `Again`, with more to print after what the answer holds: it is not copied.
    Print(Bytes),
    /// It has ended, with the answer's exit status.
    Done,
}

/// A call of such a command, step by step.
pub(crate) trait Filter: Send {
    /// Works as far as it can. `input` is what [`Next::Input`] asked for: some bytes, none at
    /// the end of standard input. What is printed goes into `answer`, which is emptied
    /// between the steps; its exit stays. [`Call::stdin`] is empty.
    fn step(&mut self, call: &Call<'_>, input: Option<&[u8]>, answer: &mut Answer) -> Next;
}

/// Begins a call. `Err`: it ends at once.
pub(crate) type Begin = for<'a> fn(&Call<'a>) -> Result<Box<dyn Filter + 'a>, Answer>;
