//! Postgres 15 or newer. What a call does in the database stands in the functions of
//! `migrations/postgres`; the files here send them, one call for one round trip.
//!
//! * Every transaction enters its context (row-level security, timeouts) with settings
//!   local to it, so the store works through a transaction pooler that supports named
//!   prepared statements.
//! * Every call is bounded by the client. One that is given up on closes its connection
//!   and says `OutcomeUnknown` if it could still commit.

mod blobs;
mod checks;
mod commit;
mod copied;
mod error;
mod load;
mod maintenance;
mod migrate;
mod operators;
mod pool;
mod replies;
mod resolve;
mod rows;
mod sandboxes;
mod tls;

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgRow};

use self::error::Failure;
use self::pool::{PgQuery, Pool};
use crate::fs::change_set::ChangeSet;
use crate::ids::{ExecId, Head, Owner, SandboxId, Sha256, Version};
use crate::store::{
    Check, Commit, CommitOutcome, Connections, Created, GcReport, Keep, Kept, Loaded, NewSandbox, Options,
    Page, Patch, Patched, Resolution, Retention, Revocation, SandboxRow, Store, StoreError, StoreResult,
    Usage,
};

/// A call that touches a few rows by key.
const SHORT: Duration = Duration::from_secs(10);
/// A call that writes rows: longer than the two locks that it may wait for (5 s each).
const WRITE: Duration = Duration::from_secs(20);
/// A call that reads or writes many rows.
const LONG: Duration = Duration::from_mins(1);

/// One database.
#[derive(Debug)]
pub(super) struct PostgresStore {
    pool: Arc<Pool>,
}

fn options(url: &str) -> StoreResult<PgConnectOptions> {
    // The driver's message may quote the URL with its password.
    let options = PgConnectOptions::from_str(url).map_err(|_| {
        StoreError::Refused(
            "the Postgres URL is malformed: it needs user, password, host, port and database".into(),
        )
    })?;
    Ok(options.application_name("sqlfs").disable_statement_logging())
}

impl PostgresStore {
    /// Connects and sees to the schema; the checks are the caller's.
    pub(super) async fn open(url: &str, open: &Options) -> StoreResult<Self> {
        let store = Self { pool: Pool::new(options(url)?, open.pool_size) };
        migrate::ensure(&store.pool, open.auto_migrate).await?;
        Ok(store)
    }

    /// The checks of a database as it is.
    pub(super) async fn look(url: &str) -> StoreResult<Vec<Check>> {
        let store = Self { pool: Pool::new(options(url)?, 1) };
        let checks = store.checks().await;
        store.close().await;
        checks
    }

    pub(super) async fn migrate(url: &str, grant_to: Option<&str>) -> StoreResult<i32> {
        let pool = Pool::new(options(url)?, 1);
        let version = migrate::run(&pool, grant_to).await;
        pool.close().await;
        version
    }

