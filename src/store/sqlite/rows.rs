//! Between rows of SQLite and the store's types.

use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::error::Failure;
use crate::fs::Kind;
use crate::fs::change_set::{DirentRow, InodeRow};
use crate::ids::{Head, Ino, Owner, SandboxId, Sha256};
use crate::store::SandboxRow;

/// Columns of [`sandbox`].
macro_rules! sandbox_columns {
    () => {
        "id, owner, name, is_unique, version, head, fence, history_from, next_ino, file_count, total_bytes, \
         cwd, env, python, javascript, network, created_at, last_used_at"
    };
}
/// Columns of [`inode`], in its order.
macro_rules! inode_columns {
    () => {
        "ino, kind, mode, size, mtime_ns, nlink, sha256, symlink_target"
    };
}
pub(super) use {inode_columns, sandbox_columns};

fn broken(what: &str) -> Failure {
    Failure::Inconsistent(what.to_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn decoding(error: sqlx::Error) -> Failure {
    Failure::Inconsistent(error.to_string())
}

pub(super) fn unsigned(value: i64, what: &str) -> Result<u64, Failure> {
    u64::try_from(value).map_err(|_| Failure::Inconsistent(format!("{what} is {value}")))
}

pub(super) fn sandbox(row: &SqliteRow) -> Result<SandboxRow, Failure> {
    let get = |column: &str| row.try_get::<i64, _>(column).map_err(decoding);
    let text = |column: &str| row.try_get::<String, _>(column).map_err(decoding);
    let flag = |column: &str| row.try_get::<bool, _>(column).map_err(decoding);
    let env: String = text("env")?;
    Ok(SandboxRow {
        id: SandboxId(row.try_get("id").map_err(decoding)?),
        owner: Owner(text("owner")?.into()),
        name: row.try_get("name").map_err(decoding)?,
        unique: flag("is_unique")?,
        version: get("version")?,
        head: Head(row.try_get::<Uuid, _>("head").map_err(decoding)?),
        fence: get("fence")?,
        history_from: get("history_from")?,
        next_ino: unsigned(get("next_ino")?, "next_ino")?,
        entries: unsigned(get("file_count")?, "file_count")?,
        bytes: unsigned(get("total_bytes")?, "total_bytes")?,
        cwd: text("cwd")?,
        env: serde_json::from_str(&env).map_err(|_| broken("env is not a map of texts"))?,
        python: flag("python")?,
        javascript: flag("javascript")?,
        network: row.try_get("network").map_err(decoding)?,
        created_at_ns: get("created_at")?,
        last_used_at_ns: get("last_used_at")?,
    })
}

pub(super) fn inode(row: &SqliteRow) -> Result<InodeRow, Failure> {
    let number = |n: usize| row.try_get::<i64, _>(n).map_err(decoding);
    let sha256: Option<&[u8]> = row.try_get(6).map_err(decoding)?;
    Ok(InodeRow {
        ino: unsigned(number(0)?, "ino")?,
        kind: match number(1)? {
            1 => Kind::File,
            2 => Kind::Dir,
            3 => Kind::Symlink,
            other => return Err(Failure::Inconsistent(format!("kind is {other}"))),
        },
        mode: u32::try_from(number(2)?).map_err(|_| broken("mode is out of range"))?,
        size: unsigned(number(3)?, "size")?,
        mtime_ns: number(4)?,
        nlink: u32::try_from(number(5)?).map_err(|_| broken("nlink is out of range"))?,
        sha256: match sha256 {
            Some(bytes) => {
                Some(Sha256::from_slice(bytes).ok_or_else(|| broken("a hash is not 32 bytes long"))?)
            }
            None => None,
        },
        symlink_target: row.try_get(7).map_err(decoding)?,
    })
}

/// Columns `parent_ino, name, ino`.
pub(super) fn dirent(row: &SqliteRow) -> Result<DirentRow, Failure> {
    Ok(DirentRow {
        parent: unsigned(row.try_get(0).map_err(decoding)?, "parent_ino")?,
        name: row.try_get::<&str, _>(1).map_err(decoding)?.into(),
        ino: unsigned(row.try_get(2).map_err(decoding)?, "ino")?,
    })
}

/// SQLite has no arrays: rows travel as JSON, hashes in it as hexadecimal text.
pub(super) fn inodes_json(rows: &[InodeRow]) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(|it| {
            let hash = it.sha256.map(|hash| hash.to_string());
            json!([it.ino, it.kind as i16, it.mode, it.size, it.mtime_ns, it.nlink, hash, it.symlink_target])
        })
        .collect();
    json!(rows).to_string()
}

pub(super) fn inos_json(rows: &[Ino]) -> String {
    json!(rows).to_string()
}

/// `[[parent, name, ino], ..]`
pub(super) fn dirents_json(rows: &[DirentRow]) -> String {
    json!(rows.iter().map(|it| json!([it.parent, &*it.name, it.ino])).collect::<Vec<_>>()).to_string()
}

/// `[[parent, name], ..]`
pub(super) fn names_json(rows: &[(Ino, crate::fs::Name)]) -> String {
    json!(rows.iter().map(|(parent, name)| json!([parent, &**name])).collect::<Vec<_>>()).to_string()
}
