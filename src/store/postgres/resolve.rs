//! What became of a commit whose reply was lost.

use sqlx::{Row, query};

use super::commit::unknown_outcome;
use super::error::Failure;
use super::rows::decoding;
use super::{PostgresStore, WRITE};
use crate::clock;
use crate::ids::{ExecId, Head, SandboxId};
use crate::store::{Resolution, StoreResult};

/// See [`crate::store::Store::resolve`]. Repeatable: the voided version carries the exec
/// id, so a second call finds it. The connection that lost the reply is never used here;
/// it was closed.
pub(super) async fn resolve(
    store: &PostgresStore,
    sandbox: SandboxId,
    exec: ExecId,
    request_id: &str,
    actor: &str,
) -> StoreResult<Resolution> {
    let head = Head::random();
    let now = clock::wall_ns();
    let rows = store
        .repeatable(WRITE, || {
            query("SELECT outcome, version, head FROM sqlfs_resolve($1, $2, $3, $4, $5, $6)")
                .bind(sandbox.0)
                .bind(exec.0)
                .bind(head.0)
                .bind(now)
                .bind(request_id)
                .bind(actor)
        })
        .await?;
    let read = || -> Result<Resolution, Failure> {
        let row = rows.first().ok_or_else(|| Failure::Inconsistent("no answer to resolve".into()))?;
        let outcome: String = row.try_get("outcome").map_err(decoding)?;
        match outcome.as_str() {
            "applied" => Ok(Resolution::Applied {
                version: row.try_get("version").map_err(decoding)?,
                head: Head(row.try_get("head").map_err(decoding)?),
            }),
            "not_applied" => Ok(Resolution::NotApplied),
            "gone" => Ok(Resolution::Gone),
            other => Err(unknown_outcome(other)),
        }
    };
    read().map_err(Failure::of_repeatable)
}
