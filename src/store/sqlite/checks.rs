//! Start-up checks: the settings are read back, not believed.

use std::path::Path;

use sqlx::{Row, query};

use super::db::{Db, bounded};
use super::error::Failure;
use super::migrate;
use super::rows::decoding;
use super::{LONG, SHORT};
use crate::store::open::SCHEMA_VERSION;
use crate::store::{Check, StoreResult, Verdict};

pub(super) async fn ping(db: &Db) -> StoreResult<()> {
    db.rows(SHORT, query("SELECT 1")).await.map(drop).map_err(Failure::of_repeatable)
}

/// For a file that is not there.
pub(super) fn absent(path: &Path) -> Check {
    let detail = format!("there is no {} yet: `sqlfs serve` makes it", path.display());
    Check { name: "schema", verdict: Verdict::Warn, detail }
}

/// For a folder that cannot be looked into now.
pub(super) fn refused(detail: String) -> Check {
    Check { name: "folder", verdict: Verdict::Refuse, detail }
}

pub(super) async fn checks(db: &Db) -> StoreResult<Vec<Check>> {
    bounded(LONG, all(db)).await.map_err(Failure::of_repeatable)
}

async fn all(db: &Db) -> Result<Vec<Check>, Failure> {
    let mut checks = Vec::new();
    // On the connection that writes: these are settings of a connection.
    for (name, sql, wanted) in [
        ("journal_mode", "SELECT journal_mode FROM pragma_journal_mode", "wal"),
        ("synchronous", "SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous", "2"),
        ("foreign_keys", "SELECT CAST(foreign_keys AS TEXT) FROM pragma_foreign_keys", "1"),
    ] {
        let rows = db.writer_rows(query(sql)).await?;
        let row = rows.first().ok_or_else(|| Failure::Inconsistent(format!("no answer to {name}")))?;
        let value: String = row.try_get(0).map_err(decoding)?;
        checks.push(if value == wanted {
            Check { name, verdict: Verdict::Ok, detail: value }
        } else {
            let detail =
                format!("{name} is {value} instead of {wanted}: acknowledged commits would not be safe");
            Check { name, verdict: Verdict::Refuse, detail }
        });
    }
    let schema = migrate::look(&mut db.read().await?).await?;
    let (verdict, detail) = match schema {
        None => (Verdict::Warn, "there is none yet: `sqlfs migrate`, or `sqlfs serve`, makes it".into()),
        Some(it) => match it.too_new() {
            Some(reason) => (Verdict::Refuse, reason),
            None if it.version < SCHEMA_VERSION => {
                let text =
                    "the schema is older than this binary: `sqlfs migrate`, or `sqlfs serve`, brings it up";
                (Verdict::Warn, text.into())
            }
            None => (Verdict::Ok, format!("version {}", it.version)),
        },
    };
    checks.push(Check { name: "schema", verdict, detail });
    Ok(checks)
}
