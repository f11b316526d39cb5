//! The layer around every request: request id, limits of the head, rendering of error
//! bodies, panics, the access line.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use tracing::Instrument;

use super::body::Watched;
use super::error::{ApiError, ApiResult, millis};
use super::extract::RequestId;
use crate::clock;
use crate::metrics::{RequestLabels, metrics};
use crate::telemetry::{self, SPANS};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// Characters of an id that a client gives.
pub const LONGEST_ID: usize = 128;
/// What ids are made of everywhere, and nothing that means something in a log line.
pub const REQUEST_ID_PATTERN: &str = "^[A-Za-z0-9_.:/+=@~-]+$";

/// Bytes of the request line and all headers together.
pub const HEAD_BYTES: usize = 32 << 10;

/// Wraps one request.
pub async fn observe(request: Request, next: Next) -> Response {
    let started = clock::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
    let (id, head) = match request_id(request.headers()) {
        Ok(id) => (id, check_head(&request)),
        Err(refusal) => (fresh(), Err(refusal)),
    };
    let span = tracing::trace_span!(
        target: SPANS,
        "request",
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        http.request.method = method.as_str(),
        http.route = route,
        http.response.status_code = tracing::field::Empty,
        request.id = &*id,
        error.code = tracing::field::Empty,
    );
    telemetry::join(&span, request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok()));
    let (mut parts, body) = request.into_parts();
    let (body, whole) = Watched::new(body);
    let mut response = if let Err(refusal) = head {
        refusal.into_response()
    } else {
        parts.extensions.insert(RequestId(id.clone()));
        let handling = next.run(Request::from_parts(parts, Body::new(body))).instrument(span.clone());
        // One request that trips over a bug must not take the connection with it.
        AssertUnwindSafe(handling).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(request_id = &*id, path, "a handler panicked");
            ApiError::internal().into_response()
        })
    };
    let error = response.extensions_mut().remove::<ApiError>();
    if let Some(error) = &error {
        *response.body_mut() = error.body(&id).to_string().into();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    let value = HeaderValue::from_str(&id).expect("ids are checked to be plain ASCII");
    response.headers_mut().insert(X_REQUEST_ID, value);
    // The rest of the body would be taken for the next request, so the connection ends; a
    // client that is not told sends its next one into it.
    if !whole.load(Ordering::Relaxed) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    span.record("http.response.status_code", response.status().as_u16());
    if let Some(error) = &error {
        span.record("error.code", error.code());
    }
    let taken = started.elapsed();
    count(&method, route, response.status(), taken);
    tracing::debug!(
        request_id = &*id,
        method = method.as_str(),
        path,
        status = response.status().as_u16(),
        code = error.as_ref().map(ApiError::code),
        duration_ms = millis(taken),
        "request"
    );
    response
}

fn count(method: &Method, route: String, status: StatusCode, taken: Duration) {
    // Methods come from outside: without a fixed set each would be a series.
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let method = known.into_iter().find(|name| *name == method.as_str()).unwrap_or("other");
    let labels = RequestLabels { method, route, status: status.as_u16() };
    metrics().requests.get_or_create(&labels).inc();
    metrics().request_time.note([("method", method)], taken);
}

fn fresh() -> Arc<str> {
    crate::random::uuid().to_string().into()
}

fn request_id(headers: &HeaderMap) -> ApiResult<Arc<str>> {
    let Some(value) = headers.get(X_REQUEST_ID) else { return Ok(fresh()) };
    // What ids are made of everywhere, and nothing that means something in a log line.
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"-_.:/+=@~".contains(b);
    match value.to_str() {
        Ok(id) if (1..=LONGEST_ID).contains(&id.len()) && id.as_bytes().iter().all(plain) => Ok(id.into()),
        _ => Err(ApiError::invalid(format!(
            "X-Request-Id: expected 1 to {LONGEST_ID} letters, digits or any of - _ . : / + = @ ~"
        ))),
    }
}

fn check_head(request: &Request) -> ApiResult<()> {
    let line = request.uri().path().len() + request.uri().query().map_or(0, str::len);
    let headers: usize =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if line + headers > HEAD_BYTES { Err(ApiError::headers_too_large(HEAD_BYTES)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_taken_checked_or_made() {
        let with = |value: &[u8]| {
            let value = HeaderValue::from_bytes(value).unwrap();
            request_id(&HeaderMap::from_iter([(X_REQUEST_ID, value)]))
        };
        assert_eq!(&*with(b"abc-1").unwrap(), "abc-1");
        assert_eq!(request_id(&HeaderMap::new()).unwrap().len(), 36);
        assert_eq!(with(&[b'a'; 128]).unwrap().len(), 128);
        for bad in [&[b'a'; 129][..], b"", b"a b", b"a\tb", b"{\"a\":1}", "é".as_bytes()] {
            assert!(with(bad).is_err(), "{bad:?}");
        }
    }
}
