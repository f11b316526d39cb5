//! Retention, purge and garbage collection: the rules of `migrations/postgres`, in short
//! transactions.

use sqlx::{Row, query};
use uuid::Uuid;

use super::LONG;
use super::db::{Db, Tx, bounded};
use super::error::Failure;
use super::rows::{decoding, unsigned};
use crate::clock;
use crate::store::{GcReport, Retention, StoreResult};

/// Rows of each table that one transaction drops.
const BATCH: u64 = 2_000;
/// Contents that one transaction deletes.
const GC_BATCH: u32 = 100;
/// Sandboxes looked at for each one that may have something to drop.
const LOOK: i64 = 20;

pub(super) async fn prune_history(db: &Db, retention: &Retention, limit: u32) -> StoreResult<u64> {
    let now = clock::wall_ns();
    let mut dropped = 0;
    let mut pruned = 0;
    for sandbox in queue(db, "active", now, None, i64::from(limit) * LOOK).await? {
        if pruned == limit {
            break;
        }
        let before = dropped;
        loop {
            let step = bounded(LONG, prune(db, sandbox, retention, now)).await;
            let (rows, more) = step.map_err(Failure::of_repeatable)?;
            dropped += rows;
            if !more {
                break;
            }
        }
        pruned += u32::from(dropped > before);
    }
    Ok(dropped)
}

/// Prunes at most [`BATCH`] rows of each table; `true`: there is more. A version's age is
/// the time at which the next one superseded it.
async fn prune(db: &Db, id: Uuid, retention: &Retention, now: i64) -> Result<(u64, bool), Failure> {
    let mut tx = db.write().await?;
    let sql = "SELECT version, history_from FROM sandboxes WHERE id = ?1 AND state = 'active'";
    let Some(row) = tx.row(query(sql).bind(id)).await? else {
        return Ok((0, false));
    };
    let version: i64 = row.try_get(0).map_err(decoding)?;
    let history_from: i64 = row.try_get(1).map_err(decoding)?;
    let current = "SELECT version FROM exec_log WHERE sandbox_id = ?1 AND version > ?2 \
                   AND started_at + duration_ms * 1000000 <= ?3 ORDER BY version DESC LIMIT 1";
    let current_at = async |tx: &mut Tx<'_>, time: i64| -> Result<Option<i64>, Failure> {
        let row = tx.row(query(current).bind(id).bind(history_from).bind(time)).await?;
        row.map(|row| row.try_get(0).map_err(decoding)).transpose()
    };
    let latest = current_at(&mut tx, retention.younger_than_ns).await?;
    let by_age = current_at(&mut tx, retention.older_than_ns.saturating_sub(1)).await?;
    let by_bytes = match latest {
        Some(_) => over_bytes(&mut tx, id, history_from, retention.bytes).await?,
        None => None,
    };
    let by_count = version.saturating_sub(i64::try_from(retention.versions).unwrap_or(i64::MAX));
    let wanted = by_count.max(by_age.unwrap_or(0)).max(by_bytes.unwrap_or(0));
    let oldest_kept = history_from.max(latest.unwrap_or(0).min(wanted));
    if oldest_kept != history_from {
        let sql = "UPDATE sandboxes SET history_from = ?2 WHERE id = ?1";
        tx.execute(query(sql).bind(id).bind(oldest_kept)).await?;
    }
    let mut dropped = 0;
    let mut more = false;
    for sql in [
        "DELETE FROM inodes WHERE rowid IN (SELECT rowid FROM inodes INDEXED BY inodes_ended \
         WHERE sandbox_id = ?1 AND valid_to IS NOT NULL AND valid_to <= ?2 LIMIT ?3)",
        "DELETE FROM dirents WHERE rowid IN (SELECT rowid FROM dirents INDEXED BY dirents_ended \
         WHERE sandbox_id = ?1 AND valid_to IS NOT NULL AND valid_to <= ?2 LIMIT ?3)",
    ] {
        let rows = tx.execute(query(sql).bind(id).bind(oldest_kept).bind(BATCH as i64)).await?;
        dropped += rows;
        more |= rows == BATCH;
    }
    let log = "DELETE FROM exec_log WHERE rowid IN (SELECT rowid FROM exec_log \
               WHERE sandbox_id = ?1 AND version < ?2 AND started_at < ?4 LIMIT ?3)";
    let log = query(log).bind(id).bind(oldest_kept).bind(BATCH as i64).bind(retention.log_older_than_ns);
    let rows = tx.execute(log).await?;
    dropped += rows;
    more |= rows == BATCH;
    let visited = "UPDATE sandboxes SET upkeep_since = CASE WHEN ?2 < version OR EXISTS \
                   (SELECT 1 FROM exec_log WHERE sandbox_id = ?1 AND version < ?2) THEN ?3 END WHERE id = ?1";
    tx.execute(query(visited).bind(id).bind(oldest_kept).bind(now)).await?;
    tx.commit().await?;
    Ok((dropped, more))
}

