//! Running several scripts with one request.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::Value;

use super::HttpState;
use super::body::{self, Cap, EXEC_BODY_BYTES};
use super::error::{ApiError, ApiResult, Applied, millis};
use super::extract::{Query, Target};
use super::json::Fields;
use super::options::{TIMEOUT_MS, millis_field, no_idempotency_key};
use super::text::Encoding;
use super::wire::exec::{BatchLine, BatchReply};
use crate::session::{BatchItem, BatchRequest, BatchResult, Captured};

const MOST_SCRIPTS: usize = 50;

/// `POST /v1/sandboxes/{id}/exec-sync-batch`.
pub async fn exec_sync_batch(
    State(state): State<HttpState>,
    target: Target,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    query.none()?;
    no_idempotency_key(&headers)?;
    let cap = Cap { bytes: EXEC_BODY_BYTES, name: "16 MiB" };
    let request = batch_request(body::json(&headers, body, cap).await?)?;
    let Target { caller, request_id, sandbox } = target;
    let items = state.service.exec_batch(&caller, &request_id, sandbox, request).await?;
    let size = items.iter().map(output_size).sum();
    body::reply(size, move || BatchReply { results: items.into_iter().map(line).collect() }).await
}

/// Reads a batch.
pub fn batch_request(body: Value) -> ApiResult<BatchRequest> {
    let known = &["scripts", "timeoutMs", "perScriptTimeoutMs", "readOnly", "atomic", "retryOn5xx"];
    let mut fields = Fields::of(body, known)?;
    let list = match fields.take("scripts") {
        None => return Err(fields.missing("scripts")),
        Some(Value::Array(list)) if (1..=MOST_SCRIPTS).contains(&list.len()) => list,
        Some(_) => {
            return Err(ApiError::invalid(format!(
                "scripts: expected an array of 1 to {MOST_SCRIPTS} {{id, script}}"
            )));
        }
    };
    let mut scripts = Vec::with_capacity(list.len());
    for (i, item) in list.into_iter().enumerate() {
        let place = format!("scripts[{i}].");
        let mut item = Fields::at(item, &["id", "script"], &place)?;
        let id = item.required_text("id")?;
        let script = item.clean_text("script")?.ok_or_else(|| item.missing("script"))?;
        if script.is_empty() {
            return Err(ApiError::invalid(format!("{place}script: must not be empty")));
        }
        scripts.push((id, script));
    }
    let total =
        millis_field(&mut fields, "timeoutMs")?.unwrap_or(Duration::from_millis(*TIMEOUT_MS.end() as u64));
    let each = millis_field(&mut fields, "perScriptTimeoutMs")?.unwrap_or(total).min(total);
    let read_only = fields.flag("readOnly")?.unwrap_or(false);
    let atomic = fields.flag("atomic")?.unwrap_or(false);
    fields.flag("retryOn5xx")?;
    if read_only && atomic {
        return Err(ApiError::invalid("atomic: not together with readOnly, which writes nothing"));
    }
    Ok(BatchRequest { scripts, total, each, read_only, atomic })
}

fn output_size(item: &BatchItem) -> usize {
    match &item.result {
        BatchResult::Done(reply) => reply.output.stdout.len() + reply.output.stderr.len(),
        BatchResult::Failed(_, output, _) => output.stdout.len() + output.stderr.len(),
        BatchResult::Skipped | BatchResult::OutOfTime => 0,
    }
}

/// The line of one script in the reply.
#[must_use]
pub fn line(BatchItem { id, result }: BatchItem) -> BatchLine {
    let not_run = |id, why: &str| failed(id, Captured::default(), 0, why.to_owned(), None, Applied::No);
    match result {
        BatchResult::Done(reply) => BatchLine {
            id,
            stdout: Encoding::Utf8.whole(reply.output.stdout, reply.output.stdout_truncated).0,
            stderr: Encoding::Utf8.whole(reply.output.stderr, reply.output.stderr_truncated).0,
            exit_code: reply.exit_code,
            duration_ms: millis(reply.duration),
            committed: reply.committed,
            version: Some(reply.version),
            error: None,
            code: None,
            applied: if reply.committed { "yes" } else { "no" },
        },
        BatchResult::Failed(error, output, duration) => {
            let error = ApiError::from(error);
            let message = error.message().to_owned();
            failed(id, output, millis(duration), message, Some(error.code()), error.applied())
        }
        BatchResult::Skipped => not_run(id, "skipped"),
        BatchResult::OutOfTime => not_run(id, "timeout"),
    }
}

fn failed(
    id: String,
    output: Captured,
    duration_ms: u64,
    error: String,
    code: Option<&'static str>,
    applied: Applied,
) -> BatchLine {
    BatchLine {
        id,
        stdout: Encoding::Utf8.whole(output.stdout, output.stdout_truncated).0,
        stderr: Encoding::Utf8.whole(output.stderr, output.stderr_truncated).0,
        exit_code: -1,
        duration_ms,
        committed: false,
        version: None,
        error: Some(error),
        code,
        applied: applied.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::SessionError;
    use serde_json::json;

    #[test]
    fn requests() {
        let request =
            batch_request(json!({"scripts": [{"id": "a", "script": "ls"}], "perScriptTimeoutMs": 7}))
                .unwrap();
        assert_eq!(request.scripts, [("a".to_owned(), "ls".to_owned())]);
        assert_eq!((request.total.as_millis(), request.each.as_millis()), (300_000, 7));
        let many = vec![json!({"id": "a", "script": "ls"}); 51];
        for (body, says) in [
            (json!({}), "scripts is required"),
            (json!({"scripts": []}), "scripts: expected an array of 1 to 50"),
            (json!({"scripts": many}), "scripts: expected an array of 1 to 50"),
            (json!({"scripts": ["ls"]}), "scripts[0]: expected object, got string"),
            (json!({"scripts": [{"id": "a"}]}), "scripts[0].script is required"),
            (json!({"scripts": [{"id": "a", "script": ""}]}), "scripts[0].script: must not be empty"),
            (
                json!({"scripts": [{"id": "a", "scrip": "x"}]}),
                "unknown field scripts[0].scrip; did you mean scripts[0].script?",
            ),
        ] {
            let error = batch_request(body).unwrap_err();
            assert!(error.message().starts_with(says), "{}", error.message());
        }
    }

    #[test]
    fn lines() {
        let item = |result| json!(line(BatchItem { id: "x".into(), result }));
        let skipped = item(BatchResult::Skipped);
        assert_eq!((&skipped["exitCode"], &skipped["error"]), (&json!(-1), &json!("skipped")));
        assert_eq!(item(BatchResult::OutOfTime)["error"], "timeout");
        let output = Captured { stdout: b"half".to_vec(), ..Captured::default() };
        let lost = item(BatchResult::Failed(SessionError::LeaseLost, output, Duration::from_millis(3)));
        assert_eq!(
            (&lost["code"], &lost["applied"], &lost["stdout"]),
            (&json!("LEASE_LOST"), &json!("no"), &json!("half"))
        );
        assert_eq!(
            (&lost["id"], &lost["committed"], &lost["durationMs"]),
            (&json!("x"), &json!(false), &json!(3))
        );
    }
}
