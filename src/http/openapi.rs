//! The interface described by itself: `/openapi.json` (OpenAPI 3.1) and `/docs`, a page
//! that shows it. Schemas of replies come from the types that handlers serialize, codes
//! from the table that errors are made by; `tests/it/openapi.rs` holds the rest to what
//! the server does.

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::error::ApiResult;
use super::extract::Query;
use super::observe::{LONGEST_ID, REQUEST_ID_PATTERN};
use crate::ids::Sha256;

mod operation;
pub mod requests;
mod routes;
mod routes_exec;
mod routes_files;

const PAGE: &str = include_str!("openapi/docs.html");

/// Built once, on first use.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());
static PAGE_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = |tag| BASE64.encode(Sha256::of(within(PAGE, tag).as_bytes()).0);
    let policy = format!(
        "default-src 'none'; connect-src 'self'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        hash("script"),
        hash("style")
    );
    HeaderValue::from_str(&policy).expect("ASCII")
});

/// `GET /openapi.json`.
pub async fn json(query: Query) -> ApiResult<(HeaderMap, &'static str)> {
    query.none()?;
    Ok((kind("application/json"), &DOCUMENT))
}

/// `GET /docs`.
pub async fn docs(query: Query) -> ApiResult<(HeaderMap, &'static str)> {
    query.none()?;
    let mut headers = kind("text/html; charset=utf-8");
    headers.insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY.clone());
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok((headers, PAGE))
}

fn kind(kind: &'static str) -> HeaderMap {
    HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ])
}

/// What stands in the page's one element of that name.
fn within<'a>(page: &'a str, tag: &str) -> &'a str {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let rest = page.split_once(&open).map_or("", |(_, rest)| rest);
    rest.split_once(&close).map_or("", |(inside, _)| inside)
}

/// The document.
#[must_use]
pub fn document() -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let operations = [routes::operations(), routes_exec::operations(), routes_files::operations()];
    for operation in operations.into_iter().flatten() {
        let (path, method) = (operation.path, operation.method);
        let (value, used) = operation.finish();
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[method] = value;
        for (name, schema) in used {
            schemas.insert(name, json!(schema));
        }
    }
    for (name, not) in requests::exclusions() {
        schemas[name]["not"] = not;
    }
    schemas.insert("Error".into(), error_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "sqlfs",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": env!("CARGO_PKG_DESCRIPTION"),
            "description": ABOUT,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [
            {"name": "sandboxes", "description": "Durable file systems."},
            {"name": "scripts", "description": "Running bash."},
            {"name": "files", "description": "Files in and out without a script. Reads see one committed version; each write is one commit."},
            {"name": "tokens", "description": "For who has a secret of the server."},
            {"name": "service", "description": "Health and this document."},
        ],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "parameters": parameters(),
            "headers": headers(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
                "authSecret": {"type": "apiKey", "in": "header", "name": "X-Auth-Secret"},
                "adminSecret": {"type": "apiKey", "in": "header", "name": "X-Admin-Secret"},
            },
        },
    })
}

const ABOUT: &str = "Bash over HTTP, on a durable file system that is kept in SQL.\n\n\
    A script is a transaction: all of its changes are committed when it ends by itself, and none when it is cut off.\n\n\
    Input is strict. Unknown fields and query parameters are refused, with the nearest one that is known. null is \
    no value but where a schema says so. JSON may not be nested deeper than 127 levels, hold a key twice, or hold \
    lone surrogates. Bodies are UTF-8; of exec routes up to 16 MiB, of others up to MAX_REQUEST_BODY_BYTES or less.\n\n\
    Every error has the form of the schema Error. `applied` tells whether the sandbox's files changed. `retryable` \
    means that the same request may be sent again without doubling an effect. Another owner's sandbox answers as \
    one that does not exist. 500 INTERNAL is a fault of the server and part of no normal course.";

fn error_schema() -> Value {
    let codes: Vec<_> = super::codes::CODES.iter().map(|code| code.name).collect();
    json!({
        "type": "object",
        "description": "An error reply. Some codes bring more members; the code's description names them.",
        "required": ["error", "code", "retryable", "applied", "requestId"],
        "properties": {
            "error": {"type": "string", "description": "For people."},
            "code": {"type": "string", "enum": codes},
            "details": {"type": "array", "items": {"type": "string"}},
            "retryable": {"type": "boolean", "description": "The same request may be sent again without doubling an effect."},
            "applied": {"type": "string", "enum": ["no", "yes", "unknown"], "description": "Whether the sandbox's files changed."},
            "requestId": {"type": "string", "description": "As in X-Request-Id, and in the server's log."},
            "limit": {"type": ["string", "integer"], "description": "The limit that was met: its name, or how many may wait."},
            "timedOut": {"const": true},
            "durationMs": {"type": "integer", "minimum": 0},
            "stdout": {"type": "string", "description": "What the script had printed."},
            "stderr": {"type": "string"},
            "path": {"type": "string"},
            "count": {"type": "integer", "minimum": 2},
            "holderId": {"type": "string", "format": "uuid"},
            "version": {"type": "integer", "minimum": 0},
            "head": {"type": "string", "format": "uuid"},
        },
        "additionalProperties": false,
        "example": {
            "error": "unknown field redOnly; did you mean readOnly?",
            "code": "UNKNOWN_FIELD",
            "details": ["script", "readOnly"],
            "retryable": false,
            "applied": "no",
            "requestId": "8c3e7f0a-52f5-4c5e-9a53-0a4f3f1d2f10",
        },
    })
}

fn parameters() -> Value {
    json!({
        "id": {
            "in": "path", "name": "id", "required": true,
            "description": "The sandbox.",
            "schema": {"type": "string", "format": "uuid"},
        },
        "path": {
            "in": "path", "name": "path", "required": true,
            "description": "Absolute path without its first slash; slashes may stand as they are. No `..`. Names up to 255 bytes, 4096 together.",
            "schema": {"type": "string", "minLength": 1, "pattern": requests::RELATIVE},
            "example": "home/user/a.txt",
        },
        "X-Request-Id": {
            "in": "header", "name": "X-Request-Id", "required": false,
            "description": "An id of yours for this request; made when it is missing.",
            "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_ID, "pattern": REQUEST_ID_PATTERN},
        },
    })
}

fn headers() -> Value {
    let text = |about: &str| json!({"description": about, "schema": {"type": "string"}});
    json!({
        "X-Request-Id": text("The id of the request, as in the server's log."),
        "ETag": text("Hash of the content, in double quotes."),
        "X-FS-Stat": text("JSON: the schema FileStat."),
        "X-Truncated": {"description": "There only when entries were left out.", "schema": {"type": "string", "const": "true"}},
        "Content-Range": text("Which bytes of how many."),
        "Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 0}},
        "WWW-Authenticate": text("Bearer."),
        "Allow": text("The methods that the route has."),
    })
}
