//! Why a request to a sandbox failed, in terms of the session. Only `http/error.rs`
//! knows status codes; it maps each variant by name, without a wildcard.

use std::time::Duration;

use crate::exec::Captured;
use crate::fs::Errno;
use crate::ids::{Head, Version};
use crate::store::SandboxRow;

/// Why. Unless a variant says otherwise, nothing was applied.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// No such live sandbox of this caller.
    #[error("no such sandbox")]
    NotFound,
    /// No such tenant.
    #[error("no such tenant")]
    UnknownTenant,
    /// The unique name is held.
    #[error("the name is held by sandbox {}", .0.id)]
    NameTaken(Box<SandboxRow>),
    /// The request contradicts itself or the sandbox; the text says how.
    #[error("{0}")]
    Invalid(String),
    /// The operator does not let sandboxes have that; the text says what they may have.
    #[error("{0}")]
    NotPermitted(String),
    /// A file call of a write route failed.
    #[error("{path}: {errno}")]
    Fs {
        /// Which error.
        errno: Errno,
        /// On which path.
        path: String,
    },
    /// `edit` found nothing to replace.
    #[error("{path}: oldString does not occur in the file")]
    EditNoMatch {
        /// The file.
        path: String,
    },
    /// `edit` found more than one place.
    #[error("{path}: oldString occurs {count} times; give more context or set replaceAll")]
    EditNotUnique {
        /// The file.
        path: String,
        /// How often.
        count: usize,
    },
    /// `edit` of a file that is not UTF-8 text.
    #[error("{path}: not a UTF-8 text file")]
    EditBinary {
        /// The file.
        path: String,
    },
    /// If-Match or If-None-Match of a file.
    #[error("{path}: the file is not in the state that the request names")]
    EtagMismatch {
        /// The file.
        path: String,
    },
    /// ifVersion or If-Match of the sandbox.
    #[error("the sandbox is at version {version}")]
    VersionMismatch {
        /// Present version.
        version: Version,
        /// Present head.
        head: Head,
    },
    /// The key belongs to another request.
    #[error(
        "Idempotency-Key: this key came with another request before; send each request with a key of its own"
    )]
    KeyReused,
    /// A mutating call in a read-only exec.
    #[error("{path}: Read-only file system (the exec is readOnly)")]
    ReadOnlyViolation {
        /// First path.
        path: String,
        /// Output so far.
        output: Box<Captured>,
    },
    /// Too many are waiting for this sandbox or owner.
    #[error("too many requests are waiting (limit {limit})")]
    QueueFull {
        /// The limit.
        limit: usize,
    },
    /// Its turn did not come within the acquire timeout.
    #[error("the sandbox was busy for {} s", .0.as_secs())]
    LeaseTimeout(Duration),
    /// The lease was lost while the script ran.
    #[error("the lease on the sandbox was lost; the script was ended and left no trace")]
    LeaseLost,
    /// The lease store is away, and this sandbox or this replica does not go on without.
    #[error("the lease server cannot be reached; nothing was run")]
    CoordinationUnavailable,
    /// Another commit came first, and again after the re-run.
    #[error("another commit came first; the script left no trace")]
    Conflict,
    /// Cut off at its timeout.
    #[error("the script was cut off after {} ms and left no trace", .duration.as_millis())]
    Timeout {
        /// How long it ran.
        duration: Duration,
        /// Output so far.
        output: Box<Captured>,
    },
    /// A limit of the interpreter or of memory.
    #[error("{message}")]
    Limit {
        /// Stable name.
        name: &'static str,
        /// For people.
        message: String,
        /// Output so far.
        output: Box<Captured>,
    },
    /// There was no place for a program of `node` or `python3`; the text says which.
    #[error("{0}; the script left no trace")]
    RuntimeBusy(String),
    /// A quota of the sandbox: entries or bytes.
    #[error("No space left on device ({what} limit {limit})")]
    NoSpace {
        /// `entries` or `bytes`.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// Output so far.
        output: Box<Captured>,
    },
    /// The server is going down; the script was ended or never started.
    #[error("the server is shutting down; the script left no trace")]
    ShuttingDown,
    /// The client left (seen only in logs).
    #[error("the client left; the script was ended and left no trace")]
    ClientGone,
    /// The store cannot be reached.
    #[error("the store is unavailable")]
    StoreUnavailable,
    /// Whether the commit happened cannot be told while the store is away.
    #[error("whether the commit happened cannot be told while the store is unreachable")]
    OutcomeUnknown,
    /// The same, of a script that had used the network: what it did there stays done, so the
    /// request must not be sent again as it is.
    #[error("{0}; it had used the network, and what it did there stays done")]
    AfterNetwork(Box<SessionError>),
    /// A bug or a broken store; the text is for the log, not for the client.
    #[error("internal error")]
    Internal(String),
}

impl SessionError {
    /// What happened, network or not.
    #[must_use]
    pub fn beneath(&self) -> &Self {
        match self {
            Self::AfterNetwork(error) => error,
            error => error,
        }
    }

    /// The kind of failure, from a small fixed set, for the metrics.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound
            | Self::UnknownTenant
            | Self::NameTaken(_)
            | Self::Invalid(_)
            | Self::NotPermitted(_)
            | Self::Fs { .. }
            | Self::EditNoMatch { .. }
            | Self::EditNotUnique { .. }
            | Self::EditBinary { .. }
            | Self::EtagMismatch { .. }
            | Self::VersionMismatch { .. }
            | Self::KeyReused
            | Self::ReadOnlyViolation { .. } => "refused",
            Self::QueueFull { .. } => "queue_full",
            Self::LeaseTimeout(_) => "lease_timeout",
            Self::LeaseLost => "lease_lost",
            Self::CoordinationUnavailable => "coordination_unavailable",
            Self::Conflict => "conflict",
            Self::Timeout { .. } => "timeout",
            Self::Limit { .. } | Self::NoSpace { .. } => "limit",
            Self::RuntimeBusy(_) => "runtime_busy",
            Self::ShuttingDown => "shutting_down",
            Self::ClientGone => "client_gone",
            Self::StoreUnavailable => "store_unavailable",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::AfterNetwork(error) => error.kind(),
            Self::Internal(_) => "internal",
        }
    }
}
