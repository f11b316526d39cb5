//! Path snapshots of random trees come back whole, and nothing else comes back.

use std::sync::Arc;

use proptest::prelude::*;
use sqlfs::cache::snapshot::{Of, SnapshotKey};
use sqlfs::fs::Tree;
use sqlfs::ids::{Head, SandboxId, TenantId};

use crate::support::fs_ops::{self, Blobs, FsOp, execs, root_only, working_copy};

/// The tree that all operations leave, one exec after the other.
fn tree_of(execs: &[Vec<FsOp>]) -> Tree {
    let blobs = Arc::new(Blobs::default());
    let (mut tree, mut next_ino) = (root_only(), 2);
    for ops in execs {
        let fs = working_copy(&tree, next_ino, &blobs);
        for op in ops {
            let _ = fs_ops::run(op, &fs);
        }
        let changes = fs.finish().expect("nothing fatal");
        blobs.absorb(&changes);
        tree = tree.apply(&changes.delta).expect("a change set fits its base");
        next_ino = changes.next_ino;
    }
    tree
}

proptest! {
    #[test]
    fn a_snapshot_is_its_tree_and_a_changed_one_is_nothing(
        execs in execs(),
        at in any::<prop::sample::Index>(),
        flip in 1_u8..,
    ) {
        let tree = tree_of(&execs);
        let key = SnapshotKey::derive(b"a key");
        let of = Of { tenant: TenantId("t".into()), sandbox: SandboxId::random(), head: Head::random() };
        let sealed = key.seal(&of, &tree).expect("a small tree");
        prop_assert_eq!(key.open(&of, &sealed), Ok(tree));
        let at = at.index(sealed.len());
        prop_assert!(key.open(&of, &sealed[..at]).is_err(), "cut at {}", at);
        let mut flipped = sealed;
        flipped[at] ^= flip;
        prop_assert!(key.open(&of, &flipped).is_err(), "byte {} flipped", at);
    }
}
