//! Clones, fetches and pushes over http, against the machine's own server side.

use serde_json::json;

use super::backend::{Backend, SECRET};
use super::{command, real};
use crate::network::{INTERPRETERS, Line, run_table, sandbox, server};
use crate::support::web::Web;

const ME: &str =
    "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@x; ";

/// A clone of the machine's own, with a commit in it that was pushed.
fn elsewhere(backend: &Backend, name: &str) -> std::path::PathBuf {
    let bare = backend.bare(name);
    let work = backend.root.path().join(format!("{name}.work"));
    let script = format!(
        "set -e; git clone -q '{}' '{}' 2>/dev/null; cd '{}'; git config user.name B; git config user.email b@x
         git checkout -q -B main; for i in 1 2 3; do seq $((i * 50)) > f; echo $i > g$i; git add .; git commit -qm \"c$i\"; done
         git tag -a -m one v1; git branch other HEAD~1; git push -q origin main other v1",
        bare.display(),
        work.display(),
        work.display()
    );
    let ran = command(backend.root.path(), "bash").args(["-c", &script]).output().expect("bash");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    work
}

#[tokio::test]
async fn clones_fetches_and_pushes_reach_the_machines_git() {
    let backend = Backend::start().await;
    for interpreter in INTERPRETERS {
        let name = format!("{interpreter}.git");
        let (work, bare) = (elsewhere(&backend, &name), backend.root.path().join(&name));
        let (_server, api) = server(interpreter, &backend.addr.to_string(), &[]).await;
        let id = sandbox(&api, json!({"allow": [format!("{}/repos/", backend.url())]})).await;
        let url = format!("{}/repos/{name}", backend.url());
        let run = async |script: &str| {
            let reply = api.exec(&id, &format!("{ME}{}", script.replace("URL", &url))).await;
            assert_eq!(reply["exitCode"], 0, "{script}: {reply}");
            reply["stdout"].as_str().expect("stdout").to_owned()
        };
        let log = ["log", "--all", "--format=%H %s %d", "--decorate-refs=refs/heads"];
        let cloned = run("git clone -q URL w && cd w && git log --format='%H %s' && git status -sb && ls && git tag && git branch -a").await;
        let theirs = real(&work, &["log", "--format=%H %s"]);
        let rest = "## main...origin/main\nf\ng1\ng2\ng3\nv1\n* main\n  remotes/origin/HEAD -> origin/main\n  remotes/origin/main\n  remotes/origin/other\n";
        assert_eq!(cloned, format!("{theirs}{rest}"));
        assert_eq!(
            run("cd w; git ls-remote --heads origin | cut -f2; git remote -v | head -1").await,
            format!("refs/heads/main\nrefs/heads/other\norigin\t{url} (fetch)\n")
        );
        // From here to there.
        run("cd w; echo here > h; git add h; git commit -qm here; git status -sb; git push -q").await;
        assert_eq!(real(&bare, &["log", "-1", "--format=%s %an", "main"]), "here A\n");
        run("cd w; git checkout -q -b topic; seq 2000 > big; git add .; git commit -qm topic; git push -q -u origin topic; git tag t1; git push -q --tags").await;
        real(&bare, &["fsck", "--strict", "--full"]);
        assert!(real(&bare, &log).contains("topic"), "the branch is there");
        assert_eq!(real(&bare, &["tag"]), "t1\nv1\n");
        assert_eq!(
            run("cd w; git status -sb; git branch -vv 2>/dev/null | head -1 | cut -c1-7").await,
            "## topic...origin/topic\n  main \n"
        );
        // From there to here.
        real(&work, &["pull", "-q", "--no-rebase"]);
        for name in ["x", "y"] {
            std::fs::write(work.join(name), name).expect("a file");
            real(&work, &["add", "."]);
            real(&work, &["commit", "-qm", name]);
        }
        real(&work, &["push", "-q", "origin", "main", "main:late"]);
        let pulled = run("cd w; git checkout -q main; git fetch -q; git status | head -2 | tail -1; git pull -q; git log -2 --format=%s; ls x y; git branch -r | wc -l").await;
        let behind = "Your branch is behind 'origin/main' by 2 commits, and can be fast-forwarded.\n";
        assert_eq!(pulled, format!("{behind}y\nx\nx\ny\n5\n"));
        // Both went on: refused, nothing is lost, then merged.
        std::fs::write(work.join("z"), "z").expect("a file");
        real(&work, &["add", "."]);
        real(&work, &["commit", "-qm", "z"]);
        real(&work, &["push", "-q", "origin", "main"]);
        let reply =
            api.exec(&id, &format!("{ME}cd w; echo o > o; git add o; git commit -qm o; git push")).await;
        assert_eq!(reply["exitCode"], 1, "{reply}");
        assert!(
            reply["stderr"]
                .as_str()
                .expect("stderr")
                .contains("! [rejected]        main -> main (fetch first)"),
            "{reply}"
        );
        assert_eq!(real(&bare, &["log", "-1", "--format=%s", "main"]), "z\n");
        run("cd w; git pull -q --no-rebase; git push -q; git push -q origin --delete topic; git fetch -q --prune; git branch -r").await;
        assert_eq!(real(&bare, &["log", "-1", "--format=%p", "main"]).split_whitespace().count(), 2);
        assert!(!real(&bare, &["branch"]).contains("topic"));
        run("cd w; git reset -q --hard HEAD~1; git push -q -f; git fetch -q; git status -sb").await;
        assert_eq!(real(&bare, &["log", "-1", "--format=%s", "main"]), "o\n");
        // A part of the history, through a place that sends elsewhere.
        let shallow = run("git clone -q --depth 1 URL s; cd s; git log --format=%s; git fetch -q --unshallow; git log --format=%s | wc -l; git status -s").await;
        assert_eq!(shallow, "o\n7\n");
        real(&bare, &["fsck", "--strict", "--full"]);
    }
}

