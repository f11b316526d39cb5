//! File contents on their way in: small ones travel with the commit, the rest is
//! flushed to the store before any lock is taken.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::HttpState;
use super::error::ApiResult;
use super::extract::Target;
use crate::fs::{Errno, WorkingCopy};
use crate::ids::Sha256;

/// Larger contents are always flushed first.
const INLINE_FILE: u64 = 1 << 20;
/// Together, contents up to this travel with one commit: one round trip instead of one
/// for each file.
const INLINE_ALL: u64 = 64 << 20;

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

/// Brings one content to where it has to be before the edit.
pub async fn stage(
    state: &HttpState,
    target: &Target,
    budget: &mut Budget,
    data: Bytes,
) -> ApiResult<Content> {
    if budget.take(data.len() as u64) {
        return Ok(Content::Inline(data));
    }
    let size = data.len() as u64;
    let sha256 = state.service.upload(&target.caller, target.sandbox, data).await?;
    Ok(Content::Stored { sha256: Arc::new(OnceLock::from(sha256)), size })
}
