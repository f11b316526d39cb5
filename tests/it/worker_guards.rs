//! The guards of worker processes. Each way out that `src/exec/process/probe.rs` lists is tried
//! three times in processes of the real binary: open, where it must get out (else the probe
//! proves nothing), with the guards that do not filter system calls, and closed as a worker is.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

mod alive;
mod traced;

/// Probes whose control gets out here must be at least this many.
const LEAST: usize = 100;

/// Refusals of the filter that are no `EPERM`.
const OTHER_REFUSALS: &[(&str, Came)] = &[
    // glibc falls back to `clone` on this error alone.
    ("clone3", Came::Refused(libc::ENOSYS)),
    ("int-80", Came::Killed(libc::SIGSYS)),
];

/// By capabilities and Landlock, by Landlock, by the limits of queues and of a file's size.
const REFUSED_BY_LAYERS: &[Came] = &[
    Came::Refused(libc::EPERM),
    Came::Refused(libc::EACCES),
    Came::Refused(libc::EMFILE),
    Came::Killed(libc::SIGXFSZ),
];

fn sqlfs(name: &str, guards: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sqlfs"));
    command.args(["worker-probe", name]).args(guards).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a probe came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// It got out.
    Reached,
    /// With this errno.
    Refused(i32),
    /// By this signal.
    Killed(i32),
}

fn came(name: &str, status: ExitStatus, stdout: &str, stderr: &str) -> Came {
    let refused = || stdout.strip_prefix("refused: ")?.trim_end().parse().ok();
    match (status.code(), status.signal()) {
        (Some(0), _) if stdout == "reached\n" => Came::Reached,
        (Some(1), _) => Came::Refused(refused().unwrap_or_else(|| panic!("{name}: {stdout} {stderr}"))),
        (None, Some(signal)) => Came::Killed(signal),
        _ => panic!("{name}: {status}: {stdout} {stderr}"),
    }
}

/// What the probes may reach from outside: processes and listeners of the test's own.
struct Rig {
    folder: tempfile::TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    abstract_unix: UnixListener,
    abstract_name: String,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let abstract_name = format!("sqlfs-test-{}", uuid::Uuid::new_v4());
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("a name");
        let rig = Self {
            tcp: TcpListener::bind("127.0.0.1:0").expect("a port"),
            udp: UdpSocket::bind("127.0.0.1:0").expect("a port"),
            unix: UnixListener::bind(folder.path().join("listener")).expect("a socket"),
            abstract_unix: UnixListener::bind_addr(&address).expect("a socket"),
            abstract_name,
            folder,
        };
        rig.tcp.set_nonblocking(true).expect("set");
        rig.udp.set_nonblocking(true).expect("set");
        rig.unix.set_nonblocking(true).expect("set");
        rig.abstract_unix.set_nonblocking(true).expect("set");
        rig
    }

    /// Which of the listeners something came to since the last call.
    fn heard(&self) -> Vec<&'static str> {
        let heard = [
            ("tcp", self.tcp.accept().is_ok()),
            ("udp", self.udp.recv(&mut [0]).is_ok()),
            ("unix", self.unix.accept().is_ok()),
            ("abstract", self.abstract_unix.accept().is_ok()),
        ];
        heard.into_iter().filter_map(|(name, heard)| heard.then_some(name)).collect()
    }

    /// Runs a probe beside a sibling of its own.
    fn probe(&self, name: &str, guards: &[&str]) -> Came {
        let mut sibling = Sibling::start();
        let folder: PathBuf = self.folder.path().join(format!("{name}{}", guards.concat()));
        std::fs::create_dir(&folder).expect("a folder of the probe's own");
        let mut command = sqlfs(name, guards);
        command.arg("--folder").arg(folder).arg("--unix").arg(self.folder.path().join("listener"));
        command.args(["--sibling", &sibling.0.id().to_string(), "--abstract-name", &self.abstract_name]);
        command.args(["--tcp", &self.tcp.local_addr().expect("bound").port().to_string()]);
        command.args(["--udp", &self.udp.local_addr().expect("bound").port().to_string()]);
        let output = command.output().expect("the binary starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let came = came(name, output.status, &text(&output.stdout), &text(&output.stderr));
        if guards.is_empty() {
            assert!(sibling.0.try_wait().expect("a child").is_none(), "{name} ended its sibling");
        }
        came
    }

    /// All probes by name, on several threads.
    fn probe_all(&self, probes: &[Probe], guards: &[&str]) -> BTreeMap<String, Came> {
        let (next, all) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    while let Some(probe) = probes.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let came = self.probe(&probe.name, guards);
                        all.lock().expect("no panic").insert(probe.name.clone(), came);
                    }
                });
            }
        });
        all.into_inner().expect("no panic")
    }
}

/// A process that waits for the end of its input.
struct Sibling(Child);

impl Sibling {
    fn start() -> Self {
        let child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        Self(child.expect("cat starts"))
    }
}

