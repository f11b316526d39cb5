//! A path snapshot: all rows of a sandbox's tree at one head, as bytes that lie where others
//! may write. It is authenticated together with whose and which state it is, so whoever
//! changes it, or puts it in another's place, makes no more than a miss.
//!
//! | Bytes | What |
//! |---|---|
//! | 8 | `sqlfsnap` |
//! | 1 | version of the format |
//! | 32 | HMAC-SHA-256 over all other bytes, tenant, sandbox and head |
//! | 4 | length of the columns (u32, little-endian) |
//! | rest | the columns (MessagePack, see `columns.rs`), as one block of LZ4 |

use hmac::{Hmac, KeyInit, Mac};

use super::columns;
use crate::fs::Tree;
use crate::ids::{Head, SandboxId, TenantId};

const MAGIC: &[u8; 8] = b"sqlfsnap";
/// Goes up with every change of the format. Replicas of another version miss, no more.
const VERSION: u8 = 1;
const TAG: usize = 32;
const HEADER: usize = MAGIC.len() + 1;

/// Largest snapshot, bytes, packed and unpacked: some 500,000 entries.
pub const LARGEST: usize = 64 << 20;

type Code = Hmac<sha2::Sha256>;

/// What all replicas authenticate snapshots with.
#[derive(Clone)]
pub struct SnapshotKey(Code);

impl std::fmt::Debug for SnapshotKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SnapshotKey")
    }
}

/// Which state of which sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Of {
    /// The tenant.
    pub tenant: TenantId,
    /// The sandbox.
    pub sandbox: SandboxId,
    /// The state.
    pub head: Head,
}

/// Why bytes are no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Of another version, or no snapshot at all.
    #[error("another format")]
    Format,
    /// Not made by a replica with this key for this state, or cut.
    #[error("not authentic")]
    Forged,
    /// Authentic, and its rows make no tree: a fault of the replica that wrote it.
    #[error("no tree")]
    NoTree,
}

impl SnapshotKey {
    /// From a secret that may serve other purposes too: what is made of it serves this one.
    #[must_use]
    pub fn derive(secret: &[u8]) -> Self {
        let derived = keyed(secret).chain_update(b"sqlfs path snapshots").finalize().into_bytes();
        Self(keyed(&derived))
    }

    fn code(&self, of: &Of, body: &[u8]) -> Code {
        let mut code = self.0.clone();
        code.update(MAGIC);
        code.update(&[VERSION]);
        // Of the two parts of varying length the first has its length before it.
        code.update(&(of.tenant.0.len() as u64).to_le_bytes());
        code.update(of.tenant.0.as_bytes());
        code.update(of.sandbox.0.as_bytes());
        code.update(of.head.0.as_bytes());
        code.update(body);
        code
    }

    /// The snapshot of a tree; `None` when it would be too large.
    #[must_use]
    pub fn seal(&self, of: &Of, tree: &Tree) -> Option<Vec<u8>> {
        columns::write(tree).and_then(|rows| self.seal_rows(of, &rows))
    }

    fn seal_rows(&self, of: &Of, rows: &[u8]) -> Option<Vec<u8>> {
        if rows.len() > LARGEST {
            return None;
        }
        let mut sealed = Vec::with_capacity(HEADER + TAG + 4 + rows.len());
        sealed.extend(MAGIC);
        sealed.push(VERSION);
        sealed.extend([0; TAG]);
        sealed.extend((rows.len() as u32).to_le_bytes());
        sealed.extend(lz4_flex::block::compress(rows));
        let tag = self.code(of, &sealed[HEADER + TAG..]).finalize().into_bytes();
        sealed[HEADER..HEADER + TAG].copy_from_slice(&tag);
        (sealed.len() <= LARGEST).then_some(sealed)
    }

    /// The tree of a snapshot of this state.
    pub fn open(&self, of: &Of, sealed: &[u8]) -> Result<Tree, Refused> {
        let rest = sealed.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(&[VERSION]));
        let rest = rest.ok_or(Refused::Format)?;
        let (tag, body) = rest.split_at_checked(TAG).ok_or(Refused::Forged)?;
        self.code(of, body).verify_slice(tag).map_err(|_| Refused::Forged)?;
        // What follows was written by a replica; it is checked as rows of the store are.
        let (len, packed) = body.split_first_chunk().ok_or(Refused::NoTree)?;
        let len = u32::from_le_bytes(*len) as usize;
        if len > LARGEST {
            return Err(Refused::NoTree);
        }
        let rows = lz4_flex::block::decompress(packed, len).map_err(|_| Refused::NoTree)?;
        let (inodes, dirents) = columns::read(&rows).ok_or(Refused::NoTree)?;
        Tree::from_rows(inodes, dirents).map_err(|_| Refused::NoTree)
    }
}

