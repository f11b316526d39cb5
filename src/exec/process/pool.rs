//! Worker processes that wait: some that have served nobody, made ahead, and some that
//! are warm with one caller's files. A worker serves one caller in its life.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::child::Worker;
use super::guards::Closed;
use super::priority::{self, Behind};
use super::talk::drain;
use super::wire::Prepare;
use crate::clock::{self, Instant};
use crate::exec::Job;
use crate::fs::{Quota, Tree};
use crate::ids::{Caller, SandboxId};

/// Workers that are made ahead.
const SPARE: usize = 2;

/// The same of those for Python, once a script needed one: they take longer to start.
const SPARE_PYTHON: usize = 1;

/// Entries from which a tree is large: to send it takes longer than most scripts.
const LARGE: u64 = 200;

/// Workers of one caller that wait with a large tree each, before one has to change trees.
const LARGE_TREES: usize = 4;

/// How long workers above the number that is kept wait all the same: scripts that ended together
/// are mostly followed by as many, and a worker takes longer to start than most scripts to run.
const LINGER: Duration = Duration::from_secs(5);

/// Processor time that a script may take to end after it was told to.
const TO_END: Duration = Duration::from_millis(30);

/// The same by the clock, on a machine that is busy with other things.
const LONGEST_END: Duration = Duration::from_secs(1);

/// A worker and what it has seen.
pub(super) struct Warm {
    pub(super) worker: Worker,
    /// Whom it serves.
    pub(super) caller: Caller,
    /// The tree that it has.
    pub(super) tree: Option<(SandboxId, Tree)>,
    /// Scripts that it was given.
    pub(super) scripts: u64,
    /// When it came back from the last one.
    since: Instant,
}

/// All workers that no script runs on.
pub(super) struct Pool {
    program: PathBuf,
    prepare: Prepare,
    /// Most warm workers that wait for longer than [`LINGER`].
    keep: usize,
    /// Most of them for Python, which hold several times as much; none lingers.
    keep_python: usize,
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
    plain: Ahead,
    python: Ahead,
    /// The one that was used last is at the end.
    warm: Vec<Warm>,
    /// Whether those are watched that only linger.
    watched: bool,
    told: bool,
}

/// Workers of one kind that have served nobody.
#[derive(Default)]
struct Ahead {
    ready: Vec<Worker>,
    starting: usize,
}

impl Waiting {
    fn ahead(&mut self, python: bool) -> &mut Ahead {
        if python { &mut self.python } else { &mut self.plain }
    }
}

