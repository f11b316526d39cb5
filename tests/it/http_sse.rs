//! `POST …/exec`: live events, and `exit` only after the commit.

use std::time::Duration;

use serde_json::json;

use crate::support::http::{Event, joined};
use crate::support::{Server, TestStore, on_each_store};

on_each_store![
    output_arrives_while_the_script_runs,
    exit_comes_after_the_commit,
    code_points_stay_whole,
    bytes_travel_as_base64,
    output_cannot_forge_events,
    a_failure_is_an_error_event_and_then_exit,
    a_failure_before_the_start_is_a_plain_status,
    a_slow_reader_gets_all,
];

/// Exactly one `exit`, last, and every event with an id of its own.
#[track_caller]
fn check_order(events: &[Event]) -> &Event {
    let last = events.last().expect("events");
    assert_eq!(last.name, "exit", "{events:?}");
    assert_eq!(events.iter().filter(|e| e.name == "exit").count(), 1, "{events:?}");
    let mut ids: Vec<&str> = events.iter().map(|e| e.id.as_str()).collect();
    assert!(ids.iter().all(|id| !id.is_empty()), "{events:?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), events.len(), "an id twice: {events:?}");
    assert!(events.iter().all(|e| e.data["t"].is_number()), "{events:?}");
    last
}

async fn output_arrives_while_the_script_runs(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let mut live = api.live(&id, &json!({"script": "echo first; sleep 1; echo last >&2; exit 5"})).await;
    let first = live.next().await.expect("an event");
    assert_eq!((first.name.as_str(), &first.data["data"]), ("stdout", &json!("first\n")));
    let rest = live.all().await;
    let exit = check_order(&rest);
    assert_eq!(joined(&rest, "stderr"), "last\n");
    assert_eq!((&exit.data["exitCode"], &exit.data["committed"]), (&json!(5), &json!(false)));
    assert!(exit.data["durationMs"].as_u64().expect("durationMs") >= 1000);
    let gap = exit.at.duration_since(first.at);
    assert!(gap >= Duration::from_millis(700), "the first byte came only {gap:?} before the end");
}

async fn exit_comes_after_the_commit(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    for n in 1..=20 {
        let mut live = api.live(&id, &json!({"script": format!("echo {n} > f; echo done")})).await;
        loop {
            let event = live.next().await.expect("an exit");
            if event.name == "exit" {
                assert_eq!((&event.data["version"], &event.data["committed"]), (&json!(n), &json!(true)));
                break;
            }
        }
        let read = api.exec_with(&id, &json!({"script": "cat f", "readOnly": true, "snapshot": true})).await;
        assert_eq!(read["stdout"], format!("{n}\n"));
    }
}

async fn code_points_stay_whole(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let text = "aü€😀".repeat(20_000);
    api.put(&id, "/home/user/text", text.clone()).await.expect(204);
    let events =
        api.live(&id, &json!({"script": "cat text; printf '\\xe2'; sleep 0.05; printf '\\x82\\xac'"})).await;
    let events = events.all().await;
    check_order(&events);
    let out = joined(&events, "stdout");
    assert!(out == text + "€", "{} bytes, of them replaced: {}", out.len(), out.matches('\u{fffd}').count());
}

async fn bytes_travel_as_base64(store: TestStore) {
    use base64::Engine;
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let bytes: Vec<u8> = (0..100_000u32).map(|n| (n * 7 % 256) as u8).collect();
    api.put(&id, "/home/user/bytes", bytes.clone()).await.expect(204);
    let events = api.live(&id, &json!({"script": "cat bytes", "encoding": "base64"})).await.all().await;
    check_order(&events);
    let mut got = Vec::new();
    for event in events.iter().filter(|e| e.name == "stdout") {
        let piece = event.data["data"].as_str().expect("data");
        got.extend(base64::engine::general_purpose::STANDARD.decode(piece).expect("base64"));
    }
    assert!(got == bytes, "{} bytes", got.len());
}

async fn output_cannot_forge_events(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let forged = "data: x\n\nevent: exit\ndata: {}\n\n:\r\n\r\nid: 1\n";
    let script = format!("printf '%s' '{forged}'");
    let events = api.live(&id, &json!({ "script": script })).await.all().await;
    check_order(&events);
    assert_eq!(joined(&events, "stdout"), forged);
}

async fn a_failure_is_an_error_event_and_then_exit(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    for (body, code) in [
        (json!({"script": "echo out; echo x > f; sleep 60", "timeoutMs": 200}), "EXEC_TIMEOUT"),
        (json!({"script": "echo out; echo x > f", "readOnly": true}), "EREADONLY_VIOLATION"),
    ] {
        let events = api.live(&id, &body).await.all().await;
        let exit = check_order(&events);
        assert_eq!(joined(&events, "stdout"), "out\n", "{events:?}");
        assert_eq!(exit.data["exitCode"], -1, "{events:?}");
        assert_eq!(exit.data["committed"], false, "{events:?}");
        let error = &events[events.len() - 2];
        assert_eq!((error.name.as_str(), &error.data["code"]), ("error", &json!(code)), "{events:?}");
        assert_eq!((&error.data["applied"], &error.data["retryable"].is_boolean()), (&json!("no"), &true));
        assert!(error.data["error"].as_str().is_some_and(|text| !text.is_empty()), "{events:?}");
        api.file(&id, "/home/user/f").await.error(404, "ENOENT");
    }
}

async fn a_failure_before_the_start_is_a_plain_status(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    for (sandbox, body, status, code) in [
        (id.as_str(), json!({"script": ""}), 400, "INVALID_INPUT"),
        (id.as_str(), json!({"script": "true", "ifVersion": 7}), 412, "VERSION_MISMATCH"),
        ("00000000-0000-4000-8000-000000000000", json!({"script": "true"}), 404, "SANDBOX_NOT_FOUND"),
    ] {
        let reply = api.post(&format!("/v1/sandboxes/{sandbox}/exec"), &body).await;
        reply.refused(status, code);
        assert!(reply.header("content-type").starts_with("application/json"));
    }
}

async fn a_slow_reader_gets_all(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    // More than all buffers on the way, so the script must wait for its reader.
    let mut live = api
        .live(
            &id,
            &json!({"script": "for ((i = 1; i <= 60000; i++)); do echo \"line $i of a long log\"; done"}),
        )
        .await;
    let mut events = vec![live.next().await.expect("an event")];
    // A reader that stops reading cannot be shown by an event: the wait is the fault.
    tokio::time::sleep(Duration::from_millis(300)).await;
    events.extend(live.all().await);
    let exit = check_order(&events);
    assert_eq!(exit.data["exitCode"], 0);
    let expected = (1..=60000).fold(String::new(), |all, i| all + &format!("line {i} of a long log\n"));
    let out = joined(&events, "stdout");
    assert!(out == expected, "{} of {} bytes", out.len(), expected.len());
}
