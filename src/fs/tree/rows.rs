//! Trees from rows and rows from trees. What the store returns is not trusted: rows
//! that contradict each other are refused with the first contradiction in words.

use std::collections::{HashMap, HashSet};

use imbl::OrdMap;

use super::{BrokenTree, Tree};
use crate::fs::change_set::{BlobUse, ChangeSet, Delta, DirentRow, InodeRow};
use crate::fs::node::{Kind, Name, Node, NodeBody, ROOT};
use crate::fs::path;
use crate::ids::Ino;

pub(super) type Checked<T = ()> = Result<T, BrokenTree>;

macro_rules! broken {
    ($($words:tt)*) => { Err(BrokenTree(format!($($words)*))) };
}
pub(super) use broken;

impl InodeRow {
    pub(crate) fn of(ino: Ino, node: &Node) -> Self {
        Self {
            ino,
            kind: node.kind(),
            mode: node.mode,
            size: node.file_size(),
            mtime_ns: node.mtime_ns,
            nlink: node.nlink,
            sha256: node.sha256(),
            symlink_target: match &node.body {
                NodeBody::Symlink { target } => Some(target.to_string()),
                NodeBody::File { .. } | NodeBody::Dir { .. } => None,
            },
        }
    }

    /// The node, a directory with `entries`.
    pub(super) fn node(&self, entries: OrdMap<Name, Ino>) -> Checked<Node> {
        let ino = self.ino;
        if ino == 0 || i64::try_from(ino).is_err() {
            return broken!("inode number {ino} is out of range");
        }
        if self.mode > 0o7777 {
            return broken!("inode {ino}: mode {:o} has more than permission bits", self.mode);
        }
        let body = match (self.kind, &self.symlink_target, self.sha256, self.size) {
            (Kind::File, None, sha256, size) if sha256.is_some() == (size > 0) => {
                NodeBody::File { size, sha256 }
            }
            (Kind::Dir, None, None, 0) => NodeBody::Dir { entries },
            (Kind::Symlink, Some(target), None, 0) if path::check_text(target).is_ok() => {
                NodeBody::Symlink { target: target.as_str().into() }
            }
            (kind, _, sha256, size) => {
                return broken!(
                    "inode {ino}: size {size}, content {sha256:?} and target {:?} do not make a {kind:?}",
                    self.symlink_target
                );
            }
        };
        Ok(Node { mode: self.mode, mtime_ns: self.mtime_ns, nlink: self.nlink, body })
    }
}

