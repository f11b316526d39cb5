//! Caches outside of the process. What they hold is never trusted, and nothing ever hangs
//! on them: a cache that is away, slow or wrong is one that has nothing.

use async_trait::async_trait;

use crate::ids::{Head, SandboxId, TenantId};

mod columns;
mod redis;
pub mod snapshot;

pub use redis::RedisCache;

/// Values by key, kept for a while by somebody else. Thread-safe. Each call is bounded in
/// time and fails open.
#[async_trait]
pub trait Cache: Send + Sync {
    /// The value, the first `limit` bytes of it.
    async fn get(&self, key: &str, limit: usize) -> Found;

    /// Keeps a value, and drops that of the key `instead_of`. Whether it was done.
    async fn put(&self, key: &str, value: Vec<u8>, instead_of: Option<&str>) -> bool;
}

/// What a cache answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// This is there.
    Value(Vec<u8>),
    /// Nothing is there, or something that is no value.
    Nothing,
    /// It does not answer, or did not before and is left alone.
    Away,
}

/// The key of a sandbox's snapshot at one head: `vfs:{tenant}:snap:{sandbox}:{head}`. The
/// first brace opens the hash tag of the sandbox, as with the keys of leases: all snapshots
/// of a sandbox lie on one node of a cluster.
#[must_use]
pub fn snapshot_key(tenant: &TenantId, sandbox: SandboxId, head: Head) -> String {
    use std::fmt::Write;
    let mut key = String::with_capacity(128);
    key.push_str("vfs:");
    for c in tenant.0.chars() {
        match c {
            '{' | '}' | ':' | '%' => {
                let _ = write!(key, "%{:02x}", c as u32);
            }
            plain => key.push(plain),
        }
    }
    let _ = write!(key, ":snap:{{{sandbox}}}:{head}");
    key
}
