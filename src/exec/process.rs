//! Scripts in worker processes: what one of them does, it does to a process that holds
//! one caller's files and nothing else.
//!
//! A script and the changes to the tree go in, output and a change set come out; contents
//! are asked for. No call to a file crosses the border. The worker computes; the server
//! keeps the time, checks what comes back, and kills what does not end.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};

use crate::clock::{self, Instant};
use crate::exec::stop::{Cause, Stop};
use crate::exec::{Control, End, Ended, Figures, Interpreter, Job};
use crate::fs::{ChangeSet, Delta, Quota, path};

mod beat;
mod check;
mod child;
mod contents;
pub(crate) mod guards;
mod memory;
mod outbox;
mod pool;
mod priority;
#[cfg(debug_assertions)]
pub mod probe;
mod spawner;
mod talk;
mod turns;
mod wire;
pub mod worker;

use child::Worker;
use pool::{Pool, Warm};
use priority::{Behind, Computing, LOOK};
use talk::Talk;
use wire::{Order, Prepare};

/// Longest piece of output in one frame.
const PIECE: usize = 64 << 10;

/// A script that was told to end has this long before its process is killed.
const GRACE: Duration = Duration::from_millis(60);

/// How long a script may go on after a fatal file call, to print its error.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A script that computes for longer goes behind all others, see `priority`.
const SHORT: Duration = Duration::from_millis(10);

/// A script that has computed for less has slept, mostly.
const NOTHING: Duration = Duration::from_millis(2);

/// The same where its worker cannot come back and has to be replaced afterwards.
const SHORT_FOR_GOOD: Duration = Duration::from_millis(100);

/// Runs bash scripts in processes of their own. Cheap to clone.
#[derive(Clone)]
pub struct ProcessInterpreter {
    places: Arc<Semaphore>,
    pool: Arc<Pool>,
    /// How long a script goes before others.
    short: Duration,
    /// Whether one that went behind can come back.
    can_restore: bool,
    /// Scripts that go behind others now.
    computing: Arc<Computing>,
}

/// How workers are made.
#[derive(Clone, Debug)]
pub struct Workers {
    /// The program that is a worker when its argument is `worker`.
    pub program: PathBuf,
    /// Scripts that run at the same time; others wait in order.
    pub running: usize,
    /// Most workers that wait for the next script of the caller whom they serve.
    pub waiting: usize,
    /// Most of these whose scripts may run Python.
    pub waiting_python: usize,
    /// Limits that scripts mostly have: an engine is made ahead for them.
    pub quota: Quota,
    /// Bytes of memory that a process may hold.
    pub memory: u64,
}

impl Workers {
    /// The program of this process, also after its file was replaced.
    pub const THIS_PROGRAM: &str = "/proc/self/exe";
}

impl ProcessInterpreter {
    /// Needs a tokio runtime: the first workers are started here.
    #[must_use]
    pub fn new(workers: Workers) -> Self {
        let prepare = Prepare { quota: workers.quota, memory: workers.memory };
        let pool = Pool::new(workers.program, prepare, workers.waiting, workers.waiting_python);
        pool.refill(false);
        let can_restore = priority::can_restore();
        let short = if can_restore { SHORT } else { SHORT_FOR_GOOD };
        Self {
            places: Arc::new(Semaphore::new(workers.running.max(1))),
            pool,
            short,
            can_restore,
            computing: Arc::default(),
        }
    }
}

#[async_trait::async_trait]
impl Interpreter for ProcessInterpreter {
    async fn run(&self, job: Job, control: Control) -> Ended {
        let stop = Arc::new(Stop::default());
        control.attach(&stop);
        let ready = async {
            // The semaphore is never closed.
            let place = self.places.clone().acquire_owned().await.expect("an open semaphore");
            (place, self.pool.take(&job).await)
        };
        let (place, warm) = tokio::select! {
            biased;
            () = control.cancelled() => return cut_off(End::Cancelled, &job, Duration::ZERO),
            ready = ready => ready,
        };
        let ended = match warm {
            Ok(warm) => self.converse(warm, &job, &stop).await,
            Err(error) => {
                tracing::error!(%error, "no worker process for a script");
                cut_off(
                    End::Failed("the server has no worker process for the script".into()),
                    &job,
                    Duration::ZERO,
                )
            }
        };
        drop(place);
        ended
    }

