//! Permission as a value. A [`WriteGuard`] is made in one order only: the writers'
//! turn, the lease, the exclusive session lock, freshness. What changes a sandbox
//! takes the guard, so that a forgotten step does not compile.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedRwLockWriteGuard, OwnedSemaphorePermit};
use tracing::Instrument;

use crate::clock;
use crate::fs::Tree;
use crate::ids::{Caller, Head, Ino, Version};
use crate::lease::verbs::Parting;
use crate::metrics::metrics;
use crate::random;
use crate::session::coordination::Lease;
use crate::session::entry::{Base, Fresh, Session};
use crate::session::exec::RUNS;
use crate::session::hint::hint_of;
use crate::session::stop::{Committing, Deadline, Running, Stop};
use crate::session::{Inner, SessionError};
use crate::store::SandboxRow;
use crate::telemetry::span;

/// The right to run and commit one write after the other on one sandbox.
pub(crate) struct WriteGuard {
    pub(crate) session: Arc<Session>,
    /// The newest committed tree.
    pub(crate) base: Arc<Base>,
    /// Its row.
    pub(crate) row: Arc<SandboxRow>,
    /// What it commits with: the lease's token, or the row's.
    pub(crate) fence: i64,
    /// Whether hints are given, and `row` is the newest state.
    hints: bool,
    newest: bool,
    /// Whether something may have been committed.
    wrote: bool,
    // Given back in this order: the release of the lease is on its way before the next
    // writer of this replica asks for it.
    _lock: OwnedRwLockWriteGuard<()>,
    lease: Lease,
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
        let mut lease = service.lease(&session, caller, stop, deadline).await?;
        let lock = stop.wait(deadline, session.lock.clone().write_owned()).await?;
        let hints = service.coordination.uses_hints();
        let hint = lease.hint().filter(|_| hints);
        let fresh = stop.wait(deadline, session.fresh(caller, hint)).await??;
        service.prewarm(&session, &fresh);
        let raised = service.coordination.fence(&mut lease, fresh.row.fence);
        let fence = stop.wait(deadline, raised).await??;
        session.set_writer(Some(stop.clone()));
        let Fresh { base, row, .. } = fresh;
        let (newest, wrote) = (true, false);
        Ok(Self { session, base, row, fence, hints, newest, wrote, _lock: lock, lease, _turn: turn })
    }

    /// Puts a script under the switch of its request, in one step with the check that the
    /// lease is not lost.
    pub(crate) fn start(&self, stop: &Stop) -> Result<Running, SessionError> {
        self.lease.enter(|| stop.start())
    }

    /// Passes the point after which the request is no longer ended, in one step with the
    /// check that the lease is not lost.
    pub(crate) fn begin_commit(&mut self, stop: &Stop) -> Result<Committing, SessionError> {
        (self.newest, self.wrote) = (false, true);
        self.lease.part_with(Parting { hint: None, wrote: true });
        self.lease.enter(|| stop.begin_commit())
    }

    /// After a commit was sent, before anybody is told of it. `open`: its outcome is not
    /// known.
    pub(crate) async fn settle_hint(&self, service: &Inner, open: bool) {
        if !self.hints {
        } else if open {
            service.void_stray(&self.session).await;
        } else if self.lease.is_lost() {
            service.void_lapsed(&self.session).await;
        }
    }

    /// The fencing token, as long as a lease stands behind it.
    pub(crate) fn token(&self) -> Option<i64> {
        (!self.lease.is_degraded()).then_some(self.fence)
    }

    /// Makes ready for another run after the race was lost `runs` times: freshness again.
    /// Under a lease a second run is enough: who came between has none, or has lost it.
    /// Without one the others go on as well, so it is tried until `until`, after a pause
    /// that is drawn at random lest two meet again and again. `Err` when it is over.
    pub(crate) async fn again(
        &mut self,
        service: &Inner,
        caller: &Caller,
        stop: &Stop,
        runs: u32,
        until: Deadline,
    ) -> Result<(), SessionError> {
        if self.lease.is_degraded() {
            let pause = stop.wait(until, tokio::time::sleep(pause(runs))).await;
            pause.map_err(|error| match error {
                SessionError::LeaseTimeout(_) => SessionError::Conflict,
                error => error,
            })?;
        } else if runs >= RUNS {
            return Err(SessionError::Conflict);
        }
        self.refresh(service, caller).await
    }

    /// Freshness again, after a lost race.
    pub(crate) async fn refresh(&mut self, service: &Inner, caller: &Caller) -> Result<(), SessionError> {
        let Fresh { base, row, .. } = self.session.fresh(caller, None).await?;
        self.fence = service.coordination.fence(&mut self.lease, row.fence).await?;
        (self.base, self.row, self.newest) = (base, row, true);
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
        (self.row, self.newest) = (Arc::new(row), true);
        self.base = Arc::new(Base { tree, version, head, next_ino });
        self.session.install_committed(self.base.clone());
        self.session.note_row(&self.row);
    }

    /// Notes that the kept directory changed without a new version.
    pub(crate) fn moved_to(&mut self, cwd: &str) {
        let mut row = SandboxRow::clone(&self.row);
        cwd.clone_into(&mut row.cwd);
        (self.row, self.newest) = (Arc::new(row), true);
        self.session.note_row(&self.row);
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        self.session.set_writer(None);
        let hint = (self.hints && self.newest).then(|| hint_of(&self.row));
        self.lease.part_with(Parting { hint, wrote: self.wrote });
    }
}

impl Inner {
    /// Waits for the lease of the session's sandbox. The caller has the writers' turn.
    pub(crate) async fn lease(
        &self,
        session: &Session,
        caller: &Caller,
        stop: &Stop,
        deadline: Deadline,
    ) -> Result<Lease, SessionError> {
        if self.coordination.wants_row() && !session.is_known() {
            stop.wait(deadline, session.row(caller)).await??;
        }
        let begun = clock::now();
        let lease = self.coordination.acquire(session, stop, deadline).instrument(span!("lease")).await;
        metrics().lease_wait.note([], begun.elapsed());
        lease
    }
}

/// The pause after `runs` lost races: random, in a window that doubles up to a second.
fn pause(runs: u32) -> Duration {
    let window = 10_u64 << runs.min(7);
    Duration::from_micros(random::uuid().as_u128() as u64 % (window.min(1000) * 1000))
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
    let hinted = async {
        let hint = service.reader_hint(session).await;
        session.fresh(caller, hint).await
    };
    let fresh = stop.wait(deadline, hinted).await??;
    drop(lock);
    session.note_reader();
    service.prewarm(session, &fresh);
    Ok(fresh)
}
