//! `node`: programs of the kind that agents write, beside the machine's own Node, and how
//! they start, share their places and end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::http::Api;
use crate::support::{Server, TestStore};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Scripts of a folder of tests/data, by name.
fn scripts(name: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(name)).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "sh") {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            found.push((name, fs::read_to_string(&path).expect("a script")));
        }
    }
    found.sort();
    found
}

async fn with_javascript(api: &Api) -> String {
    let made = api.create_with(&json!({"javascript": true})).await;
    made["id"].as_str().expect("an id").to_owned()
}

/// What bash and Node of this machine make of a script.
fn real(script: &str) -> (String, i32) {
    let dir = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(dir.path()).stdin(Stdio::null());
    command.env("TZ", "UTC").env("HOME", dir.path()).env_remove("NODE_OPTIONS");
    let ran = command.output().expect("bash");
    (String::from_utf8_lossy(&ran.stdout).into_owned(), ran.status.code().expect("an exit code"))
}

/// The first line that differs, with those beside it.
fn difference(ours: &str, theirs: &str) -> String {
    let (mut a, mut b) = (ours.lines(), theirs.lines());
    for number in 1.. {
        match (a.next(), b.next()) {
            (None, None) => break,
            (ours, theirs) if ours != theirs => {
                return format!("line {number}:\n  ours   {ours:?}\n  theirs {theirs:?}");
            }
            _ => {}
        }
    }
    "the ends of the lines differ".to_owned()
}

