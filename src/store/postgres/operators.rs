//! What operators ask for: over all owners, so in the context of maintenance.

use sqlx::{Row, query};
use uuid::Uuid;

use super::error::Failure;
use super::rows::{decoding, sandbox, sandbox_columns, unsigned};
use super::{LONG, PostgresStore, SHORT, WRITE};
use crate::ids::Owner;
use crate::store::{Page, Revocation, Revoked, SandboxRow, StoreResult, Usage};

pub(super) async fn list_all(
    store: &PostgresStore,
    owner: Option<&Owner>,
    page: &Page,
) -> StoreResult<Vec<SandboxRow>> {
    let sql = concat!("SELECT ", sandbox_columns!(), " FROM sqlfs_list_all($1, $2, $3, $4)");
    let (after_at, after_id) = page.after.map_or((i64::MAX, Uuid::max()), |(at, id)| (at, id.0));
    let owner = owner.map(|owner| &*owner.0);
    let rows = store
        .repeatable(SHORT, || {
            query(sql).bind(owner).bind(i64::from(page.limit)).bind(after_at).bind(after_id)
        })
        .await?;
    rows.iter().map(sandbox).collect::<Result<_, _>>().map_err(Failure::of_repeatable)
}

/// Repeatable: the later moment stands.
pub(super) async fn revoke(store: &PostgresStore, revocation: &Revocation) -> StoreResult<()> {
    let (kind, value) = revocation.what.parts();
    let sql = "SELECT sqlfs_revoke($1, $2, $3)";
    let call = || query(sql).bind(kind).bind(value).bind(revocation.at_ns);
    store.repeatable(WRITE, call).await.map(drop)
}

pub(super) async fn revocations(store: &PostgresStore) -> StoreResult<Vec<Revocation>> {
    let sql = "SELECT kind, value, revoked_at FROM sqlfs_revocations()";
    let rows = store.repeatable(LONG, || query(sql)).await?;
    let read = |row: &sqlx::postgres::PgRow| {
        let text = |column: &str| row.try_get::<String, _>(column).map_err(decoding);
        let what = Revoked::from_parts(&text("kind")?, text("value")?);
        let what = what.ok_or_else(|| Failure::Inconsistent("a revocation of no known kind".into()))?;
        Ok(Revocation { what, at_ns: row.try_get("revoked_at").map_err(decoding)? })
    };
    rows.iter().map(read).collect::<Result<_, _>>().map_err(Failure::of_repeatable)
}

pub(super) async fn usage(store: &PostgresStore) -> StoreResult<Usage> {
    let rows =
        store.repeatable(LONG, || query("SELECT sandboxes, entries, bytes FROM sqlfs_usage()")).await?;
    let read = || -> Result<Usage, Failure> {
        let row = rows.first().ok_or_else(|| Failure::Inconsistent("no answer about usage".into()))?;
        let count = |column: &str| unsigned(row.try_get(column).map_err(decoding)?, "usage");
        Ok(Usage { sandboxes: count("sandboxes")?, entries: count("entries")?, bytes: count("bytes")? })
    };
    read().map_err(Failure::of_repeatable)
}
