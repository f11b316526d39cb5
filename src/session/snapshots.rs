//! Path snapshots: a replica that knows nothing of a sandbox yet takes its tree from a cache
//! instead of from the store.
//!
//! A snapshot is asked for by the head that a fresh row named, so it can be missing but not
//! old. Whatever is wrong with it makes it a miss. It is written when its sandbox has been
//! quiet for a while: a commit makes a new head, and nobody can ask for the one before any
//! more, so that snapshots in the middle of a busy time would be written for nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::cache::snapshot::{LARGEST, Of, Refused, SnapshotKey};
use crate::cache::{Cache, Found, snapshot_key};
use crate::clock::{self, Instant};
use crate::fs::Tree;
use crate::ids::{Head, SandboxId, TenantId};
use crate::metrics::metrics;
use crate::session::entry::{Base, Session};
use crate::session::{Inner, Service};
use crate::store::SandboxRow;

/// Entries from which a tree is kept. With 1,000 a first exec took as long from a snapshot as from
/// the store (0.7 to 1.5 times, over four runs), with 3,000 0.6 of it, with 10,000 a third.
pub const SMALLEST: u64 = 2_000;
/// Entries above which nobody tries: the snapshot would be too large.
const MOST: u64 = 1_000_000;
/// How long a sandbox has not been written to when its snapshot is.
pub const QUIET: Duration = Duration::from_secs(1);
/// How long the last snapshots may take when the service goes down.
const LAST: Duration = Duration::from_secs(2);
/// Snapshots that are made at the same time: each holds its rows a second time.
const WRITERS: usize = 2;

/// The snapshots of all sandboxes.
pub(crate) struct Snapshots {
    cache: Arc<dyn Cache>,
    key: SnapshotKey,
    /// How long one is kept.
    ttl: Duration,
    writers: Semaphore,
}

/// What one session knows of its snapshot.
#[derive(Debug)]
pub(crate) struct Keeping(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    changed: Instant,
    /// Whether somebody waits for quiet.
    waiting: bool,
    /// The last state whose snapshot is there, as far as is known.
    head: Option<Head>,
}

impl Default for Keeping {
    fn default() -> Self {
        Self(Mutex::new(Kept { changed: clock::now(), waiting: false, head: None }))
    }
}

impl Keeping {
    fn state(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the snapshot of this state is there, or will be: it came from one, or
    /// another replica made it. What is committed on it drops it.
    pub(crate) fn is_anothers(&self, head: Head) {
        self.state().head = Some(head);
    }

    /// Notes a new state; whether somebody has to wait for quiet from now on.
    fn changed(&self, head: Head) -> bool {
        let mut state = self.state();
        if state.head == Some(head) {
            return false;
        }
        state.changed = clock::now();
        !std::mem::replace(&mut state.waiting, true)
    }

    fn quiet_at(&self) -> Instant {
        self.state().changed + QUIET
    }

    /// Ends the wait; the state whose snapshot was there, if it is not this one.
    fn begin(&self, head: Option<Head>) -> Option<Option<Head>> {
        let mut state = self.state();
        state.waiting = false;
        let head = head.filter(|head| state.head != Some(*head))?;
        Some(state.head.replace(head))
    }
}

impl Snapshots {
    fn wants(entries: u64) -> bool {
        (SMALLEST..=MOST).contains(&entries)
    }

    /// The tree of a row that was read for this request.
    pub(crate) async fn tree(&self, tenant: &TenantId, row: &SandboxRow) -> Option<Tree> {
        if !Self::wants(row.entries) {
            return None;
        }
        let begun = clock::now();
        let found = self.look(tenant, row).await;
        let result = match &found {
            Ok(_) => "hit",
            Err(reason) => reason,
        };
        metrics().snapshot_reads.note([("result", result)], begun.elapsed());
        found.ok()
    }