#[tokio::test]
async fn programs_print_what_the_real_node_prints() {
    let version = Command::new("node").arg("--version").output().expect("this test needs Node 20 on PATH");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    assert!(version.starts_with("v20."), "this test needs Node 20, not {version}");
    let scripts = scripts("javascript");
    assert!(scripts.len() >= 35, "{}", scripts.len());
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let mut wrong = Vec::new();
    for (name, script) in scripts {
        let ours = api.exec(&with_javascript(&api).await, &script).await;
        let (stdout, exit) = {
            let script = script.clone();
            tokio::task::spawn_blocking(move || real(&script)).await.expect("bash")
        };
        if ours["stdout"] != stdout.as_str() || ours["exitCode"] != exit {
            let ours_out = ours["stdout"].as_str().unwrap_or_default();
            let (where_, err) = (difference(ours_out, &stdout), &ours["stderr"]);
            wrong.push(format!("{name}: exit {} against {exit}; {where_}\n{err}", ours["exitCode"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The expectations were written by SQLite's own shell, 3.40.1.
#[tokio::test]
async fn sqlite3_prints_what_its_own_shell_prints() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    for (name, script) in scripts("sqlite3") {
        let expected =
            fs::read_to_string(folder("sqlite3").join(format!("{name}.out"))).expect("expectations");
        let ours = api.exec(&api.create().await, &script).await;
        let stdout = ours["stdout"].as_str().unwrap_or_default();
        assert!(stdout == expected, "{name}: {}\n{}", difference(stdout, &expected), ours["stderr"]);
    }
}

#[tokio::test]
async fn sqlite3_reaches_no_file_but_its_own_and_ends_when_told() {
    // On a thread, where no guard of a process stands behind it.
    let server = Server::start_with(TestStore::sqlite(), &[("INTERPRETER", "thread")]).await;
    let api = server.api().await;
    let id = api.create().await;
    for sql in [
        "attach '/etc/passwd' as p",
        "attach '/tmp/x.db' as p",
        "vacuum into '/tmp/x.db'",
        "select load_extension('x')",
        "select readfile('/etc/passwd')",
        "pragma temp_store_directory = '/tmp'",
        "pragma temp_store = 1",
        "pragma hard_heap_limit = 1000",
        "pragma max_page_count = 1000000",
    ] {
        let ours = api.exec(&id, &format!("sqlite3 a.db \"{sql}\"; echo $?; ls")).await;
        let stdout = ours["stdout"].as_str().unwrap_or_default();
        assert!(stdout != "0\n" && stdout.len() <= 4, "{sql}: {ours}");
        assert!(ours["stderr"].as_str().unwrap_or_default().contains("rror"), "{sql}: {ours}");
    }
    for command in [".shell ls", ".system ls", ".open b.db", ".output |ls"] {
        let ours = api.exec(&id, &format!("sqlite3 a.db '{command}'")).await;
        assert_eq!(ours["exitCode"], 1, "{command}: {ours}");
    }
    let endless = "sqlite3 a.db 'create table t(a); insert into t with recursive c(n) as (select 1 union all select n+1 \
                   from c) select n from c'";
    let cut = api.try_exec(&id, &json!({"script": endless, "timeoutMs": 300})).await;
    assert!(cut.status == 408 || cut.status == 507, "{}", cut.text());
    let sum =
        "sqlite3 b.db 'with recursive c(n) as (select 1 union all select n+1 from c) select sum(n) from c'";
    api.try_exec(&id, &json!({"script": sum, "timeoutMs": 300})).await.error(408, "EXEC_TIMEOUT");
    assert_eq!(api.stdout(&id, "ls").await, "", "nothing of it is there");
    // A file that was there is written once, whole, and stays as it was when a script is cut off.
    api.exec(&id, "sqlite3 c.db 'create table t(a); insert into t values(1)'").await;
    let lost = "sqlite3 c.db 'insert into t values(2)'; while :; do :; done";
    api.try_exec(&id, &json!({"script": lost, "timeoutMs": 300})).await;
    assert_eq!(api.stdout(&id, "sqlite3 c.db 'select * from t'").await, "1\n");
}

#[tokio::test]
async fn it_is_there_only_where_the_sandbox_has_it() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = api.create().await;
    for name in ["node", "js-exec"] {
        let ours = api.exec(&id, &format!("{name} -p 1")).await;
        assert_eq!(ours["exitCode"], 127, "{ours}");
        let stderr = ours["stderr"].as_str().unwrap();
        assert!(stderr.starts_with(&format!("{name}: command not found\n")), "{stderr}");
        assert!(stderr.contains("\"javascript\": true"), "{stderr}");
    }
    assert_eq!(api.stdout(&with_javascript(&api).await, "js-exec -p 1+1").await, "2\n");
}

#[tokio::test]
async fn a_program_that_is_cut_off_leaves_nothing_and_gives_its_place_back() {
    for interpreter in ["process", "thread"] {
        let env = [("MAX_CONCURRENT_JS", "1"), ("INTERPRETER", interpreter)];
        let server = Server::start_with(TestStore::sqlite(), &env).await;
        let api = server.api().await;
        let id = with_javascript(&api).await;
        for endless in ["for(;;);", "setInterval(() => {}, 1000)", "/(a+)+$/.test('a'.repeat(40) + 'b')"] {
            let script = format!("echo 1 > f; node -e \"require('fs').writeFileSync('g', 'x'); {endless}\"");
            let cut = api.try_exec(&id, &json!({"script": script, "timeoutMs": 400})).await;
            cut.error(408, "EXEC_TIMEOUT");
            assert_eq!(api.stdout(&id, "ls; node -p 1").await, "1\n", "{interpreter}: {endless}");
        }
        // It may hold so much and no more, and that is its own error.
        let full = api.exec(&id, "node -e 'const a = []; for (;;) a.push(new Array(1000).fill(1.5))'").await;
        // Without room for an error it throws null, which a program may do as well.
        assert!(full["exitCode"] == 134 || full["exitCode"] == 1, "{full}");
        assert!(full["stderr"].as_str().unwrap().contains("EXEC_MEMORY_BYTES"), "{full}");
        // A full sandbox and a read-only script end it as they end any script.
        let read_only = json!({"script": "node -e \"try { fs.writeFileSync('h', '') } catch {} for (;;);\"", "readOnly": true});
        api.try_exec(&id, &read_only).await.error(422, "EREADONLY_VIOLATION");
        assert_eq!(api.stdout(&id, "ls; node -p 2").await, "2\n");
    }
}

/// Most of the times `[from, to]` that hold one moment in common.
fn overlap(times: &[[f64; 2]]) -> usize {
    let at = |moment: f64| times.iter().filter(|[from, to]| *from <= moment && moment < *to).count();
    times.iter().map(|[from, _]| at(*from)).max().unwrap_or(0)
}

#[tokio::test]
async fn twenty_programs_stay_within_their_places() {
    let server = Server::start_with(TestStore::sqlite(), &[("MAX_CONCURRENT_JS", "3")]).await;
    let api = server.api().await;
    let mut running = Vec::new();
    for _ in 0..20 {
        let (api, id) = (api.clone(), with_javascript(&api).await);
        running.push(tokio::spawn(async move {
            let program =
                "const a = Date.now(); setTimeout(() => console.log(JSON.stringify([a, Date.now()])), 40)";
            api.stdout(&id, &format!("node -e '{program}'")).await
        }));
    }
    let mut times = Vec::new();
    for task in running {
        let out = task.await.expect("an exec");
        times.push(serde_json::from_str::<[f64; 2]>(&out).expect("two times"));
    }
    assert_eq!(overlap(&times), 3, "{times:?}");
}

#[tokio::test]
async fn a_full_queue_is_runtime_busy_and_nothing_is_applied() {
    for interpreter in ["process", "thread"] {
        for (queue, timeout, says) in [("0", "60000", "wait already"), ("9", "30", "could be started within")]
        {
            let env = [
                ("MAX_CONCURRENT_JS", "1"),
                ("MAX_JS_QUEUE", queue),
                ("JS_QUEUE_TIMEOUT_MS", timeout),
                ("INTERPRETER", interpreter),
            ];
            let server = Server::start_with(TestStore::sqlite(), &env).await;
            let api = server.api().await;
            let (one, two) = (with_javascript(&api).await, with_javascript(&api).await);
            let holder = {
                let api = api.clone();
                tokio::spawn(async move {
                    let body =
                        json!({"script": "node -e 'setInterval(() => {}, 1000)'", "timeoutMs": 20_000});
                    // It may come when a program of the other holds the place.
                    while api.try_exec(&one, &body).await.status == 503 {}
                })
            };
            let try_two = || api.try_exec(&two, &TRY);
            let mut reply = try_two().await;
            while reply.status == 200 {
                assert!(!holder.is_finished(), "both ran at once");
                reply = try_two().await;
            }
            let body = reply.error(503, "RUNTIME_BUSY");
            assert!(body["error"].as_str().unwrap().contains(says), "{body}");
            assert_eq!((&body["applied"], &body["retryable"]), (&json!("no"), &json!(true)), "{body}");
            assert!(!reply.header("retry-after").is_empty());
            assert_eq!(api.stdout(&two, "cat n | wc -l; ls m 2>/dev/null || true").await.lines().count(), 1);
            // The client of the first leaves: its place is free again.
            holder.abort();
            let mut reply = try_two().await;
            while reply.status == 503 {
                reply = try_two().await;
            }
            assert_eq!(reply.json()["stdout"], "1\n");
        }
    }
}

static TRY: std::sync::LazyLock<Value> =
    std::sync::LazyLock::new(|| json!({"script": "echo >> n; node -p 1 || touch m", "timeoutMs": 20_000}));
