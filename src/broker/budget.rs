//! How much of replies is held at once in this process, for all scripts together.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Failure;

/// Bytes of bodies on their way, all together.
const MOST: u64 = 512 << 20;

#[derive(Debug, Default)]
pub(super) struct Budget(AtomicU64);

impl Budget {
    pub(super) fn begin(&self) -> Share<'_> {
        Share { of: self, taken: 0 }
    }
}

/// What one request holds; given back when it is dropped.
pub(super) struct Share<'a> {
    of: &'a Budget,
    taken: u64,
}

impl Share<'_> {
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), Failure> {
        let before = self.of.0.fetch_add(bytes, Ordering::Relaxed);
        self.taken += bytes;
        if before + bytes > MOST {
            return Err(Failure::new(27, "the server is receiving too much at the moment; try again later"));
        }
        Ok(())
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.of.0.fetch_sub(self.taken, Ordering::Relaxed);
    }
}
