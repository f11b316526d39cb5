//! MCP at `/mcp`: the Model Context Protocol over streamable HTTP, for agents.
//!
//! A tool is another door to what a route does: it takes its arguments apart with the
//! route's own functions, calls the same method of the session's `Service`, and its
//! errors come from the same table. Nothing is kept between two requests, so any replica
//! answers any of them. No tool sees the server's own disk.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::post;

use crate::http::HttpState;
use crate::http::extract::RequestId;

pub mod access;
pub mod bounded;
pub mod catalogue;
pub mod count;
pub mod endpoint;
pub mod exec;
pub mod files;
pub mod message;
pub mod read;
pub mod reply;
pub mod running;
pub mod server;
pub mod tools;

/// The route. It only takes POST: there is nothing to subscribe to and no session to end.
pub fn routes(state: &HttpState) -> Router<HttpState> {
    let endpoint = Arc::new(endpoint::Endpoint::new(state));
    let serve = move |id: RequestId, request: Request| endpoint.clone().serve(id, request);
    Router::new().route("/mcp", post(serve))
}
