//! Contents as a worker has them: what it saw lately, else the server is asked.

use std::collections::HashMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::outbox::Outbox;
use super::wire::{self, Ask, Kind};
use crate::fs::{ContentCache, ContentSource, ContentUnavailable, Node, Tree};
use crate::ids::{Ino, Sha256, TenantId};

/// Bytes of contents that a worker keeps from script to script.
const CACHE: u64 = 32 << 20;

/// The socket that scripts and contents come in by. One thread reads at a time: the one
/// that waits for a script, or the one that waits for a content.
pub(super) type Inbox = Mutex<UnixStream>;

/// Contents of the tree that the script sees.
pub(super) struct WorkerContents {
    inbox: Arc<Inbox>,
    outbox: Arc<Outbox>,
    cache: ContentCache,
    /// A worker serves one tenant; the cache wants its name.
    tenant: TenantId,
    base: Mutex<Base>,
}

/// The tree that the server knows the worker to have, and where its contents stand.
#[derive(Default)]
struct Base {
    tree: Option<Tree>,
    /// A file for each hash. Made when first needed; an entry may be out of date.
    files: Option<HashMap<Sha256, Ino>>,
}

impl WorkerContents {
    pub(super) fn new(inbox: Arc<Inbox>, outbox: Arc<Outbox>) -> Self {
        let tenant = TenantId("".into());
        Self { inbox, outbox, cache: ContentCache::new(CACHE), tenant, base: Mutex::default() }
    }

    fn base(&self) -> MutexGuard<'_, Base> {
        self.base.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tree of the last script.
    pub(super) fn tree(&self) -> Option<Tree> {
        self.base().tree.clone()
    }

    /// The tree of the next script, and the files of it that are new to the last one;
    /// `None`: any may be.
    pub(super) fn set_tree(&self, tree: Tree, changed: Option<Vec<(Sha256, Ino)>>) {
        let mut base = self.base();
        base.tree = Some(tree);
        match changed {
            Some(changed) => {
                if let Some(files) = &mut base.files {
                    files.extend(changed);
                }
            }
            None => base.files = None,
        }
    }

    /// A file of the tree that has this content.
    pub(super) fn find(&self, sha256: &Sha256) -> Option<Ino> {
        let mut base = self.base();
        let base = &mut *base;
        let tree = base.tree.as_ref()?;
        let holds = |ino: Ino| tree.node(ino).and_then(Node::sha256) == Some(*sha256);
        if let Some(&ino) = base.files.as_ref().and_then(|files| files.get(sha256))
            && holds(ino)
        {
            return Some(ino);
        }
        let files = base.files.insert(tree.contents().collect());
        files.get(sha256).copied()
    }

    /// Keeps what a script wrote: the next one may read it.
    pub(super) fn keep(&self, sha256: Sha256, data: Bytes) {
        self.cache.insert(&self.tenant, sha256, data);
    }

    fn ask(&self, sha256: Sha256) -> io::Result<Option<Bytes>> {
        let ino = self.find(&sha256).ok_or_else(|| wire::bad("a content that the tree does not have"))?;
        self.outbox.say(Kind::Ask, &Ask { ino, sha256 })?;
        let answer = wire::read(&mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner))?;
        let Some((Kind::Content, payload)) = answer else { return Err(wire::bad("no content came")) };
        let payload = Bytes::from(payload);
        Ok((payload.first() == Some(&1)).then(|| payload.slice(1..)))
    }
}

impl ContentSource for WorkerContents {
    fn read(&self, sha256: &Sha256, _size: u64) -> Result<Bytes, ContentUnavailable> {
        if let Some(data) = self.cache.get(&self.tenant, sha256) {
            return Ok(data);
        }
        match self.ask(*sha256) {
            Ok(Some(data)) => {
                self.keep(*sha256, data.clone());
                Ok(data)
            }
            Ok(None) | Err(_) => Err(ContentUnavailable),
        }
    }
}
