//! A server that sends a pack with a hole in it: whatever is missing, no ref is written, and
//! a whole pack mends it.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;

use super::hostile::PANICKED;
use super::{command, real};
use crate::network::{INTERPRETERS, sandbox, server};
use crate::support::Api;

fn line(text: &[u8]) -> Vec<u8> {
    [format!("{:04x}", text.len() + 4).as_bytes(), text].concat()
}

/// What it offers, and the pack that it sends.
#[derive(Clone, Default)]
struct Served(Arc<Mutex<(Vec<u8>, Vec<u8>)>>);

impl Served {
    /// Starts it; gives its address.
    async fn start(&self) -> std::net::SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let (addr, served) = (listener.local_addr().expect("an address"), self.clone());
        let router = Router::new().fallback(move |request: Request| async move {
            let (kind, body) = {
                let served = served.0.lock().expect("what is served");
                match request.uri().path().ends_with("/info/refs") {
                    true => ("advertisement", served.0.clone()),
                    false => ("result", served.1.clone()),
                }
            };
            let kind = format!("application/x-git-upload-pack-{kind}");
            Response::builder().header("content-type", kind).body(Body::from(body)).expect("a reply")
        });
        tokio::spawn(async move { axum::serve(listener, router).await.expect("a server") });
        addr
    }

    /// Offers these refs of a repository, and sends these objects of it.
    fn set(&self, repo: &Path, refs: &[&str], objects: &[&str], shallow: &[&str]) {
        let mut offer = [line(b"# service=git-upload-pack\n"), b"0000".to_vec()].concat();
        let head = real(repo, &["rev-parse", refs[0]]);
        let abilities = "\0side-band-64k shallow ofs-delta symref=HEAD:refs/heads/main";
        offer.extend(line(format!("{} HEAD{abilities}\n", head.trim()).as_bytes()));
        for name in refs {
            let oid = real(repo, &["rev-parse", name]);
            offer.extend(line(format!("{} {name}\n", oid.trim()).as_bytes()));
        }
        offer.extend(b"0000");
        let mut reply: Vec<u8> =
            shallow.iter().flat_map(|oid| line(format!("shallow {oid}").as_bytes())).collect();
        if !shallow.is_empty() {
            reply.extend(b"0000");
        }
        reply.extend(line(b"NAK\n"));
        for part in packed(repo, objects).chunks(60_000) {
            reply.extend(line(&[&[1], part].concat()));
        }
        reply.extend(b"0000");
        *self.0.lock().expect("what is served") = (offer, reply);
    }
}

