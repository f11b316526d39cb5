//! What operators ask for, over all owners.

use sqlx::{Row, query};
use uuid::Uuid;

use super::db::{Db, bounded};
use super::error::Failure;
use super::rows::{decoding, sandbox, sandbox_columns, unsigned};
use super::{LONG, SHORT};
use crate::ids::Owner;
use crate::store::{Page, Revocation, Revoked, SandboxRow, StoreResult, Usage};

pub(super) async fn list_all(db: &Db, owner: Option<&Owner>, page: &Page) -> StoreResult<Vec<SandboxRow>> {
    let sql = concat!(
        "SELECT ",
        sandbox_columns!(),
        " FROM sandboxes WHERE state = 'active' AND (?1 IS NULL OR owner = ?1) \
         AND (created_at, id) < (?3, ?4) ORDER BY created_at DESC, id DESC LIMIT ?2"
    );
    let (after_at, after_id) = page.after.map_or((i64::MAX, Uuid::max()), |(at, id)| (at, id.0));
    let owner = owner.map(|owner| &*owner.0);
    let call = query(sql).bind(owner).bind(i64::from(page.limit)).bind(after_at).bind(after_id);
    let rows = db.rows(SHORT, call).await.map_err(Failure::of_repeatable)?;
    rows.iter().map(sandbox).collect::<Result<_, _>>().map_err(Failure::of_repeatable)
}

pub(super) async fn revoke(db: &Db, revocation: &Revocation) -> StoreResult<()> {
    let (kind, value) = revocation.what.parts();
    let sql = "INSERT INTO revocations (kind, value, revoked_at) VALUES (?1, ?2, ?3) \
               ON CONFLICT (kind, value) DO UPDATE SET revoked_at = max(revoked_at, excluded.revoked_at)";
    let call = async {
        let mut tx = db.write().await?;
        tx.execute(query(sql).bind(kind).bind(value).bind(revocation.at_ns)).await?;
        tx.commit().await
    };
    bounded(SHORT, call).await.map_err(Failure::of_repeatable)
}

pub(super) async fn revocations(db: &Db) -> StoreResult<Vec<Revocation>> {
    let sql = "SELECT kind, value, revoked_at FROM revocations";
    let rows = db.rows(LONG, query(sql)).await.map_err(Failure::of_repeatable)?;
    let read = |row: &sqlx::sqlite::SqliteRow| {
        let text = |column: &str| row.try_get::<String, _>(column).map_err(decoding);
        let what = Revoked::from_parts(&text("kind")?, text("value")?);
        let what = what.ok_or_else(|| Failure::Inconsistent("a revocation of no known kind".into()))?;
        Ok(Revocation { what, at_ns: row.try_get("revoked_at").map_err(decoding)? })
    };
    rows.iter().map(read).collect::<Result<_, _>>().map_err(Failure::of_repeatable)
}

pub(super) async fn usage(db: &Db) -> StoreResult<Usage> {
    let sql = "SELECT count(*) AS sandboxes, coalesce(sum(file_count), 0) AS entries, \
               coalesce(sum(total_bytes), 0) AS bytes FROM sandboxes WHERE state = 'active'";
    let rows = db.rows(LONG, query(sql)).await.map_err(Failure::of_repeatable)?;
    let read = || -> Result<Usage, Failure> {
        let row = rows.first().ok_or_else(|| Failure::Inconsistent("no answer about usage".into()))?;
        let count = |column: &str| unsigned(row.try_get(column).map_err(decoding)?, "usage");
        Ok(Usage { sandboxes: count("sandboxes")?, entries: count("entries")?, bytes: count("bytes")? })
    };
    read().map_err(Failure::of_repeatable)
}
