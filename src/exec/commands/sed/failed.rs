//! What ends a run.

use crate::exec::commands::posix_regex::GivenUp;

/// Why, and the exit status.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) exit: u8,
    pub(super) message: String,
}

impl Failed {
    pub(super) fn new(exit: u8, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }
}

impl From<GivenUp> for Failed {
    fn from(GivenUp: GivenUp) -> Self {
        Self::new(4, "a regular expression takes too many steps on this line")
    }
}
