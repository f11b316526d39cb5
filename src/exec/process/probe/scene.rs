//! What a probe finds: files, sockets and processes that it may reach, some open already, since
//! guards must hold for an open descriptor of the wrong kind too.

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::sys;

/// Where the test's own processes and listeners are.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// An empty folder for this probe alone.
    pub folder: PathBuf,
    /// A process beside this one, of the same user.
    pub sibling: i32,
    /// Port of a TCP listener on 127.0.0.1.
    pub tcp: u16,
    /// Port of a UDP socket on 127.0.0.1.
    pub udp: u16,
    /// Path of a listening Unix socket.
    pub unix: PathBuf,
    /// Name of a listening abstract Unix socket, without the NUL.
    pub abstract_name: String,
}

/// The targets, and what is open before the guards are.
pub struct Scene {
    pub(super) targets: Targets,
    /// The process that started this one.
    pub(super) parent: i32,
    pub(super) file: File,
    pub(super) other_file: File,
    pub(super) folder: File,
    /// `/bin/echo`, to be executed.
    pub(super) echo: File,
    pub(super) pipe: [OwnedFd; 2],
    pub(super) other_pipe: [OwnedFd; 2],
    pub(super) pair: [UnixStream; 2],
    /// Not connected, not bound.
    pub(super) tcp: OwnedFd,
    pub(super) udp: UdpSocket,
    /// Not connected, not bound.
    pub(super) unix: OwnedFd,
    pub(super) listener: TcpListener,
    /// Of the sibling.
    pub(super) pidfd: Option<OwnedFd>,
    pub(super) namespace: File,
    pub(super) terminal: Option<File>,
}

impl Scene {
    /// Opens everything, and puts files into the folder.
    pub fn set(targets: Targets) -> io::Result<Self> {
        let here = |name: &str| targets.folder.join(name);
        fs::create_dir(here("empty"))?;
        fs::write(here("other"), "other")?;
        let mut file =
            File::options().read(true).write(true).create(true).truncate(true).open(here("file"))?;
        file.write_all(b"secret")?;
        let [pipe, other_pipe] = [pipe()?, pipe()?];
        // For what reads from them.
        sys!(libc::SYS_write, pipe[1].as_raw_fd(), c"bytes", 5_usize)?;
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let pidfd = sys!(libc::SYS_pidfd_open, targets.sibling, 0).ok().map(|fd| owned(fd as RawFd));
        Ok(Self {
            parent: std::os::unix::process::parent_id().cast_signed(),
            file: File::options().read(true).write(true).open(here("file"))?,
            other_file: File::options().read(true).write(true).open(here("other"))?,
            folder: File::open(&targets.folder)?,
            echo: File::open("/bin/echo")?,
            pipe,
            other_pipe,
            pair: UnixStream::pair()?.into(),
            tcp: socket(libc::AF_INET)?,
            udp: UdpSocket::bind(("127.0.0.1", 0))?,
            unix: socket(libc::AF_UNIX)?,
            listener,
            pidfd,
            namespace: File::open("/proc/self/ns/uts")?,
            terminal: File::options().read(true).write(true).open("/dev/ptmx").ok(),
            targets,
        })
    }

    /// A name in the folder, for system calls.
    pub(super) fn path(&self, name: &str) -> CString {
        c_string(&self.targets.folder.join(name))
    }

    pub(super) fn pidfd(&self) -> RawFd {
        self.pidfd.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}

/// A file of a process.
pub(super) fn proc(pid: i32, name: &str) -> CString {
    c_string(Path::new(&format!("/proc/{pid}/{name}")))
}

fn c_string(path: &Path) -> CString {
    CString::new(OsStr::as_bytes(path.as_os_str())).expect("a path without NUL")
}

fn socket(family: i32) -> io::Result<OwnedFd> {
    Ok(owned(sys!(libc::SYS_socket, family, libc::SOCK_STREAM, 0)? as RawFd))
}

fn pipe() -> io::Result<[OwnedFd; 2]> {
    let mut ends = [0_i32; 2];
    sys!(libc::SYS_pipe2, &mut ends, libc::O_NONBLOCK)?;
    Ok(ends.map(owned))
}

#[expect(unsafe_code, reason = "a descriptor that a system call has just returned")]
fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: it is open and nobody else's.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
