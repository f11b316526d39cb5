//! A call that its client gives up, by word or by leaving, ends its script: nothing is
//! applied, and the sandbox is free at once.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::rig::{Mcp, message};
use crate::support::http::{hang_up, send};
use crate::support::{Server, TestStore, eventually, on_each_store};

on_each_store![
    a_cancelled_call_leaves_no_trace,
    a_client_that_leaves_ends_its_call,
    who_asks_hears_of_progress
];

/// The script runs now: it holds the sandbox, so a writer does not answer.
async fn until_it_runs(mcp: &Mcp, id: &str) {
    eventually("the script runs", Duration::from_secs(20), || async {
        let probe = json!({"script": "true"});
        let probe = mcp.api.try_exec(id, &probe);
        tokio::time::timeout(Duration::from_millis(200), probe).await.is_err().then_some(())
    })
    .await;
}

async fn no_trace_and_free(mcp: &Mcp, id: &str) {
    let next = mcp.ok("bash_exec", json!({"id": id, "script": "ls -A"}));
    let next = tokio::time::timeout(Duration::from_secs(10), next).await.expect("the sandbox is free");
    assert_eq!((&next["stdout"], &next["version"]), (&json!(""), &json!(0)));
}

fn slow(id: &str) -> Value {
    json!({"name": "bash_exec", "arguments": {"id": id, "script": "echo x > f; sleep 60", "timeout": 100}})
}

async fn a_cancelled_call_leaves_no_trace(store: TestStore) {
    let server = Server::start(store).await;
    let mcp = Mcp::connect(&server.api().await).await;
    let stranger = Mcp::connect(&server.api().await).await;
    let id = mcp.create().await;
    let number = mcp.id();
    let call = tokio::spawn(send(mcp.http(&message(number, "tools/call", &slow(&id)))));
    until_it_runs(&mcp, &id).await;
    let gone = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number, "reason": "enough"}});
    // Another client of the same owner counts its own requests.
    send(stranger.http(&gone)).await.expect(202);
    until_it_runs(&mcp, &id).await;
    let same = send(mcp.http(&message(number, "tools/call", &slow(&id)))).await.refused(400, "INVALID_INPUT");
    assert!(same["error"].as_str().expect("text").contains("still running"), "{same}");
    send(mcp.http(&gone)).await.expect(202);
    no_trace_and_free(&mcp, &id).await;
    tokio::time::timeout(Duration::from_secs(10), call).await.expect("the reply ends").expect("the call");
    // Its number is free again.
    let again = json!({"name": "bash_exec", "arguments": {"id": id, "script": "true"}});
    send(mcp.http(&message(number, "tools/call", &again))).await.expect(200);
}

async fn a_client_that_leaves_ends_its_call(store: TestStore) {
    let server = Server::start(store).await;
    let mcp = Mcp::connect(&server.api().await).await;
    let id = mcp.create().await;
    let call = message(1, "tools/call", &slow(&id));
    let plain = mcp.api.raw_post("/mcp", &call);
    let events = String::from_utf8(plain.clone()).expect("text");
    let events = events.replacen("host: ", "accept: application/json, text/event-stream\r\nhost: ", 1);
    for request in [plain, events.into_bytes()] {
        let connection = hang_up(server.addr(), &request).await;
        until_it_runs(&mcp, &id).await;
        drop(connection);
        no_trace_and_free(&mcp, &id).await;
    }
}

async fn who_asks_hears_of_progress(store: TestStore) {
    let server = Server::start(store).await;
    let mcp = Mcp::connect(&server.api().await).await;
    let id = mcp.create().await;
    let mut call = slow(&id);
    call["arguments"]["script"] = json!("sleep 5; echo done");
    call["_meta"] = json!({"progressToken": "p-1"});
    let reply = mcp.http(&message(9, "tools/call", &call)).send().await.expect("a reply");
    assert_eq!(reply.headers()["content-type"], "text/event-stream");
    let mut text = Vec::new();
    let mut body = reply.bytes_stream();
    while let Some(piece) = body.next().await {
        text.extend_from_slice(&piece.expect("a piece"));
    }
    let text = String::from_utf8(text).expect("text");
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let heard: Vec<Value> = data.map(|data| serde_json::from_str(data.trim()).expect("JSON")).collect();
    let (result, notes) = heard.split_last().expect("messages");
    assert_eq!(
        (&result["id"], &result["result"]["structuredContent"]["stdout"]),
        (&json!(9), &json!("done\n"))
    );
    assert!(!notes.is_empty(), "{text}");
    let mut before = 0.0;
    for note in notes {
        assert_eq!(
            (&note["method"], &note["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p-1"))
        );
        let now = note["params"]["progress"].as_f64().expect("a number");
        assert!(now > before, "{text}");
        before = now;
    }
}