/// The version from which on history alone holds no more than `bytes`, if that is not all.
async fn over_bytes(
    tx: &mut Tx<'_>,
    id: Uuid,
    history_from: i64,
    bytes: u64,
) -> Result<Option<i64>, Failure> {
    let sql = "SELECT max(until) FROM (\
                 SELECT until, sum(size) OVER (ORDER BY until DESC, sha256) AS held FROM (\
                   SELECT i.sha256, i.size, max(i.valid_to) AS until FROM inodes i \
                   WHERE i.sandbox_id = ?1 AND i.valid_to IS NOT NULL AND i.valid_to > ?2 AND i.sha256 IS NOT NULL \
                     AND NOT EXISTS (SELECT 1 FROM inodes x WHERE x.sandbox_id = ?1 AND x.sha256 = i.sha256 \
                                     AND x.valid_to IS NULL) \
                   GROUP BY i.sha256, i.size)) \
               WHERE held > ?3";
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    match tx.row(query(sql).bind(id).bind(history_from).bind(bytes)).await? {
        Some(row) => row.try_get(0).map_err(decoding),
        None => Ok(None),
    }
}

pub(super) async fn purge_deleted(db: &Db, before_ns: i64, limit: u32) -> StoreResult<u64> {
    let mut dropped = 0;
    for sandbox in queue(db, "deleted", i64::MAX, Some(before_ns), i64::from(limit)).await? {
        loop {
            let step = bounded(LONG, purge(db, sandbox)).await;
            let (rows, more) = step.map_err(Failure::of_repeatable)?;
            dropped += rows;
            if !more {
                break;
            }
        }
    }
    Ok(dropped)
}

async fn purge(db: &Db, id: Uuid) -> Result<(u64, bool), Failure> {
    let mut tx = db.write().await?;
    let deleted = query("SELECT 1 FROM sandboxes WHERE id = ?1 AND state = 'deleted'").bind(id);
    if tx.row(deleted).await?.is_none() {
        return Ok((0, false));
    }
    let mut dropped = 0;
    let mut more = false;
    for sql in [
        "DELETE FROM dirents WHERE rowid IN (SELECT rowid FROM dirents WHERE sandbox_id = ?1 LIMIT ?2)",
        "DELETE FROM inodes WHERE rowid IN (SELECT rowid FROM inodes WHERE sandbox_id = ?1 LIMIT ?2)",
        "DELETE FROM exec_log WHERE rowid IN (SELECT rowid FROM exec_log WHERE sandbox_id = ?1 LIMIT ?2)",
    ] {
        let rows = tx.execute(query(sql).bind(id).bind(BATCH as i64)).await?;
        dropped += rows;
        more |= rows == BATCH;
    }
    if !more {
        // The tombstone stays, without anything that the user wrote.
        let sql = "UPDATE sandboxes SET upkeep_since = NULL, name = NULL, is_unique = 0, env = '{}', cwd = '/', \
                   network = NULL WHERE id = ?1";
        tx.execute(query(sql).bind(id)).await?;
    }
    tx.commit().await?;
    Ok((dropped, more))
}

/// Sandboxes in the state that wait since before `since`, longest first.
async fn queue(
    db: &Db,
    state: &str,
    since: i64,
    deleted_before: Option<i64>,
    limit: i64,
) -> StoreResult<Vec<Uuid>> {
    let sql = "SELECT id FROM sandboxes WHERE upkeep_since IS NOT NULL AND upkeep_since < ?2 AND state = ?1 \
               AND (?3 IS NULL OR deleted_at < ?3) ORDER BY upkeep_since LIMIT ?4";
    let call = query(sql).bind(state).bind(since).bind(deleted_before).bind(limit);
    let rows = db.rows(LONG, call).await.map_err(Failure::of_repeatable)?;
    let ids = rows.iter().map(|row| row.try_get(0).map_err(decoding)).collect::<Result<_, _>>();
    ids.map_err(Failure::of_repeatable)
}

pub(super) async fn gc_blobs(db: &Db, before_ns: i64, limit: u32) -> StoreResult<GcReport> {
    let mut report = GcReport::default();
    let mut after: Vec<u8> = Vec::new();
    let mut left = limit;
    while left > 0 {
        let batch = left.min(GC_BATCH);
        let found = bounded(LONG, collect(db, before_ns, &mut after, batch, &mut report)).await;
        if found.map_err(Failure::of_repeatable)? < batch {
            break;
        }
        left -= batch;
    }
    Ok(report)
}

/// One batch, in order of hash. The transaction holds the right to write while it looks
/// and deletes, so no writer can take a content up in between: none is ever spared.
async fn collect(
    db: &Db,
    before_ns: i64,
    after: &mut Vec<u8>,
    batch: u32,
    report: &mut GcReport,
) -> Result<u32, Failure> {
    let mut tx = db.write().await?;
    let sql = "SELECT sha256, size FROM blobs b WHERE sha256 > ?1 AND last_referenced_at < ?2 \
               AND NOT EXISTS (SELECT 1 FROM inodes i WHERE i.sha256 = b.sha256) ORDER BY sha256 LIMIT ?3";
    let rows = tx.rows(query(sql).bind(&after[..]).bind(before_ns).bind(batch)).await?;
    let mut bytes = 0;
    for row in &rows {
        let hash: Vec<u8> = row.try_get(0).map_err(decoding)?;
        bytes += unsigned(row.try_get(1).map_err(decoding)?, "size")?;
        tx.execute(query("DELETE FROM blobs WHERE sha256 = ?1").bind(&hash[..])).await?;
        *after = hash;
    }
    tx.commit().await?;
    report.candidates += rows.len() as u64;
    report.deleted += rows.len() as u64;
    report.bytes += bytes;
    Ok(rows.len() as u32)
}
