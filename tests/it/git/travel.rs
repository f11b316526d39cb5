//! A repository made by the machine's git is read here, and goes back.

use std::path::Path;
use std::process::Command;

use super::{command, real, unpack};
use crate::support::{Api, Server, TestStore};

/// Makes history: branches, a merge, tags, links, programs, packs with deltas, packed refs,
/// and objects that are in no pack.
pub const MADE: &str = r#"
set -e
git init -q -b main
git config user.name Ann; git config user.email ann@example.com
export GIT_AUTHOR_DATE='1700000000 -0330' GIT_COMMITTER_DATE='1700000000 -0330'
tick() { GIT_COMMITTER_DATE="$((1700000000 + $1 * 60)) +0000"; GIT_AUTHOR_DATE=$GIT_COMMITTER_DATE; }
for i in $(seq 1 12); do
  tick $i
  seq 1 $((i * 200)) | sed "s/^/line $i of /;$((i * 10))q" > part; seq 1 3000 > large; sed -i "${i}00s/.*/changed $i/" large
  cat part >> grown; git add .; git commit -qm "Commit $i"
done
tick 20; git checkout -q -b side HEAD~3; mkdir -p a/b; echo deep > a/b/c; echo '#!/bin/sh' > run; chmod +x run
ln -s a/b/c link; git add .; git commit -qm 'On the side'
git tag light; git tag -a -m 'With words' heavy
tick 21; git checkout -q main; echo 'ünï' > 'näme'; git add .; git commit -qm 'Names'
tick 22; git merge -q --no-ff -m 'Merged' side
git gc -q --aggressive --prune=now
tick 23; echo loose > loose; git add .; git commit -qm 'Loose'
git branch topic/one HEAD~1; git tag later
long=$(printf 'l%.0s' $(seq 1 200)); mkdir -p $long/$long m; echo 1 > $long/$long/a; echo 2 > m/b; git add .; tick 24; git commit -qm 'Long names'
"#;

/// What both must say.
const ASKED: &[&str] = &[
    "git log --format='%H %T %P %an %ad %s' --all",
    "git log --oneline --stat",
    "git log -p",
    "git status",
    "git status --porcelain",
    "git branch -av",
    "git tag -l",
    "git show-ref -d",
    "git show heavy",
    "git ls-tree -r HEAD",
    "git ls-files -s",
    "git rev-parse main light heavy^{} HEAD~2^2 main~4",
    "git diff main~5 main --stat",
    "git diff light topic/one",
    "git cat-file -p HEAD^{tree}",
    "git log --format=%s -- a",
    "git log --topo-order --format=%s",
    "git merge-base main side",
    "git for-each-ref --format='%(objectname) %(objecttype) %(refname)'",
    "git fsck 2>/dev/null; true",
];

fn packed(dir: &Path) -> Vec<u8> {
    let tar = Command::new("tar")
        .args(["-C", dir.to_str().expect("UTF-8"), "-cf", "-", "."])
        .output()
        .expect("tar");
    assert!(tar.status.success());
    tar.stdout
}

/// Puts a folder into a new sandbox, as `/home/user/w`.
pub async fn sent(api: &Api, dir: &Path) -> String {
    let id = api.create().await;
    api.ingest(&id, "/home/user/w", "application/x-tar", packed(dir)).await.expect(200);
    api.exec(&id, "cd /home/user/w").await;
    id
}

