//! A client that says what it expects: a reply that is not as expected fails the test
//! with the whole reply in the message.

use std::net::SocketAddr;
use std::sync::Once;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// A client of one server with one token. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    /// `http://127.0.0.1:PORT`.
    pub base: String,
    /// Bearer token.
    pub token: String,
    client: reqwest::Client,
}

/// A whole reply.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: reqwest::header::HeaderMap,
    /// Body.
    pub body: Bytes,
}

/// One server-sent event.
#[derive(Clone, Debug)]
pub struct Event {
    /// `stdout`, `stderr`, `exit`, `error`.
    pub name: String,
    /// Its `id` field.
    pub id: String,
    /// Its data.
    pub data: Value,
    /// When its last byte arrived.
    pub at: Instant,
}

/// A running stream of events.
pub struct Events {
    body: futures_util::stream::BoxStream<'static, reqwest::Result<Bytes>>,
    text: Vec<u8>,
}

/// A client without a token or a proxy.
pub fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    // The server closes an idle connection after 10 s; a client must not reuse it then.
    let idle = Duration::from_secs(5);
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(330));
    client.pool_idle_timeout(idle).build().expect("a client")
}

impl Api {
    /// Gets a token for `owner`.
    pub async fn bootstrap(base: &str, secret: &str, owner: &str) -> Self {
        let api = Self::anonymous(base);
        let request = api.bare(Method::POST, "/v1/auth/bootstrap").header("x-auth-secret", secret);
        let reply = send(request.json(&json!({ "sub": owner }))).await.expect(201).json();
        Self { token: reply["token"].as_str().expect("a token").to_owned(), ..api }
    }

    /// A client without a token.
    pub fn anonymous(base: &str) -> Self {
        Self { base: base.to_owned(), token: String::new(), client: client() }
    }

