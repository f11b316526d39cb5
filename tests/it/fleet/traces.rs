//! The lease traces of a fleet, which every test of a fleet leaves and checks.

pub use crate::support::lease_trace::Injected;

use crate::support::lease_trace::{self, Summary, check};

use super::rig::Env;
use sqlfs::lease::keys::LeaseKey;

/// The folder of the traces. Dropped unchecked, it is checked for what holds in any case.
pub struct Traces {
    folder: tempfile::TempDir,
    checked: std::cell::Cell<bool>,
}

impl Traces {
    pub fn begin() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), checked: false.into() }
    }

    /// For the environment of a server.
    pub fn env(&self) -> Env<'_> {
        ("SQLFS_LEASE_TRACE", self.folder.path().to_str().expect("UTF-8"))
    }

    /// At the end of a test: what the servers did is what the protocol gives, and kept its
    /// promises as far as what was injected allows.
    pub fn check(&self, injected: Injected) -> Summary {
        self.checked.set(true);
        check(self.folder.path(), injected).unwrap_or_else(|why| panic!("a lease trace is refused: {why}"))
    }

    /// Why the traces are refused: what was injected is seen in them.
    pub fn refused(&self, injected: Injected) -> String {
        check(self.folder.path(), injected).expect_err("refused")
    }

    /// When which lease was granted, in the order of `sqlfs::clock::monotonic_ns`.
    pub fn grants(&self) -> Vec<(u64, LeaseKey)> {
        lease_trace::grants(self.folder.path()).expect("traces that were checked")
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if !self.checked.get() && !std::thread::panicking() {
            self.check(Injected::MemoryLoss);
        }
    }
}
