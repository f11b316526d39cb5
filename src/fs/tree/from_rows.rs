//! A tree from all its rows. What a cold start waits for, so nothing is looked up twice: rows
//! are put in order, and each directory's names become its map at once.

use imbl::OrdMap;

use super::rows::{Checked, broken};
use super::{BrokenTree, Tree};
use crate::fs::change_set::{DirentRow, InodeRow};
use crate::fs::node::{Kind, Name, ROOT};
use crate::fs::path;
use crate::ids::Ino;

/// What names say of an inode.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    names: u32,
    subdirs: u32,
    /// Place of the directory that named it last.
    parent: usize,
    reached: Reached,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reached {
    #[default]
    Unknown,
    /// On a way up that has not come to the root.
    Asked,
    Yes,
}

impl Tree {
    /// Builds the tree from all its live rows, in any order. O(n log n). Errors when
    /// they are not exactly one tree: missing or unnamed inodes, directories with two
    /// names or out of the root's reach, illegal names, wrong link counts.
    pub fn from_rows(mut inodes: Vec<InodeRow>, mut dirents: Vec<DirentRow>) -> Result<Self, BrokenTree> {
        inodes.sort_unstable_by_key(|row| row.ino);
        if let Some(twice) = inodes.windows(2).find(|pair| pair[0].ino == pair[1].ino) {
            return broken!("inode {} has two rows", twice[0].ino);
        }
        dirents.sort_unstable_by(|a, b| (a.parent, &a.name).cmp(&(b.parent, &b.name)));
        let mut found = vec![Found::default(); inodes.len()];
        // The names of each directory, in the order of the inodes.
        let mut maps = Vec::new();
        for names in dirents.chunk_by(|a, b| a.parent == b.parent) {
            maps.push(entries(&inodes, &mut found, names)?);
        }
        let root = place(&inodes, ROOT).filter(|root| inodes[*root].kind == Kind::Dir);
        let Some(root) = root else {
            return broken!("the root, inode {ROOT}, is missing or no directory");
        };
        for (row, found) in inodes.iter().zip(&found) {
            found.check(row)?;
        }
        let lost = unreached(&inodes, &mut found, root);
        if lost > 0 {
            return broken!("{lost} directories cannot be reached from the root");
        }
        let (mut tree, mut maps) = (Self::empty(), maps.into_iter().peekable());
        for row in &inodes {
            let entries = maps.next_if(|(parent, _)| *parent == row.ino).map(|(_, entries)| entries);
            tree.insert(row.ino, row.node(entries.unwrap_or_default())?);
        }
        Ok(tree)
    }
}

/// The names of one directory as its map, counted at what they name.
fn entries(
    inodes: &[InodeRow],
    found: &mut [Found],
    names: &[DirentRow],
) -> Checked<(Ino, OrdMap<Name, Ino>)> {
    let parent = names[0].parent;
    let dir = place(inodes, parent).filter(|dir| inodes[*dir].kind == Kind::Dir);
    let mut entries = OrdMap::new();
    for DirentRow { name, ino, .. } in names {
        if !path::is_name(name) {
            return broken!("directory {parent} holds the illegal name {name:?}");
        }
        let Some(dir) = dir else {
            return broken!("the name {name:?} stands in inode {parent}, which is no directory");
        };
        let Some(child) = place(inodes, *ino) else {
            return broken!("the name {name:?} in directory {parent} has no inode {ino}");
        };
        found[child].names += 1;
        found[child].parent = dir;
        found[dir].subdirs += u32::from(inodes[child].kind == Kind::Dir);
        if entries.insert(name.clone(), *ino).is_some() {
            return broken!("directory {parent} has the name {name:?} twice");
        }
    }
    Ok((parent, entries))
}

/// Where the row of an inode stands. Numbers mostly have no gaps: near the first guess.
fn place(inodes: &[InodeRow], ino: Ino) -> Option<usize> {
    let guess = usize::try_from(ino.wrapping_sub(1)).ok()?;
    if inodes.get(guess).is_some_and(|row| row.ino == ino) {
        return Some(guess);
    }
    inodes.binary_search_by_key(&ino, |row| row.ino).ok()
}

impl Found {
    fn check(&self, row: &InodeRow) -> Checked {
        let (ino, named) = (row.ino, self.names);
        let links = match row.kind {
            Kind::Dir => 2 + self.subdirs,
            Kind::File | Kind::Symlink => named,
        };
        if row.kind == Kind::Dir && named != u32::from(ino != ROOT) {
            return broken!("directory {ino} has {named} names");
        }
        if named == 0 && ino != ROOT {
            return broken!("inode {ino} has no name");
        }
        if links != row.nlink {
            return broken!("inode {ino} has {links} links, its row says {}", row.nlink);
        }
        Ok(())
    }
}

/// How many directories the root does not reach. Each but the root has one name, so one that
/// it does not reach is in a cycle or below one.
fn unreached(inodes: &[InodeRow], found: &mut [Found], root: usize) -> usize {
    found[root].reached = Reached::Yes;
    let (mut lost, mut way) = (0, Vec::new());
    for (dir, _) in inodes.iter().enumerate().filter(|(_, row)| row.kind == Kind::Dir) {
        let mut at = dir;
        while found[at].reached == Reached::Unknown {
            found[at].reached = Reached::Asked;
            way.push(at);
            at = found[at].parent;
        }
        let end = found[at].reached;
        way.drain(..).for_each(|at| found[at].reached = end);
        lost += usize::from(found[dir].reached != Reached::Yes);
    }
    lost
}