/// Runs a script there.
pub fn make(dir: &Path, script: &str) {
    let ran = command(dir, "bash").args(["-c", script]).output().expect("bash");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[tokio::test]
async fn a_repository_of_the_machine_is_read_here_and_goes_back() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let there = tempfile::tempdir().expect("a folder");
    make(there.path(), MADE);
    for version in ["2", "4"] {
        real(there.path(), &["update-index", "--index-version", version]);
        let id = sent(&api, there.path()).await;
        for line in ASKED.iter().filter(|line| !line.contains("fsck")) {
            let ran = command(there.path(), "bash").args(["-c", line]).output().expect("bash");
            let (ours, theirs) =
                (api.exec(&id, line).await, String::from_utf8_lossy(&ran.stdout).into_owned());
            assert_eq!(ours["stdout"].as_str(), Some(&*theirs), "{line}: {}", ours["stderr"]);
            assert_eq!(ours["exitCode"], 0, "{line}");
        }
        // Checked out here, it is as it was checked out there.
        let script = "rm -r [a-z]*; git checkout -q -f side && git status -s && ls -l run | cut -c1-4 && readlink link";
        assert_eq!(api.stdout(&id, script).await, "-rwx\na/b/c\n");
        let more = "git config user.name Bo; git config user.email b@x; git checkout -q main && echo more >> grown && \
                    git commit -qam 'From here' && git merge -q side && git branch -d side && git tag -a -m t new && git status -s";
        let reply = api.exec(&id, more).await;
        assert_eq!(reply["exitCode"], 0, "{reply}");
        let back = tempfile::tempdir().expect("a folder");
        unpack(&api.export(&id, "/home/user/w").await, back.path());
        real(back.path(), &["fsck", "--strict", "--full"]);
        assert_eq!(real(back.path(), &["log", "-1", "--format=%s %an"]), "From here Bo\n");
        assert_eq!(real(back.path(), &["status", "--porcelain"]), "");
        assert!(!real(back.path(), &["branch"]).contains("side"), "the packed ref is gone");
    }
}

#[tokio::test]
async fn files_that_are_ignored_unknown_or_of_other_repositories_are_told_as_there() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let there = tempfile::tempdir().expect("a folder");
    make(
        there.path(),
        "set -e; git init -q; mkdir -p a/b c/d e/.x inner o/p; touch a/b/x a/y.o c/d/z.o e/.x/f o/p/q keep
         git -C inner init -q; touch inner/file; printf '*.o\\n/c\\n!a/y.o\\n' > .gitignore; printf 'q\\n' > o/.gitignore
         printf 'local\\n' > .git/info/exclude; touch local a/local; git add keep; mkdir empty; touch 'a b' 'tab\tbed' \"quo\\\"te\"",
    );
    let id = sent(&api, there.path()).await;
    for line in [
        "git status -s",
        "git status -s -uall",
        "git status --ignored -s",
        "git status",
        "git ls-files -o --exclude-standard",
        "git clean -nd",
        "git clean -ndx",
        "git clean -n",
        "git check-ignore a/y.o c/d/z.o local a/local o/p/q keep",
        "cd a; git status -s; git ls-files -o; git add . ; git status -s; cd ..",
        "git diff --cached --name-only -z | tr '\\0' '|'",
        "git status -z | tr '\\0' '|'",
    ] {
        let ran = command(there.path(), "bash").args(["-c", line]).output().expect("bash");
        let (ours, theirs) = (api.exec(&id, line).await, String::from_utf8_lossy(&ran.stdout).into_owned());
        assert_eq!(ours["stdout"].as_str(), Some(&*theirs), "{line}: {}", ours["stderr"]);
    }
}

#[tokio::test]
async fn what_a_cut_off_script_did_is_not_there() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = api.create().await;
    let script = "git init -q r; cd r; git config user.name A; git config user.email a@x; echo 1 > f; git add f; git commit -qm one; \
                  git status > /home/user/out";
    let endless = serde_json::json!({"script": format!("{script}; while :; do :; done"), "timeoutMs": 1500});
    api.try_exec(&id, &endless).await.error(408, "EXEC_TIMEOUT");
    assert_eq!(api.stdout(&id, "ls -A").await, "");
    // One that is there stays as it was.
    api.exec(&id, script).await;
    let more = "cd r 2>/dev/null; echo 2 > f; git commit -qam two; git gc 2>/dev/null; git log --oneline | wc -l > /home/user/seen; while :; do :; done";
    api.try_exec(&id, &serde_json::json!({"script": more, "timeoutMs": 1500}))
        .await
        .error(408, "EXEC_TIMEOUT");
    assert_eq!(
        api.stdout(&id, "cd /home/user/r; git log --format=%s; git status -s; ls /home/user").await,
        "one\nout\nr\n"
    );
}
