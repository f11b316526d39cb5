//! The command line, as a user calls it: without a server, beside one, and over HTTP.

use std::time::Duration;

use serde_json::json;

use crate::support::server::{AUTH_SECRET, run};
use crate::support::{Api, Server, TestStore, eventually, on_each_store};

on_each_store![
    scripts_run_without_a_server,
    files_go_in_and_out,
    a_server_on_the_folder_is_found,
    operators_commands_work,
];

/// Runs a command that must end well; gives its stdout.
async fn ok(store: &TestStore, args: &[&str]) -> String {
    let (status, stdout, stderr) = run(store, args, &[], b"").await;
    assert!(status.success(), "{args:?}: {status:?}\n{stdout}{stderr}");
    assert_eq!(stderr, "", "{args:?}");
    stdout
}

async fn scripts_run_without_a_server(store: TestStore) {
    assert_eq!(ok(&store, &["exec", "echo x > f; mkdir d; cd d; echo hi"]).await, "hi\n");
    // What one command did, the next one finds: files and directory.
    assert_eq!(ok(&store, &["exec", "pwd; cat ../f"]).await, "/home/user/d\nx\n");
    let more = [
        "exec",
        "--cwd",
        "/tmp",
        "--env",
        "A=b=c",
        "--env",
        "B=",
        "pwd; echo \"$A|$B|$1|$2\"",
        "one",
        "-two",
    ];
    assert_eq!(ok(&store, &more).await, "/tmp\nb=c||one|-two\n");

    let (status, stdout, stderr) = run(&store, &["exec", "echo out; echo err >&2; exit 7"], &[], b"").await;
    assert_eq!((status.code(), stdout.as_str(), stderr.as_str()), (Some(7), "out\n", "err\n"));
    let (status, stdout, _) = run(&store, &["exec", "-"], &[], b"read x <<< in; echo \"script $x\"").await;
    assert_eq!((status.code(), stdout.as_str()), (Some(0), "script in\n"));
    let (status, stdout, _) = run(&store, &["exec", "-i", "wc -c; echo end"], &[], b"12345").await;
    assert_eq!((status.code(), stdout.as_str()), (Some(0), "5\nend\n"));

    let (status, stdout, stderr) =
        run(&store, &["exec", "--timeout", "1", "echo y > f; echo a; sleep 60"], &[], b"").await;
    assert_eq!((status.code(), stdout.as_str()), (Some(124), "a\n"), "{stderr}");
    assert!(stderr.contains("EXEC_TIMEOUT"), "{stderr}");
    let (status, _, stderr) = run(&store, &["exec", "--read-only", "echo y > f"], &[], b"").await;
    assert_eq!(status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("EREADONLY_VIOLATION"), "{stderr}");
    let (status, ..) = run(&store, &["exec", "--rollback-on-error", "echo y > ../f; exit 3"], &[], b"").await;
    assert_eq!(status.code(), Some(3));
    assert_eq!(ok(&store, &["exec", "--read-only", "cat ../f"]).await, "x\n");

    // Bytes pass as they are.
    let (_, stdout, _) =
        run(&store, &["exec", "printf '\\xe2'; sleep 0.1; printf '\\x82\\xac'"], &[], b"").await;
    assert_eq!(stdout, "€");
    // Sandboxes are apart.
    assert_eq!(ok(&store, &["exec", "--sandbox", "other", "ls -A"]).await, "");
    let (status, _, stderr) = run(&store, &["exec", "--read-only", "-s", "none", "true"], &[], b"").await;
    assert_eq!(status.code(), Some(125));
    assert!(stderr.contains("\"none\""), "{stderr}");
    let (status, _, stderr) = run(&store, &["exec", ""], &[], b"").await;
    assert_eq!((status.code(), stderr.contains("INVALID_INPUT")), (Some(125), true), "{stderr}");
}

async fn files_go_in_and_out(store: TestStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let bytes: Vec<u8> = (0..1_000_000u32).map(|n| (n * 7 % 251) as u8).collect();
    std::fs::write(at("in"), &bytes).expect("written");
    ok(&store, &["put", &at("in"), "a/b c%"]).await;
    ok(&store, &["get", "/home/user/a/b c%", &at("out")]).await;
    assert!(std::fs::read(at("out")).expect("read") == bytes);
    let (status, ..) = run(&store, &["put", "-", "/tmp/text"], &[], b"from stdin\n").await;
    assert!(status.success());
    assert_eq!(ok(&store, &["cat", "/tmp/text", "../../tmp/text"]).await, "from stdin\nfrom stdin\n");
    assert_eq!(ok(&store, &["ls"]).await, "a\n");
    assert_eq!(ok(&store, &["ls", "-R"]).await, "a\na/b c%\n");
    assert_eq!(ok(&store, &["ls", "/tmp/text"]).await, "/tmp/text\n");
    let long = ok(&store, &["ls", "-l", "a"]).await;
    assert!(long.starts_with("- 0644    1000000 ") && long.ends_with(" b c%\n"), "{long}");

    // A file that is not there leaves the local one as it was.
    for args in [["get", "none", &at("out")], ["put", &at("none"), "x"]] {
        let (status, _, stderr) = run(&store, &args, &[], b"").await;
        assert_eq!(status.code(), Some(1), "{args:?}: {stderr}");
        assert!(stderr.starts_with("sqlfs: ") && stderr.lines().count() == 1, "{stderr}");
    }
    assert!(std::fs::read(at("out")).expect("read") == bytes);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 2, "a part is left");
    let (status, ..) = run(&store, &["ls", "--nonsense"], &[], b"").await;
    assert_eq!(status.code(), Some(2));
}

