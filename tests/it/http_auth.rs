//! Tokens: who gets one, and which are refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::{Reply, send};
use crate::support::server::AUTH_SECRET;
use crate::support::{Api, Server, TestStore};

/// Seconds since the epoch, far in the future.
const FUTURE: i64 = 4_000_000_000;

fn sign(algorithm: Algorithm, secret: &str, claims: &Value) -> String {
    let key = EncodingKey::from_secret(secret.as_bytes()).expect("a key");
    jsonwebtoken::encode(&Header::new(algorithm), claims, &key).expect("a token")
}

/// A token whose header is ours; the signature is right for HS256 when `secret` is.
fn forge(header: &Value, claims: &Value, secret: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let key = EncodingKey::from_secret(secret.as_bytes()).expect("a key");
    let signature =
        jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).expect("a signature");
    format!("{message}.{signature}")
}

async fn list(api: &Api, token: &str) -> Reply {
    api.with_token(token).get("/v1/sandboxes").await
}

fn claims() -> Value {
    json!({"sub": "tester", "tenant": "default", "iat": 1_700_000_000, "exp": FUTURE, "jti": "1"})
}

async fn bootstrap(api: &Api, secret: Option<&str>, body: &Value) -> Reply {
    let mut request = api.bare(Method::POST, "/v1/auth/bootstrap").json(body);
    if let Some(secret) = secret {
        request = request.header("x-auth-secret", secret);
    }
    send(request).await
}

#[tokio::test]
async fn bootstrap_gives_a_token_for_the_secret_alone() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let body = json!({"sub": "alice", "expiresIn": "24h"});
    let made = bootstrap(&api, Some(AUTH_SECRET), &body).await.expect(201).json();
    assert_eq!((&made["sub"], &made["tenant"]), (&json!("alice"), &json!("default")));
    let expires = chrono::DateTime::parse_from_rfc3339(made["expiresAt"].as_str().expect("expiresAt"));
    let left = expires.expect("RFC 3339").timestamp() - chrono::Utc::now().timestamp();
    assert!((24 * 3600 - 60..=24 * 3600).contains(&left), "{left} s");
    list(&api, made["token"].as_str().expect("a token")).await.expect(200);
    let never = bootstrap(&api, Some(AUTH_SECRET), &json!({"sub": "a", "expiresIn": "never"}))
        .await
        .expect(201)
        .json();
    assert_eq!(never["expiresAt"], Value::Null);
    list(&api, never["token"].as_str().expect("a token")).await.expect(200);

    for secret in [None, Some(""), Some("wrong"), Some(&AUTH_SECRET[1..]), Some(&AUTH_SECRET.to_uppercase())]
    {
        let reply = bootstrap(&api, secret, &body).await;
        reply.error(403, "FORBIDDEN");
        assert!(!reply.text().contains(AUTH_SECRET));
    }
    for (bad, code) in [
        (json!({}), "INVALID_INPUT"),
        (json!({"sub": ""}), "INVALID_INPUT"),
        (json!({"sub": 1}), "INVALID_INPUT"),
        (json!({"sub": "a", "expiresIn": "2h"}), "INVALID_INPUT"),
        (json!({"sub": "a", "expires": "24h"}), "UNKNOWN_FIELD"),
    ] {
        bootstrap(&api, Some(AUTH_SECRET), &bad).await.error(400, code);
    }
    assert!(!server.logs().contains(AUTH_SECRET), "the secret is in the log");
    assert!(!server.logs().contains(made["token"].as_str().expect("a token")), "a token is in the log");
}

#[tokio::test]
async fn other_tenants_and_signatures_are_refused() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let good = sign(Algorithm::HS256, AUTH_SECRET, &claims());
    list(&api, &good).await.expect(200);
    let mut no_exp = claims();
    no_exp.as_object_mut().expect("claims").remove("exp");
    list(&api, &sign(Algorithm::HS256, AUTH_SECRET, &no_exp)).await.expect(200);

    let with = |field: &str, value: Value| {
        let mut claims = claims();
        claims[field] = value;
        sign(Algorithm::HS256, AUTH_SECRET, &claims)
    };
    let (head, signature) = good.rsplit_once('.').expect("a token");
    for tenant in ["a:b", "*", "../x", "elsewhere"] {
        list(&api, &with("tenant", json!(tenant))).await.refused(401, "AUTH_UNKNOWN_TENANT");
    }
    // One flipped bit anywhere in the signature.
    let raw = URL_SAFE_NO_PAD.decode(signature).expect("base64");
    for bit in 0..raw.len() * 8 {
        let mut flipped = raw.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        list(&api, &format!("{head}.{}", URL_SAFE_NO_PAD.encode(flipped))).await.refused(401, "AUTH_INVALID");
    }
}

#[tokio::test]
async fn key_hints_in_the_header_are_not_followed() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let trap = format!("http://{}/keys", listener.local_addr().expect("an address"));
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    for (hint, value) in [
        ("kid", json!("../../../../dev/null")),
        ("kid", json!("' OR 1=1 --")),
        ("jku", json!(trap)),
        ("x5u", json!(trap)),
        ("jwk", json!({"kty": "oct", "k": URL_SAFE_NO_PAD.encode("theirs")})),
    ] {
        let mut header = json!({"alg": "HS256", "typ": "JWT"});
        header[hint] = value;
        // Signed with keys of their own.
        for secret in ["theirs", "\0"] {
            list(&api, &forge(&header, &claims(), secret)).await.refused(401, "AUTH_INVALID");
        }
    }
    let called = tokio::time::timeout(std::time::Duration::from_millis(100), listener.accept()).await;
    assert!(called.is_err(), "the server asked the address in the token");
}

#[tokio::test]
async fn two_secrets_are_live_during_a_change() {
    const NEXT: &str = "the-next-secret-of-the-integration-tests-01234";
    let mut server = Server::start(TestStore::sqlite()).await;
    let old = server.api().await;
    let id = old.create().await;
    server.kill();
    server.set_env("AUTH_SECRET", NEXT);
    server.set_env("AUTH_SECRET_PREVIOUS", AUTH_SECRET);
    server.start_again().await;
    let old = old.at(&server.url());
    old.sandbox(&id).await;
    let new = Api::bootstrap(&server.url(), NEXT, "tester").await;
    new.sandbox(&id).await;
    server.kill();
    server.set_env("AUTH_SECRET_PREVIOUS", "");
    server.start_again().await;
    let old = old.at(&server.url());
    old.get(&format!("/v1/sandboxes/{id}")).await.refused(401, "AUTH_INVALID");
    new.at(&server.url()).sandbox(&id).await;
}
