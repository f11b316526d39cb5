//! A lease in the hands of a request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::lease::driver::{RaiseError, Shared};
use crate::lease::protocol::{Event, Loss, Ticket};
use crate::lease::verbs::{Hint, Parting};

/// The right to run a write exec, until it is lost or dropped. Dropping gives it back;
/// nobody waits for that.
pub struct Held {
    shared: Arc<Shared>,
    ticket: Ticket,
    token: i64,
    hint: Option<Hint>,
    signal: Arc<Signal>,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held")
            .field("ticket", &self.ticket)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

impl Held {
    pub(super) fn new(shared: Arc<Shared>, ticket: Ticket, signal: Arc<Signal>) -> Self {
        Self { shared, ticket, token: 0, hint: None, signal }
    }

    pub(super) fn granted(&mut self, token: i64, hint: Option<Hint>) {
        (self.token, self.hint) = (token, hint);
    }

    /// The fencing token.
    #[must_use]
    pub fn token(&self) -> i64 {
        self.token
    }

    /// The newest state as it was known when the lease was granted.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        self.hint
    }

    /// What is said of the newest state when this lease is given back. Until this is
    /// called: nothing.
    pub fn part_with(&self, parting: Parting) {
        self.shared.step(Event::Parting(self.ticket, parting));
    }

    /// Runs `f`, which starts a script or begins a commit, in one step with the check
    /// that the lease is not lost: a loss comes before both or after both. `f` must be
    /// short, must not wait, and must not use this lease.
    pub fn enter<T>(&self, f: impl FnOnce() -> T) -> Result<T, Loss> {
        self.shared.enter(self.ticket, f).ok_or_else(|| self.signal.loss().unwrap_or(Loss::NotRenewed))
    }

    /// That the lease is not lost at this instant.
    pub fn check(&self) -> Result<(), Loss> {
        self.enter(|| ())
    }

    /// Calls `f` once when the lease is lost; at once if it is. It runs on the control
    /// thread: it must be short and must not wait.
    pub fn on_lost(&self, f: impl FnOnce(Loss) + Send + 'static) {
        self.signal.watch(Box::new(f));
    }

    /// Cancelled when the lease is lost.
    #[must_use]
    pub fn lost(&self) -> CancellationToken {
        self.signal.token.clone()
    }

    /// Whether the store went away and the exec goes on with the compare-and-set alone.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.signal.state().degraded
    }

    /// A new token above `floor`, before the script starts. The old one stands if the
    /// store is away.
    pub async fn raise(&mut self, floor: i64) -> Result<i64, RaiseError> {
        self.token = self.shared.raise(self.ticket, floor).await?;
        Ok(self.token)
    }

    /// Gives the lease back, as dropping does.
    pub fn release(self) {}
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.leave(self.ticket);
    }
}

/// What became of a ticket, for its request.
#[derive(Default)]
pub(super) struct Signal {
    token: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    loss: Option<Loss>,
    degraded: bool,
    watchers: Vec<Box<dyn FnOnce(Loss) + Send>>,
}

impl Signal {
    pub(super) fn note_loss(&self, loss: Loss) {
        self.state().loss = Some(loss);
    }

    pub(super) fn note_degraded(&self) {
        self.state().degraded = true;
    }

    pub(super) fn tell_loss(&self, loss: Loss) {
        let watchers = std::mem::take(&mut self.state().watchers);
        self.token.cancel();
        for watcher in watchers {
            watcher(loss);
        }
    }

    fn loss(&self) -> Option<Loss> {
        self.state().loss
    }

    fn watch(&self, f: Box<dyn FnOnce(Loss) + Send>) {
        let mut state = self.state();
        match state.loss {
            Some(loss) => {
                drop(state);
                f(loss);
            }
            None => state.watchers.push(f),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
