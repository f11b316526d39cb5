//! Contents of files: from the cache, else from the store, always checked against
//! their hash.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Handle;

use crate::fs::content_cache::ContentCache;
use crate::fs::working_copy::ContentUnavailable;
use crate::fs::{ContentSource, NodeBody, Tree};
use crate::ids::{Sha256, TenantId};
use crate::session::blobs::Blobs;
use crate::session::entry::{Fresh, Session, store_error};
use crate::session::{Inner, SessionError};
use crate::store::Store;

/// Where the contents of one tenant are: in this process, in a cache that replicas share, in
/// the store.
#[derive(Clone)]
pub(crate) struct Contents {
    tenant: TenantId,
    cache: Arc<ContentCache>,
    shared: Option<Arc<Blobs>>,
    pub(crate) store: Arc<dyn Store>,
}

impl Contents {
    /// A content that is in this process.
    fn at_hand(&self, sha256: &Sha256) -> Option<Bytes> {
        self.cache.get(&self.tenant, sha256)
    }

    /// A whole content of `size` bytes, cached.
    pub(crate) async fn whole(&self, sha256: Sha256, size: u64) -> Result<Bytes, SessionError> {
        if let Some(data) = self.at_hand(&sha256) {
            return Ok(data);
        }
        if let Some(shared) = &self.shared
            && let Some(data) = shared.get(&self.tenant, &sha256, size).await
        {
            self.cache.insert(&self.tenant, sha256, data.clone());
            return Ok(data);
        }
        let found = self.store.blobs(&[sha256]).await.map_err(store_error)?;
        let Some((_, data)) = found.into_iter().next() else {
            return Err(SessionError::Internal(format!("content {sha256} is missing")));
        };
        if Sha256::of(&data) != sha256 {
            return Err(SessionError::Internal(format!("content {sha256} has other bytes")));
        }
        self.keep(sha256, &data);
        Ok(data)
    }

    /// Puts a content that is in the store into the caches before it.
    pub(crate) fn keep(&self, sha256: Sha256, data: &Bytes) {
        self.cache.insert(&self.tenant, sha256, data.clone());
        if let Some(shared) = &self.shared {
            shared.put(&self.tenant, sha256, data);
        }
    }
}

/// Contents of one tenant, as scripts and blocking threads read them.
pub(crate) struct StoredContent {
    pub(crate) contents: Contents,
    /// The server's runtime: the store is driven there while the reader's thread waits.
    pub(crate) runtime: Handle,
}

impl ContentSource for StoredContent {
    fn at_hand(&self, sha256: &Sha256) -> Option<Bytes> {
        self.contents.at_hand(sha256)
    }

    fn read(&self, sha256: &Sha256, size: u64) -> Result<Bytes, ContentUnavailable> {
        if let Some(data) = self.at_hand(sha256) {
            return Ok(data);
        }
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        let (contents, sha256) = (self.contents.clone(), *sha256);
        self.runtime.spawn(async move {
            // The reader may have been abandoned meanwhile.
            let _ = send.send(contents.whole(sha256, size).await);
        });
        match receive.recv() {
            Ok(Ok(data)) => Ok(data),
            Ok(Err(error)) => {
                tracing::warn!(blob.sha256 = %sha256, error = %error, "a content cannot be fetched");
                Err(ContentUnavailable)
            }
            Err(_) => Err(ContentUnavailable),
        }
    }
}

/// Contents that are not in the store yet, before those that are: what an earlier
/// script of an atomic batch wrote.
pub(crate) struct Pending {
    pub(crate) new: Arc<HashMap<Sha256, Bytes>>,
    pub(crate) stored: Arc<dyn ContentSource>,
}

impl ContentSource for Pending {
    fn at_hand(&self, sha256: &Sha256) -> Option<Bytes> {
        self.new.get(sha256).cloned().or_else(|| self.stored.at_hand(sha256))
    }

    fn read(&self, sha256: &Sha256, size: u64) -> Result<Bytes, ContentUnavailable> {
        self.new.get(sha256).map_or_else(|| self.stored.read(sha256, size), |data| Ok(data.clone()))
    }
}

impl Inner {
    /// The contents of a session's tenant.
    pub(crate) fn contents(&self, session: &Session) -> Contents {
        Contents {
            tenant: session.tenant.clone(),
            cache: self.cache.clone(),
            shared: self.blobs.get().cloned(),
            store: session.store.clone(),
        }
    }

    /// After a cold load, fetches small contents in bulk and in the background, and has the
    /// tree kept for the next one that is cold.
    pub(crate) fn prewarm(&self, session: &Arc<Session>, fresh: &Fresh) {
        if !fresh.cold {
            return;
        }
        self.keep_snapshot(session);
        let (tenant, store, cache) = (session.tenant.clone(), session.store.clone(), self.cache.clone());
        let (tree, room) = (fresh.base.tree.clone(), self.settings.prewarm_bytes);
        self.background.spawn(async move {
            let wanted = small_contents(&tree, room, |sha256| cache.contains(&tenant, sha256));
            for some in wanted.chunks(PIECE) {
                // Only a head start: whoever needs a content fetches it by itself.
                let Ok(found) = store.blobs(some).await else { return };
                for (sha256, data) in found {
                    if Sha256::of(&data) == sha256 {
                        cache.insert(&tenant, sha256, data);
                    }
                }
            }
        });
    }
}

/// Hashes of small contents that are not at hand, `room` bytes of them.
fn small_contents(tree: &Tree, mut room: u64, at_hand: impl Fn(&Sha256) -> bool) -> Vec<Sha256> {
    let mut wanted = Vec::new();
    for node in tree.nodes() {
        if let NodeBody::File { size, sha256: Some(sha256) } = &node.body
            && *size <= room.min(SMALL)
            && !at_hand(sha256)
        {
            room -= size;
            wanted.push(*sha256);
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// Largest content fetched ahead, bytes.
const SMALL: u64 = 64 << 10;
/// Contents per bulk read.
const PIECE: usize = 256;
