//! Running one script: `exec-sync` (one reply) and `exec` (events, in `sse.rs`).

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use serde_json::Value;

use super::HttpState;
use super::body::{self, Cap, EXEC_BODY_BYTES};
use super::error::{ApiError, ApiResult, millis};
use super::extract::{Query, Target};
use super::json::Fields;
use super::options::{EXEC_FIELDS, exec_request};
use super::sse;
use super::text::{Encoding, replaced_warning};
use super::wire::exec::{ExecResult, Outcome};
use crate::session::{ExecReply, ExecRequest};

/// Says that the reply was kept under the request's `Idempotency-Key`, and nothing was run.
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// `POST /v1/sandboxes/{id}/exec-sync`. A client that leaves drops this future, and
/// with it the script.
pub async fn exec_sync(
    State(state): State<HttpState>,
    target: Target,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let (request, encoding) = read_request(&query, &headers, body).await?;
    let Target { caller, request_id, sandbox } = target;
    let reply = state.service.exec(&caller, &request_id, sandbox, request, None).await?;
    let size = reply.output.stdout.len() + reply.output.stderr.len();
    let replayed = reply.replayed;
    let mut response = body::reply(size, move || buffered(reply, encoding)).await?;
    if replayed {
        response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// `POST /v1/sandboxes/{id}/exec`.
pub async fn exec(
    State(state): State<HttpState>,
    target: Target,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let (request, encoding) = read_request(&query, &headers, body).await?;
    sse::run(state.service, target, request, encoding).await
}

/// The JSON form, or the raw form with its options in the query.
async fn read_request(query: &Query, headers: &HeaderMap, body: Body) -> ApiResult<(ExecRequest, Encoding)> {
    let cap = Cap { bytes: EXEC_BODY_BYTES, name: "16 MiB" };
    let fields = match body::media_type(headers).as_deref() {
        None | Some("application/json") => {
            query.none()?;
            Fields::of(body::json(headers, body, cap).await?, EXEC_FIELDS)?
        }
        Some("text/plain" | "text/x-shellscript") => {
            let options: Vec<_> = EXEC_FIELDS.iter().copied().filter(|name| *name != "script").collect();
            let mut fields = query.fields(&options)?;
            let script = String::from_utf8(body::read(headers, body, cap).await?.into()).map_err(|e| {
                let at = e.utf8_error().valid_up_to();
                ApiError::invalid(format!("script: the body is not UTF-8 text at byte {at}"))
            })?;
            fields.set("script", Value::String(script));
            fields
        }
        Some(other) => {
            return Err(ApiError::unsupported_media_type(format!(
                "Content-Type {other} is not accepted here; send application/json, or the bare script as text/plain or \
                 text/x-shellscript"
            )));
        }
    };
    exec_request(fields, headers)
}

/// The reply of an exec that ran to its end.
#[must_use]
pub fn buffered(mut reply: ExecReply, encoding: Encoding) -> ExecResult {
    let (stdout, stderr) =
        (std::mem::take(&mut reply.output.stdout), std::mem::take(&mut reply.output.stderr));
    let (stdout, stdout_replaced) = encoding.whole(stdout, reply.output.stdout_truncated);
    let (stderr, stderr_replaced) = encoding.whole(stderr, reply.output.stderr_truncated);
    let mut warnings = std::mem::take(&mut reply.warnings);
    let replaced = [("stdout", stdout_replaced), ("stderr", stderr_replaced)];
    warnings.extend(
        replaced.iter().filter(|(_, replaced)| *replaced).map(|(stream, _)| replaced_warning(stream)),
    );
    ExecResult {
        stdout,
        stderr,
        exit_code: reply.exit_code,
        exit_signal: None,
        timed_out: false,
        duration_ms: millis(reply.duration),
        outcome: Outcome::of(&reply, warnings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header;

    async fn read(kind: &str, query: &str, body: &'static [u8]) -> ApiResult<(ExecRequest, Encoding)> {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())]);
        read_request(&Query(Some(query.into())), &headers, Body::from(body)).await
    }

    #[tokio::test]
    async fn raw_bodies_take_options_from_the_query() {
        let query =
            "timeoutMs=5&env=%7B%22A%22%3A%22b%22%7D&args=[%22x%22]&cwd=/tmp&encoding=base64&readOnly=true";
        let (request, encoding) = read("text/plain; charset=utf-8", query, b"echo $A").await.unwrap();
        assert_eq!((request.script.as_str(), request.cwd.as_deref()), ("echo $A", Some("/tmp")));
        assert_eq!(
            (request.env["A"].as_str(), request.args, encoding),
            ("b", vec!["x".to_owned()], Encoding::Base64)
        );
        let refused = |r: ApiResult<(ExecRequest, Encoding)>| r.unwrap_err();
        assert_eq!(refused(read("text/plain", "script=ls", b"ls").await).code(), "UNKNOWN_FIELD");
        assert_eq!(refused(read("text/plain", "", b"").await).message(), "script: must not be empty");
        assert!(
            refused(read("text/plain", "", b"a\xff").await).message().contains("not UTF-8 text at byte 1")
        );
        assert_eq!(refused(read("text/html", "", b"a").await).status(), 415);
        assert_eq!(
            refused(read("application/json", "cwd=/", b"{\"script\":\"a\"}").await).code(),
            "UNKNOWN_FIELD"
        );
    }
}
