//! The rows of sandboxes: probe, list, change, delete.

use sqlx::query;
use uuid::Uuid;

use super::SHORT;
use super::commit::{HOLDER, env_text};
use super::db::{Db, bounded};
use super::error::Failure;
use super::rows::{sandbox, sandbox_columns};
use crate::clock;
use crate::ids::{Head, Owner, SandboxId};
use crate::store::{Page, Patch, Patched, SandboxRow, StoreResult};

pub(super) async fn probe(db: &Db, id: SandboxId) -> StoreResult<Option<SandboxRow>> {
    let sql = concat!("SELECT ", sandbox_columns!(), " FROM sandboxes WHERE id = ?1 AND state = 'active'");
    let rows = db.rows(SHORT, query(sql).bind(id.0)).await.map_err(Failure::of_repeatable)?;
    rows.first().map(sandbox).transpose().map_err(Failure::of_repeatable)
}

pub(super) async fn keep_cwd(db: &Db, id: SandboxId, seen: Head, cwd: &str) -> StoreResult<bool> {
    let work = async {
        let sql = "UPDATE sandboxes SET cwd = ?3 WHERE id = ?1 AND head = ?2 AND state = 'active'";
        let mut tx = db.write().await?;
        let kept = tx.execute(query(sql).bind(id.0).bind(seen.0).bind(cwd)).await? == 1;
        tx.commit().await?;
        Ok(kept)
    };
    bounded(SHORT, work).await.map_err(Failure::of_repeatable)
}

pub(super) async fn list(db: &Db, owner: &Owner, page: &Page) -> StoreResult<Vec<SandboxRow>> {
    let sql = concat!(
        "SELECT ",
        sandbox_columns!(),
        " FROM sandboxes WHERE owner = ?1 AND state = 'active' AND (created_at, id) < (?3, ?4) \
         AND (?5 IS NULL OR name = ?5) ORDER BY created_at DESC, id DESC LIMIT ?2"
    );
    let (after_at, after_id) = page.after.map_or((i64::MAX, Uuid::max()), |(at, id)| (at, id.0));
    let call = query(sql)
        .bind(&*owner.0)
        .bind(i64::from(page.limit))
        .bind(after_at)
        .bind(after_id)
        .bind(page.name.as_deref());
    let rows = db.rows(SHORT, call).await.map_err(Failure::of_repeatable)?;
    rows.iter().map(sandbox).collect::<Result<_, _>>().map_err(Failure::of_repeatable)
}

pub(super) async fn patch(db: &Db, owner: &Owner, id: SandboxId, patch: &Patch) -> StoreResult<Patched> {
    bounded(SHORT, patch_row(db, owner, id, patch)).await.map_err(Failure::of_repeatable)
}

async fn patch_row(db: &Db, owner: &Owner, id: SandboxId, patch: &Patch) -> Result<Patched, Failure> {
    let mut tx = db.write().await?;
    let own = concat!(
        "SELECT ",
        sandbox_columns!(),
        " FROM sandboxes WHERE id = ?1 AND owner = ?2 AND state = 'active'"
    );
    let Some(old) = tx.row(query(own).bind(id.0).bind(&*owner.0)).await? else {
        return Ok(Patched::NotFound);
    };
    let old = sandbox(&old)?;
    let name = patch.name.clone().unwrap_or(old.name);
    // Letting go of the name lets go of holding it alone.
    let unique = patch.unique.unwrap_or(old.unique && name.is_some());
    if unique {
        let Some(name) = &name else { return Ok(Patched::NameMissing) };
        if let Some(row) = tx.row(query(HOLDER).bind(&*owner.0).bind(name)).await? {
            let holder = sandbox(&row)?;
            if holder.id != id {
                return Ok(Patched::NameTaken(Box::new(holder)));
            }
        }
    }
    let set = concat!(
        "UPDATE sandboxes SET name = ?2, is_unique = ?3, env = coalesce(?4, env) WHERE id = ?1 RETURNING ",
        sandbox_columns!()
    );
    let env = patch.env.as_ref().map(env_text);
    let row = tx.row(query(set).bind(id.0).bind(name).bind(unique).bind(env)).await?;
    let row = sandbox(&row.ok_or_else(|| Failure::Inconsistent("no row came back".into()))?)?;
    tx.commit().await?;
    Ok(Patched::Done(Box::new(row)))
}

pub(super) async fn delete(db: &Db, owner: &Owner, id: SandboxId) -> StoreResult<bool> {
    let work = async {
        let sql = "UPDATE sandboxes SET state = 'deleted', head = ?3, deleted_at = ?4, upkeep_since = ?4 \
                   WHERE id = ?1 AND owner = ?2 AND state = 'active'";
        let mut tx = db.write().await?;
        let call = query(sql).bind(id.0).bind(&*owner.0).bind(Head::random().0).bind(clock::wall_ns());
        let deleted = tx.execute(call).await? == 1;
        tx.commit().await?;
        Ok(deleted)
    };
    bounded(SHORT, work).await.map_err(Failure::of_commit)
}

pub(super) async fn touch(db: &Db, used: &[(SandboxId, i64)]) -> StoreResult<()> {
    let work = async {
        let sql =
            "UPDATE sandboxes SET last_used_at = ?2 WHERE id = ?1 AND state = 'active' AND last_used_at < ?2";
        let mut tx = db.write().await?;
        for (id, at) in used {
            tx.execute(query(sql).bind(id.0).bind(at)).await?;
        }
        tx.commit().await
    };
    bounded(SHORT, work).await.map_err(Failure::of_repeatable)
}
