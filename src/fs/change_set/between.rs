//! The difference of two trees. Shared parts are skipped by identity, so it costs
//! O(changed × log n) whatever the size of the trees.

use std::collections::{HashMap, HashSet};

use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use super::{Delta, DirentRow, InodeRow};
use crate::fs::node::{Kind, Name, Node};
use crate::fs::{NodeBody, Tree};
use crate::ids::Ino;

impl Delta {
    /// Rows that turn `before` into `after`.
    #[must_use]
    pub fn between(before: &Tree, after: &Tree) -> Self {
        let mut delta = Self::default();
        let none = OrdMap::new();
        for item in before.nodes.diff(&after.nodes) {
            match item {
                DiffItem::Add(&ino, node) => {
                    delta.inodes.push(InodeRow::of(ino, node));
                    delta.names(ino, &none, node.entries().unwrap_or(&none));
                }
                DiffItem::Remove(&ino, node) => {
                    delta.ended_inodes.push(ino);
                    delta.names(ino, node.entries().unwrap_or(&none), &none);
                }
                DiffItem::Update { old: (&ino, old), new: (_, new) } => {
                    if !same_row(old, new) {
                        delta.ended_inodes.push(ino);
                        delta.inodes.push(InodeRow::of(ino, new));
                    }
                    delta.names(ino, old.entries().unwrap_or(&none), new.entries().unwrap_or(&none));
                }
            }
        }
        delta
    }

    fn names(&mut self, parent: Ino, before: &OrdMap<Name, Ino>, after: &OrdMap<Name, Ino>) {
        for item in before.diff(after) {
            let (gone, come) = match item {
                DiffItem::Add(name, ino) => (None, Some((name, ino))),
                DiffItem::Remove(name, _) => (Some(name), None),
                DiffItem::Update { old: (name, _), new } => (Some(name), Some(new)),
            };
            self.ended_dirents.extend(gone.map(|name| (parent, name.clone())));
            self.dirents.extend(come.map(|(name, &ino)| DirentRow { parent, name: name.clone(), ino }));
        }
    }

    /// Changed paths as [`super::ChangeSet::changed`] defines them.
    pub(crate) fn changed(&self, before: &Tree, after: &Tree) -> u64 {
        let begun = self.dirents.iter().map(|row| (row.parent, &row.name));
        let ended = self.ended_dirents.iter().map(|(parent, name)| (*parent, name));
        let names: HashSet<(Ino, &Name)> = begun.chain(ended).collect();
        let dirs: HashSet<Ino> = names.iter().map(|(parent, _)| *parent).collect();
        let mut begun: HashMap<Ino, u32> = HashMap::new();
        for row in &self.dirents {
            *begun.entry(row.ino).or_default() += 1;
        }
        let in_place = self.inodes.iter().filter(|row| {
            let (Some(old), Some(new)) = (before.node(row.ino), after.node(row.ino)) else { return false };
            let named = if new.kind() == Kind::Dir { 1 } else { new.nlink };
            named > begun.get(&row.ino).copied().unwrap_or(0) && differs(old, new, dirs.contains(&row.ino))
        });
        (names.len() + in_place.count()) as u64
    }
}

/// Whether a person would call the node changed. Link counts are other names'
/// business, and so is the time of a directory in which an entry came or went.
pub(crate) fn differs(old: &Node, new: &Node, entries_changed: bool) -> bool {
    old.mode != new.mode
        || (old.mtime_ns != new.mtime_ns && !entries_changed)
        || old.kind() != new.kind()
        || (new.kind() != Kind::Dir && old.body != new.body)
}

fn same_row(old: &Node, new: &Node) -> bool {
    let same_body = match (&old.body, &new.body) {
        (NodeBody::Dir { .. }, NodeBody::Dir { .. }) => true,
        (old, new) => old == new,
    };
    same_body && (old.mode, old.mtime_ns, old.nlink) == (new.mode, new.mtime_ns, new.nlink)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use imbl::OrdMap;

    thread_local! {
        static COMPARED: Cell<u32> = const { Cell::new(0) };
    }

    #[derive(Clone, PartialEq, Eq)]
    struct Counted(u64);

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.set(COMPARED.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    /// All costs of this module rest on what imbl does not promise in words: that a
    /// diff skips what two maps share.
    #[test]
    fn a_diff_of_large_maps_looks_at_what_changed_only() {
        let before: OrdMap<Counted, u64> = (0..100_000).map(|n| (Counted(n * 2), n)).collect();
        let mut after = before.clone();
        after.insert(Counted(100_001), 0);
        after.insert(Counted(40_000), 7);
        after.remove(&Counted(160_000));
        COMPARED.set(0);
        assert_eq!(before.diff(&after).count(), 3);
        assert!(COMPARED.get() < 2_000, "{} comparisons", COMPARED.get());
    }
}
