//! Operators' routes: any sandbox, revoked tokens, limits in rate, and the audit log.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::{Reply, send};
use crate::support::server::AUTH_SECRET;
use crate::support::{Api, Server, TestStore, eventually, on_each_store};

const ADMIN: &str = "secret-of-the-operators-0123456789abcdef";
const MANY: &[(&str, &str)] = &[("ADMIN_SECRET", ADMIN)];

async fn operate(api: &Api, method: Method, path: &str, body: Option<&Value>) -> Reply {
    let request = api.bare(method, path).header("x-admin-secret", ADMIN);
    send(match body {
        Some(body) => request.json(body),
        None => request,
    })
    .await
}

async fn operators_list_and_delete_any_sandbox(store: TestStore) {
    let server = Server::start_with(store, MANY).await;
    let (alice, bob) = (server.api_as("alice").await, server.api_as("bob").await);
    let (one, two) = (alice.create().await, bob.create().await);
    let list = async |query: &str| {
        let path = format!("/v1/admin/sandboxes{query}");
        operate(&alice, Method::GET, &path, None).await.expect(200).json()
    };
    let all = list("").await;
    let owners: Vec<_> = all["sandboxes"].as_array().expect("a list").iter().map(|s| &s["owner"]).collect();
    assert_eq!(owners, ["bob", "alice"]);
    let page = list("?limit=1").await;
    let cursor = page["nextCursor"].as_str().expect("a next page");
    assert_eq!(list(&format!("?limit=1&cursor={cursor}")).await["sandboxes"][0]["id"], one);
    assert_eq!(list("?owner=bob&tenant=default").await["sandboxes"][0]["id"], two);
    let script = json!({"script": "echo x > f; echo go; sleep 60", "timeoutMs": 60_000});
    let mut live = bob.live(&two, &script).await;
    assert_eq!(live.next().await.expect("an event").data["data"], "go\n");
    let path = format!("/v1/admin/sandboxes/{two}?force=true");
    operate(&alice, Method::DELETE, &path, None).await.expect(204);
    let events = live.all().await;
    let error = events.iter().find(|event| event.name == "error").expect("an error");
    assert_eq!((&error.data["code"], &error.data["applied"]), (&json!("SANDBOX_NOT_FOUND"), &json!("no")));
    bob.try_exec(&two, &json!({"script": "true"})).await.refused(404, "SANDBOX_NOT_FOUND");
    operate(&alice, Method::DELETE, &path, None).await.refused(404, "SANDBOX_NOT_FOUND");
    operate(&alice, Method::DELETE, "/v1/admin/sandboxes/x", None).await.refused(400, "INVALID_INPUT");
    let nowhere = operate(&alice, Method::GET, "/v1/admin/sandboxes?tenant=none", None).await;
    nowhere.refused(401, "AUTH_UNKNOWN_TENANT");
    for bad in ["?tenant=a%20b", "?limit=0", "?owner=", "?cursor=x", "?name=x"] {
        let reply = operate(&alice, Method::GET, &format!("/v1/admin/sandboxes{bad}"), None).await;
        assert_eq!(reply.status, 400, "{bad}");
    }
    let logs = server.logs();
    assert!(logs.contains("sandbox deleted") && logs.contains(&two), "{logs}");
}

