//! A tree, or what changed in it, from one snapshot.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, query};

use super::LONG;
use super::db::{Db, LiteQuery, Tx, bounded};
use super::error::Failure;
use super::rows::{decoding, dirent, inode, inode_columns, sandbox, sandbox_columns, unsigned};
use crate::fs::change_set::Delta;
use crate::ids::{Head, SandboxId, Version};
use crate::store::{Loaded, SandboxRow, StoreResult};

/// See [`crate::store::Store::load`].
pub(super) async fn load(
    db: &Db,
    id: SandboxId,
    since: Option<(Version, Head)>,
) -> StoreResult<Option<(SandboxRow, Loaded)>> {
    bounded(LONG, in_snapshot(db, id, since)).await.map_err(Failure::of_repeatable)
}

async fn in_snapshot(
    db: &Db,
    id: SandboxId,
    since: Option<(Version, Head)>,
) -> Result<Option<(SandboxRow, Loaded)>, Failure> {
    let mut tx = db.read().await?;
    let sql = concat!("SELECT ", sandbox_columns!(), " FROM sandboxes WHERE id = ?1 AND state = 'active'");
    let Some(row) = tx.row(query(sql).bind(id.0)).await? else {
        return Ok(None);
    };
    let row = sandbox(&row)?;
    let loaded = match since {
        Some(it) if can_tell(&mut tx, &row, it).await? => Loaded::Delta(delta(&mut tx, id, it.0).await?),
        Some(_) | None => full(&mut tx, id).await?,
    };
    Ok(Some((row, loaded)))
}

/// Whether the rows of every version since are kept, and that version had that head in
/// this history.
async fn can_tell(
    tx: &mut Tx<'_>,
    row: &SandboxRow,
    (version, head): (Version, Head),
) -> Result<bool, Failure> {
    if version < row.history_from || version > row.version {
        return Ok(false);
    }
    let sql = "SELECT 1 FROM exec_log WHERE sandbox_id = ?1 AND version = ?2 AND head = ?3";
    Ok(tx.row(query(sql).bind(row.id.0).bind(version).bind(head.0)).await?.is_some())
}

async fn full(tx: &mut Tx<'_>, id: SandboxId) -> Result<Loaded, Failure> {
    let inodes =
        concat!("SELECT ", inode_columns!(), " FROM inodes WHERE sandbox_id = ?1 AND valid_to IS NULL");
    let dirents = "SELECT parent_ino, name, ino FROM dirents WHERE sandbox_id = ?1 AND valid_to IS NULL";
    Ok(Loaded::Full {
        inodes: all(tx, query(inodes).bind(id.0), inode).await?,
        dirents: all(tx, query(dirents).bind(id.0), dirent).await?,
    })
}

/// Through the indexes of versions: it must cost what changed, not what is there.
async fn delta(tx: &mut Tx<'_>, id: SandboxId, since: Version) -> Result<Delta, Failure> {
    let began = concat!(
        "SELECT ",
        inode_columns!(),
        " FROM inodes INDEXED BY inodes_began \
         WHERE sandbox_id = ?1 AND valid_from > ?2 AND valid_from > 0 AND valid_to IS NULL"
    );
    let ended = "SELECT ino FROM inodes INDEXED BY inodes_ended \
                 WHERE sandbox_id = ?1 AND valid_to > ?2 AND valid_to IS NOT NULL AND valid_from <= ?2";
    let names_began = "SELECT parent_ino, name, ino FROM dirents INDEXED BY dirents_began \
                       WHERE sandbox_id = ?1 AND valid_from > ?2 AND valid_from > 0 AND valid_to IS NULL";
    let names_ended = "SELECT parent_ino, name, ino FROM dirents INDEXED BY dirents_ended \
                       WHERE sandbox_id = ?1 AND valid_to > ?2 AND valid_to IS NOT NULL AND valid_from <= ?2";
    let bound = |sql: &'static str| query(sql).bind(id.0).bind(since);
    Ok(Delta {
        inodes: all(tx, bound(began), inode).await?,
        ended_inodes: all(tx, bound(ended), |row| unsigned(row.try_get(0).map_err(decoding)?, "ino")).await?,
        dirents: all(tx, bound(names_began), dirent).await?,
        ended_dirents: all(tx, bound(names_ended), |row| dirent(row).map(|it| (it.parent, it.name))).await?,
    })
}

async fn all<T>(
    tx: &mut Tx<'_>,
    query: LiteQuery<'_>,
    read: impl Fn(&SqliteRow) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    tx.rows(query).await?.iter().map(read).collect()
}