    fn figures(&self) -> Figures {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &self.pool.counts;
        Figures {
            workers: read(&counts.alive),
            standing: self.computing.standing(),
            started: read(&counts.started),
            lost: read(&counts.lost),
            sent_bytes: read(&counts.sent_bytes),
        }
    }
}

impl ProcessInterpreter {
    /// Gives a script to a worker, keeps its time and its place among others, and takes in
    /// what comes back.
    async fn attend(
        &self,
        warm: &mut Warm,
        job: &Job,
        stop: &Stop,
        latched: &Latched,
        started: Instant,
        tree: wire::TreeUpdate,
    ) -> Outcome {
        let number = warm.scripts;
        let Worker { line, orders, thread, handle, used: before, .. } = &mut warm.worker;
        let (thread, before) = (*thread, *before);
        let mut talk = pin!(Talk::new(line, job, latched, &self.pool.counts).run(number, tree));
        let mut watch = Watch::new(started + job.timeout);
        let put = |early| {
            Behind::put(thread, handle.as_ref(), &job.caller, &self.computing, early, self.can_restore)
        };
        let mut behind = if self.computing.is_full(&job.caller) { put(true) } else { None };
        let mut look_at = Some(started + if behind.is_some() { LOOK } else { self.short });
        let mut told_at = None;
        loop {
            tokio::select! {
                biased;
                said = &mut talk => return Outcome { said: Some(said), behind, told_at },
                () = stop.told(), if !watch.told => {
                    told_at = Some(priority::used(thread));
                    let order = if stop.cause() == Some(Cause::TimedOut) { Order::Timeout } else { Order::Cancel };
                    orders.give(order, number);
                    watch.told_now();
                    behind.iter_mut().for_each(Behind::may_end);
                }
                () = latched.told.notified() => {
                    watch.latched_now();
                    look_at = None;
                    behind.iter_mut().for_each(Behind::may_end);
                }
                () = tokio::time::sleep_until(watch.next()) => match watch.due() {
                    Due::Timeout => stop.stop(Cause::TimedOut),
                    Due::Interrupt => orders.give(Order::Interrupt, number),
                    Due::Kill => return Outcome { said: None, behind, told_at },
                },
                () = sleep(look_at), if look_at.is_some() && !watch.told => {
                    if let Some(behind) = &mut behind {
                        behind.look();
                        look_at = Some(clock::now() + LOOK);
                        continue;
                    }
                    let used = priority::used(thread).saturating_sub(before);
                    let left = self.short.saturating_sub(used);
                    // One that sleeps is looked at ever more rarely.
                    let pause = if used < NOTHING { started.elapsed() } else { left.max(NOTHING) };
                    look_at = (!left.is_zero()).then(|| clock::now() + pause);
                    if look_at.is_none() {
                        behind = put(false);
                        look_at = behind.as_ref().map(|_| clock::now() + LOOK);
                    }
                }
            }
        }
    }

    async fn converse(&self, mut warm: Warm, job: &Job, stop: &Stop) -> Ended {
        warm.scripts += 1;
        let since = match &warm.tree {
            Some((of, tree)) if *of == job.sandbox => {
                wire::TreeUpdate::Changes(Delta::between(tree, &job.base))
            }
            _ => wire::TreeUpdate::Whole(job.base.rows()),
        };
        warm.tree = Some((job.sandbox, job.base.clone()));
        let started = clock::now();
        let latched = Latched::default();
        let Outcome { said, behind, told_at } =
            self.attend(&mut warm, job, stop, &latched, started, since).await;
        let told = || stop.end();
        let (said, claim) = match said {
            Some(Ok(said)) => said,
            None => {
                let ended = cut_off(latched.end().unwrap_or_else(told), job, started.elapsed());
                let told_at = told_at.filter(|_| behind.is_none() || self.can_restore);
                self.pool.wind_down(warm, job.quota, told_at, behind);
                return ended;
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                return wrong_answer(&error.to_string(), job, started.elapsed());
            }
            Some(Err(error)) => {
                self.pool.counts.lost.fetch_add(1, Ordering::Relaxed);
                let memory = self.pool.memory();
                let death = warm.worker.autopsy().await;
                let end = match stop.complete() {
                    Err(_) => told(),
                    Ok(()) => latched.end().unwrap_or_else(|| death.end(memory)),
                };
                if death == child::Death::Unknown {
                    tracing::error!(%error, ?end, "a worker process ended in a script");
                }
                return cut_off(end, job, started.elapsed());
            }
        };
        warm.worker.used = said.used;
        let duration = Duration::from_micros(said.duration_us).min(started.elapsed());
        let worn = said.worn || behind.and_then(Behind::back).is_some();
        let end = said.ending.end(told);
        let wanted = matches!(end, End::Exited(_));
        let changes = if wanted { checked(job, claim).await } else { Ok(ChangeSet::default()) };
        let changes = match changes {
            Ok(changes) => changes,
            Err(why) => return wrong_answer(&why, job, duration),
        };
        if worn {
            drop(warm);
        } else {
            self.pool.give_back(warm);
        }
        // Exactly one side wins, the script's own end or what cuts it off.
        match stop.complete() {
            Err(_) if wanted => cut_off(told(), job, started.elapsed()),
            Err(Cause::TimedOut) => Ended { changes, ..cut_off(end, job, started.elapsed()) },
            Ok(()) | Err(_) => {
                let cwd = if path::check(&said.cwd).is_ok() { said.cwd } else { job.cwd.clone() };
                let warnings = said.warnings.into_iter().take(WARNINGS).map(wire::short).collect();
                Ended { end, cwd, changes, duration, warnings }
            }
        }
    }
}

