//! Listing a sandbox.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::HttpState;
use super::body::off_workers;
use super::error::{ApiError, ApiResult};
use super::extract::{self, Query, Target};
use super::types::rfc3339_exact;
use super::wire::TreeEntry;
use crate::fs::{Node, NodeBody, Tree};

const X_TRUNCATED: HeaderName = HeaderName::from_static("x-truncated");
/// Paths are at most 4096 bytes, so no tree is deeper.
const DEEPEST: i64 = 2048;

fn entry<'a>(path: &'a str, node: &'a Node) -> TreeEntry<'a> {
    let target = match &node.body {
        NodeBody::Symlink { target } => Some(&**target),
        NodeBody::File { .. } | NodeBody::Dir { .. } => None,
    };
    let mtime = rfc3339_exact(node.mtime_ns);
    TreeEntry { path, kind: node.kind().into(), size: node.size(), mode: node.mode, mtime, target }
}

/// `GET …/tree?prefix=&depth=`: `prefix` itself and what is below it.
pub async fn tree(State(state): State<HttpState>, target: Target, query: Query) -> ApiResult<Response> {
    let mut params = query.fields(&["prefix", "depth"])?;
    let prefix = extract::absolute("prefix", &params.text("prefix")?.unwrap_or_else(|| "/".into()))?;
    let depth = params.integer("depth", 0..=DEEPEST)?.map(|depth| depth as usize);
    let most = state.config.max_tree_entries;
    let view = state.service.read(&target.caller, target.sandbox).await?;
    let (json, truncated) = off_workers(move || render(&view.tree, &prefix, depth, most)).await??;
    let mut response = Body::from(json).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if truncated {
        response.headers_mut().insert(X_TRUNCATED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

fn render(tree: &Tree, prefix: &str, depth: Option<usize>, most: usize) -> ApiResult<(Vec<u8>, bool)> {
    let mut entries = tree.walk(prefix, depth).map_err(|errno| ApiError::fs(errno, prefix))?;
    let mut json = vec![b'['];
    for (path, _, node) in entries.by_ref().take(most) {
        if json.len() > 1 {
            json.push(b',');
        }
        serde_json::to_writer(&mut json, &entry(&path, node)).map_err(|error| {
            tracing::error!(%error, "a tree entry could not be written");
            ApiError::internal()
        })?;
    }
    json.push(b']');
    Ok((json, entries.next().is_some()))
}
