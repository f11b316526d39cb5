//! What keeps writers of different replicas apart, and what becomes of a write exec
//! while the lease store is away. Which store that is, the session does not know.

use std::time::Duration;

use crate::ids::{SandboxId, TenantId};
use crate::lease::InProcess;
use crate::lease::driver::{AcquireError, Leases, RaiseError};
use crate::lease::held::Held;
use crate::lease::keys::LeaseKey;
use crate::lease::protocol::WhenAway;
use crate::lease::verbs::{Hint, Ms, Parting};
use crate::session::SessionError;
use crate::session::entry::Session;
use crate::session::stop::{Cause, Deadline, Stop};

/// How this replica keeps out of the way of others.
pub enum Coordination {
    /// It does not: there are none, or the compare-and-set alone keeps them apart.
    Alone(InProcess),
    /// By leases.
    Fleet {
        /// The leases of this replica.
        leases: Leases,
        /// What becomes of write execs while the lease store is away.
        when_down: WhenDown,
        /// Who says which state is the newest.
        version_check: VersionCheck,
    },
}

/// Who says which state is the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionCheck {
    /// The store.
    Store,
    /// The lease store's hint, and the store where there is none.
    Hint,
}

/// What becomes of write execs while the lease store is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenDown {
    /// They go on with the compare-and-set alone, in sandboxes without network permission:
    /// two of them may run at once, which matters for what a script does elsewhere.
    Degrade,
    /// They are refused.
    Refuse,
}

/// The lease of one writer.
#[derive(Debug)]
pub(crate) enum Lease {
    /// Granted in the process, with this token.
    InProcess(i64),
    /// Held, until it is lost; its token counts if it is above the row's.
    Held(Held, WhenAway),
    /// The lease store is away: the compare-and-set alone decides.
    Degraded,
}

/// How long the lease store is waited for at the end, so that others need not wait for
/// the expiry of leases that nobody uses any more.
const RELEASE: Duration = Duration::from_secs(2);

/// Stands for the whole tenant: no sandbox has this id, for theirs are random.
const HOUSE: SandboxId = SandboxId(uuid::Uuid::nil());

impl Coordination {
    /// Waits for the lease of the session's sandbox, at most until `deadline`. The request
    /// is ended as soon as the lease is lost.
    pub(crate) async fn acquire(
        &self,
        session: &Session,
        stop: &Stop,
        deadline: Deadline,
    ) -> Result<Lease, SessionError> {
        let Self::Fleet { leases, when_down, .. } = self else { return Ok(Lease::InProcess(0)) };
        let when_away = match when_down {
            WhenDown::Degrade if !session.has_network() => WhenAway::Degrade,
            WhenDown::Degrade | WhenDown::Refuse => WhenAway::Lose,
        };
        let acquired = leases.acquire(key(session), session.fence(), when_away);
        match (stop.wait(deadline, acquired).await?, when_away) {
            (Ok(held), _) => {
                let stop = stop.clone();
                held.on_lost(move |loss| {
                    tracing::warn!(?loss, "a lease was lost; its script is ended");
                    stop.stop(Cause::LeaseLost);
                });
                Ok(Lease::Held(held, when_away))
            }
            (Err(AcquireError::Away), WhenAway::Degrade) => Ok(Lease::Degraded),
            (Err(AcquireError::Away), WhenAway::Lose) => Err(SessionError::CoordinationUnavailable),
            (Err(AcquireError::Closed), _) => Err(SessionError::ShuttingDown),
        }
    }

    /// Whether a cold session has to look at its row before it asks for the lease: what
    /// becomes of it while the store is away hangs on the sandbox, and a sandbox that is
    /// not there should cost the store nothing.
    pub(crate) fn wants_row(&self) -> bool {
        matches!(self, Self::Fleet { .. })
    }

    /// The fencing token to commit with on a row whose own is `row_fence`; never below it.
    pub(crate) async fn fence(&self, lease: &mut Lease, row_fence: i64) -> Result<i64, SessionError> {
        match (self, &mut *lease) {
            (Self::Alone(grants), Lease::InProcess(token)) => {
                *token = grants.grant(row_fence.max(*token));
                Ok(*token)
            }
            (_, Lease::Held(held, _)) if held.token() > row_fence => Ok(held.token()),
            (_, Lease::Held(held, when_away)) => match (held.raise(row_fence).await, *when_away) {
                (Ok(token), _) => Ok(token),
                (Err(RaiseError::Lost), _) => Err(SessionError::LeaseLost),
                (Err(RaiseError::Away), WhenAway::Lose) => Err(SessionError::CoordinationUnavailable),
                (Err(RaiseError::Away), WhenAway::Degrade) => {
                    *lease = Lease::Degraded;
                    Ok(row_fence)
                }
            },
            (_, Lease::Degraded | Lease::InProcess(_)) => Ok(row_fence),
        }
    }

