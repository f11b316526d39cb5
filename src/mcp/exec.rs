//! `bash_exec` and `bash_exec_batch`: the exec routes, with output cut to what an agent
//! can use. Times are in seconds here: a model that thinks in milliseconds then meets a
//! refusal, while the other way round its scripts would be cut off at once.

use std::fmt::Write;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::reply::{self, Done, OUTPUT_BYTES, clip_output};
use crate::http::HttpState;
use crate::http::batch::{batch_request, line};
use crate::http::body::{EXEC_BODY_BYTES, off_workers};
use crate::http::error::{ApiError, ApiResult};
use crate::http::exec::buffered;
use crate::http::extract::Target;
use crate::http::json::Fields;
use crate::http::options::exec_request;
use crate::http::text::Encoding;

const LONGEST: i64 = 300;
const DEFAULT: i64 = 30;
/// Budget of all streams of a batch together, and the least of each.
const BATCH_BYTES: usize = 2 * OUTPUT_BYTES;
const LEAST_BYTES: usize = 1 << 10;

/// `bash_exec`.
pub async fn one(state: &HttpState, target: Target, bytes: u64, mut fields: Fields) -> ApiResult<Done> {
    check_size(bytes)?;
    let timeout =
        fields.integer("timeout", 1..=LONGEST).map_err(|error| in_seconds(&error))?.unwrap_or(DEFAULT);
    fields.set("timeoutMs", json!(timeout * 1000));
    let (request, _) = exec_request(fields, &HeaderMap::new())?;
    let Target { caller, request_id, sandbox } = target;
    let reply = state.service.exec(&caller, &request_id, sandbox, request, None).await?;
    off_workers(move || {
        let mut data = reply::data(&buffered(reply, Encoding::Utf8));
        clip_output(&mut data, OUTPUT_BYTES);
        Done::new(shown(&data), data)
    })
    .await
}

/// `bash_exec_batch`.
pub async fn batch(state: &HttpState, target: Target, bytes: u64, mut fields: Fields) -> ApiResult<Done> {
    check_size(bytes)?;
    let mut body = json!({});
    for (name, there) in [("timeout", "timeoutMs"), ("perScriptTimeout", "perScriptTimeoutMs")] {
        if let Some(seconds) = fields.integer(name, 1..=LONGEST).map_err(|error| in_seconds(&error))? {
            body[there] = json!(seconds * 1000);
        }
    }
    for name in ["scripts", "readOnly", "atomic"] {
        if let Some(value) = fields.take(name) {
            body[name] = value;
        }
    }
    let request = batch_request(body)?;
    let Target { caller, request_id, sandbox } = target;
    let items = state.service.exec_batch(&caller, &request_id, sandbox, request).await?;
    off_workers(move || {
        let budget = (BATCH_BYTES / (2 * items.len().max(1))).max(LEAST_BYTES);
        let mut results: Vec<Value> = items.into_iter().map(|item| reply::data(&line(item))).collect();
        let mut text = String::new();
        for result in &mut results {
            clip_output(result, budget);
            let id = result["id"].as_str().unwrap_or_default();
            let shown_id: String = id.chars().take(64).collect();
            let _ = writeln!(text, "=== {shown_id}\n{}", shown(result));
        }
        Done::new(text, json!({"results": results}))
    })
    .await
}

fn check_size(bytes: u64) -> ApiResult<()> {
    if bytes <= EXEC_BODY_BYTES {
        return Ok(());
    }
    Err(ApiError::too_large("the message is", EXEC_BODY_BYTES, "bytes", "16 MiB"))
}

fn in_seconds(error: &ApiError) -> ApiError {
    ApiError::invalid(format!("{} (seconds)", error.message()))
}

/// A reply as text: the output as it is, then one line of facts.
fn shown(data: &Value) -> String {
    let mut text = String::new();
    for stream in ["stdout", "stderr"] {
        let output = data[stream].as_str().unwrap_or_default();
        if output.is_empty() {
            continue;
        }
        if stream == "stderr" {
            text += "[stderr]\n";
        }
        text += output;
        if !output.ends_with('\n') {
            text.push('\n');
        }
    }
    for warning in data["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let _ = writeln!(text, "[warning: {warning}]");
    }
    let mut facts = vec![format!("exit {}", data["exitCode"])];
    if let Some(error) = data["error"].as_str() {
        let code = data["code"].as_str().map(|code| format!("{code}: ")).unwrap_or_default();
        facts.push(format!("{code}{error}, applied: {}", data["applied"].as_str().unwrap_or("no")));
    } else {
        let version = &data["version"];
        facts.push(match data["committed"].as_bool() {
            Some(true) => format!("files changed, version {version}"),
            _ => format!("no files changed, version {version}"),
        });
    }
    text + &format!("[{}]", facts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shows_output_and_facts() {
        let data = json!({"stdout": "a", "stderr": "b\n", "exitCode": 3, "version": 2, "committed": true,
            "warnings": ["w"]});
        assert_eq!(shown(&data), "a\n[stderr]\nb\n[warning: w]\n[exit 3; files changed, version 2]");
        let data = json!({"stdout": "", "stderr": "", "exitCode": 0, "version": 2, "committed": false});
        assert_eq!(shown(&data), "[exit 0; no files changed, version 2]");
        let data = json!({"exitCode": -1, "error": "gone", "code": "LEASE_LOST", "applied": "no"});
        assert_eq!(shown(&data), "[exit -1; LEASE_LOST: gone, applied: no]");
    }
}
