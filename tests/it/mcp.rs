//! MCP at /mcp as a client meets it: the handshake, each tool, each refusal, and what
//! becomes of a call whose client gives it up.

mod access;
mod cancel;
mod metrics;
mod official;
mod paging;
pub mod rig;
mod tools;

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::send;
use crate::support::{Server, TestStore, eventually};
use rig::{Mcp, message, post};

#[tokio::test]
async fn the_handshake_offers_the_tools_of_the_contract() {
    let server = Server::start(TestStore::sqlite()).await;
    let mcp = Mcp::connect(&server.api().await).await;
    let info = &mcp.info;
    assert_eq!(
        (&info["serverInfo"]["name"], &info["protocolVersion"]),
        (&json!("sqlfs"), &json!("2025-06-18"))
    );
    assert!(info["capabilities"]["tools"].is_object(), "{info}");
    assert!(info["instructions"].as_str().is_some_and(|text| text.contains("nothing slips in between")));

    let listed = mcp.request("tools/list", json!({})).await.expect("the tools");
    let tools = listed["tools"].as_array().expect("a list");
    let signature = |tool: &Value| {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["additionalProperties"], false, "{tool}");
        let required: Vec<&str> = schema["required"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|name| name.as_str().expect("text"))
            .collect();
        let optional = schema["properties"].as_object().expect("properties").keys();
        let optional: Vec<_> = optional.filter(|name| !required.contains(&name.as_str())).cloned().collect();
        format!(
            "{}({}; {})",
            tool["name"].as_str().expect("a name"),
            required.join(", "),
            optional.join(", ")
        )
    };
    let signatures: Vec<String> = tools.iter().map(signature).collect();
    assert_eq!(
        signatures,
        [
            "sandbox_create(; env, files, ifExists, javascript, name, network, python, unique)",
            "sandbox_list(; cursor, limit, name)",
            "sandbox_delete(id; force)",
            "bash_exec(id, script; cwd, env, readOnly, timeout)",
            "bash_exec_batch(id, scripts; atomic, perScriptTimeout, readOnly, timeout)",
            "fs_ingest(id, files; basePath)",
            "file_read(id, path; column, limit, offset)",
            "file_write(id, path, content; )",
            "file_edit(id, path, oldString, newString; replaceAll)",
            "fs_export(id; basePath)",
        ]
    );
    let about = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("the tool");
        tool["description"].as_str().expect("a description").to_owned()
    };
    assert!(
        about("bash_exec").contains("read, compute and write in one script, and nothing slips in between")
    );
    assert_eq!(mcp.request("ping", json!({})).await, Ok(json!({})));
}

#[tokio::test]
async fn messages_that_are_none_are_refused_in_the_form_of_every_error() {
    let server = Server::start_with(TestStore::sqlite(), &[("MAX_REQUEST_BODY_BYTES", "2000")]).await;
    let api = server.api().await;
    let ping = message(1, "ping", &json!({}));
    post(&api, &ping).await.expect(200);
    for (body, code, says) in [
        (json!([ping]), "INVALID_INPUT", "one JSON-RPC message"),
        (json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}), "INVALID_INPUT", "id: expected"),
        (json!({"jsonrpc": "2.0"}), "INVALID_INPUT", "no message of the protocol"),
    ] {
        let error = post(&api, &body).await.refused(400, code);
        assert!(error["error"].as_str().expect("text").contains(says), "{error}");
    }
    let twice = api.request(Method::POST, "/mcp").header("content-type", "application/json");
    let reply = send(twice.body(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#)).await;
    assert!(reply.refused(400, "INVALID_INPUT")["error"].as_str().expect("text").contains("occurs twice"));
    let large = message(1, "ping", &json!({"_meta": {"x": "y".repeat(3000)}}));
    assert_eq!(post(&api, &large).await.refused(413, "PAYLOAD_TOO_LARGE")["limit"], "MAX_REQUEST_BODY_BYTES");
    let plain = api.request(Method::POST, "/mcp").header("content-type", "text/plain").body(ping.to_string());
    send(plain).await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    let old = api.request(Method::POST, "/mcp").json(&ping).header("mcp-protocol-version", "1999-01-01");
    let error = send(old).await.refused(400, "INVALID_INPUT");
    assert!(error["error"].as_str().expect("text").contains("2025-06-18"), "{error}");
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let reply = send(api.request(method, "/mcp")).await;
        reply.refused(405, "METHOD_NOT_ALLOWED");
        assert_eq!(reply.header("allow"), "POST");
    }
    send(api.request(Method::POST, "/mcp?x=1").json(&ping)).await.refused(400, "INVALID_INPUT");
    // Ids of requests go through.
    let named = send(api.request(Method::POST, "/mcp").json(&ping).header("x-request-id", "me-1")).await;
    assert_eq!(named.header("x-request-id"), "me-1");
}