    /// The turn to keep house for a tenant, so that of several replicas one does it at a
    /// time. `None`: another is at it, or the lease store is away; it can wait. What is
    /// done is safe without the turn too.
    pub(crate) async fn housekeeping(&self, tenant: &TenantId) -> Option<Housekeeping> {
        let Self::Fleet { leases, .. } = self else { return Some(Housekeeping(None)) };
        let key = LeaseKey { tenant: tenant.clone(), sandbox: HOUSE };
        let acquired = leases.acquire(key, 0, WhenAway::Lose);
        let held = tokio::time::timeout(RELEASE, acquired).await.ok()?.ok()?;
        Some(Housekeeping(Some(held)))
    }

    /// Whether hints save reads of the row.
    pub(crate) fn uses_hints(&self) -> bool {
        matches!(self, Self::Fleet { version_check: VersionCheck::Hint, .. })
    }

    /// The newest state, if the lease store knows it now.
    pub(crate) async fn hint(&self, session: &Session) -> Option<Hint> {
        match self {
            Self::Alone(_) => None,
            Self::Fleet { leases, .. } => leases.hint(key(session)).await,
        }
    }

    /// Drops the hint, and has none given or set for `block` ms. Whether that was done.
    pub(crate) async fn void(&self, session: &Session, block: Ms) -> bool {
        match self {
            Self::Alone(_) => true,
            Self::Fleet { leases, .. } => leases.void(key(session), block).await,
        }
    }

    /// Tells the replica whose script writes to the sandbox that it is gone. Who is not
    /// told learns it from its commit.
    pub(crate) async fn end(&self, session: &Session) {
        if let Self::Fleet { leases, .. } = self
            && !leases.end(key(session)).await
        {
            tracing::debug!(sandbox.id = %session.sandbox, "other replicas were not told of a deletion");
        }
    }

    /// Whether the lease store answers; `None` when there is none.
    pub(crate) async fn reachable(&self) -> Option<(bool, WhenDown)> {
        match self {
            Self::Alone(_) => None,
            Self::Fleet { leases, when_down, .. } => Some((leases.reachable().await, *when_down)),
        }
    }

    /// Gives back what is still held. Nothing is granted afterwards.
    pub(crate) async fn close(&self) {
        if let Self::Fleet { leases, .. } = self
            && !leases.close(RELEASE).await
        {
            tracing::warn!("not all leases could be given back; they expire by themselves");
        }
    }
}

/// The turn to keep house; given back when dropped.
pub(crate) struct Housekeeping(Option<Held>);

impl Housekeeping {
    /// Whether it is not lost.
    pub(crate) fn stands(&self) -> bool {
        self.0.as_ref().is_none_or(|held| held.check().is_ok())
    }
}

fn key(session: &Session) -> LeaseKey {
    LeaseKey { tenant: session.tenant.clone(), sandbox: session.sandbox }
}

impl Lease {
    /// The newest state as it was known when the lease was granted.
    pub(crate) fn hint(&self) -> Option<Hint> {
        match self {
            Self::Held(held, _) => held.hint(),
            Self::InProcess(_) | Self::Degraded => None,
        }
    }

    /// What is said of the newest state when the lease is given back.
    pub(crate) fn part_with(&self, parting: Parting) {
        if let Self::Held(held, _) = self {
            held.part_with(parting);
        }
    }

    /// Whether it has ended: another may hold it.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Held(held, _) if held.check().is_err())
    }

    /// Runs `f`, which starts a script or begins a commit, in one step with the check that
    /// the lease is not lost.
    pub(crate) fn enter<T>(&self, f: impl FnOnce() -> Result<T, SessionError>) -> Result<T, SessionError> {
        match self {
            Self::Held(held, _) => held.enter(f).unwrap_or(Err(SessionError::LeaseLost)),
            Self::InProcess(_) | Self::Degraded => f(),
        }
    }

    /// Whether the compare-and-set alone decides: somebody else may be running.
    pub(crate) fn is_degraded(&self) -> bool {
        match self {
            Self::InProcess(_) => false,
            Self::Held(held, _) => held.is_degraded(),
            Self::Degraded => true,
        }
    }
}
