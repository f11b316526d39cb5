//! Contents by (tenant, hash): one byte-weighed LRU per process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use lru::LruCache;

use crate::ids::{Sha256, TenantId};

/// What an entry costs beside its bytes: key, list links, table slot, allocation.
const ENTRY_OVERHEAD: u64 = 160;

/// Contents that were read lately. What goes in must have been checked against its
/// hash; what comes out is trusted. Thread-safe; a call holds one lock for the time of
/// a table look-up.
#[derive(Debug)]
pub struct ContentCache {
    max_bytes: u64,
    entries: Mutex<Entries>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct Entries {
    lru: LruCache<(TenantId, Sha256), Bytes>,
    weight: u64,
}

impl ContentCache {
    /// A cache of at most `max_bytes`, the book-keeping counted; 0 keeps nothing.
    #[must_use]
    pub fn new(max_bytes: u64) -> Self {
        let entries = Mutex::new(Entries { lru: LruCache::unbounded(), weight: 0 });
        Self { max_bytes, entries, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// The content, which thereby becomes the most recently used.
    #[must_use]
    pub fn get(&self, tenant: &TenantId, hash: &Sha256) -> Option<Bytes> {
        let found = self.entries().lru.get(&(tenant.clone(), *hash)).cloned();
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Whether the content is at hand; neither a use nor a hit.
    #[must_use]
    pub fn contains(&self, tenant: &TenantId, hash: &Sha256) -> bool {
        self.entries().lru.contains(&(tenant.clone(), *hash))
    }

    /// Keeps a content, dropping the least recently used ones over the budget. One
    /// larger than an eighth of the budget is not kept, so that it cannot push
    /// everything else out.
    pub fn insert(&self, tenant: &TenantId, hash: Sha256, data: Bytes) {
        let weight = weigh(&data);
        if weight > self.max_bytes / 8 {
            return;
        }
        let mut entries = self.entries();
        if let Some(old) = entries.lru.put((tenant.clone(), hash), data) {
            entries.weight -= weigh(&old);
        }
        entries.weight += weight;
        entries.shrink(self.max_bytes);
    }

    /// Drops least recently used contents until at most `bytes` are held: for a
    /// process that is over its memory budget.
    pub fn shrink_to(&self, bytes: u64) {
        self.entries().shrink(bytes);
    }

    /// Bytes held, the book-keeping counted.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.entries().weight
    }

    /// Look-ups that found something since the start.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Look-ups that found nothing since the start.
    #[must_use]
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Nothing here panics half way, so a poisoned cache is still whole.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn shrink(&mut self, max_bytes: u64) {
        while self.weight > max_bytes {
            match self.lru.pop_lru() {
                Some((_, old)) => self.weight -= weigh(&old),
                None => return,
            }
        }
    }
}

fn weigh(data: &Bytes) -> u64 {
    data.len() as u64 + ENTRY_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId(name.into())
    }

    fn content(n: u8, len: usize) -> (Sha256, Bytes) {
        let data = vec![n; len];
        (Sha256::of(&data), data.into())
    }

    #[test]
    fn drops_the_least_recently_used_and_never_weighs_more_than_its_budget() {
        let cache = ContentCache::new(16 * (1000 + ENTRY_OVERHEAD));
        let t = tenant("a");
        for n in 0..16 {
            let (hash, data) = content(n, 1000);
            cache.insert(&t, hash, data);
        }
        assert!(cache.get(&t, &content(0, 1000).0).is_some());
        let (hash, data) = content(99, 1000);
        cache.insert(&t, hash, data);
        assert!(cache.get(&t, &content(0, 1000).0).is_some(), "used just before");
        assert!(cache.get(&t, &content(1, 1000).0).is_none(), "the least recently used");
        assert_eq!(cache.weight(), 16 * (1000 + ENTRY_OVERHEAD));
        assert_eq!((cache.hits(), cache.misses()), (2, 1));
        cache.shrink_to(3000);
        assert_eq!(cache.weight(), 2 * (1000 + ENTRY_OVERHEAD));
    }

    #[test]
    fn keeps_tenants_apart_and_counts_a_content_once() {
        let cache = ContentCache::new(1 << 20);
        let (hash, data) = content(1, 10);
        cache.insert(&tenant("a"), hash, data.clone());
        cache.insert(&tenant("a"), hash, data);
        assert_eq!(cache.weight(), 10 + ENTRY_OVERHEAD);
        assert!(cache.get(&tenant("b"), &hash).is_none());
    }

    #[test]
    fn refuses_more_than_an_eighth_of_the_budget() {
        let cache = ContentCache::new(8 * (1000 + ENTRY_OVERHEAD));
        let (fits, fits_data) = content(1, 1000);
        let (large, large_data) = content(2, 1001);
        cache.insert(&tenant("a"), fits, fits_data);
        cache.insert(&tenant("a"), large, large_data);
        assert!(cache.get(&tenant("a"), &fits).is_some());
        assert!(cache.get(&tenant("a"), &large).is_none());
    }
}
