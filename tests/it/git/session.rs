//! A session of many commands here and in the machine's git; then its repository leaves,
//! and the machine's git reads it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::{command, real, unpack};
use crate::support::{Server, TestStore};

/// Where it happens in the sandbox.
const DIR: &str = "/home/user/w";

/// Exit code and output of a command line by the machine's git.
fn theirs(home: &Path, dir: &Path, script: &str) -> (String, i64) {
    let ran = command(dir, "bash").args(["-c", script]).env("HOME", home).output().expect("bash");
    (String::from_utf8_lossy(&ran.stdout).into_owned(), ran.status.code().unwrap_or(-1).into())
}

/// The commands of a file.
fn commands(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/git").join(name);
    let text = fs::read_to_string(path).expect("the session");
    text.split('\n').fold(Vec::new(), |mut all: Vec<String>, line| {
        let open = all.last().is_some_and(|last| last.matches('\'').count() % 2 == 1);
        match all.last_mut().filter(|_| open) {
            Some(last) => *last += &format!("\n{line}"),
            None if line.is_empty() || line.starts_with('#') => {}
            None => all.push(line.to_owned()),
        }
        all
    })
}

#[tokio::test]
async fn a_session_prints_what_the_machines_git_prints() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, &format!("mkdir -p {DIR}; cd {DIR}")).await;
    let root = tempfile::tempdir().expect("a folder");
    let (home, dir) = (root.path().join("home"), root.path().join("w"));
    for path in [&home, &dir] {
        fs::create_dir(path).expect("a folder");
    }
    let commands = commands("session.txt");
    // README.md says how many.
    let readme = include_str!("../../../README.md");
    assert!(
        readme.contains(&format!("{} command lines of the test suite", commands.len())),
        "{}",
        commands.len()
    );
    let mut wrong = String::new();
    let mut equal = 0;
    for (number, line) in commands.iter().enumerate() {
        let time = 1_700_000_000 + number * 60;
        let script = format!(
            "export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann \
             GIT_COMMITTER_EMAIL=ann@example.com GIT_AUTHOR_DATE='{time} +0100' GIT_COMMITTER_DATE='{time} +0100'\n{line}"
        );
        let ours = api.exec(&id, &script).await;
        let (stdout, exit) = theirs(&home, &dir, &script);
        let stdout = stdout.replace(dir.to_str().expect("UTF-8"), DIR);
        if ours["stdout"].as_str() == Some(&*stdout) && ours["exitCode"] == exit {
            equal += 1;
        } else {
            let (own, err) = (ours["stdout"].as_str().unwrap_or_default(), &ours["stderr"]);
            let _ = write!(
                wrong,
                "== {line}\n-- ours, exit {}\n{own}-- theirs, exit {exit}\n{stdout}-- our stderr: {err}\n",
                ours["exitCode"]
            );
        }
    }
    println!("git: {equal} of {} commands equal", commands.len());
    assert!(wrong.is_empty(), "{equal} of {} equal\n{wrong}", commands.len());
    // What was made here is read there.
    let out = tempfile::tempdir().expect("a folder");
    unpack(&api.export(&id, DIR).await, out.path());
    let found = fs::read_dir(out.path()).expect("a folder").count();
    assert!(found > 0);
    real(out.path(), &["fsck", "--strict", "--full"]);
    for args in [
        &["log", "--all", "--format=%H %T %P %an %ae %ad %cn %cd %B"][..],
        &["for-each-ref"],
        &["ls-files", "-s"],
        &["status", "--porcelain"],
    ] {
        assert_eq!(real(out.path(), args), real(&dir, args), "{args:?}");
    }
}
