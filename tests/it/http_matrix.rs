//! Every documented operation × everything that may be wrong with a request. The
//! operations come from `/openapi.json`, which holds all routes (`openapi.rs`): a new one
//! is in these tables by itself.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::http::{hang_up, raw, raw_status, send};
use crate::support::operations::{ADMIN, Operation, Scene, all};
use crate::support::postgres::Database;
use crate::support::server::AUTH_SECRET;
use crate::support::{Server, TestStore};

const LONG: Duration = Duration::from_secs(20);
/// Smallest body limit that the server takes; the exec routes have 16 MiB.
const SMALL_BODY: &str = "1048576";
/// MiB over the limit of an operation.
fn over(operation: &Operation) -> usize {
    if operation.path.contains("/exec") { 17 } else { 2 }
}

async fn start() -> (Server, Vec<Operation>) {
    let env = [
        ("ADMIN_SECRET", ADMIN),
        ("MAX_REQUEST_BODY_BYTES", SMALL_BODY),
        ("MAX_FILE_WRITE_BYTES", SMALL_BODY),
    ];
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let operations = all(&server.api().await).await;
    (server, operations)
}

/// The scene is as it was made, and nothing else came to be.
async fn untouched(scene: &Scene, what: &str) {
    let listed = scene.api.get("/v1/sandboxes").await.expect(200).json();
    let ids: Vec<_> = listed["sandboxes"].as_array().expect("a list").iter().map(|s| &s["id"]).collect();
    assert_eq!(ids, [&json!(scene.id)], "{what}");
    let record = scene.api.sandbox(&scene.id).await;
    assert_eq!((&record["version"], &record["name"]), (&json!(0), &json!(null)), "{what}");
}

#[tokio::test]
async fn who_asks() {
    let (server, operations) = start().await;
    let scene = Scene::new(&server).await;
    let other = server.api_as("somebody else").await;
    let elsewhere =
        crate::http_forged_tokens::sign(AUTH_SECRET, &json!({"sub": "tester", "tenant": "elsewhere"}));
    for operation in &operations {
        let plain = || scene.anonymous(operation);
        let bearer = |token: &str| plain().bearer_auth(token);
        if !operation.needs_token() {
            let wrong = plain().header("x-auth-secret", "wrong").header("x-admin-secret", "wrong");
            for request in [plain(), wrong] {
                let reply = send(request).await;
                if operation.has_body() || operation.path.starts_with("/v1/admin/") {
                    reply.refused(403, "FORBIDDEN");
                } else {
                    assert_eq!(reply.status, 200, "{operation:?}");
                }
            }
            continue;
        }
        let nobody = send(plain()).await;
        nobody.refused(401, "AUTH_REQUIRED");
        assert!(nobody.header("www-authenticate").starts_with("Bearer"), "{operation:?}");
        send(plain().query(&[("token", &scene.api.token)])).await.refused(401, "AUTH_REQUIRED");
        send(plain().header("x-auth-secret", AUTH_SECRET)).await.refused(401, "AUTH_REQUIRED");
        for malformed in ["nonsense", "a.b.c", "..", &scene.api.token[1..]] {
            send(bearer(malformed)).await.refused(401, "AUTH_INVALID");
        }
        let basic = plain().header("authorization", format!("Basic {}", scene.api.token));
        send(basic).await.refused(401, "AUTH_INVALID");
        send(bearer(&elsewhere)).await.refused(401, "AUTH_UNKNOWN_TENANT");
        if operation.has_sandbox() {
            send(bearer(&other.token)).await.refused(404, "SANDBOX_NOT_FOUND");
        }
    }
    untouched(&scene, "requests of others").await;
    assert_eq!(scene.api.stdout(&scene.id, "cat a.txt").await, "hello\n");
}

