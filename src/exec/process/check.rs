//! The change set of a worker is hostile input: what it says of a tree must make a tree,
//! and contents must have the hashes that it says.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use crate::fs::{BlobUse, ChangeSet, Delta, Mode, Node, Quota, Tree};
use crate::fs::{Kind, NodeBody};
use crate::ids::{Ino, Sha256};

/// How far inode numbers may run ahead in one script: numbers of files that came and went
/// in it are used up.
const NUMBERS: u64 = 1 << 32;

/// What a worker made of a tree.
pub(super) struct Claim {
    pub(super) delta: Delta,
    /// New contents by the hash that the worker gave them.
    pub(super) contents: Vec<(Sha256, Bytes)>,
    /// Contents that a file of the base tree has.
    pub(super) known: Vec<(Sha256, Ino)>,
}

/// The change set, or what is wrong with the claim. Costs O(changes), the hashing of new
/// contents, and a walk below directories that were made or moved.
pub(super) fn checked(
    base: &Tree,
    next_ino: Ino,
    mode: Mode,
    quota: &Quota,
    claim: Claim,
) -> Result<ChangeSet, String> {
    let Claim { delta, contents, known } = claim;
    if delta.is_empty() {
        return Ok(ChangeSet {
            next_ino,
            entries: base.entries(),
            bytes: base.bytes(),
            ..ChangeSet::default()
        });
    }
    if mode == Mode::ReadOnly {
        return Err("changes of a script that may only read".to_owned());
    }
    let after = base.apply(&delta).map_err(|broken| broken.to_string())?;
    no_cycles(&after, &delta)?;
    for row in &delta.inodes {
        if base.node(row.ino).is_none() && !(next_ino..next_ino.saturating_add(NUMBERS)).contains(&row.ino) {
            return Err(format!("the inode number {} is not free", row.ino));
        }
    }
    within(base, &after, quota, &delta)?;
    let blobs = blobs(base, &delta, contents, &known)?;
    Ok(ChangeSet::of(base, &after, next_ino, delta, blobs))
}

/// A directory that was made or moved must not lie below itself. (That each directory has
/// one name is checked already, so any cycle goes through one of these.)
fn no_cycles(after: &Tree, delta: &Delta) -> Result<(), String> {
    let is_dir = |ino: Ino| after.node(ino).is_some_and(|node| node.kind() == Kind::Dir);
    let mut seen = HashSet::new();
    for start in delta.dirents.iter().map(|row| row.ino).filter(|&ino| is_dir(ino)) {
        // Below a directory that was walked already there is no cycle, or it was found.
        let mut open = vec![start];
        while let Some(dir) = open.pop() {
            if !seen.insert(dir) {
                continue;
            }
            let entries = after.node(dir).and_then(Node::entries).into_iter().flat_map(imbl::OrdMap::values);
            for &ino in entries {
                if ino == start {
                    return Err(format!("directory {start} lies below itself"));
                }
                if is_dir(ino) {
                    open.push(ino);
                }
            }
        }
    }
    Ok(())
}

fn within(base: &Tree, after: &Tree, quota: &Quota, delta: &Delta) -> Result<(), String> {
    if after.names() >= quota.entries && after.names() > base.names() {
        return Err("more entries than are allowed".to_owned());
    }
    let bytes = |tree: &Tree| tree.bytes() + tree.link_bytes();
    if bytes(after) > quota.bytes && bytes(after) > bytes(base) {
        return Err("more bytes than are allowed".to_owned());
    }
    let size_before = |ino| base.node(ino).map_or(0, Node::size);
    if delta.inodes.iter().any(|row| row.size > quota.file_bytes && row.size > size_before(row.ino)) {
        return Err("a larger file than is allowed".to_owned());
    }
    Ok(())
}

/// Every content that the change needs, of the size that its rows say, and in hand or in the
/// base tree.
fn blobs(
    base: &Tree,
    delta: &Delta,
    contents: Vec<(Sha256, Bytes)>,
    known: &[(Sha256, Ino)],
) -> Result<Vec<BlobUse>, String> {
    let mut sizes: HashMap<Sha256, (u64, Option<Bytes>)> = HashMap::new();
    for (ino, sha256) in known.iter().map(|(sha256, ino)| (ino, sha256)) {
        match base.node(*ino).map(|node| &node.body) {
            Some(NodeBody::File { size, sha256: Some(there) }) if there == sha256 => {
                sizes.insert(*sha256, (*size, None));
            }
            _ => return Err(format!("inode {ino} does not have the content {sha256}")),
        }
    }
    for (sha256, data) in contents {
        if Sha256::of(&data) != sha256 {
            return Err(format!("a content does not have the hash {sha256}"));
        }
        sizes.insert(sha256, (data.len() as u64, Some(data)));
    }
    let mut blobs = Vec::new();
    for row in &delta.inodes {
        let Some(sha256) = row.sha256 else { continue };
        let kept = base.node(row.ino).filter(|node| node.sha256() == Some(sha256));
        if let Some(node) = kept {
            if node.size() != row.size {
                return Err(format!("inode {} has a content of another size", row.ino));
            }
            continue;
        }
        let Some((size, data)) = sizes.get(&sha256) else {
            return Err(format!("inode {} has a content that is nowhere", row.ino));
        };
        if *size != row.size {
            return Err(format!("inode {} has a content of another size", row.ino));
        }
        blobs.push(BlobUse { sha256, size: *size, data: data.clone() });
    }
    Ok(blobs)
}
