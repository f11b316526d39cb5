//! The store of one replica: the store in memory behind a network that delays and loses.
//! A write that was sent is carried out whether its sender waits for it or not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use sqlfs::fs::ChangeSet;
use sqlfs::ids::{ExecId, Head, Owner, SandboxId, Sha256, Version};
use sqlfs::lease::verbs::{Incarnation, Ms};
use sqlfs::store::*;
use tokio::sync::oneshot;

use super::gate::Gate;
use super::plan::Mutation;
use super::world::{World, lock, pause};

pub struct StoreNet {
    pub world: Arc<World>,
    pub gate: Arc<Gate>,
    pub me: Incarnation,
    /// Cut off from the store until then, ms of the run.
    pub away_until: AtomicU64,
    /// What the twin of the freshness probe answers from.
    pub cached: Mutex<BTreeMap<SandboxId, (Ms, Option<SandboxRow>)>>,
}

impl std::fmt::Debug for StoreNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreNet").field("gate", &self.gate.name()).finish_non_exhaustive()
    }
}

/// What becomes of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    /// Refused before it was sent.
    NotSent,
    /// The connection breaks before it arrives.
    Lost,
    /// The connection breaks after it was carried out.
    ReplyLost,
    /// The connection breaks, and it is carried out after this time.
    Late(Ms),
}

/// Longest way of a commit whose connection is gone.
const LATE: Ms = 3_000;

fn unavailable<T>() -> StoreResult<T> {
    Err(StoreError::Unavailable("simulated".into()))
}

impl StoreNet {
    fn is_away(&self) -> bool {
        self.world.now() < self.away_until.load(Ordering::Relaxed)
    }

    /// A call that changes nothing.
    async fn read<T>(&self, work: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
        self.gate.pass().await;
        let world = &self.world;
        world.travel().await;
        let answer = if self.is_away() {
            pause(10).await;
            unavailable()
        } else if world.strikes(world.plan.store_faults / 2) {
            if world.below(2) == 0 {
                world.count("store call failed");
                unavailable()
            } else {
                world.count("store call slow");
                let answer = work.await;
                pause(world.between(100, 700)).await;
                answer
            }
        } else {
            let answer = work.await;
            world.travel().await;
            answer
        };
        self.gate.pass().await;
        answer
    }

    /// A call that commits.
    async fn write<T, W>(&self, work: W) -> StoreResult<T>
    where
        T: Send + 'static,
        W: Future<Output = StoreResult<T>> + Send + 'static,
    {
        self.gate.pass().await;
        let fate = self.fate();
        let (done, waits) = oneshot::channel();
        let world = self.world.clone();
        tokio::spawn(async move {
            world.travel().await;
            let broken = || Err(StoreError::OutcomeUnknown("simulated".into()));
            let answer = match fate {
                Fate::Done => work.await,
                Fate::NotSent => unavailable(),
                Fate::Lost => broken(),
                Fate::ReplyLost => work.await.and_then(|_| broken()),
                Fate::Late(late) => {
                    let _ = done.send(broken());
                    pause(late).await;
                    let _ = work.await;
                    return;
                }
            };
            world.travel().await;
            let _ = done.send(answer);
        });
        let answer = waits.await.unwrap_or_else(|_| unavailable());
        self.gate.pass().await;
        answer
    }

    fn fate(&self) -> Fate {
        let world = &self.world;
        if self.is_away() {
            return if world.below(3) == 0 { Fate::Lost } else { Fate::NotSent };
        }
        if !world.strikes(world.plan.store_faults) {
            return Fate::Done;
        }
        let (fate, name) = match world.below(5) {
            0 => (Fate::NotSent, "write not sent"),
            1 => (Fate::Lost, "write lost"),
            2 => (Fate::ReplyLost, "write's reply lost"),
            _ => (Fate::Late(world.between(1, LATE)), "write late"),
        };
        world.count(name);
        fate
    }

    /// For the twin: a row as it was a while ago.
    async fn stale_probe(&self, id: SandboxId) -> StoreResult<Option<SandboxRow>> {
        let now = self.world.now();
        let cached = lock(&self.cached).get(&id).cloned();
        if let Some((_, row)) = cached.filter(|(at, _)| now < at + 500) {
            return Ok(row);
        }
        let row = self.read(self.world.store.probe(id)).await?;
        lock(&self.cached).insert(id, (now, row.clone()));
        Ok(row)
    }
}

/// A [`Commit`] that can be under way when its sender is gone.
struct Sent {
    sandbox: SandboxId,
    seen: Head,
    new_head: Head,
    fence: i64,
    cwd: Option<String>,
    changes: ChangeSet,
    exec: ExecId,
    request_id: String,
    actor: String,
    started_at_ns: i64,
    duration_ms: i64,
    script_sha256: Option<Sha256>,
    keep: Option<KeptCopy>,
}