/// The same owner in another tenant: for each route the sandbox is not there, as one that
/// never was; and lists are empty.
#[tokio::test]
async fn who_asks_from_another_tenant() {
    let acme = Database::new().await;
    let tenants = json!({"acme": acme.app_url()}).to_string();
    let env = [("ADMIN_SECRET", ADMIN), ("TENANT_DATABASES", &tenants)];
    let server = Server::start_with(TestStore::postgres().await, &env).await;
    let scene = Scene::new(&server).await;
    let owner = scene.api.sandbox(&scene.id).await["owner"].as_str().expect("an owner").to_owned();
    let foreign = crate::http_forged_tokens::sign(AUTH_SECRET, &json!({"sub": owner, "tenant": "acme"}));
    let foreign = Scene { api: scene.api.with_token(&foreign), id: scene.id.clone() };
    let none = Scene { api: foreign.api.clone(), id: uuid::Uuid::new_v4().to_string() };
    let mut asked = 0;
    for operation in all(&scene.api).await.iter().filter(|operation| operation.has_sandbox()) {
        // An operator says which tenant.
        let query = if operation.needs_token() { "" } else { "tenant=acme" };
        let ask = async |scene: &Scene| {
            let request = match operation.example() {
                None => scene.with_query(operation, query),
                Some((media, body)) => scene.raw(operation, query, media, body),
            };
            let reply = send(request).await;
            let mut body = reply.refused(404, "SANDBOX_NOT_FOUND");
            body["requestId"] = json!("");
            (body.to_string().replace(&scene.id, "ID"), reply.headers.len())
        };
        assert_eq!(ask(&foreign).await, ask(&none).await, "{operation:?}");
        asked += 1;
    }
    assert!(asked > 15, "{asked}");
    for list in ["/v1/sandboxes", "/v1/admin/sandboxes?tenant=acme"] {
        let request = foreign.api.request(Method::GET, list).header("x-admin-secret", ADMIN);
        assert_eq!(send(request).await.expect(200).json()["sandboxes"], json!([]), "{list}");
    }
    untouched(&scene, "requests of another tenant").await;
    assert_eq!(scene.api.stdout(&scene.id, "cat a.txt").await, "hello\n");
}

#[tokio::test]
async fn ids_methods_and_heads() {
    let (server, operations) = start().await;
    let scene = Scene::new(&server).await;
    for operation in &operations {
        let id = scene.request(operation).header("x-request-id", HeaderValue::from_static("a b"));
        send(id).await.refused(400, "INVALID_INPUT");
        let large = scene.request(operation).header("x-large", "x".repeat(33 << 10));
        send(large).await.refused(431, "HEADERS_TOO_LARGE");
        if operation.has_sandbox() {
            let bad = Scene { api: scene.api.clone(), id: "not-a-uuid".into() };
            send(bad.request(operation)).await.refused(400, "INVALID_INPUT");
            let none = Scene { api: scene.api.clone(), id: uuid::Uuid::new_v4().to_string() };
            send(none.request(operation)).await.refused(404, "SANDBOX_NOT_FOUND");
        }
    }
    let paths: BTreeSet<&str> = operations.iter().map(|operation| operation.path.as_str()).collect();
    for path in paths {
        let has = |method: &Method| operations.iter().any(|o| o.path == path && o.method == *method);
        for method in [Method::GET, Method::PUT, Method::POST, Method::PATCH, Method::DELETE, Method::TRACE] {
            if !has(&method) {
                let reply = send(scene.api.request(method, &scene.fill(path))).await;
                reply.refused(405, "METHOD_NOT_ALLOWED");
            }
        }
    }
    untouched(&scene, "wrong ids, methods and heads").await;
}

#[tokio::test]
async fn bodies_of_the_wrong_kind() {
    let (server, operations) = start().await;
    let scene = Scene::new(&server).await;
    for operation in operations.iter().filter(|operation| operation.has_body()) {
        let (media, example) = operation.example().expect("an example");
        let coded = scene.raw(operation, "", media, example.clone()).header("content-encoding", "br");
        send(coded).await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
        // A file may be of any type.
        if media != "application/octet-stream" {
            for wrong in ["application/xml", "multipart/form-data; boundary=x", ""] {
                let request = scene.raw(operation, "", wrong, example.clone());
                send(request).await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
            }
            let junk = scene.raw(operation, "", media, "{\"half\":");
            send(junk).await.refused(400, "INVALID_INPUT");
        }
        if media == "application/json" {
            for bad in [
                "[]",
                "null",
                "1",
                "\"x\"",
                "{} {}",
                "{\"a\":1,\"a\":2}",
                "{\"a\":\"\\ud800\"}",
                "\u{feff}{}",
            ] {
                send(scene.raw(operation, "", media, bad)).await.refused(400, "INVALID_INPUT");
            }
            let deep = format!("{{\"a\":{}", "[".repeat(30_000));
            send(scene.raw(operation, "", media, deep)).await.refused(400, "INVALID_INPUT");
            let bytes: &[u8] = b"{\"a\":\"\xff\"}";
            send(scene.raw(operation, "", media, bytes)).await.refused(400, "INVALID_INPUT");
        }
    }
    untouched(&scene, "bodies of the wrong kind").await;
}

/// The first lines of a request as bytes, all but the framing of its body.
fn head(scene: &Scene, operation: &Operation) -> String {
    let (media, _) = operation.example().expect("an example");
    format!(
        "{} {} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nx-auth-secret: {AUTH_SECRET}\r\n\
         x-admin-secret: {ADMIN}\r\ncontent-type: {media}\r\n",
        operation.method,
        scene.fill(&operation.path),
        scene.api.token
    )
}

