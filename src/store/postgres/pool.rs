//! Connections. A small pool of our own, because sqlx's sends one more round trip after
//! each use (a ping when a connection comes back), and because of the rule that carries
//! the store's promises: **a connection goes back only when its work has ended well.**
//! A [`Conn`] that is dropped in any other way (an error, a timeout, a caller that went
//! away in the middle of a transaction) is closed at once, so that the server rolls back
//! and nobody ever inherits an open transaction or a held lock.
//!
//! Who takes the last idle connection has the next one opened in the background: to open one
//! takes longer than most execs (a password is checked with thousands of hashes).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Postgres, raw_sql};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::{CallError, Failure};
use crate::clock::{self, Instant};
use crate::store::Connections;

/// The longest that a caller waits for a connection, opening one included.
const TAKE: Duration = Duration::from_secs(5);
/// A connection that was idle for longer is not used again: something on the way may have
/// forgotten it.
const IDLE: Duration = Duration::from_mins(5);
/// A connection older than this is not used again, so that changed addresses and settings
/// are taken up.
const AGE: Duration = Duration::from_mins(30);

/// A query with its arguments.
pub(super) type PgQuery<'q> = Query<'q, Postgres, PgArguments>;

#[derive(Debug)]
pub(super) struct Pool {
    options: PgConnectOptions,
    size: usize,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Idle>>,
    /// Whether one is being opened ahead.
    opening: AtomicBool,
    statements: AtomicU64,
    // Grows when a connection is found broken: those opened before are most likely broken
    // too (the server restarted), and are not used again.
    generation: AtomicU64,
    closed: AtomicBool,
}

#[derive(Debug)]
struct Idle {
    connection: PgConnection,
    opened: Instant,
    since: Instant,
    generation: u64,
}

impl Pool {
    pub(super) fn new(options: PgConnectOptions, size: u32) -> Arc<Self> {
        let size = size.max(1) as usize;
        Arc::new(Self {
            options,
            size,
            permits: Arc::new(Semaphore::new(size)),
            idle: Mutex::default(),
            opening: AtomicBool::new(false),
            statements: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        })
    }

    /// A connection, used before or new. Any failure means that nothing was sent.
    pub(super) async fn take(self: &Arc<Self>) -> Result<Conn, Failure> {
        let taking = async {
            let permit = Arc::clone(&self.permits).acquire_owned().await;
            let Ok(permit) = permit else {
                return Err(Failure::Unavailable("the store is closed".into()));
            };
            let generation = self.generation.load(Ordering::Acquire);
            let idle = self.take_idle(generation);
            self.open_ahead(generation);
            if let Some(idle) = idle {
                return Ok(Conn::new(self, permit, idle.connection, idle.opened, generation, true));
            }
            let connection = PgConnection::connect_with(&self.options).await.map_err(Failure::of_connect)?;
            Ok(Conn::new(self, permit, connection, clock::now(), generation, false))
        };
        match tokio::time::timeout(TAKE, taking).await {
            Ok(taken) => taken,
            Err(_) => Err(Failure::Unavailable(format!("no connection within {} s", TAKE.as_secs()))),
        }
    }

    fn take_idle(&self, generation: u64) -> Option<Idle> {
        let now = clock::now();
        let mut idle = self.idle();
        idle.retain(|it| {
            it.generation == generation
                && now.duration_since(it.since) < IDLE
                && now.duration_since(it.opened) < AGE
        });
        idle.pop()
    }

    /// Opens a connection for the next caller, if none is idle and there may be another.
    fn open_ahead(self: &Arc<Self>, generation: u64) {
        let Connections { used, idle } = self.connections();
        if idle > 0 || used >= self.size || self.opening.swap(true, Ordering::AcqRel) {
            return;
        }
        let pool = self.clone();
        tokio::spawn(async move {
            let opened = tokio::time::timeout(TAKE, PgConnection::connect_with(&pool.options)).await;
            pool.opening.store(false, Ordering::Release);
            // Whoever needs one will open it, and hear what is wrong.
            let Ok(Ok(connection)) = opened else { return };
            let Connections { used, idle } = pool.connections();
            if used + idle < pool.size && !pool.closed.load(Ordering::Acquire) {
                let now = clock::now();
                // Below the others: those have statements prepared.
                pool.idle().insert(0, Idle { connection, opened: now, since: now, generation });
            }
        });
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn connections(&self) -> Connections {
        let used = self.size - self.permits.available_permits();
        let idle = self.idle().len();
        Connections { used, idle }
    }

    pub(super) fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// Closes the idle connections now and the others as they come back.
    pub(super) async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle());
        for it in idle {
            // The server notices the end of the connection by itself if this fails.
            let _ = tokio::time::timeout(TAKE, it.connection.close()).await;
        }
    }
}

