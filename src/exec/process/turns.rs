//! Scripts that compute for long take turns: at one time no more of them go on than there are
//! processors, and the others' processes stand still.
//!
//! Left to the kernel, 48 threads behind all others would still be 48 that it has to choose from:
//! a thread that wakes up and has had its share is passed over for one after another of them, each
//! for some milliseconds, however low their priority. It may be passed over for two.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::priority::{is_runnable, wanted};
use crate::clock::{self, Instant};
use crate::ids::Caller;

/// How long one goes on while others wait.
const TURN: Duration = Duration::from_millis(50);

/// One that wants the processor for a smaller part of the time waits for something else, mostly: it
/// takes turns no more until it computes again.
const LEAST_PART: u32 = 4;

/// A process that can be stopped, and let go on. Never another one that has its number by now.
#[derive(Debug)]
pub(super) struct Process(OwnedFd);

impl Process {
    /// A child that was not waited for yet. `None`: the kernel (below 5.3) has no such handle.
    #[expect(unsafe_code, reason = "the standard library's is not stable")]
    pub(super) fn of(child: u32) -> Option<Self> {
        // SAFETY: takes two numbers, touches no memory.
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) };
        let handle = i32::try_from(handle).ok().filter(|handle| *handle >= 0)?;
        // SAFETY: the kernel has just given this descriptor to us alone.
        Some(Self(unsafe { OwnedFd::from_raw_fd(handle) }))
    }

    #[expect(unsafe_code, reason = "the standard library has no call for it")]
    fn signal(&self, signal: i32) {
        let nothing = std::ptr::null::<libc::siginfo_t>();
        // One that has ended needs no signal.
        // SAFETY: the descriptor lives; without a siginfo_t the kernel reads nothing.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal, nothing, 0) };
    }
}

/// All that take turns.
pub(super) struct Turns {
    table: Mutex<Table>,
    /// How many go on at a time.
    places: usize,
}

#[derive(Default)]
struct Table {
    last: u64,
    scripts: HashMap<u64, Script>,
    going: Vec<Going>,
    waiting: Waiting,
    /// A task ends the turns.
    driven: bool,
}

struct Script {
    process: Arc<Process>,
    thread: i32,
    caller: Caller,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Going,
    Waiting,
    /// It does not compute now. When it was last looked at, and for how long it had wanted the
    /// processor until then.
    Apart(Instant, Duration),
}

/// A script that has its turn.
struct Going {
    script: u64,
    until: Instant,
    /// For how long it had wanted the processor when the turn began.
    wanted: Duration,
}

/// Scripts that wait, first come first served for each caller, and callers in turn: whoever has one
/// script gets as much as whoever has many.
#[derive(Default)]
struct Waiting {
    callers: VecDeque<Caller>,
    scripts: HashMap<Caller, Queue>,
}

/// What one caller has waiting. Those that have not had a turn yet, which may be short, and the
/// others take turns, too.
#[derive(Default)]
struct Queue {
    new: VecDeque<u64>,
    others: VecDeque<u64>,
    new_had: bool,
}

impl Queue {
    fn pop(&mut self) -> Option<u64> {
        self.new_had = !self.new_had && !self.new.is_empty() || self.others.is_empty();
        if self.new_had { self.new.pop_front() } else { self.others.pop_front() }
    }

    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.others.is_empty()
    }
}

impl Waiting {
    fn push(&mut self, caller: &Caller, script: u64, is_new: bool) {
        let queue = self.scripts.entry(caller.clone()).or_insert_with(|| {
            self.callers.push_back(caller.clone());
            Queue::default()
        });
        if is_new { &mut queue.new } else { &mut queue.others }.push_back(script);
    }

    fn pop(&mut self) -> Option<u64> {
        let caller = self.callers.pop_front()?;
        let queue = self.scripts.get_mut(&caller)?;
        let script = queue.pop();
        if queue.is_empty() {
            self.scripts.remove(&caller);
        } else {
            self.callers.push_back(caller);
        }
        script
    }

    fn remove(&mut self, caller: &Caller, script: u64) {
        let Some(queue) = self.scripts.get_mut(caller) else { return };
        queue.new.retain(|waiting| *waiting != script);
        queue.others.retain(|waiting| *waiting != script);
        if queue.is_empty() {
            self.scripts.remove(caller);
            self.callers.retain(|waiting| waiting != caller);
        }
    }
}

