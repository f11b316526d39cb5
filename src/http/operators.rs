//! The second listener, for operators: it asks for no token, so it listens on loopback
//! unless told otherwise. It tells nothing of what is in a sandbox.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::error::millis;
use crate::metrics;
use crate::session::Service;

/// `GET /metrics`, in Prometheus' text form.
pub async fn metrics(State(service): State<Service>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], metrics::metrics().render(&service.snapshot()))
}

/// `GET /debug/sessions`: the sandboxes that are warm here, the largest first.
pub async fn sessions(State(service): State<Service>) -> Json<Value> {
    let sessions = service.warm_sessions();
    let lines: Vec<Value> = sessions
        .iter()
        .map(|warm| {
            json!({
                "tenant": warm.tenant,
                "sandbox": warm.sandbox,
                "version": warm.version,
                "entries": warm.entries,
                "treeBytes": warm.tree_bytes,
                "idleMs": millis(warm.idle),
                "writing": warm.writing,
            })
        })
        .collect();
    Json(json!({"sessions": lines}))
}