impl Pool {
    pub(super) fn new(program: PathBuf, prepare: Prepare, keep: usize, keep_python: usize) -> Arc<Self> {
        let (waiting, counts) = (Mutex::default(), Arc::default());
        Arc::new(Self { program, prepare, keep, keep_python, waiting, counts })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of memory that a worker may hold.
    pub(super) fn memory(&self) -> u64 {
        self.prepare.memory
    }

    /// A worker for a job: best one that has its tree, else one of its caller, else a new one;
    /// with Python if the job may run it.
    pub(super) async fn take(self: &Arc<Self>, job: &Job) -> io::Result<Warm> {
        let (caller, python) = (&job.caller, job.permissions.python);
        let has_tree = |warm: &Warm| warm.tree.as_ref().is_some_and(|(of, _)| *of == job.sandbox);
        if let Some(warm) = self.warm(caller, python, has_tree) {
            return Ok(warm);
        }
        // One after another, scripts of several sandboxes would push each other's trees out.
        let wants_own = job.base.entries() >= LARGE && self.count(caller) < LARGE_TREES;
        let mut spare = if wants_own { self.spare(python) } else { None };
        if spare.is_none() {
            if let Some(warm) = self.warm(caller, python, |_| true) {
                return Ok(warm);
            }
            spare = self.spare(python);
        }
        let worker = match spare {
            Some(worker) => worker,
            None => self.start(python).await?,
        };
        self.refill(python);
        Ok(Warm { worker, caller: caller.clone(), tree: None, scripts: 0, since: clock::now() })
    }

    fn spare(&self, python: bool) -> Option<Worker> {
        self.waiting().ahead(python).ready.pop().filter(|worker| worker.line.is_quiet())
    }

    /// Workers of a caller that wait.
    fn count(&self, caller: &Caller) -> usize {
        self.waiting().warm.iter().filter(|warm| warm.caller == *caller).count()
    }

    /// The worker of a caller that was used last among those that fit.
    fn warm(&self, caller: &Caller, python: bool, fits: impl Fn(&Warm) -> bool) -> Option<Warm> {
        loop {
            let mut waiting = self.waiting();
            let fits = |warm: &Warm| warm.caller == *caller && warm.worker.python >= python && fits(warm);
            let place = waiting.warm.iter().rposition(fits)?;
            let warm = waiting.warm.remove(place);
            drop(waiting);
            // One that has died or spoken out of turn meanwhile is dropped.
            if warm.worker.line.is_quiet() {
                return Some(warm);
            }
        }
    }

    /// Takes a worker back, for the next script of its caller.
    pub(super) fn give_back(self: &Arc<Self>, mut warm: Warm) {
        warm.since = clock::now();
        let mut waiting = self.waiting();
        waiting.warm.push(warm);
        let is_python = |warm: &Warm| warm.worker.python;
        let too_many = waiting.warm.iter().filter(|warm| is_python(warm)).count() > self.keep_python;
        let oldest = if too_many { waiting.warm.iter().position(is_python) } else { None };
        let oldest = oldest.map(|oldest| waiting.warm.remove(oldest));
        let watch = waiting.warm.len() > self.keep && !std::mem::replace(&mut waiting.watched, true);
        drop(waiting);
        drop(oldest);
        if watch {
            tokio::spawn(self.clone().thin_out());
        }
    }

    /// Ends workers above the number that is kept once they have lingered, until there are none.
    async fn thin_out(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LINGER / 5).await;
            let mut waiting = self.waiting();
            let above = waiting.warm.len().saturating_sub(self.keep);
            // The oldest stand first.
            let lingered = |warm: &&Warm| warm.since.elapsed() >= LINGER;
            let gone = waiting.warm.iter().take(above).take_while(lingered).count();
            let gone: Vec<Warm> = waiting.warm.drain(..gone).collect();
            waiting.watched = above > gone.len();
            let done = !waiting.watched;
            drop(waiting);
            drop(gone);
            if done {
                return;
            }
        }
    }

    /// Ends the script of a worker whose caller has had the answer. A script that only waits
    /// for the processor may come to its end, behind others if it is; `used`: processor time of
    /// its thread when it was told to, `None` if the worker is not worth waiting for. Otherwise it
    /// is killed.
    pub(super) fn wind_down(
        self: &Arc<Self>,
        mut warm: Warm,
        quota: Quota,
        used: Option<Duration>,
        behind: Option<Behind>,
    ) {
        let (thread, pool) = (warm.worker.thread, self.clone());
        let stuck = move || used.is_none_or(|used| priority::used(thread).saturating_sub(used) > TO_END);
        if stuck() || !warm.worker.line.is_whole() {
            return self.kill(warm, behind);
        }
        let until = clock::now() + LONGEST_END;
        tokio::spawn(async move {
            let ended = {
                let mut drain = pin!(drain(&mut warm.worker.line, &quota));
                loop {
                    tokio::select! {
                        biased;
                        ended = &mut drain => break ended.is_ok_and(|worn| !worn),
                        () = tokio::time::sleep(TO_END) => if stuck() || clock::now() > until { break false },
                    }
                }
            };
            match behind.and_then(Behind::back) {
                None if ended => pool.give_back(warm),
                behind => pool.kill(warm, behind),
            }
        });
    }

    /// To die takes the processor, too: whoever is behind others comes forward for it.
    fn kill(&self, warm: Warm, behind: Option<Behind>) {
        drop(behind.map(Behind::back));
        self.counts.lost.fetch_add(1, Ordering::Relaxed);
        tracing::debug!("a script does not end and its worker process is killed");
        drop(warm);
    }

    /// Starts workers ahead, as far as they are missing.
    pub(super) fn refill(self: &Arc<Self>, python: bool) {
        let missing = {
            let mut waiting = self.waiting();
            let ahead = waiting.ahead(python);
            let wanted = if python { SPARE_PYTHON } else { SPARE };
            let missing = wanted.saturating_sub(ahead.ready.len() + ahead.starting);
            ahead.starting += missing;
            missing
        };
        for _ in 0..missing {
            let pool = self.clone();
            tokio::spawn(async move {
                let started = pool.start(python).await;
                let mut waiting = pool.waiting();
                let ahead = waiting.ahead(python);
                ahead.starting -= 1;
                match started {
                    Ok(worker) => ahead.ready.push(worker),
                    Err(error) => tracing::warn!(%error, "a worker process does not start"),
                }
            });
        }
    }

    async fn start(&self, python: bool) -> io::Result<Worker> {
        let worker = Worker::start(&self.program, &self.prepare, python, self.counts.clone()).await?;
        let Closed { landlock, seccomp } = worker.closed;
        if (landlock.is_none() || !seccomp) && !std::mem::replace(&mut self.waiting().told, true) {
            tracing::warn!(?landlock, seccomp, "this kernel lacks guards that worker processes use");
        }
        Ok(worker)
    }
}