async fn a_server_on_the_folder_is_found(store: TestStore) {
    let mut server = Server::start(store).await;
    // The same owner on both ways, so the same sandboxes.
    let api = server.api_as("local").await;
    let made = api.create_with(&json!({"name": "shared", "unique": true})).await;
    let id = made["id"].as_str().expect("an id");
    api.exec(id, "echo from http > f").await;
    assert_eq!(ok(server.store(), &["cat", "-s", "shared", "f"]).await, "from http\n");
    assert_eq!(ok(server.store(), &["exec", "-s", id, "echo more >> f; cat f"]).await, "from http\nmore\n");
    assert_eq!(api.file(id, "/home/user/f").await.text(), "from http\nmore\n");
    // By URL and token, from a folder of its own.
    let elsewhere = TestStore::sqlite();
    let env = [("SQLFS_SERVER", server.url()), ("SQLFS_TOKEN", api.token.clone())];
    let env = env.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (status, stdout, stderr) = run(&elsewhere, &["exec", "-s", "shared", "wc -l < f"], &env, b"").await;
    assert_eq!((status.code(), stdout.trim()), (Some(0), "2"), "{stderr}");
    assert!(!elsewhere.data_dir().exists(), "a client of a server needs no folder");
    let (status, _, stderr) =
        run(&elsewhere, &["ls", "--server", &server.url(), "--token", "bad"], &[], b"").await;
    assert_eq!((status.code(), stderr.contains("AUTH_INVALID")), (Some(1), true), "{stderr}");
    // After a crash the address is stale, and the store is opened instead.
    server.kill();
    assert_eq!(ok(server.store(), &["cat", "-s", "shared", "f"]).await, "from http\nmore\n");
    server.start_again().await;
    assert_eq!(ok(server.store(), &["cat", "-s", "shared", "f"]).await, "from http\nmore\n");
}

async fn operators_commands_work(store: TestStore) {
    for _ in 0..2 {
        let version = format!("version {}", sqlfs::store::SCHEMA_VERSION);
        assert!(ok(&store, &["migrate"]).await.contains(&version));
    }
    let checks = ok(&store, &["doctor"]).await;
    assert!(checks.lines().count() > 1, "{checks}");
    assert!(checks.lines().all(|line| line.starts_with("ok ") || line.starts_with("warn ")), "{checks}");
    ok(&store, &["exec", "echo x > f"]).await;
    let gone = ok(&store, &["gc"]).await;
    assert_eq!(gone.lines().count(), 4, "{gone}");
    assert_eq!(ok(&store, &["cat", "f"]).await, "x\n");
}

#[tokio::test]
async fn a_token_of_the_command_line_is_one_of_the_server() {
    let server = Server::start(TestStore::sqlite()).await;
    let token = ok(server.store(), &["token", "alice", "--expires-in", "24h"]).await;
    let api = server.api().await.with_token(token.trim());
    let id = api.create().await;
    let same = Api::bootstrap(&server.url(), AUTH_SECRET, "alice").await;
    assert_eq!(same.sandbox(&id).await["owner"], "alice");
    let (status, _, stderr) = run(server.store(), &["token", "a\nb"], &[], b"").await;
    assert_eq!(status.code(), Some(2), "{stderr}");
    let (status, ..) = run(server.store(), &["token", "--expires-in", "2h"], &[], b"").await;
    assert_eq!(status.code(), Some(2));
}

#[tokio::test]
async fn without_a_secret_one_is_made_and_kept() {
    let store = TestStore::sqlite();
    let none = [("AUTH_SECRET", "")];
    let (status, first, stderr) = run(&store, &["token"], &none, b"").await;
    assert!(status.success(), "{stderr}");
    let secret = std::fs::read_to_string(store.data_dir().join("auth-secret")).expect("the secret");
    assert!(secret.trim().len() >= 32);
    let server = Server::start_with(store, &none).await;
    let api = Api::bootstrap(&server.url(), secret.trim(), "local").await;
    api.with_token(first.trim()).get("/v1/sandboxes").await.expect(200);
    assert!(!server.logs().contains(secret.trim()), "the secret is printed");
}

#[tokio::test]
async fn the_printed_curl_line_works_when_pasted() {
    let server = Server::start_with(TestStore::sqlite(), &[("AUTH_SECRET", "")]).await;
    // It is printed after the address, and ends with a blank line.
    let (logs, start) = eventually("the curl line is printed", Duration::from_secs(10), || async {
        let logs = server.logs();
        let start = logs.find("curl ")?;
        logs[start..].contains("\n\n").then_some((logs, start))
    })
    .await;
    // It may go on over lines that end in a backslash.
    let mut line = String::new();
    for part in logs[start..].lines() {
        line.push_str(part.trim_end_matches('\\'));
        if !part.ends_with('\\') {
            break;
        }
    }
    let pasted = std::process::Command::new("bash").args(["-c", &line]).output().expect("bash");
    let reply = String::from_utf8_lossy(&pasted.stdout);
    assert!(pasted.status.success(), "{line}\n{}", String::from_utf8_lossy(&pasted.stderr));
    assert!(reply.contains("\"id\"") || reply.contains("\"stdout\""), "{line}\n{reply}");
}
