//! Worker processes that wait: some that have served nobody, made ahead, and some that
//! are warm with one caller's files. A worker serves one caller in its life.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::child::Worker;
use super::guards::Closed;
use super::wire::Prepare;
use crate::fs::Tree;
use crate::ids::{Caller, SandboxId};

/// Workers that are made ahead.
const SPARE: usize = 2;

/// A worker and what it has seen.
pub(super) struct Warm {
    pub(super) worker: Worker,
    /// Whom it serves from its first script on.
    pub(super) caller: Option<Caller>,
    /// The tree that it has.
    pub(super) tree: Option<(SandboxId, Tree)>,
    /// Scripts that it was given.
    pub(super) scripts: u64,
}

/// All workers that no script runs on.
pub(super) struct Pool {
    program: PathBuf,
    prepare: Prepare,
    /// Most warm workers that wait.
    keep: usize,
    waiting: Mutex<Waiting>,
    pub(super) counts: Arc<Counts>,
}

/// What `Figures` is made of.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) alive: AtomicU64,
    pub(super) started: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) sent_bytes: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    spare: Vec<Worker>,
    starting: usize,
    /// The one that was used last is at the end.
    warm: Vec<Warm>,
    told: bool,
}

impl Pool {
    pub(super) fn new(program: PathBuf, prepare: Prepare, keep: usize) -> Arc<Self> {
        Arc::new(Self { program, prepare, keep, waiting: Mutex::default(), counts: Arc::default() })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of memory that a worker may hold.
    pub(super) fn memory(&self) -> u64 {
        self.prepare.memory
    }

    /// A worker for this caller, best one that has the sandbox's tree.
    pub(super) async fn take(self: &Arc<Self>, caller: &Caller, sandbox: SandboxId) -> io::Result<Warm> {
        if let Some(warm) = self.warm(caller, sandbox) {
            return Ok(warm);
        }
        let spare = self.waiting().spare.pop().filter(|worker| worker.line.is_quiet());
        let worker = match spare {
            Some(worker) => worker,
            None => self.start().await?,
        };
        self.refill();
        Ok(Warm { worker, caller: Some(caller.clone()), tree: None, scripts: 0 })
    }

    fn warm(&self, caller: &Caller, sandbox: SandboxId) -> Option<Warm> {
        loop {
            let mut waiting = self.waiting();
            let of_caller = |warm: &Warm| warm.caller.as_ref() == Some(caller);
            let has_tree = |warm: &Warm| warm.tree.as_ref().is_some_and(|(of, _)| *of == sandbox);
            let best = waiting.warm.iter().rposition(|warm| of_caller(warm) && has_tree(warm));
            let place = best.or_else(|| waiting.warm.iter().rposition(of_caller))?;
            let warm = waiting.warm.remove(place);
            drop(waiting);
            // One that has died or spoken out of turn meanwhile is dropped.
            if warm.worker.line.is_quiet() {
                return Some(warm);
            }
        }
    }

    /// Takes a worker back, for the next script of its caller.
    pub(super) fn give_back(&self, warm: Warm) {
        let mut waiting = self.waiting();
        waiting.warm.push(warm);
        let oldest = if waiting.warm.len() > self.keep { Some(waiting.warm.remove(0)) } else { None };
        drop(waiting);
        drop(oldest);
    }

    /// Starts workers ahead, as far as they are missing.
    pub(super) fn refill(self: &Arc<Self>) {
        let missing = {
            let mut waiting = self.waiting();
            let missing = SPARE.saturating_sub(waiting.spare.len() + waiting.starting);
            waiting.starting += missing;
            missing
        };
        for _ in 0..missing {
            let pool = self.clone();
            tokio::spawn(async move {
                let started = pool.start().await;
                let mut waiting = pool.waiting();
                waiting.starting -= 1;
                match started {
                    Ok(worker) => waiting.spare.push(worker),
                    Err(error) => tracing::warn!(%error, "a worker process does not start"),
                }
            });
        }
    }

    async fn start(&self) -> io::Result<Worker> {
        let worker = Worker::start(&self.program, &self.prepare, self.counts.clone()).await?;
        let Closed { landlock, seccomp } = worker.closed;
        if (landlock.is_none() || !seccomp) && !std::mem::replace(&mut self.waiting().told, true) {
            tracing::warn!(?landlock, seccomp, "this kernel lacks guards that worker processes use");
        }
        Ok(worker)
    }
}
