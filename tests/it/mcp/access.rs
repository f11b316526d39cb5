//! Who may call /mcp: tokens, and MCP_API_KEY with a name for whom it acts.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::rig::{Mcp, message};
use crate::support::http::send;
use crate::support::postgres::Database;
use crate::support::server::{AUTH_SECRET, run};
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
async fn a_key_for_nobody_is_refused() {
    let env = [("MCP_API_KEY", KEY), ("MCP_IDENTITY_HEADER", "X-User")];
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let api = server.api().await;
    let list = message(7, "tools/call", &json!({"name": "sandbox_list"}));
    let call = || api.bare(Method::POST, "/mcp").json(&list).bearer_auth(KEY);
    let error = send(call()).await.refused(401, "AUTH_REQUIRED");
    assert!(error["error"].as_str().expect("text").contains("x-user"), "{error}");
    send(call().header("x-librechat-user-id", "ann")).await.refused(401, "AUTH_REQUIRED");
    let reply = send(call().header("x-user", "ann")).await.expect(200).json();
    assert_eq!(reply["result"]["isError"], false, "{reply}");
}

#[tokio::test]
async fn a_server_whose_key_could_open_nothing_does_not_start() {
    let store = TestStore::sqlite();
    let tenants = r#"{"acme": "postgres://127.0.0.1:1/acme", "initech": "postgres://127.0.0.1:1/initech"}"#;
    for (env, says) in [
        (
            &[("MCP_STATIC_TENANT", "elsewhere")][..],
            "MCP_STATIC_TENANT: there is no tenant elsewhere; there are default",
        ),
        (
            &[("TENANT_DATABASES", tenants)],
            "MCP_STATIC_TENANT: there is no tenant default; there are acme, initech",
        ),
        (
            &[("MCP_DEFAULT_SUB", "{{LIBRECHAT_USER_ID}}")],
            "MCP_DEFAULT_SUB: must not be a placeholder that nobody filled in",
        ),
        (
            &[("MCP_IDENTITY_HEADER", "authorization")],
            "MCP_IDENTITY_HEADER: must be the name of a header of its own",
        ),
        (
            &[("MCP_API_KEY", AUTH_SECRET)],
            "MCP_API_KEY: must differ from AUTH_SECRET, AUTH_SECRET_PREVIOUS and ADMIN_SECRET",
        ),
    ] {
        let env: Vec<_> = [("MCP_API_KEY", KEY)].into_iter().chain(env.iter().copied()).collect();
        let (status, stdout, stderr) = run(&store, &["serve"], &env, b"").await;
        assert_eq!((status.code(), stdout.as_str()), (Some(78), ""), "{env:?}: {stderr}");
        assert_eq!(stderr, format!("sqlfs: {says}\n"), "{env:?}");
    }
    // Nothing was made for a server that did not start.
    assert!(!store.data_dir().exists());
}

#[tokio::test]
async fn the_key_acts_in_the_tenant_that_is_configured() {
    let acme = Database::new().await;
    let tenants = json!({"acme": acme.app_url()}).to_string();
    let env = [("MCP_API_KEY", KEY), ("MCP_STATIC_TENANT", "acme"), ("TENANT_DATABASES", tenants.as_str())];
    let server = Server::start_with(TestStore::postgres().await, &env).await;
    let api = crate::tenants::api_of(&server, "acme").await;
    let by_token = Mcp::connect(&api).await.create().await;
    let list = message(7, "tools/call", &json!({"name": "sandbox_list"}));
    let by_key = api.bare(Method::POST, "/mcp").json(&list).bearer_auth(KEY);
    let reply = send(by_key.header("x-librechat-user-id", "tester")).await.expect(200).json();
    assert_eq!(reply["result"]["structuredContent"]["sandboxes"][0]["id"], by_token, "{reply}");
}

#[tokio::test]
async fn settings_of_a_key_that_is_not_there_are_said_at_the_start() {
    let server = Server::start_with(TestStore::sqlite(), &[("MCP_STATIC_TENANT", "elsewhere")]).await;
    let line = eventually("a warning", Duration::from_secs(10), || async {
        server.logs().lines().find(|line| line.contains("MCP_STATIC_TENANT")).map(ToOwned::to_owned)
    })
    .await;
    assert!(line.contains("WARN") && line.contains("does nothing without MCP_API_KEY"), "{line}");
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
