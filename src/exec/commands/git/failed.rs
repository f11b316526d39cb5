//! Why a command ends: its exit code, and what stands on standard error.

use crate::fs::Errno;

/// An end with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) exit: u8,
    /// All of it, without the last newline.
    pub(super) message: String,
}

/// What a step comes to.
pub(super) type Done<T = ()> = Result<T, Failed>;

/// The command cannot go on.
pub(super) fn fatal(message: impl AsRef<str>) -> Failed {
    Failed { exit: 128, message: format!("fatal: {}", message.as_ref()) }
}

/// The command was refused, and could be given otherwise.
pub(super) fn error(message: impl AsRef<str>) -> Failed {
    Failed { exit: 1, message: format!("error: {}", message.as_ref()) }
}

/// A call to the file system failed.
pub(super) fn at(path: &str) -> impl Fn(Errno) -> Failed + '_ {
    move |errno| fatal(format!("{path}: {errno}"))
}
