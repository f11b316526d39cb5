//! The protocol's requests: what the server is, which tools it has, and a call of one.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorCode, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use super::message::Call;
use super::{catalogue, count, reply, tools};
use crate::http::HttpState;
use crate::http::error::millis;

/// How often a client that asked for progress hears of a running call.
const PROGRESS: Duration = Duration::from_secs(2);

/// The code that JSON-RPC protocols use for a request that its client gave up.
const CANCELLED: ErrorCode = ErrorCode(-32800);

const INSTRUCTIONS: &str = "Sandboxes are durable file systems, each with bash. Make one with \
sandbox_create and keep its id; files are there until sandbox_delete. One bash_exec is one transaction: \
read, compute and write in one script, and nothing slips in between. A call that fails says in `applied` \
whether files changed, and in `retryable` whether to send it again.";

/// Answers the protocol's requests. Cheap to clone.
#[derive(Clone)]
pub struct McpServer {
    state: HttpState,
}

impl McpServer {
    /// Of one server.
    #[must_use]
    pub fn new(state: HttpState) -> Self {
        Self { state }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("sqlfs", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(catalogue::all().iter().map(|entry| entry.tool.clone()).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let Some(call) = parts.and_then(|parts| parts.extensions.get::<Arc<Call>>()).cloned() else {
            return Err(ErrorData::internal_error("the call came without its HTTP request", None));
        };
        let Some(entry) = catalogue::find(&request.name) else {
            count::unknown_tool();
            return Err(ErrorData::invalid_params(unknown(&request.name), None));
        };
        let running = count::Counted::begin(entry.name);
        let mut work = std::pin::pin!(tools::run(&self.state, &call, entry));
        let result = loop {
            tokio::select! {
                result = &mut work => break result,
                () = context.ct.cancelled() => return Err(cancelled()),
                () = call.cancelled.cancelled() => return Err(cancelled()),
                () = tokio::time::sleep(PROGRESS) => progress(&context, &call, running.elapsed()).await,
            }
        };
        tracing::debug!(
            request_id = &*call.request_id,
            tool = entry.name,
            code = result.as_ref().err().map(crate::http::error::ApiError::code),
            duration_ms = millis(running.elapsed()),
            "tool call"
        );
        running.ended(result.as_ref().err());
        let result: CallToolResult = match result {
            Ok(done) => done.into(),
            Err(error) => reply::failed(&error, &call.request_id),
        };
        Ok(result.into())
    }
}

/// Nobody reads it: the client gave the call up, or left. Its work was dropped, which ends
/// a script without a trace unless its commit had begun.
fn cancelled() -> ErrorData {
    ErrorData::new(CANCELLED, "the call was cancelled", None)
}

async fn progress(context: &RequestContext<RoleServer>, call: &Call, running: Duration) {
    let Some(token) = context.meta.get_progress_token().filter(|_| call.events) else { return };
    let seconds = running.as_secs_f64().round();
    let note =
        ProgressNotificationParam::new(token, seconds).with_message(format!("running for {seconds} s"));
    // A client that does not hear it has left; that is noticed elsewhere.
    let _ = context.peer.notify_progress(note).await;
}

fn unknown(name: &str) -> Cow<'static, str> {
    let names: Vec<&str> = catalogue::all().iter().map(|entry| entry.name).collect();
    let shown: String = name.chars().take(64).collect();
    match crate::http::json::nearest(name, &names) {
        Some(near) => format!("no such tool: {shown}; did you mean {near}?").into(),
        None => format!("no such tool: {shown}; there are {}", names.join(", ")).into(),
    }
}