/// One script among those that take turns. Dropping it lets it go on.
pub(super) struct Turn {
    script: u64,
    among: Arc<Turns>,
}

impl Turns {
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { table: Mutex::default(), places: places.max(1) })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on a process goes on only when it is its turn. `thread`: the one that computes.
    /// Needs a tokio runtime.
    pub(super) fn enter(self: &Arc<Self>, process: Arc<Process>, thread: i32, caller: &Caller) -> Turn {
        let mut table = self.table();
        table.last += 1;
        let script = table.last;
        table
            .scripts
            .insert(script, Script { process, thread, caller: caller.clone(), state: State::Waiting });
        if table.going.len() < self.places {
            table.go(script);
        } else {
            table.wait(script, true);
        }
        self.clone().drive_if_needed(table);
        Turn { script, among: self.clone() }
    }

    /// How many of a caller's wait for a turn.
    pub(super) fn waiting(&self, caller: &Caller) -> usize {
        self.table().waiting.scripts.get(caller).map_or(0, |queue| queue.new.len() + queue.others.len())
    }

    /// How many wait for a turn.
    pub(super) fn standing(&self) -> u64 {
        let waits = |script: &&Script| script.state == State::Waiting;
        self.table().scripts.values().filter(waits).count() as u64
    }

    fn drive_if_needed(self: Arc<Self>, mut table: MutexGuard<'_, Table>) {
        let needed = !table.waiting.callers.is_empty() && !std::mem::replace(&mut table.driven, true);
        drop(table);
        if needed {
            tokio::spawn(self.drive());
        }
    }

    /// Ends turns as long as somebody waits for one.
    async fn drive(self: Arc<Self>) {
        loop {
            let next = {
                let mut table = self.table();
                table.rotate(self.places);
                table.driven = !table.waiting.callers.is_empty();
                if !table.driven {
                    return;
                }
                table.going.iter().map(|going| going.until).min()
            };
            tokio::time::sleep_until(next.unwrap_or_else(clock::now)).await;
        }
    }
}

impl Table {
    /// Lets one go on that stood still or has just begun.
    fn go(&mut self, script: u64) {
        let Some(one) = self.scripts.get_mut(&script) else { return };
        one.process.signal(libc::SIGCONT);
        one.state = State::Going;
        self.going.push(Going { script, until: clock::now() + TURN, wanted: wanted(one.thread) });
    }

    fn wait(&mut self, script: u64, is_new: bool) {
        let Some(one) = self.scripts.get_mut(&script) else { return };
        one.process.signal(libc::SIGSTOP);
        one.state = State::Waiting;
        self.waiting.push(&one.caller, script, is_new);
    }

    /// Ends the turns that are over, and gives free places away.
    fn rotate(&mut self, places: usize) {
        let now = clock::now();
        let over: Vec<Going> = self.going.extract_if(.., |going| going.until <= now).collect();
        for Going { script, wanted: before, .. } in over {
            let Some(one) = self.scripts.get_mut(&script) else { continue };
            let wanted = wanted(one.thread);
            if is_runnable(one.thread) || wanted.saturating_sub(before) * LEAST_PART >= TURN {
                self.wait(script, false);
            } else {
                one.state = State::Apart(now, wanted);
            }
        }
        self.fill(places);
    }

    fn fill(&mut self, places: usize) {
        while self.going.len() < places
            && let Some(script) = self.waiting.pop()
        {
            self.go(script);
        }
    }
}

