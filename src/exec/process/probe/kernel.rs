//! Wide doors into the kernel, and what would change the machine. The latter are asked for
//! nothing, or for something that is not there: who has the right to it hears so.

use super::{Probe, probe, sys};

const NOT_THERE: &std::ffi::CStr = c"/nonexistent";
/// Of `KEYCTL_GET_KEYRING_ID` and `add_key`: the keyring of the process.
const PROCESS_KEYRING: i32 = -2;

/// `struct utsname` holds six names of 65 bytes; this is the one of the host.
fn own_name() -> std::io::Result<[u8; 65]> {
    let mut names = [[0_u8; 65]; 6];
    sys!(libc::SYS_uname, &mut names)?;
    Ok(names[1])
}

pub(super) const PROBES: &[Probe] = &[
    probe("io_uring_setup", |_| sys!(libc::SYS_io_uring_setup, 1, &mut [0_u32; 30])),
    probe("io_uring_enter", |_| sys!(libc::SYS_io_uring_enter, -1, 0, 0, 0, 0, 0)).judged(&[libc::EBADF]),
    probe("io_setup", |_| sys!(libc::SYS_io_setup, 1, &mut 0_usize)),
    // A map of one element: type array, 4 bytes of key and value.
    probe("bpf", |_| sys!(libc::SYS_bpf, 0, &[2_u32, 4, 4, 1], 16)).layered(),
    probe("perf_event_open", |_| {
        // Size and a software clock of this process, without the kernel's part.
        let mut event = [0_u64; 16];
        event[0] = 1 | (128 << 32);
        event[5] = 1 << 5 | 1 << 6;
        sys!(libc::SYS_perf_event_open, &event, 0, -1, -1, 0)
    }),
    probe("keyctl", |_| sys!(libc::SYS_keyctl, 0, PROCESS_KEYRING, 1)),
    probe("add_key", |_| sys!(libc::SYS_add_key, c"user", c"sqlfs", c"x", 1, PROCESS_KEYRING)),
    probe("request_key", |_| sys!(libc::SYS_request_key, c"user", c"sqlfs-none", 0, 0))
        .judged(&[libc::ENOKEY]),
    probe("seccomp", |_| sys!(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &0_u32)),
    probe("seccomp-by-prctl", |_| sys!(libc::SYS_prctl, libc::PR_SET_SECCOMP, 9)).judged(&[libc::EINVAL]),
    probe("landlock", |_| sys!(libc::SYS_landlock_create_ruleset, 0, 0, 1)),
    probe("personality", |_| sys!(libc::SYS_personality, 0x004_0000)),
    probe("timer_create", |_| sys!(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, 0, &mut 0_u64)),
    probe("setitimer", |_| sys!(libc::SYS_setitimer, 0, &[0_u64, 0, 9, 0], 0)),
    probe("sysinfo", |_| sys!(libc::SYS_sysinfo, &mut [0_u64; 32])),
    probe("uname", |_| own_name().map(|_| 0)),
    probe("adjtimex", |_| sys!(libc::SYS_adjtimex, &mut [0_u64; 32])),
    probe("clock_adjtime", |_| sys!(libc::SYS_clock_adjtime, 0, &mut [0_u64; 32])),
    probe("clock_settime", |_| sys!(libc::SYS_clock_settime, libc::CLOCK_REALTIME, &[0_i64, -1]))
        .judged(&[libc::EINVAL]),
    probe("settimeofday", |_| sys!(libc::SYS_settimeofday, 0, 0)).layered(),
    probe("syslog", |_| sys!(libc::SYS_syslog, 10, 0, 0)),
    probe("syslog-read", |_| sys!(libc::SYS_syslog, 3, &mut [0_u8; 64], 64)).layered(),
    probe("mount", |_| sys!(libc::SYS_mount, c"none", c"/", c"nonexistent", 0, 0))
        .judged(&[libc::ENODEV])
        .layered(),
    probe("umount2", |s| sys!(libc::SYS_umount2, &*s.path("empty"), 0)).judged(&[libc::EINVAL]).layered(),
    probe("pivot_root", |_| sys!(libc::SYS_pivot_root, c"/", c"/"))
        .judged(&[libc::EBUSY, libc::EINVAL])
        .layered(),
    probe("open_tree", |_| sys!(libc::SYS_open_tree, libc::AT_FDCWD, c"/", 0)),
    probe("open_tree-clone", |_| sys!(libc::SYS_open_tree, libc::AT_FDCWD, c"/", 1)).layered(),
    probe("move_mount", |_| sys!(libc::SYS_move_mount, -1, c"", -1, c"", 0))
        .judged(&[libc::ENOENT])
        .layered(),
    probe("mount_setattr", |s| {
        sys!(libc::SYS_mount_setattr, libc::AT_FDCWD, &*s.path("empty"), 0, &[1_u64, 0, 0, 0], 32)
    })
    .judged(&[libc::EINVAL])
    .layered(),
    probe("fsopen", |_| sys!(libc::SYS_fsopen, c"tmpfs", 0)).layered(),
    probe("swapon", |_| sys!(libc::SYS_swapon, NOT_THERE, 0)).judged(&[libc::ENOENT]).layered(),
    probe("swapoff", |_| sys!(libc::SYS_swapoff, NOT_THERE)).judged(&[libc::ENOENT]).layered(),
    probe("acct", |_| sys!(libc::SYS_acct, NOT_THERE)).judged(&[libc::ENOENT]).layered(),
    // Q_GETFMT of a user's quota, of no device.
    probe("quotactl", |_| sys!(libc::SYS_quotactl, 0x8000_0400_u32, NOT_THERE, 0, &mut 0_u32)).judged(&[
        libc::ENOENT,
        libc::ENODEV,
        libc::ENOTBLK,
    ]),
    probe("sethostname", |_| {
        let name = own_name()?;
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(0);
        sys!(libc::SYS_sethostname, &name, length)
    })
    .layered(),
    probe("sethostname-length", |_| sys!(libc::SYS_sethostname, c"", -1)).judged(&[libc::EINVAL]).layered(),
    probe("reboot", |_| sys!(libc::SYS_reboot, 0, 0, 0, 0)).judged(&[libc::EINVAL]).layered(),
    probe("init_module", |_| sys!(libc::SYS_init_module, 0, 0, c"")).judged(&[libc::ENOEXEC]).layered(),
    probe("finit_module", |_| sys!(libc::SYS_finit_module, -1, c"", 0)).judged(&[libc::EBADF]).layered(),
    probe("delete_module", |_| sys!(libc::SYS_delete_module, c"nonexistent", libc::O_NONBLOCK))
        .judged(&[libc::ENOENT])
        .layered(),
    probe("kexec_load", |_| sys!(libc::SYS_kexec_load, 0, 99, 0, 0)).judged(&[libc::EINVAL]).layered(),
    // By number, since libc does not name them yet: lsm_get_self_attr, listmount, statmount.
    probe("lsm_get_self_attr", |_| sys!(459, 0, 0, 0, 0)).judged(&[libc::EINVAL, libc::EOPNOTSUPP]),
    probe("listmount", |_| sys!(458, &[32_u64, u64::MAX, 0, 0], &mut [0_u64; 8], 8, 0)),
    probe("cachestat", |_| sys!(451, -1, 0, 0, 0)).judged(&[libc::EBADF]),
    // No such call, in any kernel: the list allows, it does not forbid.
    probe("unknown", |_| sys!(100_000)).judged(&[libc::ENOSYS]),
];
