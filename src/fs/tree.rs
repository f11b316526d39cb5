//! The immutable tree of one version.

use imbl::OrdMap;

use crate::fs::Errno;
use crate::fs::change_set::{BlobUse, ChangeSet, Delta, DirentRow, InodeRow, PathChange};
use crate::fs::node::{Name, Node};
use crate::ids::Ino;

/// An immutable tree. Clone is O(1); trees share what they have in common.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(crate) nodes: OrdMap<Ino, Node>,
}

/// Rows that do not make a tree: a broken store or a bug. Never a user's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BrokenTree(pub String);

impl Tree {
    /// The first tree of a sandbox: `/`, `/home`, `/home/user`, `/tmp` (1777), the
    /// rest 0755, all with this mtime; and its next free inode number.
    #[must_use]
    pub fn first(_now_ns: i64) -> (Self, Ino) {
        todo!()
    }

    /// Builds the tree from all its live rows, in any order. O(n log n).
    pub fn from_rows(_inodes: Vec<InodeRow>, _dirents: Vec<DirentRow>) -> Result<Self, BrokenTree> {
        todo!()
    }

    /// The tree after a delta; O(changed rows × log n). Errors when the delta does
    /// not fit this tree (an ended row that is not there, a name without its inode).
    pub fn apply(&self, _delta: &Delta) -> Result<Self, BrokenTree> {
        todo!()
    }

    /// All rows of this tree as one change set, for the creation of a sandbox.
    #[must_use]
    pub fn whole(&self, _next_ino: Ino, _blobs: Vec<BlobUse>) -> ChangeSet {
        todo!()
    }

    /// The node of an inode number.
    #[must_use]
    pub fn node(&self, ino: Ino) -> Option<&Node> {
        self.nodes.get(&ino)
    }

    /// Resolves an absolute path; `follow`: whether a symlink as the last component
    /// is followed.
    pub fn resolve(&self, _path: &str, _follow: bool) -> Result<(Ino, &Node), Errno> {
        todo!()
    }

    /// Entries below `path` (which is included), depth first, sorted by path bytes,
    /// at most `depth` levels below it (`None`: all), links not followed. Lazy.
    pub fn walk(
        &self,
        _path: &str,
        _depth: Option<usize>,
    ) -> Result<Box<dyn Iterator<Item = (String, Ino, &Node)> + '_>, Errno> {
        let _: Option<Name> = None;
        todo!()
    }

    /// Every path that differs between `self` (before) and `after`, sorted by path
    /// bytes: the answer of a dry run. O(changed) where subtrees are shared.
    #[must_use]
    pub fn path_changes(&self, _after: &Self) -> Vec<PathChange> {
        todo!()
    }

    /// Inodes, the root included.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Sum of the sizes of all files (each inode once). O(1).
    #[must_use]
    pub fn bytes(&self) -> u64 {
        todo!()
    }

    /// Memory that this tree holds, bytes, estimated from above in O(1).
    #[must_use]
    pub fn weight(&self) -> u64 {
        todo!()
    }
}