/// What came of a script.
struct Outcome {
    /// `None`: it did not end when it was told to.
    said: Option<io::Result<(wire::Ended, check::Claim)>>,
    /// Its thread's place, if it is behind others now.
    behind: Option<Behind>,
    /// Processor time of its thread when it was told to end, if it was.
    told_at: Option<Duration>,
}

/// Most warnings of one script that are passed on.
const WARNINGS: usize = 100;

async fn sleep(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

async fn checked(job: &Job, claim: check::Claim) -> Result<ChangeSet, String> {
    /// Contents of more bytes than this are not hashed on the server's own threads.
    const HASHED_HERE: usize = 64 << 10;
    let (base, next_ino, mode, quota) = (job.base.clone(), job.next_ino, job.mode, job.quota);
    let bytes: usize = claim.contents.iter().map(|(_, data)| data.len()).sum();
    let rows = claim.delta.inodes.len() + claim.delta.dirents.len();
    let check = move || check::checked(&base, next_ino, mode, &quota, claim);
    if bytes + rows * 200 <= HASHED_HERE {
        return check();
    }
    tokio::task::spawn_blocking(check).await.map_err(|error| error.to_string())?
}

/// The worker is not what it should be; it is killed by being dropped.
fn wrong_answer(why: &str, job: &Job, duration: Duration) -> Ended {
    tracing::error!(why, "a worker process broke its protocol and is killed");
    cut_off(End::Failed("the script's worker process gave a wrong answer".into()), job, duration)
}

fn cut_off(end: End, job: &Job, duration: Duration) -> Ended {
    Ended::without_changes(end, job.cwd.clone(), duration)
}

/// An end that the worker has announced and not yet come to.
#[derive(Default)]
struct Latched {
    end: Mutex<Option<End>>,
    told: Notify,
}

impl Latched {
    fn set(&self, end: End) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
        self.told.notify_one();
    }

    fn end(&self) -> Option<End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the server waits for next, and until when.
struct Watch {
    deadline: Instant,
    told: bool,
    interrupt: Option<Instant>,
    kill: Option<Instant>,
}

enum Due {
    Timeout,
    Interrupt,
    Kill,
}

impl Watch {
    fn new(deadline: Instant) -> Self {
        Self { deadline, told: false, interrupt: None, kill: None }
    }

    /// The worker was told to end the script.
    fn told_now(&mut self) {
        self.told = true;
        self.kill = Some(clock::now() + GRACE);
    }

    /// The worker ends the script by itself, and has still to print why.
    fn latched_now(&mut self) {
        if self.kill.is_none() {
            self.interrupt = Some(clock::now() + LAST_WORDS);
        }
    }

    fn next(&self) -> Instant {
        self.kill.or(self.interrupt).unwrap_or(self.deadline)
    }

    fn due(&mut self) -> Due {
        if self.kill.is_some() {
            return Due::Kill;
        }
        if self.interrupt.take().is_some() {
            self.kill = Some(clock::now() + GRACE);
            return Due::Interrupt;
        }
        // The order goes out when the cause is told.
        self.kill = Some(clock::now() + GRACE);
        Due::Timeout
    }
}
