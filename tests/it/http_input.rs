//! Hostile input: refused, clear, nothing lost, nobody else disturbed.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::{raw, raw_status, send};
use crate::support::{Api, Reply, Server, TestStore};

const LONG: Duration = Duration::from_secs(20);

async fn new() -> (Server, Api, String) {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = api.create().await;
    (server, api, id)
}

async fn post_text(api: &Api, id: &str, body: impl Into<reqwest::Body>) -> Reply {
    let request = api.request(Method::POST, &format!("/v1/sandboxes/{id}/exec-sync"));
    send(request.header("content-type", "application/json").body(body)).await
}

/// The server answers others as before, and the sandbox is as it was.
async fn undisturbed(api: &Api, id: &str) {
    assert_eq!(api.stdout(id, "echo alive").await, "alive\n");
    assert_eq!(api.sandbox(id).await["version"], 0);
}

#[tokio::test]
async fn bad_bodies_name_what_is_wrong() {
    let (_server, api, id) = new().await;
    for (body, says) in [
        ("", "script"),
        ("{\"script\":", "line 1"),
        ("[]", "object"),
        ("\"x\"", "object"),
        ("null", "object"),
        ("{}", "script"),
        ("{\"script\":1}", "script"),
        ("{\"script\":\"\"}", "script"),
        ("{\"script\":\"true\",\"script\":\"false\"}", "script"),
        ("{\"script\":\"\\ud800\"}", ""),
        ("{\"script\":\"a\\u0000b\"}", "NUL"),
        ("{\"script\":\"true\"} trailing", ""),
        ("{\"script\":\"true\",\"cwd\":\"relative\"}", "cwd"),
        ("{\"script\":\"true\",\"args\":\"x\"}", "args"),
        ("{\"script\":\"true\",\"encoding\":\"latin1\"}", "encoding"),
        ("{\"script\":\"true\",\"ifVersion\":-1}", "ifVersion"),
        ("{\"script\":\"true\",\"readOnly\":\"yes\"}", "readOnly"),
    ] {
        let error = post_text(&api, &id, body).await.refused(400, "INVALID_INPUT");
        let text = format!("{} {}", error["error"], error["details"]);
        assert!(text.contains(says), "{body} should name {says:?}: {error}");
        assert_eq!(error["retryable"], false);
    }
    undisturbed(&api, &id).await;
}

#[tokio::test]
async fn unknown_fields_name_the_nearest() {
    let (_server, api, id) = new().await;
    for (field, nearest) in [
        ("redOnly", "readOnly"),
        ("readonly", "readOnly"),
        ("timeout", "timeoutMs"),
        ("dry_run", "dryRun"),
        ("Script", "script"),
    ] {
        let error = post_text(&api, &id, json!({"script": "true", field: true}).to_string()).await;
        let error = error.refused(400, "UNKNOWN_FIELD");
        let text = error["error"].as_str().expect("error");
        assert!(text.contains(field) && text.contains(nearest), "{error}");
    }
    api.post(&format!("/v1/sandboxes/{id}/exec-sync?x=1"), &json!({"script": "true"}))
        .await
        .refused(400, "UNKNOWN_FIELD");
    undisturbed(&api, &id).await;
}

#[tokio::test]
async fn numbers_out_of_range_name_the_range() {
    let (_server, api, id) = new().await;
    for value in ["-1", "0", "300001", "1e308", "\"NaN\"", "1000000000000", "1.5", "null1"] {
        let body = format!("{{\"script\":\"true\",\"timeoutMs\":{value}}}");
        post_text(&api, &id, body).await.refused(400, "INVALID_INPUT");
    }
    let error = api.try_exec(&id, &json!({"script": "true", "timeoutMs": 300_001})).await;
    let error = error.refused(400, "INVALID_INPUT");
    assert!(error.to_string().contains("300000"), "{error}");
    api.exec_with(&id, &json!({"script": "true", "timeoutMs": 300_000})).await;
}

#[tokio::test]
async fn env_names_are_checked() {
    let (_server, api, id) = new().await;
    for name in ["PATH\n", "A=B", "", "1A", "a b", "a\u{0}", "BASH_FUNC_f%%", "é"] {
        let body = json!({"script": "true", "env": {name: "x"}});
        let error = api.try_exec(&id, &body).await.refused(400, "INVALID_INPUT");
        assert!(error["error"].as_str().expect("error").contains("env"), "{error}");
    }
    api.try_exec(&id, &json!({"script": "true", "env": {"A": "x\u{0}y"}}))
        .await
        .refused(400, "INVALID_INPUT");
    let fine = json!({"script": "echo \"$A_1\"", "env": {"A_1": "$(echo no) `no` \"'\n"}});
    assert_eq!(api.exec_with(&id, &fine).await["stdout"], "$(echo no) `no` \"'\n\n");
}

