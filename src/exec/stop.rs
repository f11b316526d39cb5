//! Ending one job from outside: exactly one side wins, the script's own end or a
//! cause that cuts it off.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;

use crate::clock::Instant;
use crate::exec::End;
use crate::fs::{Fatal, WorkingCopy};

/// Why a script is cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Its time was over.
    TimedOut,
    /// [`super::Control::cancel`], or the caller left.
    Cancelled,
    /// The working copy latched a fatal cause.
    Fs,
    /// A limit that we watch ourselves: its name, and a sentence.
    Limit(&'static str, String),
}

/// Shared by the job's thread, its caller and its [`super::Control`].
#[derive(Debug, Default)]
pub(crate) struct Stop {
    state: Mutex<State>,
    started: OnceLock<Instant>,
    told: Notify,
    fatal: Notify,
    own_cause: OnceLock<OwnCause>,
}

/// Called with the end of a script that is cut off by what it did itself.
pub(crate) type OnOwnCause = Box<dyn Fn(End) + Send + Sync>;

struct OwnCause(OnOwnCause);

impl std::fmt::Debug for OwnCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnCause")
    }
}

#[derive(Default)]
struct State {
    cause: Option<Cause>,
    completed: bool,
    flag: Option<Arc<AtomicBool>>,
    working_copy: Option<Arc<WorkingCopy>>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("cause", &self.cause)
            .field("completed", &self.completed)
            .finish_non_exhaustive()
    }
}

impl Stop {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts the script off, unless it has ended or is being cut off already. A
    /// timeout, a cancel or a limit act at once. A fatal file call has still to print
    /// its error: the engine is interrupted where it yields, or by the caller.
    pub(crate) fn stop(&self, cause: Cause) {
        let mut state = self.state();
        if state.completed || state.cause.is_some() {
            return;
        }
        let at_once = cause != Cause::Fs;
        let own = matches!(cause, Cause::Fs | Cause::Limit(..)).then(|| cause.clone());
        state.cause = Some(cause);
        let working_copy = state.working_copy.clone();
        if at_once {
            state.interrupt();
        }
        drop(state);
        // The working copy calls back into this hand: no lock may be held.
        if at_once && let Some(working_copy) = working_copy {
            working_copy.revoke();
        }
        self.told.notify_one();
        if !at_once {
            self.fatal.notify_one();
        }
        if let (Some(cause), Some(OwnCause(call))) = (own, self.own_cause.get()) {
            call(self.end_of(cause));
        }
    }

    /// Has `call` told, once and on the thread that met it, when the script is cut off by a
    /// fatal file call or a limit. (A worker process tells its server so.)
    pub(crate) fn on_own_cause(&self, call: OnOwnCause) {
        let _ = self.own_cause.set(OwnCause(call));
    }

    /// Gives the script's working copy and the engine's flag into this hand.
    pub(crate) fn attach(&self, working_copy: &Arc<WorkingCopy>, flag: Arc<AtomicBool>) {
        let mut state = self.state();
        state.working_copy = Some(working_copy.clone());
        state.flag = Some(flag);
        let stopped = state.cause.is_some();
        if stopped {
            state.interrupt();
        }
        drop(state);
        if stopped {
            working_copy.revoke();
        }
    }

    /// Makes the engine end at its next command, if a cause is there.
    pub(crate) fn interrupt(&self) {
        let state = self.state();
        if state.cause.is_some() {
            state.interrupt();
        }
    }

    /// The script has ended by itself: `Err` with the cause that came first.
    pub(crate) fn complete(&self) -> Result<(), Cause> {
        let mut state = self.state();
        if let Some(cause) = &state.cause {
            return Err(cause.clone());
        }
        state.completed = true;
        Ok(())
    }

    /// The cause, if the script is being cut off.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.state().cause.clone()
    }

    /// The end that a cause makes of the job.
    pub(crate) fn end_of(&self, cause: Cause) -> End {
        match cause {
            Cause::TimedOut => End::TimedOut,
            Cause::Cancelled => End::Cancelled,
            Cause::Fs => {
                let working_copy = self.state().working_copy.clone();
                let fatal = working_copy.and_then(|copy| copy.fatal());
                // The cause is set by the working copy after it has latched the error.
                End::Fs(fatal.unwrap_or(Fatal::ContentUnavailable))
            }
            Cause::Limit(name, message) => End::Limit { name, message },
        }
    }

    /// The end of a job that cannot tell it itself.
    pub(crate) fn end(&self) -> End {
        self.cause().map_or(End::Cancelled, |cause| self.end_of(cause))
    }

    /// Marks the start of the script's time.
    pub(crate) fn start(&self, now: Instant) {
        let _ = self.started.set(now);
    }

    /// When the script's time started, if it has.
    pub(crate) fn started(&self) -> Option<Instant> {
        self.started.get().copied()
    }

    /// Resolves after a fatal file call. For one waiter, on the script's thread.
    pub(crate) async fn fatal(&self) {
        self.fatal.notified().await;
    }

    /// Resolves when a cause has come. For one waiter.
    pub(crate) async fn told(&self) {
        self.told.notified().await;
    }
}

impl State {
    fn interrupt(&self) {
        if let Some(flag) = &self.flag {
            flag.store(true, Ordering::SeqCst);
        }
    }
}
