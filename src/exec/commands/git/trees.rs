//! Trees as flat lists of files, and what differs between two of them.

use std::collections::BTreeMap;

use super::failed::{Done, fatal};
use super::object::{DIR, Entry};
use super::oid::Oid;
use super::repo::Repo;
use crate::fs::path::PATH_MAX;

/// Path → mode and content.
pub(super) type Flat = BTreeMap<String, (u32, Oid)>;

/// One side of a file that changed.
pub(super) type Side = Option<(u32, Oid)>;

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Its path, the new one if it was moved.
    pub(super) path: String,
    /// What it was called before, and how alike the contents are, in percent.
    pub(super) from: Option<(String, u32)>,
    pub(super) old: Side,
    pub(super) new: Side,
}

impl Change {
    /// The letter of `--name-status`.
    pub(super) fn letter(&self) -> char {
        match (self.old, self.new) {
            _ if self.from.is_some() => 'R',
            (None, _) => 'A',
            (_, None) => 'D',
            (Some((old, _)), Some((new, _))) if old & 0o170_000 != new & 0o170_000 => 'T',
            _ => 'M',
        }
    }
}

/// Trees that have the same tree many times could unfold without an end.
struct Left(u64);

impl Left {
    fn of(repo: &Repo<'_>) -> Self {
        Self(repo.call.files.quota().entries.saturating_mul(2))
    }

    fn take(&mut self, path: &str) -> Done {
        self.0 =
            self.0.checked_sub(1).ok_or_else(|| fatal("a tree of more files than a sandbox may hold"))?;
        if path.len() >= PATH_MAX { Err(fatal("a tree with a path that is too long")) } else { Ok(()) }
    }
}

/// All files of a tree.
pub(super) fn flatten(repo: &Repo<'_>, tree: &Oid) -> Done<Flat> {
    let (mut flat, mut left) = (Flat::new(), Left::of(repo));
    walk(repo, tree, "", &mut left, &mut |path, entry| {
        flat.insert(path, (entry.mode, entry.oid));
    })?;
    Ok(flat)
}

/// All files of a commit; of none, nothing.
pub(super) fn flatten_commit(repo: &Repo<'_>, commit: Option<&Oid>) -> Done<Flat> {
    match commit {
        Some(oid) => flatten(repo, &repo.commit(oid)?.tree),
        None => Ok(Flat::new()),
    }
}

fn walk(
    repo: &Repo<'_>,
    tree: &Oid,
    prefix: &str,
    left: &mut Left,
    each: &mut dyn FnMut(String, &Entry),
) -> Done {
    for entry in repo.tree(tree)? {
        let path = format!("{prefix}{}", entry.name);
        left.take(&path)?;
        if entry.mode == DIR {
            walk(repo, &entry.oid, &format!("{path}/"), left, each)?;
        } else {
            each(path, &entry);
        }
    }
    Ok(())
}

/// What differs between two flat lists.
pub(super) fn compare(old: &Flat, new: &Flat) -> Vec<Change> {
    let mut changes = Vec::new();
    for (path, &side) in old {
        let other = new.get(path).copied();
        if other != Some(side) {
            changes.push(Change { path: path.clone(), from: None, old: Some(side), new: other });
        }
    }
    for (path, &side) in new.iter().filter(|(path, _)| !old.contains_key(*path)) {
        changes.push(Change { path: path.clone(), from: None, old: None, new: Some(side) });
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// What differs between two trees; those that are equal are not opened.
pub(super) fn compare_trees(repo: &Repo<'_>, old: Option<&Oid>, new: Option<&Oid>) -> Done<Vec<Change>> {
    let mut changes = Vec::new();
    descend(repo, old, new, "", &mut Left::of(repo), &mut changes)?;
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

fn descend(
    repo: &Repo<'_>,
    old: Option<&Oid>,
    new: Option<&Oid>,
    prefix: &str,
    left: &mut Left,
    changes: &mut Vec<Change>,
) -> Done {
    if old == new {
        return Ok(());
    }
    let mut names: BTreeMap<String, [Option<Entry>; 2]> = BTreeMap::new();
    for (side, tree) in [old, new].into_iter().enumerate() {
        for entry in tree.map_or_else(|| Ok(Vec::new()), |tree| repo.tree(tree))? {
            let pair = names.entry(entry.name.clone()).or_default();
            pair[side] = Some(entry);
        }
    }
    for (name, [old, new]) in names {
        let path = format!("{prefix}{name}");
        left.take(&path)?;
        if old == new {
            continue;
        }
        let part = |entry: &Option<Entry>, dir: bool| {
            entry.as_ref().filter(|entry| (entry.mode == DIR) == dir).map(|entry| (entry.mode, entry.oid))
        };
        let (a, b) = (part(&old, false), part(&new, false));
        if a.is_some() || b.is_some() {
            changes.push(Change { path: path.clone(), from: None, old: a, new: b });
        }
        let (a, b) = (part(&old, true).map(|(_, oid)| oid), part(&new, true).map(|(_, oid)| oid));
        if a.is_some() || b.is_some() {
            descend(repo, a.as_ref(), b.as_ref(), &format!("{path}/"), left, changes)?;
        }
    }
    Ok(())
}
