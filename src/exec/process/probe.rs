//! Ways out of a process, each tried natively. Test builds alone have them: the tests run every
//! probe in a process of its own, open (it must get out) and closed by the guards (it must not).

use std::ffi::CStr;
use std::io;

use super::guards::{self, GuardError, Mappings};

mod files;
mod kernel;
#[cfg(target_arch = "x86_64")]
mod legacy;
mod life;
mod memory;
mod network;
mod processes;
mod scene;

pub use scene::{Scene, Targets};

/// One way out.
pub struct Probe {
    /// For people and the command line.
    pub name: &'static str,
    act: fn(&Scene) -> io::Result<i64>,
    /// Errors by which the kernel tells that it took the call and looked at its arguments:
    /// for calls that would harm the machine if they succeeded.
    judged: &'static [i32],
    /// Refused without the filter of system calls too, as on a kernel with Landlock alone.
    pub layered: bool,
}

impl Probe {
    const fn judged(mut self, errors: &'static [i32]) -> Self {
        self.judged = errors;
        self
    }

    const fn layered(mut self) -> Self {
        self.layered = true;
        self
    }

    /// Tries it. `Ok` if it got out.
    pub fn run(&self, scene: &Scene) -> io::Result<()> {
        match (self.act)(scene) {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error().is_some_and(|errno| self.judged.contains(&errno)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

const fn probe(name: &'static str, act: fn(&Scene) -> io::Result<i64>) -> Probe {
    Probe { name, act, judged: &[], layered: false }
}

/// All ways out.
pub fn all() -> impl Iterator<Item = &'static Probe> {
    #[cfg(target_arch = "x86_64")]
    let legacy = legacy::PROBES;
    #[cfg(not(target_arch = "x86_64"))]
    let legacy: &[Probe] = &[];
    [files::PROBES, processes::PROBES, network::PROBES, memory::PROBES, kernel::PROBES, legacy]
        .into_iter()
        .flatten()
}

/// Things that a closed process must still be able to do, or that must end it at once.
#[must_use]
pub fn lives() -> &'static [(&'static str, fn())] {
    life::LIVES
}

/// Which guards a probe runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guards {
    /// None: the control.
    Open,
    /// Those that hold on a kernel without seccomp, with descriptors to spare.
    Layers,
    /// As a worker.
    Closed,
    /// As a worker that runs Python.
    ClosedWithPython,
}

/// Closes what the process inherited, and says how many descriptors are open then.
pub fn close_inherited() -> Result<usize, String> {
    guards::close_inherited().map_err(|error| error.to_string())?;
    // The list itself is open while it is read.
    std::fs::read_dir("/proc/self/fd").map(|open| open.count() - 1).map_err(|error| error.to_string())
}

/// Closes this process; says what holds, for people.
pub fn close(guards: Guards) -> Result<String, String> {
    let closed: Result<String, GuardError> = match guards {
        Guards::Open => Ok("open".to_owned()),
        Guards::Layers => guards::close_without_seccomp().map(|level| format!("landlock: {level:?}")),
        Guards::Closed => guards::close(Mappings::Anonymous).map(|closed| format!("{closed:?}")),
        Guards::ClosedWithPython => guards::close(Mappings::Copies).map(|closed| format!("{closed:?}")),
    };
    closed.map_err(|error| error.to_string())
}

/// An argument of a system call, as the register holds it.
trait Argument {
    fn register(self) -> usize;
}

impl Argument for i32 {
    fn register(self) -> usize {
        self as isize as usize
    }
}

impl Argument for u32 {
    fn register(self) -> usize {
        self as usize
    }
}

impl Argument for u64 {
    fn register(self) -> usize {
        self as usize
    }
}

impl Argument for usize {
    fn register(self) -> usize {
        self
    }
}

impl Argument for &CStr {
    fn register(self) -> usize {
        self.as_ptr() as usize
    }
}

impl<T> Argument for &T {
    fn register(self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

impl<T> Argument for &mut T {
    fn register(self) -> usize {
        std::ptr::from_mut(self) as usize
    }
}

/// A system call by its number, past libc: what an attacker's own code would do.
#[expect(unsafe_code, reason = "probes make system calls that no safe function offers")]
fn call(number: libc::c_long, registers: &[usize]) -> io::Result<i64> {
    let mut all = [0; 6];
    all[..registers.len()].copy_from_slice(registers);
    // SAFETY: probes pass pointers to values that live during the call and are as large as the
    // call's manual says. The process does nothing after its one probe but report.
    let result = unsafe { libc::syscall(number, all[0], all[1], all[2], all[3], all[4], all[5]) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// `sys!(libc::SYS_kill, pid, signal)`: missing arguments are zero.
macro_rules! sys {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        crate::exec::process::probe::call($number, &[$(crate::exec::process::probe::Argument::register($argument)),*])
    };
}
use sys;
