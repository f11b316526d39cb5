//! Quotas and the read-only rule. All is asked before anything is allocated or
//! changed.

use super::{Fail, Fatal, Mode, Quota, State, WorkingCopy};
use crate::fs::Errno;

/// Names of one file, as on ext4.
pub(super) const LINK_MAX: u32 = 65_000;

impl WorkingCopy {
    /// The limits that it keeps.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// Asked by every call right before it changes something.
    pub(super) fn writable(&self, path: &str) -> Result<(), Fail> {
        match self.mode {
            Mode::ReadWrite => Ok(()),
            Mode::ReadOnly => Err(Fatal::ReadOnly { path: path.to_owned() }.into()),
        }
    }

    /// Room for one more name. Every inode but the root has one, so names bound the
    /// inodes, and hard links cannot grow a tree past its quota.
    pub(super) fn room_for_name(&self, state: &State) -> Result<(), Fail> {
        let limit = self.quota.entries;
        if state.tree.names() + 1 < limit { Ok(()) } else { Err(Fatal::Entries { limit }.into()) }
    }

    /// Room for a file to go from `old` to `new` bytes. Shrinking is always allowed.
    pub(super) fn room_for_bytes(&self, state: &State, old: u64, new: u64) -> Result<(), Fail> {
        if new <= old {
            return Ok(());
        }
        if new > self.quota.file_bytes {
            return Err(Errno::EFBIG.into());
        }
        self.room_for_more(state, new - old)
    }

    /// Room for a link target. It counts like the content of a file, so that links
    /// cannot grow a tree past its quota; only files show up in the sum that users see.
    pub(super) fn room_for_target(&self, state: &State, target: &str) -> Result<(), Fail> {
        let len = target.len() as u64;
        self.room_for_more(state, len)?;
        self.room_in_memory(state, 0, len)
    }

    fn room_for_more(&self, state: &State, more: u64) -> Result<(), Fail> {
        let limit = self.quota.bytes;
        let total = state.tree.bytes() + state.tree.link_bytes();
        if total.saturating_add(more) > limit { Err(Fatal::Bytes { limit }.into()) } else { Ok(()) }
    }

    /// Room in memory for a file of which `held` bytes are held to hold `new`.
    pub(super) fn room_in_memory(&self, state: &State, held: u64, new: u64) -> Result<(), Fail> {
        let limit = self.quota.memory;
        let links = state.tree.link_bytes().saturating_sub(self.base.link_bytes());
        let others = state.local.held() - held + links;
        if others.saturating_add(new) > limit && new > held {
            Err(Fatal::Memory { limit }.into())
        } else {
            Ok(())
        }
    }
}