    async fn look(&self, tenant: &TenantId, row: &SandboxRow) -> Result<Tree, &'static str> {
        let of = Of { tenant: tenant.clone(), sandbox: row.id, head: row.head };
        let sealed = match self.cache.get(&snapshot_key(tenant, row.id, row.head), LARGEST).await {
            Found::Value(sealed) => sealed,
            Found::Nothing => return Err("missing"),
            Found::Away => return Err("away"),
        };
        metrics().snapshot_bytes.add([("direction", "read")], sealed.len() as u64);
        let key = self.key.clone();
        // Tens of milliseconds with a large tree: not for a worker that serves others.
        let opened = tokio::task::spawn_blocking(move || key.open(&of, &sealed)).await;
        let tree = match opened {
            Ok(Ok(tree)) => tree,
            Ok(Err(refused)) => {
                tracing::warn!(sandbox.id = %row.id, error = %refused, "a path snapshot is refused");
                return Err(match refused {
                    Refused::Format => "format",
                    Refused::Forged => "forged",
                    Refused::NoTree => "no_tree",
                });
            }
            Err(_) => return Err("no_tree"),
        };
        if (tree.entries(), tree.bytes()) != (row.entries, row.bytes) || tree.highest() >= row.next_ino {
            tracing::warn!(sandbox.id = %row.id, "a path snapshot is not of its row");
            return Err("mismatch");
        }
        Ok(tree)
    }

    /// Writes the snapshot of a state; that of the state before is dropped.
    async fn keep(&self, tenant: &TenantId, sandbox: SandboxId, base: &Arc<Base>, old: Option<Head>) {
        let begun = clock::now();
        let of = Of { tenant: tenant.clone(), sandbox, head: base.head };
        let (key, tree) = (self.key.clone(), base.tree.clone());
        let sealed = tokio::task::spawn_blocking(move || key.seal(&of, &tree)).await;
        let result = match sealed {
            Ok(Some(sealed)) => {
                let (bytes, old) = (sealed.len() as u64, old.map(|head| snapshot_key(tenant, sandbox, head)));
                let key = snapshot_key(tenant, sandbox, base.head);
                if self.cache.put(&key, sealed.into(), self.ttl, old.as_deref()).await {
                    metrics().snapshot_bytes.add([("direction", "written")], bytes);
                    "done"
                } else {
                    "failed"
                }
            }
            Ok(None) | Err(_) => "too_large",
        };
        metrics().snapshot_writes.note([("result", result)], begun.elapsed());
    }
}

impl Service {
    /// Lets cold sessions start from snapshots in `cache`, authenticated with `key` and kept
    /// for `ttl`. Counts once.
    #[must_use]
    pub fn with_snapshots(self, cache: Arc<dyn Cache>, key: SnapshotKey, ttl: Duration) -> Self {
        let writers = Semaphore::new(WRITERS);
        self.inner.registry.use_snapshots(Arc::new(Snapshots { cache, key, ttl, writers }));
        self
    }
}

impl Inner {
    /// Has the snapshot of the warm tree written once its sandbox is quiet, or the service
    /// goes down.
    pub(crate) fn keep_snapshot(&self, session: &Arc<Session>) {
        let (Some(snapshots), Some(base)) = (session.snapshots.clone(), session.warm()) else { return };
        if !Snapshots::wants(base.tree.entries()) || !session.keeping.changed(base.head) {
            return;
        }
        // A session that waits for this can be evicted all the same.
        let (waiting, lifecycle) = (Arc::downgrade(session), self.lifecycle.clone());
        let (tenant, sandbox) = (session.tenant.clone(), session.sandbox);
        self.background.spawn(async move {
            while let Some(at) = waiting.upgrade().map(|session| session.keeping.quiet_at())
                && at > clock::now()
                && !lifecycle.is_draining()
            {
                tokio::select! {
                    biased;
                    () = lifecycle.draining() => {}
                    () = tokio::time::sleep_until(at) => {}
                }
            }
            let written = async {
                let _turn = snapshots.writers.acquire().await;
                let Some(session) = waiting.upgrade() else { return };
                let warm = session.warm();
                let Some(old) = session.keeping.begin(warm.as_ref().map(|base| base.head)) else { return };
                drop(session);
                if let Some(base) = warm {
                    snapshots.keep(&tenant, sandbox, &base, old).await;
                }
            };
            let mut written = std::pin::pin!(written);
            tokio::select! {
                biased;
                () = &mut written => return,
                () = lifecycle.draining() => {}
            }
            // What is not written by then is a miss.
            let _ = tokio::time::timeout(LAST, written).await;
        });
    }
}
