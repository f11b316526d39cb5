//! The interpreter behind [`super::Interpreter`]. This file and those below it are the
//! only ones that name bashkit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::clock;
use crate::exec::pool::{Place, Pool, Seat};
use crate::exec::stop::{Cause, Stop};
use crate::exec::{Control, End, Ended, Interpreter, Job};
use crate::fs::Quota;

mod commands;
mod engine;
mod errors;
mod file_system;
mod hooks;
mod library;
mod limits;
pub(crate) mod python;
mod script;
mod tee;
mod umask;

/// A thread that does not come back this long after a timeout or a cancel is given up.
const GRACE: Duration = Duration::from_millis(250);

/// How long a script may go on after a fatal file call, to print its error, before it is
/// interrupted inside a command.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Runs bash scripts on a bounded pool of threads. Cheap to clone.
#[derive(Clone)]
pub struct BashInterpreter {
    pool: Pool,
}

impl BashInterpreter {
    /// An interpreter that runs at most `threads` scripts at the same time; others wait
    /// in order. Threads that had to be given up do not count.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self { pool: Pool::new(threads) }
    }
}

#[async_trait::async_trait]
impl Interpreter for BashInterpreter {
    async fn run(&self, job: Job, control: Control) -> Ended {
        let stop = Arc::new(Stop::default());
        control.attach(&stop);
        // The caller may drop this future at any await.
        let left = StopOnDrop(&stop);
        let place = tokio::select! {
            biased;
            () = control.cancelled() => return cut_off(&stop, job.cwd),
            place = self.pool.place() => place,
        };
        let ended = run_at(place, job, &stop).await;
        std::mem::forget(left);
        ended
    }
}

/// Runs a job on the calling thread, which is a worker process' own. A panic of the engine
/// is the job's failure, and the thread should not take another.
pub(crate) fn run_here(seat: &Seat, job: Job, stop: &Arc<Stop>) -> Ended {
    let cwd = job.cwd.clone();
    // What a panic may have left half-done belongs to the job.
    catch_unwind(AssertUnwindSafe(|| script::run(seat, job, stop))).unwrap_or_else(|_| {
        seat.retire();
        failed(PANICKED, cwd)
    })
}

/// Makes an engine ahead for the first script of a thread.
pub(crate) fn prepare(seat: &Seat, quota: Quota) {
    seat.keep(engine::Engine::new(engine::HOME, quota));
}

async fn run_at(place: Place, job: Job, stop: &Arc<Stop>) -> Ended {
    let (cwd, timeout, output) = (job.cwd.clone(), job.timeout, job.output.clone());
    let shared = stop.clone();
    let running = place.start(GRACE, move |seat| script::run(seat, job, &shared));
    let mut running = match running {
        Ok(running) => running,
        Err(error) => {
            tracing::error!(%error, "no thread for a script");
            return failed("the server has no thread for the script", cwd);
        }
    };
    // The engine keeps the time itself wherever it yields; this side acts when it does
    // not, as in a large sort.
    let mut deadline = clock::now() + timeout;
    loop {
        tokio::select! {
            biased;
            result = &mut running => return came_back(result, cwd),
            () = stop.told() => break,
            () = tokio::time::sleep_until(deadline) => {
                // The thread may have started later than this side thought.
                match stop.started() {
                    Some(started) if started + timeout > deadline => deadline = started + timeout,
                    _ => {
                        stop.stop(Cause::TimedOut);
                        break;
                    }
                }
            }
        }
    }
    if stop.cause() == Some(Cause::Fs) {
        if let Ok(result) = tokio::time::timeout(LAST_WORDS, &mut running).await {
            return came_back(result, cwd);
        }
        stop.interrupt();
    }
    if let Ok(result) = tokio::time::timeout(GRACE, &mut running).await {
        return came_back(result, cwd);
    }
    tracing::warn!(cause = ?stop.cause(), "a script's thread does not come back and is given up");
    running.give_up();
    output.close();
    cut_off(stop, cwd)
}

fn came_back(result: Result<Ended, crate::exec::pool::Panicked>, cwd: String) -> Ended {
    result.unwrap_or_else(|panicked| {
        tracing::error!(%panicked, "the interpreter panicked");
        failed(PANICKED, cwd)
    })
}

const PANICKED: &str = "the interpreter failed on this script";

fn failed(text: &str, cwd: String) -> Ended {
    Ended::without_changes(End::Failed(text.to_owned()), cwd, Duration::ZERO)
}

/// The end of a job whose thread cannot tell it.
fn cut_off(stop: &Stop, cwd: String) -> Ended {
    let duration = stop.started().map_or(Duration::ZERO, |started| started.elapsed());
    Ended::without_changes(stop.end(), cwd, duration)
}

/// The caller left: nothing of the script may come true.
struct StopOnDrop<'a>(&'a Stop);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop(Cause::Cancelled);
    }
}
