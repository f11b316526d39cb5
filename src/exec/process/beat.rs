//! A beat on each processor while scripts compute: there the kernel looks anew who goes on.
//!
//! By itself it does so when a thread wakes up or sleeps, and at each tick, every 4 ms at 250 Hz. A
//! thread of the server, or of Postgres, that has used up its share a moment ago gives way to a script
//! that has only what nobody else wants, and would wait for the next tick. A thread that wakes up
//! for nothing, pinned to the processor, ends that wait.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Time between two beats. Each takes some microseconds of its processor.
const PERIOD: Duration = Duration::from_micros(500);

const STACK_BYTES: usize = 64 << 10;

/// The threads that beat. They end when it is dropped.
#[derive(Default)]
pub(super) struct Beat {
    shared: Arc<Shared>,
    started: OnceLock<()>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    scripts: usize,
    closed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there are scripts; `false`: there will be none any more.
    fn wait(&self) -> bool {
        let idle = |state: &mut State| state.scripts == 0 && !state.closed;
        let state = self.changed.wait_while(self.state(), idle);
        !state.unwrap_or_else(PoisonError::into_inner).closed
    }
}

impl Beat {
    /// A script computes from now on.
    pub(super) fn begin(&self) {
        self.started.get_or_init(|| processors().into_iter().for_each(|processor| self.start(processor)));
        self.shared.state().scripts += 1;
        self.shared.changed.notify_all();
    }

    /// It does so no more.
    pub(super) fn end(&self) {
        self.shared.state().scripts -= 1;
    }

    fn start(&self, processor: usize) {
        let shared = self.shared.clone();
        let beat = move || {
            if pin(processor) {
                while shared.wait() {
                    std::thread::park_timeout(PERIOD);
                }
            }
        };
        // Without it others wait a little longer.
        let _ = std::thread::Builder::new().name("beat".into()).stack_size(STACK_BYTES).spawn(beat);
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
    }
}

/// Numbers of the processors that this process may use.
#[expect(unsafe_code, reason = "the standard library has no call for it")]
fn processors() -> Vec<usize> {
    // SAFETY: a set of processors is bits, all of which may be zero.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most that many bytes to the set, which lives.
    let asked = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if asked != 0 {
        return Vec::new();
    }
    let most = libc::CPU_SETSIZE.unsigned_abs() as usize;
    // SAFETY: looks at a bit of the set; the number is below its size.
    (0..most).filter(|processor| unsafe { libc::CPU_ISSET(*processor, &set) }).collect()
}

/// Binds the calling thread to a processor.
#[expect(unsafe_code, reason = "the standard library has no call for it")]
fn pin(processor: usize) -> bool {
    // SAFETY: a set of processors is bits, all of which may be zero.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: sets a bit of the set; the number is below its size.
    unsafe { libc::CPU_SET(processor, &mut set) };
    // SAFETY: the kernel reads the set, which lives.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats() -> Vec<u64> {
        let threads = std::fs::read_dir("/proc/self/task").expect("threads").flatten();
        let beat = |task: std::fs::DirEntry| {
            let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
            let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            // How often it was let go on.
            (name == "beat\n").then(|| stat.split_whitespace().nth(2)?.parse().ok())?
        };
        threads.filter_map(beat).collect()
    }

    fn until(so: impl Fn() -> bool) {
        while !so() {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    #[test]
    fn it_beats_on_each_processor_while_there_are_scripts_and_ends() {
        let beat = Beat::default();
        beat.begin();
        until(|| beats().len() == processors().len());
        let before = beats();
        until(|| beats().iter().zip(&before).all(|(now, before)| *now > before + 10));
        beat.end();
        let still = || {
            let before = beats();
            std::thread::park_timeout(PERIOD * 20);
            beats() == before
        };
        // The last one may be under way.
        until(still);
        assert!(still());
        let still = beats();
        beat.begin();
        until(|| beats() != still);
        drop(beat);
        until(|| beats().is_empty());
    }
}
