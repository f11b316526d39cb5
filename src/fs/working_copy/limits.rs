//! Quotas and the read-only rule. All is asked before anything is allocated or
//! changed.

use super::{Fail, Fatal, Mode, State, WorkingCopy};
use crate::fs::Errno;

/// Names of one file, as on ext4.
pub(super) const LINK_MAX: u32 = 65_000;

impl WorkingCopy {
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
        let limit = self.quota.bytes;
        let others = state.tree.bytes() - old;
        if others.saturating_add(new) > limit { Err(Fatal::Bytes { limit }.into()) } else { Ok(()) }
    }

    /// Room in memory for a file of which `held` bytes are held to hold `new`.
    pub(super) fn room_in_memory(&self, state: &State, held: u64, new: u64) -> Result<(), Fail> {
        let limit = self.quota.memory;
        let others = state.local.held() - held;
        if others.saturating_add(new) > limit && new > held {
            Err(Fatal::Memory { limit }.into())
        } else {
            Ok(())
        }
    }
}
