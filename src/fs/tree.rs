//! The immutable tree of one version.

use imbl::OrdMap;

use crate::fs::Errno;
use crate::fs::change_set::Delta;
use crate::fs::node::{Kind, Name, Node, NodeBody, ROOT};
use crate::fs::resolve::{Final, View};
use crate::ids::{Ino, Sha256};

mod from_rows;
mod path_changes;
mod rows;
mod walk;

pub use walk::Entry;

/// An immutable tree. Clone is O(1); trees share what they have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub(crate) nodes: OrdMap<Ino, Node>,
    totals: Totals,
}

/// Kept beside the nodes, so that sizes cost nothing to ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    /// Sizes of all files.
    bytes: u64,
    /// Directory entries.
    names: u64,
    dirs: u64,
    /// Bytes of names.
    name_text: u64,
    /// Bytes of link targets.
    link_text: u64,
}

/// Rows that do not make a tree: a broken store or a bug. Never a user's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BrokenTree(pub String);

impl Tree {
    /// The first tree of a sandbox: `/`, `/home`, `/home/user`, `/tmp` (1777), the
    /// rest 0755, all with this mtime; and its next free inode number.
    #[must_use]
    pub fn first(now_ns: i64) -> (Self, Ino) {
        let mut tree = Self::empty();
        for (ino, mode, nlink) in [(ROOT, 0o755, 4), (2, 0o755, 3), (3, 0o755, 2), (4, 0o1777, 2)] {
            let body = NodeBody::Dir { entries: OrdMap::new() };
            tree.insert(ino, Node { mode, mtime_ns: now_ns, nlink, body });
        }
        for (parent, name, ino) in [(ROOT, "home", 2), (2, "user", 3), (ROOT, "tmp", 4)] {
            tree.add_name(parent, name.into(), ino);
        }
        (tree, 5)
    }

    /// The node of an inode number.
    #[must_use]
    pub fn node(&self, ino: Ino) -> Option<&Node> {
        self.nodes.get(&ino)
    }

    /// Resolves an absolute path; `follow`: whether a symlink as the last component
    /// is followed. The virtual `/dev` of a working copy is not seen here.
    pub fn resolve(&self, path: &str, follow: bool) -> Result<(Ino, &Node), Errno> {
        let view = View { tree: self, devices: false };
        let end = if follow { Final::Follow } else { Final::NoFollow };
        let ino = view.lookup(path, end)?.existing(view)?;
        Ok((ino, self.node(ino).ok_or(Errno::ENOENT)?))
    }

    /// All nodes, in no promised order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// All rows of this tree.
    #[must_use]
    pub fn rows(&self) -> Delta {
        Delta::between(&Self::empty(), self)
    }

    /// The files that have a content, by its hash.
    pub fn contents(&self) -> impl Iterator<Item = (Sha256, Ino)> {
        self.nodes.iter().filter_map(|(&ino, node)| Some((node.sha256()?, ino)))
    }

    /// Inodes, the root included.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// The highest inode number. O(log n).
    #[must_use]
    pub fn highest(&self) -> Ino {
        self.nodes.get_max().map_or(0, |(ino, _)| *ino)
    }

    /// Directory entries. At least [`Self::entries`] minus the root; more where files
    /// have several hard links. O(1).
    #[must_use]
    pub fn names(&self) -> u64 {
        self.totals.names
    }

    /// Sum of the sizes of all files (each inode once). O(1).
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.totals.bytes
    }

    /// Sum of the lengths of all link targets. O(1).
    pub(crate) fn link_bytes(&self) -> u64 {
        self.totals.link_text
    }

    /// Memory that this tree holds, bytes, estimated from above in O(1).
    #[must_use]
    pub fn weight(&self) -> u64 {
        // Leaves of the persistent maps have 16 places and may be half empty; inner
        // nodes add less than a tenth. Every directory with an entry has one leaf.
        const NODE: u64 = 2 * size_of::<(Ino, Node)>() as u64 + 24;
        const NAME: u64 = 2 * size_of::<(Name, Ino)>() as u64 + 40;
        const DIR: u64 = 16 * size_of::<(Name, Ino)>() as u64 + 96;
        let Totals { bytes: _, names, dirs, name_text, link_text } = self.totals;
        256 + self.entries() * NODE + names * NAME + dirs * DIR + name_text + link_text
    }

    pub(crate) fn entries_of(&self, dir: Ino) -> Option<&OrdMap<Name, Ino>> {
        self.node(dir)?.entries()
    }
}

/// Raw edits, for working copies and for building from rows. They keep the totals and
/// nothing else: link counts and times are the caller's.
impl Tree {
    pub(crate) fn empty() -> Self {
        Self { nodes: OrdMap::new(), totals: Totals::default() }
    }

    /// Puts a node that may have entries in place of what was there.
    pub(crate) fn insert(&mut self, ino: Ino, node: Node) {
        self.totals.add(&node);
        if let Some(old) = self.nodes.insert(ino, node) {
            self.totals.sub(&old);
        }
    }

    pub(crate) fn remove(&mut self, ino: Ino) -> Option<Node> {
        let old = self.nodes.remove(&ino)?;
        self.totals.sub(&old);
        Some(old)
    }

    /// Changes a node in place; entries only through [`Self::add_name`] and
    /// [`Self::take_name`]. `None` when it is not there.
    pub(crate) fn edit<T>(&mut self, ino: Ino, edit: impl FnOnce(&mut Node) -> T) -> Option<T> {
        let node = self.nodes.get_mut(&ino)?;
        let before = node.file_size();
        let out = edit(node);
        self.totals.bytes = self.totals.bytes - before + node.file_size();
        Some(out)
    }

    /// Adds or re-points a name; returns what it named before.
    pub(crate) fn add_name(&mut self, dir: Ino, name: Name, ino: Ino) -> Option<Ino> {
        let len = name.len() as u64;
        let NodeBody::Dir { entries } = &mut self.nodes.get_mut(&dir)?.body else { return None };
        let old = entries.insert(name, ino);
        if old.is_none() {
            self.totals.names += 1;
            self.totals.name_text += len;
        }
        old
    }

    pub(crate) fn take_name(&mut self, dir: Ino, name: &str) -> Option<(Name, Ino)> {
        let NodeBody::Dir { entries } = &mut self.nodes.get_mut(&dir)?.body else { return None };
        let taken = entries.remove_with_key(name)?;
        self.totals.names -= 1;
        self.totals.name_text -= name.len() as u64;
        Some(taken)
    }
}

impl Totals {
    fn add(&mut self, node: &Node) {
        self.bytes += node.file_size();
        self.dirs += u64::from(node.kind() == Kind::Dir);
        self.names += node.entries().map_or(0, OrdMap::len) as u64;
        let (names, links) = text_of(node);
        self.name_text += names;
        self.link_text += links;
    }

    fn sub(&mut self, node: &Node) {
        self.bytes -= node.file_size();
        self.dirs -= u64::from(node.kind() == Kind::Dir);
        self.names -= node.entries().map_or(0, OrdMap::len) as u64;
        let (names, links) = text_of(node);
        self.name_text -= names;
        self.link_text -= links;
    }
}

/// Bytes of its names and of its link target.
fn text_of(node: &Node) -> (u64, u64) {
    match &node.body {
        NodeBody::File { .. } => (0, 0),
        NodeBody::Dir { entries } => (entries.keys().map(|name| name.len() as u64).sum(), 0),
        NodeBody::Symlink { target } => (0, target.len() as u64),
    }
}
