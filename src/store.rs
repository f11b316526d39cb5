//! The durable store: one database of one tenant. Postgres and SQLite implement the
//! same trait and pass the same conformance suite (`tests/it/store_conformance.rs`).
//!
//! All methods are safe to drop at any await: a transaction that was not committed
//! rolls back. Two exceptions are spelled out at [`Store::commit`].

use async_trait::async_trait;
use bytes::Bytes;

use crate::fs::change_set::{ChangeSet, Delta, DirentRow, InodeRow};
use crate::ids::{ExecId, Head, Owner, SandboxId, Sha256, Version};

pub mod model;
pub mod open;
mod postgres;
mod sqlite;

pub use model::*;
pub use open::{Options, SCHEMA_VERSION, checks, migrate, open};

/// Why a store call failed; named by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached, is starting up, is out of connections or did
    /// not answer in time. Nothing was applied; the call may be repeated.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The reply of a COMMIT was lost: only [`Store::resolve`] can say what became
    /// of it. Returned by [`Store::commit`] and other writes that commit.
    #[error("the reply of the commit was lost: {0}")]
    OutcomeUnknown(String),
    /// Rows contradict each other or the schema: no retry will help.
    #[error("the store is inconsistent: {0}")]
    Inconsistent(String),
    /// The configuration is refused (role, schema version, settings). One line for
    /// the operator.
    #[error("{0}")]
    Refused(String),
}

/// Result of a store call.
pub type StoreResult<T> = Result<T, StoreError>;

