//! Replies that are kept for `Idempotency-Key`.

use sqlx::{Row, query};

use super::error::Failure;
use super::pool::PgQuery;
use super::rows::{decoding, unsigned};
use super::{LONG, PostgresStore, SHORT, WRITE};
use crate::clock;
use crate::ids::{Head, SandboxId, Sha256};
use crate::store::{Commit, Keep, Kept, StoreResult};

pub(super) async fn kept(store: &PostgresStore, id: SandboxId, key: &str) -> StoreResult<Option<Kept>> {
    let sql = "SELECT request, version, head, reply FROM sqlfs_kept_reply($1, $2)";
    let rows = store.repeatable(SHORT, || query(sql).bind(id.0).bind(key)).await?;
    let read = |row: &sqlx::postgres::PgRow| {
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

/// Keeps the reply of a commit, in its transaction. The answer is `false` if the key has one.
pub(super) fn beside<'q>(commit: &'q Commit<'_>, keep: &'q Keep<'_>, version: i64, now: i64) -> PgQuery<'q> {
    query("SELECT sqlfs_keep_reply($1, $2, $3, $4, $5, $6, $7)")
        .bind(commit.sandbox.0)
        .bind(keep.key)
        .bind(keep.request.0.as_slice())
        .bind(version)
        .bind(commit.new_head.0)
        .bind(now)
        .bind(keep.reply)
}

/// Repeatable: a second call finds the reply of the first, and says `false`.
pub(super) async fn keep_unchanged(
    store: &PostgresStore,
    id: SandboxId,
    seen: Head,
    cwd: Option<&str>,
    keep: &Keep<'_>,
) -> StoreResult<bool> {
    let now = clock::wall_ns();
    let rows = store
        .repeatable(WRITE, || {
            query("SELECT sqlfs_keep_unchanged($1, $2, $3, $4, $5, $6, $7)")
                .bind(id.0)
                .bind(seen.0)
                .bind(cwd)
                .bind(keep.key)
                .bind(keep.request.0.as_slice())
                .bind(now)
                .bind(keep.reply)
        })
        .await?;
    let read = || only(&rows)?.try_get(0).map_err(decoding);
    read().map_err(Failure::of_repeatable)
}

pub(super) async fn forget(store: &PostgresStore, before_ns: i64, limit: u32) -> StoreResult<u64> {
    let sql = "SELECT sqlfs_forget_replies($1, $2)";
    let rows = store.repeatable(LONG, || query(sql).bind(before_ns).bind(i64::from(limit))).await?;
    let read = || unsigned(only(&rows)?.try_get(0).map_err(decoding)?, "dropped");
    read().map_err(Failure::of_repeatable)
}

fn only(rows: &[sqlx::postgres::PgRow]) -> Result<&sqlx::postgres::PgRow, Failure> {
    rows.first().ok_or_else(|| Failure::Inconsistent("the database answered with no row".into()))
}