impl Turn {
    /// Looks whether a script that takes no turns computes again.
    pub(super) fn look(&self) {
        let mut table = self.among.table();
        let Some(one) = table.scripts.get_mut(&self.script) else { return };
        let State::Apart(since, before) = one.state else { return };
        let (now, wanted) = (clock::now(), wanted(one.thread));
        one.state = State::Apart(now, wanted);
        if is_runnable(one.thread) && wanted.saturating_sub(before) * LEAST_PART >= now - since {
            table.wait(self.script, false);
            table.fill(self.among.places);
            self.among.clone().drive_if_needed(table);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut table = self.among.table();
        let Some(one) = table.scripts.remove(&self.script) else { return };
        match one.state {
            State::Going => {
                table.going.retain(|going| going.script != self.script);
                table.fill(self.among.places);
            }
            State::Waiting => {
                table.waiting.remove(&one.caller, self.script);
                one.process.signal(libc::SIGCONT);
            }
            State::Apart(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::exec::process::priority::used;
    use crate::ids::{Owner, TenantId};

    /// A process that computes; killed when dropped.
    struct Busy(Child, Arc<Process>);

    impl Busy {
        fn new(script: &str) -> Self {
            let mut command = Command::new("sh");
            let child =
                command.args(["-c", script]).stdin(Stdio::null()).process_group(0).spawn().expect("sh");
            let process = Process::of(child.id()).expect("a handle");
            Self(child, Arc::new(process))
        }

        fn thread(&self) -> i32 {
            self.0.id().try_into().expect("a number of a process")
        }

        fn state(&self) -> char {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.thread())).expect("it lives");
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).expect("a state")
        }

        fn enter(&self, turns: &Arc<Turns>, owner: &str) -> Turn {
            let caller = Caller { tenant: TenantId("t".into()), owner: Owner(owner.into()) };
            turns.enter(self.1.clone(), self.thread(), &caller)
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    const LOOP: &str = "while :; do :; done";

    /// Waits for what comes to be so in time. The test's own limit of time ends it otherwise.
    async fn until(mut so: impl FnMut() -> bool) {
        while !so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn one_goes_on_at_a_time_each_in_its_turn() {
        let turns = Turns::new(1);
        let busy: Vec<Busy> = (0..4).map(|_| Busy::new(LOOP)).collect();
        let taken: Vec<Turn> = busy.iter().map(|one| one.enter(&turns, "one")).collect();
        let standing = || busy.iter().filter(|one| one.state() == 'T').count();
        // A signal takes a moment.
        until(|| standing() == 3).await;
        let before: Vec<Duration> = busy.iter().map(|one| used(one.thread())).collect();
        let on = |at: usize| used(busy[at].thread()) > before[at] + TURN / 2;
        let began = clock::now();
        until(|| (0..4).all(on)).await;
        // One processor at most, though there may be more; the last turn is not over.
        let all: Duration = busy.iter().zip(&before).map(|(one, before)| used(one.thread()) - *before).sum();
        assert!(all < began.elapsed() + TURN, "{all:?} in {:?}", began.elapsed());
        drop(taken);
        until(|| standing() == 0).await;
        assert!(turns.table().scripts.is_empty());
    }

    #[tokio::test]
    async fn callers_have_the_same_however_many_scripts_they_have() {
        let turns = Turns::new(1);
        let busy: Vec<Busy> = (0..6).map(|_| Busy::new(LOOP)).collect();
        let _taken: Vec<Turn> = busy
            .iter()
            .enumerate()
            .map(|(at, one)| one.enter(&turns, if at == 5 { "lonely" } else { "loud" }))
            .collect();
        let before: Vec<Duration> = busy.iter().map(|one| used(one.thread())).collect();
        let gained = |at: usize| used(busy[at].thread()) - before[at];
        until(|| (0..5).map(gained).sum::<Duration>() > TURN * 8).await;
        // One of six scripts, half of the turns.
        assert!(gained(5) > TURN * 5, "{:?}", (0..6).map(gained).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn who_sleeps_does_not_keep_a_place_and_comes_back_when_it_computes() {
        let turns = Turns::new(1);
        let [sleeper, busy] = [Busy::new("sleep 0.3; while :; do :; done"), Busy::new(LOOP)];
        let turn = sleeper.enter(&turns, "one");
        let _other = busy.enter(&turns, "other");
        let state = |of: &Turn| turns.table().scripts[&of.script].state;
        until(|| matches!(state(&turn), State::Apart(..))).await;
        // It was let go on, and the other one has the place.
        until(|| busy.state() == 'R').await;
        assert_ne!(sleeper.state(), 'T');
        until(|| sleeper.state() == 'R').await;
        let began = used(sleeper.thread());
        until(|| used(sleeper.thread()) > began + TURN).await;
        turn.look();
        until(|| {
            turn.look();
            !matches!(state(&turn), State::Apart(..))
        })
        .await;
    }

    #[test]
    fn new_ones_and_others_take_turns() {
        let mut queue = Queue { new: [1, 2, 3].into(), others: [7, 8].into(), new_had: false };
        assert_eq!(std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>(), [1, 7, 2, 8, 3]);
        assert!(queue.is_empty());
    }
}