/// A [`Keep`] that can be under way when its sender is gone.
struct KeptCopy {
    key: String,
    request: Sha256,
    reply: Vec<u8>,
}

impl KeptCopy {
    fn of(keep: &Keep<'_>) -> Self {
        Self { key: keep.key.to_owned(), request: keep.request, reply: keep.reply.to_vec() }
    }

    fn keep(&self) -> Keep<'_> {
        Keep { key: &self.key, request: self.request, reply: &self.reply }
    }
}

impl Sent {
    fn new(commit: &Commit<'_>) -> Self {
        Self {
            sandbox: commit.sandbox,
            seen: commit.seen,
            new_head: commit.new_head,
            fence: commit.fence,
            cwd: commit.cwd.map(str::to_owned),
            changes: commit.changes.clone(),
            exec: commit.exec,
            request_id: commit.request_id.to_owned(),
            actor: commit.actor.to_owned(),
            started_at_ns: commit.started_at_ns,
            duration_ms: commit.duration_ms,
            script_sha256: commit.script_sha256,
            keep: commit.keep.as_ref().map(KeptCopy::of),
        }
    }

    async fn carry_out(mut self, world: &World) -> StoreResult<CommitOutcome> {
        if world.plan.mutation == Some(Mutation::NoCompareAndSet)
            && let Some(row) = world.store.probe(self.sandbox).await?
        {
            (self.seen, self.fence) = (row.head, self.fence.max(row.fence));
        }
        let commit = Commit {
            sandbox: self.sandbox,
            seen: self.seen,
            new_head: self.new_head,
            fence: self.fence,
            cwd: self.cwd.as_deref(),
            changes: &self.changes,
            exec: self.exec,
            request_id: &self.request_id,
            actor: &self.actor,
            started_at_ns: self.started_at_ns,
            duration_ms: self.duration_ms,
            script_sha256: self.script_sha256,
            keep: self.keep.as_ref().map(KeptCopy::keep),
        };
        let outcome = world.store.commit(&commit).await;
        world.note(format_args!("store: commit of {} {}", self.request_id, Told(&outcome)));
        outcome
    }
}

/// An outcome in the event log.
struct Told<'a>(&'a StoreResult<CommitOutcome>);

impl std::fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Ok(outcome) => write!(f, "{outcome:?}"),
            Err(error) => error.fmt(f),
        }
    }
}

#[async_trait]
impl Store for StoreNet {
    async fn probe(&self, id: SandboxId) -> StoreResult<Option<SandboxRow>> {
        if self.world.plan.mutation == Some(Mutation::StaleProbe) {
            return self.stale_probe(id).await;
        }
        self.read(self.world.store.probe(id)).await
    }

    async fn load(
        &self,
        id: SandboxId,
        since: Option<(Version, Head)>,
    ) -> StoreResult<Option<(SandboxRow, Loaded)>> {
        self.read(self.world.store.load(id, since)).await
    }

    async fn commit(&self, commit: &Commit<'_>) -> StoreResult<CommitOutcome> {
        if self.world.plan.one_at_a_time() {
            self.world.must_hold(self.me, &self.gate, commit.sandbox, "a commit begins");
        }
        let (world, sent) = (self.world.clone(), Sent::new(commit));
        let outcome = self.write(async move { sent.carry_out(&world).await }).await;
        if matches!(outcome, Ok(CommitOutcome::Stale)) {
            self.world.count("race lost");
        }
        self.world.note(format_args!(
            "{} commit of {} {}",
            self.gate.name(),
            commit.request_id,
            Told(&outcome)
        ));
        outcome
    }

    async fn resolve(
        &self,
        id: SandboxId,
        exec: ExecId,
        request: &str,
        actor: &str,
    ) -> StoreResult<Resolution> {
        let (world, request, actor) = (self.world.clone(), request.to_owned(), actor.to_owned());
        let work = async move {
            let resolution = if world.plan.mutation == Some(Mutation::NoVoiding) {
                let tables = world.store.tables();
                match tables.logged(id, exec) {
                    Some((version, logged)) => Resolution::Applied { version, head: logged.head },
                    None => Resolution::NotApplied,
                }
            } else {
                world.store.resolve(id, exec, &request, &actor).await?
            };
            world.count(match resolution {
                Resolution::Applied { .. } => "resolved as applied",
                Resolution::NotApplied => "resolved as not applied",
                Resolution::Gone => "resolved as gone",
            });
            world.note(format_args!(
                "store: {request} is resolved as {}",
                match resolution {
                    Resolution::Applied { version, .. } => version,
                    Resolution::NotApplied | Resolution::Gone => -1,
                }
            ));
            Ok(resolution)
        };
        self.write(work).await
    }

