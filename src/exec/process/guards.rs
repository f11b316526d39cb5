//! What a worker process gives up before it reads its first script, so that whoever takes the
//! interpreter over still has nothing to reach for: no file, no network, no other process.
//!
//! Several layers, since a kernel may lack one and each stops a part of what the others stop.
//! What a worker needs (its sockets, the file that tells its memory) is open before.
//! Nothing of this can be taken back. The tests try each way out (`process/probe.rs`).

use std::io;

pub(super) mod landlock;
pub(super) mod seccomp;

/// Which layers hold. The others (limits, no capabilities, no new privileges, not dumpable)
/// are there on every kernel: without them [`close`] fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Closed {
    /// Level of Landlock (its ABI, from 1 on); `None` where the kernel has none.
    pub(crate) landlock: Option<u32>,
    /// Whether system calls are filtered; `false` where the kernel cannot.
    pub(crate) seccomp: bool,
}

/// Which memory a closed process may map. Never code, and never memory that others see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mappings {
    /// Memory of no file.
    Anonymous,
    /// Copies of files that are open already, too: every run of WebAssembly begins with one of
    /// a snapshot that lies in a file in memory.
    Copies,
}

/// Why a process could not be closed. It must not run scripts then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuardError {
    /// Some layers hold for the calling thread and its later children only.
    #[error("the guards are set before other threads start; {0} run already")]
    Threads(usize),
    /// A system call that works on every kernel failed.
    #[error("{0}: {1}")]
    Call(&'static str, io::Error),
    /// The kernel has Landlock, and refuses.
    #[error("Landlock: {0}")]
    Landlock(#[from] ::landlock::RulesetError),
    /// The kernel filters system calls, and refuses this filter.
    #[error("seccomp: {0}")]
    Seccomp(#[from] seccompiler::Error),
}

/// Closes every descriptor but the first three, whoever left it open: what started the server
/// may have, and a worker inherits it. To be called before anything else opens one.
#[expect(unsafe_code, reason = "std closes only what it owns")]
pub(crate) fn close_inherited() -> Result<(), GuardError> {
    let listed = |error| GuardError::Call("/proc/self/fd", error);
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")
        .map_err(listed)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > libc::STDERR_FILENO) {
        // SAFETY: nobody here owns it yet. The one of the list itself is closed already: EBADF.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}

/// Closes the process. To be called on its only thread; threads that start later inherit it.
///
/// Afterwards it can use what is open, have memory, start threads, read clocks and end. It
/// gets no new file descriptor. Every other system call fails with `EPERM`.
pub(crate) fn close(mappings: Mappings) -> Result<Closed, GuardError> {
    let landlock = close_without_seccomp()?;
    // What is open stays usable; nothing comes in, not even with a message.
    // (After Landlock, which needs a descriptor for a moment.)
    nothing_more("RLIMIT_NOFILE", libc::RLIMIT_NOFILE)?;
    Ok(Closed { landlock, seccomp: seccomp::filter(mappings)? })
}

/// The layers that hold on a kernel without seccomp, but for the limit of descriptors: it
/// comes so early that a test could not tell whether Landlock holds behind it.
pub(super) fn close_without_seccomp() -> Result<Option<u32>, GuardError> {
    one_thread()?;
    // No set-user-ID program, and the condition of Landlock and seccomp without root.
    done("PR_SET_NO_NEW_PRIVS", set(libc::PR_SET_NO_NEW_PRIVS, 1))?;
    // Other workers have the same user: they may not trace this one or open its /proc/PID/mem.
    done("PR_SET_DUMPABLE", set(libc::PR_SET_DUMPABLE, 0))?;
    done("capset", no_capabilities())?;
    // A worker ends when its sockets are closed, but one that stands still (see `turns`) would not
    // see it. The signal comes when the *thread* that started it ends: that one stays (`spawner`).
    // After the privileges are gone, for to give them up may take it back.
    done("PR_SET_PDEATHSIG", set(libc::PR_SET_PDEATHSIG, libc::SIGKILL.unsigned_abs().into()))?;
    for (name, resource) in LIMITS {
        nothing_more(name, resource)?;
    }
    Ok(landlock::restrict()?)
}

fn one_thread() -> Result<(), GuardError> {
    let tasks = std::fs::read_dir("/proc/self/task");
    let threads = tasks.map_err(|error| GuardError::Call("/proc/self/task", error))?.count();
    if threads == 1 { Ok(()) } else { Err(GuardError::Threads(threads)) }
}

fn done(call: &'static str, result: i32) -> Result<(), GuardError> {
    if result == 0 { Ok(()) } else { Err(GuardError::Call(call, io::Error::last_os_error())) }
}

#[expect(unsafe_code, reason = "prctl is not in std")]
fn set(option: i32, value: libc::c_ulong) -> i32 {
    // As wide as a register: the kernel wants zeros.
    let none: libc::c_ulong = 0;
    // SAFETY: the options used here take numbers and touch no memory of ours.
    unsafe { libc::prctl(option, value, none, none, none) }
}

/// A server that runs as root has workers of root, but without its powers.
#[expect(unsafe_code, reason = "libc has no function for capset")]
fn no_capabilities() -> i32 {
    /// `struct __user_cap_header_struct`, version 3: two sets of 32 bits follow.
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let nothing = [0_u32; 6];
    // SAFETY: the kernel reads 8 bytes of the header and, at version 3, 24 of the data.
    (unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) }) as i32
}

/// Hard limits that become zero.
///
/// No `RLIMIT_NPROC`: it counts the threads of all processes of the user, so zero would forbid
/// the worker's own threads, and it does not hold for root. The filter refuses processes.
const LIMITS: [(&str, Resource); 6] = [
    ("RLIMIT_CORE", libc::RLIMIT_CORE),
    ("RLIMIT_FSIZE", libc::RLIMIT_FSIZE),
    ("RLIMIT_MSGQUEUE", libc::RLIMIT_MSGQUEUE),
    ("RLIMIT_MEMLOCK", libc::RLIMIT_MEMLOCK),
    ("RLIMIT_RTPRIO", libc::RLIMIT_RTPRIO),
    ("RLIMIT_NICE", libc::RLIMIT_NICE),
];

#[cfg(target_env = "musl")]
type Resource = i32;
#[cfg(not(target_env = "musl"))]
type Resource = u32;

#[expect(unsafe_code, reason = "setrlimit is not in std")]
fn nothing_more(name: &'static str, resource: Resource) -> Result<(), GuardError> {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel reads one rlimit, which lives.
    done(name, unsafe { libc::setrlimit(resource, &raw const none) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_not_set_beside_other_threads() {
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        assert!(matches!(one_thread(), Err(GuardError::Threads(2..))));
        drop(end);
        assert!(other.join().expect("it ends").is_err());
    }
}
