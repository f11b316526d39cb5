//! Which scripts the kernel lets go first: those that have only begun. One that computes
//! for long goes behind everything else on the machine, so that 48 of them do not make a
//! short one of somebody else wait.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::SHORT;
use super::beat::Beat;
use super::turns::{Process, Turn, Turns};
use crate::clock::{self, Instant};
use crate::ids::Caller;

/// The nice value of a script that computes for long: a ninth of an ordinary share. There is about
/// one on each processor, see `turns`.
const LOW: i32 = 10;

/// Scripts that together get less than this part of what they could use are not left with what
/// nobody else wants: beside a busy neighbour they would stand still.
const LEAST_PART: u32 = 8;

/// Over which time that is judged. One of many may have its turn only every half second.
const WINDOW: Duration = Duration::from_secs(1);

/// How long it is remembered of a caller that its scripts kept all processors busy: they may end
/// and begin again together.
const REMEMBERED: Duration = Duration::from_secs(2);

/// How often that is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(200);

/// Scripts that go behind others now.
pub(super) struct Computing {
    by_caller: Mutex<HashMap<Caller, Load>>,
    leftover: Mutex<Leftover>,
    turns: Arc<Turns>,
    beat: Beat,
}

impl Default for Computing {
    fn default() -> Self {
        Self {
            by_caller: Mutex::default(),
            leftover: Mutex::default(),
            turns: Turns::new(processors()),
            beat: Beat::default(),
        }
    }
}

/// What those scripts got together that have only what nobody else wants.
#[derive(Default)]
struct Leftover {
    scripts: usize,
    /// When the window began.
    since: Option<Instant>,
    /// What they computed in it, and for how long they were there, one after another.
    computed: Duration,
    present: Duration,
    starving: bool,
}

impl Leftover {
    fn enter(&mut self) {
        if self.scripts == 0 {
            *self = Self { since: Some(clock::now()), ..Self::default() };
        }
        self.scripts += 1;
    }

    /// Notes what one of them got since it was looked at last; whether all of them starve.
    fn note(&mut self, computed: Duration, present: Duration, processors: u32) -> bool {
        self.computed += computed;
        self.present += present;
        let now = clock::now();
        let elapsed = self.since.map_or(Duration::ZERO, |since| now - since);
        if elapsed >= WINDOW {
            self.starving = self.computed * LEAST_PART < self.present.min(elapsed * processors);
            (self.since, self.computed, self.present) = (Some(now), Duration::ZERO, Duration::ZERO);
        }
        self.starving
    }
}

/// What one caller's scripts compute.
#[derive(Default)]
struct Load {
    count: usize,
    /// When they kept every processor busy.
    full: Option<Instant>,
}

impl Load {
    fn note(&mut self) {
        if self.count >= processors() {
            self.full = Some(clock::now());
        }
    }

    fn is_full(&self) -> bool {
        self.count >= processors() || self.full.is_some_and(|full| full.elapsed() < REMEMBERED)
    }
}

impl Computing {
    /// Whether scripts of a caller keep every processor busy, or have just done so: its next
    /// one has no claim to go before others.
    pub(super) fn is_full(&self, caller: &Caller) -> bool {
        let waiting = self.turns.waiting(caller);
        let mut loads = self.by_caller();
        let Some(load) = loads.get_mut(caller) else { return false };
        if waiting >= processors() {
            load.full = Some(clock::now());
        }
        load.is_full()
    }

    /// How many scripts stand still until it is their turn.
    pub(super) fn standing(&self) -> u64 {
        self.turns.standing()
    }

    fn by_caller(&self) -> MutexGuard<'_, HashMap<Caller, Load>> {
        self.by_caller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leftover(&self) -> MutexGuard<'_, Leftover> {
        self.leftover.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Processors that this process may use. Asked for once: to tell takes several files.
fn processors() -> usize {
    static PROCESSORS: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *PROCESSORS
}

/// A script that goes behind others.
pub(super) struct Behind {
    thread: i32,
    caller: Caller,
    among: Arc<Computing>,
    /// It has computed for long: one that went behind at its start may not.
    counted: bool,
    /// Processor time of its thread when it went behind.
    began: Duration,
    /// When it was looked at, and what it had computed then, while it has only what nobody
    /// else wants.
    leftover: Option<(Instant, Duration)>,
    /// Its turn among those like it, until it is to end.
    turn: Option<Turn>,
}

impl Behind {
    /// Puts a thread of a child process behind others; `None`: not possible. `early`: it has not
    /// computed for long yet. With `leftover` it has at first only what nobody else wants of the
    /// processors: any other thread that wakes up goes before it at once, where a nice value
    /// alone makes it wait for milliseconds. Without a handle to `process` it takes no turns.
    pub(super) fn put(
        thread: i32,
        process: Option<&Arc<Process>>,
        caller: &Caller,
        among: &Arc<Computing>,
        early: bool,
        leftover: bool,
    ) -> Option<Self> {
        let (caller, among) = (caller.clone(), among.clone());
        let began = used(thread);
        among.beat.begin();
        let mut behind = Self { thread, caller, among, counted: false, began, leftover: None, turn: None };
        if !early {
            behind.count();
        }
        if !set(thread, LOW) {
            return None;
        }
        if leftover && set_policy(thread, libc::SCHED_IDLE) {
            behind.leftover = Some((clock::now(), began));
            behind.among.leftover().enter();
        }
        behind.turn =
            process.map(|process| behind.among.turns.enter(process.clone(), thread, &behind.caller));
        Some(behind)
    }

