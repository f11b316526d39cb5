//! Replies and events of scripts.

use serde::Serialize;
use utoipa::ToSchema;

use super::Kind;
use crate::fs::{PathChange, PathOp};
use crate::http::error::{ApiError, millis};
use crate::session::ExecReply;

/// How a script ended.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecResult {
    /// Standard output, up to 16 MiB.
    pub stdout: String,
    /// Standard error, up to 16 MiB.
    pub stderr: String,
    /// Exit status of the script.
    #[schema(minimum = 0, maximum = 255)]
    pub exit_code: i32,
    /// Always null: a script that is cut off is an error instead.
    #[schema(required = true)]
    pub exit_signal: Option<String>,
    /// Always false: a script that runs out of time is an error instead.
    pub timed_out: bool,
    /// The script alone, without the wait for its turn.
    pub duration_ms: u64,
    /// The rest.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What a script left behind.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The state after the script.
    #[schema(minimum = 0)]
    pub version: i64,
    /// The state after the script; send it as `If-Match`.
    #[schema(format = "uuid")]
    pub head: String,
    /// Whether it made a new version.
    pub committed: bool,
    /// Number of changed paths.
    pub changed: u64,
    /// Standard output was longer than what is kept.
    pub stdout_truncated: bool,
    /// Standard error was longer than what is kept.
    pub stderr_truncated: bool,
    /// For the agent: what may surprise.
    pub warnings: Vec<String>,
    /// With `dryRun`: what would have changed, sorted by path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub changes: Option<Vec<Change>>,
}

impl Outcome {
    /// Of a script that ended; `warnings` take the place of the reply's own.
    #[must_use]
    pub fn of(reply: &ExecReply, warnings: Vec<String>) -> Self {
        Self {
            version: reply.version,
            head: reply.head.to_string(),
            committed: reply.committed,
            changed: reply.changed,
            stdout_truncated: reply.output.stdout_truncated,
            stderr_truncated: reply.output.stderr_truncated,
            warnings,
            changes: reply.changes.as_ref().map(|paths| paths.iter().map(Change::of).collect()),
        }
    }
}

/// One path that a dry run would have changed.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Absolute.
    pub path: String,
    /// What would have happened.
    pub op: ChangeOp,
    /// What it is, or was.
    pub kind: Kind,
    /// Bytes before, of a file that was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub size_before: Option<u64>,
    /// Bytes after, of a file that would be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub size_after: Option<u64>,
}

/// What happens to a path.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeOp {
    /// It is new.
    Added,
    /// Its content, kind or mode is another.
    Modified,
    /// It is gone.
    Removed,
}

impl Change {
    fn of(change: &PathChange) -> Self {
        let op = match change.op {
            PathOp::Added => ChangeOp::Added,
            PathOp::Modified => ChangeOp::Modified,
            PathOp::Removed => ChangeOp::Removed,
        };
        Self {
            path: change.path.clone(),
            op,
            kind: change.kind.into(),
            size_before: change.size_before,
            size_after: change.size_after,
        }
    }
}

/// How the scripts of a batch ended, in the order asked.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BatchReply {
    /// One for each script.
    pub results: Vec<BatchLine>,
}

/// How one script of a batch ended.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchLine {
    /// As given.
    pub id: String,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit status; -1 when the script was cut off or not run.
    #[schema(minimum = -1, maximum = 255)]
    pub exit_code: i32,
    /// The script alone.
    pub duration_ms: u64,
    /// Whether it made a new version.
    pub committed: bool,
    /// The state after it, when it ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    pub version: Option<i64>,
    /// Why it has no exit status; `skipped` or `timeout`: it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
    /// Code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub code: Option<&'static str>,
    /// Whether its changes are in the sandbox: `no`, `yes` or `unknown`.
    pub applied: &'static str,
}

/// Events `stdout` and `stderr`: output while the script runs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OutputEvent<'a> {
    /// Milliseconds since the start of the script.
    pub t: u64,
    /// Whole characters, or base64 of bytes.
    pub data: &'a str,
}

/// Event `error`: the script was cut off, or could not be committed. `exit` follows.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ErrorEvent {
    /// Milliseconds since the start of the script.
    pub t: u64,
    /// One of the codes of errors.
    pub code: &'static str,
    /// For people.
    pub error: String,
    /// Whether the same request may be sent again without doubling an effect.
    pub retryable: bool,
    /// Whether its changes are in the sandbox: `no`, `yes` or `unknown`.
    pub applied: &'static str,
}

impl ErrorEvent {
    /// Of an error at time `t`.
    #[must_use]
    pub fn of(t: u64, error: &ApiError) -> Self {
        Self {
            t,
            code: error.code(),
            error: error.message().to_owned(),
            retryable: error.retryable(),
            applied: error.applied().as_str(),
        }
    }
}

/// Event `exit`: the last one; it comes only after the commit.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExitEvent {
    /// Milliseconds since the start of the script.
    pub t: u64,
    /// Exit status of the script.
    #[schema(minimum = 0, maximum = 255)]
    pub exit_code: i32,
    /// The script alone.
    pub duration_ms: u64,
    /// The rest.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Event `exit` after an `error`.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedExitEvent {
    /// Milliseconds since the start of the script.
    pub t: u64,
    /// Always -1.
    #[schema(minimum = -1, maximum = -1)]
    pub exit_code: i32,
    /// As `t`.
    pub duration_ms: u64,
    /// Always false.
    pub committed: bool,
    /// The text of the error.
    pub error: String,
}

impl ExitEvent {
    /// Of a script that ended by itself.
    #[must_use]
    pub fn of(t: u64, reply: &ExecReply, warnings: Vec<String>) -> Self {
        Self {
            t,
            exit_code: reply.exit_code,
            duration_ms: millis(reply.duration),
            outcome: Outcome::of(reply, warnings),
        }
    }
}

impl FailedExitEvent {
    /// Of an error at time `t`.
    #[must_use]
    pub fn of(t: u64, error: &ApiError) -> Self {
        Self { t, exit_code: -1, duration_ms: t, committed: false, error: error.message().to_owned() }
    }
}