#[tokio::test]
async fn deep_and_large_bodies_are_refused_early() {
    let (server, api, id) = new().await;
    let deep = format!("{{\"script\":\"true\",\"env\":{}", "[".repeat(100_000));
    let start = tokio::time::Instant::now();
    post_text(&api, &id, deep).await.refused(400, "INVALID_INPUT");
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());

    let path = format!("/v1/sandboxes/{id}/exec-sync");
    // A length that is too large is refused before a byte of the body is sent.
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 17825792\r\n\r\n",
        api.token
    );
    let (reply, closed) = raw(server.addr(), head.as_bytes(), LONG).await;
    assert_eq!(raw_status(&reply), 413, "{}", String::from_utf8_lossy(&reply));
    assert!(closed, "the connection stays open for a body that nobody reads");
    // So is one that does not say how long it is, at the cap.
    let endless = futures_util::stream::iter((0..40).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20])));
    let request = api.request(Method::POST, &path).header("content-type", "application/json");
    match request.body(reqwest::Body::wrap_stream(endless)).send().await {
        Ok(reply) => assert_eq!(reply.status(), 413),
        Err(error) => assert!(error.is_request() || error.is_body(), "closed while sending: {error:?}"),
    }
    // Just under the cap is read whole.
    let comment = "#".repeat((16 << 20) - 1000);
    assert_eq!(api.exec(&id, &format!("echo big\n{comment}")).await["stdout"], "big\n");
    undisturbed(&api, &id).await;
}

#[tokio::test]
async fn a_lying_length_and_smuggling_are_refused() {
    let (server, api, id) = new().await;
    let path = format!("/v1/sandboxes/{id}/exec-sync");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\n",
        api.token
    );
    let body = "{\"script\":\"echo x > f\"}";
    let n = body.len();
    for (what, request) in [
        ("negative", format!("{head}content-length: -1\r\n\r\n{body}")),
        ("signed", format!("{head}content-length: +{n}\r\n\r\n{body}")),
        ("two that differ", format!("{head}content-length: {n}\r\ncontent-length: 5\r\n\r\n{body}")),
        (
            "huge chunk",
            format!("{head}transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n{body}\r\n0\r\n\r\n"),
        ),
        ("unknown coding", format!("{head}transfer-encoding: gzip\r\n\r\n{body}")),
        ("no HTTP", "\x16\x03\x01\x02\x00".to_owned()),
    ] {
        let (reply, closed) = raw(server.addr(), request.as_bytes(), LONG).await;
        let status = raw_status(&reply);
        assert!(status == 400 || status == 0, "{what}: {}", String::from_utf8_lossy(&reply));
        assert!(closed, "{what}: the connection stays open");
    }
    // RFC 9112, 6.3: with both, the length does not count and the connection ends after
    // the reply, so what follows cannot be taken for a second request.
    let harmless = "{\"script\":\"true\"}";
    let chunked = format!("{:x}\r\n{harmless}\r\n0\r\n\r\n", harmless.len());
    let smuggled = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
    let both = format!("{head}content-length: {n}\r\ntransfer-encoding: chunked\r\n\r\n{chunked}{smuggled}");
    let (reply, closed) = raw(server.addr(), both.as_bytes(), LONG).await;
    assert_eq!(String::from_utf8_lossy(&reply).matches("HTTP/1.1 ").count(), 1, "one reply and no more");
    assert!(closed, "the connection stays open");
    undisturbed(&api, &id).await;
}