/// One connection in use. See the module's rule: call [`Conn::release`] when all went well.
#[derive(Debug)]
pub(super) struct Conn {
    connection: PgConnection,
    pool: Arc<Pool>,
    opened: Instant,
    generation: u64,
    /// Whether it was used before: it may have broken while it was idle.
    pub(super) reused: bool,
    _permit: OwnedSemaphorePermit,
}

impl Conn {
    fn new(
        pool: &Arc<Pool>,
        permit: OwnedSemaphorePermit,
        connection: PgConnection,
        opened: Instant,
        generation: u64,
        reused: bool,
    ) -> Self {
        Self { connection, pool: Arc::clone(pool), opened, generation, reused, _permit: permit }
    }

    /// One statement, with all its rows. Returns only after the server said that the
    /// statement, and a transaction that ends with it, are done.
    pub(super) async fn rows(
        &mut self,
        limit: Duration,
        query: PgQuery<'_>,
    ) -> Result<Vec<PgRow>, CallError> {
        self.pool.statements.fetch_add(1, Ordering::Relaxed);
        let call = tokio::time::timeout(limit, self.connection.fetch_all(query)).await;
        self.seen(call, limit)
    }

    /// As `rows`, for a function that returns exactly one row.
    pub(super) async fn row(&mut self, limit: Duration, query: PgQuery<'_>) -> Result<PgRow, CallError> {
        self.rows(limit, query).await?.pop().ok_or(CallError::Sql(sqlx::Error::RowNotFound))
    }

    /// Statements without arguments, in the simple protocol.
    pub(super) async fn run(&mut self, limit: Duration, sql: &'static str) -> Result<(), CallError> {
        self.pool.statements.fetch_add(1, Ordering::Relaxed);
        let call = tokio::time::timeout(limit, raw_sql(sql).execute(&mut self.connection)).await;
        self.seen(call, limit).map(drop)
    }

    /// The same for SQL that is put together here, of numbers and quoted identifiers.
    pub(super) async fn run_owned(&mut self, limit: Duration, sql: String) -> Result<(), CallError> {
        self.pool.statements.fetch_add(1, Ordering::Relaxed);
        let sql = raw_sql(AssertSqlSafe(sql));
        let call = tokio::time::timeout(limit, sql.execute(&mut self.connection)).await;
        self.seen(call, limit).map(drop)
    }

    /// All rows of a query, as bytes, see `copied`.
    pub(super) async fn copy(&mut self, limit: Duration, query: String) -> Result<Vec<u8>, CallError> {
        self.pool.statements.fetch_add(1, Ordering::Relaxed);
        let copy = async {
            let sql = format!("COPY ({query}) TO STDOUT (FORMAT binary)");
            let mut pieces = self.connection.copy_out_raw(&sql).await?;
            let mut data = Vec::new();
            while let Some(piece) = pieces.try_next().await? {
                data.extend_from_slice(&piece);
            }
            Ok(data)
        };
        let call = tokio::time::timeout(limit, copy).await;
        self.seen(call, limit)
    }

    /// Rows in the simple protocol, which leaves nothing behind on the server.
    pub(super) async fn raw_rows(
        &mut self,
        limit: Duration,
        sql: &'static str,
    ) -> Result<Vec<PgRow>, CallError> {
        self.pool.statements.fetch_add(1, Ordering::Relaxed);
        let call = tokio::time::timeout(limit, raw_sql(sql).fetch_all(&mut self.connection)).await;
        self.seen(call, limit)
    }

    fn seen<T>(
        &self,
        call: Result<Result<T, sqlx::Error>, tokio::time::error::Elapsed>,
        limit: Duration,
    ) -> Result<T, CallError> {
        let error = match call {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => CallError::Sql(error),
            Err(_) => CallError::TimedOut(limit),
        };
        if error.is_broken_connection() {
            // Compare-and-set: ten connections that break together are one event.
            let _ = self.pool.generation.compare_exchange(
                self.generation,
                self.generation + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
        }
        Err(error)
    }

    /// Gives the connection back. Only when no transaction is open on it.
    pub(super) fn release(self) {
        if self.pool.closed.load(Ordering::Acquire) {
            return;
        }
        self.pool.idle().push(Idle {
            connection: self.connection,
            opened: self.opened,
            since: clock::now(),
            generation: self.generation,
        });
    }
}