#[tokio::test]
async fn unknown_tools_and_methods_are_errors_of_the_protocol() {
    let server = Server::start(TestStore::sqlite()).await;
    let mcp = Mcp::connect(&server.api().await).await;
    let error = mcp.request("tools/call", json!({"name": "bash_exce", "arguments": {}})).await.unwrap_err();
    assert_eq!(error["code"], -32602, "{error}");
    assert_eq!(error["message"], "no such tool: bash_exce; did you mean bash_exec?");
    let error = mcp.request("tools/call", json!({"name": "read_etc_passwd"})).await.unwrap_err();
    assert!(error["message"].as_str().expect("text").contains("there are sandbox_create"), "{error}");
    assert_eq!(mcp.request("no/such", json!({})).await.unwrap_err()["code"], -32601);
    assert_eq!(
        mcp.request("resources/read", json!({"uri": "file:///etc/passwd"})).await.unwrap_err()["code"],
        -32601
    );
}

#[tokio::test]
async fn any_replica_answers_any_request() {
    let store = TestStore::postgres().await;
    let url = store.postgres_url().expect("Postgres");
    let redis = crate::support::redis::shared_url();
    let env = [("DATABASE_URL", url.as_str()), ("REDIS_URL", redis.as_str())];
    let first = Server::start_with(store, &env).await;
    let second = Server::start_with(TestStore::sqlite(), &env).await;
    let one = Mcp::connect(&first.api().await).await;
    // The other replica never saw the handshake.
    let other = one.on(&second.url());
    let id = one.create().await;
    for round in 0..6 {
        let (writer, reader) = if round % 2 == 0 { (&one, &other) } else { (&other, &one) };
        writer.ok("bash_exec", json!({"id": id, "script": format!("echo {round} >> log")})).await;
        let read =
            reader.ok("file_read", json!({"id": id, "path": "/home/user/log", "offset": round + 1})).await;
        assert_eq!(read["content"], format!("{round}\n"));
        let listed = reader.ok("sandbox_list", json!({})).await;
        assert_eq!(listed["sandboxes"][0]["version"], round + 1, "the list is as fresh");
    }
    other.ok("sandbox_delete", json!({"id": id})).await;
    assert_eq!(
        one.failed("bash_exec", json!({"id": id, "script": "true"})).await["code"],
        "SANDBOX_NOT_FOUND"
    );
}

#[tokio::test]
async fn logs_hold_no_scripts_no_output_and_no_keys() {
    let env = [
        ("RUST_LOG", "trace"),
        ("MCP_API_KEY", "canary-key-0123456789-0123456789-0123"),
        ("MCP_DEFAULT_SUB", "u"),
    ];
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let mcp = Mcp::connect(&server.api().await.with_token(env[1].1)).await;
    let id = mcp.create().await;
    mcp.ok("bash_exec", json!({"id": id, "script": "echo canary-$((1+1))-output # canary-script"})).await;
    mcp.ok("file_write", json!({"id": id, "path": "/home/user/f", "content": "canary-content"})).await;
    mcp.ok("file_read", json!({"id": id, "path": "/home/user/f"})).await;
    mcp.failed("bash_exec", json!({"id": id, "script": "echo canary-late; sleep 9", "timeout": 1})).await;
    let logs = eventually("the last call's line", Duration::from_secs(10), || async {
        let logs = server.logs();
        logs.lines().any(|line| line.contains("tool call") && line.contains("EXEC_TIMEOUT")).then_some(logs)
    })
    .await;
    for line in logs.lines() {
        assert!(!line.contains("canary"), "{line}");
    }
}