async fn a_revoked_token_is_refused_on_every_replica(store: TestStore) {
    let one = Server::start_with(store, MANY).await;
    let (api, other) = (one.api().await, one.api().await);
    let id = api.create().await;
    let jti = |api: &Api| {
        use base64::Engine;
        let claims = api.token.split('.').nth(1).expect("claims");
        let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).expect("base64");
        let claims: Value = serde_json::from_slice(&claims).expect("JSON");
        claims["jti"].as_str().expect("an id").to_owned()
    };
    // SQLite has one server alone.
    let second = match one.store().postgres_url() {
        Some(url) => {
            let env = [("DATABASE_URL", url.as_str())];
            let second = Server::start_with(TestStore::sqlite(), &env).await;
            api.at(&second.url()).sandbox(&id).await;
            Some(second)
        }
        None => None,
    };
    let revoke = async |body: Value| {
        operate(&api, Method::POST, "/v1/admin/revoke", Some(&body)).await.expect(200).json()
    };
    assert_eq!(revoke(json!({"jti": jti(&api)})).await["jti"], json!(jti(&api)));
    let refused = api.get("/v1/sandboxes").await;
    assert_eq!(refused.refused(401, "AUTH_INVALID")["error"], "the token was revoked");
    api.try_exec(&id, &json!({"script": "true"})).await.refused(401, "AUTH_INVALID");
    other.sandbox(&id).await;
    if let Some(second) = &second {
        let there = api.at(&second.url());
        eventually("the other replica knows", std::time::Duration::from_secs(30), || async {
            (there.get("/v1/sandboxes").await.status == 401).then_some(())
        })
        .await;
        other.at(&second.url()).sandbox(&id).await;
    }
    revoke(json!({"sub": "tester"})).await;
    other.get("/v1/sandboxes").await.refused(401, "AUTH_INVALID");
    one.api_as("somebody").await.get("/v1/sandboxes").await.expect(200);
    // Tokens tell seconds: one of the second of the revocation is void, a later one is not.
    eventually("a new token is good", std::time::Duration::from_secs(10), || async {
        (one.api().await.get("/v1/sandboxes").await.status == 200).then_some(())
    })
    .await;
    for bad in [json!({}), json!({"jti": "x", "sub": "y"}), json!({"sub": ""}), json!({"jti": ""})] {
        operate(&api, Method::POST, "/v1/admin/revoke", Some(&bad)).await.refused(400, "INVALID_INPUT");
    }
}

async fn revocations_outlive_the_server(store: TestStore) {
    let mut server = Server::start_with(store, MANY).await;
    let api = server.api().await;
    let body = json!({"sub": "tester"});
    operate(&api, Method::POST, "/v1/admin/revoke", Some(&body)).await.expect(200);
    server.kill();
    server.start_again().await;
    api.at(&server.url()).get("/v1/sandboxes").await.refused(401, "AUTH_INVALID");
}

on_each_store! {
    operators_list_and_delete_any_sandbox,
    a_revoked_token_is_refused_on_every_replica,
    revocations_outlive_the_server,
}

#[tokio::test]
async fn operators_routes_are_closed_to_everybody_else() {
    let closed = Server::start(TestStore::sqlite()).await;
    let open = Server::start_with(TestStore::sqlite(), MANY).await;
    for (server, secret) in [(&closed, ADMIN), (&open, AUTH_SECRET), (&open, ""), (&open, "wrong")] {
        let api = server.api().await;
        let id = api.create().await;
        for (method, path) in [
            (Method::GET, "/v1/admin/sandboxes".to_owned()),
            (Method::DELETE, format!("/v1/admin/sandboxes/{id}")),
            (Method::POST, "/v1/admin/revoke".to_owned()),
        ] {
            // With a user's token beside it, which opens nothing here.
            let request = api.request(method, &path).header("x-admin-secret", secret);
            send(request.json(&json!({"sub": "tester"}))).await.refused(403, "FORBIDDEN");
        }
        api.sandbox(&id).await;
        assert!(server.logs().contains("operator refused"));
    }
}

