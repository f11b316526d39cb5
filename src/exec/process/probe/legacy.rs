//! Calls that only x86 has: old names of the same doors, and doors of its own.

use std::arch::asm;
use std::ffi::CStr;
use std::io;

use super::{Probe, probe, sys};

fn open(path: &CStr, flags: i32) -> io::Result<i64> {
    sys!(libc::SYS_open, path, flags, 0o600)
}

/// `vfork`, whose child ends in the same breath: it must not use the stack that it shares.
#[expect(unsafe_code, reason = "no function can call vfork safely")]
fn vfork() -> io::Result<i64> {
    let result: i64;
    // SAFETY: the child makes no step but exit(0), and touches no memory.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor edi, edi",
            "mov eax, 60",
            "syscall",
            "2:",
            inlateout("rax") libc::SYS_vfork => result,
            out("rdi") _,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    if result < 0 { Err(io::Error::from_raw_os_error(-result as i32)) } else { Ok(result) }
}

/// `getpid` as a 32-bit program calls it. The filter ends the process (`SIGSYS`).
#[expect(unsafe_code, reason = "there is no other way to int 0x80")]
fn int_80() -> io::Result<i64> {
    let result: i64;
    // SAFETY: getpid touches no memory; the gate clobbers r8 to r11.
    unsafe {
        asm!(
            "int 0x80",
            inlateout("rax") 20_i64 => result,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
            options(nostack),
        );
    }
    if result < 0 { Err(io::Error::from_raw_os_error(-result as i32)) } else { Ok(result) }
}

const X32: i64 = 0x4000_0000;
const ARCH_GET_FS: i32 = 0x1003;

pub(super) const PROBES: &[Probe] = &[
    probe("open", |_| open(c"/etc/passwd", libc::O_RDONLY)).layered(),
    probe("open-write", |s| open(&s.path("new"), libc::O_WRONLY | libc::O_CREAT)).layered(),
    probe("creat", |s| sys!(libc::SYS_creat, &*s.path("new"), 0o600)).layered(),
    probe("stat", |_| sys!(libc::SYS_stat, c"/etc/passwd", &mut [0_u64; 32])),
    probe("access", |_| sys!(libc::SYS_access, c"/etc/passwd", libc::R_OK)),
    probe("readlink", |_| sys!(libc::SYS_readlink, c"/proc/self/exe", &mut [0_u8; 64], 64)),
    probe("mkdir", |s| sys!(libc::SYS_mkdir, &*s.path("new"), 0o700)).layered(),
    probe("rmdir", |s| sys!(libc::SYS_rmdir, &*s.path("empty"))).layered(),
    probe("unlink", |s| sys!(libc::SYS_unlink, &*s.path("other"))).layered(),
    probe("rename", |s| sys!(libc::SYS_rename, &*s.path("other"), &*s.path("new"))).layered(),
    probe("link", |s| sys!(libc::SYS_link, &*s.path("file"), &*s.path("new"))).layered(),
    probe("symlink", |s| sys!(libc::SYS_symlink, c"/etc/passwd", &*s.path("new"))).layered(),
    probe("mknod", |s| sys!(libc::SYS_mknod, &*s.path("new"), libc::S_IFIFO | 0o600)).layered(),
    probe("chmod", |s| sys!(libc::SYS_chmod, &*s.path("file"), 0o777)),
    probe("chown", |s| sys!(libc::SYS_chown, &*s.path("file"), -1, -1)),
    probe("utime", |s| sys!(libc::SYS_utime, &*s.path("file"), 0)),
    probe("pipe", |_| sys!(libc::SYS_pipe, &mut [0_i32; 2])),
    probe("poll", |_| sys!(libc::SYS_poll, 0, 0, 0)),
    probe("select", |_| sys!(libc::SYS_select, 0, 0, 0, 0, &[0_u64; 2])),
    probe("fork", |_| match sys!(libc::SYS_fork) {
        Ok(0) => sys!(libc::SYS_exit_group, 0),
        other => other,
    }),
    probe("vfork", |_| vfork()),
    probe("alarm", |_| sys!(libc::SYS_alarm, 9)),
    probe("time", |_| sys!(libc::SYS_time, 0)),
    probe("getpgrp", |_| sys!(libc::SYS_getpgrp)),
    probe("iopl", |_| sys!(libc::SYS_iopl, 3)).layered(),
    probe("ioperm", |_| sys!(libc::SYS_ioperm, 0x80, 1, 1)).layered(),
    probe("modify_ldt", |_| sys!(libc::SYS_modify_ldt, 0, &mut [0_u8; 64], 64)),
    probe("arch_prctl", |_| sys!(libc::SYS_arch_prctl, ARCH_GET_FS, &mut 0_u64)),
    probe("sysfs", |_| sys!(libc::SYS_sysfs, 3)),
    probe("ustat", |_| sys!(libc::SYS_ustat, 0, &mut [0_u64; 8])).judged(&[libc::EINVAL]),
    probe("inotify_init", |_| sys!(libc::SYS_inotify_init)),
    probe("int-80", |_| int_80()),
    probe("x32", |_| sys!(X32 | libc::SYS_getpid)),
];
