//! Liveness and readiness.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::HttpState;
use super::error::{ApiError, ApiResult};

/// `GET /livez`, `GET /healthz`: the process answers.
pub async fn live() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// `GET /readyz`: what this replica needs is there.
pub async fn ready(State(state): State<HttpState>) -> ApiResult<Json<Value>> {
    let readiness = state.service.readiness().await;
    if readiness.lacks.is_empty() {
        Ok(Json(json!({"status": "ok", "degraded": readiness.degraded})))
    } else {
        Err(ApiError::not_ready(readiness.lacks))
    }
}
