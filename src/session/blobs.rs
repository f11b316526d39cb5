//! Contents in a cache that replicas share, between the one of the process and the store.
//! What comes out is compared with its hash.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;

use crate::cache::{Cache, Found, blob_key};
use crate::clock;
use crate::ids::{Sha256, TenantId};
use crate::metrics::metrics;
use crate::session::Service;

/// Contents on their way to the cache; more are not sent.
const IN_FLIGHT: usize = 16;

/// The contents of all tenants.
pub(crate) struct Blobs {
    cache: Arc<dyn Cache>,
    /// Bytes of the largest that is kept.
    largest: usize,
    ttl: Duration,
    in_flight: Arc<Semaphore>,
}

impl Blobs {
    /// The content, if it is there and whole.
    pub(crate) async fn get(&self, tenant: &TenantId, sha256: &Sha256, size: u64) -> Option<Bytes> {
        if size > self.largest as u64 {
            return None;
        }
        let begun = clock::now();
        let found = match self.cache.get(&blob_key(tenant, sha256), self.largest + 1).await {
            Found::Value(data) if Sha256::of(&data) == *sha256 => Ok(Bytes::from(data)),
            Found::Value(_) => Err("forged"),
            Found::Nothing => Err("missing"),
            Found::Away => Err("away"),
        };
        let result = match &found {
            Ok(_) => "hit",
            Err(reason) => reason,
        };
        metrics().blob_reads.note([("result", result)], begun.elapsed());
        let data = found.ok()?;
        metrics().blob_bytes.add([("direction", "read")], data.len() as u64);
        Some(data)
    }

    /// Sends a content, which nobody waits for.
    pub(crate) fn put(self: &Arc<Self>, tenant: &TenantId, sha256: Sha256, data: &Bytes) {
        if data.is_empty() || data.len() > self.largest {
            return;
        }
        let Ok(place) = self.in_flight.clone().try_acquire_owned() else { return };
        let (blobs, tenant, data) = (self.clone(), tenant.clone(), data.clone());
        tokio::spawn(async move {
            let bytes = data.len() as u64;
            if blobs.cache.put(&blob_key(&tenant, &sha256), data, blobs.ttl, None).await {
                metrics().blob_bytes.add([("direction", "written")], bytes);
            }
            drop(place);
        });
    }
}

impl Service {
    /// Lets replicas share contents of up to `largest` bytes in `cache`, each for `ttl`.
    /// Counts once.
    #[must_use]
    pub fn with_blobs(self, cache: Arc<dyn Cache>, largest: usize, ttl: Duration) -> Self {
        let in_flight = Arc::new(Semaphore::new(IN_FLIGHT));
        let _ = self.inner.blobs.set(Arc::new(Blobs { cache, largest, ttl, in_flight }));
        self
    }
}
