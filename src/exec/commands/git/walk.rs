//! From commits to their parents, newest first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::failed::Done;
use super::object::Commit;
use super::oid::Oid;
use super::pathspec::Pathspec;
use super::repo::Repo;
use super::trees::compare_trees;

/// Where a walk goes.
#[derive(Default)]
pub(super) struct Way {
    pub(super) from: Vec<Oid>,
    /// These and what is behind them are left out.
    pub(super) without: Vec<Oid>,
    pub(super) first_parent: bool,
    /// No parent before its children.
    pub(super) topological: bool,
}

/// All commits behind some, themselves included.
pub(super) fn ancestors(repo: &Repo<'_>, from: &[Oid]) -> Done<BTreeSet<Oid>> {
    let (mut seen, mut open) = (BTreeSet::new(), from.to_vec());
    while let Some(oid) = open.pop() {
        if seen.insert(oid) {
            open.extend(repo.commit(&oid)?.parents);
        }
    }
    Ok(seen)
}

/// Whether nothing about these files changed between two commits.
fn is_same(repo: &Repo<'_>, parent: Option<&Commit>, commit: &Commit, spec: &Pathspec) -> Done<bool> {
    let changes = compare_trees(repo, parent.map(|parent| &parent.tree), Some(&commit.tree))?;
    Ok(!changes.iter().any(|change| spec.matches(&change.path)))
}

/// Visits commits until `visit` says no. With paths, only those that changed them, and of
/// a merge only the side that brought all of it.
pub(super) fn walk(
    repo: &Repo<'_>,
    way: &Way,
    spec: &Pathspec,
    visit: &mut dyn FnMut(&Oid, &Commit) -> Done<bool>,
) -> Done {
    let hidden = ancestors(repo, &way.without)?;
    let (mut heap, mut seen, mut order) = (BinaryHeap::new(), BTreeSet::new(), 0u64);
    let mut push = |heap: &mut BinaryHeap<_>, oid: Oid| -> Done {
        if !hidden.contains(&oid) && seen.insert(oid) {
            let commit = repo.commit(&oid)?;
            heap.push((commit.committer.when.seconds, Reverse(order), oid));
            order += 1;
        }
        Ok(())
    };
    for &oid in &way.from {
        push(&mut heap, oid)?;
    }
    let mut found = Vec::new();
    while let Some((_, _, oid)) = heap.pop() {
        let commit = repo.commit(&oid)?;
        let count = if way.first_parent { 1 } else { commit.parents.len() };
        let mut parents: Vec<Oid> = commit.parents.iter().take(count).copied().collect();
        let mut shown = true;
        if !spec.is_all() {
            if parents.is_empty() {
                shown = !is_same(repo, None, &commit, spec)?;
            }
            for parent in parents.clone() {
                if is_same(repo, Some(&repo.commit(&parent)?), &commit, spec)? {
                    parents = vec![parent];
                    shown = false;
                    break;
                }
            }
        }
        for &parent in &parents {
            push(&mut heap, parent)?;
        }
        if way.topological {
            found.push((oid, parents, shown));
        } else if shown && !visit(&oid, &commit)? {
            return Ok(());
        }
    }
    for oid in sorted(&found) {
        if !visit(&oid, &repo.commit(&oid)?)? {
            break;
        }
    }
    Ok(())
}

/// Children before parents, one line of history after the other.
fn sorted(found: &[(Oid, Vec<Oid>, bool)]) -> Vec<Oid> {
    let mut children: BTreeMap<Oid, usize> = found.iter().map(|(oid, ..)| (*oid, 0)).collect();
    let by_oid: BTreeMap<Oid, &(Oid, Vec<Oid>, bool)> = found.iter().map(|item| (item.0, item)).collect();
    for (_, parents, _) in found {
        parents.iter().for_each(|parent| {
            if let Some(count) = children.get_mut(parent) {
                *count += 1;
            }
        });
    }
    let mut open: Vec<Oid> =
        found.iter().rev().map(|(oid, ..)| *oid).filter(|oid| children[oid] == 0).collect();
    let mut out = Vec::new();
    while let Some(oid) = open.pop() {
        let Some((_, parents, shown)) = by_oid.get(&oid) else { continue };
        if *shown {
            out.push(oid);
        }
        for parent in parents {
            if let Some(count) = children.get_mut(parent) {
                *count -= 1;
                if *count == 0 {
                    open.push(*parent);
                }
            }
        }
    }
    out
}

/// The best common ancestors of two commits: none is behind another.
pub(super) fn merge_bases(repo: &Repo<'_>, a: &Oid, b: &Oid) -> Done<Vec<Oid>> {
    let (left, right) = (ancestors(repo, &[*a])?, ancestors(repo, &[*b])?);
    let both: BTreeSet<Oid> = left.intersection(&right).copied().collect();
    let mut best = both.clone();
    for oid in &both {
        for parent in repo.commit(oid)?.parents {
            best.remove(&parent);
        }
    }
    let mut dated = Vec::new();
    for oid in best {
        dated.push((Reverse(repo.commit(&oid)?.committer.when.seconds), oid));
    }
    dated.sort();
    Ok(dated.into_iter().map(|(_, oid)| oid).collect())
}

/// Commits that only one of two has: of the first, of the second.
pub(super) fn apart(repo: &Repo<'_>, a: &Oid, b: &Oid) -> Done<(usize, usize)> {
    let (left, right) = (ancestors(repo, &[*a])?, ancestors(repo, &[*b])?);
    Ok((left.difference(&right).count(), right.difference(&left).count()))
}

/// Whether `old` is behind `new`, or the same.
pub(super) fn is_behind(repo: &Repo<'_>, old: &Oid, new: &Oid) -> Done<bool> {
    Ok(old == new || ancestors(repo, &[*new])?.contains(old))
}