fn packed(repo: &Path, objects: &[&str]) -> Vec<u8> {
    let mut git = command(repo, "git");
    git.args(["pack-objects", "-q", "--stdout"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = git.spawn().expect("git");
    let names: String = objects.iter().map(|oid| format!("{oid}\n")).collect();
    child.stdin.take().expect("a pipe").write_all(names.as_bytes()).expect("the names");
    let out = child.wait_with_output().expect("git");
    assert!(out.status.success());
    out.stdout
}

/// A repository with folders, two commits and a tag with a text.
fn make(dir: &Path) {
    let script = "set -e; git init -q -b main; git config user.name A; git config user.email a@x
        mkdir -p d/e; echo one > f; echo deep > d/e/g; git add .; git commit -qm one; git tag one
        echo two > f; echo new > d/h; git add .; git commit -qm two; git tag -a -m text v1";
    let ran = command(dir, "bash").args(["-c", script]).output().expect("bash");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

fn objects(repo: &Path, what: &[&str]) -> Vec<String> {
    let all = real(repo, &[&["rev-list", "--objects", "--no-object-names"], what].concat());
    all.lines().map(str::to_owned).collect()
}

async fn says(api: &Api, id: &str, script: &str, exit: i64, part: &str) {
    let reply = api.exec(id, script).await;
    let stderr = reply["stderr"].as_str().expect("stderr");
    assert_eq!(reply["exitCode"], exit, "{script}: {reply}");
    assert!(stderr.contains(part) && !stderr.contains(PANICKED), "{script}: {part:?} in {stderr}");
}

const HOLE: &str = "did not send all necessary objects";

#[tokio::test]
async fn a_pack_with_a_hole_changes_no_ref() {
    let (there, served) = (tempfile::tempdir().expect("a folder"), Served::default());
    let repo = there.path();
    make(repo);
    let addr = served.start().await;
    let url = format!("http://{addr}/r");
    let all = objects(repo, &["--all"]);
    let whole: Vec<&str> = all.iter().map(String::as_str).collect();
    let refs = ["refs/heads/main", "refs/tags/one", "refs/tags/v1"];
    let tips: Vec<String> =
        ["main", "v1"].map(|name| real(repo, &["rev-parse", name]).trim().to_owned()).into();
    assert_eq!(all.len(), 12, "{all:?}");
    for interpreter in INTERPRETERS {
        let (_server, api) = server(interpreter, &addr.to_string(), &[]).await;
        let id = sandbox(&api, serde_json::json!(true)).await;
        for hole in &whole {
            let rest: Vec<&str> = whole.iter().copied().filter(|oid| oid != hole).collect();
            served.set(repo, &refs, &rest, &[]);
            if *hole == tips[1] {
                // A tag that nobody asked for: it does not come, and is not named.
                says(&api, &id, &format!("git clone -q {url} x"), 0, "").await;
                assert_eq!(api.stdout(&id, "git -C x tag; rm -rf x").await, "one\n");
                continue;
            }
            let said = if *hole == tips[0] { "did not send" } else { HOLE };
            says(&api, &id, &format!("git clone -q {url} x"), 128, said).await;
            assert_eq!(api.stdout(&id, "ls -A").await, "", "{hole}");
        }
        served.set(repo, &refs, &whole, &[]);
        says(&api, &id, &format!("git clone -q {url} x"), 0, "").await;
        let log = "cd x; git log --format=%H; git tag; cat d/e/g f; git status -s";
        let theirs = real(repo, &["log", "--format=%H"]);
        assert_eq!(api.stdout(&id, log).await, format!("{theirs}one\nv1\ndeep\ntwo\n"));
        // What comes on top of what is there: old objects may be left out, new ones may not.
        let old = objects(repo, &["one"]);
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let new = objects(repo, &["main", "--not", "one"]);
        assert_eq!(new.len(), 5, "{new:?}");
        for hole in &new {
            served.set(repo, &["refs/tags/one"], &old, &[]);
            let script = format!(
                "cd; rm -rf y; git init -q y; cd y; git remote add origin {url}; git fetch -q origin one:refs/remotes/origin/main"
            );
            says(&api, &id, &script, 0, "").await;
            let rest: Vec<&str> =
                new.iter().map(String::as_str).filter(|oid| *oid != hole.as_str()).collect();
            served.set(repo, &["refs/heads/main"], &rest, &[]);
            let refs = "cd ~/y; git for-each-ref";
            let before = api.stdout(&id, refs).await;
            let tip = *hole == tips[0];
            let (exit, said) = if tip { (128, "did not send") } else { (1, HOLE) };
            says(&api, &id, "cd ~/y; git fetch origin", exit, said).await;
            says(&api, &id, "cd ~/y; git pull origin main", exit, said).await;
            assert_eq!(api.stdout(&id, refs).await, before, "{hole}");
            let rest: Vec<&str> = new.iter().map(String::as_str).collect();
            served.set(repo, &["refs/heads/main"], &rest, &[]);
            let mended = "cd ~/y; git fetch -q origin; git log -1 --format=%s origin/main; git fsck 2>/dev/null; git checkout -q main; cat d/h";
            assert!(api.stdout(&id, mended).await.starts_with("two\n"), "{hole}");
        }
        // History that is cut off where the server says so has no parents; everything else is there.
        let (tip, last) = (tips[0].as_str(), objects(repo, &["main", "--not", "one"]));
        let tree = objects(repo, &["main^{tree}"]);
        let shallow: Vec<&str> = [tip].into_iter().chain(tree.iter().map(String::as_str)).collect();
        served.set(repo, &["refs/heads/main"], &shallow, &[tip]);
        says(
            &api,
            &id,
            &format!("cd; git clone -q --depth 1 {url} z; cd z; git log --oneline | wc -l"),
            0,
            "",
        )
        .await;
        served.set(repo, &["refs/heads/main"], &shallow[..shallow.len() - 1], &[tip]);
        says(&api, &id, &format!("cd; git clone -q --depth 1 {url} z2"), 128, HOLE).await;
        served.set(repo, &["refs/heads/main"], &shallow, &[]);
        says(&api, &id, &format!("cd; git clone -q --depth 1 {url} z2"), 128, HOLE).await;
        assert!(!last.is_empty() && api.stdout(&id, "cd; ls -d z2 2>/dev/null || true").await.is_empty());
    }
}
