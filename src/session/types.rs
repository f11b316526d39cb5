//! Requests and replies of the service, as `http` and the command line use them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::exec::Captured;
use crate::fs::PathChange;
use crate::ids::{Head, Version};
use crate::session::SessionError;
pub use crate::store::Network;

/// What a new sandbox should be.
#[derive(Clone, Debug, Default)]
pub struct Create {
    /// Label, or unique name.
    pub name: Option<String>,
    /// Hold `name` alone.
    pub unique: bool,
    /// Environment of every exec.
    pub env: BTreeMap<String, String>,
    /// Absolute path → text, with parents made.
    pub files: BTreeMap<String, String>,
    /// Runtime flag.
    pub python: bool,
    /// Runtime flag.
    pub javascript: bool,
    /// Network permission.
    pub network: Network,
}

/// What the exec or write needs to find, else 412.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// This version.
    Version(Version),
    /// This head.
    Head(Head),
}

/// How an exec relates to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecMode {
    /// Read-write, committed.
    Write,
    /// Read-only; `snapshot`: do not wait for a running writer.
    Read {
        /// Do not wait.
        snapshot: bool,
    },
}

/// One exec as asked for; all fields checked by the caller.
#[derive(Clone, Debug)]
pub struct ExecRequest {
    /// bash source.
    pub script: String,
    /// Start here instead of in the kept directory (which then stays as it is).
    pub cwd: Option<String>,
    /// Exported for this exec.
    pub env: BTreeMap<String, String>,
    /// Standard input.
    pub stdin: Option<Vec<u8>>,
    /// `$1`..
    pub args: Vec<String>,
    /// From the start of the script.
    pub timeout: Duration,
    /// Write or read.
    pub mode: ExecMode,
    /// A non-zero exit leaves no trace.
    pub rollback_on_error: bool,
    /// Commit nothing, report changes.
    pub dry_run: bool,
    /// Precondition.
    pub expect: Option<Expect>,
    /// `set -x`.
    pub debug: bool,
    /// `Idempotency-Key`, 1 to 255 visible characters of ASCII: an exec that writes has its
    /// effect once for each, and its reply is kept. Others have no effect to repeat.
    pub key: Option<String>,
}

/// What an exec came to.
#[derive(Clone, Debug)]
pub struct ExecReply {
    /// Output (empty for a live exec).
    pub output: Captured,
    /// 0..=255.
    pub exit_code: i32,
    /// Script time.
    pub duration: Duration,
    /// State after the exec.
    pub version: Version,
    /// State after the exec.
    pub head: Head,
    /// Whether a new version was made.
    pub committed: bool,
    /// Number of changed paths.
    pub changed: u64,
    /// With `dry_run`: the paths.
    pub changes: Option<Vec<PathChange>>,
    /// For the agent.
    pub warnings: Vec<String>,
    /// It was kept under the request's key: nothing was run.
    pub replayed: bool,
}

/// A sandbox that is warm on this replica.
#[derive(Clone, Debug)]
pub struct WarmSession {
    /// Its tenant.
    pub tenant: String,
    /// Its id.
    pub sandbox: String,
    /// Version of the tree at hand; `None` when none is.
    pub version: Option<Version>,
    /// Entries of that tree.
    pub entries: u64,
    /// Estimated bytes of that tree.
    pub tree_bytes: u64,
    /// Since the last request.
    pub idle: Duration,
    /// Whether a write holds the turn.
    pub writing: bool,
}

/// A batch.
#[derive(Clone, Debug)]
pub struct BatchRequest {
    /// Scripts in order: (id, source), 1 to 50.
    pub scripts: Vec<(String, String)>,
    /// For all together.
    pub total: Duration,
    /// For each.
    pub each: Duration,
    /// All read-only, in parallel, on one version.
    pub read_only: bool,
    /// All one transaction.
    pub atomic: bool,
}

/// One line of a batch's answer.
#[derive(Debug)]
pub struct BatchItem {
    /// As given.
    pub id: String,
    /// Its end.
    pub result: BatchResult,
}

/// How one script of a batch ended.
#[derive(Debug)]
pub enum BatchResult {
    /// It ran to its end.
    Done(Box<ExecReply>),
    /// It failed, with the output so far.
    Failed(SessionError, Captured, Duration),
    /// Not run: an earlier one failed or was lost.
    Skipped,
    /// Not run: the budget had ended.
    OutOfTime,
}
