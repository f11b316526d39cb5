//! Nodes of a tree: what one inode number stands for.

use std::sync::Arc;

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::ids::{Ino, Sha256};

/// Inode number of `/` in every sandbox.
pub const ROOT: Ino = 1;

/// One name in a directory: UTF-8, 1 to 255 bytes, no `/`, no NUL, not `.` or `..`.
pub type Name = Arc<str>;

/// What a node is. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Regular file.
    File = 1,
    /// Directory.
    Dir = 2,
    /// Symbolic link.
    Symlink = 3,
}

/// One inode. Cheap to clone: contents are by hash, entries are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Permission bits with setuid, setgid and sticky: `0..=0o7777`.
    pub mode: u32,
    /// Modification time, nanoseconds since the Unix epoch, set once by the writer.
    pub mtime_ns: i64,
    /// Link count as stat(2) shows it: names of a file or symlink; 2 plus the
    /// subdirectories of a directory.
    pub nlink: u32,
    /// The kind and what belongs to it.
    pub body: NodeBody,
}

/// The part of a node that depends on its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeBody {
    /// A regular file of `size` bytes. `sha256` is `None` exactly when `size` is 0:
    /// empty content has no blob.
    File {
        /// Bytes.
        size: u64,
        /// Address of the content.
        sha256: Option<Sha256>,
    },
    /// A directory: its names, sorted by bytes.
    Dir {
        /// Name → inode.
        entries: OrdMap<Name, Ino>,
    },
    /// A symbolic link and its target as written, 1 to 4095 bytes of UTF-8.
    Symlink {
        /// Target text, never resolved here.
        target: Arc<str>,
    },
}

impl Node {
    /// The node's kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.body {
            NodeBody::File { .. } => Kind::File,
            NodeBody::Dir { .. } => Kind::Dir,
            NodeBody::Symlink { .. } => Kind::Symlink,
        }
    }

    /// Size as stat(2) shows it: bytes of a file, bytes of a link's target, 4096 for
    /// a directory.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.body {
            NodeBody::File { size, .. } => *size,
            NodeBody::Dir { .. } => 4096,
            NodeBody::Symlink { target } => target.len() as u64,
        }
    }

    /// Bytes that count against a quota: a file's, else 0.
    pub(crate) fn file_size(&self) -> u64 {
        match self.body {
            NodeBody::File { size, .. } => size,
            NodeBody::Dir { .. } | NodeBody::Symlink { .. } => 0,
        }
    }

    /// Content address of a non-empty file.
    #[must_use]
    pub fn sha256(&self) -> Option<Sha256> {
        match self.body {
            NodeBody::File { sha256, .. } => sha256,
            NodeBody::Dir { .. } | NodeBody::Symlink { .. } => None,
        }
    }

    /// Entries of a directory, sorted by bytes; `None` for other kinds.
    #[must_use]
    pub fn entries(&self) -> Option<&OrdMap<Name, Ino>> {
        match &self.body {
            NodeBody::Dir { entries } => Some(entries),
            NodeBody::File { .. } | NodeBody::Symlink { .. } => None,
        }
    }

    /// Takes over everything of `new`, a node of the same kind, but a directory's
    /// entries.
    pub(crate) fn become_row_of(&mut self, new: Self) {
        (self.mode, self.mtime_ns, self.nlink) = (new.mode, new.mtime_ns, new.nlink);
        match new.body {
            NodeBody::Dir { .. } => {}
            NodeBody::File { .. } | NodeBody::Symlink { .. } => self.body = new.body,
        }
    }
}