impl Drop for Sibling {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Probe {
    name: String,
    /// Refused without seccomp too.
    layered: bool,
}

fn probes() -> Vec<Probe> {
    let list = sqlfs("list", &[]).output().expect("the binary starts");
    let list = String::from_utf8(list.stdout).expect("text");
    let probe = |line: &str| {
        let (name, layered) = line.split_once(' ').expect("name and layered");
        Probe { name: name.to_owned(), layered: layered == "true" }
    };
    list.lines().map(probe).collect()
}

#[test]
fn no_probe_gets_out() {
    let (rig, probes) = (Rig::new(), probes());
    let closed = rig.probe_all(&probes, &[]);
    let with_python = rig.probe_all(&probes, &["--python"]);
    let heard_closed = rig.heard();
    let layers = rig.probe_all(&probes, &["--layers"]);
    // From level 6 on Landlock stops all that the table says.
    let full = Held::start(sqlfs("hold", &["--layers"])).landlock().is_some_and(|level| level >= 6);
    rig.heard();
    let open = rig.probe_all(&probes, &["--open"]);

    assert_eq!(rig.heard(), ["tcp", "udp", "unix", "abstract"], "the controls reach every listener");
    assert_eq!(closed.len(), probes.len(), "each name is there once");
    let (mut proven, mut no_control) = (0, Vec::new());
    let mut wrong: Vec<String> = heard_closed
        .iter()
        .map(|listener| format!("a closed process reached the {listener} listener"))
        .collect();
    for Probe { name, layered } in &probes {
        let expected = OTHER_REFUSALS.iter().find(|(other, _)| other == name);
        let expected = expected.map_or(Came::Refused(libc::EPERM), |(_, came)| *came);
        if closed[name] != expected {
            wrong.push(format!("{name}: closed {:?}, not {expected:?}", closed[name]));
        }
        // It may map copies of what is open; in a worker that is its snapshot alone.
        let expected = if name == "mmap-file" { Came::Reached } else { expected };
        if with_python[name] != expected {
            wrong.push(format!("{name}: closed for Python {:?}, not {expected:?}", with_python[name]));
        }
        if open[name] != Came::Reached {
            no_control.push(format!("{name}: {:?}", open[name]));
            continue;
        }
        proven += 1;
        if *layered && full && !REFUSED_BY_LAYERS.contains(&layers[name]) {
            wrong.push(format!("{name}: {:?} without seccomp", layers[name]));
        }
    }
    println!("{proven} of {} probes proven; no control here:\n{}", probes.len(), no_control.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(proven >= LEAST, "only {proven} controls get out; not:\n{}", no_control.join("\n"));
}

/// A process that has closed itself, or not, and waits.
struct Held(Child, String);

impl Held {
    fn start(mut hold: Command) -> Self {
        let mut child = hold.stdin(Stdio::piped()).spawn().expect("the binary starts");
        let mut said = [0; 256];
        let length = child.stdout.as_mut().expect("piped").read(&mut said).expect("it says what holds");
        Self(child, String::from_utf8_lossy(&said[..length]).into_owned())
    }

    /// The level that holds.
    fn landlock(&self) -> Option<u32> {
        let (_, level) = self.1.split_once("landlock: Some(")?;
        level.split_once(')')?.0.parse().ok()
    }

    fn proc(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.0.id())).expect("a live process")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let status = self.0.wait().expect("a child");
        assert!(status.success() || std::thread::panicking(), "{status}");
    }
}

#[test]
fn descriptors_are_not_inherited() {
    let mut shell = Command::new("sh");
    let hold =
        format!("exec 7</etc/passwd 9>/dev/null; exec {} worker-probe hold", env!("CARGO_BIN_EXE_sqlfs"));
    let output = shell.args(["-c", &hold]).stdin(Stdio::null()).output().expect("sh starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("3 descriptors, "), "{said}");
}

/// A command as a user without powers runs it: root keeps its name alone.
fn plain(name: &str, guards: &[&str]) -> Command {
    let command = sqlfs(name, guards);
    let root = std::fs::metadata("/proc/self").expect("a process").uid() == 0;
    if !root {
        return command;
    }
    let mut plain = Command::new("setpriv");
    plain.args(["--bounding-set", "-all", "--inh-caps", "-all"]).arg(command.get_program());
    plain.args(command.get_args()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    plain
}

#[test]
fn every_layer_is_there() {
    // With all powers that the test has, so that it shows who takes them away.
    let closed = Held::start(sqlfs("hold", &[]));
    // A worker says which of the kernel's layers hold; the probe asks the kernel for its own.
    let has_landlock = Rig::new().probe("landlock", &["--open"]) == Came::Reached;
    assert_eq!(closed.landlock().is_some(), has_landlock, "{}", closed.1);
    assert!(closed.1.contains("seccomp: true"), "{}", closed.1);
    let status = closed.proc("status");
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000"] {
        assert!(status.lines().any(|found| found == line), "{line}:\n{status}");
    }
    let limits = closed.proc("limits");
    for name in ["core file size", "open files", "file size", "msgqueue size", "locked memory"] {
        let line = limits.lines().find(|line| line.starts_with(&format!("Max {name}"))).expect(name);
        let numbers: Vec<_> = line.split_whitespace().filter(|word| word.parse::<u64>().is_ok()).collect();
        assert_eq!(numbers, ["0", "0"], "{line}");
    }
}

/// Somebody of the same user, without guards, such as the next worker if its guards failed.
#[test]
fn a_closed_process_cannot_be_traced_by_its_like() {
    let (open, closed) = (Held::start(plain("hold", &["--open"])), Held::start(plain("hold", &[])));
    let rig = Rig::new();
    let names =
        ["openat-sibling-memory", "openat-sibling-maps", "ptrace-seize", "process_vm_readv", "pidfd_getfd"];
    for name in names {
        let mut tries = Vec::new();
        for (which, target) in [("open", &open), ("closed", &closed)] {
            let folder = rig.folder.path().join(format!("{name}-{which}"));
            std::fs::create_dir(&folder).expect("a folder");
            let mut attack = plain(name, &["--open"]);
            attack.args(["--sibling", &target.0.id().to_string(), "--folder"]).arg(folder);
            let output = attack.output().expect("the binary starts");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            tries.push(came(name, output.status, &text(&output.stdout), &text(&output.stderr)));
        }
        assert_eq!(tries[0], Came::Reached, "{name}: the control");
        assert!(
            matches!(tries[1], Came::Refused(libc::EPERM | libc::EACCES)),
            "{name}: {:?} of a closed process",
            tries[1]
        );
    }
}
