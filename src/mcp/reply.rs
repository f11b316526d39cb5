//! The reply of a tool: text for the model, the same as data, and files as blobs.

use std::fmt::Write;

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::{Value, json};

use super::bounded;
use crate::http::error::ApiError;

/// Budget of one stream of a script's output, bytes on the wire.
pub const OUTPUT_BYTES: usize = 32 << 10;
/// Budget of a message; what a caller sent may stand in it.
const MESSAGE_BYTES: usize = 2 << 10;

/// What a tool answers when it did what it was asked.
#[derive(Debug)]
pub struct Done {
    /// For the model.
    pub text: String,
    /// The same as data.
    pub data: Value,
    /// A file that comes along.
    pub blob: Option<ContentBlock>,
}

impl Done {
    /// Without a file.
    #[must_use]
    pub fn new(text: impl Into<String>, data: Value) -> Self {
        Self { text: text.into(), data, blob: None }
    }
}

impl From<Done> for CallToolResult {
    fn from(done: Done) -> Self {
        let mut content = vec![ContentBlock::text(done.text)];
        content.extend(done.blob);
        let mut result = Self::success(content);
        result.structured_content = Some(done.data);
        result
    }
}

/// The reply of a route as data.
#[must_use]
pub fn data(reply: &impl Serialize) -> Value {
    json!(reply)
}

/// A failed call: `code`, `message`, `applied`, `retryable` and what else the HTTP body
/// of the same error holds.
#[must_use]
pub fn failed(error: &ApiError, request_id: &str) -> CallToolResult {
    let mut data = error.body(request_id);
    let message = data.as_object_mut().and_then(|body| body.remove("error")).unwrap_or_default();
    let message = message.as_str().unwrap_or_default();
    let message = match bounded::head(message, MESSAGE_BYTES) {
        length if length < message.len() => format!("{}…", &message[..length]),
        _ => message.to_owned(),
    };
    clip_output(&mut data, OUTPUT_BYTES);
    let applied = error.applied().as_str();
    let mut text =
        format!("{}: {message}\napplied: {applied}\nretryable: {}", error.code(), error.retryable());
    for stream in ["stdout", "stderr"] {
        if let Some(output) = data[stream].as_str().filter(|output| !output.is_empty()) {
            let _ = write!(text, "\n[{stream} so far]\n{output}");
        }
    }
    data["message"] = json!(message);
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(data);
    result
}

/// Cuts `stdout` and `stderr` of a reply to the budget of each, and sets their flags.
pub fn clip_output(body: &mut Value, budget: usize) {
    for stream in ["stdout", "stderr"] {
        if let Some(cut) = body[stream].as_str().and_then(|text| bounded::clip(text, budget)) {
            body[stream] = json!(cut);
            body[format!("{stream}Truncated")] = json!(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Captured;
    use crate::session::SessionError;
    use std::time::Duration;

    #[test]
    fn failures_say_all_in_text_and_data_and_are_bounded() {
        let output =
            Captured { stdout: vec![b'x'; 1 << 20], stderr: b"oops".to_vec(), ..Captured::default() };
        let error = SessionError::Timeout { duration: Duration::from_secs(1), output: Box::new(output) };
        let result = failed(&error.into(), "r-1");
        let written = serde_json::to_value(&result).unwrap();
        assert_eq!(written["isError"], true);
        let data = &written["structuredContent"];
        assert_eq!(
            (&data["code"], &data["applied"], &data["retryable"], &data["requestId"]),
            (&json!("EXEC_TIMEOUT"), &json!("no"), &json!(false), &json!("r-1"))
        );
        assert_eq!((&data["stdoutTruncated"], &data["stderr"]), (&json!(true), &json!("oops")));
        assert!(data["message"].as_str().unwrap().contains("cut off after 1000 ms"));
        let text = written["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("EXEC_TIMEOUT: the script was cut off"), "{text}");
        assert!(text.contains("\napplied: no\nretryable: false\n[stdout so far]\nxxx"));
        assert!(written.to_string().len() < 3 * OUTPUT_BYTES);
        let long = failed(&ApiError::invalid("é".repeat(100_000)), "");
        assert!(serde_json::to_string(&long).unwrap().len() < 3 * MESSAGE_BYTES);
    }
}
