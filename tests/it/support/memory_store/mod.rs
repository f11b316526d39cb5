//! A store in memory that behaves as Postgres and SQLite do: the same conformance suite
//! runs over it. Each call is one transaction at one instant, so it never waits for a row
//! lock. What it does not do (retention, purge, collection, checks) it refuses.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use sqlfs::clock;
use sqlfs::fs::ChangeSet;
use sqlfs::ids::{ExecId, Head, Owner, SandboxId, Sha256, Version};
use sqlfs::store::*;

pub mod rows;
mod tables;

use rows::Tables;

/// Above this sum, contents do not travel with the commit.
const FLUSH_BYTES: usize = 8 << 20;

/// See the module.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
    calls: AtomicU64,
    closed: AtomicBool,
}

impl MemoryStore {
    /// The tables, past the store.
    pub fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One transaction.
    fn call<T>(&self, work: impl FnOnce(&mut Tables) -> StoreResult<T>) -> StoreResult<T> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable("the store is closed".into()));
        }
        work(&mut self.tables())
    }

    /// Large contents have a transaction of their own, before the commit.
    fn flush(&self, changes: &ChangeSet) -> StoreResult<()> {
        let carried = || changes.blobs.iter().filter_map(|blob| Some((blob.sha256, blob.data.clone()?)));
        if carried().map(|(_, data)| data.len()).sum::<usize>() <= FLUSH_BYTES {
            return Ok(());
        }
        self.call(|tables| {
            tables.blobs.extend(carried());
            Ok(())
        })
    }
}

fn absent<T>(what: &str) -> StoreResult<T> {
    Err(StoreError::Refused(format!("the store in memory has no {what}")))
}

#[async_trait]
impl Store for MemoryStore {
    async fn create(&self, new: &NewSandbox, first: &ChangeSet) -> StoreResult<Created> {
        self.flush(first)?;
        self.call(|tables| tables.create(new, first))
    }

    async fn probe(&self, sandbox: SandboxId) -> StoreResult<Option<SandboxRow>> {
        self.call(|tables| Ok(tables.live(sandbox).map(|it| it.row.clone())))
    }

    async fn load(
        &self,
        sandbox: SandboxId,
        since: Option<(Version, Head)>,
    ) -> StoreResult<Option<(SandboxRow, Loaded)>> {
        self.call(|tables| Ok(tables.live(sandbox).map(|it| (it.row.clone(), it.load(since)))))
    }

    async fn blobs(&self, hashes: &[Sha256]) -> StoreResult<Vec<(Sha256, Bytes)>> {
        self.call(|tables| {
            let known = |hash: &Sha256| Some((*hash, tables.blobs.get(hash)?.clone()));
            Ok(hashes.iter().filter_map(known).collect())
        })
    }

    async fn blob_range(&self, hash: Sha256, offset: u64, len: u64) -> StoreResult<Option<Bytes>> {
        self.call(|tables| {
            Ok(tables.blobs.get(&hash).map(|data| {
                let size = data.len() as u64;
                let from = offset.min(size);
                data.slice(from as usize..from.saturating_add(len).min(size) as usize)
            }))
        })
    }

    async fn flush_blobs(&self, blobs: &[(Sha256, Bytes)]) -> StoreResult<()> {
        self.call(|tables| {
            tables.blobs.extend(blobs.iter().cloned());
            Ok(())
        })
    }

    async fn commit(&self, commit: &Commit<'_>) -> StoreResult<CommitOutcome> {
        self.flush(commit.changes)?;
        self.call(|tables| tables.commit(commit, clock::wall_ns()))
    }

    async fn resolve(
        &self,
        sandbox: SandboxId,
        exec: ExecId,
        request_id: &str,
        actor: &str,
    ) -> StoreResult<Resolution> {
        self.call(|tables| Ok(tables.resolve(sandbox, exec, request_id, actor, clock::wall_ns())))
    }

    async fn keep_cwd(&self, sandbox: SandboxId, seen: Head, cwd: &str) -> StoreResult<bool> {
        self.call(|tables| {
            let Some(it) = tables.live_mut(sandbox).filter(|it| it.row.head == seen) else {
                return Ok(false);
            };
            cwd.clone_into(&mut it.row.cwd);
            Ok(true)
        })
    }

    async fn kept_reply(&self, sandbox: SandboxId, key: &str) -> StoreResult<Option<Kept>> {
        self.call(|tables| Ok(tables.kept.get(&(sandbox, key.to_owned())).map(|(kept, _)| kept.clone())))
    }

    async fn keep_reply(
        &self,
        sandbox: SandboxId,
        seen: Head,
        cwd: Option<&str>,
        keep: &Keep<'_>,
    ) -> StoreResult<bool> {
        self.call(|tables| Ok(tables.keep_unchanged(sandbox, seen, cwd, keep, clock::wall_ns())))
    }

    async fn forget_replies(&self, kept_before_ns: i64, limit: u32) -> StoreResult<u64> {
        self.call(|tables| Ok(tables.forget(kept_before_ns, limit)))
    }

    async fn list(&self, owner: &Owner, page: &Page) -> StoreResult<Vec<SandboxRow>> {
        self.call(|tables| Ok(tables.list(Some(owner), page)))
    }

    async fn patch(&self, owner: &Owner, sandbox: SandboxId, patch: &Patch) -> StoreResult<Patched> {
        self.call(|tables| Ok(tables.patch(owner, sandbox, patch)))
    }

    async fn delete(&self, owner: &Owner, sandbox: SandboxId) -> StoreResult<bool> {
        self.call(|tables| {
            let own = tables.live_mut(sandbox).filter(|it| it.row.owner == *owner);
            Ok(own.map(|it| it.bury(clock::wall_ns())).is_some())
        })
    }

    async fn list_all(&self, owner: Option<&Owner>, page: &Page) -> StoreResult<Vec<SandboxRow>> {
        let page = Page { name: None, ..page.clone() };
        self.call(|tables| Ok(tables.list(owner, &page)))
    }

    async fn revoke(&self, revocation: &Revocation) -> StoreResult<()> {
        self.call(|tables| {
            tables.revoke(revocation);
            Ok(())
        })
    }

    async fn revocations(&self) -> StoreResult<Vec<Revocation>> {
        let of = |(what, at_ns): (&Revoked, &i64)| Revocation { what: what.clone(), at_ns: *at_ns };
        self.call(|tables| Ok(tables.revoked.iter().map(of).collect()))
    }

    async fn usage(&self) -> StoreResult<Usage> {
        self.call(|tables| Ok(tables.usage()))
    }

    async fn touch(&self, used: &[(SandboxId, i64)]) -> StoreResult<()> {
        self.call(|tables| {
            for (sandbox, at) in used {
                if let Some(it) = tables.live_mut(*sandbox) {
                    it.row.last_used_at_ns = it.row.last_used_at_ns.max(*at);
                }
            }
            Ok(())
        })
    }

    async fn prune_history(&self, _retention: &Retention, _limit: u32) -> StoreResult<u64> {
        absent("retention")
    }

    async fn purge_deleted(&self, _deleted_before_ns: i64, _limit: u32) -> StoreResult<u64> {
        absent("purge")
    }

    async fn gc_blobs(&self, _unreferenced_since_ns: i64, _limit: u32) -> StoreResult<GcReport> {
        absent("garbage collection")
    }

    async fn checks(&self) -> StoreResult<Vec<Check>> {
        absent("installation that could be checked")
    }

    async fn ping(&self) -> StoreResult<()> {
        self.call(|_| Ok(()))
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    fn statements(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}
