//! What became of a commit whose reply was lost.

use sqlx::{Row, query};

use super::SHORT;
use super::db::{Db, bounded};
use super::error::Failure;
use super::rows::decoding;
use crate::clock;
use crate::ids::{ExecId, Head, SandboxId};
use crate::store::{Resolution, StoreResult};

/// See [`crate::store::Store::resolve`]. Repeatable, as on Postgres: the voided version
/// carries the exec id, and a sandbox that is not there becomes a tombstone.
pub(super) async fn resolve(
    db: &Db,
    id: SandboxId,
    exec: ExecId,
    request_id: &str,
    actor: &str,
) -> StoreResult<Resolution> {
    bounded(SHORT, settle(db, id, exec, request_id, actor)).await.map_err(Failure::of_repeatable)
}

async fn settle(
    db: &Db,
    id: SandboxId,
    exec: ExecId,
    request_id: &str,
    actor: &str,
) -> Result<Resolution, Failure> {
    let now = clock::wall_ns();
    let head = Head::random();
    // The one writer: a commit still on its way is before this or after it.
    let mut tx = db.write().await?;
    let state = tx.row(query("SELECT state = 'active' FROM sandboxes WHERE id = ?1").bind(id.0)).await?;
    let alive = if let Some(row) = &state {
        row.try_get(0).map_err(decoding)?
    } else {
        let tombstone = "INSERT INTO sandboxes (id, owner, state, head, next_ino, file_count, total_bytes, cwd, \
                         created_at, last_used_at, deleted_at) VALUES (?1, ?2, 'deleted', ?3, 2, 0, 0, '/', ?4, ?4, ?4)";
        tx.execute(query(tombstone).bind(id.0).bind(actor).bind(head.0).bind(now)).await?;
        false
    };
    let logged =
        "SELECT outcome = 'committed', version, head FROM exec_log WHERE sandbox_id = ?1 AND exec_id = ?2";
    let logged = tx.row(query(logged).bind(id.0).bind(exec.0)).await?;
    if let Some(row) = &logged
        && row.try_get::<bool, _>(0).map_err(decoding)?
    {
        return Ok(Resolution::Applied {
            version: row.try_get(1).map_err(decoding)?,
            head: Head(row.try_get(2).map_err(decoding)?),
        });
    }
    if alive && logged.is_none() {
        let void = "UPDATE sandboxes SET version = version + 1, head = ?2, \
                    upkeep_since = coalesce(upkeep_since, ?3) WHERE id = ?1 RETURNING version";
        let row = tx.row(query(void).bind(id.0).bind(head.0).bind(now)).await?;
        let row = row.ok_or_else(|| Failure::Inconsistent("no row came back".into()))?;
        let version: i64 = row.try_get(0).map_err(decoding)?;
        let log = "INSERT INTO exec_log VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'voided', ?7, 0, NULL)";
        let log = query(log)
            .bind(id.0)
            .bind(version)
            .bind(head.0)
            .bind(exec.0)
            .bind(request_id)
            .bind(actor)
            .bind(now);
        tx.execute(log).await?;
    }
    tx.commit().await?;
    Ok(if alive { Resolution::NotApplied } else { Resolution::Gone })
}
