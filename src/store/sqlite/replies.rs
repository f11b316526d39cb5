//! Replies that are kept for `Idempotency-Key`.

use sqlx::{Row, query};

use super::db::{Db, Tx, bounded};
use super::error::Failure;
use super::rows::decoding;
use super::{LONG, SHORT};
use crate::clock;
use crate::ids::{Head, SandboxId, Sha256};
use crate::store::{Keep, Kept, StoreResult};

pub(super) async fn kept(db: &Db, id: SandboxId, key: &str) -> StoreResult<Option<Kept>> {
    let sql = "SELECT request, version, head, reply FROM kept_replies WHERE sandbox_id = ?1 AND key = ?2";
    let rows = db.rows(SHORT, query(sql).bind(id.0).bind(key)).await.map_err(Failure::of_repeatable)?;
    let read = |row: &sqlx::sqlite::SqliteRow| {
        let request: &[u8] = row.try_get("request").map_err(decoding)?;
        let request = Sha256::from_slice(request);
        Ok(Kept {
            request: request.ok_or_else(|| Failure::Inconsistent("a hash of no known size".into()))?,
            version: row.try_get("version").map_err(decoding)?,
            head: Head(row.try_get("head").map_err(decoding)?),
            reply: row.try_get("reply").map_err(decoding)?,
        })
    };
    rows.first().map(read).transpose().map_err(Failure::of_repeatable)
}

/// Keeps a reply in the transaction of its effect. `false`: the key has one already.
pub(super) async fn beside(
    tx: &mut Tx<'_>,
    id: SandboxId,
    keep: &Keep<'_>,
    version: i64,
    head: Head,
    now: i64,
) -> Result<bool, Failure> {
    let sql = "INSERT INTO kept_replies VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
    let insert = query(sql)
        .bind(id.0)
        .bind(keep.key)
        .bind(keep.request.0.as_slice())
        .bind(version)
        .bind(head.0)
        .bind(now)
        .bind(keep.reply);
    Ok(tx.execute(insert).await? == 1)
}

pub(super) async fn keep_unchanged(
    db: &Db,
    id: SandboxId,
    seen: Head,
    cwd: Option<&str>,
    keep: &Keep<'_>,
) -> StoreResult<bool> {
    let now = clock::wall_ns();
    let call = async {
        let mut tx = db.write().await?;
        let sql = "UPDATE sandboxes SET cwd = coalesce(?3, cwd) \
                   WHERE id = ?1 AND head = ?2 AND state = 'active' RETURNING version";
        let Some(row) = tx.row(query(sql).bind(id.0).bind(seen.0).bind(cwd)).await? else { return Ok(false) };
        let version: i64 = row.try_get(0).map_err(decoding)?;
        if !beside(&mut tx, id, keep, version, seen, now).await? {
            return Ok(false);
        }
        tx.commit().await?;
        Ok(true)
    };
    bounded(SHORT, call).await.map_err(Failure::of_repeatable)
}

pub(super) async fn forget(db: &Db, before_ns: i64, limit: u32) -> StoreResult<u64> {
    let sql = "DELETE FROM kept_replies WHERE rowid IN \
               (SELECT rowid FROM kept_replies WHERE kept_at < ?1 ORDER BY kept_at LIMIT ?2)";
    let call = async {
        let mut tx = db.write().await?;
        let dropped = tx.execute(query(sql).bind(before_ns).bind(i64::from(limit))).await?;
        tx.commit().await?;
        Ok(dropped)
    };
    bounded(LONG, call).await.map_err(Failure::of_repeatable)
}
