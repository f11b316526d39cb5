//! What an operator sees of MCP at /metrics: each call once, however it ended, and nothing
//! of what clients wrote.

use std::time::Duration;

use serde_json::{Value, json};

use super::rig::{Mcp, message};
use crate::support::http::{hang_up, send};
use crate::support::watched::Watched;
use crate::support::{TestStore, eventually};

const CANARY: &str = "canary-7c1e";
const SOON: Duration = Duration::from_secs(20);

fn calls(tool: &str, outcome: &str) -> String {
    format!("sqlfs_mcp_call_duration_seconds_count{{tool=\"{tool}\",outcome=\"{outcome}\"}}")
}

/// Waits until a metric has a value.
async fn until(watched: &Watched, name: &str, value: f64) {
    eventually(name, SOON, || async { (watched.metrics().await.get(name) == Some(&value)).then_some(()) })
        .await;
}

#[tokio::test]
async fn calls_are_counted_by_tool_and_by_how_they_ended() {
    let watched = Watched::start(TestStore::sqlite(), &[]).await;
    let mcp = Mcp::connect(&watched.server.api().await).await;
    let id = mcp.ok("sandbox_create", json!({"name": CANARY})).await["id"].clone();
    mcp.ok("bash_exec", json!({"id": id, "script": format!("echo {CANARY} > {CANARY}")})).await;
    // A script that fails is a call that has not failed.
    mcp.ok("bash_exec", json!({"id": id, "script": "exit 3"})).await;
    mcp.failed("bash_exec", json!({"id": id, "script": "sleep 60", "timeout": 1})).await;
    mcp.failed("file_read", json!({"id": id, "path": format!("/{CANARY}")})).await;
    mcp.failed("file_read", json!({"id": id, "path": "/x", CANARY: 1})).await;
    mcp.request("tools/call", json!({"name": CANARY})).await.unwrap_err();
    // What is no call of a tool is none here.
    mcp.request("tools/list", json!({})).await.expect("the tools");

    let metrics = watched.metrics().await;
    for (name, value) in [
        (calls("sandbox_create", "done"), 1.0),
        (calls("bash_exec", "done"), 2.0),
        (calls("bash_exec", "error"), 1.0),
        (calls("file_read", "error"), 2.0),
        (calls("unknown", "error"), 1.0),
        ("sqlfs_mcp_errors_total{code=\"EXEC_TIMEOUT\"}".into(), 1.0),
        ("sqlfs_mcp_errors_total{code=\"ENOENT\"}".into(), 1.0),
        ("sqlfs_mcp_errors_total{code=\"UNKNOWN_FIELD\"}".into(), 1.0),
    ] {
        assert_eq!(metrics.get(&name), Some(&value), "{name} in {metrics:#?}");
    }
    let counted =
        metrics.iter().filter(|(name, _)| name.starts_with("sqlfs_mcp_call_duration_seconds_count"));
    assert_eq!(counted.map(|(_, value)| *value as u64).sum::<u64>(), 7, "{metrics:#?}");
    let time = "sqlfs_mcp_call_duration_seconds_sum{tool=\"bash_exec\",outcome=\"error\"}";
    assert!(metrics.get(time).is_some_and(|seconds| *seconds >= 1.0), "{metrics:#?}");
    let text = watched.get("/metrics").await.text().to_owned();
    for hidden in [CANARY, "tester", id.as_str().expect("an id"), mcp.session.as_str()] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
}

#[tokio::test]
async fn calls_that_are_given_up_are_counted_too() {
    let watched = Watched::start(TestStore::sqlite(), &[]).await;
    let mcp = Mcp::connect(&watched.server.api().await).await;
    let id = mcp.create().await;
    let slow = json!({"name": "bash_exec", "arguments": {"id": id, "script": "sleep 60", "timeout": 100}});
    let gone = |request: u64| -> Value {
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}})
    };
    let cancellations = |result: &str| format!("sqlfs_mcp_cancellations_total{{result=\"{result}\"}}");
    let number = mcp.id();
    let call = tokio::spawn(send(mcp.http(&message(number, "tools/call", &slow))));
    until(&watched, "sqlfs_scripts_running", 1.0).await;
    send(mcp.http(&gone(number + 1))).await.expect(202);
    send(mcp.http(&gone(number))).await.expect(202);
    tokio::time::timeout(SOON, call).await.expect("the reply ends").expect("the call");
    until(&watched, &calls("bash_exec", "cancelled"), 1.0).await;
    until(&watched, "sqlfs_scripts_running", 0.0).await;
    // By leaving.
    let connection =
        hang_up(watched.server.addr(), &mcp.api.raw_post("/mcp", &message(1, "tools/call", &slow))).await;
    until(&watched, "sqlfs_scripts_running", 1.0).await;
    drop(connection);
    until(&watched, &calls("bash_exec", "cancelled"), 2.0).await;
    let metrics = watched.metrics().await;
    for (result, value) in [("found", 1.0), ("missed", 1.0)] {
        assert_eq!(metrics.get(&cancellations(result)), Some(&value), "{metrics:#?}");
    }
    assert_eq!(metrics.get(&calls("bash_exec", "done")), None);
}
