//! A client that hangs up: its script is ended, nothing is kept, and the sandbox is free
//! at once.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use crate::support::http::hang_up;
use crate::support::watched::Watched;
use crate::support::{Api, Server, TestStore, eventually, median, on_each_store};

on_each_store![
    gone_during_a_buffered_exec,
    gone_during_a_streamed_exec,
    gone_while_queued,
    gone_during_a_busy_loop,
    gone_in_the_middle_of_an_upload,
];

/// The bound.
const BOUND: Duration = Duration::from_secs(1);
const ROUNDS: usize = 10;

/// Waits until another script holds the sandbox: then a writer of ours does not answer.
async fn busy(api: &Api, id: &str) {
    eventually("the script runs", Duration::from_secs(10), || async {
        let probe = json!({"script": "true"});
        let probe = api.try_exec(id, &probe);
        tokio::time::timeout(Duration::from_millis(100), probe).await.is_err().then_some(())
    })
    .await;
}

/// How long the next writer waits, and that nothing of the one before is there.
async fn next_writer(api: &Api, id: &str, what: &str) -> Duration {
    let start = Instant::now();
    let reply = api.exec(id, "ls -A; echo next > next; rm next").await;
    let took = start.elapsed();
    assert_eq!(reply["stdout"], "", "{what}: something was kept");
    assert!(took < BOUND, "{what}: the next writer waited {took:?}");
    took
}

fn report(what: &str, server: &Server, times: &[Duration]) {
    println!("{what} ({}): median {:?} of {}", server.store().name(), median(times), times.len());
}

async fn gone_during_a_buffered_exec(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let request = api.raw_post(
        &format!("/v1/sandboxes/{id}/exec-sync"),
        &json!({"script": "echo x > f; sleep 60; echo y > g"}),
    );
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let connection = hang_up(server.addr(), &request).await;
        busy(&api, &id).await;
        drop(connection);
        times.push(next_writer(&api, &id, "buffered").await);
    }
    report("client gone, buffered", &server, &times);
}

async fn gone_during_a_streamed_exec(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let mut live = api.live(&id, &json!({"script": "echo x > f; echo go; sleep 60; echo y > g"})).await;
        assert_eq!(live.next().await.expect("an event").data["data"], "go\n");
        drop(live);
        times.push(next_writer(&api, &id, "streamed").await);
    }
    report("client gone, streamed", &server, &times);
}

async fn gone_while_queued(store: TestStore) {
    let watched = Watched::start(store, &[]).await;
    let server = &watched.server;
    let api = server.api().await;
    let id = api.create().await;
    let queued =
        api.raw_post(&format!("/v1/sandboxes/{id}/exec-sync"), &json!({"script": "echo queued >> /tmp/ran"}));
    for _ in 0..ROUNDS {
        let mut holder = api.live(&id, &json!({"script": "echo go; sleep 60"})).await;
        assert_eq!(holder.next().await.expect("an event").data["data"], "go\n");
        let mut waiting = Vec::new();
        for _ in 0..20 {
            waiting.push(hang_up(server.addr(), &queued).await);
        }
        // An answer on any of them would mean that it did not wait.
        for connection in &mut waiting {
            let early = tokio::time::timeout(Duration::from_millis(10), connection.read(&mut [0; 1])).await;
            assert!(early.is_err(), "a queued exec answered while another held the sandbox");
        }
        drop(waiting);
        // Who is called up before the server has heard of the end runs, and rightly.
        eventually("nobody waits any more", Duration::from_secs(20), || async {
            (watched.metrics().await["sqlfs_requests_waiting"] == 0.0).then_some(())
        })
        .await;
        drop(holder);
        next_writer(&api, &id, "queued").await;
        assert_eq!(api.stdout(&id, "cat /tmp/ran 2>/dev/null; true").await, "", "a script ran for nobody");
    }
}

async fn gone_during_a_busy_loop(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let mut times = Vec::new();
    for script in
        ["while :; do :; done", "while :; do echo x >> f; done", "for ((;;)); do cat f; done >/dev/null"]
    {
        let mut live = api.live(&id, &json!({"script": format!("echo x > f; echo go; {script}")})).await;
        assert_eq!(live.next().await.expect("an event").data["data"], "go\n");
        drop(live);
        times.push(next_writer(&api, &id, script).await);
    }
    report("client gone, busy loop", &server, &times);
}

async fn gone_in_the_middle_of_an_upload(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    for (method, path, kind) in [
        ("PUT", "files/home/user/f", "application/octet-stream"),
        ("POST", "ingest?basePath=/home/user", "application/x-tar"),
        ("POST", "exec-sync", "application/json"),
    ] {
        let head = format!(
            "{method} /v1/sandboxes/{id}/{path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: {kind}\r\ncontent-length: 1000000\r\n\r\nonly the beginning",
            api.token
        );
        let connection = hang_up(server.addr(), head.as_bytes()).await;
        // It holds up nobody while it is there, and leaves nothing when it is not.
        next_writer(&api, &id, path).await;
        drop(connection);
        next_writer(&api, &id, path).await;
    }
}