    /// It is to end: from now on it waits for no turn.
    pub(super) fn may_end(&mut self) {
        self.turn = None;
    }

    fn count(&mut self) {
        self.counted = true;
        let mut loads = self.among.by_caller();
        loads.retain(|_, load| load.count > 0 || load.is_full());
        let load = loads.entry(self.caller.clone()).or_default();
        load.count += 1;
        load.note();
    }

    /// Looks whether scripts get on with what nobody else wants. If not, this one gets a share
    /// again, a small one.
    pub(super) fn look(&mut self) {
        let (now, used) = (clock::now(), used(self.thread));
        if !self.counted && used.saturating_sub(self.began) >= SHORT {
            self.count();
        }
        if let Some(turn) = &self.turn {
            turn.look();
        }
        let Some((at, before)) = self.leftover else { return };
        let processors = u32::try_from(processors()).unwrap_or(u32::MAX);
        if self.among.leftover().note(used.saturating_sub(before), now - at, processors) {
            set_policy(self.thread, libc::SCHED_OTHER);
            self.no_leftover();
        } else {
            self.leftover = Some((now, used));
        }
    }

    fn no_leftover(&mut self) {
        if self.leftover.take().is_some() {
            self.among.leftover().scripts -= 1;
        }
    }

    /// Puts it back among the others, which takes a privilege; otherwise it stays.
    pub(super) fn back(mut self) -> Option<Self> {
        self.may_end();
        let policy = self.leftover.is_none() || set_policy(self.thread, libc::SCHED_OTHER);
        if set(self.thread, 0) && policy { None } else { Some(self) }
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.among.beat.end();
        self.no_leftover();
        if !self.counted {
            return;
        }
        if let Some(load) = self.among.by_caller().get_mut(&self.caller) {
            load.note();
            load.count -= 1;
        }
    }
}

/// The kernel's number of the calling thread.
#[expect(unsafe_code, reason = "the standard library does not tell it")]
pub(super) fn this_thread() -> i32 {
    // SAFETY: takes nothing, touches no memory, cannot fail.
    unsafe { libc::gettid() }
}

/// Processor time that the calling thread has used.
#[expect(unsafe_code, reason = "the standard library has no call for it")]
pub(super) fn used_here() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec, which lives.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Whether this process may put threads back: `CAP_SYS_NICE`, among the effective
/// capabilities of proc(5).
pub(super) fn can_restore() -> bool {
    const SYS_NICE: u32 = 23;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_some_and(|set| set >> SYS_NICE & 1 == 1)
}

/// Processor time that a thread has used.
pub(super) fn used(thread: i32) -> Duration {
    let [used, ..] = times(thread);
    used
}

/// Time for which a thread has had a processor or waited for one; of a wait that goes on nothing
/// is in it yet.
pub(super) fn wanted(thread: i32) -> Duration {
    times(thread).into_iter().sum()
}

/// How long a thread has had a processor, and waited for one (`schedstat` of proc(5)).
fn times(thread: i32) -> [Duration; 2] {
    let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap_or_default();
    let mut numbers = text.split(' ').map(|number| number.parse().unwrap_or(0));
    [(); 2].map(|()| Duration::from_nanos(numbers.next().unwrap_or(0)))
}

/// Whether a thread has a processor or waits for one (`stat` of proc(5)).
pub(super) fn is_runnable(thread: i32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
}

/// Sets the scheduling policy of a thread; it keeps its nice value.
#[expect(unsafe_code, reason = "the standard library has no call for it")]
fn set_policy(thread: i32, policy: i32) -> bool {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads one sched_param, which lives.
    unsafe { libc::sched_setscheduler(thread, policy, &raw const param) == 0 }
}

#[expect(unsafe_code, reason = "the standard library has no call for it")]
fn set(thread: i32, nice: i32) -> bool {
    // SAFETY: takes numbers, touches no memory.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread.cast_unsigned(), nice) == 0 }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Leftover, WINDOW};
    use crate::clock;

    #[test]
    fn scripts_starve_only_if_all_of_them_get_little() {
        let of = |computed: &[u64], present: u64| {
            let mut leftover = Leftover::default();
            leftover.enter();
            leftover.since = Some(clock::now() - WINDOW);
            let notes = computed.iter().map(|ms| Duration::from_millis(*ms));
            // The window ends with the first note that comes after it: they come together.
            leftover.computed = notes.clone().sum();
            leftover.present = Duration::from_millis(present * (computed.len() as u64 - 1));
            leftover.note(Duration::ZERO, Duration::from_millis(present), 2)
        };
        // One of many had nothing in the time; all together had both processors.
        assert!(!of(&[0, 500, 500, 900], 1000));
        assert!(of(&[0, 50, 50, 90], 1000));
        // One that was there for a moment only.
        assert!(!of(&[90], 100));
        assert!(of(&[5], 100));
    }
}
