//! Permission as a value. A [`WriteGuard`] is made in one order only: the writers'
//! turn, the lease, the exclusive session lock, freshness. What changes a sandbox
//! takes the guard, so that a forgotten step does not compile.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockWriteGuard, OwnedSemaphorePermit};

use crate::fs::Tree;
use crate::ids::{Caller, Head, Ino, Version};
use crate::session::entry::{Base, Fresh, Session};
use crate::session::stop::{Deadline, Stop};
use crate::session::{Inner, SessionError};
use crate::store::SandboxRow;

/// The right to run and commit one write after the other on one sandbox.
pub(crate) struct WriteGuard {
    pub(crate) session: Arc<Session>,
    /// The newest committed tree.
    pub(crate) base: Arc<Base>,
    /// Its row.
    pub(crate) row: Arc<SandboxRow>,
    /// The lease's token.
    pub(crate) fence: i64,
    _lock: OwnedRwLockWriteGuard<()>,
    _turn: OwnedSemaphorePermit,
}

impl WriteGuard {
    /// Waits for the sandbox, until `deadline`.
    pub(crate) async fn acquire(
        service: &Inner,
        session: Arc<Session>,
        caller: &Caller,
        stop: &Stop,
        deadline: Deadline,
    ) -> Result<Self, SessionError> {
        let turn = stop.wait(deadline, session.turn.clone().acquire_owned()).await?;
        let turn = turn.map_err(|_| SessionError::ShuttingDown)?;
        let lock = stop.wait(deadline, session.lock.clone().write_owned()).await?;
        let fresh = stop.wait(deadline, session.fresh(caller)).await??;
        service.prewarm(&session, &fresh);
        let fence = service.lease.grant(fresh.row.fence);
        session.set_writer(Some(stop.clone()));
        Ok(Self { session, base: fresh.base, row: fresh.row, fence, _lock: lock, _turn: turn })
    }

    /// Freshness again, after a lost race.
    pub(crate) async fn refresh(&mut self, service: &Inner, caller: &Caller) -> Result<(), SessionError> {
        let Fresh { base, row, .. } = self.session.fresh(caller).await?;
        self.fence = service.lease.grant(row.fence.max(self.fence));
        (self.base, self.row) = (base, row);
        Ok(())
    }

    /// Goes on from an own commit.
    pub(crate) fn advance(
        &mut self,
        tree: Tree,
        version: Version,
        head: Head,
        next_ino: Ino,
        cwd: Option<&str>,
    ) {
        let mut row = SandboxRow::clone(&self.row);
        (row.version, row.head, row.next_ino, row.fence) = (version, head, next_ino, self.fence);
        row.entries = tree.entries();
        row.bytes = tree.bytes();
        if let Some(cwd) = cwd {
            cwd.clone_into(&mut row.cwd);
        }
        self.row = Arc::new(row);
        self.base = Arc::new(Base { tree, version, head, next_ino });
        self.session.install_committed(self.base.clone());
    }

    /// Notes that the kept directory changed without a new version.
    pub(crate) fn moved_to(&mut self, cwd: &str) {
        let mut row = SandboxRow::clone(&self.row);
        cwd.clone_into(&mut row.cwd);
        self.row = Arc::new(row);
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        self.session.set_writer(None);
    }
}

/// Picks a tree to read from. Waits for a running writer unless `snapshot`; holds
/// nothing afterwards.
pub(crate) async fn read_base(
    service: &Inner,
    session: &Arc<Session>,
    caller: &Caller,
    stop: &Stop,
    deadline: Deadline,
    snapshot: bool,
) -> Result<Fresh, SessionError> {
    let lock = if snapshot { None } else { Some(stop.wait(deadline, session.lock.read()).await?) };
    let fresh = stop.wait(deadline, session.fresh(caller)).await??;
    drop(lock);
    session.note_reader();
    service.prewarm(session, &fresh);
    Ok(fresh)
}
