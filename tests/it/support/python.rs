//! Programs from PyPI, each in a virtual environment that is made once and kept.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use super::server::die_with_us;

/// Folder of the scripts and lists of packages.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/python")
}

/// The Python of an environment with the packages of `list` (a file of `folder`, each
/// package with its version). It is made on first use, in `~/.cache/sqlfs-venv`, and made
/// again when the list or the Python changes.
pub fn environment(list: &str) -> PathBuf {
    let packages = folder().join(list);
    let text = std::fs::read_to_string(&packages).expect("the list of packages");
    let version =
        said(Command::new("python3").args(["-c", "import sys; print(*sys.version_info[:3], sep='.')"]));
    let home = std::env::var_os("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
    let cache = home.join(".cache/sqlfs-venv");
    std::fs::create_dir_all(&cache).expect("a cache folder");
    let name = format!("{}-{}", list.trim_end_matches(".txt"), version.trim());
    let (place, done) = (cache.join(&name), cache.join(format!("{name}.done")));
    // Other tests, and other runs of them, may want the same one at the same time.
    let lock = std::fs::File::create(cache.join(format!("{name}.lock"))).expect("a lock file");
    lock.lock().expect("a lock");
    if std::fs::read_to_string(&done).is_ok_and(|made_of| made_of == text) {
        return place.join("bin/python");
    }
    let _ = std::fs::remove_file(&done);
    let _ = std::fs::remove_dir_all(&place);
    let made = Command::new("python3").arg("-m").arg("venv").arg(&place).output().expect("python3");
    assert!(
        made.status.success(),
        "python3 -m venv failed; on Debian it needs the package python3-venv (tests/run installs it)\n{}{}",
        String::from_utf8_lossy(&made.stdout),
        String::from_utf8_lossy(&made.stderr)
    );
    let python = place.join("bin/python");
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"])
        .arg(packages);
    said(&mut pip);
    std::fs::write(done, text).expect("written");
    python
}

/// stdout of a program that must succeed.
fn said(command: &mut Command) -> String {
    let ran =
        command.output().unwrap_or_else(|e| panic!("{command:?}: {e}; python3 is needed for this test"));
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", ran.status);
    stdout.into_owned()
}

/// Runs a program to its end, off the async threads; one that takes longer than `within` is
/// killed and fails the test.
pub async fn run(mut command: Command, within: Duration) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Not the user's own settings, and no bytecode beside the scripts.
    command.env("PYTHONNOUSERSITE", "1").env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
    die_with_us(&mut command);
    let child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let pid = child.id();
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output());
    match tokio::time::timeout(within, ended).await {
        Ok(output) => output.expect("a thread").expect("its output"),
        Err(_) => {
            super::server::send_signal(pid, libc::SIGKILL);
            panic!("{command:?} did not end within {within:?}");
        }
    }
}
