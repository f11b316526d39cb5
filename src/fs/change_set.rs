//! What an exec did: rows that begin, rows that end, and the contents they need.
//! The same shape carries a foreign commit into a warm tree ([`Delta`]).

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::fs::Tree;
use crate::fs::node::{Kind, Name};
use crate::ids::{Ino, Sha256};

pub(crate) mod between;

/// One inode as it is stored: a [`super::Node`] without the entries of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InodeRow {
    /// Inode number.
    pub ino: Ino,
    /// Kind.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Bytes of a file's content; 0 for other kinds.
    pub size: u64,
    /// Nanoseconds since the Unix epoch.
    pub mtime_ns: i64,
    /// Link count.
    pub nlink: u32,
    /// Content of a non-empty file, else `None`.
    pub sha256: Option<Sha256>,
    /// Target of a symlink, else `None`.
    pub symlink_target: Option<String>,
}

/// One name as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirentRow {
    /// The directory.
    pub parent: Ino,
    /// The name in it.
    pub name: Name,
    /// What it names.
    pub ino: Ino,
}

/// Difference between two versions of a tree, in rows. To apply: first drop all that
/// ended, then add all that began. An inode that changed stands in both lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// Inodes that began: new ones and new states of old ones.
    pub inodes: Vec<InodeRow>,
    /// Inodes whose row in the older version ended (changed or gone).
    pub ended_inodes: Vec<Ino>,
    /// Names that began.
    pub dirents: Vec<DirentRow>,
    /// Names whose row in the older version ended (re-pointed or gone).
    pub ended_dirents: Vec<(Ino, Name)>,
}

impl Delta {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inodes.is_empty()
            && self.ended_inodes.is_empty()
            && self.dirents.is_empty()
            && self.ended_dirents.is_empty()
    }
}

/// A content that the new tree names and the base tree did not.
#[derive(Clone, Debug)]
pub struct BlobUse {
    /// Its hash.
    pub sha256: Sha256,
    /// Bytes.
    pub size: u64,
    /// The bytes, or `None` when they were flushed to the store before the commit.
    pub data: Option<Bytes>,
}

/// How a path changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathOp {
    /// It was not there before.
    Added,
    /// It is there with other content, mode, time, target or kind.
    Modified,
    /// It is gone.
    Removed,
}

/// One line of a dry run's answer. A moved directory is one removed and one added
/// path for each entry below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// Absolute path.
    pub path: String,
    /// How it changed.
    pub op: PathOp,
    /// Kind after the change, before it for a removed path.
    pub kind: Kind,
    /// Bytes before; `None` for an added path.
    pub size_before: Option<u64>,
    /// Bytes after; `None` for a removed path.
    pub size_after: Option<u64>,
}

impl ChangeSet {
    /// From what differs between two trees, and the contents that it needs; `first_ino`: next
    /// free number of the older one.
    pub(crate) fn of(
        before: &Tree,
        after: &Tree,
        first_ino: Ino,
        delta: Delta,
        mut blobs: Vec<BlobUse>,
    ) -> Self {
        // Of equal hashes one with its bytes comes first and is the one that stays.
        blobs.sort_by_key(|blob| (blob.sha256, blob.data.is_none()));
        blobs.dedup_by_key(|blob| blob.sha256);
        let highest = delta.inodes.iter().map(|row| row.ino).max().unwrap_or(0);
        Self {
            next_ino: first_ino.max(highest + 1),
            entries: after.entries(),
            bytes: after.bytes(),
            changed: delta.changed(before, after),
            delta,
            blobs,
        }
    }
}

/// Everything that one commit writes.
#[derive(Clone, Debug, Default)]
pub struct ChangeSet {
    /// Rows.
    pub delta: Delta,
    /// Every content that is not live in the base version, sorted by hash, each once.
    pub blobs: Vec<BlobUse>,
    /// The next free inode number after the change.
    pub next_ino: Ino,
    /// Inodes in the tree after the change, the root included.
    pub entries: u64,
    /// Sum of the sizes of all files after the change.
    pub bytes: u64,
    /// Number of changed paths: names that began or ended (a re-pointed name counts
    /// once), plus named inodes that changed under an unchanged name. A moved
    /// directory counts as two, whatever is below it. Directories that changed only
    /// because an entry came or went (mtime, nlink) do not count.
    pub changed: u64,
}
