//! A private, writable view of a tree: all that one script sees and does.

use std::sync::Arc;

use bytes::Bytes;

use crate::fs::change_set::ChangeSet;
use crate::fs::node::{Kind, Name};
use crate::fs::{Errno, Tree};
use crate::ids::{Ino, Sha256};

/// Where contents come from. May block the calling thread, so working copies are
/// used on interpreter threads and blocking threads only.
pub trait ContentSource: Send + Sync {
    /// The content of `sha256`, `size` bytes long, checked against its hash.
    /// `Err` when it cannot be had now (store away, content missing).
    fn read(&self, sha256: &Sha256, size: u64) -> Result<Bytes, ContentUnavailable>;
}

/// A content cannot be fetched; the exec is ended and nothing is applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a file's content cannot be fetched")]
pub struct ContentUnavailable;

/// What the script may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Anything.
    ReadWrite,
    /// Any mutating call fails with EROFS and is latched as [`Fatal::ReadOnly`].
    ReadOnly,
}

/// Limits of one sandbox and one exec.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Inodes in the tree (MAX_SANDBOX_ENTRIES).
    pub entries: u64,
    /// Sum of file sizes (MAX_SANDBOX_BYTES).
    pub bytes: u64,
    /// Size of one file: larger is EFBIG, which is not fatal.
    pub file_bytes: u64,
    /// New content that one exec may hold in memory (EXEC_MEMORY_BYTES).
    pub memory: u64,
}

/// The first cause for which the exec must end. Commands print an error and go on, so
/// the caller looks here and not at the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fatal {
    /// A mutating call in a read-only exec, with the first path.
    ReadOnly {
        /// Absolute path.
        path: String,
    },
    /// The sandbox would hold more inodes than allowed.
    Entries {
        /// The limit.
        limit: u64,
    },
    /// The sandbox would hold more bytes than allowed.
    Bytes {
        /// The limit.
        limit: u64,
    },
    /// The exec would hold more new content in memory than allowed.
    Memory {
        /// The limit.
        limit: u64,
    },
    /// A content could not be fetched.
    ContentUnavailable,
    /// [`WorkingCopy::revoke`] was called.
    Revoked,
}

/// What stat(2) tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Inode number; 0 for the virtual devices.
    pub ino: Ino,
    /// Kind; devices say `File`.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Bytes, as [`super::Node::size`].
    pub size: u64,
    /// Nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Link count.
    pub nlink: u32,
}

/// A working copy. Its calls take absolute paths, never block except for
/// [`ContentSource::read`], and cost nanoseconds to microseconds. Shared by all
/// commands of one script (`&self` everywhere).
pub struct WorkingCopy {
    _base: Tree,
}

impl WorkingCopy {
    /// Over `base`, whose next free inode number is `next_ino`. `now` gives wall ns.
    #[must_use]
    pub fn new(
        _base: Tree,
        _next_ino: Ino,
        _mode: Mode,
        _quota: Quota,
        _content: Arc<dyn ContentSource>,
        _now: fn() -> i64,
    ) -> Self {
        todo!()
    }

    /// Called once, on the first fatal cause, from the thread that met it.
    pub fn on_fatal(&self, _call: Box<dyn Fn(&Fatal) + Send + Sync>) {
        todo!()
    }

    /// The first fatal cause, if any.
    #[must_use]
    pub fn fatal(&self) -> Option<Fatal> {
        todo!()
    }

    /// Makes every later call fail with EIO and `finish` return nothing. Thread-safe,
    /// at any time, returns at once.
    pub fn revoke(&self) {
        todo!()
    }

    /// stat(2), or lstat(2) without `follow`.
    pub fn stat(&self, _path: &str, _follow: bool) -> Result<Stat, Errno> {
        todo!()
    }

    /// Names of a directory with their lstat, sorted by bytes.
    pub fn read_dir(&self, _path: &str) -> Result<Vec<(Name, Stat)>, Errno> {
        todo!()
    }

    /// Whole content, links followed.
    pub fn read(&self, _path: &str) -> Result<Bytes, Errno> {
        todo!()
    }

    /// Creates (0644) or rewrites a file, links followed, mode kept.
    pub fn write(&self, _path: &str, _data: &[u8]) -> Result<(), Errno> {
        todo!()
    }

    /// As `write`, with a content that was flushed to the store before.
    pub fn write_flushed(&self, _path: &str, _sha256: Option<Sha256>, _size: u64) -> Result<(), Errno> {
        todo!()
    }

    /// Appends; creates if absent. Amortised O(data).
    pub fn append(&self, _path: &str, _data: &[u8]) -> Result<(), Errno> {
        todo!()
    }

    /// mkdir(2), mode 0755.
    pub fn mkdir(&self, _path: &str) -> Result<(), Errno> {
        todo!()
    }

    /// `mkdir -p`: existing directories (links to them too) are fine, a file on the way
    /// is ENOTDIR, as the last component EEXIST.
    pub fn mkdir_all(&self, _path: &str) -> Result<(), Errno> {
        todo!()
    }

    /// unlink(2): files and links. A directory is EISDIR.
    pub fn unlink(&self, _path: &str) -> Result<(), Errno> {
        todo!()
    }

    /// rmdir(2).
    pub fn rmdir(&self, _path: &str) -> Result<(), Errno> {
        todo!()
    }

    /// Removes whatever is there, with all below it. The root is EBUSY.
    pub fn remove_all(&self, _path: &str) -> Result<(), Errno> {
        todo!()
    }

    /// rename(2), with all its rules.
    pub fn rename(&self, _from: &str, _to: &str) -> Result<(), Errno> {
        todo!()
    }

    /// link(2) (a symlink as `from` is linked itself; a directory is EPERM).
    pub fn link(&self, _from: &str, _to: &str) -> Result<(), Errno> {
        todo!()
    }

    /// symlink(2).
    pub fn symlink(&self, _target: &str, _link: &str) -> Result<(), Errno> {
        todo!()
    }

    /// readlink(2).
    pub fn read_link(&self, _path: &str) -> Result<Arc<str>, Errno> {
        todo!()
    }

    /// chmod(2), links followed, bits 0o7777.
    pub fn chmod(&self, _path: &str, _mode: u32) -> Result<(), Errno> {
        todo!()
    }

    /// utimensat(2) of the modification time.
    pub fn set_mtime(&self, _path: &str, _mtime_ns: i64, _follow: bool) -> Result<(), Errno> {
        todo!()
    }

    /// The absolute path without links, `.` and `..` (realpath(3)).
    pub fn canonical(&self, _path: &str) -> Result<String, Errno> {
        todo!()
    }

    /// The tree as the script sees it now; contents that are not hashed yet are
    /// hashed first.
    pub fn tree(&self) -> Result<Tree, Errno> {
        todo!()
    }

    /// All changes against the base. Hashes new contents. Errors when a fatal cause
    /// is latched. Later calls on the working copy fail.
    pub fn finish(&self) -> Result<ChangeSet, Errno> {
        todo!()
    }
}
