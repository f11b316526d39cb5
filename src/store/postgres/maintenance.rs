//! Retention, purge and garbage collection: short transactions, safe beside writers and
//! beside other replicas that do the same.

use sqlx::{Row, query};
use uuid::Uuid;

use super::error::Failure;
use super::rows::{decoding, unsigned};
use super::{LONG, PostgresStore};
use crate::clock;
use crate::store::{GcReport, Retention, StoreResult};

/// Rows of each table that one transaction drops.
const BATCH: i64 = 2_000;
/// Contents that one transaction deletes.
const GC_BATCH: u32 = 100;
/// Sandboxes looked at for each one that may have something to drop.
const LOOK: i64 = 20;

pub(super) async fn prune_history(
    store: &PostgresStore,
    retention: &Retention,
    limit: u32,
) -> StoreResult<u64> {
    let now = clock::wall_ns();
    let mut dropped = 0;
    let mut pruned = 0;
    for sandbox in queue(store, "active", now, None, i64::from(limit) * LOOK).await? {
        if pruned == limit {
            break;
        }
        let before = dropped;
        loop {
            let clamp = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
            let rows = store
                .repeatable(LONG, || {
                    query("SELECT dropped, more FROM sqlfs_prune($1, $2, $3, $4, $5, $6, $7, $8)")
                        .bind(sandbox)
                        .bind(clamp(retention.versions))
                        .bind(retention.older_than_ns)
                        .bind(retention.younger_than_ns)
                        .bind(clamp(retention.bytes))
                        .bind(retention.log_older_than_ns)
                        .bind(now)
                        .bind(BATCH)
                })
                .await?;
            if !step(&rows, &mut dropped).map_err(Failure::of_repeatable)? {
                break;
            }
        }
        pruned += u32::from(dropped > before);
    }
    Ok(dropped)
}

pub(super) async fn purge_deleted(store: &PostgresStore, before_ns: i64, limit: u32) -> StoreResult<u64> {
    let mut dropped = 0;
    for sandbox in queue(store, "deleted", i64::MAX, Some(before_ns), i64::from(limit)).await? {
        loop {
            let sql = "SELECT dropped, more FROM sqlfs_purge($1, $2)";
            let rows = store.repeatable(LONG, || query(sql).bind(sandbox).bind(BATCH)).await?;
            if !step(&rows, &mut dropped).map_err(Failure::of_repeatable)? {
                break;
            }
        }
    }
    Ok(dropped)
}

async fn queue(
    store: &PostgresStore,
    state: &'static str,
    since: i64,
    deleted_before: Option<i64>,
    limit: i64,
) -> StoreResult<Vec<Uuid>> {
    let sql = "SELECT * FROM sqlfs_upkeep_queue($1, $2, $3, $4)";
    let rows = store
        .repeatable(LONG, || query(sql).bind(state).bind(since).bind(deleted_before).bind(limit))
        .await?;
    let ids = rows.iter().map(|row| row.try_get(0).map_err(decoding)).collect::<Result<_, _>>();
    ids.map_err(Failure::of_repeatable)
}

/// Adds what a step dropped; `true`: there is more.
fn step(rows: &[sqlx::postgres::PgRow], dropped: &mut u64) -> Result<bool, Failure> {
    let row =
        rows.first().ok_or_else(|| Failure::Inconsistent("the database answered with no row".into()))?;
    *dropped += unsigned(row.try_get(0).map_err(decoding)?, "dropped")?;
    row.try_get(1).map_err(decoding)
}

pub(super) async fn gc_blobs(store: &PostgresStore, before_ns: i64, limit: u32) -> StoreResult<GcReport> {
    let mut report = GcReport::default();
    let mut after: Vec<u8> = Vec::new();
    let mut left = limit;
    while left > 0 {
        let batch = left.min(GC_BATCH);
        let sql = "SELECT candidates, deleted, bytes, spared, last FROM sqlfs_gc($1, $2, $3)";
        let rows = store
            .repeatable(LONG, || query(sql).bind(before_ns).bind(after.clone()).bind(i64::from(batch)))
            .await?;
        let mut read = || -> Result<u32, Failure> {
            let row = rows
                .first()
                .ok_or_else(|| Failure::Inconsistent("the database answered with no row".into()))?;
            let count = |n: usize| unsigned(row.try_get(n).map_err(decoding)?, "a count");
            let candidates = count(0)?;
            report.candidates += candidates;
            report.deleted += count(1)?;
            report.bytes += count(2)?;
            report.spared += count(3)?;
            after = row.try_get(4).map_err(decoding)?;
            Ok(candidates as u32)
        };
        let found = read().map_err(Failure::of_repeatable)?;
        if found < batch {
            break;
        }
        left -= batch;
    }
    Ok(report)
}
