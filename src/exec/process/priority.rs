//! Which scripts the kernel lets go first: those that have only begun. One that computes
//! for long goes behind everything else on the machine, so that 48 of them do not make a
//! short one of somebody else wait.

/// The kernel's number of the calling thread.
#[expect(unsafe_code, reason = "the standard library does not tell it")]
pub(super) fn this_thread() -> i32 {
    // SAFETY: takes nothing, touches no memory, cannot fail.
    unsafe { libc::gettid() }
}

/// Puts a thread of a child process behind all others; `false`: not possible.
pub(super) fn lower(thread: i32) -> bool {
    set(thread, libc::SCHED_IDLE)
}

/// Puts it back among the others, which takes a privilege; `false`: not possible.
pub(super) fn restore(thread: i32) -> bool {
    set(thread, libc::SCHED_OTHER)
}

#[expect(unsafe_code, reason = "the standard library has no call for it")]
fn set(thread: i32, policy: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is valid for the call, which only reads it.
    unsafe { libc::sched_setscheduler(thread, policy, &raw const parameters) == 0 }
}
