//! A script that computes for long steps back: its thread gets a lower priority, so that
//! short scripts, the server's own threads and a database on the same machine go first.
//!
//! Run slots do not see to that: a tenant may have dozens of scripts that compute, and the
//! kernel would give each the same share of the processors as the threads of everybody else.
//! A thread cannot be given its priority back, so one that stepped back ends with its script.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

/// Time between two looks: first, and later.
const FIRST: Duration = Duration::from_millis(50);
const LATER: Duration = Duration::from_millis(200);
/// How long a script may have wanted the processor between two looks.
const PART: f64 = 0.8;
/// What it is lowered to (`nice`): a ninth of the share of others, never nothing.
const LOWERED: i32 = 10;

/// The thread of one job.
#[derive(Debug, Default)]
pub(super) struct Thread {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Its number while the job runs.
    id: Option<i32>,
    lowered: bool,
}

impl Thread {
    /// Called on the thread, before the job.
    pub(super) fn begin(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).id = own_id();
    }

    /// Called on the thread, after the job; whether its priority was lowered.
    pub(super) fn end(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.id = None;
        state.lowered
    }

    fn lower(&self) {
        // Under the lock, so that the thread does not go on to another job meanwhile.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = state.id {
            state.lowered = lower_priority(id);
        }
    }

    fn id(&self) -> Option<i32> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).id
    }
}

/// Looks at the thread until the handle is dropped. `None` outside of a runtime, and where
/// the system does not say what a thread did.
pub(super) fn watch(thread: Arc<Thread>) -> Option<AbortOnDropHandle<()>> {
    if cfg!(not(target_os = "linux")) {
        return None;
    }
    let watching = async move {
        let (mut pause, mut before) = (FIRST, None);
        loop {
            tokio::time::sleep(pause).await;
            // Not begun yet, or at its end.
            let Some(wanted) = thread.id().and_then(wanted) else { continue };
            if let Some(before) = before.replace(wanted) {
                if wanted.saturating_sub(before).as_secs_f64() >= PART * pause.as_secs_f64() {
                    return thread.lower();
                }
                pause = LATER;
            }
        }
    };
    let runtime = tokio::runtime::Handle::try_current().ok()?;
    Some(AbortOnDropHandle::new(runtime.spawn(watching)))
}

/// How long a thread has run and has waited for a processor: what it computed in an empty
/// machine.
fn wanted(id: i32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).ok()?;
    let mut parts = text.split_whitespace().map(|part| part.parse::<u64>().ok());
    Some(Duration::from_nanos(parts.next()?? + parts.next()??))
}

#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
fn own_id() -> Option<i32> {
    #[expect(unsafe_code, reason = "gettid(2) takes nothing and touches no memory")]
    let id = unsafe { libc::gettid() };
    Some(id)
}

#[cfg(target_os = "linux")]
fn lower_priority(id: i32) -> bool {
    let id = u32::try_from(id).unwrap_or_default();
    #[expect(unsafe_code, reason = "setpriority(2) takes numbers; the thread is one of ours and lives")]
    let set = unsafe { libc::setpriority(libc::PRIO_PROCESS, id, LOWERED) };
    set == 0
}

#[cfg(not(target_os = "linux"))]
fn own_id() -> Option<i32> {
    None
}

#[cfg(not(target_os = "linux"))]
fn lower_priority(_: i32) -> bool {
    false
}
