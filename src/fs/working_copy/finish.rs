//! The end of a working copy: new contents are hashed, and the difference to the base
//! becomes rows. What was touched and is as before makes no row.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::{Fatal, State, WorkingCopy};
use crate::fs::change_set::{BlobUse, ChangeSet, Delta};
use crate::fs::node::{Node, NodeBody};
use crate::fs::{Errno, Tree};
use crate::ids::{Ino, Sha256};

impl WorkingCopy {
    /// The tree as the script sees it now; contents that are not hashed yet are
    /// hashed first.
    pub fn tree(&self) -> Result<Tree, Errno> {
        self.call(|state| {
            self.hash_new_contents(state)?;
            Ok(state.tree.clone())
        })
    }

    /// All changes against the base. Hashes new contents. Errors when a fatal cause
    /// is latched. Later calls on the working copy fail.
    pub fn finish(&self) -> Result<ChangeSet, Errno> {
        let changes = self.call(|state| {
            if let Some(fatal) = self.fatal() {
                return Err(fatal.errno().into());
            }
            let contents = self.hash_new_contents(state)?;
            state.finished = true;
            Ok(self.changes(&state.tree, &contents))
        })?;
        // A cause that came up meanwhile counts: nothing may be applied after a revoke.
        match self.fatal() {
            Some(fatal) => Err(fatal.errno()),
            None => Ok(changes),
        }
    }

    fn changes(&self, after: &Tree, contents: &HashMap<Ino, Bytes>) -> ChangeSet {
        let delta = Delta::between(&self.base, after);
        // A hash that the same inode had in the base is live there; any other may not be.
        let unsaved = delta.inodes.iter().filter_map(|row| {
            let sha256 = row.sha256?;
            let kept = self.base.node(row.ino).and_then(Node::sha256) == Some(sha256);
            let data = contents.get(&row.ino).cloned();
            (!kept).then_some(BlobUse { sha256, size: row.size, data })
        });
        let blobs = unsaved.collect();
        ChangeSet::of(&self.base, after, self.first_ino, delta, blobs)
    }

    /// Gives every file that was written its hash; returns the contents held.
    fn hash_new_contents(&self, state: &mut State) -> Result<HashMap<Ino, Bytes>, Fatal> {
        let mut contents = HashMap::new();
        for ino in state.local.inos() {
            if self.revoked.load(Ordering::SeqCst) {
                return Err(Fatal::Revoked);
            }
            let data = state.local.get(ino).unwrap_or_default();
            state.tree.edit(ino, |node| {
                if let NodeBody::File { sha256: sha256 @ None, size: 1.. } = &mut node.body {
                    *sha256 = Some(Sha256::of(&data));
                }
            });
            contents.insert(ino, data);
        }
        Ok(contents)
    }
}
