//! Other programs, other processes, and powers over the own one.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;

use super::{Probe, Scene, probe, sys};

/// A new process ends at once, so that it reports nothing.
fn forked(result: io::Result<i64>) -> io::Result<i64> {
    if matches!(result, Ok(0)) {
        return sys!(libc::SYS_exit_group, 0);
    }
    result
}

fn clone(flags: i32) -> io::Result<i64> {
    forked(sys!(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0))
}

/// The program that an `exec` becomes tells the test that it got out.
fn says_reached(act: impl FnOnce(&[*const libc::c_char; 3]) -> io::Result<i64>) -> io::Result<i64> {
    let (name, word): (&CStr, &CStr) = (c"echo", c"reached");
    act(&[name.as_ptr(), word.as_ptr(), std::ptr::null()])
}

fn me() -> i32 {
    std::process::id().cast_signed()
}

/// `siginfo_t` of a queued signal from this process.
fn queued() -> [i32; 32] {
    let mut information = [0; 32];
    // Number, errno, code, and after 4 bytes of padding the sender.
    information[0] = libc::SIGCONT;
    information[2] = libc::SI_QUEUE;
    information[4] = me();
    information
}

fn memory_of_sibling(s: &Scene, number: libc::c_long) -> io::Result<i64> {
    let mut byte = 0_u8;
    let here = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let there = libc::iovec { iov_base: 4096 as *mut _, iov_len: 1 };
    sys!(number, s.targets.sibling, &here, 1, &there, 1, 0)
}

const KCMP_VM: i32 = 1;
const IOPRIO_IDLE: i32 = 3 << 13;