/// One database of one tenant.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Creates a sandbox with its first tree (version 0), all in one transaction,
    /// with an exec log row for version 0. `NameTaken` when the unique name is held
    /// by another live sandbox of the owner.
    async fn create(&self, new: &NewSandbox, first: &ChangeSet) -> StoreResult<Created>;

    /// The sandbox row by primary key, in one statement. `None`: no such sandbox, or
    /// its tombstone. The caller checks the owner.
    async fn probe(&self, sandbox: SandboxId) -> StoreResult<Option<SandboxRow>>;

    /// The live tree, or what changed since `since`, with the row it belongs to, all
    /// from one snapshot. A [`Loaded::Delta`] is returned only if `since` is given,
    /// its version is at least `history_from`, and the exec log's head at that
    /// version is the given head; else [`Loaded::Full`]. `None` as for `probe`.
    async fn load(
        &self,
        sandbox: SandboxId,
        since: Option<(Version, Head)>,
    ) -> StoreResult<Option<(SandboxRow, Loaded)>>;

    /// Contents by hash, in any order; missing ones are left out. Bytes are checked
    /// against their hash by the caller.
    async fn blobs(&self, hashes: &[Sha256]) -> StoreResult<Vec<(Sha256, Bytes)>>;

    /// `len` bytes of a content from `offset` (fewer at its end); `None` when there
    /// is no such content. For contents too large to hold whole.
    async fn blob_range(&self, hash: Sha256, offset: u64, len: u64) -> StoreResult<Option<Bytes>>;

    /// Stores contents that no inode refers to yet, ahead of a commit. Harmless if
    /// the commit never comes: garbage collection takes them after its grace period.
    async fn flush_blobs(&self, blobs: &[(Sha256, Bytes)]) -> StoreResult<()>;

    /// Makes a change set true: compare-and-set on the head together with all its
    /// rows and the exec log row, in one transaction. Retries deadlocks, serialization
    /// failures and garbage-collection races by itself.
    ///
    /// On [`StoreError::OutcomeUnknown`], and when the caller gives up waiting (drops
    /// this future), the commit may still happen: call [`Store::resolve`] before
    /// telling anybody anything.
    async fn commit(&self, commit: &Commit<'_>) -> StoreResult<CommitOutcome>;

    /// Says what became of a commit, and settles it: if the exec log has the exec id,
    /// it was applied; if not, the sandbox gets a fresh head and the next version (log
    /// outcome `voided`) in the same transaction, so that a commit still on its way
    /// loses its compare-and-set. On an error, ask again.
    async fn resolve(
        &self,
        sandbox: SandboxId,
        exec: ExecId,
        request_id: &str,
        actor: &str,
    ) -> StoreResult<Resolution>;

    /// Keeps the working directory beside an unchanged version; `false` when `seen`
    /// is no longer the head (then nothing is written).
    async fn keep_cwd(&self, sandbox: SandboxId, seen: Head, cwd: &str) -> StoreResult<bool>;

    /// The reply that was kept under a key of a sandbox.
    async fn kept_reply(&self, sandbox: SandboxId, key: &str) -> StoreResult<Option<Kept>>;

    /// Keeps the reply of an exec that made no version, and with it the working directory,
    /// if one is given. `false`, and nothing is written: `seen` is no longer the head, or
    /// the key has a reply.
    async fn keep_reply(
        &self,
        sandbox: SandboxId,
        seen: Head,
        cwd: Option<&str>,
        keep: &Keep<'_>,
    ) -> StoreResult<bool>;

    /// Drops up to `limit` replies that were kept before a time, the oldest first. Returns
    /// how many.
    async fn forget_replies(&self, kept_before_ns: i64, limit: u32) -> StoreResult<u64>;

    /// Own live sandboxes, newest first (`created_at`, then id, descending).
    async fn list(&self, owner: &Owner, page: &Page) -> StoreResult<Vec<SandboxRow>>;

    /// Changes name, uniqueness or environment of an owner's live sandbox; no new
    /// version.
    async fn patch(&self, owner: &Owner, sandbox: SandboxId, patch: &Patch) -> StoreResult<Patched>;

    /// Marks an owner's sandbox deleted: owner check and tombstone in one
    /// transaction, with a fresh head so that a running commit loses. `false`: no such
    /// live sandbox of this owner.
    async fn delete(&self, owner: &Owner, sandbox: SandboxId) -> StoreResult<bool>;

    /// Live sandboxes of all owners or of one, newest first, for operators. `page.name` is
    /// not looked at.
    async fn list_all(&self, owner: Option<&Owner>, page: &Page) -> StoreResult<Vec<SandboxRow>>;

    /// Keeps a revocation. One that is there keeps the later moment.
    async fn revoke(&self, revocation: &Revocation) -> StoreResult<()>;

    /// All revocations.
    async fn revocations(&self) -> StoreResult<Vec<Revocation>>;

    /// What the live sandboxes hold together.
    async fn usage(&self) -> StoreResult<Usage>;

    /// Notes that readers used these sandboxes (wall ns); never moves a time back.
    async fn touch(&self, used: &[(SandboxId, i64)]) -> StoreResult<()>;

    /// Retention: drops rows of versions that fell out of `retention` for up to
    /// `limit` sandboxes that have some, raising `history_from` in the same
    /// transaction under the row lock. Returns rows dropped.
    async fn prune_history(&self, retention: &Retention, limit: u32) -> StoreResult<u64>;

    /// Purges rows of sandboxes deleted before `deleted_before_ns`, in batches; the
    /// tombstone stays. Returns rows dropped.
    async fn purge_deleted(&self, deleted_before_ns: i64, limit: u32) -> StoreResult<u64>;

    /// Deletes contents that no inode row names and that were last referenced before
    /// `unreferenced_since_ns`, one savepoint each. Safe against concurrent writers.
    async fn gc_blobs(&self, unreferenced_since_ns: i64, limit: u32) -> StoreResult<GcReport>;

    /// Checks of the running installation, for start-up and `sqlfs doctor`.
    async fn checks(&self) -> StoreResult<Vec<Check>>;

    /// Whether the store answers, within its own short timeout. For `/readyz`.
    async fn ping(&self) -> StoreResult<()>;

    /// Closes connections; calls after it are `Unavailable`.
    async fn close(&self);

    /// Connections to the database as of now; none where there is no pool.
    fn connections(&self) -> Connections {
        Connections::default()
    }

    /// Statements sent since the start, for tests that count round trips.
    fn statements(&self) -> u64;
}

/// Connections to a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// In use.
    pub used: usize,
    /// Open and idle.
    pub idle: usize,
}

/// The tree, or what changed in it.
#[derive(Debug)]
pub enum Loaded {
    /// All live rows.
    Full {
        /// Live inodes.
        inodes: Vec<InodeRow>,
        /// Live names.
        dirents: Vec<DirentRow>,
    },
    /// The difference between the version asked for and the row's version.
    Delta(Delta),
}
