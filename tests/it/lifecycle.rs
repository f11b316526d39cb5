//! Start and end of the server process.

use std::time::Duration;

use serde_json::json;

use crate::support::server::run;
use crate::support::{Server, TestStore, eventually, on_each_store};

on_each_store![
    sigterm_lets_running_scripts_finish,
    sigterm_ends_what_takes_too_long,
    bad_configuration_is_refused_with_one_line,
    a_paused_server_goes_on,
];

const LONG: Duration = Duration::from_mins(1);

async fn sigterm_lets_running_scripts_finish(store: TestStore) {
    let mut server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let mut live = api.live(&id, &json!({"script": "echo x > f; echo go; sleep 1; echo y >> f"})).await;
    assert_eq!(live.next().await.expect("an event").data["data"], "go\n");
    server.terminate();
    let exit = live.all().await.pop().expect("an exit");
    assert_eq!(
        (exit.name.as_str(), &exit.data["exitCode"], &exit.data["committed"]),
        ("exit", &json!(0), &json!(true))
    );
    let status = server.exited().await;
    assert!(status.success(), "{status:?}");
    server.start_again().await;
    assert_eq!(server.api().await.stdout(&id, "cat f").await, "x\ny\n");
}

async fn sigterm_ends_what_takes_too_long(store: TestStore) {
    let mut server = Server::start(store).await;
    let api = server.api().await;
    let (id, queued) = (api.create().await, api.create().await);
    let mut live =
        api.live(&id, &json!({"script": "echo x > f; echo go; sleep 250", "timeoutMs": 300_000})).await;
    assert_eq!(live.next().await.expect("an event").data["data"], "go\n");
    let start = tokio::time::Instant::now();
    server.terminate();
    let events = live.all().await;
    let error = events.iter().find(|e| e.name == "error").expect("an error event");
    assert_eq!(
        (&error.data["code"], &error.data["applied"]),
        (&json!("SHUTTING_DOWN"), &json!("no")),
        "{events:?}"
    );
    assert_eq!(error.data["retryable"], true);
    let status = server.exited().await;
    assert!(status.success(), "{status:?}");
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    server.start_again().await;
    let api = server.api().await;
    assert_eq!(api.stdout(&id, "ls -A").await, "");
    assert_eq!(api.stdout(&queued, "ls -A").await, "");
}

async fn bad_configuration_is_refused_with_one_line(store: TestStore) {
    for (name, value) in [
        ("PORT", "http"),
        ("SESSION_IDLE_MS", "-1"),
        ("MAX_FILE_WRITE_BYTES", "many"),
        ("BIND_ADDRESS", "not an address"),
        ("DATABASE_URL", "mysql://localhost/x"),
    ] {
        let (status, _, stderr) = run(&store, &[], &[(name, value)], b"").await;
        assert_eq!(status.code(), Some(78), "{name}={value}: {stderr}");
        assert_eq!(stderr.trim().lines().count(), 1, "{name}={value}: {stderr}");
        assert!(stderr.contains(name), "{name}={value}: {stderr}");
    }
    // For deployments, and only with a secret of one's own.
    let (status, _, stderr) =
        run(&store, &[], &[("BIND_ADDRESS", "0.0.0.0"), ("AUTH_SECRET", "")], b"").await;
    assert_eq!(status.code(), Some(78), "{stderr}");
    assert!(stderr.contains("AUTH_SECRET"), "{stderr}");
}

async fn a_paused_server_goes_on(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let mut live = api.live(&id, &json!({"script": "echo go; sleep 0.3; echo x > f"})).await;
    assert_eq!(live.next().await.expect("an event").data["data"], "go\n");
    server.signal(libc::SIGSTOP);
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.signal(libc::SIGCONT);
    let exit = live.all().await.pop().expect("an exit");
    assert_eq!(exit.data["committed"], true, "{exit:?}");
    assert_eq!(api.stdout(&id, "cat f").await, "x\n");
}

#[tokio::test]
async fn a_second_process_on_the_same_folder_is_refused() {
    let mut server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = api.create().await;
    let (status, _, stderr) = run(server.store(), &[], &[], b"").await;
    assert_eq!(status.code(), Some(78), "{stderr}");
    assert_eq!(stderr.trim().lines().count(), 1, "{stderr}");
    assert!(stderr.contains("data"), "names the folder: {stderr}");
    // The first is not disturbed, and its death frees the folder.
    api.exec(&id, "echo x > f").await;
    server.kill();
    server.start_again().await;
    assert_eq!(server.api().await.stdout(&id, "cat f").await, "x\n");
}

#[tokio::test]
async fn two_replicas_share_one_database() {
    let store = TestStore::postgres().await;
    let url = store.postgres_url().expect("Postgres");
    let first = Server::start(store).await;
    let second = Server::start_with(TestStore::sqlite(), &[("DATABASE_URL", &url)]).await;
    let (a, b) = (first.api().await, second.api().await);
    let id = a.create().await;
    for n in 0..20 {
        let (writer, reader) = if n % 2 == 0 { (&a, &b) } else { (&b, &a) };
        writer.exec(&id, &format!("echo {n} > f; echo {n} >> log")).await;
        assert_eq!(reader.stdout(&id, "cat f").await, format!("{n}\n"));
    }
    assert_eq!(b.sandbox(&id).await["version"], 20);
    a.delete(&format!("/v1/sandboxes/{id}")).await.expect(204);
    b.try_exec(&id, &json!({"script": "true"})).await.refused(404, "SANDBOX_NOT_FOUND");
}

#[tokio::test]
async fn a_database_that_comes_late_is_waited_for_by_readyz() {
    let store = TestStore::postgres().await;
    let url = store.postgres_url().expect("Postgres");
    let proxy = crate::support::proxy::Proxy::before(&url).await;
    let server = Server::start_with(store, &[("DATABASE_URL", &proxy.url(&url))]).await;
    let api = server.api().await;
    let ready = || async { api.get("/readyz").await.status };
    assert_eq!(ready().await, 200);
    proxy.refuse(true);
    proxy.cut_all();
    eventually("readyz sees that Postgres is away", LONG, || async { (ready().await == 503).then_some(()) })
        .await;
    api.get("/livez").await.expect(200);
    proxy.refuse(false);
    eventually("readyz sees that Postgres is back", LONG, || async { (ready().await == 200).then_some(()) })
        .await;
}
