//! One session: the warm state of one sandbox on this replica.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{RwLock, Semaphore};
use tracing::Instrument;

use crate::clock::{self, Instant};
use crate::fs::Tree;
use crate::ids::{Caller, Head, Ino, SandboxId, TenantId, Version};
use crate::lease::verbs::Hint;
use crate::metrics::metrics;
use crate::session::SessionError;
use crate::session::freshness::Probes;
use crate::session::hint::hint_of;
use crate::session::snapshots::{Keeping, Snapshots};
use crate::session::stop::Stop;
use crate::store::{Loaded, SandboxRow, Store, StoreError};
use crate::telemetry::span;

/// A tree of one committed version, with the head that it was loaded at.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) tree: Tree,
    pub(crate) version: Version,
    pub(crate) head: Head,
    pub(crate) next_ino: Ino,
}

/// The warm state. Cheap when cold: a few empty locks.
pub(crate) struct Session {
    pub(crate) tenant: TenantId,
    pub(crate) sandbox: SandboxId,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) snapshots: Option<Arc<Snapshots>>,
    pub(crate) keeping: Keeping,
    /// FIFO turn among this replica's writers: one of them contends for the lease.
    pub(crate) turn: Arc<Semaphore>,
    /// The session lock: readers hold it only while they pick a tree.
    pub(crate) lock: Arc<RwLock<()>>,
    probes: Probes,
    /// Single flight of loads.
    load: tokio::sync::Mutex<()>,
    warm: Mutex<Option<Arc<Base>>>,
    /// The row as it was seen last.
    seen: Mutex<Option<Arc<SandboxRow>>>,
    /// The request that holds the write turn, for a forced deletion.
    writer: Mutex<Option<Stop>>,
    used: Mutex<Instant>,
    /// Highest fencing token seen in the row; -1 before the first look.
    fence: AtomicI64,
    /// Whether the sandbox has network permission, which it is created with. False
    /// before the first look.
    network: AtomicBool,
    /// Wall ns of the last reader whose use is not in the store yet; 0: none.
    read_at_ns: AtomicI64,
}

/// A tree that was current at a moment after the request arrived, and its row.
pub(crate) struct Fresh {
    pub(crate) base: Arc<Base>,
    pub(crate) row: Arc<SandboxRow>,
    /// Whether nothing was warm: contents are worth fetching ahead.
    pub(crate) cold: bool,
}

impl Session {
    pub(crate) fn new(tenant: TenantId, sandbox: SandboxId, store: Arc<dyn Store>) -> Self {
        Self {
            tenant,
            sandbox,
            store,
            snapshots: None,
            keeping: Keeping::default(),
            turn: Arc::new(Semaphore::new(1)),
            lock: Arc::default(),
            probes: Probes::default(),
            load: tokio::sync::Mutex::default(),
            warm: Mutex::default(),
            seen: Mutex::default(),
            writer: Mutex::default(),
            used: Mutex::new(clock::now()),
            fence: AtomicI64::new(-1),
            network: AtomicBool::new(false),
            read_at_ns: AtomicI64::new(0),
        }
    }

    /// The row, fresh, if the sandbox is live and the caller's.
    pub(crate) async fn row(&self, caller: &Caller) -> Result<Arc<SandboxRow>, SessionError> {
        self.note_use();
        match self.probes.probe(self.store.as_ref(), self.sandbox).await? {
            Some(row) if row.owner == caller.owner => {
                self.note_row(&row);
                Ok(row)
            }
            Some(_) | None => Err(SessionError::NotFound),
        }
    }

    fn note_use(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = clock::now();
    }

    /// Whether the store knows that there is no such sandbox (any more).
    pub(crate) async fn is_gone(&self) -> bool {
        matches!(self.probes.probe(self.store.as_ref(), self.sandbox).await, Ok(None))
    }

