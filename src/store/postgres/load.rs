//! A tree, or what changed in it, from one snapshot: flat scans by index, joined by the
//! caller in memory.

use futures_util::TryFutureExt;
use sqlx::postgres::PgRow;
use sqlx::{Row, query};

use super::copied;
use super::error::Failure;
use super::pool::{Conn, PgQuery};
use super::rows::{decoding, dirent, inode, inode_columns, sandbox, sandbox_columns_of_r, unsigned};
use super::{LONG, PostgresStore, SHORT};
use crate::fs::change_set::Delta;
use crate::ids::{Head, SandboxId, Version};
use crate::store::{Loaded, SandboxRow, StoreResult};

/// See [`crate::store::Store::load`].
pub(super) async fn load(
    store: &PostgresStore,
    sandbox: SandboxId,
    since: Option<(Version, Head)>,
) -> StoreResult<Option<(SandboxRow, Loaded)>> {
    // A connection that broke while it was idle is replaced once, as for single statements.
    let mut conn = store.pool.take().await.map_err(Failure::of_repeatable)?;
    if let Err(error) = conn.run(SHORT, BEGIN).await {
        if !(conn.reused && error.is_broken_connection()) {
            return Err(Failure::from(error).of_repeatable());
        }
        drop(conn);
        conn = store.pool.take().await.map_err(Failure::of_repeatable)?;
        conn.run(SHORT, BEGIN).await.map_err(|error| Failure::from(error).of_repeatable())?;
    }
    let loaded = in_snapshot(&mut conn, sandbox, since).await.map_err(Failure::of_repeatable)?;
    conn.run(SHORT, "COMMIT").await.map_err(|error| Failure::from(error).of_repeatable())?;
    conn.release();
    Ok(loaded)
}

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

async fn in_snapshot(
    conn: &mut Conn,
    id: SandboxId,
    since: Option<(Version, Head)>,
) -> Result<Option<(SandboxRow, Loaded)>, Failure> {
    let sql = concat!("SELECT incremental, ", sandbox_columns_of_r!(), " FROM sqlfs_load_head($1, $2, $3)");
    let head = query(sql).bind(id.0).bind(since.map(|it| it.0)).bind(since.map(|it| it.1.0));
    let Some(row) = conn.rows(SHORT, head).await?.pop() else {
        return Ok(None);
    };
    let loaded = match since {
        Some((since, _)) if row.try_get("incremental").map_err(decoding)? => {
            Loaded::Delta(delta(conn, id, since).await?)
        }
        Some(_) | None => full(conn, id).await?,
    };
    Ok(Some((sandbox(&row)?, loaded)))
}

async fn full(conn: &mut Conn, id: SandboxId) -> Result<Loaded, Failure> {
    let inodes = conn.copy(LONG, live(inode_columns!(), "inodes", id)).await?;
    let dirents = conn.copy(LONG, live("parent_ino, name, ino", "dirents", id)).await?;
    Ok(Loaded::Full { inodes: copied::inodes(&inodes)?, dirents: copied::dirents(&dirents)? })
}

/// All rows of a sandbox that are there now. `COPY` takes no parameters: the id is written into it.
fn live(columns: &str, table: &str, SandboxId(id): SandboxId) -> String {
    format!("SELECT {columns} FROM {table} WHERE sandbox_id = '{id}'::uuid AND valid_to IS NULL")
}

/// It must cost what changed, not what is there, also with a plan that was made over empty
/// tables, when all indexes look alike: the order (sorting is off in the context) can only
/// be had from the index of versions, and `OFFSET 0` keeps the rest out of that choice.
async fn delta(conn: &mut Conn, id: SandboxId, since: Version) -> Result<Delta, Failure> {
    let began = concat!(
        "SELECT ",
        inode_columns!(),
        " FROM (SELECT * FROM inodes WHERE sandbox_id = $1 AND valid_from > $2 AND valid_from > 0 \
         ORDER BY valid_from OFFSET 0) i WHERE valid_to IS NULL"
    );
    let ended = "SELECT ino FROM (SELECT * FROM inodes WHERE sandbox_id = $1 AND valid_to > $2 \
                 AND valid_to IS NOT NULL ORDER BY valid_to OFFSET 0) i WHERE valid_from <= $2";
    let names_began = "SELECT parent_ino, name, ino FROM (SELECT * FROM dirents WHERE sandbox_id = $1 \
                       AND valid_from > $2 AND valid_from > 0 ORDER BY valid_from OFFSET 0) d WHERE valid_to IS NULL";
    let names_ended = "SELECT parent_ino, name, ino FROM (SELECT * FROM dirents WHERE sandbox_id = $1 \
                       AND valid_to > $2 AND valid_to IS NOT NULL ORDER BY valid_to OFFSET 0) d WHERE valid_from <= $2";
    let bound = |sql: &'static str| query(sql).bind(id.0).bind(since);
    Ok(Delta {
        inodes: all(conn, bound(began), inode).await?,
        ended_inodes: all(conn, bound(ended), |row| unsigned(row.try_get(0).map_err(decoding)?, "ino"))
            .await?,
        dirents: all(conn, bound(names_began), dirent).await?,
        ended_dirents: all(conn, bound(names_ended), |row| dirent(row).map(|it| (it.parent, it.name)))
            .await?,
    })
}

async fn all<T>(
    conn: &mut Conn,
    query: PgQuery<'_>,
    read: impl Fn(&PgRow) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let rows = conn.rows(LONG, query).map_err(Failure::from).await?;
    rows.iter().map(read).collect()
}
