//! seccomp: the few system calls that a worker may make. All others fail with `EPERM`.
//!
//! An allow list, since kernels gain system calls and a list of forbidden ones ages. An error
//! and not the end of the process, since libraries ask for things that they can do without (a
//! backtrace opens files, the allocator looks for huge pages), and newer ones will for others.
//! Only calls by another architecture's numbers (`int 0x80`) end it: nothing of ours makes them.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule};

use super::Mappings;

#[cfg(target_arch = "aarch64")]
const ARCH: seccompiler::TargetArch = seccompiler::TargetArch::aarch64;
#[cfg(target_arch = "x86_64")]
const ARCH: seccompiler::TargetArch = seccompiler::TargetArch::x86_64;

/// Allowed with any arguments.
const FREE: &[c_long] = &[
    // Bytes through what is open already: the sockets, the last words, the memory figures.
    // No sendmsg and recvmsg: they can carry descriptors, and nothing here sends any.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_recvfrom,
    libc::SYS_close,
    libc::SYS_shutdown,
    // Memory. (mmap, mprotect and madvise are below.)
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_brk,
    // Clocks, where the kernel does not answer them in the process itself, and sleep.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    // A sleep goes on after the process was stopped and continued.
    libc::SYS_restart_syscall,
    // What a thread does when it starts, spins and ends. The affinity is the way to the number
    // of processors, and to the bounds of a thread's stack.
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Signals to itself: the handler that names the thread whose stack is full, and abort.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    // Seeds of hash maps, random numbers of scripts.
    libc::SYS_getrandom,
];

/// Flags of glibc's and musl's threads. Without `CLONE_THREAD` it would be a process.
const THREAD: i32 = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_CLEARTID
    | libc::CLONE_DETACHED;

/// Sleeping and waking. Not the operations for priority inheritance, which nothing here uses
/// and which kernels had holes in.
const FUTEX: [i32; 4] =
    [libc::FUTEX_WAIT, libc::FUTEX_WAKE, libc::FUTEX_WAIT_BITSET, libc::FUTEX_WAKE_BITSET];
const FUTEX_FLAGS: i32 = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;

/// Giving memory back, huge pages, keeping it out of dumps, and guard pages of newer glibcs.
/// Not the advice that moves, merges or poisons pages.
const ADVICE: [i32; 9] = [
    libc::MADV_NORMAL,
    libc::MADV_DONTNEED,
    libc::MADV_FREE,
    libc::MADV_HUGEPAGE,
    libc::MADV_NOHUGEPAGE,
    libc::MADV_DONTDUMP,
    libc::MADV_DODUMP,
    MADV_GUARD_INSTALL,
    MADV_GUARD_REMOVE,
];
/// Of Linux 6.13.
const MADV_GUARD_INSTALL: i32 = 102;
const MADV_GUARD_REMOVE: i32 = 103;

/// Names that debuggers show: of a thread, of memory.
const PRCTL: [i32; 2] = [libc::PR_SET_NAME, libc::PR_SET_VMA];

/// `argument & mask == value`.
fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, Qword, MaskedEq(mask), value)
}

/// One rule for each value that a 32-bit argument may have.
fn one_of(argument: u8, values: &[i32]) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |value: &i32| {
        SeccompRule::new(vec![SeccompCondition::new(argument, Dword, Eq, u64::from(value.cast_unsigned()))?])
    };
    values.iter().map(rule).collect()
}

fn bits(flags: i32) -> u64 {
    u64::from(flags.cast_unsigned())
}

fn rules(mappings: Mappings) -> Result<BTreeMap<c_long, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<_, _> = FREE.iter().map(|call| (*call, Vec::new())).collect();
    let no_code = |argument| masked(argument, bits(libc::PROT_EXEC), 0);
    let mapped = match mappings {
        Mappings::Anonymous => masked(3, bits(libc::MAP_ANONYMOUS), bits(libc::MAP_ANONYMOUS))?,
        Mappings::Copies => masked(3, bits(libc::MAP_TYPE), bits(libc::MAP_PRIVATE))?,
    };
    rules.insert(libc::SYS_mmap, vec![SeccompRule::new(vec![no_code(2)?, mapped])?]);
    rules.insert(libc::SYS_mprotect, vec![SeccompRule::new(vec![no_code(2)?])?]);
    rules.insert(libc::SYS_madvise, one_of(2, &ADVICE)?);
    let thread = masked(0, !bits(THREAD) | bits(libc::CLONE_THREAD), bits(libc::CLONE_THREAD))?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![thread])?]);
    // Answered by the other filter.
    rules.insert(libc::SYS_clone3, Vec::new());
    let futex = |operation: &i32| {
        let operation = SeccompCondition::new(1, Dword, MaskedEq(!bits(FUTEX_FLAGS)), bits(*operation))?;
        SeccompRule::new(vec![operation])
    };
    rules.insert(libc::SYS_futex, FUTEX.iter().map(futex).collect::<Result<_, _>>()?);
    // To the peer of a connected socket, not to an address.
    rules.insert(libc::SYS_sendto, vec![SeccompRule::new(vec![masked(4, u64::MAX, 0)?])?]);
    // To a thread of this process: abort.
    let own = one_of(0, &[std::process::id().cast_signed()])?;
    rules.insert(libc::SYS_tgkill, own);
    rules.insert(libc::SYS_prctl, one_of(0, &PRCTL)?);
    Ok(rules)
}

fn errno(errno: i32) -> SeccompAction {
    SeccompAction::Errno(errno.cast_unsigned())
}

/// Filters the system calls of the process for good. `false` where the kernel cannot.
pub(in crate::exec::process) fn filter(mappings: Mappings) -> Result<bool, seccompiler::Error> {
    if !available() {
        return Ok(false);
    }
    // The flags of clone3 lie in memory, which a filter cannot read. glibc falls back to
    // clone, but on ENOSYS alone. A filter has one answer, so this takes a second one.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let clone3 = SeccompFilter::new(clone3, SeccompAction::Allow, errno(libc::ENOSYS), ARCH)?;
    let calls = SeccompFilter::new(rules(mappings)?, errno(libc::EPERM), SeccompAction::Allow, ARCH)?;
    for filter in [clone3, calls] {
        let program: BpfProgram = filter.try_into()?;
        // There is one thread; should there ever be another, it is closed or this fails.
        seccompiler::apply_filter_all_threads(&program)?;
    }
    Ok(true)
}

/// Whether the kernel filters system calls and can answer them with an error.
#[expect(unsafe_code, reason = "libc has no function for seccomp")]
fn available() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads four bytes of the action.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    answer == 0
}
