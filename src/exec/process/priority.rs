//! Which scripts the kernel lets go first: those that have only begun. One that computes
//! for long goes behind everything else on the machine, so that 48 of them do not make a
//! short one of somebody else wait.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::ids::TenantId;

/// The nice value of a script that computes for long, if there is one on each processor: a
/// ninth of an ordinary share. Not `SCHED_IDLE`: beside a busy neighbour on the same machine
/// such a script stands still.
const LOW: i32 = 10;

/// The last that there is.
const LOWEST: i32 = 19;

/// The kernel's factor between the shares of neighbouring nice values (sched(7)).
const STEP: f64 = 1.25;

/// Scripts that go behind others now.
#[derive(Default)]
pub(super) struct Computing {
    all: AtomicUsize,
    by_tenant: Mutex<HashMap<TenantId, usize>>,
}

impl Computing {
    /// Whether scripts of a tenant keep every processor busy already: then its next one has
    /// less claim to go before others.
    pub(super) fn is_enough(&self, tenant: &TenantId) -> bool {
        self.by_tenant().get(tenant).is_some_and(|count| *count >= processors())
    }

    fn by_tenant(&self) -> MutexGuard<'_, HashMap<TenantId, usize>> {
        self.by_tenant.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A script that goes behind others.
pub(super) struct Behind {
    thread: i32,
    tenant: TenantId,
    among: Arc<Computing>,
}

impl Behind {
    /// Puts a thread of a child process behind others; `None`: not possible.
    pub(super) fn put(thread: i32, tenant: &TenantId, among: &Arc<Computing>) -> Option<Self> {
        let behind = Self { thread, tenant: tenant.clone(), among: among.clone() };
        *among.by_tenant().entry(tenant.clone()).or_default() += 1;
        let others = among.all.fetch_add(1, Ordering::Relaxed);
        set(thread, nice(others + 1, processors())).then_some(behind)
    }

    /// Puts it back among the others, which takes a privilege; otherwise it stays.
    pub(super) fn back(self) -> Option<Self> {
        if set(self.thread, 0) { None } else { Some(self) }
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.among.all.fetch_sub(1, Ordering::Relaxed);
        if let Entry::Occupied(mut count) = self.among.by_tenant().entry(self.tenant.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// The nice value of the last of `computing` scripts: however many there are, all of them
/// have about the share together that one on each processor would have.
#[expect(clippy::cast_precision_loss, reason = "so many scripts do not run")]
fn nice(computing: usize, processors: usize) -> i32 {
    let each = (computing as f64 / processors as f64).max(1.0);
    (LOW + (each.ln() / STEP.ln()).round() as i32).min(LOWEST)
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

/// Processor time that a thread has used (`schedstat` of proc(5)).
pub(super) fn used(thread: i32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

#[expect(unsafe_code, reason = "the standard library has no call for it")]
fn set(thread: i32, nice: i32) -> bool {
    // SAFETY: takes numbers, touches no memory.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread.cast_unsigned(), nice) == 0 }
}

#[cfg(test)]
mod tests {
    use super::nice;

    #[test]
    fn many_scripts_have_the_share_of_a_few() {
        assert_eq!([1, 2, 3, 4, 8, 16, 48].map(|computing| nice(computing, 2)), [10, 10, 12, 13, 16, 19, 19]);
        assert_eq!(nice(48, 48), 10);
    }
}