    async fn blobs(&self, hashes: &[Sha256]) -> StoreResult<Vec<(Sha256, Bytes)>> {
        self.read(self.world.store.blobs(hashes)).await
    }
    async fn blob_range(&self, hash: Sha256, offset: u64, len: u64) -> StoreResult<Option<Bytes>> {
        self.read(self.world.store.blob_range(hash, offset, len)).await
    }
    async fn create(&self, new: &NewSandbox, first: &ChangeSet) -> StoreResult<Created> {
        let (world, new, first) = (self.world.clone(), new.clone(), first.clone());
        self.write(async move { world.store.create(&new, &first).await }).await
    }
    async fn flush_blobs(&self, blobs: &[(Sha256, Bytes)]) -> StoreResult<()> {
        let (world, blobs) = (self.world.clone(), blobs.to_vec());
        self.write(async move { world.store.flush_blobs(&blobs).await }).await
    }
    async fn keep_cwd(&self, id: SandboxId, seen: Head, cwd: &str) -> StoreResult<bool> {
        let (world, cwd) = (self.world.clone(), cwd.to_owned());
        self.write(async move { world.store.keep_cwd(id, seen, &cwd).await }).await
    }
    async fn kept_reply(&self, id: SandboxId, key: &str) -> StoreResult<Option<Kept>> {
        self.read(self.world.store.kept_reply(id, key)).await
    }
    async fn keep_reply(
        &self,
        id: SandboxId,
        seen: Head,
        cwd: Option<&str>,
        keep: &Keep<'_>,
    ) -> StoreResult<bool> {
        let (world, cwd, kept) = (self.world.clone(), cwd.map(str::to_owned), KeptCopy::of(keep));
        self.write(async move { world.store.keep_reply(id, seen, cwd.as_deref(), &kept.keep()).await }).await
    }
    async fn forget_replies(&self, before_ns: i64, limit: u32) -> StoreResult<u64> {
        self.world.store.forget_replies(before_ns, limit).await
    }
    async fn list(&self, owner: &Owner, page: &Page) -> StoreResult<Vec<SandboxRow>> {
        self.read(self.world.store.list(owner, page)).await
    }
    async fn list_all(&self, owner: Option<&Owner>, page: &Page) -> StoreResult<Vec<SandboxRow>> {
        self.read(self.world.store.list_all(owner, page)).await
    }
    async fn revoke(&self, revocation: &Revocation) -> StoreResult<()> {
        let (world, revocation) = (self.world.clone(), revocation.clone());
        self.write(async move { world.store.revoke(&revocation).await }).await
    }
    async fn revocations(&self) -> StoreResult<Vec<Revocation>> {
        self.read(self.world.store.revocations()).await
    }
    async fn usage(&self) -> StoreResult<Usage> {
        self.read(self.world.store.usage()).await
    }
    async fn patch(&self, owner: &Owner, id: SandboxId, patch: &Patch) -> StoreResult<Patched> {
        let (world, owner, patch) = (self.world.clone(), owner.clone(), patch.clone());
        self.write(async move { world.store.patch(&owner, id, &patch).await }).await
    }
    async fn delete(&self, owner: &Owner, id: SandboxId) -> StoreResult<bool> {
        let (world, owner) = (self.world.clone(), owner.clone());
        self.write(async move { world.store.delete(&owner, id).await }).await
    }
    async fn touch(&self, used: &[(SandboxId, i64)]) -> StoreResult<()> {
        let (world, used) = (self.world.clone(), used.to_vec());
        self.write(async move { world.store.touch(&used).await }).await
    }
    async fn prune_history(&self, retention: &Retention, limit: u32) -> StoreResult<u64> {
        self.world.store.prune_history(retention, limit).await
    }
    async fn purge_deleted(&self, before_ns: i64, limit: u32) -> StoreResult<u64> {
        self.world.store.purge_deleted(before_ns, limit).await
    }
    async fn gc_blobs(&self, since_ns: i64, limit: u32) -> StoreResult<GcReport> {
        self.world.store.gc_blobs(since_ns, limit).await
    }
    async fn checks(&self) -> StoreResult<Vec<Check>> {
        self.world.store.checks().await
    }
    async fn ping(&self) -> StoreResult<()> {
        self.read(self.world.store.ping()).await
    }
    async fn close(&self) {}
    fn statements(&self) -> u64 {
        self.world.store.statements()
    }
}
