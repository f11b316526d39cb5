//! The HTTP side of `/mcp`: who asks, how much, and what comes back in which form.
//!
//! The SDK does the protocol: versions, handshake, replies as JSON or as events, and the
//! end of a call whose client has left. Before it stand the checks of every route.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::access::Access;
use super::count;
use super::message::{Call, Kind, Message};
use super::running::{CallId, Running};
use super::server::McpServer;
use crate::http::HttpState;
use crate::http::body::{self, Cap};
use crate::http::error::{ApiError, ApiResult};
use crate::http::extract::RequestId;
use crate::ids::Caller;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LONGEST_SESSION: usize = 128;

type Sdk = StreamableHttpService<McpServer, NeverSessionManager>;

/// The endpoint.
pub struct Endpoint {
    state: HttpState,
    access: Access,
    running: Running,
    /// Answers with JSON, or with events when progress comes before the end.
    json: Sdk,
    /// Answers with events from the start, and keeps the connection alive with them.
    events: Sdk,
}

impl Endpoint {
    /// Of one server.
    #[must_use]
    pub fn new(state: &HttpState) -> Self {
        let sdk = |json: bool| {
            let server = McpServer::new(state.clone());
            // Host and origin are checked here, and so is the size: the SDK sees a message
            // without the tool's arguments.
            let config = StreamableHttpServerConfig::default()
                .with_legacy_session_mode(false)
                .with_json_response(json)
                .with_sse_retry(None)
                .disable_allowed_hosts()
                .with_max_request_body_bytes(usize::MAX);
            Sdk::new(move || Ok(server.clone()), Arc::default(), config)
        };
        Self {
            state: state.clone(),
            access: Access::new(&state.config),
            running: Running::default(),
            json: sdk(true),
            events: sdk(false),
        }
    }

    /// `POST /mcp`.
    pub async fn serve(self: Arc<Self>, RequestId(id): RequestId, request: Request) -> ApiResult<Response> {
        let (mut parts, body) = request.into_parts();
        let caller = self.caller(&id, &parts.headers).await?;
        if parts.uri.query().is_some_and(|query| !query.is_empty()) {
            return Err(ApiError::invalid("/mcp takes no query parameters"));
        }
        let session = session(&parts.headers)?.map(ToOwned::to_owned);
        if body::media_type(&parts.headers).is_none_or(|kind| kind != "application/json") {
            return Err(ApiError::unsupported_media_type("send Content-Type: application/json"));
        }
        let cap = Cap { bytes: self.state.config.max_request_body_bytes, name: "MAX_REQUEST_BODY_BYTES" };
        let whole = body::read(&parts.headers, body, cap).await?;
        let bytes = whole.len() as u64;
        let message = Message::read(body::parse(whole).await?)?;
        let kind = message.kind();
        let events = takes_events(&parts.headers);
        let mut entry = None;
        match (&kind, &session) {
            (Kind::Cancelled(request), Some(session)) => {
                let found = self.running.cancel(&CallId::new(&caller, session, request.clone()));
                count::cancellation(found);
                return Ok(StatusCode::ACCEPTED.into_response());
            }
            (Kind::Cancelled(_), None) => count::cancellation(false),
            (Kind::Call(_, request), Some(session)) => {
                let id = CallId::new(&caller, session, request.clone());
                let entered = self.running.enter(id);
                entry = Some(entered.ok_or_else(|| {
                    ApiError::invalid("id: a request of this session with the same id is still running")
                })?);
            }
            _ => {}
        }
        let cancelled = entry.as_ref().map(super::running::Entry::token).unwrap_or_default();
        let Message { rest, arguments } = message;
        let call = Call::new(caller, id, bytes, events, cancelled, arguments);
        parts.extensions.insert(Arc::new(call));
        plain_head(&mut parts.headers);
        let sdk = if events && matches!(&kind, Kind::Call(tool, _) if tool.starts_with("bash_")) {
            &self.events
        } else {
            &self.json
        };
        let request = Request::from_parts(parts, Body::from(rest.to_string()));
        let mut response = in_our_form(sdk.handle(request).await.map(Body::new))?;
        if let Some(entry) = entry {
            // A reply of events goes on after this; its call can be cancelled until its end.
            response = response.map(|body| hold(body, entry));
        }
        if kind == Kind::Initialize && response.status().is_success() {
            let id = crate::random::uuid().to_string();
            response
                .headers_mut()
                .insert(SESSION, HeaderValue::from_str(&id).expect("a UUID is plain ASCII"));
        }
        Ok(response)
    }

