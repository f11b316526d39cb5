//! Error replies: the only place that knows status codes.
//!
//! Handlers return [`ApiError`]. Anything that the session refuses comes in through
//! `From<SessionError>`; what the HTTP layer itself refuses is made by the named
//! constructors below. Texts are safe by construction: they are written here or carry
//! only what the caller sent. The body is rendered by `observe.rs`, which knows the
//! request id.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::codes;
use crate::fs::Errno;
use crate::session::SessionError;

/// What became of the sandbox's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Nothing of the request is in the sandbox, nor will it be.
    No,
    /// It cannot be told while the store is away.
    Unknown,
}

impl Applied {
    /// As it stands in bodies.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// An error reply.
#[derive(Clone, Debug)]
#[must_use]
pub struct ApiError(Box<Body>);

#[derive(Clone, Debug)]
struct Body {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Vec<String>,
    retryable: bool,
    applied: Applied,
    extra: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Result of a handler.
pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        debug_assert_eq!(
            codes::find(code).map(|c| c.status),
            Some(status.as_u16()),
            "{code}: not in codes.rs so"
        );
        Self(Box::new(Body {
            status,
            code,
            message: message.into(),
            details: Vec::new(),
            retryable: false,
            applied: Applied::No,
            extra: Map::new(),
            headers: Vec::new(),
        }))
    }

