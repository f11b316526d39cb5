//! Ending a request from outside: the client left, the server goes down, the sandbox
//! is deleted, the lease is lost. One value per request, shared by all who may end it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::clock::Instant;
use crate::exec::Control;
use crate::session::SessionError;

/// Why a request was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    ClientGone,
    ShuttingDown,
    Deleted,
    LeaseLost,
}

impl Cause {
    pub(crate) fn error(self) -> SessionError {
        match self {
            Self::ClientGone => SessionError::ClientGone,
            Self::ShuttingDown => SessionError::ShuttingDown,
            Self::Deleted => SessionError::NotFound,
            Self::LeaseLost => SessionError::LeaseLost,
        }
    }
}

/// The switch of one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    token: CancellationToken,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    cause: Option<Cause>,
    committing: bool,
    /// Scripts that run under this switch: one, or those of a read-only batch.
    running: Vec<Control>,
}

impl Stop {
    /// Ends the request unless its commit has begun: a commit is never half a truth,
    /// it is finished and its outcome told. The first cause stands.
    pub(crate) fn stop(&self, cause: Cause) {
        let mut state = self.state();
        if state.committing || state.cause.is_some() {
            return;
        }
        state.cause = Some(cause);
        let running = std::mem::take(&mut state.running);
        drop(state);
        self.inner.token.cancel();
        for control in running {
            control.cancel();
        }
    }

    /// The cause, once stopped.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.state().cause
    }

    /// Whether a script of the request is running now.
    pub(crate) fn is_running(&self) -> bool {
        let state = self.state();
        !state.running.is_empty() || state.committing
    }

    /// Puts a script under this switch; check and start are one step. The script is
    /// taken off again when the returned guard is dropped.
    pub(crate) fn start(&self) -> Result<Running, SessionError> {
        let mut state = self.state();
        if let Some(cause) = state.cause {
            return Err(cause.error());
        }
        let control = Control::new();
        state.running.push(control.clone());
        Ok(Running { stop: self.clone(), control })
    }

    /// Passes the point after which the request is no longer ended; check and passage
    /// are one step. Holds until the returned guard is dropped.
    pub(crate) fn begin_commit(&self) -> Result<Committing, SessionError> {
        let mut state = self.state();
        if let Some(cause) = state.cause {
            return Err(cause.error());
        }
        state.committing = true;
        Ok(Committing(self.clone()))
    }

    /// Waits for `work`, but no longer than until the request is stopped or the time
    /// for its turn has run out.
    pub(crate) async fn wait<T>(
        &self,
        until: Deadline,
        work: impl Future<Output = T>,
    ) -> Result<T, SessionError> {
        tokio::select! {
            biased;
            () = self.inner.token.cancelled() => Err(self.cause().map_or(SessionError::ClientGone, Cause::error)),
            done = work => Ok(done),
            () = tokio::time::sleep_until(until.at) => Err(SessionError::LeaseTimeout(until.allowed)),
        }
    }

    /// Ends the request as `ClientGone` when dropped: held by the caller's future.
    pub(crate) fn on_drop(&self) -> StopOnDrop {
        StopOnDrop(self.clone())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When the wait for a turn ends, and how long it was allowed to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    pub(crate) allowed: std::time::Duration,
}

impl Deadline {
    pub(crate) fn after(allowed: std::time::Duration) -> Self {
        Self { at: crate::clock::now() + allowed, allowed }
    }
}

/// A script under the switch.
pub(crate) struct Running {
    stop: Stop,
    pub(crate) control: Control,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.state().running.retain(|control| !control.is(&self.control));
    }
}

/// A commit that nobody ends any more.
pub(crate) struct Committing(Stop);

impl Drop for Committing {
    fn drop(&mut self) {
        self.0.state().committing = false;
    }
}

/// See [`Stop::on_drop`].
pub(crate) struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop(Cause::ClientGone);
    }
}
