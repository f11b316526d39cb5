//! From the driver's errors to what the caller does next. Texts are for the log.

use std::time::Duration;

use sqlx::error::DatabaseError;

use super::tls;
use crate::store::StoreError;

/// How a call to the server failed.
#[derive(Debug)]
pub(super) enum CallError {
    /// The driver or the server said so.
    Sql(sqlx::Error),
    /// No answer in time; the connection is closed and the statement may still run.
    TimedOut(Duration),
}

impl From<sqlx::Error> for CallError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl CallError {
    /// Whether connections that were opened at the same time are suspect too.
    pub(super) fn is_broken_connection(&self) -> bool {
        match self {
            Self::Sql(sqlx::Error::Io(_) | sqlx::Error::Protocol(_)) => true,
            Self::Sql(sqlx::Error::Database(error)) => ends_connection(error.as_ref()),
            Self::Sql(_) | Self::TimedOut(_) => false,
        }
    }
}

/// A failure by its consequence.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing was applied; the server or the way to it is not well.
    Unavailable(String),
    /// The statement was sent and its reply will never come: it may or may not be applied.
    Lost(String),
    /// Nothing was applied; repeat at once: deadlock or serialization failure.
    Contended(String),
    /// Nothing was applied; a content is not there. Repeat at once with its bytes: it may
    /// have been collected in the same moment.
    ContentGone(String),
    /// Nothing was applied; the configuration is wrong.
    Refused(String),
    /// Nothing was applied; rows or schema are not what the code believes.
    Inconsistent(String),
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::TimedOut(limit) => Self::Lost(format!("no answer within {} s", limit.as_secs())),
            CallError::Sql(error) => Self::of_call(error),
        }
    }
}

impl Failure {
    fn of_call(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => Self::of_server(error.as_ref()),
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => {
                Self::Lost(error.to_string())
            }
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
                Self::Unavailable(error.to_string())
            }
            sqlx::Error::Configuration(_) => Self::Refused(error.to_string()),
            sqlx::Error::RowNotFound
            | sqlx::Error::TypeNotFound { .. }
            | sqlx::Error::ColumnIndexOutOfBounds { .. }
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::Encode(_)
            | sqlx::Error::Decode(_)
            | sqlx::Error::InvalidArgument(_) => Self::Inconsistent(error.to_string()),
            // The driver's list is open; what it adds is a bug until it is looked at.
            other => Self::Inconsistent(other.to_string()),
        }
    }

    /// While a connection was being opened nothing had been sent yet, and whatever the
    /// server says against it (but for who we are, and how we may come) may pass.
    pub(super) fn of_connect(error: sqlx::Error) -> Self {
        if let Some(text) = tls::refusal(&error) {
            return Self::Refused(text);
        }
        match Self::of_call(error) {
            Self::Refused(text) => Self::Refused(text),
            Self::Unavailable(text)
            | Self::Lost(text)
            | Self::Contended(text)
            | Self::ContentGone(text)
            | Self::Inconsistent(text) => Self::Unavailable(text),
        }
    }

    fn of_server(error: &dyn DatabaseError) -> Self {
        let code = error.code().unwrap_or_default().into_owned();
        let text = format!("{code} {}", error.message());
        if ends_connection(error) {
            return Self::Lost(text);
        }
        match (code.get(..2).unwrap_or_default(), code.as_str()) {
            ("40", _) => Self::Contended(text),
            (_, "23503") if error.constraint() == Some("inodes_sha256_fkey") => Self::ContentGone(text),
            // Connections, resources (too many clients, disk or memory full), operator
            // intervention (cancelled, shutting down, starting up), input and output of the
            // system; a lock that was not granted in time; a primary that became a standby.
            ("08" | "53" | "57" | "58", _) | (_, "55P03" | "25006") => Self::Unavailable(text),
            // Password, role, database, rights; a role named to be granted to.
            ("28", _) | (_, "3D000" | "42501" | "42704") => Self::Refused(text),
            (_, _) => Self::Inconsistent(text),
        }
    }

    /// For calls that may be repeated whether or not they were applied.
    pub(super) fn of_repeatable(self) -> StoreError {
        match self {
            Self::Unavailable(text) | Self::Lost(text) | Self::Contended(text) => {
                StoreError::Unavailable(text)
            }
            Self::Refused(text) => StoreError::Refused(text),
            Self::ContentGone(text) | Self::Inconsistent(text) => StoreError::Inconsistent(text),
        }
    }

    /// Back from a repeatable call inside a larger one.
    pub(super) fn of_store(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(text) | StoreError::OutcomeUnknown(text) => Self::Unavailable(text),
            StoreError::Refused(text) => Self::Refused(text),
            StoreError::Inconsistent(text) => Self::Inconsistent(text),
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

/// Whether the server closes the connection with this error: then it says nothing about a
/// transaction that was just ending. 25P03 and 25P04 end idle and long transactions.
fn ends_connection(error: &dyn DatabaseError) -> bool {
    matches!(error.code().as_deref(), Some("57P01" | "57P02" | "57P04" | "57P05" | "25P03" | "25P04"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_reply_is_unknown_for_a_commit_and_repeatable_for_a_read() {
        let lost = || Failure::from(CallError::TimedOut(Duration::from_secs(1)));
        assert!(matches!(lost().of_commit(), StoreError::OutcomeUnknown(_)));
        assert!(matches!(lost().of_repeatable(), StoreError::Unavailable(_)));
        let io = || sqlx::Error::Io(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        assert!(matches!(Failure::of_call(io()), Failure::Lost(_)));
        assert!(matches!(Failure::of_connect(io()), Failure::Unavailable(_)));
    }
}
