//! `git`: sessions beside the machine's own git, repositories that travel in both
//! directions, remotes, and repositories that mean harm.

mod backend;
mod damage;
mod holes;
mod hostile;
mod remotes;
mod session;
mod travel;

use std::path::Path;
use std::process::Command;

/// What the machine's git prints in a folder, which must work.
pub fn real(dir: &Path, args: &[&str]) -> String {
    let ran = command(dir, "git").args(args).output().expect("these tests need git on PATH");
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// A program of the machine in a folder, without the settings of whoever runs the tests.
pub fn command(dir: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs([
        ("HOME", "/nonexistent"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("LC_ALL", "C.UTF-8"),
        ("TZ", "UTC"),
    ]);
    command.stdin(std::process::Stdio::null());
    command
}

/// Unpacks an export.
pub fn unpack(packed: &[u8], dir: &Path) {
    let tar = flate2::read::GzDecoder::new(packed);
    tar::Archive::new(tar).unpack(dir).expect("a tar archive");
}
