//! The exec path's engine room: an exec is a function
//! `(immutable tree, script) → (output, end, change set)`, and this is the function.
//!
//! The tree goes in by value and a change set comes out; no other state is touched,
//! so the same job runs on a thread of this process or in a worker process.
//! `exec/bash.rs` is the only file that names the interpreter.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::fs::{ChangeSet, ContentSource, Fatal, Mode, Quota, Tree};
use crate::ids::{Caller, SandboxId};

pub mod bash;
mod commands;
pub mod guards;
pub mod host;
pub mod output;
pub mod pool;
#[cfg(target_os = "linux")]
pub mod process;
mod stop;

pub use bash::BashInterpreter;
pub use output::{Captured, LiveEvent, Output, OutputChunk, Stream};
#[cfg(target_os = "linux")]
pub use process::{ProcessInterpreter, Workers};

use host::{Host, Permissions};
use stop::{Cause, Stop};

/// A script and all it may see.
#[derive(Clone)]
pub struct Job {
    /// Whose script it is: what may be kept warm for it is this caller's alone.
    pub caller: Caller,
    /// Which sandbox's tree `base` is a version of.
    pub sandbox: SandboxId,
    /// bash source, not empty, without NUL.
    pub script: String,
    /// Prefix `set -x`.
    pub debug: bool,
    /// Absolute directory to start in. If it is gone: `/home/user`, and a warning.
    pub cwd: String,
    /// Exported variables, names checked by the caller.
    pub env: BTreeMap<String, String>,
    /// `$1`..
    pub args: Vec<String>,
    /// Bytes on standard input; `None` is an empty one.
    pub stdin: Option<Vec<u8>>,
    /// From the start of the script.
    pub timeout: Duration,
    /// The tree that the script sees. (Shared, never changed.)
    pub base: Tree,
    /// Next free inode number of `base`.
    pub next_ino: u64,
    /// Read-write or read-only.
    pub mode: Mode,
    /// Limits of the working copy.
    pub quota: Quota,
    /// Where contents come from.
    pub content: Arc<dyn ContentSource>,
    /// Where output goes.
    pub output: Arc<Output>,
    /// What the sandbox allows beyond files.
    pub permissions: Permissions,
    /// Who answers what the script asks for.
    pub host: Arc<dyn Host>,
}

/// How a script ended. Only `Exited` may be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code (0..=255).
    Exited(i32),
    /// Cut off at its timeout.
    TimedOut,
    /// Cut off by [`Control::cancel`].
    Cancelled,
    /// Cut off by the file system: read-only violation, quota, store gone.
    Fs(Fatal),
    /// Cut off by a limit of the interpreter: its name and value, for people.
    Limit {
        /// Stable name, such as `commands`, `loop_iterations`, `memory`.
        name: &'static str,
        /// One clear sentence.
        message: String,
    },
    /// The engine itself failed (panic, bug). The text is safe to show.
    Failed(String),
}

/// What a job came to. The output is in [`Job::output`].
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub end: End,
    /// Working directory at the end (absolute, may no longer exist).
    pub cwd: String,
    /// What changed. Empty unless `end` is `Exited` and the mode read-write.
    pub changes: ChangeSet,
    /// From the start of the script to its end.
    pub duration: Duration,
    /// Things the agent should know even if the script hid stderr.
    pub warnings: Vec<String>,
}

impl Ended {
    /// A job that came to no end of its own: nothing of it counts.
    #[must_use]
    pub fn without_changes(end: End, cwd: String, duration: Duration) -> Self {
        Self { end, cwd, changes: ChangeSet::default(), duration, warnings: Vec::new() }
    }
}

/// Reach into a running job from outside. Cheap to clone. One control may serve a job
/// and its re-run: once cancelled, it stays so.
#[derive(Clone, Debug, Default)]
pub struct Control {
    inner: Arc<ControlInner>,
}

#[derive(Debug, Default)]
struct ControlInner {
    state: Mutex<ControlState>,
    notify: tokio::sync::Notify,
}

#[derive(Debug, Default)]
struct ControlState {
    cancelled: bool,
    running: Option<Arc<Stop>>,
}

impl Control {
    /// A control nobody has used yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, ControlState> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the job as soon as possible and revokes its working copy at once: every
    /// later file call of the script fails and its change set is never produced.
    /// Idempotent.
    pub fn cancel(&self) {
        let running = {
            let mut state = self.state();
            state.cancelled = true;
            state.running.take()
        };
        if let Some(running) = running {
            running.stop(Cause::Cancelled);
        }
        self.inner.notify.notify_waiters();
    }

    /// Whether both reach into the same job.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Whether `cancel` was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state().cancelled
    }

    /// Lets `cancel` reach this job.
    pub(crate) fn attach(&self, running: &Arc<Stop>) {
        let mut state = self.state();
        if state.cancelled {
            drop(state);
            running.stop(Cause::Cancelled);
        } else {
            state.running = Some(running.clone());
        }
    }

    /// Resolves once cancelled.
    pub async fn cancelled(&self) {
        loop {
            let notified = self.inner.notify.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.is_cancelled() {
                return;
            }
            notified.await;
        }
    }
}

/// Runs jobs off the async workers.
#[async_trait::async_trait]
pub trait Interpreter: Send + Sync {
    /// Runs one job to its end. Never blocks the calling task's thread. Returns at
    /// the latest shortly after the timeout or a cancel, even if the thread below is
    /// stuck in a builtin: the thread is then abandoned, its working copy revoked.
    /// Dropping the future cancels the job in the same way.
    async fn run(&self, job: Job, control: Control) -> Ended;

    /// What it has done so far, for the metrics.
    fn figures(&self) -> Figures {
        Figures::default()
    }
}

/// What an interpreter with worker processes has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Worker processes that live.
    pub workers: u64,
    /// Those of them that stand still until it is their turn.
    pub standing: u64,
    /// Worker processes that were started.
    pub started: u64,
    /// Worker processes that ended, or had to be ended, in the middle of a script.
    pub lost: u64,
    /// Bytes of scripts and trees that were sent to workers; contents are not counted.
    pub sent_bytes: u64,
}
