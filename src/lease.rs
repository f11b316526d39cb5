//! The lease: the expiring right to run a write exec of one sandbox.
//!
//! One replica alone needs no expiry: the session lock already keeps its writers
//! apart, and the compare-and-set on the head catches everything else. What remains
//! of the lease is the fencing token, a number that grows with each grant.

use std::sync::atomic::{AtomicI64, Ordering};

pub mod driver;
pub mod held;
pub mod keys;
pub mod memory;
pub mod protocol;
pub mod redis;
pub mod store;
pub mod table;
#[cfg(debug_assertions)]
pub mod trace;
pub mod verbs;

/// The lease of a server that runs without Redis. One per process.
#[derive(Debug, Default)]
pub struct InProcess {
    last: AtomicI64,
}

impl InProcess {
    /// Grants and returns the fencing token: above every token granted by this
    /// process, and above `floor`, the highest token that ever committed to the
    /// sandbox. (A token granted before a restart and never committed with may come
    /// again after it.)
    pub fn grant(&self, floor: i64) -> i64 {
        let mut token = 0;
        let _ = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            token = last.max(floor) + 1;
            Some(token)
        });
        token
    }
}