#[tokio::test]
async fn bodies_that_are_too_large_or_lie() {
    let (server, operations) = start().await;
    let scene = Scene::new(&server).await;
    // All at once: after a refusal the server reads on for two seconds.
    let scene = &scene;
    let addr = server.addr();
    let with_body = operations.iter().filter(|operation| operation.has_body());
    futures_util::future::join_all(with_body.map(async |operation| {
        let (media, example) = operation.example().expect("an example");
        let head = head(scene, operation);
        let code = if media == "application/octet-stream" { "EFBIG" } else { "PAYLOAD_TOO_LARGE" };
        let refused = |what: &str, (reply, closed): (Vec<u8>, bool)| {
            let text = String::from_utf8_lossy(&reply).into_owned();
            assert_eq!(raw_status(&reply), 413, "{operation:?}, {what}: {text}");
            assert!(text.contains(&format!("\"code\":\"{code}\"")), "{operation:?}, {what}: {text}");
            assert!(closed, "{operation:?}, {what}: the connection stays open");
            assert!(
                text.contains("\r\nconnection: close\r\n"),
                "{operation:?}, {what}: it does not say so: {text}"
            );
        };
        // By its word, before a byte of it came.
        let declared = format!("{head}content-length: 1073741824\r\n\r\n");
        refused("declared", raw(addr, declared.as_bytes(), LONG).await);
        // Without a word, at the limit.
        let mut chunked = format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes();
        let zeros = vec![if media == "application/json" { b' ' } else { 0 }; 1 << 20];
        for _ in 0..over(operation) {
            chunked.extend_from_slice(b"100000\r\n");
            chunked.extend_from_slice(&zeros);
            chunked.extend_from_slice(b"\r\n");
        }
        refused("chunked", raw(addr, &chunked, LONG).await);
        // Longer than what comes: the client is gone before its request is whole.
        let mut socket = TcpStream::connect(addr).await.expect("a connection");
        let longer = format!("{head}content-length: {}\r\n\r\n", example.len() + 1);
        socket.write_all(&[longer.as_bytes(), &example].concat()).await.expect("sent");
        socket.shutdown().await.expect("half closed");
        let mut reply = Vec::new();
        let read = tokio::io::AsyncReadExt::read_to_end(&mut socket, &mut reply);
        tokio::time::timeout(LONG, read).await.expect("an end").expect("no error");
        assert!([0, 400].contains(&raw_status(&reply)), "{operation:?}: {}", String::from_utf8_lossy(&reply));
        for framing in
            ["content-length: -1", "content-length: 1\r\ncontent-length: 2", "transfer-encoding: gzip"]
        {
            let request = format!("{head}{framing}\r\n\r\n{}", String::from_utf8_lossy(&example));
            let (reply, closed) = raw(addr, request.as_bytes(), LONG).await;
            assert_eq!((raw_status(&reply), closed), (400, true), "{operation:?}, {framing}");
        }
    }))
    .await;
    untouched(scene, "bodies that are too large or lie").await;
}

/// Clients that begin a body and send no more hold up nobody, and leave nothing behind.
/// With the larger counts they are waited for: each is refused after a minute.
#[tokio::test]
async fn slow_clients() {
    let (server, operations) = start().await;
    let scene = Scene::new(&server).await;
    let mut slow = Vec::new();
    for operation in operations.iter().filter(|operation| operation.has_body()) {
        let (_, example) = operation.example().expect("an example");
        let head = format!("{}content-length: {}\r\n\r\n", head(&scene, operation), example.len());
        let half = [head.as_bytes(), &example[..example.len() / 2]].concat();
        slow.push((operation, hang_up(server.addr(), &half).await));
    }
    untouched(&scene, "slow clients").await;
    assert_eq!(server.api().await.create().await.len(), 36);
    if std::env::var_os("SQLFS_TEST_LONG").is_some() {
        for (operation, socket) in &mut slow {
            let mut reply = [0; 4096];
            let read = tokio::io::AsyncReadExt::read(socket, &mut reply);
            let n = tokio::time::timeout(Duration::from_secs(90), read)
                .await
                .expect("a reply")
                .expect("no error");
            let text = String::from_utf8_lossy(&reply[..n]);
            assert!(raw_status(&reply[..n]) == 400 && text.contains("stood still"), "{operation:?}: {text}");
        }
    }
    drop(slow);
    untouched(&scene, "slow clients").await;
}