    /// 400: something in the request is not as it must be. Say which field, what was
    /// expected and what came.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_INPUT", message)
    }

    /// 400: a field or query parameter that the route does not have.
    pub fn unknown_field(name: &str, nearest: Option<&str>, known: &[&str]) -> Self {
        let hint = nearest.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        let mut error =
            Self::new(StatusCode::BAD_REQUEST, "UNKNOWN_FIELD", format!("unknown field {name}{hint}"));
        error.0.details = known.iter().map(|k| (*k).to_owned()).collect();
        error
    }

    /// 401 with one of the AUTH codes.
    pub fn unauthorized(code: &'static str, message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, code, message)
            .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// 403.
    pub fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
    }

    /// 404: no such route.
    pub fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", "no such route")
    }

    /// 405; the router adds `Allow`.
    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "METHOD_NOT_ALLOWED",
            "the route has no such method; the Allow header names those it has",
        )
    }

    /// 413: a body, a sum of contents or a number of files over its limit. `what` such
    /// as `the body is`, `name` that of the setting.
    pub fn too_large(what: &str, limit: u64, unit: &str, name: &str) -> Self {
        let message = format!("{what} over the limit of {limit} {unit}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", message).extra("limit", json!(name))
    }

    /// 413: one file over MAX_FILE_WRITE_BYTES.
    pub fn file_too_large(path: &str, limit: u64) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "EFBIG",
            format!("{path}: file over the limit of {limit} bytes"),
        )
        .extra("limit", json!("MAX_FILE_WRITE_BYTES"))
    }

    /// 415.
    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", message)
    }

    /// 416 with the size of the file.
    pub fn range_not_satisfiable(size: u64) -> Self {
        let range = HeaderValue::from_str(&format!("bytes */{size}")).expect("digits are valid in a header");
        Self::new(
            StatusCode::RANGE_NOT_SATISFIABLE,
            "RANGE_NOT_SATISFIABLE",
            format!("the file has {size} bytes, the range lies outside"),
        )
        .header(header::CONTENT_RANGE, range)
    }

    /// 431.
    pub fn headers_too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "HEADERS_TOO_LARGE",
            format!("the request's head is over the limit of {limit} bytes"),
        )
    }

    /// 429 of a limit on an address: `max` requests in `window`; the next one after `wait`.
    pub fn rate_limited(max: u32, window: Duration, wait: Duration) -> Self {
        let text = format!("more than {max} requests in {} s from this address", window.as_secs());
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", text);
        error.0.retryable = true;
        error.header(header::RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1))
    }

    /// 503 of `/readyz`: each line says what is missing.
    pub fn not_ready(missing: Vec<String>) -> Self {
        let mut error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE", missing.join("; "));
        error.0.details = missing;
        unavailable(error, true)
    }

    /// 500: a bug. The cause is in the log under the request id.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "INTERNAL",
            "internal error; the log has it under the request id",
        )
    }

    /// A file call that failed on `path`.
    pub fn fs(errno: Errno, path: &str) -> Self {
        SessionError::Fs { errno, path: path.to_owned() }.into()
    }

    /// One more member of the body.
    pub fn extra(mut self, name: &str, value: Value) -> Self {
        self.0.extra.insert(name.to_owned(), value);
        self
    }

    fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The text for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What became of the files.
    #[must_use]
    pub fn applied(&self) -> Applied {
        self.0.applied
    }

    /// Whether the same request may be sent again without doubling an effect.
    #[must_use]
    pub fn retryable(&self) -> bool {
        self.0.retryable
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The body as the contract has it.
    #[must_use]
    pub fn body(&self, request_id: &str) -> Value {
        let body = &self.0;
        let mut out = body.extra.clone();
        out.insert("error".into(), json!(body.message));
        out.insert("code".into(), json!(body.code));
        if !body.details.is_empty() {
            out.insert("details".into(), json!(body.details));
        }
        out.insert("retryable".into(), json!(body.retryable));
        out.insert("applied".into(), json!(body.applied.as_str()));
        out.insert("requestId".into(), json!(request_id));
        Value::Object(out)
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// So that it can travel through `io::Error` out of a body that is read by blocking code.
impl std::error::Error for ApiError {}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        for (name, value) in &self.0.headers {
            response.headers_mut().insert(name.clone(), value.clone());
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        let message = error.to_string();
        let new = |status: StatusCode, code| Self::new(status, code, message.clone());
        match error {
            SessionError::NotFound => new(StatusCode::NOT_FOUND, "SANDBOX_NOT_FOUND"),
            SessionError::UnknownTenant => Self::unauthorized("AUTH_UNKNOWN_TENANT", &message),
            SessionError::NameTaken(holder) => {
                new(StatusCode::CONFLICT, "NAME_TAKEN").extra("holderId", json!(holder.id))
            }
            // The second is read by nobody; it ends in the access log.
            SessionError::Invalid(_) | SessionError::ClientGone => {
                new(StatusCode::BAD_REQUEST, "INVALID_INPUT")
            }
            SessionError::NotPermitted(_) => new(StatusCode::FORBIDDEN, "NOT_PERMITTED"),
            SessionError::Fs { errno, .. } => {
                let (status, code) = of_errno(errno);
                match errno {
                    Errno::EIO => unavailable(new(status, code), true),
                    _ => new(status, code),
                }
            }
            SessionError::EditNoMatch { .. } => new(StatusCode::CONFLICT, "EDIT_NO_MATCH"),
            SessionError::EditNotUnique { count, .. } => {
                new(StatusCode::CONFLICT, "EDIT_NOT_UNIQUE").extra("count", json!(count))
            }
            SessionError::EditBinary { .. } => new(StatusCode::BAD_REQUEST, "EDIT_BINARY"),
            SessionError::EtagMismatch { .. } => new(StatusCode::PRECONDITION_FAILED, "ETAG_MISMATCH"),
            SessionError::VersionMismatch { version, head } => {
                new(StatusCode::PRECONDITION_FAILED, "VERSION_MISMATCH")
                    .extra("version", json!(version))
                    .extra("head", json!(head))
            }
            SessionError::KeyReused => new(StatusCode::UNPROCESSABLE_ENTITY, "IDEMPOTENCY_KEY_REUSED"),
            SessionError::ReadOnlyViolation { path, output } => {
                new(StatusCode::UNPROCESSABLE_ENTITY, "EREADONLY_VIOLATION")
                    .extra("path", json!(path))
                    .output(&output)
            }
            SessionError::QueueFull { limit } => {
                let error = new(StatusCode::TOO_MANY_REQUESTS, "QUEUE_FULL").extra("limit", json!(limit));
                unavailable(error, true)
            }
            SessionError::LeaseTimeout(_) => {
                unavailable(new(StatusCode::SERVICE_UNAVAILABLE, "LEASE_TIMEOUT"), true)
            }
            SessionError::RuntimeBusy(_) => {
                unavailable(new(StatusCode::SERVICE_UNAVAILABLE, "RUNTIME_BUSY"), true)
            }
            SessionError::LeaseLost => unavailable(new(StatusCode::SERVICE_UNAVAILABLE, "LEASE_LOST"), true),
            SessionError::CoordinationUnavailable => {
                unavailable(new(StatusCode::SERVICE_UNAVAILABLE, "COORDINATION_UNAVAILABLE"), true)
            }
            SessionError::Conflict => {
                let mut error = new(StatusCode::CONFLICT, "CONFLICT");
                error.0.retryable = true;
                error
            }
            SessionError::Timeout { duration, output } => new(StatusCode::REQUEST_TIMEOUT, "EXEC_TIMEOUT")
                .extra("timedOut", json!(true))
                .extra("durationMs", json!(millis(duration)))
                .output(&output),
            SessionError::Limit { name, output, .. } => {
                let error = match name {
                    "memory" => new(StatusCode::INSUFFICIENT_STORAGE, "MEMORY_LIMIT"),
                    _ => new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE"),
                };
                error.extra("limit", json!(name)).output(&output)
            }
            SessionError::NoSpace { what, output, .. } => {
                new(StatusCode::INSUFFICIENT_STORAGE, "ENOSPC").extra("limit", json!(what)).output(&output)
            }
            SessionError::ShuttingDown => {
                unavailable(new(StatusCode::SERVICE_UNAVAILABLE, "SHUTTING_DOWN"), true)
            }
            SessionError::StoreUnavailable => {
                unavailable(new(StatusCode::SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE"), true)
            }
            SessionError::OutcomeUnknown => {
                let mut error = unavailable(new(StatusCode::SERVICE_UNAVAILABLE, "OUTCOME_UNKNOWN"), false);
                error.0.applied = Applied::Unknown;
                error
            }
            SessionError::AfterNetwork(error) => {
                let mut error = Self::from(*error);
                error.0.retryable = false;
                error.0.headers.clear();
                error.0.message = message;
                error
            }
            SessionError::Internal(cause) => {
                tracing::error!(cause, "internal error");
                Self::internal()
            }
        }
    }
}

impl ApiError {
    /// What a script that was cut off had printed.
    fn output(self, output: &crate::session::Captured) -> Self {
        self.extra("stdout", json!(String::from_utf8_lossy(&output.stdout)))
            .extra("stderr", json!(String::from_utf8_lossy(&output.stderr)))
    }
}

/// For statuses that pass by themselves.
fn unavailable(mut error: ApiError, retryable: bool) -> ApiError {
    error.0.retryable = retryable;
    error.header(header::RETRY_AFTER, HeaderValue::from_static("1"))
}

/// Status and code of a file error; only codes of the contract.
fn of_errno(errno: Errno) -> (StatusCode, &'static str) {
    match errno {
        Errno::ENOENT => (StatusCode::NOT_FOUND, "ENOENT"),
        Errno::EEXIST => (StatusCode::CONFLICT, "EEXIST"),
        Errno::ENOTEMPTY => (StatusCode::CONFLICT, "ENOTEMPTY"),
        Errno::EINVAL | Errno::EILSEQ | Errno::EMLINK => (StatusCode::BAD_REQUEST, "EINVAL"),
        Errno::EISDIR => (StatusCode::BAD_REQUEST, "EISDIR"),
        Errno::ENOTDIR => (StatusCode::BAD_REQUEST, "ENOTDIR"),
        Errno::ELOOP => (StatusCode::BAD_REQUEST, "ELOOP"),
        Errno::ENAMETOOLONG => (StatusCode::BAD_REQUEST, "ENAMETOOLONG"),
        Errno::EFBIG => (StatusCode::PAYLOAD_TOO_LARGE, "EFBIG"),
        Errno::ENOSPC => (StatusCode::INSUFFICIENT_STORAGE, "ENOSPC"),
        Errno::ENOMEM => (StatusCode::INSUFFICIENT_STORAGE, "MEMORY_LIMIT"),
        // The root, and other things that no call may remove.
        Errno::EPERM | Errno::EBUSY => (StatusCode::FORBIDDEN, "EPERM"),
        Errno::EROFS => (StatusCode::UNPROCESSABLE_ENTITY, "EREADONLY_VIOLATION"),
        // A content that cannot be fetched.
        Errno::EIO => (StatusCode::SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE"),
    }
}

/// Whole milliseconds of a duration.
#[must_use]
pub fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Head;
    use crate::session::Captured;

    #[test]
    fn what_used_the_network_is_not_to_be_sent_again() {
        for (error, code) in [(SessionError::LeaseLost, "LEASE_LOST"), (SessionError::Conflict, "CONFLICT")] {
            let told = |error| ApiError::from(error).body("r");
            let (before, after) = (error.to_string(), told(SessionError::AfterNetwork(Box::new(error))));
            assert_eq!((&after["code"], &after["applied"]), (&json!(code), &json!("no")));
            assert_eq!(after["retryable"], json!(false), "{after}");
            assert!(after["error"].as_str().is_some_and(|text| text.starts_with(&before)), "{after}");
        }
        assert_eq!(ApiError::from(SessionError::LeaseLost).body("r")["retryable"], json!(true));
    }

    #[test]
    fn bodies_have_the_members_of_the_contract() {
        let body = ApiError::from(SessionError::OutcomeUnknown).body("r1");
        assert_eq!(body["code"], "OUTCOME_UNKNOWN");
        assert_eq!(body["applied"], "unknown");
        assert_eq!(body["retryable"], false);
        assert_eq!(body["requestId"], "r1");
        assert!(body["error"].as_str().unwrap().contains("cannot be told"));
    }

    #[test]
    fn cut_off_scripts_carry_their_output() {
        let output = Box::new(Captured { stdout: b"half\xff".to_vec(), ..Captured::default() });
        let duration = std::time::Duration::from_millis(1500);
        let error = ApiError::from(SessionError::Timeout { duration, output });
        let body = error.body("r");
        assert_eq!(error.status(), 408);
        assert_eq!((&body["timedOut"], &body["durationMs"]), (&json!(true), &json!(1500)));
        assert_eq!(body["stdout"], "half\u{fffd}");
    }

    #[test]
    fn mismatches_name_what_is_there() {
        let head = Head::random();
        let body = ApiError::from(SessionError::VersionMismatch { version: 7, head }).body("");
        assert_eq!((&body["version"], &body["head"]), (&json!(7), &json!(head)));
    }

    #[test]
    fn internal_causes_stay_inside() {
        let body = ApiError::from(SessionError::Internal("SELECT canary".into())).body("r").to_string();
        assert!(!body.contains("canary"));
    }

    #[test]
    fn limits_by_name() {
        let limit = |name| {
            let message = "too much".to_owned();
            ApiError::from(SessionError::Limit { name, message, output: Box::default() })
        };
        assert_eq!((limit("memory").status().as_u16(), limit("memory").code()), (507, "MEMORY_LIMIT"));
        assert_eq!(limit("commands").status(), 413);
        assert_eq!(limit("commands").body("")["limit"], "commands");
    }
}
