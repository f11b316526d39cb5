//! Files: by name, by descriptor, and the descriptors that stand for something else.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;

use super::scene::proc;
use super::{Probe, probe, sys};

const HERE: i32 = libc::AT_FDCWD;

fn open(path: &CStr, flags: i32) -> io::Result<i64> {
    sys!(libc::SYS_openat, HERE, path, flags, 0o600)
}

/// `struct file_handle` with room for its largest content.
#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    content: [u8; 128],
}

fn handle() -> Handle {
    Handle { bytes: 128, kind: 0, content: [0; 128] }
}

pub(super) const PROBES: &[Probe] = &[
    probe("openat", |_| open(c"/etc/passwd", libc::O_RDONLY)).layered(),
    probe("openat2", |_| sys!(libc::SYS_openat2, HERE, c"/etc/passwd", &[0_u64; 3], 24)).layered(),
    probe("openat-path", |_| open(c"/etc/passwd", libc::O_PATH)),
    probe("openat-write", |s| open(&s.path("new"), libc::O_WRONLY | libc::O_CREAT)).layered(),
    probe("openat-truncate", |s| open(&s.path("other"), libc::O_WRONLY | libc::O_TRUNC)).layered(),
    probe("openat-tmpfile", |s| open(&s.path(""), libc::O_WRONLY | libc::O_TMPFILE)).layered(),
    probe("openat-folder", |_| open(c"/etc", libc::O_DIRECTORY)).layered(),
    probe("openat-below-folder", |s| sys!(libc::SYS_openat, s.folder.as_raw_fd(), c"file", 0)).layered(),
    probe("openat-tmp", |_| open(c"/tmp", libc::O_WRONLY | libc::O_TMPFILE)).layered(),
    probe("openat-shared-memory", |_| open(c"/dev/shm", libc::O_RDWR | libc::O_TMPFILE)).layered(),
    probe("openat-device", |_| open(c"/dev/zero", libc::O_RDWR)).layered(),
    probe("openat-own-program", |_| open(c"/proc/self/exe", libc::O_RDONLY)).layered(),
    probe("openat-own-environment", |_| open(c"/proc/self/environ", libc::O_RDONLY)).layered(),
    probe("openat-own-memory", |_| open(c"/proc/self/mem", libc::O_RDWR)).layered(),
    probe("openat-own-maps", |_| open(c"/proc/self/maps", libc::O_RDONLY)).layered(),
    probe("openat-own-descriptor", |s| {
        open(&proc(std::process::id().cast_signed(), &format!("fd/{}", s.file.as_raw_fd())), libc::O_RDWR)
    })
    .layered(),
    probe("openat-init", |_| open(c"/proc/1/status", libc::O_RDONLY)).layered(),
    probe("openat-parent-memory", |s| open(&proc(s.parent, "mem"), libc::O_RDWR)).layered(),
    probe("openat-parent-environment", |s| open(&proc(s.parent, "environ"), libc::O_RDONLY)).layered(),
    probe("openat-sibling-memory", |s| open(&proc(s.targets.sibling, "mem"), libc::O_RDWR)).layered(),
    probe("openat-sibling-maps", |s| open(&proc(s.targets.sibling, "maps"), libc::O_RDONLY)).layered(),
    probe("openat-sibling-root", |s| open(&proc(s.targets.sibling, "root"), libc::O_DIRECTORY)).layered(),
    probe("name_to_handle_at", |s| {
        sys!(libc::SYS_name_to_handle_at, HERE, &*s.path("file"), &mut handle(), &mut 0_i32, 0)
    }),
    // Without a right to it, EPERM comes before the look at the handle.
    probe("open_by_handle_at", |s| sys!(libc::SYS_open_by_handle_at, s.folder.as_raw_fd(), &handle(), 0))
        .judged(&[libc::ESTALE, libc::EINVAL])
        .layered(),
    probe("mkdirat", |s| sys!(libc::SYS_mkdirat, HERE, &*s.path("new"), 0o700)).layered(),
    probe("mknodat", |s| sys!(libc::SYS_mknodat, HERE, &*s.path("new"), libc::S_IFIFO | 0o600)).layered(),
    probe("unlinkat", |s| sys!(libc::SYS_unlinkat, HERE, &*s.path("other"), 0)).layered(),
    probe("unlinkat-folder", |s| sys!(libc::SYS_unlinkat, HERE, &*s.path("empty"), libc::AT_REMOVEDIR))
        .layered(),
    probe("renameat2", |s| sys!(libc::SYS_renameat2, HERE, &*s.path("other"), HERE, &*s.path("new"), 0))
        .layered(),
    probe("linkat", |s| sys!(libc::SYS_linkat, HERE, &*s.path("file"), HERE, &*s.path("new"), 0)).layered(),
    probe("symlinkat", |s| sys!(libc::SYS_symlinkat, c"/etc/passwd", HERE, &*s.path("new"))).layered(),
    probe("truncate", |s| sys!(libc::SYS_truncate, &*s.path("other"), 0)).layered(),
    probe("ftruncate", |s| sys!(libc::SYS_ftruncate, s.file.as_raw_fd(), 0)),
    probe("fallocate", |s| sys!(libc::SYS_fallocate, s.file.as_raw_fd(), 0, 0, 4096)).layered(),
    probe("fchmodat", |s| sys!(libc::SYS_fchmodat, HERE, &*s.path("file"), 0o777)),
    probe("fchmod", |s| sys!(libc::SYS_fchmod, s.file.as_raw_fd(), 0o777)),
    probe("fchownat", |s| sys!(libc::SYS_fchownat, HERE, &*s.path("file"), -1, -1, 0)),
    probe("fchown", |s| sys!(libc::SYS_fchown, s.file.as_raw_fd(), -1, -1)),
    probe("utimensat", |s| sys!(libc::SYS_utimensat, HERE, &*s.path("file"), 0, 0)),
    probe("setxattr", |s| sys!(libc::SYS_setxattr, &*s.path("file"), c"user.x", c"1", 1, 0)),
    probe("listxattr", |s| sys!(libc::SYS_listxattr, &*s.path("file"), 0, 0)),
    probe("statx", |_| sys!(libc::SYS_statx, HERE, c"/etc/passwd", 0, 0x7ff, &mut [0_u64; 32])),
    probe("newfstatat", |_| sys!(libc::SYS_newfstatat, HERE, c"/etc/passwd", &mut [0_u64; 32], 0)),
    probe("fstat", |s| sys!(libc::SYS_fstat, s.file.as_raw_fd(), &mut [0_u64; 32])),
    probe("faccessat", |_| sys!(libc::SYS_faccessat, HERE, c"/etc/passwd", libc::R_OK)),
    probe("readlinkat", |_| sys!(libc::SYS_readlinkat, HERE, c"/proc/self/exe", &mut [0_u8; 64], 64)),
    probe("statfs", |_| sys!(libc::SYS_statfs, c"/", &mut [0_u64; 32])),
    probe("getcwd", |_| sys!(libc::SYS_getcwd, &mut [0_u8; 4096], 4096)),
    probe("chdir", |_| sys!(libc::SYS_chdir, c"/")),
    probe("fchdir", |s| sys!(libc::SYS_fchdir, s.folder.as_raw_fd())),
    probe("chroot", |_| sys!(libc::SYS_chroot, c"/")).layered(),
    probe("getdents64", |s| sys!(libc::SYS_getdents64, s.folder.as_raw_fd(), &mut [0_u8; 1024], 1024)),
    probe("pwrite64", |s| sys!(libc::SYS_pwrite64, s.file.as_raw_fd(), c"x", 1, 0)).layered(),
    probe("copy_file_range", |s| {
        sys!(libc::SYS_copy_file_range, s.file.as_raw_fd(), 0, s.other_file.as_raw_fd(), 0, 4, 0)
    })
    .layered(),
    probe("sendfile", |s| sys!(libc::SYS_sendfile, s.pipe[1].as_raw_fd(), s.file.as_raw_fd(), 0, 4)),
    probe("splice", |s| sys!(libc::SYS_splice, s.file.as_raw_fd(), 0, s.pipe[1].as_raw_fd(), 0, 4, 0)),
    probe("tee", |s| sys!(libc::SYS_tee, s.pipe[0].as_raw_fd(), s.other_pipe[1].as_raw_fd(), 4, 0)),
    probe("vmsplice", |s| {
        let bytes = b"bytes";
        let vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: 5 };
        sys!(libc::SYS_vmsplice, s.other_pipe[1].as_raw_fd(), &vector, 1, 0)
    }),
    probe("flock", |s| sys!(libc::SYS_flock, s.file.as_raw_fd(), libc::LOCK_SH)),
    probe("fsync", |s| sys!(libc::SYS_fsync, s.file.as_raw_fd())),
    probe("dup", |s| sys!(libc::SYS_dup, s.file.as_raw_fd())),
    probe("dup3", |s| sys!(libc::SYS_dup3, s.file.as_raw_fd(), s.other_file.as_raw_fd(), 0)),
    probe("fcntl-dup", |s| sys!(libc::SYS_fcntl, s.file.as_raw_fd(), libc::F_DUPFD, 0)),
    probe("fcntl-owner", |s| sys!(libc::SYS_fcntl, s.pipe[0].as_raw_fd(), libc::F_SETOWN, s.targets.sibling)),
    probe("ioctl", |s| sys!(libc::SYS_ioctl, s.pipe[0].as_raw_fd(), libc::FIONREAD as usize, &mut 0_i32)),
    probe("ioctl-terminal", |s| {
        let terminal = s.terminal.as_ref().ok_or(io::ErrorKind::NotFound)?.as_raw_fd();
        sys!(libc::SYS_ioctl, terminal, libc::TIOCSTI as usize, c"x")
    })
    .layered(),
    probe("pipe2", |_| sys!(libc::SYS_pipe2, &mut [0_i32; 2], 0)),
    probe("eventfd2", |_| sys!(libc::SYS_eventfd2, 0, 0)),
    probe("timerfd_create", |_| sys!(libc::SYS_timerfd_create, libc::CLOCK_MONOTONIC, 0)),
    probe("signalfd4", |_| sys!(libc::SYS_signalfd4, -1, &0_u64, 8, 0)),
    probe("epoll_create1", |_| sys!(libc::SYS_epoll_create1, 0)),
    probe("inotify_init1", |_| sys!(libc::SYS_inotify_init1, 0)),
    probe("fanotify_init", |_| sys!(libc::SYS_fanotify_init, libc::FAN_REPORT_FID, 0)),
];
