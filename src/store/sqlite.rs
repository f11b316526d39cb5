//! SQLite: one file, held by one process. One connection writes (`BEGIN IMMEDIATE`), a few
//! read; write-ahead log, `synchronous=FULL`, foreign keys on. There is no row-level
//! security here, so every statement names its sandbox, which the conformance suite holds.
//!
//! A transaction that is dropped rolls back: sqlx queues the rollback on the connection's
//! own thread before anything else can use it.

mod blobs;
mod checks;
mod commit;
mod db;
mod error;
mod folder;
mod load;
mod maintenance;
mod migrate;
mod operators;
mod replies;
mod resolve;
mod rows;
mod sandboxes;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use self::db::Db;
use self::folder::Hold;
use crate::fs::change_set::ChangeSet;
use crate::ids::{ExecId, Head, Owner, SandboxId, Sha256, Version};
use crate::store::{
    Check, Commit, CommitOutcome, Created, GcReport, Keep, Kept, Loaded, NewSandbox, Options, Page, Patch,
    Patched, Resolution, Retention, Revocation, SandboxRow, Store, StoreError, StoreResult, Usage,
};

/// A call that touches a few rows by key.
const SHORT: Duration = Duration::from_secs(10);
/// A call that reads or writes many rows.
const LONG: Duration = Duration::from_mins(1);

/// One file.
#[derive(Debug)]
pub(super) struct SqliteStore {
    db: Db,
    // Held until the connections are closed.
    hold: Mutex<Option<Hold>>,
}

impl SqliteStore {
    /// Takes the folder, opens the file (made if absent) and sees to the schema.
    pub(super) async fn open(path: &Path, open: &Options) -> StoreResult<Self> {
        let store = Self::hold(path).await?;
        match migrate::ensure(&store.db, open.auto_migrate).await {
            Ok(()) => Ok(store),
            Err(error) => {
                store.close().await;
                Err(error)
            }
        }
    }

    async fn hold(path: &Path) -> StoreResult<Self> {
        let hold = folder::hold(path)?;
        Ok(Self { db: Db::open(path).await?, hold: Mutex::new(Some(hold)) })
    }

    /// The checks of a file as it is; a file that is not there yet is not made.
    pub(super) async fn look(path: &Path) -> StoreResult<Vec<Check>> {
        if !path.exists() {
            return Ok(vec![checks::absent(path)]);
        }
        match Self::hold(path).await {
            Ok(store) => {
                let checks = store.checks().await;
                store.close().await;
                checks
            }
            Err(StoreError::Refused(reason)) => Ok(vec![checks::refused(reason)]),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn migrate(path: &Path) -> StoreResult<i32> {
        let store = Self::hold(path).await?;
        let version = migrate::run(&store.db).await;
        store.close().await;
        version
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create(&self, new: &NewSandbox, first: &ChangeSet) -> StoreResult<Created> {
        commit::create(&self.db, new, first).await
    }

    async fn probe(&self, sandbox: SandboxId) -> StoreResult<Option<SandboxRow>> {
        sandboxes::probe(&self.db, sandbox).await
    }

    async fn load(
        &self,
        sandbox: SandboxId,
        since: Option<(Version, Head)>,
    ) -> StoreResult<Option<(SandboxRow, Loaded)>> {
        load::load(&self.db, sandbox, since).await
    }

    async fn blobs(&self, hashes: &[Sha256]) -> StoreResult<Vec<(Sha256, Bytes)>> {
        blobs::read(&self.db, hashes).await
    }

    async fn blob_range(&self, hash: Sha256, offset: u64, len: u64) -> StoreResult<Option<Bytes>> {
        blobs::range(&self.db, hash, offset, len).await
    }

    async fn flush_blobs(&self, contents: &[(Sha256, Bytes)]) -> StoreResult<()> {
        let contents: Vec<_> = contents.iter().map(|(hash, data)| (hash, data)).collect();
        blobs::flush(&self.db, &contents).await
    }

    async fn commit(&self, commit: &Commit<'_>) -> StoreResult<CommitOutcome> {
        commit::commit(&self.db, commit).await
    }

    async fn resolve(
        &self,
        sandbox: SandboxId,
        exec: ExecId,
        request_id: &str,
        actor: &str,
    ) -> StoreResult<Resolution> {
        resolve::resolve(&self.db, sandbox, exec, request_id, actor).await
    }

    async fn keep_cwd(&self, sandbox: SandboxId, seen: Head, cwd: &str) -> StoreResult<bool> {
        sandboxes::keep_cwd(&self.db, sandbox, seen, cwd).await
    }

    async fn kept_reply(&self, sandbox: SandboxId, key: &str) -> StoreResult<Option<Kept>> {
        replies::kept(&self.db, sandbox, key).await
    }

    async fn keep_reply(
        &self,
        sandbox: SandboxId,
        seen: Head,
        cwd: Option<&str>,
        keep: &Keep<'_>,
    ) -> StoreResult<bool> {
        replies::keep_unchanged(&self.db, sandbox, seen, cwd, keep).await
    }

    async fn forget_replies(&self, kept_before_ns: i64, limit: u32) -> StoreResult<u64> {
        replies::forget(&self.db, kept_before_ns, limit).await
    }

    async fn list(&self, owner: &Owner, page: &Page) -> StoreResult<Vec<SandboxRow>> {
        sandboxes::list(&self.db, owner, page).await
    }

    async fn patch(&self, owner: &Owner, sandbox: SandboxId, patch: &Patch) -> StoreResult<Patched> {
        sandboxes::patch(&self.db, owner, sandbox, patch).await
    }

    async fn delete(&self, owner: &Owner, sandbox: SandboxId) -> StoreResult<bool> {
        sandboxes::delete(&self.db, owner, sandbox).await
    }

    async fn list_all(&self, owner: Option<&Owner>, page: &Page) -> StoreResult<Vec<SandboxRow>> {
        operators::list_all(&self.db, owner, page).await
    }

    async fn revoke(&self, revocation: &Revocation) -> StoreResult<()> {
        operators::revoke(&self.db, revocation).await
    }

    async fn revocations(&self) -> StoreResult<Vec<Revocation>> {
        operators::revocations(&self.db).await
    }

    async fn usage(&self) -> StoreResult<Usage> {
        operators::usage(&self.db).await
    }

    async fn touch(&self, used: &[(SandboxId, i64)]) -> StoreResult<()> {
        sandboxes::touch(&self.db, used).await
    }

    async fn prune_history(&self, retention: &Retention, limit: u32) -> StoreResult<u64> {
        maintenance::prune_history(&self.db, retention, limit).await
    }

    async fn purge_deleted(&self, deleted_before_ns: i64, limit: u32) -> StoreResult<u64> {
        maintenance::purge_deleted(&self.db, deleted_before_ns, limit).await
    }

    async fn gc_blobs(&self, unreferenced_since_ns: i64, limit: u32) -> StoreResult<GcReport> {
        maintenance::gc_blobs(&self.db, unreferenced_since_ns, limit).await
    }

    async fn checks(&self) -> StoreResult<Vec<Check>> {
        checks::checks(&self.db).await
    }

    async fn ping(&self) -> StoreResult<()> {
        checks::ping(&self.db).await
    }

    async fn close(&self) {
        self.db.close().await;
        self.hold.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn statements(&self) -> u64 {
        self.db.statements()
    }
}
