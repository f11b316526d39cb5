//! The difference of two trees in paths, for people: the answer of a dry run.

use std::collections::{BTreeMap, HashMap, HashSet};

use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use super::Tree;
use crate::fs::change_set::between::differs;
use crate::fs::change_set::{Delta, PathChange, PathOp};
use crate::fs::node::{Kind, Name, Node, ROOT};
use crate::fs::path::PATH_MAX;
use crate::ids::Ino;

impl Tree {
    /// Every path that differs between `self` (before) and `after`, sorted by path
    /// bytes: the answer of a dry run. Finding the differences costs O(changed) where
    /// the trees share subtrees; naming them costs one pass over the entries of both.
    /// A directory in which entries came or went is not listed for that alone. Paths
    /// too long for any call to name are left out.
    #[must_use]
    pub fn path_changes(&self, after: &Self) -> Vec<PathChange> {
        let delta = Delta::between(self, after);
        if delta.is_empty() {
            return Vec::new();
        }
        let begun = delta.dirents.iter().map(|row| (row.parent, row.name.clone()));
        let names: HashSet<(Ino, Name)> = begun.chain(delta.ended_dirents.iter().cloned()).collect();
        let edited: HashSet<Ino> = delta.inodes.iter().map(|row| row.ino).collect();
        let relisted: HashSet<Ino> = names.iter().map(|(parent, _)| *parent).collect();
        let (old, new) = (Namer::new(self, &HashSet::new()), Namer::new(after, &edited));
        let mut found = Changes { before: self, after, relisted, out: BTreeMap::new() };

        // Inside a directory that stands where it stood, names are compared; what a
        // moved directory holds is found from its own old and new name.
        for (parent, name) in &names {
            let (was, is) = (old.path(*parent), new.path(*parent));
            if was == is
                && let Some(dir) = was
            {
                let at = |tree: &Self| tree.entries_of(*parent).and_then(|e| e.get(name)).copied();
                found.compare(format!("{dir}/{name}"), at(self), at(after));
            }
        }
        for &ino in &edited {
            for &(parent, name) in new.names.get(&ino).into_iter().flatten() {
                let unmoved = self.entries_of(parent).and_then(|e| e.get(name)) == Some(&ino);
                let (was, is) = (old.path(parent), new.path(parent));
                if unmoved
                    && was == is
                    && let Some(dir) = is
                {
                    found.compare(format!("{dir}/{name}"), Some(ino), Some(ino));
                }
            }
        }
        if edited.contains(&ROOT) {
            found.compare("/".to_owned(), Some(ROOT), Some(ROOT));
        }
        found.out.into_values().collect()
    }
}

/// Paths from inode numbers, which a tree does not keep.
struct Namer<'t> {
    /// The one name of each directory.
    dirs: HashMap<Ino, (Ino, &'t Name)>,
    /// All names of the inodes asked for.
    names: HashMap<Ino, Vec<(Ino, &'t Name)>>,
}

impl<'t> Namer<'t> {
    fn new(tree: &'t Tree, wanted: &HashSet<Ino>) -> Self {
        let mut namer = Self { dirs: HashMap::new(), names: HashMap::new() };
        let dirs = tree.nodes.iter().filter_map(|(&dir, node)| Some((dir, node.entries()?)));
        for (dir, entries) in dirs {
            for (name, &ino) in entries {
                if tree.node(ino).is_some_and(|node| node.kind() == Kind::Dir) {
                    namer.dirs.insert(ino, (dir, name));
                }
                if wanted.contains(&ino) {
                    namer.names.entry(ino).or_default().push((dir, name));
                }
            }
        }
        namer
    }

    /// Path of a directory, empty for the root; `None` when it is not in the tree or
    /// too deep to have a path.
    fn path(&self, mut dir: Ino) -> Option<String> {
        let (mut parts, mut len) = (Vec::new(), 0);
        while dir != ROOT {
            let (parent, name) = self.dirs.get(&dir)?;
            parts.push(*name);
            len += 1 + name.len();
            if len >= PATH_MAX {
                return None;
            }
            dir = *parent;
        }
        Some(parts.iter().rev().flat_map(|name| ["/", name]).collect())
    }
}

struct Changes<'t> {
    before: &'t Tree,
    after: &'t Tree,
    /// Directories with other entries than before.
    relisted: HashSet<Ino>,
    out: BTreeMap<String, PathChange>,
}

impl Changes<'_> {
    /// Notes what differs at `path` and below it, where it named `old` and names `new`.
    fn compare(&mut self, path: String, old: Option<Ino>, new: Option<Ino>) {
        let mut open = vec![(path, old, new)];
        while let Some((path, old, new)) = open.pop() {
            if path.len() >= PATH_MAX {
                continue;
            }
            let node_of = |tree: &Tree, ino: Option<Ino>| ino.and_then(|ino| tree.node(ino).cloned());
            let (was, is) = (node_of(self.before, old), node_of(self.after, new));
            // The same directory at the same place: its own differences are found by
            // its number.
            if old != new {
                let none = OrdMap::new();
                let entries = |node: &Option<Node>| node.as_ref().and_then(Node::entries).cloned();
                let (olds, news) = (entries(&was).unwrap_or_default(), entries(&is).unwrap_or(none));
                for name in olds.keys().chain(news.keys().filter(|name| !olds.contains_key(*name))) {
                    let inner = format!("{path}/{name}");
                    open.push((inner, olds.get(name).copied(), news.get(name).copied()));
                }
            }
            let (op, kind) = match (&was, &is) {
                (None, None) => continue,
                (None, Some(node)) => (PathOp::Added, node.kind()),
                (Some(node), None) => (PathOp::Removed, node.kind()),
                (Some(was), Some(is)) => {
                    // Where another directory took its place, the same names count as
                    // the same list.
                    let relisted = if old == new {
                        new.is_some_and(|ino| self.relisted.contains(&ino))
                    } else {
                        !same_names(was, is)
                    };
                    if !differs(was, is, relisted) {
                        continue;
                    }
                    (PathOp::Modified, is.kind())
                }
            };
            let (size_before, size_after) = (was.map(|n| n.size()), is.map(|n| n.size()));
            let change = PathChange { path: path.clone(), op, kind, size_before, size_after };
            self.out.insert(path, change);
        }
    }
}

fn same_names(a: &Node, b: &Node) -> bool {
    match (a.entries(), b.entries()) {
        (Some(a), Some(b)) => a.diff(b).all(|item| matches!(item, DiffItem::Update { .. })),
        (Some(_) | None, _) => true,
    }
}
