//! File contents on their way in: small ones travel with the commit, the rest is
//! flushed to the store before any lock is taken.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::HttpState;
use super::error::ApiResult;
use super::extract::Target;
use crate::fs::{Errno, WorkingCopy};
use crate::ids::Sha256;
use crate::session::Service;

/// Larger contents are always flushed first.
const INLINE_FILE: u64 = 1 << 20;
/// Together, contents up to this travel with the commit: no round trip of their own,
/// and the commit, which holds the lock, stays short.
const INLINE_ALL: u64 = 8 << 20;
/// Contents that are flushed with one call: bytes and number.
const BATCH_BYTES: u64 = 8 << 20;
const BATCH: usize = 1000;

/// The content of a file that a request brings. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Content {
    /// In memory.
    Inline(Bytes),
    /// In the store, or on its way there: the hash is set when it has arrived.
    Stored {
        /// `None` for empty content.
        sha256: Arc<OnceLock<Option<Sha256>>>,
        /// Bytes.
        size: u64,
    },
}

impl Content {
    /// Makes it the content of `path`.
    pub fn write(&self, copy: &WorkingCopy, path: &str) -> Result<(), Errno> {
        match self {
            Self::Inline(data) => copy.write(path, data),
            // A flush that did not end has failed the request before this.
            Self::Stored { sha256, size } => {
                copy.write_flushed(path, *sha256.get().ok_or(Errno::EIO)?, *size)
            }
        }
    }
}

/// Says which contents may travel with the commit.
#[derive(Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// Of one request.
    #[must_use]
    pub fn new(state: &HttpState) -> Self {
        // The working copy counts them as new content of the exec.
        Self { left: INLINE_ALL.min(state.config.exec_memory_bytes / 4) }
    }

    /// Whether a content of `size` may; if so it is counted.
    pub fn take(&mut self, size: u64) -> bool {
        let fits = size <= INLINE_FILE && size <= self.left;
        if fits {
            self.left -= size;
        }
        fits
    }
}

/// Contents on their way to the store, to be flushed with one call.
#[derive(Debug, Default)]
pub struct Batch {
    data: Vec<Bytes>,
    slots: Vec<Arc<OnceLock<Option<Sha256>>>>,
    bytes: u64,
}

impl Batch {
    /// Adds a content.
    pub fn add(&mut self, data: Bytes) -> Content {
        let (sha256, size) = (Arc::new(OnceLock::new()), data.len() as u64);
        self.bytes += size;
        self.data.push(data);
        self.slots.push(sha256.clone());
        Content::Stored { sha256, size }
    }

    /// Whether it is time to flush.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES || self.data.len() >= BATCH
    }

    /// Takes the batch, leaving an empty one.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Flushes it, and with that completes its contents.
    pub async fn flush(self, service: &Service, target: &Target) -> ApiResult<()> {
        if self.data.is_empty() {
            return Ok(());
        }
        let hashes = service.upload(&target.caller, target.sandbox, self.data).await?;
        for (slot, hash) in self.slots.iter().zip(hashes) {
            // Each slot is set once: it is in one batch, and that is flushed once.
            let _ = slot.set(hash);
        }
        Ok(())
    }
}

/// Brings contents to where they have to be before the edit; in their order.
pub async fn stage(state: &HttpState, target: &Target, contents: Vec<Bytes>) -> ApiResult<Vec<Content>> {
    let mut budget = Budget::new(state);
    let mut batch = Batch::default();
    let mut staged = Vec::with_capacity(contents.len());
    for data in contents {
        if budget.take(data.len() as u64) {
            staged.push(Content::Inline(data));
            continue;
        }
        staged.push(batch.add(data));
        if batch.is_full() {
            batch.take().flush(&state.service, target).await?;
        }
    }
    batch.flush(&state.service, target).await?;
    Ok(staged)
}
