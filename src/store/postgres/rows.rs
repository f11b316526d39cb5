//! Between rows of Postgres and the store's types.

use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::error::Failure;
use super::pool::PgQuery;
use crate::fs::Kind;
use crate::fs::change_set::{BlobUse, ChangeSet, DirentRow, InodeRow};
use crate::ids::{Head, Owner, SandboxId, Sha256};
use crate::store::SandboxRow;

/// Columns of a sandbox, for `FROM function(..)` that returns `SETOF sandboxes`.
macro_rules! sandbox_columns {
    () => {
        "id, owner, name, is_unique, version, head, fence, history_from, next_ino, file_count, total_bytes, \
         cwd, env, python, javascript, network, created_at, last_used_at"
    };
}
/// The same, for a function with a column `r` of that type.
macro_rules! sandbox_columns_of_r {
    () => {
        "(r).id, (r).owner, (r).name, (r).is_unique, (r).version, (r).head, (r).fence, (r).history_from, \
         (r).next_ino, (r).file_count, (r).total_bytes, (r).cwd, (r).env, (r).python, (r).javascript, \
         (r).network, (r).created_at, (r).last_used_at"
    };
}
pub(super) use {sandbox_columns, sandbox_columns_of_r};

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

/// A row with the columns above.
pub(super) fn sandbox(row: &PgRow) -> Result<SandboxRow, Failure> {
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

/// Columns of [`inode`], in its order.
macro_rules! inode_columns {
    () => {
        "ino, kind, mode, size, mtime_ns, nlink, sha256, symlink_target"
    };
}
pub(super) use inode_columns;

/// The values of a row with these columns.
pub(super) struct Inode<'a> {
    pub(super) ino: i64,
    pub(super) kind: i16,
    pub(super) mode: i32,
    pub(super) size: i64,
    pub(super) mtime_ns: i64,
    pub(super) nlink: i32,
    pub(super) sha256: Option<&'a [u8]>,
    pub(super) symlink_target: Option<&'a str>,
}

impl Inode<'_> {
    pub(super) fn row(self) -> Result<InodeRow, Failure> {
        Ok(InodeRow {
            ino: unsigned(self.ino, "ino")?,
            kind: match self.kind {
                1 => Kind::File,
                2 => Kind::Dir,
                3 => Kind::Symlink,
                other => return Err(Failure::Inconsistent(format!("kind is {other}"))),
            },
            mode: u32::try_from(self.mode).map_err(|_| broken("mode is negative"))?,
            size: unsigned(self.size, "size")?,
            mtime_ns: self.mtime_ns,
            nlink: u32::try_from(self.nlink).map_err(|_| broken("nlink is negative"))?,
            sha256: match self.sha256 {
                Some(bytes) => {
                    Some(Sha256::from_slice(bytes).ok_or_else(|| broken("a hash is not 32 bytes long"))?)
                }
                None => None,
            },
            symlink_target: self.symlink_target.map(Into::into),
        })
    }
}

/// By position: to look for names takes longer than to read numbers.
pub(super) fn inode(row: &PgRow) -> Result<InodeRow, Failure> {
    let inode = Inode {
        ino: row.try_get(0).map_err(decoding)?,
        kind: row.try_get(1).map_err(decoding)?,
        mode: row.try_get(2).map_err(decoding)?,
        size: row.try_get(3).map_err(decoding)?,
        mtime_ns: row.try_get(4).map_err(decoding)?,
        nlink: row.try_get(5).map_err(decoding)?,
        sha256: row.try_get(6).map_err(decoding)?,
        symlink_target: row.try_get(7).map_err(decoding)?,
    };
    inode.row()
}

/// Columns `parent_ino, name, ino`.
pub(super) fn dirent(row: &PgRow) -> Result<DirentRow, Failure> {
    Ok(DirentRow {
        parent: unsigned(row.try_get(0).map_err(decoding)?, "parent_ino")?,
        name: row.try_get::<&str, _>(1).map_err(decoding)?.into(),
        ino: unsigned(row.try_get(2).map_err(decoding)?, "ino")?,
    })
}

/// Arrays of `sqlfs_commit_rows`: one chunk of a change set.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    rows: usize,
    bytes: usize,
    sha: Vec<&'a [u8]>,
    data: Vec<&'a [u8]>,
    kept: Vec<&'a [u8]>,
    ended_ino: Vec<i64>,
    ino: Vec<i64>,
    kind: Vec<i16>,
    mode: Vec<i32>,
    size: Vec<i64>,
    mtime: Vec<i64>,
    nlink: Vec<i32>,
    content: Vec<Option<&'a [u8]>>,
    target: Vec<Option<&'a str>>,
    ended_parent: Vec<i64>,
    ended_name: Vec<&'a str>,
    parent: Vec<i64>,
    name: Vec<&'a str>,
    child: Vec<i64>,
}

