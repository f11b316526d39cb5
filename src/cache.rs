//! Caches outside of the process. What they hold is never trusted, and nothing ever hangs
//! on them: a cache that is away, slow or wrong is one that has nothing.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::ids::{Head, SandboxId, Sha256, TenantId};

mod columns;
mod redis;
pub mod snapshot;

pub use self::redis::RedisCache;

/// Values by key, kept for a while by somebody else. Thread-safe. Each call is bounded in
/// time and fails open.
#[async_trait]
pub trait Cache: Send + Sync {
    /// The value, the first `limit` bytes of it.
    async fn get(&self, key: &str, limit: usize) -> Found;

    /// Keeps a value for `ttl`, and drops that of the key `instead_of`. Whether it was done.
    async fn put(&self, key: &str, value: Bytes, ttl: Duration, instead_of: Option<&str>) -> bool;
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
    format!("vfs:{}:snap:{{{sandbox}}}:{head}", tenant.in_keys())
}

/// The key of a content: `vfs:{tenant}:blob:{sha256}`.
#[must_use]
pub fn blob_key(tenant: &TenantId, sha256: &Sha256) -> String {
    format!("vfs:{}:blob:{sha256}", tenant.in_keys())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_tenants_apart_and_the_first_brace_opens_the_sandbox() {
        let (sandbox, head) = (SandboxId::random(), Head::random());
        let snapshot = |tenant: &str| snapshot_key(&TenantId(tenant.into()), sandbox, head);
        let blob = |tenant: &str| blob_key(&TenantId(tenant.into()), &Sha256([1; 32]));
        assert_eq!(snapshot("default"), format!("vfs:default:snap:{{{sandbox}}}:{head}"));
        assert_eq!(blob("default"), format!("vfs:default:blob:{}", "01".repeat(32)));
        for (one, other) in [("a:b", "a%3ab"), ("a{b}", "a%7bb%7d"), ("a", "")] {
            assert_ne!(snapshot(one), snapshot(other));
            assert_ne!(blob(one), blob(other));
            let key = snapshot(one);
            assert!(key[key.find('{').expect("a tag")..].starts_with(&format!("{{{sandbox}}}")));
        }
    }
}