impl Tree {
    /// The tree after a delta; O(changed rows × log n). Errors when the delta does
    /// not fit this tree: an ended row that is not there, a begun one that is there
    /// already, a name without its inode, an inode without a name, a wrong link count.
    /// Cycles are not looked for (that would take the whole tree).
    pub fn apply(&self, delta: &Delta) -> Result<Self, BrokenTree> {
        let mut tree = self.clone();
        // Names gained and lost, by inode; subdirectories gained and lost, by parent.
        let mut names: HashMap<Ino, i64> = HashMap::new();
        let mut subdirs: HashMap<Ino, i64> = HashMap::new();
        for (parent, name) in &delta.ended_dirents {
            let Some((_, ino)) = tree.take_name(*parent, name) else {
                return broken!("the ended name {name:?} is not in directory {parent}");
            };
            *names.entry(ino).or_default() -= 1;
            if self.kind_of(ino) == Some(Kind::Dir) {
                *subdirs.entry(*parent).or_default() -= 1;
            }
        }
        let begun: HashMap<Ino, &InodeRow> = delta.inodes.iter().map(|row| (row.ino, row)).collect();
        if begun.len() != delta.inodes.len() {
            return broken!("an inode begins twice");
        }
        for &ino in &delta.ended_inodes {
            match (tree.node(ino), begun.get(&ino)) {
                (None, _) => return broken!("the ended inode {ino} is not there"),
                (Some(old), Some(row)) if old.kind() != row.kind => {
                    return broken!("inode {ino} turns from {:?} to {:?}", old.kind(), row.kind);
                }
                (Some(_), Some(row)) => {
                    let new = row.node(OrdMap::new())?;
                    tree.edit(ino, |node| node.become_row_of(new));
                }
                (Some(old), None) if old.entries().is_some_and(|entries| !entries.is_empty()) => {
                    return broken!("directory {ino} is gone and still has entries");
                }
                (Some(_), None) => {
                    tree.remove(ino);
                }
            }
        }
        let ended: HashSet<Ino> = delta.ended_inodes.iter().copied().collect();
        if ended.len() != delta.ended_inodes.len() {
            return broken!("an inode ends twice");
        }
        for row in delta.inodes.iter().filter(|row| !ended.contains(&row.ino)) {
            if tree.nodes.contains_key(&row.ino) {
                return broken!("inode {} begins while its old row lives", row.ino);
            }
            tree.insert(row.ino, row.node(OrdMap::new())?);
        }
        for row in &delta.dirents {
            tree.check_dirent(row)?;
            if tree.add_name(row.parent, row.name.clone(), row.ino).is_some() {
                return broken!("the name {:?} begins while it stands in directory {}", row.name, row.parent);
            }
            *names.entry(row.ino).or_default() += 1;
            if tree.kind_of(row.ino) == Some(Kind::Dir) {
                *subdirs.entry(row.parent).or_default() += 1;
            }
        }
        let touched = names.keys().chain(subdirs.keys()).chain(&ended).chain(begun.keys());
        for &ino in touched {
            let gained = names.get(&ino).copied().unwrap_or(0);
            tree.check_links(self, ino, gained, subdirs.get(&ino).copied().unwrap_or(0))?;
        }
        Ok(tree)
    }

    /// Whether the names of `ino` in this tree fit its row, given how many it and its
    /// subdirectories gained since `before`.
    fn check_links(&self, before: &Self, ino: Ino, names: i64, subdirs: i64) -> Checked {
        let old = before.node(ino);
        let Some(new) = self.node(ino) else {
            let had = old.map_or(0, |node| if node.kind() == Kind::Dir { 1 } else { i64::from(node.nlink) });
            if had + names != 0 {
                return broken!("inode {ino} is gone and still has {} names", had + names);
            }
            return Ok(());
        };
        let was = old.map(|node| i64::from(node.nlink));
        let links = match new.kind() {
            Kind::Dir => {
                let named = i64::from(old.is_some() && ino != ROOT) + names;
                if named != i64::from(ino != ROOT) {
                    return broken!("directory {ino} has {named} names");
                }
                was.unwrap_or(2) + subdirs
            }
            Kind::File | Kind::Symlink => was.unwrap_or(0) + names,
        };
        if links < 1 || links != i64::from(new.nlink) {
            return broken!("inode {ino} has {links} links, its row says {}", new.nlink);
        }
        Ok(())
    }

    fn check_dirent(&self, row: &DirentRow) -> Checked {
        let DirentRow { parent, name, ino } = row;
        if !path::is_name(name) {
            return broken!("directory {parent} holds the illegal name {name:?}");
        }
        if self.kind_of(*parent) != Some(Kind::Dir) {
            return broken!("the name {name:?} stands in inode {parent}, which is no directory");
        }
        if !self.nodes.contains_key(ino) {
            return broken!("the name {name:?} in directory {parent} has no inode {ino}");
        }
        Ok(())
    }

    fn kind_of(&self, ino: Ino) -> Option<Kind> {
        self.node(ino).map(Node::kind)
    }

    /// All rows of this tree as one change set, for the creation of a sandbox.
    #[must_use]
    pub fn whole(&self, next_ino: Ino, mut blobs: Vec<BlobUse>) -> ChangeSet {
        let delta = Delta::between(&Self::empty(), self);
        blobs.sort_by_key(|blob| blob.sha256);
        blobs.dedup_by_key(|blob| blob.sha256);
        ChangeSet {
            delta,
            blobs,
            next_ino,
            entries: self.entries(),
            bytes: self.bytes(),
            changed: self.names(),
        }
    }
}
