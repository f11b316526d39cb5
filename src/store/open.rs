//! From a URL to a store. `postgres://…` (or `postgresql://…`) is one database of one
//! tenant; `sqlite:PATH` is a file whose folder this process holds alone.

use std::path::Path;
use std::sync::Arc;

use crate::store::postgres::PostgresStore;
use crate::store::sqlite::SqliteStore;
use crate::store::{Check, Store, StoreError, StoreResult, Verdict};

/// The schema version that this binary was written for. A newer schema says itself which
/// binaries may still use it.
pub const SCHEMA_VERSION: i32 = 3;

/// How to open a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// Most connections at a time to Postgres (DB_POOL_SIZE). At least 1.
    pub pool_size: u32,
    /// Whether an older schema is brought up; else it is refused (SQLFS_AUTO_MIGRATE).
    pub auto_migrate: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { pool_size: 8, auto_migrate: true }
    }
}

enum Target<'a> {
    Postgres(&'a str),
    Sqlite(&'a Path),
}

fn target(url: &str) -> StoreResult<Target<'_>> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Target::Postgres(url));
    }
    match url.strip_prefix("sqlite:") {
        Some(path) if !path.is_empty() => Ok(Target::Sqlite(Path::new(path))),
        // The URL may hold a password, so the line shows its scheme at most.
        Some(_) => {
            Err(StoreError::Refused("sqlite: needs a path, as in sqlite:./sqlfs-data/sqlfs.db".into()))
        }
        None => Err(StoreError::Refused(match url.split_once("://") {
            Some((scheme, _)) => {
                format!("a store URL starts with postgres:// or sqlite:, this one with {scheme:?}")
            }
            None => "a store URL starts with postgres:// or sqlite:, this one with neither".into(),
        })),
    }
}

/// Opens the store, brings its schema up if allowed, and runs the start-up checks.
///
/// `Refused` holds one line that says what is wrong and what to do: schema too old or too
/// new, a role that bypasses row-level security, settings that lose acknowledged commits, a
/// folder held by another process. `Unavailable` when the database cannot be reached now.
pub async fn open(url: &str, options: &Options) -> StoreResult<Arc<dyn Store>> {
    let store: Arc<dyn Store> = match target(url)? {
        Target::Postgres(url) => Arc::new(PostgresStore::open(url, options).await?),
        Target::Sqlite(path) => Arc::new(SqliteStore::open(path, options).await?),
    };
    let refusal = store.checks().await?.into_iter().find(|check| check.verdict == Verdict::Refuse);
    if let Some(check) = refusal {
        store.close().await;
        return Err(StoreError::Refused(format!("{}: {}", check.name, check.detail)));
    }
    Ok(store)
}

/// The checks of an installation, also of one that [`open`] refuses; changes nothing in an
/// existing schema. For `sqlfs doctor`.
pub async fn checks(url: &str) -> StoreResult<Vec<Check>> {
    match target(url)? {
        Target::Postgres(url) => PostgresStore::look(url).await,
        Target::Sqlite(path) => SqliteStore::look(path).await,
    }
}

/// Brings the schema up, all or nothing, safe to run from several processes at once. With
/// `grant_to` (Postgres only) the named role gets what `serve` needs and no more. Returns
/// the schema version afterwards.
pub async fn migrate(url: &str, grant_to: Option<&str>) -> StoreResult<i32> {
    match (target(url)?, grant_to) {
        (Target::Postgres(url), role) => PostgresStore::migrate(url, role).await,
        (Target::Sqlite(path), None) => SqliteStore::migrate(path).await,
        (Target::Sqlite(_), Some(_)) => {
            Err(StoreError::Refused("--grant-to is for Postgres; SQLite has no roles".into()))
        }
    }
}