#[tokio::test]
async fn content_kinds_and_codings_are_checked() {
    let (_server, api, id) = new().await;
    let path = format!("/v1/sandboxes/{id}/exec-sync");
    let post = |kind: &'static str| api.request(Method::POST, &path).header("content-type", kind);
    let body = "{\"script\":\"echo x > f\"}";
    for kind in
        ["application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
    {
        send(post(kind).body(body)).await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    let coded = post("application/json").header("content-encoding", "gzip").body(body);
    send(coded).await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    undisturbed(&api, &id).await;
}

#[tokio::test]
async fn header_limits_hold() {
    let (server, api, id) = new().await;
    let start = "GET /livez HTTP/1.1\r\nhost: localhost\r\n";
    for (what, request) in [
        ("one of 1 MiB", format!("{start}x-big: {}\r\n\r\n", "x".repeat(1 << 20))),
        ("10,000", format!("{start}{}\r\n", "x-many: 1\r\n".repeat(10_000))),
    ] {
        let (reply, closed) = raw(server.addr(), request.as_bytes(), LONG).await;
        assert_eq!((raw_status(&reply), closed), (431, true), "{what}: {}", String::from_utf8_lossy(&reply));
    }
    // A head that never ends is given up.
    let (reply, closed) = raw(server.addr(), start.as_bytes(), LONG).await;
    assert!(closed && [0, 408].contains(&raw_status(&reply)), "{}", String::from_utf8_lossy(&reply));
    undisturbed(&api, &id).await;
}

#[tokio::test]
async fn ids_and_etags_are_checked() {
    let (_server, api, id) = new().await;
    let long = "a".repeat(5_000);
    for bad in ["..%2f..%2fetc", "%00", "😀", "%F0%9F%98%80", "1", long.as_str(), "{id}", "urn:uuid:x"] {
        let reply = api.get(&format!("/v1/sandboxes/{bad}")).await;
        assert!([400, 404].contains(&reply.status), "{bad}: {reply:?}");
        assert_eq!(reply.json()["applied"], "no");
    }
    let path = format!("/v1/sandboxes/{id}/exec-sync");
    for tag in ["nonsense", "\"nonsense\"", "W/\"x\"", ""] {
        let request = api.request(Method::POST, &path).header("if-match", tag);
        send(request.json(&json!({"script": "echo x > f"}))).await.refused(400, "INVALID_INPUT");
    }
    undisturbed(&api, &id).await;
}

#[tokio::test]
async fn wrong_methods_and_routes_say_so() {
    let (server, api, id) = new().await;
    for (method, path, allowed) in [
        (Method::GET, format!("/v1/sandboxes/{id}/exec-sync"), "POST"),
        (Method::GET, format!("/v1/sandboxes/{id}/exec"), "POST"),
        (Method::PUT, "/v1/sandboxes".to_owned(), "GET"),
        (Method::POST, format!("/v1/sandboxes/{id}"), "DELETE"),
        (Method::TRACE, "/livez".to_owned(), "GET"),
    ] {
        let reply = send(api.request(method.clone(), &path)).await;
        reply.error(405, "METHOD_NOT_ALLOWED");
        assert!(reply.header("allow").contains(allowed), "{method} {path}: {:?}", reply.headers);
    }
    for path in ["/", "/v1", "/v2/sandboxes", "/v1/nonsense", "/v1/sandboxes/"] {
        api.get(path).await.error(404, "NOT_FOUND");
    }
    let connect = b"CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n";
    let (reply, _) = raw(server.addr(), connect, Duration::from_secs(2)).await;
    assert!((400..500).contains(&raw_status(&reply)), "{}", String::from_utf8_lossy(&reply));
}

#[tokio::test]
async fn request_ids_are_taken_or_made_and_logs_cannot_be_forged() {
    let (server, api, id) = new().await;
    let ask = async |value: Option<&[u8]>| {
        let mut request = api.request(Method::GET, "/v1/sandboxes/none");
        if let Some(value) = value {
            let value = reqwest::header::HeaderValue::from_bytes(value).expect("a header");
            request = request.header("x-request-id", value);
        }
        let reply = send(request).await;
        let body = reply.json();
        assert_eq!(body["requestId"], reply.header("x-request-id"), "{body}");
        reply.header("x-request-id").to_owned()
    };
    assert_eq!(ask(Some(b"mine-1")).await, "mine-1");
    assert_ne!(ask(None).await, ask(None).await);
    for bad in [&[b'x'; 129][..], b"a b\tc", b"\x1b[2J", "\u{2028}".as_bytes()] {
        let request = api.request(Method::GET, "/v1/sandboxes");
        let reply = match reqwest::header::HeaderValue::from_bytes(bad) {
            Ok(value) => send(request.header("x-request-id", value)).await,
            Err(_) => continue,
        };
        // Refused or replaced, but never taken over.
        let echoed = reply.headers.get("x-request-id").map(|v| v.as_bytes().to_vec());
        assert_ne!(echoed.as_deref(), Some(bad), "{bad:?}");
    }
    let forged = "\n{\"level\":\"ERROR\",\"canary\":\"forged\"}\r\n\u{1b}[2J";
    api.create_with(&json!({"name": "x"})).await;
    api.try_exec(&id, &json!({"script": format!("echo '{forged}' >&2; nonsense '{forged}'")})).await;
    api.post("/v1/sandboxes", &json!({ "name": forged })).await;
    for line in server.logs().lines() {
        assert!(!line.starts_with("{\"level\":\"ERROR\",\"canary\""), "a forged line: {line}");
        assert!(!line.contains('\u{1b}') || !line.contains("[2J"), "a control character: {line}");
    }
}

#[tokio::test]
async fn odd_scripts_are_run_or_refused_by_the_shell() {
    let (_server, api, id) = new().await;
    let cases: [(&str, String); 6] = [
        ("1 MiB in one line", format!("echo {} | wc -c", "x".repeat(1 << 20))),
        ("many commands", "true;".repeat(100_000)),
        ("a heredoc", format!("cat <<'E' | wc -c\n{}\nE\n", "y".repeat(1 << 20))),
        ("deep parentheses", "((".repeat(50_000)),
        ("deep substitutions", "echo ".to_owned() + &"$(".repeat(50_000)),
        ("eval of itself", "e='eval \"$e\"'; eval \"$e\"".to_owned()),
    ];
    for (what, script) in cases {
        let reply = api.try_exec(&id, &json!({"script": script, "timeoutMs": 10_000})).await;
        let body: Value = reply.json();
        match reply.status {
            200 => assert!(body["exitCode"].is_u64(), "{what}: {body}"),
            400 | 408 | 413 | 507 => assert_eq!(body["applied"], "no", "{what}: {body}"),
            other => panic!("{what}: {other} {body}"),
        }
    }
    undisturbed(&api, &id).await;
}
