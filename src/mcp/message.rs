//! One message as it comes in: checked strictly, and its tool arguments taken out.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::http::error::{ApiError, ApiResult};
use crate::ids::Caller;

/// What the tool handler gets beside the SDK's own view of the request.
pub struct Call {
    /// Who calls.
    pub caller: Caller,
    /// The HTTP request's id.
    pub request_id: Arc<str>,
    /// Size of the whole message, bytes.
    pub bytes: u64,
    /// Whether the client takes events, and so progress.
    pub events: bool,
    /// Set when the client cancels the call.
    pub cancelled: CancellationToken,
    /// The tool's arguments; taken once.
    arguments: Mutex<Option<Value>>,
}

impl Call {
    /// With the arguments as they came.
    #[must_use]
    pub fn new(
        caller: Caller,
        request_id: Arc<str>,
        bytes: u64,
        events: bool,
        cancelled: CancellationToken,
        arguments: Option<Value>,
    ) -> Self {
        Self { caller, request_id, bytes, events, cancelled, arguments: Mutex::new(arguments) }
    }

    /// The arguments; an empty object when there were none.
    pub fn arguments(&self) -> Value {
        let taken = self.arguments.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.unwrap_or_else(|| json!({}))
    }
}

/// A message of the client. `rest` is the message without tool arguments: those may be
/// large, and the SDK would parse them once more, on a thread that serves others, and log
/// them.
#[derive(Debug)]
pub struct Message {
    /// The message for the SDK.
    pub rest: Value,
    /// The tool arguments of `tools/call`.
    pub arguments: Option<Value>,
}

/// What the endpoint does with a message by itself.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// The handshake.
    Initialize,
    /// A tool, by its name; with the JSON text of the request's id.
    Call(String, String),
    /// The client gives a request up; with the JSON text of that request's id.
    Cancelled(String),
    /// Everything else.
    Other,
}

impl Message {
    /// Checks the frame: one JSON-RPC 2.0 message with a proper id and method.
    pub fn read(mut value: Value) -> ApiResult<Self> {
        let Some(object) = value.as_object() else {
            return Err(ApiError::invalid("the body: expected one JSON-RPC message (an object)"));
        };
        if object.get("jsonrpc") != Some(&json!("2.0")) {
            return Err(ApiError::invalid("jsonrpc: expected \"2.0\""));
        }
        match object.get("id") {
            None | Some(Value::String(_)) => {}
            Some(Value::Number(id)) if id.is_i64() || id.is_u64() => {}
            Some(_) => return Err(ApiError::invalid("id: expected a string or a whole number")),
        }
        let method = match object.get("method") {
            None | Some(Value::String(_)) => object.get("method").and_then(Value::as_str).unwrap_or_default(),
            Some(_) => return Err(ApiError::invalid("method: expected a string")),
        };
        let calls = method == "tools/call";
        if calls && !value["params"]["name"].is_string() {
            return Err(ApiError::invalid("params.name: expected the name of a tool"));
        }
        let arguments =
            value.get_mut("params").filter(|_| calls).and_then(|p| p.as_object_mut()?.remove("arguments"));
        Ok(Self { rest: value, arguments })
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match (self.rest["method"].as_str(), self.rest.get("id")) {
            (Some("initialize"), Some(_)) => Kind::Initialize,
            (Some("tools/call"), Some(id)) => Kind::Call(text(&self.rest["params"]["name"]), id.to_string()),
            (Some("notifications/cancelled"), None) => {
                Kind::Cancelled(self.rest["params"]["requestId"].to_string())
            }
            _ => Kind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_checked() {
        for (body, says) in [
            (json!([]), "the body: expected one JSON-RPC message"),
            (json!({"method": "ping", "id": 1}), "jsonrpc: expected"),
            (json!({"jsonrpc": "1.0", "method": "ping", "id": 1}), "jsonrpc: expected"),
            (json!({"jsonrpc": "2.0", "method": "ping", "id": null}), "id: expected"),
            (json!({"jsonrpc": "2.0", "method": "ping", "id": 1.5}), "id: expected"),
            (json!({"jsonrpc": "2.0", "method": 1, "id": 1}), "method: expected"),
            (json!({"jsonrpc": "2.0", "method": "tools/call", "id": 1, "params": {}}), "params.name"),
            (json!({"jsonrpc": "2.0", "method": "tools/call", "id": 1, "params": []}), "params.name"),
        ] {
            let error = Message::read(body.clone()).unwrap_err();
            assert!(error.message().starts_with(says), "{body}: {}", error.message());
        }
    }

    #[test]
    fn arguments_are_taken_out_of_calls() {
        let call = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call",
            "params": {"name": "bash_exec", "arguments": {"id": 1}, "_meta": {"progressToken": 3}}});
        let message = Message::read(call).unwrap();
        assert_eq!(message.arguments, Some(json!({"id": 1})));
        assert_eq!(message.rest["params"], json!({"name": "bash_exec", "_meta": {"progressToken": 3}}));
        assert_eq!(message.kind(), Kind::Call("bash_exec".into(), "\"a\"".into()));
        let other = json!({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"arguments": 1}});
        assert_eq!(Message::read(other.clone()).unwrap().rest, other);
        let gone =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}});
        assert_eq!(Message::read(gone).unwrap().kind(), Kind::Cancelled("\"a\"".into()));
    }
}