    /// The same client with another token.
    pub fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    /// The same client for another address: a server that was started again.
    pub fn at(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    /// A request without a token.
    pub fn bare(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    /// A request with the token.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.bare(method, path).bearer_auth(&self.token)
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Reply {
        send(self.request(Method::GET, path)).await
    }

    /// DELETE.
    pub async fn delete(&self, path: &str) -> Reply {
        send(self.request(Method::DELETE, path)).await
    }

    /// POST of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::POST, path).json(body)).await
    }

    /// PATCH with JSON.
    pub async fn patch(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::PATCH, path).json(body)).await
    }

    /// A new sandbox; gives its id.
    pub async fn create(&self) -> String {
        self.create_with(&json!({})).await["id"].as_str().expect("an id").to_owned()
    }

    /// A new sandbox as asked for; gives its record.
    pub async fn create_with(&self, body: &Value) -> Value {
        self.post("/v1/sandboxes", body).await.expect(201).json()
    }

    /// The record of a sandbox.
    pub async fn sandbox(&self, id: &str) -> Value {
        self.get(&format!("/v1/sandboxes/{id}")).await.expect(200).json()
    }

    /// exec-sync; any status.
    pub async fn try_exec(&self, id: &str, body: &Value) -> Reply {
        self.post(&format!("/v1/sandboxes/{id}/exec-sync"), body).await
    }

    /// exec-sync that must answer 200.
    pub async fn exec_with(&self, id: &str, body: &Value) -> Value {
        self.try_exec(id, body).await.expect(200).json()
    }

    /// exec-sync of a script that must answer 200.
    pub async fn exec(&self, id: &str, script: &str) -> Value {
        self.exec_with(id, &json!({ "script": script })).await
    }

    /// The stdout of a script that must exit with 0.
    pub async fn stdout(&self, id: &str, script: &str) -> String {
        let reply = self.exec(id, script).await;
        assert_eq!(reply["exitCode"], 0, "{script}: {reply}");
        reply["stdout"].as_str().expect("stdout").to_owned()
    }

    /// The live route; any status, the body unread.
    pub async fn try_live(&self, id: &str, body: &Value) -> reqwest::Response {
        let path = format!("/v1/sandboxes/{id}/exec");
        self.request(Method::POST, &path).json(body).send().await.expect("a reply")
    }

    /// The live route; must answer 200.
    pub async fn live(&self, id: &str, body: &Value) -> Events {
        let reply = self.try_live(id, body).await;
        if reply.status() != StatusCode::OK {
            let (status, body) = (reply.status(), reply.text().await);
            panic!("{status} {body:?}");
        }
        let kind = reply.headers()["content-type"].to_str().expect("text").to_owned();
        assert!(kind.starts_with("text/event-stream"), "{kind}");
        Events::of(reply)
    }

    /// GET of a file; any status. `path` is absolute.
    pub async fn file(&self, id: &str, path: &str) -> Reply {
        self.get(&file_path(id, path)).await
    }

    /// PUT of a file; any status.
    pub async fn put(&self, id: &str, path: &str, data: impl Into<reqwest::Body>) -> Reply {
        send(self.request(Method::PUT, &file_path(id, path)).body(data)).await
    }

    /// The entries of the tree below `prefix`.
    pub async fn tree(&self, id: &str, prefix: &str) -> Vec<Value> {
        let path = format!("/v1/sandboxes/{id}/tree");
        let reply = send(self.request(Method::GET, &path).query(&[("prefix", prefix)])).await;
        reply.expect(200).json().as_array().expect("a list").clone()
    }

    /// Upload of a tar archive; any status.
    pub async fn ingest(&self, id: &str, base: &str, kind: &str, data: impl Into<reqwest::Body>) -> Reply {
        let path = format!("/v1/sandboxes/{id}/ingest");
        let request = self.request(Method::POST, &path).query(&[("basePath", base)]);
        send(request.header("content-type", kind).body(data)).await
    }

    /// Download as tar.gz.
    pub async fn export(&self, id: &str, base: &str) -> Bytes {
        let path = format!("/v1/sandboxes/{id}/export");
        let reply = send(self.request(Method::GET, &path).query(&[("basePath", base)])).await;
        reply.expect(200).body
    }

    /// The bytes of an HTTP/1.1 request with this token, for [`raw`] and [`hang_up`].
    pub fn raw_post(&self, path: &str, body: &Value) -> Vec<u8> {
        let body = body.to_string();
        let (token, length) = (&self.token, body.len());
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// Path of a file's route; slashes stay, the rest is percent-encoded.
pub fn file_path(id: &str, path: &str) -> String {
    use std::fmt::Write;
    let mut url = format!("/v1/sandboxes/{id}/files/");
    for byte in path.trim_start_matches('/').bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

/// Sends a request and reads the whole reply.
pub async fn send(request: reqwest::RequestBuilder) -> Reply {
    let reply = request.send().await.expect("a reply");
    let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
    let body = reply.bytes().await.expect("a whole reply");
    Reply { status, headers, body }
}

impl Reply {
    /// Must have this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The body as text.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    /// A header as text; `""` when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// Must be an error of this status and code in the contract's form, with nothing
    /// in its text that belongs to the inside. Gives the body.
    #[track_caller]
    pub fn error(&self, status: u16, code: &str) -> Value {
        let body = self.json();
        assert_eq!((self.status, &body["code"]), (status, &json!(code)), "{body}");
        check_error(&body);
        body
    }

    /// As [`Reply::error`], of an error that must not have touched the files.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        let body = self.error(status, code);
        assert_eq!(body["applied"], "no", "{body}");
        body
    }
}

/// The form that every error body has.
#[track_caller]
fn check_error(body: &Value) {
    assert!(body["error"].as_str().is_some_and(|text| !text.is_empty()), "no text: {body}");
    assert!(body["retryable"].is_boolean(), "no retryable: {body}");
    assert!(body["requestId"].as_str().is_some_and(|id| !id.is_empty()), "no requestId: {body}");
    assert!(["no", "yes", "unknown"].iter().any(|word| body["applied"] == **word), "no applied: {body}");
    let text = body.to_string();
    for inside in ["sqlx", "Sqlite", "SQLSTATE", "panicked", "src/", "/root/", "bashkit", "::"] {
        assert!(!text.contains(inside), "{inside:?} shows the inside: {text}");
    }
}

impl Events {
    /// The events of a reply.
    pub fn of(reply: reqwest::Response) -> Self {
        Self { body: reply.bytes_stream().boxed(), text: Vec::new() }
    }

    /// The next event; `None` at the end of the stream. Comments are passed over.
    pub async fn next(&mut self) -> Option<Event> {
        self.try_next().await.expect("the stream goes on")
    }

    /// As [`Events::next`]; an error when the connection broke.
    pub async fn try_next(&mut self) -> reqwest::Result<Option<Event>> {
        loop {
            if let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                let block = String::from_utf8(block).expect("events are UTF-8");
                if let Some(event) = parse_event(&block) {
                    return Ok(Some(event));
                }
                continue;
            }
            let Some(piece) = self.body.next().await else {
                assert!(self.text.is_empty(), "half an event: {:?}", String::from_utf8_lossy(&self.text));
                return Ok(None);
            };
            self.text.extend_from_slice(&piece?);
        }
    }

    /// All events to the end.
    pub async fn all(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

fn parse_event(block: &str) -> Option<Event> {
    let (mut name, mut id, mut data) = (String::new(), String::new(), Vec::new());
    for line in block.lines().filter(|line| !line.is_empty() && !line.starts_with(':')) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut name),
            "id" => value.clone_into(&mut id),
            "data" => data.push(value.to_owned()),
            other => panic!("unexpected field {other:?} in {block:?}"),
        }
    }
    if name.is_empty() && data.is_empty() {
        return None;
    }
    let data = serde_json::from_str(&data.join("\n")).unwrap_or_else(|e| panic!("{e}: {block:?}"));
    Some(Event { name, id, data, at: Instant::now() })
}

/// The text of one stream in some events.
pub fn joined(events: &[Event], stream: &str) -> String {
    events.iter().filter(|e| e.name == stream).map(|e| e.data["data"].as_str().expect("data")).collect()
}

/// Sends bytes as they are and reads what comes until the server closes or `within` has
/// passed; the second value says whether it closed.
pub async fn raw(addr: SocketAddr, request: &[u8], within: Duration) -> (Vec<u8>, bool) {
    let mut socket = TcpStream::connect(addr).await.expect("a connection");
    // The server may close before it has read all: no error of ours.
    let _ = socket.write_all(request).await;
    let mut reply = Vec::new();
    let closed = tokio::time::timeout(within, async {
        let mut piece = [0; 8192];
        loop {
            match socket.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(n) => reply.extend_from_slice(&piece[..n]),
            }
        }
    })
    .await
    .is_ok();
    (reply, closed)
}

/// Sends a request and gives the open connection; dropping it is the hang-up.
pub async fn hang_up(addr: SocketAddr, request: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(addr).await.expect("a connection");
    socket.write_all(request).await.expect("the request is sent");
    socket
}

/// Status of a raw reply; 0 when there is none.
pub fn raw_status(reply: &[u8]) -> u16 {
    let text = String::from_utf8_lossy(reply);
    text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()).unwrap_or(0)
}
