//! The schema: versioned SQL files, applied all or nothing in one transaction.

use sqlx::{Row, query};

use super::LONG;
use super::db::{Db, Tx, bounded};
use super::error::Failure;
use super::rows::decoding;
use crate::clock;
use crate::store::open::SCHEMA_VERSION;
use crate::store::{StoreError, StoreResult};

struct Migration {
    version: i32,
    /// The lowest schema version whose binaries may still use the database afterwards.
    oldest_binary: i32,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        oldest_binary: 1,
        sql: include_str!("../../../migrations/sqlite/0001_first.sql"),
    },
    Migration {
        version: 2,
        oldest_binary: 1,
        sql: include_str!("../../../migrations/sqlite/0002_operators.sql"),
    },
    Migration {
        version: 3,
        oldest_binary: 1,
        sql: include_str!("../../../migrations/sqlite/0003_replies.sql"),
    },
];

/// What the file says about its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    pub(super) version: i32,
    pub(super) oldest_binary: i32,
}

impl Schema {
    /// Why this binary must not use the schema, if so.
    pub(super) fn too_new(self) -> Option<String> {
        (self.oldest_binary > SCHEMA_VERSION).then(|| {
            format!(
                "the schema is at version {} and needs a binary of schema version {} or newer; this one is of {}: \
                 install a newer sqlfs",
                self.version, self.oldest_binary, SCHEMA_VERSION
            )
        })
    }
}

/// The schema as it is; `None` in an empty file.
pub(super) async fn look(tx: &mut Tx<'_>) -> Result<Option<Schema>, Failure> {
    let there = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'sqlfs_schema'";
    if tx.row(query(there)).await?.is_none() {
        return Ok(None);
    }
    let sql = "SELECT version, oldest_binary FROM sqlfs_schema ORDER BY version DESC LIMIT 1";
    let Some(row) = tx.row(query(sql)).await? else { return Ok(None) };
    Ok(Some(Schema {
        version: row.try_get(0).map_err(decoding)?,
        oldest_binary: row.try_get(1).map_err(decoding)?,
    }))
}

/// Brings the schema up if it is older and that is allowed; refuses what cannot be used.
pub(super) async fn ensure(db: &Db, auto_migrate: bool) -> StoreResult<()> {
    let schema =
        bounded(LONG, async { look(&mut db.read().await?).await }).await.map_err(Failure::of_repeatable)?;
    if let Some(reason) = schema.and_then(Schema::too_new) {
        return Err(StoreError::Refused(reason));
    }
    let version = schema.map_or(0, |it| it.version);
    if version >= SCHEMA_VERSION {
        return Ok(());
    }
    if !auto_migrate {
        return Err(StoreError::Refused(format!(
            "the schema is at version {version}, this binary needs {SCHEMA_VERSION}, and SQLFS_AUTO_MIGRATE is \
             off: run `sqlfs migrate`"
        )));
    }
    run(db).await.map(drop)
}

/// See [`crate::store::migrate`].
pub(super) async fn run(db: &Db) -> StoreResult<i32> {
    bounded(LONG, in_transaction(db)).await.map_err(Failure::of_repeatable)
}

async fn in_transaction(db: &Db) -> Result<i32, Failure> {
    let mut tx = db.write().await?;
    let schema = look(&mut tx).await?;
    if let Some(reason) = schema.and_then(Schema::too_new) {
        return Err(Failure::Refused(reason));
    }
    if schema.is_none() {
        let ledger = "CREATE TABLE IF NOT EXISTS sqlfs_schema (version INTEGER PRIMARY KEY, \
                      oldest_binary INTEGER NOT NULL, applied_at INTEGER NOT NULL) STRICT";
        tx.run(ledger).await?;
    }
    let mut version = schema.map_or(0, |it| it.version);
    for migration in MIGRATIONS.iter().filter(|it| it.version > version).collect::<Vec<_>>() {
        tx.run(migration.sql).await?;
        let entry = query("INSERT INTO sqlfs_schema VALUES (?1, ?2, ?3)")
            .bind(migration.version)
            .bind(migration.oldest_binary)
            .bind(clock::wall_ns());
        tx.execute(entry).await?;
        version = migration.version;
    }
    tx.commit().await?;
    Ok(version)
}
