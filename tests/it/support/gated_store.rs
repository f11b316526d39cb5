//! A real store with gates before and after some calls: a test can hold a call at a
//! chosen moment. It changes nothing else: every call goes to the store behind it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use sqlfs::fs::ChangeSet;
use sqlfs::ids::{ExecId, Head, Owner, SandboxId, Sha256, Version};
use sqlfs::store::*;
use tokio::sync::oneshot;

/// Where a call can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The probe has its answer but has not returned it.
    AfterProbe,
    /// The commit is about to be sent.
    BeforeCommit,
    /// The commit is done but its caller does not know.
    AfterCommit,
}

/// A call that is held until [`Held::release`].
pub struct Held {
    reached: oneshot::Receiver<()>,
    release: oneshot::Sender<()>,
}

impl Held {
    /// Waits until a call has come to the gate.
    pub async fn reached(&mut self) {
        (&mut self.reached).await.expect("a call at the gate");
    }

    /// Lets it go on.
    pub fn release(self) {
        let _ = self.release.send(());
    }
}

struct Gate {
    point: Point,
    reached: oneshot::Sender<()>,
    release: oneshot::Receiver<()>,
}

/// See the module.
pub struct GatedStore {
    inner: Arc<dyn Store>,
    gates: Mutex<Vec<Gate>>,
}

impl std::fmt::Debug for GatedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl GatedStore {
    /// Before `inner`, all gates open.
    pub fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner, gates: Mutex::default() })
    }

    /// Holds the next call that comes to `point`.
    pub fn hold(&self, point: Point) -> Held {
        let (reached, at) = oneshot::channel();
        let (release, released) = oneshot::channel();
        self.gates.lock().unwrap().push(Gate { point, reached, release: released });
        Held { reached: at, release }
    }

    async fn pass(&self, point: Point) {
        let gate = {
            let mut gates = self.gates.lock().unwrap();
            gates.iter().position(|gate| gate.point == point).map(|at| gates.remove(at))
        };
        if let Some(gate) = gate {
            let _ = gate.reached.send(());
            let _ = gate.release.await;
        }
    }
}

#[async_trait]
impl Store for GatedStore {
    async fn probe(&self, sandbox: SandboxId) -> StoreResult<Option<SandboxRow>> {
        let row = self.inner.probe(sandbox).await;
        self.pass(Point::AfterProbe).await;
        row
    }

    async fn commit(&self, commit: &Commit<'_>) -> StoreResult<CommitOutcome> {
        self.pass(Point::BeforeCommit).await;
        let outcome = self.inner.commit(commit).await;
        self.pass(Point::AfterCommit).await;
        outcome
    }

    async fn create(&self, new: &NewSandbox, first: &ChangeSet) -> StoreResult<Created> {
        self.inner.create(new, first).await
    }
    async fn load(
        &self,
        id: SandboxId,
        since: Option<(Version, Head)>,
    ) -> StoreResult<Option<(SandboxRow, Loaded)>> {
        self.inner.load(id, since).await
    }
    async fn blobs(&self, hashes: &[Sha256]) -> StoreResult<Vec<(Sha256, Bytes)>> {
        self.inner.blobs(hashes).await
    }
    async fn blob_range(&self, hash: Sha256, offset: u64, len: u64) -> StoreResult<Option<Bytes>> {
        self.inner.blob_range(hash, offset, len).await
    }
    async fn flush_blobs(&self, blobs: &[(Sha256, Bytes)]) -> StoreResult<()> {
        self.inner.flush_blobs(blobs).await
    }
    async fn resolve(
        &self,
        id: SandboxId,
        exec: ExecId,
        request: &str,
        actor: &str,
    ) -> StoreResult<Resolution> {
        self.inner.resolve(id, exec, request, actor).await
    }
    async fn keep_cwd(&self, id: SandboxId, seen: Head, cwd: &str) -> StoreResult<bool> {
        self.inner.keep_cwd(id, seen, cwd).await
    }
    async fn kept_reply(&self, id: SandboxId, key: &str) -> StoreResult<Option<Kept>> {
        self.inner.kept_reply(id, key).await
    }
    async fn keep_reply(
        &self,
        id: SandboxId,
        seen: Head,
        cwd: Option<&str>,
        keep: &Keep<'_>,
    ) -> StoreResult<bool> {
        self.inner.keep_reply(id, seen, cwd, keep).await
    }
    async fn forget_replies(&self, before_ns: i64, limit: u32) -> StoreResult<u64> {
        self.inner.forget_replies(before_ns, limit).await
    }
    async fn list(&self, owner: &Owner, page: &Page) -> StoreResult<Vec<SandboxRow>> {
        self.inner.list(owner, page).await
    }
    async fn patch(&self, owner: &Owner, id: SandboxId, patch: &Patch) -> StoreResult<Patched> {
        self.inner.patch(owner, id, patch).await
    }
    async fn delete(&self, owner: &Owner, id: SandboxId) -> StoreResult<bool> {
        self.inner.delete(owner, id).await
    }
    async fn list_all(&self, owner: Option<&Owner>, page: &Page) -> StoreResult<Vec<SandboxRow>> {
        self.inner.list_all(owner, page).await
    }
    async fn revoke(&self, revocation: &Revocation) -> StoreResult<()> {
        self.inner.revoke(revocation).await
    }
    async fn revocations(&self) -> StoreResult<Vec<Revocation>> {
        self.inner.revocations().await
    }
    async fn usage(&self) -> StoreResult<Usage> {
        self.inner.usage().await
    }
    async fn touch(&self, used: &[(SandboxId, i64)]) -> StoreResult<()> {
        self.inner.touch(used).await
    }
    async fn prune_history(&self, retention: &Retention, limit: u32) -> StoreResult<u64> {
        self.inner.prune_history(retention, limit).await
    }
    async fn purge_deleted(&self, before_ns: i64, limit: u32) -> StoreResult<u64> {
        self.inner.purge_deleted(before_ns, limit).await
    }
    async fn gc_blobs(&self, since_ns: i64, limit: u32) -> StoreResult<GcReport> {
        self.inner.gc_blobs(since_ns, limit).await
    }
    async fn checks(&self) -> StoreResult<Vec<Check>> {
        self.inner.checks().await
    }
    async fn ping(&self) -> StoreResult<()> {
        self.inner.ping().await
    }
    async fn close(&self) {
        self.inner.close().await;
    }
    fn statements(&self) -> u64 {
        self.inner.statements()
    }
}