#[tokio::test]
async fn what_is_not_allowed_is_refused_in_clear_words() {
    let (backend, web) = (Backend::start().await, Web::start().await);
    elsewhere(&backend, "r.git");
    let private = format!("{},{}", backend.addr, web.addr);
    let (_server, api) = server("process", &private, &[]).await;
    let off = sandbox(&api, json!(false)).await;
    let clone = "git clone WEB/repos/r.git x";
    let table: &[Line<'_>] = &[
        (clone, 128, "", "network access is off for this sandbox"),
        ("ls -A", 0, "", ""),
        (
            "git clone ssh://git@example.com/r x",
            128,
            "",
            "transport 'ssh' is not supported here; http:// and https:// are",
        ),
        ("git clone git@example.com:r.git x", 128, "", "transport 'ssh' is not supported"),
        ("git clone git://example.com/r x", 128, "", "transport 'git' is not supported"),
        ("git clone file:///home/user/r x", 128, "", "transport 'file' is not supported"),
        ("git clone 'ext::sh -c id' x", 128, "", "transport 'ext' is not supported"),
        ("git clone /home/user/nosuch x", 128, "", "does not appear to be a git repository"),
        ("ls -A", 0, "", ""),
    ];
    run_table(&api, &off, &backend.url(), table).await;
    assert!(backend.seen.lock().expect("the log").is_empty(), "nothing left");
    let id = sandbox(&api, json!({"allow": [format!("{}/repos/", backend.url()), format!("{}/moved/", backend.url()), format!("{}/text", web.url())]})).await;
    let table: &[Line<'_>] = &[
        ("git clone WEB/private/r.git x", 128, "", "it is not on the list of this sandbox"),
        (
            "git clone -q WEB/moved/r.git m; cd m; git log --oneline | wc -l; git remote get-url origin; cd",
            0,
            "3\nWEB/moved/r.git\n",
            "",
        ),
        ("git clone WEB/repos/nosuch.git x", 128, "", "fatal: repository 'WEB/repos/nosuch.git/' not found"),
        ("rm -r m; ls -A", 0, "", ""),
    ];
    run_table(&api, &id, &backend.url(), table).await;
    let table: &[Line<'_>] = &[("git clone WEB/text x", 128, "", "not valid: is this a git repository?")];
    let anything = sandbox(&api, json!({"allow": [format!("{}/", web.url())]})).await;
    run_table(&api, &anything, &web.url(), table).await;
}

#[tokio::test]
async fn credentials_come_from_the_operator_or_from_the_script() {
    let backend = Backend::start().await;
    elsewhere(&backend, "r.git");
    let rules = json!([{"prefix": format!("{}/private/", backend.url()), "plain": true, "headers": {"Authorization": SECRET}}]);
    let allowed = json!({"allow": [format!("{}/private/", backend.url())]});
    let url = format!("{}/private/r.git", backend.url());
    let (with, api) = server(
        "process",
        &backend.addr.to_string(),
        &[("NETWORK_RULES", &rules.to_string()), ("RUST_LOG", "trace")],
    )
    .await;
    let id = sandbox(&api, allowed.clone()).await;
    let script = format!(
        "{ME}git clone {url} w && cd w && echo 1 > new && git add . && git commit -qm new && git push && cat .git/config && env"
    );
    let reply = api.exec(&id, &script).await;
    assert_eq!(reply["exitCode"], 0, "{reply}");
    assert!(!reply.to_string().contains("canary") && !with.logs().contains("canary"), "{reply}");
    assert_eq!(real(&backend.root.path().join("r.git"), &["log", "-1", "--format=%s", "main"]), "new\n");
    // Without the operator's: the script's own, or none.
    let (_server, api) = server("process", &backend.addr.to_string(), &[]).await;
    let id = sandbox(&api, allowed).await;
    let table: &[Line<'_>] = &[
        ("git clone WEB/private/r.git x", 128, "", "fatal: Authentication failed for 'WEB/private/r.git/'"),
        (
            "git -c http.extraHeader='Authorization: Bearer canary-secret' clone -q WEB/private/r.git y; ls y | wc -l",
            0,
            "5\n",
            "",
        ),
    ];
    run_table(&api, &id, &backend.url(), table).await;
    let user = url.replace("http://", "http://me:word@");
    let reply = api.exec(&id, &format!("git ls-remote {user}")).await;
    assert_eq!(reply["exitCode"], 128, "{reply}");
    assert!(!reply["stderr"].to_string().contains("word@"), "{reply}");
    let seen = backend.seen.lock().expect("the log").last().cloned().expect("a request");
    assert_eq!(seen.2.as_deref(), Some("Basic bWU6d29yZA=="));
}

#[tokio::test]
async fn repositories_of_the_sandbox_are_remotes_too() {
    let (_server, api) = server("process", "", &[]).await;
    let id = api.create().await;
    let script = format!(
        "{ME}git init -q a; cd a; echo 1 > f; git add f; git commit -qm one; cd ..; git clone -q --bare a b.git; git clone -q b.git c; cd c; \
         git log --format=%s; git remote get-url origin; echo 2 > f; git commit -qam two; git push -q; cd ../a; git remote add up ../b.git; \
         git fetch -q up; git merge up/master; git log --format=%s; cd ../c; git push -q ../a master:master 2>&1 | grep -c rejected; git push ../a master:x 2>/dev/null; git -C ../a branch"
    );
    let reply = api.exec(&id, &script).await;
    let stdout = reply["stdout"].as_str().expect("stdout");
    assert!(
        stdout.starts_with("one\n/home/user/b.git\n")
            && stdout.contains("Fast-forward\n f | 2 +-\n")
            && stdout.ends_with("two\none\n0\n* master\n  x\n"),
        "{reply}"
    );
}
