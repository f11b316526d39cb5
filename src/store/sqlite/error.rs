//! From the driver's errors to what the caller does next. Texts are for the log.

use std::path::Path;

use crate::store::StoreError;

/// A failure by its consequence.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing was applied; the file or its disk is not well, or busy.
    Unavailable(String),
    /// The COMMIT was sent, or the call given up on: it may or may not be applied.
    Lost(String),
    /// Nothing was applied; a content is not there. Repeat with its bytes.
    ContentGone(String),
    /// Nothing was applied; the configuration is wrong.
    Refused(String),
    /// Nothing was applied; a unique index refused.
    Taken(String),
    /// Nothing was applied; rows or schema are not what the code believes.
    Inconsistent(String),
}

impl Failure {
    pub(super) fn of(error: sqlx::Error) -> Self {
        let text = error.to_string();
        match error {
            sqlx::Error::Database(error) => {
                // The extended result code; its low byte is the primary one.
                let code: u32 = error.code().and_then(|code| code.parse().ok()).unwrap_or_default();
                match (code, code & 0xff) {
                    (787, _) => Self::ContentGone(text),
                    (1555 | 2067, _) => Self::Taken(text),
                    // BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, FULL, CANTOPEN.
                    (_, 5 | 6 | 7 | 8 | 9 | 10 | 13 | 14) => Self::Unavailable(text),
                    (_, _) => Self::Inconsistent(text),
                }
            }
            sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Io(_) => Self::Unavailable(text),
            // The driver's list is open; what it adds is a bug until it is looked at.
            _ => Self::Inconsistent(text),
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(super) fn of_open(error: sqlx::Error, path: &Path) -> StoreError {
        StoreError::Refused(format!("the database {} cannot be opened: {error}", path.display()))
    }

    /// For calls that may be repeated whether or not they were applied.
    pub(super) fn of_repeatable(self) -> StoreError {
        match self {
            Self::Unavailable(text) | Self::Lost(text) => StoreError::Unavailable(text),
            Self::Refused(text) => StoreError::Refused(text),
            Self::ContentGone(text) | Self::Taken(text) | Self::Inconsistent(text) => {
                StoreError::Inconsistent(text)
            }
        }
    }

    /// For calls that must not be repeated without knowing what became of the first.
    pub(super) fn of_commit(self) -> StoreError {
        match self {
            Self::Lost(text) => StoreError::OutcomeUnknown(text),
            other => other.of_repeatable(),
        }
    }
}
