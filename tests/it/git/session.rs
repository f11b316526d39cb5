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

#[tokio::test]
async fn what_is_not_there_is_refused_by_name() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = api.create().await;
    for (script, exit, part) in [
        ("git status", 128, "fatal: not a git repository (or any of the parent directories): .git"),
        ("git", 1, ""),
        ("git frob", 1, "git: 'frob' is not a command here; there are: add, branch,"),
        ("git rebase main", 1, "git: 'rebase' is not a command here"),
        ("git --frob status", 129, "unknown option: --frob\nhere are: -C DIR"),
        ("git -C nosuch status", 128, "fatal: cannot change to 'nosuch': No such file or directory"),
        (
            "git init -q r; cd r; echo 1 > f; git add f; git commit -m x",
            128,
            "*** Please tell me who you are.",
        ),
        ("git commit --frob", 129, "error: unknown option `frob'\nusage: git commit"),
        ("git add -Z", 129, "error: unknown switch `Z'"),
        ("git log --graph", 129, "--graph is not supported here"),
        (
            "git config user.name A; git config user.email a@x; git commit",
            1,
            "there is no editor here: give the message with -m or -F",
        ),
        (
            "git commit -qm one; git checkout -q -b b; echo 2 > f; git commit -qam two; git checkout -q master; echo 3 > f; git commit -qam three; git merge b",
            1,
            "CONFLICT (content): f\nerror: both sides changed these",
        ),
        ("git cherry-pick b", 1, "CONFLICT (content): f"),
        ("git status -s; git log --oneline | wc -l; cat f; test -z \"$(git status -s)\" && exit 7", 7, ""),
        ("git config core.bare maybe; git config --bool core.bare", 128, "bad boolean config value"),
    ] {
        let reply = api.exec(&id, script).await;
        assert_eq!(reply["exitCode"], exit, "{script}: {reply}");
        let stderr = reply["stderr"].as_str().expect("stderr");
        assert!(stderr.contains(part), "{script}: {part:?} in {stderr:?}");
    }
    // A folder that becomes a file keeps what nobody knows.
    let script = "cd /home/user/r; git checkout -q -b dir; git rm -q f; mkdir f; echo t > f/t; git add f; git commit -qm dir; echo u > f/u; \
                  git checkout master; echo $?; cat f/u; rm f/u; git checkout -q master; cat f";
    assert_eq!(api.stdout(&id, script).await, "1\nu\n3\n");
    // Nothing is written by a look: it works where nothing may be.
    let look = "git -C /home/user/r status -sb && git -C /home/user/r log --format=%s && git -C /home/user/r diff HEAD~1 --stat";
    let reply = api.exec_with(&id, &serde_json::json!({"script": look, "readOnly": true})).await;
    assert_eq!(
        reply["stdout"], "## master\nthree\none\n f | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n",
        "{reply}"
    );
    let write =
        serde_json::json!({"script": "cd /home/user/r; git commit --allow-empty -m x", "readOnly": true});
    api.try_exec(&id, &write).await.expect(422);
}
