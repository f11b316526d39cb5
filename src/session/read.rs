//! Reading files of one committed version, without a lease and without a lock.

use bytes::Bytes;

use crate::fs::{Node, NodeBody, Tree};
use crate::ids::{Caller, Head, SandboxId, Version};
use crate::session::content::Contents;
use crate::session::entry::store_error;
use crate::session::guard::read_base;
use crate::session::stop::Deadline;
use crate::session::{Service, SessionError};

/// One committed version, to read from. Holds no lock; its contents stay readable as
/// long as history is kept (at least an hour).
#[derive(Clone)]
pub struct ReadView {
    /// The tree.
    pub tree: Tree,
    /// Its version.
    pub version: Version,
    /// Its head.
    pub head: Head,
    contents: Contents,
    whole: u64,
}

impl ReadView {
    /// A piece of a file's content: `len` bytes from `offset`, fewer at the end, none
    /// for what is no file. Small contents come from and go to the cache; large ones
    /// are read in pieces.
    pub async fn content(&self, node: &Node, offset: u64, len: u64) -> Result<Bytes, SessionError> {
        let NodeBody::File { size, sha256: Some(sha256) } = node.body else { return Ok(Bytes::new()) };
        let len = len.min(size.saturating_sub(offset));
        if len == 0 {
            return Ok(Bytes::new());
        }
        if size <= self.whole {
            let data = self.contents.whole(sha256, size).await?;
            let end = (offset + len).min(data.len() as u64);
            return Ok(data.slice(offset as usize..end as usize));
        }
        match self.contents.store.blob_range(sha256, offset, len).await.map_err(store_error)? {
            Some(piece) if piece.len() as u64 == len => Ok(piece),
            Some(_) => Err(SessionError::Internal(format!("content {sha256} is too short"))),
            None => Err(SessionError::Internal(format!("content {sha256} is missing"))),
        }
    }
}

impl Service {
    /// A committed version to read from, that was current at a moment within this
    /// call. Never waits for a running writer.
    pub async fn read(&self, caller: &Caller, sandbox: SandboxId) -> Result<ReadView, SessionError> {
        self.in_task(caller, "", sandbox, |inner, of, session| async move {
            let deadline = Deadline::after(inner.settings.acquire_timeout);
            let fresh = read_base(&inner, &session, &of.caller, &of.stop, deadline, true).await?;
            Ok(ReadView {
                tree: fresh.base.tree.clone(),
                version: fresh.base.version,
                head: fresh.base.head,
                contents: inner.contents(&session),
                whole: inner.settings.whole_content_bytes,
            })
        })
        .await
    }
}
