//! Several deltas in a row as one: what an atomic batch commits.

use std::collections::BTreeSet;

use crate::fs::change_set::{Delta, DirentRow, InodeRow};
use crate::fs::node::{Name, NodeBody};
use crate::fs::{Node, Tree};
use crate::ids::Ino;

impl Delta {
    /// The delta from `before` to `after`, where `deltas` led from one to the other in
    /// order. Looks only at what they touched; what was undone on the way is left out.
    #[must_use]
    pub fn combined(deltas: &[Self], before: &Tree, after: &Tree) -> Self {
        let mut inos: BTreeSet<Ino> = BTreeSet::new();
        let mut names: BTreeSet<(Ino, Name)> = BTreeSet::new();
        for delta in deltas {
            inos.extend(delta.inodes.iter().map(|row| row.ino).chain(delta.ended_inodes.iter().copied()));
            names.extend(delta.dirents.iter().map(|row| (row.parent, row.name.clone())));
            names.extend(delta.ended_dirents.iter().cloned());
        }
        let mut combined = Self::default();
        for ino in inos {
            let (old, new) = (row(ino, before), row(ino, after));
            if old == new {
                continue;
            }
            if old.is_some() {
                combined.ended_inodes.push(ino);
            }
            combined.inodes.extend(new);
        }
        for (parent, name) in names {
            let (old, new) = (entry(before, parent, &name), entry(after, parent, &name));
            if old == new {
                continue;
            }
            if let Some(ino) = new {
                combined.dirents.push(DirentRow { parent, name: name.clone(), ino });
            }
            if old.is_some() {
                combined.ended_dirents.push((parent, name));
            }
        }
        combined
    }
}

fn row(ino: Ino, tree: &Tree) -> Option<InodeRow> {
    tree.node(ino).map(|node| InodeRow::of(ino, node))
}

fn entry(tree: &Tree, parent: Ino, name: &Name) -> Option<Ino> {
    match &tree.node(parent)?.body {
        NodeBody::Dir { entries } => entries.get(name).copied(),
        NodeBody::File { .. } | NodeBody::Symlink { .. } => None,
    }
}

impl InodeRow {
    /// The row that stores `node`.
    #[must_use]
    pub fn of(ino: Ino, node: &Node) -> Self {
        let (size, sha256, symlink_target) = match &node.body {
            NodeBody::File { size, sha256 } => (*size, *sha256, None),
            NodeBody::Dir { .. } => (0, None, None),
            NodeBody::Symlink { target } => (0, None, Some(target.to_string())),
        };
        Self {
            ino,
            kind: node.kind(),
            mode: node.mode,
            size,
            mtime_ns: node.mtime_ns,
            nlink: node.nlink,
            sha256,
            symlink_target,
        }
    }
}
