//! Liveness and readiness.

use axum::Json;
use axum::extract::State;

use super::HttpState;
use super::error::{ApiError, ApiResult};
use super::wire::{Live, Ready};

/// `GET /livez`, `GET /healthz`: the process answers.
pub async fn live() -> Json<Live> {
    Json(Live { status: "ok" })
}

/// `GET /readyz`: what this replica needs is there.
pub async fn ready(State(state): State<HttpState>) -> ApiResult<Json<Ready>> {
    let readiness = state.service.readiness().await;
    if readiness.lacks.is_empty() {
        Ok(Json(Ready { status: "ok", degraded: readiness.degraded }))
    } else {
        Err(ApiError::not_ready(readiness.lacks))
    }
}