    /// One statement that may be repeated: a connection that broke while it was idle is
    /// replaced once.
    async fn repeatable<'q>(
        &self,
        limit: Duration,
        query: impl Fn() -> PgQuery<'q> + Send,
    ) -> StoreResult<Vec<PgRow>> {
        let mut conn = self.pool.take().await.map_err(Failure::of_repeatable)?;
        let reused = conn.reused;
        let failure = match conn.rows(limit, query()).await {
            Ok(rows) => {
                conn.release();
                return Ok(rows);
            }
            Err(error) if reused && error.is_broken_connection() => error,
            Err(error) => return Err(Failure::from(error).of_repeatable()),
        };
        tracing::debug!(?failure, "a connection broke while it was idle");
        drop(conn);
        let mut conn = self.pool.take().await.map_err(Failure::of_repeatable)?;
        let rows = conn.rows(limit, query()).await.map_err(|error| Failure::from(error).of_repeatable())?;
        conn.release();
        Ok(rows)
    }

    /// One statement whose lost reply leaves the outcome unknown.
    async fn once(&self, limit: Duration, query: PgQuery<'_>) -> Result<PgRow, Failure> {
        let mut conn = self.pool.take().await?;
        let row = conn.row(limit, query).await?;
        conn.release();
        Ok(row)
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn create(&self, new: &NewSandbox, first: &ChangeSet) -> StoreResult<Created> {
        commit::create(self, new, first).await
    }

    async fn probe(&self, sandbox: SandboxId) -> StoreResult<Option<SandboxRow>> {
        sandboxes::probe(self, sandbox).await
    }

    async fn load(
        &self,
        sandbox: SandboxId,
        since: Option<(Version, Head)>,
    ) -> StoreResult<Option<(SandboxRow, Loaded)>> {
        load::load(self, sandbox, since).await
    }

    async fn blobs(&self, hashes: &[Sha256]) -> StoreResult<Vec<(Sha256, Bytes)>> {
        blobs::read(self, hashes).await
    }

    async fn blob_range(&self, hash: Sha256, offset: u64, len: u64) -> StoreResult<Option<Bytes>> {
        blobs::range(self, hash, offset, len).await
    }

    async fn flush_blobs(&self, contents: &[(Sha256, Bytes)]) -> StoreResult<()> {
        let mut sorted: Vec<_> = contents.iter().map(|(hash, data)| (hash, data)).collect();
        sorted.sort_unstable_by_key(|(hash, _)| **hash);
        sorted.dedup_by_key(|(hash, _)| **hash);
        blobs::flush(self, &sorted).await
    }

    async fn commit(&self, commit: &Commit<'_>) -> StoreResult<CommitOutcome> {
        commit::commit(self, commit).await
    }

    async fn resolve(
        &self,
        sandbox: SandboxId,
        exec: ExecId,
        request_id: &str,
        actor: &str,
    ) -> StoreResult<Resolution> {
        resolve::resolve(self, sandbox, exec, request_id, actor).await
    }

    async fn keep_cwd(&self, sandbox: SandboxId, seen: Head, cwd: &str) -> StoreResult<bool> {
        sandboxes::keep_cwd(self, sandbox, seen, cwd).await
    }

    async fn kept_reply(&self, sandbox: SandboxId, key: &str) -> StoreResult<Option<Kept>> {
        replies::kept(self, sandbox, key).await
    }

    async fn keep_reply(
        &self,
        sandbox: SandboxId,
        seen: Head,
        cwd: Option<&str>,
        keep: &Keep<'_>,
    ) -> StoreResult<bool> {
        replies::keep_unchanged(self, sandbox, seen, cwd, keep).await
    }

    async fn forget_replies(&self, kept_before_ns: i64, limit: u32) -> StoreResult<u64> {
        replies::forget(self, kept_before_ns, limit).await
    }

    async fn list(&self, owner: &Owner, page: &Page) -> StoreResult<Vec<SandboxRow>> {
        sandboxes::list(self, owner, page).await
    }

    async fn patch(&self, owner: &Owner, sandbox: SandboxId, patch: &Patch) -> StoreResult<Patched> {
        sandboxes::patch(self, owner, sandbox, patch).await
    }

    async fn delete(&self, owner: &Owner, sandbox: SandboxId) -> StoreResult<bool> {
        sandboxes::delete(self, owner, sandbox).await
    }

    async fn list_all(&self, owner: Option<&Owner>, page: &Page) -> StoreResult<Vec<SandboxRow>> {
        operators::list_all(self, owner, page).await
    }

    async fn revoke(&self, revocation: &Revocation) -> StoreResult<()> {
        operators::revoke(self, revocation).await
    }

    async fn revocations(&self) -> StoreResult<Vec<Revocation>> {
        operators::revocations(self).await
    }

    async fn usage(&self) -> StoreResult<Usage> {
        operators::usage(self).await
    }

    async fn touch(&self, used: &[(SandboxId, i64)]) -> StoreResult<()> {
        sandboxes::touch(self, used).await
    }

    async fn prune_history(&self, retention: &Retention, limit: u32) -> StoreResult<u64> {
        maintenance::prune_history(self, retention, limit).await
    }

    async fn purge_deleted(&self, deleted_before_ns: i64, limit: u32) -> StoreResult<u64> {
        maintenance::purge_deleted(self, deleted_before_ns, limit).await
    }

    async fn gc_blobs(&self, unreferenced_since_ns: i64, limit: u32) -> StoreResult<GcReport> {
        maintenance::gc_blobs(self, unreferenced_since_ns, limit).await
    }

    async fn checks(&self) -> StoreResult<Vec<Check>> {
        checks::checks(self).await
    }

    async fn ping(&self) -> StoreResult<()> {
        checks::ping(self).await
    }

    async fn close(&self) {
        self.pool.close().await;
    }

    fn connections(&self) -> Connections {
        self.pool.connections()
    }

    fn statements(&self) -> u64 {
        self.pool.statements()
    }
}
