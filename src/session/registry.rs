//! All sessions of this replica. One session per sandbox at any time: creation is a
//! map entry, and an entry is evicted only while nobody else holds it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::ids::{SandboxId, TenantId};
use crate::session::entry::Session;
use crate::session::snapshots::Snapshots;
use crate::session::stop::Cause;
use crate::store::Store;

/// The map of sessions.
#[derive(Default)]
pub(crate) struct Registry {
    sessions: Mutex<BTreeMap<(TenantId, SandboxId), Arc<Session>>>,
    /// What cold ones start from beside the store; set before the first.
    snapshots: OnceLock<Arc<Snapshots>>,
}

impl Registry {
    /// The session of a sandbox, made if need be (cold, and cheap).
    pub(crate) fn session(
        &self,
        tenant: &TenantId,
        sandbox: SandboxId,
        store: &Arc<dyn Store>,
    ) -> Arc<Session> {
        let new = || {
            let mut cold = Session::new(tenant.clone(), sandbox, store.clone());
            cold.snapshots = self.snapshots.get().cloned();
            Arc::new(cold)
        };
        self.lock().entry((tenant.clone(), sandbox)).or_insert_with(new).clone()
    }

    /// Sessions that are made from now on start from snapshots. Counts once.
    pub(crate) fn use_snapshots(&self, snapshots: Arc<Snapshots>) {
        let _ = self.snapshots.set(snapshots);
    }

    /// Drops a session unless a request holds it. `session` is the caller's own handle.
    pub(crate) fn evict_unused(&self, session: &Arc<Session>) -> bool {
        let key = (session.tenant.clone(), session.sandbox);
        let mut sessions = self.lock();
        // The map's handle and the caller's.
        let unused = sessions
            .get(&key)
            .is_some_and(|known| Arc::ptr_eq(known, session) && Arc::strong_count(known) == 2);
        if unused {
            sessions.remove(&key);
        }
        unused
    }

    /// Ends the script that writes to a sandbox that is gone, if one runs here.
    pub(crate) fn end_writer(&self, tenant: &TenantId, sandbox: SandboxId) {
        let session = self.lock().get(&(tenant.clone(), sandbox)).cloned();
        if let Some(session) = session {
            session.forget();
            if let Some(writer) = session.writer() {
                writer.stop(Cause::Deleted);
            }
        }
    }

    /// All sessions as of now.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(TenantId, SandboxId), Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
