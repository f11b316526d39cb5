//! Sessions: the warm state of sandboxes on this replica, and the only way to them.
//! `http` and the command line see this module and nothing below it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::fs::{Node, PathChange, Tree, WorkingCopy};
use crate::ids::{Caller, Head, SandboxId, Sha256, Version};

pub use crate::exec::{Captured, OutputChunk, Stream};
pub use crate::store::{Network, Page, Patch, SandboxRow};
pub use error::SessionError;

pub mod error;

/// The service: all sandboxes of all tenants as this replica sees them. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    _inner: Arc<()>,
}

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
}

/// What a live exec sends before its reply.
#[derive(Clone, Debug)]
pub enum LiveEvent {
    /// The script is about to start: nothing that fails before it can fail any more.
    Started,
    /// Output.
    Output(OutputChunk),
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

/// One committed version, to read from. Holds no lock.
#[derive(Clone)]
pub struct ReadView {
    /// The tree.
    pub tree: Tree,
    /// Its version.
    pub version: Version,
    /// Its head.
    pub head: Head,
}

impl ReadView {
    /// A piece of a file's content (`node` must be a file of this tree): `len` bytes
    /// from `offset`, fewer at the end. Small contents come from and go to the cache.
    pub async fn content(&self, _node: &Node, _offset: u64, _len: u64) -> Result<Bytes, SessionError> {
        todo!()
    }
}

/// An edit of a sandbox by a write route: applied to a working copy on a blocking
/// thread, possibly twice (after a lost race), so it must not consume its inputs.
pub type Edit<T> = Arc<dyn Fn(&WorkingCopy) -> Result<T, SessionError> + Send + Sync>;

impl Service {
    /// Creates a sandbox; `Err(NameTaken)` carries the holder.
    pub async fn create(
        &self,
        _caller: &Caller,
        _request_id: &str,
        _create: Create,
    ) -> Result<SandboxRow, SessionError> {
        todo!()
    }

    /// Own live sandboxes, newest first.
    pub async fn list(&self, _caller: &Caller, _page: &Page) -> Result<Vec<SandboxRow>, SessionError> {
        todo!()
    }

    /// The row as the store has it now.
    pub async fn get(&self, _caller: &Caller, _sandbox: SandboxId) -> Result<SandboxRow, SessionError> {
        todo!()
    }

    /// Changes name, uniqueness, environment.
    pub async fn patch(
        &self,
        _caller: &Caller,
        _sandbox: SandboxId,
        _patch: Patch,
    ) -> Result<SandboxRow, SessionError> {
        todo!()
    }

    /// Deletes; waits for a running script, or with `force` ends it.
    pub async fn delete(
        &self,
        _caller: &Caller,
        _sandbox: SandboxId,
        _force: bool,
    ) -> Result<(), SessionError> {
        todo!()
    }

    /// Runs a script. Dropping the future means that the client left: the script is
    /// ended and leaves no trace. With `live`, output goes there instead of into the
    /// reply, after one `Started`; an error without a `Started` came before the script.
    pub async fn exec(
        &self,
        _caller: &Caller,
        _request_id: &str,
        _sandbox: SandboxId,
        _request: ExecRequest,
        _live: Option<mpsc::Sender<LiveEvent>>,
    ) -> Result<ExecReply, SessionError> {
        todo!()
    }

    /// Runs a batch. `Err` only if the first script had not begun, or if a read-only
    /// batch was violated.
    pub async fn exec_batch(
        &self,
        _caller: &Caller,
        _request_id: &str,
        _sandbox: SandboxId,
        _request: BatchRequest,
    ) -> Result<Vec<BatchItem>, SessionError> {
        todo!()
    }

    /// A committed version to read from, fresh as of a moment within this call.
    pub async fn read(&self, _caller: &Caller, _sandbox: SandboxId) -> Result<ReadView, SessionError> {
        todo!()
    }

    /// Flushes a content to the store ahead of `write`, before any lock: checks that
    /// the sandbox is the caller's, hashes and stores. `None` for empty content.
    pub async fn upload(
        &self,
        _caller: &Caller,
        _sandbox: SandboxId,
        _data: Bytes,
    ) -> Result<Option<Sha256>, SessionError> {
        todo!()
    }

    /// Applies an edit under the write path (session lock, lease, freshness, commit).
    /// Dropping the future before the commit means that nothing is applied.
    pub async fn write<T: Send + 'static>(
        &self,
        _caller: &Caller,
        _request_id: &str,
        _sandbox: SandboxId,
        _expect: Option<Expect>,
        _edit: Edit<T>,
    ) -> Result<(T, Version, Head), SessionError> {
        todo!()
    }

    /// What is wrong with the things this replica needs; empty when all is well.
    pub async fn unready(&self) -> Vec<String> {
        todo!()
    }
}