pub(super) const PROBES: &[Probe] = &[
    probe("execve", |_| says_reached(|words| sys!(libc::SYS_execve, c"/bin/echo", words, &[0_usize])))
        .layered(),
    probe("execveat", |s| {
        let flags = libc::AT_EMPTY_PATH;
        says_reached(|words| sys!(libc::SYS_execveat, s.echo.as_raw_fd(), c"", words, &[0_usize], flags))
    })
    .layered(),
    probe("clone-process", |_| clone(0)),
    probe("clone-parent", |_| clone(libc::CLONE_PARENT)),
    probe("clone-files", |_| clone(libc::CLONE_FILES | libc::CLONE_FS)),
    probe("clone-user-namespace", |_| clone(libc::CLONE_NEWUSER)),
    probe("clone-network-namespace", |_| clone(libc::CLONE_NEWNET)).layered(),
    probe("clone-pid-namespace", |_| clone(libc::CLONE_NEWPID)).layered(),
    probe("clone3", |_| {
        let mut arguments = [0_u64; 8];
        arguments[4] = libc::SIGCHLD as u64;
        forked(sys!(libc::SYS_clone3, &arguments, 64))
    }),
    probe("unshare-files", |_| sys!(libc::SYS_unshare, libc::CLONE_FILES)),
    probe("unshare-user", |_| sys!(libc::SYS_unshare, libc::CLONE_NEWUSER)),
    probe("unshare-mounts", |_| sys!(libc::SYS_unshare, libc::CLONE_NEWNS)).layered(),
    probe("setns", |s| sys!(libc::SYS_setns, s.namespace.as_raw_fd(), 0)).layered(),
    probe("kill-parent", |s| sys!(libc::SYS_kill, s.parent, libc::SIGCONT)).layered(),
    probe("kill-sibling", |s| sys!(libc::SYS_kill, s.targets.sibling, libc::SIGKILL)).layered(),
    probe("kill-group", |_| sys!(libc::SYS_kill, 0, 0)),
    probe("kill-all", |_| sys!(libc::SYS_kill, -1, 0)),
    probe("tkill-sibling", |s| sys!(libc::SYS_tkill, s.targets.sibling, libc::SIGKILL)).layered(),
    probe("tgkill-sibling", |s| sys!(libc::SYS_tgkill, s.targets.sibling, s.targets.sibling, libc::SIGKILL))
        .layered(),
    probe("tgkill-parent", |s| sys!(libc::SYS_tgkill, s.parent, s.parent, libc::SIGCONT)).layered(),
    probe("rt_sigqueueinfo", |s| {
        sys!(libc::SYS_rt_sigqueueinfo, s.targets.sibling, libc::SIGCONT, &queued())
    })
    .layered(),
    probe("rt_tgsigqueueinfo", |s| {
        let sibling = s.targets.sibling;
        sys!(libc::SYS_rt_tgsigqueueinfo, sibling, sibling, libc::SIGCONT, &queued())
    })
    .layered(),
    probe("pidfd_open", |s| sys!(libc::SYS_pidfd_open, s.targets.sibling, 0)),
    probe("pidfd_send_signal", |s| sys!(libc::SYS_pidfd_send_signal, s.pidfd(), libc::SIGKILL, 0, 0))
        .layered(),
    probe("pidfd_getfd", |s| sys!(libc::SYS_pidfd_getfd, s.pidfd(), 0, 0)).layered(),
    probe("ptrace-attach", |s| sys!(libc::SYS_ptrace, libc::PTRACE_ATTACH, s.targets.sibling)).layered(),
    probe("ptrace-seize", |s| sys!(libc::SYS_ptrace, libc::PTRACE_SEIZE, s.targets.sibling)).layered(),
    probe("ptrace-me", |_| sys!(libc::SYS_ptrace, libc::PTRACE_TRACEME)),
    // The address is nothing of the sibling's; the right to it is looked at first.
    probe("process_vm_readv", |s| memory_of_sibling(s, libc::SYS_process_vm_readv))
        .judged(&[libc::EFAULT])
        .layered(),
    probe("process_vm_writev", |s| memory_of_sibling(s, libc::SYS_process_vm_writev))
        .judged(&[libc::EFAULT])
        .layered(),
    probe("kcmp", |s| sys!(libc::SYS_kcmp, me(), s.targets.sibling, KCMP_VM)).layered(),
    probe("wait4", |_| sys!(libc::SYS_wait4, -1, 0, libc::WNOHANG)).judged(&[libc::ECHILD]),
    probe("waitid", |_| sys!(libc::SYS_waitid, libc::P_ALL, 0, 0, libc::WNOHANG | libc::WEXITED))
        .judged(&[libc::ECHILD]),
    probe("getppid", |_| sys!(libc::SYS_getppid)),
    probe("getpgid", |s| sys!(libc::SYS_getpgid, s.targets.sibling)),
    probe("getsid", |s| sys!(libc::SYS_getsid, s.targets.sibling)),
    probe("setpgid", |_| sys!(libc::SYS_setpgid, 0, 0)),
    // A leader of a group may not, which it is not.
    probe("setsid", |_| sys!(libc::SYS_setsid)),
    probe("getuid", |_| sys!(libc::SYS_getuid)),
    probe("setuid", |_| sys!(libc::SYS_setuid, sys!(libc::SYS_getuid)? as i32)),
    probe("setgid", |_| sys!(libc::SYS_setgid, sys!(libc::SYS_getgid)? as i32)),
    probe("setresuid", |_| sys!(libc::SYS_setresuid, -1, -1, -1)),
    probe("setgroups", |_| sys!(libc::SYS_setgroups, 0, 0)).layered(),
    probe("setfsuid", |_| sys!(libc::SYS_setfsuid, -1)),
    probe("capget", |_| sys!(libc::SYS_capget, &[0x2008_0522_u32, 0], &mut [0_u32; 6])),
    probe("capset", |_| sys!(libc::SYS_capset, &[0x2008_0522_u32, 0], &[0_u32; 6])),
    probe("setpriority", |_| sys!(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, 19)),
    probe("setpriority-raise", |_| sys!(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, -5)).layered(),
    probe("sched_setaffinity", |_| sys!(libc::SYS_sched_setaffinity, 0, 8, &u64::MAX)),
    probe("sched_setscheduler", |_| sys!(libc::SYS_sched_setscheduler, 0, libc::SCHED_BATCH, &0_i32)),
    probe("sched_setscheduler-real-time", |_| {
        sys!(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &1_i32)
    })
    .layered(),
    probe("sched_setparam", |_| sys!(libc::SYS_sched_setparam, 0, &0_i32)),
    probe("sched_getscheduler", |s| sys!(libc::SYS_sched_getscheduler, s.targets.sibling)),
    probe("ioprio_set", |_| sys!(libc::SYS_ioprio_set, 1, 0, IOPRIO_IDLE)),
    probe("prlimit64-parent", |s| {
        sys!(libc::SYS_prlimit64, s.parent, libc::RLIMIT_NOFILE, 0, &mut [0_u64; 2])
    }),
    probe("prlimit64-sibling", |s| {
        sys!(libc::SYS_prlimit64, s.targets.sibling, libc::RLIMIT_CPU, &[1_u64, 1], 0)
    }),
    probe("prlimit64-own", |_| sys!(libc::SYS_prlimit64, 0, libc::RLIMIT_MSGQUEUE, &[9_u64, 9], 0)).layered(),
    probe("getrusage", |_| sys!(libc::SYS_getrusage, 0, &mut [0_u64; 32])),
    probe("prctl-dumpable", |_| sys!(libc::SYS_prctl, libc::PR_SET_DUMPABLE, 1)),
    probe("prctl-parent-death", |_| sys!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, 0)),
    probe("prctl-subreaper", |_| sys!(libc::SYS_prctl, libc::PR_SET_CHILD_SUBREAPER, 1)),
    probe("prctl-keep-capabilities", |_| sys!(libc::SYS_prctl, libc::PR_SET_KEEPCAPS, 1)),
    probe("prctl-bounding-set", |_| sys!(libc::SYS_prctl, libc::PR_CAPBSET_DROP, 0)).layered(),
    probe("prctl-timer-slack", |_| sys!(libc::SYS_prctl, libc::PR_SET_TIMERSLACK, 1)),
];
