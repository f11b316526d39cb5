//! One script from its first line to its change set, on the thread of a job.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bashkit::{Bash, ExecOptions};

use super::engine::{Engine, HOME, Scene};
use super::errors::{self, Outcome};
use super::hooks::{self, Seen};
use crate::clock;
use crate::exec::pool::Seat;
use crate::exec::stop::{Cause, Stop};
use crate::exec::{End, Ended, Job, Output, Stream, guards};
use crate::fs::{ChangeSet, Kind, Mode, WorkingCopy};

/// Runs `job`; blocks the thread until it has ended.
pub(super) fn run(seat: &Seat, mut job: Job, stop: &Arc<Stop>) -> Ended {
    let started = clock::now();
    stop.start(started);
    let mut warnings = Vec::new();
    let working_copy =
        Arc::new(WorkingCopy::new(job.base, job.next_ino, job.mode, job.quota, job.content, clock::wall_ns));
    let told = stop.clone();
    working_copy.on_fatal(Box::new(move |_| told.stop(Cause::Fs)));
    if !working_copy.stat(&job.cwd, true).is_ok_and(|stat| stat.kind == Kind::Dir) {
        warnings.push(format!("the directory {} does not exist; started in {HOME}", job.cwd));
        HOME.clone_into(&mut job.cwd);
    }
    let mut script = if job.debug { format!("set -x; {}", job.script) } else { job.script };
    // A here-document that ends with the script ends with a line.
    if !script.is_empty() && !script.ends_with('\n') {
        script.push('\n');
    }
    let script: Arc<str> = script.into();
    warnings.extend(guards::long_ranges(&script));
    let seen = Arc::new(Seen::default());
    let spare = seat.take::<Engine>().filter(|engine| engine.fits(&job.cwd, &job.quota));
    let mut engine = spare.unwrap_or_else(|| Engine::new(&job.cwd, job.quota));
    engine.open(Scene {
        files: working_copy.clone(),
        seen: seen.clone(),
        stop: stop.clone(),
        script: script.clone(),
        permissions: job.permissions,
        host: job.host,
    });
    let bash = &mut engine.bash;
    for (name, value) in &job.env {
        bash.set_env(name, value);
    }
    stop.attach(&working_copy, bash.cancellation_token());

    let outcome = if let Err(refused) = guards::check_text(&script) {
        Outcome::End(End::Limit { name: refused.name, message: refused.message })
    } else {
        let stdin = job.stdin.unwrap_or_default();
        let options = ExecOptions::new().arg0("bash").positional(job.args).stdin(stdin);
        let result = seat.runtime().block_on(async {
            tokio::select! {
                biased;
                result = execute(bash, &script, options, &job.output) => result,
                () = end_when_told(stop) => Err(bashkit::Error::Cancelled),
            }
        });
        errors::outcome(result, &script)
    };
    let outcome = match outcome {
        Outcome::Said { code, stderr } => {
            seat.runtime().block_on(job.output.write(Stream::Stderr, stderr.as_bytes()));
            End::Exited(code)
        }
        Outcome::End(end) => end,
    };
    let cwd = if seen.moved.load(Ordering::Relaxed) {
        bash.shell_state_view().cwd.to_str().unwrap_or(HOME).to_owned()
    } else {
        job.cwd
    };
    // The interpreter may hold large values; they are not part of the script's time.
    let duration = started.elapsed();
    let (end, changes) = finish(&working_copy, stop, outcome, job.mode);
    if hooks::stack_is_worn() {
        seat.retire();
    }
    // The used engine goes and the next one comes after the answer is out. Scripts of a
    // thread mostly start where the last one ended.
    let next = (cwd.clone(), job.quota);
    seat.afterwards(move |seat| {
        drop((engine, working_copy));
        seat.keep(Engine::new(&next.0, next.1));
    });
    Ended { end, cwd, changes, duration, warnings }
}

/// After a fatal file call the script is interrupted where the engine yields: what it
/// has printed until then, the error among it, has left by that time. The engine does
/// not deliver output once its flag is set.
async fn end_when_told(stop: &Stop) {
    stop.fatal().await;
    stop.interrupt();
    std::future::pending::<()>().await;
}

async fn execute(
    bash: &mut Bash,
    script: &str,
    options: ExecOptions,
    output: &Output,
) -> bashkit::Result<i32> {
    let result = bash
        .execute(script)
        .options(options)
        .stdout_fn(move |data| async move {
            output.write(Stream::Stdout, &data).await;
            Ok(())
        })
        .stderr_fn(move |data| async move {
            output.write(Stream::Stderr, &data).await;
            Ok(())
        })
        .await?;
    Ok(result.exit_code)
}

/// Decides between the script's own end and a cause that cut it off, exactly once.
fn finish(working_copy: &WorkingCopy, stop: &Stop, end: End, mode: Mode) -> (End, ChangeSet) {
    let changes = match (&end, mode) {
        (End::Exited(_), Mode::ReadWrite) => working_copy.finish(),
        _ => Ok(ChangeSet::default()),
    };
    // Also when the engine reports an end of its own: a cause that was first explains it.
    match (stop.complete(), changes) {
        (Err(cause), _) => (stop.end_of(cause), ChangeSet::default()),
        (Ok(()), Ok(changes)) => (end, changes),
        (Ok(()), Err(errno)) => match working_copy.fatal() {
            Some(fatal) => (End::Fs(fatal), ChangeSet::default()),
            None => (End::Failed(format!("the change set cannot be made: {errno}")), ChangeSet::default()),
        },
    }
}