fn keyed(secret: &[u8]) -> Code {
    Code::new_from_slice(secret).expect("HMAC takes keys of any length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Node, NodeBody};
    use crate::ids::Sha256;

    fn of(tenant: &str) -> Of {
        Of { tenant: TenantId(tenant.into()), sandbox: SandboxId::random(), head: Head::random() }
    }

    /// Each kind of node: a file with two names, an empty one, a link, a directory.
    fn tree() -> Tree {
        let (mut tree, mut ino) = Tree::first(-5);
        let hash = Sha256::of(b"x");
        for (body, names) in [
            (NodeBody::File { size: 1, sha256: Some(hash) }, &["a", "b"][..]),
            (NodeBody::File { size: 0, sha256: None }, &["empty"]),
            (NodeBody::Symlink { target: "../ä".into() }, &["link"]),
        ] {
            tree.insert(ino, Node { mode: 0o4755, mtime_ns: 7, nlink: names.len() as u32, body });
            for name in names {
                tree.add_name(3, (*name).into(), ino);
            }
            ino += 1;
        }
        tree
    }

    #[test]
    fn a_tree_comes_back_as_it_was() {
        let (key, of) = (SnapshotKey::derive(b"k"), of("t"));
        let sealed = key.seal(&of, &tree()).expect("small");
        assert_eq!(key.open(&of, &sealed), Ok(tree()));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_refused() {
        let (key, of) = (SnapshotKey::derive(b"k"), of("t"));
        let sealed = key.seal(&of, &tree()).expect("small");
        for at in 0..sealed.len() {
            let expected = if at < HEADER { Refused::Format } else { Refused::Forged };
            for bit in 0..8 {
                let mut flipped = sealed.clone();
                flipped[at] ^= 1 << bit;
                assert_eq!(key.open(&of, &flipped), Err(expected), "byte {at}, bit {bit}");
            }
            assert!(key.open(&of, &sealed[..at]).is_err(), "cut at {at}");
        }
        assert_eq!(key.open(&of, &[&sealed[..], b"x"].concat()), Err(Refused::Forged));
    }

    #[test]
    fn what_is_for_another_state_or_from_another_key_is_refused() {
        let (key, own) = (SnapshotKey::derive(b"k"), of("t"));
        let sealed = key.seal(&own, &tree()).expect("small");
        let (tenant, sandbox, head) = (own.tenant.clone(), own.sandbox, own.head);
        for other in [
            Of { tenant: TenantId("u".into()), sandbox, head },
            Of { tenant: tenant.clone(), sandbox: SandboxId::random(), head },
            Of { tenant, sandbox, head: Head::random() },
        ] {
            assert_eq!(key.open(&other, &sealed), Err(Refused::Forged));
        }
        assert_eq!(SnapshotKey::derive(b"l").open(&own, &sealed), Err(Refused::Forged));
    }

    #[test]
    fn authentic_bytes_that_make_no_tree_are_refused() {
        let (key, of) = (SnapshotKey::derive(b"k"), of("t"));
        let whole = columns::write(&tree()).expect("columns");
        let mut cases = vec![vec![], b"garbage".to_vec(), whole[..whole.len() - 1].to_vec()];
        // A tree whose root is missing has rows all the same.
        let mut rootless = tree();
        rootless.remove(crate::fs::node::ROOT);
        cases.push(columns::write(&rootless).expect("columns"));
        for rows in cases {
            let sealed = key.seal_rows(&of, &rows).expect("small");
            assert_eq!(key.open(&of, &sealed), Err(Refused::NoTree));
        }
        // A length that is not that of the rows.
        for len in [0_u32, u32::MAX] {
            let mut sealed = key.seal_rows(&of, &whole).expect("small");
            sealed[HEADER + TAG..HEADER + TAG + 4].copy_from_slice(&len.to_le_bytes());
            let tag = key.code(&of, &sealed[HEADER + TAG..]).finalize().into_bytes();
            sealed[HEADER..HEADER + TAG].copy_from_slice(&tag);
            assert_eq!(key.open(&of, &sealed), Err(Refused::NoTree), "{len}");
        }
    }
}
