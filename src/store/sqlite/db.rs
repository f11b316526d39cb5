//! The connections: one that writes, a few that read.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, ConnectOptions, Sqlite, SqlitePool, Transaction, raw_sql};

use super::error::Failure;
use crate::store::StoreResult;

/// Readers at a time.
const READERS: u32 = 4;
/// The longest that a caller waits for a connection.
const TAKE: Duration = Duration::from_secs(20);

/// A query with its arguments.
pub(super) type LiteQuery<'q> = Query<'q, Sqlite, SqliteArguments>;

#[derive(Debug)]
pub(super) struct Db {
    writer: SqlitePool,
    readers: SqlitePool,
    statements: AtomicU64,
}

/// A transaction; dropped without [`Tx::commit`] it rolls back.
pub(super) struct Tx<'db> {
    inner: Transaction<'static, Sqlite>,
    statements: &'db AtomicU64,
}

impl Db {
    pub(super) async fn open(path: &Path) -> StoreResult<Self> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(5))
            .pragma("cache_size", "-16384")
            .disable_statement_logging();
        let pool = |size| {
            SqlitePoolOptions::new()
                .max_connections(size)
                .acquire_timeout(TAKE)
                .test_before_acquire(false)
                .idle_timeout(None)
                .max_lifetime(None)
        };
        let opening = async {
            let writer = pool(1).connect_with(options.clone()).await?;
            let readers = pool(READERS).connect_with(options.pragma("query_only", "on")).await?;
            Ok((writer, readers))
        };
        let (writer, readers) = opening.await.map_err(|error| Failure::of_open(error, path))?;
        Ok(Self { writer, readers, statements: AtomicU64::new(0) })
    }

    /// A transaction that holds the right to write from its start.
    pub(super) async fn write(&self) -> Result<Tx<'_>, Failure> {
        self.begin(&self.writer, "BEGIN IMMEDIATE").await
    }

    /// A snapshot.
    pub(super) async fn read(&self) -> Result<Tx<'_>, Failure> {
        self.begin(&self.readers, "BEGIN").await
    }

    async fn begin(&self, pool: &SqlitePool, begin: &'static str) -> Result<Tx<'_>, Failure> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        Ok(Tx { inner: pool.begin_with(begin).await.map_err(Failure::of)?, statements: &self.statements })
    }

    /// One statement that reads.
    pub(super) async fn rows(
        &self,
        limit: Duration,
        query: LiteQuery<'_>,
    ) -> Result<Vec<SqliteRow>, Failure> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        bounded(limit, async { query.fetch_all(&self.readers).await.map_err(Failure::of) }).await
    }

    /// One statement on the connection that writes, outside of a transaction.
    pub(super) async fn writer_rows(&self, query: LiteQuery<'_>) -> Result<Vec<SqliteRow>, Failure> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        query.fetch_all(&self.writer).await.map_err(Failure::of)
    }

    pub(super) fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    pub(super) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

impl Tx<'_> {
    pub(super) async fn rows(&mut self, query: LiteQuery<'_>) -> Result<Vec<SqliteRow>, Failure> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        query.fetch_all(&mut *self.inner).await.map_err(Failure::of)
    }

    pub(super) async fn row(&mut self, query: LiteQuery<'_>) -> Result<Option<SqliteRow>, Failure> {
        Ok(self.rows(query).await?.pop())
    }

    /// Rows changed.
    pub(super) async fn execute(&mut self, query: LiteQuery<'_>) -> Result<u64, Failure> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        Ok(query.execute(&mut *self.inner).await.map_err(Failure::of)?.rows_affected())
    }

    /// Statements of a migration.
    pub(super) async fn run(&mut self, sql: &'static str) -> Result<(), Failure> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        raw_sql(AssertSqlSafe(sql)).execute(&mut *self.inner).await.map_err(Failure::of).map(drop)
    }

    /// Makes it true. An error leaves the outcome unknown.
    pub(super) async fn commit(self) -> Result<(), Failure> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        self.inner.commit().await.map_err(|error| Failure::Lost(error.to_string()))
    }
}

/// Bounds a call; what it had begun rolls back.
pub(super) async fn bounded<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(limit, call).await {
        Ok(done) => done,
        Err(_) => Err(Failure::Lost(format!("no answer within {} s", limit.as_secs()))),
    }
}