#[tokio::test]
async fn an_address_that_tries_too_often_is_slowed_down() {
    let env = [("ADMIN_SECRET", ADMIN), ("BOOTSTRAP_RATE_LIMIT_MAX", "3"), ("ADMIN_RATE_LIMIT_MAX", "2")];
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let api = Api::anonymous(&server.url());
    let wrong = async |path: &str, header: &str| {
        // Who the client says it is does not count without TRUST_PROXY_HEADERS.
        let from = uuid::Uuid::new_v4().as_u128().to_be_bytes()[0];
        let request = api.bare(Method::POST, path).header(header, "wrong");
        send(request.header("x-forwarded-for", format!("10.0.0.{from}")).json(&json!({"sub": "a"}))).await
    };
    for _ in 0..3 {
        wrong("/v1/auth/bootstrap", "x-auth-secret").await.refused(403, "FORBIDDEN");
    }
    let limited = wrong("/v1/auth/bootstrap", "x-auth-secret").await;
    let retry: u64 = limited.header("retry-after").parse().expect("seconds");
    assert!((1..=21).contains(&retry), "{retry}");
    limited.refused(429, "RATE_LIMITED");
    // The right secret has to wait too: else each guess would tell.
    let right = api.bare(Method::POST, "/v1/auth/bootstrap").header("x-auth-secret", AUTH_SECRET);
    send(right.json(&json!({"sub": "a"}))).await.refused(429, "RATE_LIMITED");
    // The operators' routes have one limit together, apart from that.
    wrong("/v1/auth/admin", "x-admin-secret").await.refused(403, "FORBIDDEN");
    wrong("/v1/admin/revoke", "x-admin-secret").await.refused(403, "FORBIDDEN");
    wrong("/v1/auth/admin", "x-admin-secret").await.refused(429, "RATE_LIMITED");
    operate(&api, Method::GET, "/v1/admin/sandboxes", None).await.refused(429, "RATE_LIMITED");
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_address_is_the_one_that_the_proxy_saw() {
    let env = [("BOOTSTRAP_RATE_LIMIT_MAX", "1"), ("TRUST_PROXY_HEADERS", "true")];
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let api = Api::anonymous(&server.url());
    let from = async |address: &str| {
        let request = api.bare(Method::POST, "/v1/auth/bootstrap").header("x-forwarded-for", address);
        send(request.header("x-auth-secret", AUTH_SECRET).json(&json!({"sub": "a"}))).await
    };
    from("10.0.0.1").await.expect(201);
    from("10.0.0.2").await.expect(201);
    // What the client itself put in front of it does not count.
    from("10.9.9.9, 10.0.0.1").await.refused(429, "RATE_LIMITED");
    from("10.0.0.1, 10.0.0.3").await.expect(201);
    from("garbage").await.expect(201);
}

#[tokio::test]
async fn a_tenant_has_so_many_sandboxes_and_no_more() {
    let server = Server::start_with(TestStore::sqlite(), &[("MAX_TENANT_SANDBOXES", "2")]).await;
    let api = server.api().await;
    let id = api.create().await;
    // Looked at every 10 s: until then some more are made.
    let refused = eventually("a sandbox is refused", std::time::Duration::from_secs(30), || async {
        let reply = api.post("/v1/sandboxes", &json!({})).await;
        (reply.status != 201).then_some(reply)
    })
    .await;
    assert_eq!(refused.refused(507, "ENOSPC")["limit"], "tenant sandboxes");
    assert_eq!(api.exec(&id, "echo those that are there go on > f").await["committed"], true);
}

#[tokio::test]
async fn a_tenant_at_its_limits_may_shrink_but_not_grow() {
    let env = [("MAX_TENANT_BYTES", "1000000"), ("MAX_TENANT_ENTRIES", "50")];
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let api = server.api().await;
    let id = api.create().await;
    let large = json!({"script": "head -c 1000001 /dev/zero > large"});
    assert_eq!(api.try_exec(&id, &large).await.refused(507, "ENOSPC")["limit"], "tenant bytes");
    let many = json!({"script": "for i in $(seq 100); do echo > $i; done"});
    assert_eq!(api.try_exec(&id, &many).await.refused(507, "ENOSPC")["limit"], "tenant entries");
    assert_eq!(api.stdout(&id, "ls").await, "", "nothing of them is there");
    api.exec(&id, "echo small > f; rm f; echo small > g").await;
}