/// Limits of one chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkSize {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

impl<'a> Chunk<'a> {
    /// Cuts a change set into chunks that may be applied one after another. With
    /// `flushed`, no content travels: all were stored before.
    pub(super) fn cut(changes: &'a ChangeSet, flushed: bool, size: ChunkSize) -> Vec<Self> {
        let mut chunks = vec![Self::default()];
        // The order of the steps is that of the function: what ends, ends before what begins.
        for BlobUse { sha256, data, .. } in &changes.blobs {
            let data = data.as_ref().filter(|_| !flushed);
            let chunk = Self::next(&mut chunks, data.map_or(0, bytes::Bytes::len), size);
            match data {
                Some(data) => {
                    chunk.sha.push(&sha256.0);
                    chunk.data.push(data);
                }
                None => chunk.kept.push(&sha256.0),
            }
        }
        for ino in &changes.delta.ended_inodes {
            Self::next(&mut chunks, 0, size).ended_ino.push(*ino as i64);
        }
        for row in &changes.delta.inodes {
            let chunk = Self::next(&mut chunks, 0, size);
            chunk.ino.push(row.ino as i64);
            chunk.kind.push(row.kind as i16);
            chunk.mode.push(row.mode as i32);
            chunk.size.push(row.size as i64);
            chunk.mtime.push(row.mtime_ns);
            chunk.nlink.push(row.nlink as i32);
            chunk.content.push(row.sha256.as_ref().map(|hash| hash.0.as_slice()));
            chunk.target.push(row.symlink_target.as_deref());
        }
        for (parent, name) in &changes.delta.ended_dirents {
            let chunk = Self::next(&mut chunks, 0, size);
            chunk.ended_parent.push(*parent as i64);
            chunk.ended_name.push(name);
        }
        for row in &changes.delta.dirents {
            let chunk = Self::next(&mut chunks, 0, size);
            chunk.parent.push(row.parent as i64);
            chunk.name.push(&row.name);
            chunk.child.push(row.ino as i64);
        }
        chunks
    }

    /// The chunk that takes one more row with this many bytes of content.
    fn next(chunks: &mut Vec<Self>, bytes: usize, size: ChunkSize) -> &mut Self {
        let full = chunks
            .last()
            .is_none_or(|last| last.rows >= size.rows || (last.bytes > 0 && last.bytes + bytes > size.bytes));
        if full {
            chunks.push(Self::default());
        }
        let last = chunks.len() - 1;
        let chunk = &mut chunks[last];
        chunk.rows += 1;
        chunk.bytes += bytes;
        chunk
    }

    /// Binds the arrays in the order of the functions' parameters.
    pub(super) fn bind<'q>(self, query: PgQuery<'q>) -> PgQuery<'q>
    where
        'a: 'q,
    {
        query
            .bind(self.sha)
            .bind(self.data)
            .bind(self.kept)
            .bind(self.ended_ino)
            .bind(self.ino)
            .bind(self.kind)
            .bind(self.mode)
            .bind(self.size)
            .bind(self.mtime)
            .bind(self.nlink)
            .bind(self.content)
            .bind(self.target)
            .bind(self.ended_parent)
            .bind(self.ended_name)
            .bind(self.parent)
            .bind(self.name)
            .bind(self.child)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn chunks_hold_every_row_once_and_keep_their_limits() {
        let mut changes = ChangeSet::default();
        changes.delta.ended_inodes = (0..10).collect();
        for n in 0..7_u8 {
            let data = Bytes::from(vec![n; 30]);
            changes.blobs.push(BlobUse {
                sha256: Sha256::of(&data),
                size: 30,
                data: (n != 3).then_some(data),
            });
        }
        let size = ChunkSize { rows: 4, bytes: 70 };
        let chunks = Chunk::cut(&changes, false, size);
        assert!(chunks.iter().all(|chunk| chunk.rows <= 4 && chunk.bytes <= 70));
        assert_eq!(chunks.iter().map(|chunk| chunk.sha.len()).sum::<usize>(), 6);
        assert_eq!(chunks.iter().map(|chunk| chunk.kept.len()).sum::<usize>(), 1);
        assert_eq!(
            chunks.iter().flat_map(|chunk| chunk.ended_ino.clone()).collect::<Vec<_>>(),
            (0..10).collect::<Vec<_>>()
        );
        let flushed = Chunk::cut(&changes, true, ChunkSize { rows: 100, bytes: 10 });
        assert_eq!((flushed.len(), flushed[0].kept.len(), flushed[0].bytes), (1, 7, 0));
    }
}
