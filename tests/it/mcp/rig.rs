//! A client of /mcp over plain HTTP, that says what it expects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::support::http::send;
use crate::support::{Api, Reply};

/// A client after its handshake. Cheap to clone.
#[derive(Clone)]
pub struct Mcp {
    /// Server and token.
    pub api: Api,
    /// What the server said in the handshake.
    pub info: Value,
    /// The session id that it gave.
    pub session: String,
    next: Arc<AtomicU64>,
}

/// A JSON-RPC request.
pub fn message(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Posts a message without a session; any status.
pub async fn post(api: &Api, message: &Value) -> Reply {
    send(api.request(Method::POST, "/mcp").json(message)).await
}

/// The messages of a reply, whether it is JSON or events.
pub fn messages(reply: &Reply) -> Vec<Value> {
    if reply.header("content-type") == "application/json" {
        return vec![reply.json()];
    }
    assert_eq!(reply.header("content-type"), "text/event-stream", "{}", reply.text());
    let data = reply.text().lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(str::trim)
        .filter(|data| !data.is_empty())
        .map(|data| serde_json::from_str(data).expect("JSON"))
        .collect()
}

impl Mcp {
    /// Does the handshake.
    pub async fn connect(api: &Api) -> Self {
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let reply = post(api, &message(0, "initialize", &hello)).await.expect(200);
        let session = reply.header("mcp-session-id").to_owned();
        assert!(!session.is_empty(), "{:?}", reply.headers);
        let info = reply.json()["result"].clone();
        let next = Arc::new(AtomicU64::new(1));
        let mcp = Self { api: api.clone(), info, session, next };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        send(mcp.http(&ready)).await.expect(202);
        mcp
    }

    /// The same client, talking to another server.
    pub fn on(&self, base: &str) -> Self {
        Self { api: self.api.at(base), ..self.clone() }
    }

    /// An id for a request.
    pub fn id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The HTTP request of a message.
    pub fn http(&self, message: &Value) -> RequestBuilder {
        self.api
            .request(Method::POST, "/mcp")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-session-id", &self.session)
            .header("mcp-protocol-version", "2025-06-18")
            .json(message)
    }

    /// A request; its result, or the protocol's error.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.id();
        let reply = send(self.http(&message(id, method, &params))).await.expect(200);
        let answer = messages(&reply).pop().expect("a message");
        assert_eq!(answer["id"], id, "{answer}");
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(answer["error"].clone()),
        }
    }

    /// A tool call; its result, failed or not.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", params).await.unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    /// A call that must do what it was asked; gives its data.
    pub async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], false, "{tool}: {result}");
        assert!(result["content"][0]["text"].is_string(), "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// A call that must fail; gives the error's data, which its text repeats.
    pub async fn failed(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let (data, text) =
            (&result["structuredContent"], result["content"][0]["text"].as_str().expect("text"));
        let says = format!(
            "{}: {}\napplied: {}\nretryable: {}",
            data["code"].as_str().expect("code"),
            data["message"].as_str().expect("message"),
            data["applied"].as_str().expect("applied"),
            data["retryable"].as_bool().expect("retryable")
        );
        assert!(text.starts_with(&says), "{text:?} does not say {says:?}");
        assert!(data["requestId"].is_string(), "{data}");
        data.clone()
    }

    /// A new sandbox; its id.
    pub async fn create(&self) -> String {
        self.ok("sandbox_create", json!({})).await["id"].as_str().expect("an id").to_owned()
    }
}
