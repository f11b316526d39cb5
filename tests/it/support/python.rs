//! Python clients: a virtual environment for each list of packages, kept between runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sqlfs::ids::Sha256;

/// The Python of an environment that holds the packages of `tests/clients/LIST`, which
/// names each by version and checksum. It is made at first use, below the cache folder of
/// the user (`XDG_CACHE_HOME`), and made anew when the list changes.
pub fn python(list: &str) -> PathBuf {
    let list = clients().join(list);
    let text = std::fs::read(&list).expect("the list of packages");
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME or XDG_CACHE_HOME is set"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home().join(".cache"), PathBuf::from);
    let name = Sha256::of(&text).to_string();
    let ready = cache.join("sqlfs-venv").join(&name[..16]);
    let interpreter = ready.join("bin/python");
    if interpreter.exists() {
        return interpreter;
    }
    let parent = ready.parent().expect("it has one");
    std::fs::create_dir_all(parent).expect("the cache folder");
    // Made beside its place and moved there whole, so that a half-made one is never used.
    let draft = tempfile::Builder::new().prefix("making.").tempdir_in(parent).expect("a folder");
    run(Command::new("python3").args(["-m", "venv"]).arg(draft.path()));
    let packages = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
    run(Command::new(draft.path().join("bin/python"))
        .args(packages)
        .arg("--only-binary=:all:")
        .arg("-r")
        .arg(&list));
    if let Err(error) = std::fs::rename(draft.path(), &ready) {
        assert!(interpreter.exists(), "{}: {error}", ready.display());
    } else {
        let _ = draft.keep();
    }
    interpreter
}

/// `tests/clients`.
pub fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

fn run(command: &mut Command) {
    const NEEDED: &str = "the tests with Python clients need python3 (3.11 or newer) with venv and pip, and PyPI; on \
                          Debian: apt-get install python3-venv (tests/run does it as root)";
    match command.output() {
        Ok(Output { status, .. }) if status.success() => {}
        Ok(Output { status, stdout, stderr }) => panic!(
            "{NEEDED}\n{command:?}: {status}\n{}\n{}",
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        ),
        Err(error) => panic!("{NEEDED}\n{command:?}: {error}"),
    }
}