    async fn caller(&self, request_id: &str, headers: &HeaderMap) -> ApiResult<Caller> {
        let known = match check_origin(headers) {
            Ok(()) => self.access.caller(&self.state, headers).await,
            Err(error) => Err(error),
        };
        known.inspect_err(|error| {
            let code = error.code();
            tracing::warn!(target: "sqlfs::audit", route = "mcp", request_id, code, "caller refused");
        })
    }
}

/// Browsers say which page a request comes from. A page elsewhere that was made to look
/// like this host (DNS rebinding) has no business here, and other clients send no `Origin`.
fn check_origin(headers: &HeaderMap) -> ApiResult<()> {
    let local = |origin: &HeaderValue| {
        let authority =
            origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, rest)| rest);
        authority.is_some_and(|authority| {
            let port = |rest: &str| rest.is_empty() || rest.strip_prefix(':').is_some_and(digits);
            ["localhost", "127.0.0.1", "[::1]"]
                .iter()
                .any(|host| authority.strip_prefix(host).is_some_and(port))
        })
    };
    match headers.get_all(header::ORIGIN).iter().find(|origin| !local(origin)) {
        None => Ok(()),
        Some(_) => Err(ApiError::forbidden("Origin: only pages of this machine may call /mcp")),
    }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn session(headers: &HeaderMap) -> ApiResult<Option<&str>> {
    let Some(value) = headers.get(SESSION) else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=LONGEST_SESSION).contains(&text.len()));
    text.map(Some).ok_or_else(|| ApiError::invalid("Mcp-Session-Id: expected the one that initialize gave"))
}

fn takes_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|line| line.split(',')).any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("text/event-stream")
    })
}

/// The head as the SDK wants it: a client may leave `Accept` out, and a secret that was
/// checked need not travel on.
fn plain_head(headers: &mut HeaderMap) {
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::AUTHORIZATION);
}

/// Refusals of the SDK that are no message of the protocol get the form of every error.
fn in_our_form(response: Response) -> ApiResult<Response> {
    let json = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    match response.status() {
        status if !(status.is_client_error() || status.is_server_error()) || json => Ok(response),
        StatusCode::BAD_REQUEST => {
            let known: Vec<&str> =
                ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
            Err(ApiError::invalid(format!("MCP-Protocol-Version: expected one of {}", known.join(", "))))
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            Err(ApiError::invalid("the body is no message of the protocol"))
        }
        status => {
            tracing::error!(status = status.as_u16(), "the MCP SDK failed");
            Err(ApiError::internal())
        }
    }
}

/// A body that keeps something until it has been sent or dropped.
fn hold<T: Send + Sync + 'static>(body: Body, what: T) -> Body {
    use futures_util::StreamExt;
    Body::from_stream(body.into_data_stream().map(move |piece: Result<Bytes, axum::Error>| {
        let _ = &what;
        piece
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_bytes(value.as_bytes()).unwrap())])
    }

    #[test]
    fn pages_of_other_hosts_are_refused() {
        check_origin(&HeaderMap::new()).unwrap();
        for fine in ["http://localhost", "http://localhost:6274", "https://127.0.0.1:1", "http://[::1]:80"] {
            check_origin(&one(header::ORIGIN, fine)).unwrap();
        }
        for bad in [
            "null",
            "",
            "http://evil.example",
            "http://localhost.evil.example",
            "http://127.0.0.1:80.evil",
            "é",
        ] {
            assert_eq!(check_origin(&one(header::ORIGIN, bad)).unwrap_err().code(), "FORBIDDEN", "{bad}");
        }
    }

    #[test]
    fn who_takes_events_says_so() {
        for (accept, expected) in [
            ("application/json, text/event-stream", true),
            ("application/json, Text/Event-Stream; q=0.5", true),
            ("application/json", false),
            ("*/*", false),
        ] {
            assert_eq!(takes_events(&one(header::ACCEPT, accept)), expected, "{accept}");
        }
    }
}
