//! Contents of both sides of a difference, and files that were moved.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::failed::Done;
use super::object::MODULE;
use super::oid::Oid;
use super::repo::Repo;
use super::trees::{Change, Side};

/// As git's own limit of pairs that are compared.
const MOST_PAIRS: usize = 1000 * 1000;
/// Of alike in percent, at least.
const ALIKE: u64 = 50;
/// Full marks.
const FULL: u64 = 60_000;
/// A piece of a file that is looked for elsewhere: a line, or so many bytes.
const PIECE: usize = 64;

/// Where contents come from: objects, and files of the work tree that are none yet.
pub(super) struct Blobs<'r, 'a> {
    pub(super) repo: &'r Repo<'a>,
    files: BTreeMap<Oid, String>,
}

impl<'r, 'a> Blobs<'r, 'a> {
    /// Of objects alone.
    pub(super) fn new(repo: &'r Repo<'a>) -> Self {
        Self { repo, files: BTreeMap::new() }
    }

    /// The new sides of these are files.
    pub(super) fn with_files(repo: &'r Repo<'a>, changes: &[Change]) -> Self {
        let files = changes.iter().filter_map(|change| Some((change.new?.1, change.path.clone()))).collect();
        Self { repo, files }
    }

    /// A side's content; of none it is empty.
    pub(super) fn get(&self, side: Side) -> Done<Arc<Vec<u8>>> {
        let Some((mode, oid)) = side else { return Ok(Arc::default()) };
        if mode == MODULE {
            return Ok(Arc::new(format!("Subproject commit {oid}\n").into_bytes()));
        }
        if let Some(path) = self.files.get(&oid)
            && let Some(stat) = self.repo.look_at(path)?
        {
            return self.repo.content(path, &stat).map(Arc::new);
        }
        self.repo.blob(&oid)
    }

    /// Pairs what went with what came, where the contents are alike.
    pub(super) fn find_moved(&self, mut changes: Vec<Change>) -> Done<Vec<Change>> {
        let regular = |side: Side| side.filter(|(mode, _)| mode & 0o170_000 == 0o100_000);
        let gone: Vec<usize> = (0..changes.len()).filter(|&at| changes[at].new.is_none()).collect();
        let came: Vec<usize> = (0..changes.len()).filter(|&at| changes[at].old.is_none()).collect();
        if gone.is_empty() || came.is_empty() {
            return Ok(changes);
        }
        let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let (mut pairs, mut used): (BTreeMap<usize, (usize, u32)>, Vec<usize>) =
            (BTreeMap::new(), Vec::new());
        for &new in &came {
            let same = |old: &&usize| {
                let (a, b) = (changes[**old].old, changes[new].new);
                !used.contains(old) && a.zip(b).is_some_and(|((m, a), (n, b))| a == b && m >> 12 == n >> 12)
            };
            let named = |old: &usize| base(&changes[*old].path) == base(&changes[new].path);
            let found = gone.iter().filter(same).find(|old| named(old)).or_else(|| gone.iter().find(same));
            if let Some(&old) = found {
                pairs.insert(new, (old, 100));
                used.push(old);
            }
        }
        let left = |at: &&usize, side: Side| regular(side).is_some() && !used.contains(at);
        let gone: Vec<usize> = gone.iter().filter(|at| left(at, changes[**at].old)).copied().collect();
        let came: Vec<usize> = came
            .iter()
            .filter(|at| regular(changes[**at].new).is_some() && !pairs.contains_key(at))
            .copied()
            .collect();
        if gone.len().saturating_mul(came.len()) <= MOST_PAIRS {
            let mut scores = Vec::new();
            let pieces = |side: Side| self.get(side).map(|data| (data.len() as u64, pieces(&data)));
            let olds: Done<Vec<_>> = gone.iter().map(|&at| pieces(changes[at].old)).collect();
            let olds = if came.is_empty() { Vec::new() } else { olds? };
            for &new in &came {
                let (size, new_pieces) = pieces(changes[new].new)?;
                for (&old, (old_size, old_pieces)) in gone.iter().zip(&olds) {
                    self.repo.go_on()?;
                    let score = alike((*old_size, old_pieces), (size, &new_pieces));
                    if score * 100 >= ALIKE * FULL {
                        let named = base(&changes[old].path) == base(&changes[new].path);
                        scores.push((std::cmp::Reverse((score, named)), new, old));
                    }
                }
            }
            scores.sort();
            for (std::cmp::Reverse((score, _)), new, old) in scores {
                if !pairs.contains_key(&new) && !used.contains(&old) {
                    pairs.insert(new, (old, (score * 100 / FULL) as u32));
                    used.push(old);
                }
            }
        }
        for (&new, &(old, score)) in &pairs {
            changes[new].from = Some((changes[old].path.clone(), score));
            changes[new].old = changes[old].old;
        }
        let mut at = 0;
        changes.retain(|_| {
            at += 1;
            !used.contains(&(at - 1))
        });
        Ok(changes)
    }
}

/// Bytes in each distinct piece.
fn pieces(data: &[u8]) -> BTreeMap<Vec<u8>, u64> {
    let is_text = !is_binary(data);
    let mut found: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let mut piece = Vec::new();
    let mut add = |piece: &mut Vec<u8>| {
        let size = piece.len() as u64;
        *found.entry(std::mem::take(piece)).or_default() += size;
    };
    for (at, &byte) in data.iter().enumerate() {
        if byte == b'\r' && is_text && data.get(at + 1) == Some(&b'\n') {
            continue;
        }
        piece.push(byte);
        if piece.len() >= PIECE || byte == b'\n' {
            add(&mut piece);
        }
    }
    if !piece.is_empty() {
        add(&mut piece);
    }
    found
}

type Pieces<'p> = (u64, &'p BTreeMap<Vec<u8>, u64>);

/// How much of the larger file is in both, out of [`FULL`].
fn alike((old_size, old): Pieces<'_>, (new_size, new): Pieces<'_>) -> u64 {
    let (large, small) = (old_size.max(new_size), old_size.min(new_size));
    if small == 0 || large * ALIKE < (large - small) * 100 {
        return 0;
    }
    let copied: u64 =
        old.iter().map(|(piece, size)| new.get(piece).map_or(0, |other| *other.min(size))).sum();
    copied * FULL / large
}

/// As git tells: a NUL among the first bytes.
pub(super) fn is_binary(data: &[u8]) -> bool {
    data[..data.len().min(8000)].contains(&0)
}
