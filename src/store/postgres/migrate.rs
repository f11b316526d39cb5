//! The schema: versioned SQL files, applied all or nothing in one transaction under an
//! advisory transaction lock, so that two processes that start at once do it once. Only
//! the simple protocol and transaction locks are used: it works through a transaction
//! pooler of any version.

use std::sync::Arc;

use sqlx::Row;

use super::error::{CallError, Failure};
use super::pool::{Conn, Pool};
use super::rows::decoding;
use super::{LONG, SHORT};
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
        sql: include_str!("../../../migrations/postgres/0001_first.sql"),
    },
    Migration {
        version: 2,
        oldest_binary: 1,
        sql: include_str!("../../../migrations/postgres/0002_operators.sql"),
    },
    Migration {
        version: 3,
        oldest_binary: 1,
        sql: include_str!("../../../migrations/postgres/0003_replies.sql"),
    },
];

/// What the database says about its schema.
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

/// The schema as it is; `None` in an empty database.
pub(super) async fn look(conn: &mut Conn) -> Result<Option<Schema>, Failure> {
    // Not to_regclass: it may answer from the backend's cache that the table is absent, when
    // another process made it while this one waited for the lock.
    let sql =
        "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'sqlfs_schema' AND pg_table_is_visible(oid))";
    let there = conn.raw_rows(SHORT, sql).await?;
    let there: bool = there.first().map_or(Ok(false), |row| row.try_get(0)).map_err(decoding)?;
    if !there {
        return Ok(None);
    }
    let sql = "SELECT version, oldest_binary FROM sqlfs_schema ORDER BY version DESC LIMIT 1";
    let rows = conn.raw_rows(SHORT, sql).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(Schema {
        version: row.try_get(0).map_err(decoding)?,
        oldest_binary: row.try_get(1).map_err(decoding)?,
    }))
}

/// Brings the schema up if it is older and that is allowed; refuses what cannot be used.
pub(super) async fn ensure(pool: &Arc<Pool>, auto_migrate: bool) -> StoreResult<()> {
    let mut conn = pool.take().await.map_err(Failure::of_repeatable)?;
    let schema = look(&mut conn).await.map_err(Failure::of_repeatable)?;
    conn.release();
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
    run(pool, None).await.map(drop)
}

/// See [`crate::store::migrate`].
pub(super) async fn run(pool: &Arc<Pool>, grant_to: Option<&str>) -> StoreResult<i32> {
    let mut conn = pool.take().await.map_err(Failure::of_repeatable)?;
    let version = in_transaction(&mut conn, grant_to).await.map_err(|failure| match failure {
        Failure::Refused(text) => StoreError::Refused(format!(
            "the schema cannot be brought up by this role ({text}): run `sqlfs migrate` as the owner of the \
             schema (MIGRATE_DATABASE_URL), with --grant-to for the role of `serve`"
        )),
        other => other.of_repeatable(),
    })?;
    conn.run(LONG, "COMMIT").await.map_err(|error| Failure::from(error).of_repeatable())?;
    conn.release();
    Ok(version)
}

async fn in_transaction(conn: &mut Conn, grant_to: Option<&str>) -> Result<i32, Failure> {
    conn.run(SHORT, "BEGIN").await?;
    // The number is "sqlfs" in ASCII. Whoever comes second waits here and finds all done.
    conn.raw_rows(LONG, "SELECT pg_advisory_xact_lock(495824168563)").await?;
    let schema = look(conn).await?;
    if let Some(reason) = schema.and_then(Schema::too_new) {
        return Err(Failure::Refused(reason));
    }
    if schema.is_none() {
        let ledger = "CREATE TABLE IF NOT EXISTS sqlfs_schema (version integer PRIMARY KEY, \
                      oldest_binary integer NOT NULL, applied_at bigint NOT NULL)";
        conn.run(SHORT, ledger).await?;
    }
    let mut version = schema.map_or(0, |it| it.version);
    for migration in MIGRATIONS.iter().filter(|it| it.version > version).collect::<Vec<_>>() {
        conn.run(LONG, migration.sql).await?;
        let (number, oldest, now) = (migration.version, migration.oldest_binary, clock::wall_ns());
        conn.run_owned(SHORT, format!("INSERT INTO sqlfs_schema VALUES ({number}, {oldest}, {now})")).await?;
        version = number;
    }
    let me = "SELECT current_user::text, current_schema()::text, current_database()::text, rolsuper \
              FROM pg_roles WHERE rolname = current_user";
    let rows = conn.raw_rows(SHORT, me).await?;
    let row = rows.first().ok_or_else(|| Failure::Inconsistent("no current user".into()))?;
    let text = |n: usize| row.try_get::<String, _>(n).map(|name| quoted(&name)).map_err(decoding);
    let (user, schema, database) = (text(0)?, text(1)?, text(2)?);
    if let Some(role) = grant_to.map(quoted) {
        let sql = format!(
            "GRANT USAGE ON SCHEMA {schema} TO {role}; \
             GRANT SELECT ON sqlfs_schema TO {role}; \
             GRANT SELECT, INSERT, UPDATE ON sandboxes, revocations TO {role}; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON inodes, dirents, exec_log, blobs, kept_replies TO {role}"
        );
        conn.run_owned(SHORT, sql).await?;
    }
    let superuser: bool = row.try_get(3).map_err(decoding)?;
    match grant_to.map(quoted) {
        Some(role) => bound_role(conn, &role, &database).await?,
        None if superuser => {}
        None => bound_role(conn, &user, &database).await?,
    }
    Ok(version)
}

/// Bounds that only take hold when they are set before a statement starts, so they go on
/// the role: the client bounds each call by itself, these end what it gave up on.
async fn bound_role(conn: &mut Conn, role: &str, database: &str) -> Result<(), Failure> {
    conn.run(SHORT, "SAVEPOINT role_settings").await?;
    for setting in ["statement_timeout = '60s'", "client_connection_check_interval = '2s'"] {
        let set =
            conn.run_owned(SHORT, format!("ALTER ROLE {role} IN DATABASE {database} SET {setting}")).await;
        match set {
            Ok(()) => conn.run(SHORT, "RELEASE SAVEPOINT role_settings; SAVEPOINT role_settings").await?,
            // Only an administrator may set it for another role; the store works without.
            Err(CallError::Sql(sqlx::Error::Database(error))) => {
                tracing::warn!(
                    role,
                    setting,
                    reason = error.message(),
                    "the role's setting could not be made"
                );
                conn.run(SHORT, "ROLLBACK TO SAVEPOINT role_settings").await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}
