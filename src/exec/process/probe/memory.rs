//! Code that is written at run time, memory that others see, and queues between processes.

use std::io;
use std::os::fd::AsRawFd;

use super::{Probe, probe, sys};

const PAGE: usize = 4096;
const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
const PRIVATE_KEY: i32 = 0;

fn map(protection: i32, flags: i32, fd: i32) -> io::Result<i64> {
    sys!(libc::SYS_mmap, 0, PAGE, protection, flags, fd, 0)
}

/// A page of this process's own, allowed under the guards too.
fn page() -> io::Result<usize> {
    map(READ_WRITE, PRIVATE, -1).map(|address| address as usize)
}

fn advise(advice: i32) -> io::Result<i64> {
    sys!(libc::SYS_madvise, page()?, PAGE, advice)
}

pub(super) const PROBES: &[Probe] = &[
    probe("mmap-code", |_| map(libc::PROT_READ | libc::PROT_EXEC, PRIVATE, -1)),
    probe("mmap-writable-code", |_| map(READ_WRITE | libc::PROT_EXEC, PRIVATE, -1)),
    probe("mmap-file", |s| map(libc::PROT_READ, libc::MAP_PRIVATE, s.file.as_raw_fd())),
    probe("mmap-shared-file", |s| map(READ_WRITE, libc::MAP_SHARED, s.file.as_raw_fd())),
    probe("mprotect-code", |_| sys!(libc::SYS_mprotect, page()?, PAGE, libc::PROT_READ | libc::PROT_EXEC)),
    probe("pkey_mprotect-code", |_| {
        sys!(libc::SYS_pkey_mprotect, page()?, PAGE, libc::PROT_READ | libc::PROT_EXEC, -1)
    }),
    probe("madvise-mergeable", |_| advise(libc::MADV_MERGEABLE)),
    probe("madvise-populate", |_| advise(libc::MADV_POPULATE_WRITE)),
    probe("madvise-poison", |_| advise(libc::MADV_SOFT_OFFLINE)).layered(),
    probe("process_madvise", |s| {
        let there = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        sys!(libc::SYS_process_madvise, s.pidfd(), &there, 1, libc::MADV_COLD, 0)
    })
    .layered(),
    probe("mincore", |_| sys!(libc::SYS_mincore, page()?, PAGE, &mut 0_u8)),
    probe("msync", |_| sys!(libc::SYS_msync, page()?, PAGE, libc::MS_SYNC)),
    probe("mlock", |_| sys!(libc::SYS_mlock, page()?, PAGE)).layered(),
    probe("mlockall", |_| sys!(libc::SYS_mlockall, libc::MCL_ONFAULT | libc::MCL_FUTURE)).layered(),
    probe("memfd_create", |_| sys!(libc::SYS_memfd_create, c"x", 0)),
    probe("memfd_secret", |_| sys!(libc::SYS_memfd_secret, 0)),
    probe("userfaultfd", |_| sys!(libc::SYS_userfaultfd, 1)),
    probe("membarrier", |_| sys!(libc::SYS_membarrier, 0, 0, 0)),
    probe("futex-priority", |_| sys!(libc::SYS_futex, &mut 0_u32, libc::FUTEX_LOCK_PI, 0, 0)),
    probe("futex-requeue", |_| sys!(libc::SYS_futex, &0_u32, libc::FUTEX_REQUEUE, 0, 0, &0_u32)),
    probe("futex_waitv", |_| sys!(libc::SYS_futex_waitv, 0, 0, 0, 0, 0)).judged(&[libc::EINVAL]),
    probe("get_robust_list", |s| {
        sys!(libc::SYS_get_robust_list, s.targets.sibling, &mut 0_usize, &mut 0_usize)
    })
    .layered(),
    // The one segment or queue is taken away at once where the probe gets out.
    probe("shmget", |_| {
        let id = sys!(libc::SYS_shmget, PRIVATE_KEY, PAGE, 0o600)? as i32;
        sys!(libc::SYS_shmctl, id, libc::IPC_RMID, 0)
    }),
    probe("shmctl", |_| sys!(libc::SYS_shmctl, 0, libc::IPC_INFO, &mut [0_u64; 32])),
    probe("shmat", |_| sys!(libc::SYS_shmat, -1, 0, 0)).judged(&[libc::EINVAL]),
    probe("semget", |_| {
        let id = sys!(libc::SYS_semget, PRIVATE_KEY, 1, 0o600)? as i32;
        sys!(libc::SYS_semctl, id, 0, libc::IPC_RMID, 0)
    }),
    probe("msgget", |_| {
        let id = sys!(libc::SYS_msgget, PRIVATE_KEY, 0o600)? as i32;
        sys!(libc::SYS_msgctl, id, libc::IPC_RMID, 0)
    }),
    probe("mq_open", |s| {
        let name = std::ffi::CString::new(format!("sqlfs-probe-{}", s.targets.sibling)).expect("no NUL");
        sys!(libc::SYS_mq_open, &*name, libc::O_CREAT | libc::O_RDWR, 0o600, 0)?;
        sys!(libc::SYS_mq_unlink, &*name)
    })
    .layered(),
    probe("get_mempolicy", |_| sys!(libc::SYS_get_mempolicy, 0, 0, 0, 0, 0)),
    probe("move_pages", |_| sys!(libc::SYS_move_pages, 0, 1, &page()?, 0, &mut 0_i32, 0)),
];
