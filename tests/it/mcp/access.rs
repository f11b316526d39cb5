//! Who may call /mcp: tokens, and MCP_API_KEY with a name for whom it acts.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::rig::{Mcp, message};
use crate::support::http::send;
use crate::support::{Server, TestStore, eventually};

const KEY: &str = "key-of-the-integration-tests-0123456789";

#[tokio::test]
async fn without_a_good_token_there_is_nothing() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let ping = message(1, "ping", &json!({}));
    send(api.request(Method::POST, "/mcp").json(&ping)).await.expect(200);
    let bare = || api.bare(Method::POST, "/mcp").json(&ping);
    send(bare()).await.refused(401, "AUTH_REQUIRED");
    for wrong in ["x".to_owned(), format!("{}x", api.token), KEY.to_owned()] {
        let reply = send(bare().bearer_auth(wrong).header("x-librechat-user-id", "tester")).await;
        reply.refused(401, "AUTH_INVALID");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
    send(bare().basic_auth("tester", Some("x"))).await.refused(401, "AUTH_INVALID");
    // The token comes before everything else, and a refusal leaves an audit line.
    send(api.bare(Method::POST, "/mcp").body("junk").header("x-request-id", "junk-1"))
        .await
        .refused(401, "AUTH_REQUIRED");
    // The reply may be here before the line has come through the pipe.
    let line = eventually("an audit line", Duration::from_secs(10), || async {
        server.logs().lines().find(|line| line.contains("junk-1")).map(ToOwned::to_owned)
    })
    .await;
    assert!(line.contains("sqlfs::audit") && line.contains("AUTH_REQUIRED"), "{line}");
    // A page elsewhere, even with a token.
    let page = || api.request(Method::POST, "/mcp").json(&ping);
    send(page().header("origin", "http://evil.example")).await.refused(403, "FORBIDDEN");
    send(page().header("origin", "null")).await.refused(403, "FORBIDDEN");
    send(page().header("origin", "http://localhost:3000")).await.expect(200);
}

#[tokio::test]
async fn a_key_acts_for_whom_the_header_names() {
    let env = [("MCP_API_KEY", KEY), ("MCP_DEFAULT_SUB", "nobody")];
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let tester = Mcp::connect(&server.api().await).await;
    let id = tester.create().await;
    let call = |token: &str, user: Option<&str>| {
        let list = message(7, "tools/call", &json!({"name": "sandbox_list"}));
        let mut request = tester.api.bare(Method::POST, "/mcp").json(&list).bearer_auth(token);
        if let Some(user) = user {
            request = request.header("x-librechat-user-id", user);
        }
        send(request)
    };
    let owned = |reply: crate::support::Reply| {
        let result = reply.expect(200).json()["result"].clone();
        result["structuredContent"]["sandboxes"].as_array().expect("a list").len()
    };
    assert_eq!(owned(call(KEY, Some("tester")).await), 1, "the key acts for the token's owner");
    assert_eq!(owned(call(KEY, Some("other")).await), 0);
    assert_eq!(owned(call(KEY, None).await), 0, "the default owner");
    let token = tester.api.token.clone();
    assert_eq!(owned(call(&token, Some("other")).await), 1, "a token acts for its own owner");
    call(KEY, Some("")).await.refused(401, "AUTH_INVALID");
    call(KEY, Some("{{LIBRECHAT_USER_ID}}")).await.refused(401, "AUTH_INVALID");
    call(&KEY[1..], Some("tester")).await.refused(401, "AUTH_INVALID");
    // The key opens /mcp alone.
    let api = tester.api.with_token(KEY);
    api.get(&format!("/v1/sandboxes/{id}")).await.refused(401, "AUTH_INVALID");
}

#[tokio::test]
async fn a_key_for_nobody_is_refused_and_its_tenant_must_be_there() {
    let env = [("MCP_API_KEY", KEY), ("MCP_IDENTITY_HEADER", "X-User"), ("MCP_STATIC_TENANT", "elsewhere")];
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let api = server.api().await;
    let list = message(7, "tools/call", &json!({"name": "sandbox_list"}));
    let call = || api.bare(Method::POST, "/mcp").json(&list).bearer_auth(KEY);
    let error = send(call()).await.refused(401, "AUTH_REQUIRED");
    assert!(error["error"].as_str().expect("text").contains("x-user"), "{error}");
    send(call().header("x-librechat-user-id", "ann")).await.refused(401, "AUTH_REQUIRED");
    let reply = send(call().header("x-user", "ann")).await.expect(200).json();
    assert_eq!(reply["result"]["structuredContent"]["code"], "AUTH_UNKNOWN_TENANT", "{reply}");
}

#[tokio::test]
async fn a_revoked_token_opens_no_tool_and_the_key_is_no_token() {
    const ADMIN: &str = "secret-of-the-operators-0123456789abcdef";
    let env = [("MCP_API_KEY", KEY), ("ADMIN_SECRET", ADMIN)];
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let tester = Mcp::connect(&server.api().await).await;
    tester.create().await;
    let other = Mcp::connect(&server.api_as("other").await).await;
    let revoke = tester.api.bare(Method::POST, "/v1/admin/revoke").header("x-admin-secret", ADMIN);
    send(revoke.json(&json!({"sub": "tester"}))).await.expect(200);
    let list = message(7, "tools/call", &json!({"name": "sandbox_list"}));
    let refused = send(tester.http(&list)).await.refused(401, "AUTH_INVALID");
    assert_eq!(refused["error"], "the token was revoked");
    other.ok("sandbox_list", json!({})).await;
    let with_key = other.api.bare(Method::POST, "/mcp").json(&list).bearer_auth(KEY);
    let reply = send(with_key.header("x-librechat-user-id", "tester")).await.expect(200).json();
    let rows = &reply["result"]["structuredContent"]["sandboxes"];
    assert_eq!(rows.as_array().map(Vec::len), Some(1), "{reply}");
}
