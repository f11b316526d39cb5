//! CPython, compiled to WebAssembly and started once ahead of time: a program begins with a
//! copy of that memory, and ends with it.

use std::time::Duration;

use bashkit::{Bash, CPython, CPythonLimits};

use crate::fs::Quota;

/// The server keeps the time.
const LONGEST: Duration = Duration::from_hours(1);

/// Memory of the interpreter itself before a program's first line.
const SNAPSHOT: u64 = 48 << 20;

/// What an interpreter of 32 bits may be given.
const MOST: u64 = 1 << 30;

/// Output of one program, both streams together.
const OUTPUT: usize = 64 << 20;

/// Calls within calls, as in CPython.
const RECURSION: usize = 1000;

/// The command, for a script with these limits.
pub(super) fn builtin(quota: &Quota) -> CPython {
    let memory = quota.memory.saturating_add(SNAPSHOT).min(MOST);
    CPython::with_limits(
        CPythonLimits::default()
            .max_duration(LONGEST)
            .max_memory(usize::try_from(memory).unwrap_or(usize::MAX))
            .max_recursion(RECURSION)
            .max_output(OUTPUT),
    )
}

/// What runs before each program and then does what the interpreter's own start does with a
/// command line: that one knows no PYTHONPATH and no modules beside the snapshot's (`library`),
/// and what starts processes is missing or speaks of WASI. To compile this is a part of each
/// program's start, so it is short.
const START: &str = r#"
import os, subprocess, sys
import _bashkit_boot as boot
del sys.path[0]
sys.path[0:0] = filter(None, os.environ.get("PYTHONPATH", "").split(":"))
sys.path_importer_cache.pop("/usr/local/lib/python3.14", None)
def no_processes(*_, **__):
    raise OSError(58, "Python starts no processes here: run the command in the bash script")
os.system = os.popen = subprocess.Popen.__init__ = no_processes
try:
    sys.exit(boot._execute(*boot._parse(sys.argv[1:])))
except SystemExit:
    raise
except BaseException as error:
    frames = boot._strip_driver_frames(error.__traceback__.tb_next)
    sys.excepthook(type(error), error.with_traceback(frames), frames)
    sys.exit(1)
"#;

/// The command line to use in place of `args`.
pub(super) fn command_line(args: &[String]) -> Vec<String> {
    ["-c", START].into_iter().map(str::to_owned).chain(args.iter().cloned()).collect()
}

/// Runs a program of nothing, on the calling thread, in a process that is about to lose the
/// means to start an interpreter: what that needs of the kernel (a file in memory that the
/// snapshot is mapped from, address space, handlers of signals) is kept for later programs.
///
/// # Errors
/// Words for a log.
pub(crate) fn warm_up() -> Result<(), String> {
    CPython::warm_up()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let mut bash = Bash::builder().cpython().build();
    let ran = runtime.block_on(bash.exec("python3 -c pass")).map_err(|error| error.to_string())?;
    if ran.exit_code == 0 { Ok(()) } else { Err(String::from_utf8_lossy(ran.stderr.as_bytes()).into_owned()) }
}
