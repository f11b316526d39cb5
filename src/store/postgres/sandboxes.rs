//! The rows of sandboxes: probe, list, change, delete.

use sqlx::postgres::PgRow;
use sqlx::{Row, query};
use uuid::Uuid;

use super::commit::{env_text, unknown_outcome};
use super::error::Failure;
use super::rows::{decoding, sandbox, sandbox_columns, sandbox_columns_of_r};
use super::{PostgresStore, SHORT, WRITE};
use crate::clock;
use crate::ids::{Head, Owner, SandboxId};
use crate::store::{Page, Patch, Patched, SandboxRow, StoreResult};

pub(super) async fn probe(store: &PostgresStore, id: SandboxId) -> StoreResult<Option<SandboxRow>> {
    let sql = concat!("SELECT ", sandbox_columns!(), " FROM sqlfs_probe($1)");
    let rows = store.repeatable(SHORT, || query(sql).bind(id.0)).await?;
    rows.first().map(sandbox).transpose().map_err(Failure::of_repeatable)
}

pub(super) async fn keep_cwd(
    store: &PostgresStore,
    id: SandboxId,
    seen: Head,
    cwd: &str,
) -> StoreResult<bool> {
    let sql = "SELECT sqlfs_keep_cwd($1, $2, $3)";
    let rows = store.repeatable(WRITE, || query(sql).bind(id.0).bind(seen.0).bind(cwd)).await?;
    flag(&rows).map_err(Failure::of_repeatable)
}

pub(super) async fn list(store: &PostgresStore, owner: &Owner, page: &Page) -> StoreResult<Vec<SandboxRow>> {
    let sql = concat!("SELECT ", sandbox_columns!(), " FROM sqlfs_list($1, $2, $3, $4, $5)");
    let (after_at, after_id) = page.after.map_or((i64::MAX, Uuid::max()), |(at, id)| (at, id.0));
    let rows = store
        .repeatable(SHORT, || {
            query(sql)
                .bind(&*owner.0)
                .bind(i64::from(page.limit))
                .bind(after_at)
                .bind(after_id)
                .bind(page.name.as_deref())
        })
        .await?;
    rows.iter().map(sandbox).collect::<Result<_, _>>().map_err(Failure::of_repeatable)
}

/// Repeatable: the same patch twice leaves the same row.
pub(super) async fn patch(
    store: &PostgresStore,
    owner: &Owner,
    id: SandboxId,
    patch: &Patch,
) -> StoreResult<Patched> {
    let sql =
        concat!("SELECT outcome, ", sandbox_columns_of_r!(), " FROM sqlfs_patch($1, $2, $3, $4, $5, $6)");
    let env = patch.env.as_ref().map(env_text);
    let rows = store
        .repeatable(WRITE, || {
            query(sql)
                .bind(id.0)
                .bind(&*owner.0)
                .bind(patch.name.is_some())
                .bind(patch.name.as_ref().and_then(Option::as_deref))
                .bind(patch.unique)
                .bind(env.as_deref())
        })
        .await?;
    let read = || -> Result<Patched, Failure> {
        let row = only(&rows)?;
        let outcome: String = row.try_get("outcome").map_err(decoding)?;
        match outcome.as_str() {
            "done" => Ok(Patched::Done(Box::new(sandbox(row)?))),
            "name_taken" => Ok(Patched::NameTaken(Box::new(sandbox(row)?))),
            "name_missing" => Ok(Patched::NameMissing),
            "not_found" => Ok(Patched::NotFound),
            other => Err(unknown_outcome(other)),
        }
    };
    read().map_err(Failure::of_repeatable)
}

/// Not repeatable by itself: a second call would answer "not found" to who deleted it.
pub(super) async fn delete(store: &PostgresStore, owner: &Owner, id: SandboxId) -> StoreResult<bool> {
    let call = query("SELECT sqlfs_delete($1, $2, $3, $4)")
        .bind(id.0)
        .bind(&*owner.0)
        .bind(Head::random().0)
        .bind(clock::wall_ns());
    let row = store.once(WRITE, call).await.map_err(Failure::of_commit)?;
    flag(&[row]).map_err(Failure::of_commit)
}

pub(super) async fn touch(store: &PostgresStore, used: &[(SandboxId, i64)]) -> StoreResult<()> {
    let mut used = used.to_vec();
    used.sort_unstable();
    for part in used.chunks(500) {
        let ids: Vec<Uuid> = part.iter().map(|(id, _)| id.0).collect();
        let times: Vec<i64> = part.iter().map(|(_, at)| *at).collect();
        store
            .repeatable(WRITE, || query("SELECT sqlfs_touch($1, $2)").bind(ids.clone()).bind(times.clone()))
            .await?;
    }
    Ok(())
}

fn only(rows: &[PgRow]) -> Result<&PgRow, Failure> {
    rows.first().ok_or_else(|| Failure::Inconsistent("the database answered with no row".into()))
}

fn flag(rows: &[PgRow]) -> Result<bool, Failure> {
    only(rows)?.try_get(0).map_err(decoding)
}