    /// Keeps the row, for the wait for the lease and for hints.
    pub(crate) fn note_row(&self, row: &Arc<SandboxRow>) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(row.clone());
        self.network.store(row.network.is_some(), Ordering::Relaxed);
        self.fence.fetch_max(row.fence, Ordering::Release);
    }

    /// Whether the row was seen before.
    pub(crate) fn is_known(&self) -> bool {
        self.fence.load(Ordering::Acquire) >= 0
    }

    /// The highest fencing token known to have committed.
    pub(crate) fn fence(&self) -> i64 {
        self.fence.load(Ordering::Acquire).max(0)
    }

    /// Whether the sandbox has network permission; a row was seen before.
    pub(crate) fn has_network(&self) -> bool {
        self.network.load(Ordering::Relaxed)
    }

    /// Row and tree as they are kept here, if the hint says that they are the newest.
    fn known(&self, caller: &Caller, hint: Hint) -> Option<Fresh> {
        let row = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let base = self.warm_at(row.head)?;
        if row.owner != caller.owner || hint_of(&row) != hint {
            return None;
        }
        self.note_use();
        Some(Fresh { base, row, cold: false })
    }

    /// Row and tree, fresh. Reloads what changed since the warm tree, or all of it. A
    /// `hint` was given after the request arrived.
    pub(crate) async fn fresh(&self, caller: &Caller, hint: Option<Hint>) -> Result<Fresh, SessionError> {
        if let Some(known) = hint.and_then(|hint| self.known(caller, hint)) {
            return Ok(known);
        }
        let row = self.row(caller).await?;
        let begun = clock::now();
        let noted = |kind| metrics().trees.note([("kind", kind)], begun.elapsed());
        if let Some(base) = self.warm_at(row.head) {
            noted("warm");
            return Ok(Fresh { base, row, cold: false });
        }
        let _flight = self.load.lock().await;
        // Another request may have loaded it meanwhile.
        if let Some(base) = self.warm_at(row.head) {
            noted("shared");
            return Ok(Fresh { base, row, cold: false });
        }
        let warm = self.warm();
        if warm.is_none()
            && let Some(snapshots) = &self.snapshots
            && let Some(tree) = snapshots.tree(&self.tenant, &row).await
        {
            let base = Base { tree, version: row.version, head: row.head, next_ino: row.next_ino };
            let base = Arc::new(base);
            self.install_loaded(None, &base);
            self.keeping.is_anothers(row.head);
            noted("snapshot");
            return Ok(Fresh { base, row, cold: true });
        }
        let since = warm.as_ref().map(|base| (base.version, base.head));
        let (row, loaded) = match self.store.load(self.sandbox, since).instrument(span!("load")).await {
            Ok(Some((row, loaded))) if row.owner == caller.owner => (row, loaded),
            Ok(Some(_) | None) => return Err(SessionError::NotFound),
            Err(error) => return Err(store_error(error)),
        };
        let cold = warm.is_none();
        let kind = match &loaded {
            Loaded::Full { .. } => "full",
            Loaded::Delta(_) => "delta",
        };
        let tree = match (loaded, &warm) {
            (Loaded::Full { inodes, dirents }, _) => Tree::from_rows(inodes, dirents),
            (Loaded::Delta(delta), Some(base)) => base.tree.apply(&delta),
            (Loaded::Delta(_), None) => return Err(SessionError::Internal("a delta without a base".into())),
        }
        .map_err(|broken| SessionError::Internal(format!("sandbox {}: {broken}", self.sandbox)))?;
        let base = Arc::new(Base { tree, version: row.version, head: row.head, next_ino: row.next_ino });
        self.install_loaded(warm.as_ref(), &base);
        if kind == "delta" {
            self.keeping.is_anothers(base.head);
        }
        let row = Arc::new(row);
        self.note_row(&row);
        noted(kind);
        Ok(Fresh { base, row, cold })
    }

    /// The warm tree, if it is the one of `head`.
    fn warm_at(&self, head: Head) -> Option<Arc<Base>> {
        self.warm().filter(|base| base.head == head)
    }

    pub(crate) fn warm(&self) -> Option<Arc<Base>> {
        self.warm.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes a loaded tree the warm one, unless a commit of this replica has put a
    /// newer one there since the load began.
    fn install_loaded(&self, began_from: Option<&Arc<Base>>, base: &Arc<Base>) {
        let mut warm = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
        let unchanged = match (warm.as_ref(), began_from) {
            (None, None) => true,
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            (Some(_), None) | (None, Some(_)) => false,
        };
        if unchanged || warm.as_ref().is_none_or(|now| now.version < base.version) {
            *warm = Some(base.clone());
        }
    }

    /// Makes the tree of an own commit the warm one.
    pub(crate) fn install_committed(&self, base: Arc<Base>) {
        *self.warm.lock().unwrap_or_else(PoisonError::into_inner) = Some(base);
    }

    /// Drops the tree: after an outcome that is not known.
    pub(crate) fn forget(&self) {
        *self.warm.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) fn set_writer(&self, stop: Option<Stop>) {
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = stop;
    }

    pub(crate) fn writer(&self) -> Option<Stop> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a reader, for `last_used_at`.
    pub(crate) fn note_reader(&self) {
        self.read_at_ns.store(clock::wall_ns(), Ordering::Relaxed);
    }

    /// Takes the note of the last reader.
    pub(crate) fn take_reader_note(&self) -> Option<i64> {
        Some(self.read_at_ns.swap(0, Ordering::Relaxed)).filter(|ns| *ns != 0)
    }

    pub(crate) fn idle_since(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Estimated bytes of the warm tree.
    pub(crate) fn weight(&self) -> u64 {
        self.warm().map_or(0, |base| base.tree.weight())
    }
}

/// A store error outside of a commit: nothing was applied.
pub(crate) fn store_error(error: StoreError) -> SessionError {
    match error {
        StoreError::Unavailable(_) => SessionError::StoreUnavailable,
        StoreError::OutcomeUnknown(_) => SessionError::OutcomeUnknown,
        StoreError::Inconsistent(text) | StoreError::Refused(text) => SessionError::Internal(text),
    }
}
