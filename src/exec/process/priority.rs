//! Which scripts the kernel lets go first: those that have only begun. One that computes
//! for long goes behind everything else on the machine, so that 48 of them do not make a
//! short one of somebody else wait.

use std::time::Duration;

/// The nice value of a script that computes for long: a ninth of an ordinary share. Not
/// `SCHED_IDLE`: beside a busy neighbour on the same machine such a script stands still.
const LOW: i32 = 10;

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

/// Processor time that a thread has used (`schedstat` of proc(5)).
pub(super) fn used(thread: i32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Puts a thread of a child process behind others; `false`: not possible.
pub(super) fn lower(thread: i32) -> bool {
    set(thread, LOW)
}

/// Puts it back among the others, which takes a privilege; `false`: not possible.
pub(super) fn restore(thread: i32) -> bool {
    set(thread, 0)
}

#[expect(unsafe_code, reason = "the standard library has no call for it")]
fn set(thread: i32, nice: i32) -> bool {
    // SAFETY: takes numbers, touches no memory.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread.cast_unsigned(), nice) == 0 }
}
