//! The HTTP interface. Handlers take a request apart, call the session's [`Service`],
//! and put the reply together; they see neither the store nor the lease, so no route
//! can go round the session's guards.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{delete, get, post};

use crate::config::Config;
use crate::mcp;
use crate::session::Service;

pub mod admin;
pub mod apply;
pub mod archive;
pub mod auth;
pub mod batch;
pub mod body;
pub mod codes;
pub mod content;
pub mod edit;
pub mod error;
pub mod exec;
pub mod export;
pub mod extract;
pub mod files;
pub mod health;
pub mod ingest;
pub mod json;
pub mod observe;
pub mod openapi;
pub mod operators;
pub mod options;
pub mod range;
pub mod rate;
pub mod sandboxes;
pub mod serve;
pub mod sse;
pub mod text;
pub mod tree;
pub mod types;
pub mod wire;
pub mod write;

pub use auth::Keys;
pub use rate::RateLimit;
pub use serve::serve;

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub struct HttpState {
    /// The sandboxes.
    pub service: Service,
    /// Limits.
    pub config: Arc<Config>,
    /// Secrets.
    pub keys: Arc<Keys>,
    /// How often one address may try a secret.
    pub limits: Arc<Limits>,
}

/// Limits for each address.
#[derive(Debug)]
pub struct Limits {
    /// On `/v1/auth/bootstrap`.
    pub bootstrap: RateLimit,
    /// On `/v1/auth/admin` and the operators' routes, together.
    pub admin: RateLimit,
}

impl HttpState {
    /// With the limits of the configuration.
    #[must_use]
    pub fn new(service: Service, config: Arc<Config>, keys: Arc<Keys>) -> Self {
        let bootstrap = RateLimit::new(config.bootstrap_rate_max, config.bootstrap_rate_window);
        let admin = RateLimit::new(config.admin_rate_max, config.admin_rate_window);
        Self { service, config, keys, limits: Arc::new(Limits { bootstrap, admin }) }
    }
}

/// The routes of the second listener, for operators.
pub fn operators_router(service: Service) -> Router {
    Router::new()
        .route("/metrics", get(operators::metrics))
        .route("/debug/sessions", get(operators::sessions))
        .fallback(async || error::ApiError::no_route())
        .layer(from_fn(observe::observe))
        .with_state(service)
}

/// All routes.
pub fn router(state: HttpState) -> Router {
    Router::new()
        .route("/livez", get(health::live))
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/openapi.json", get(openapi::json))
        .route("/docs", get(openapi::docs))
        .route("/v1/auth/bootstrap", post(auth::bootstrap))
        .route("/v1/auth/admin", post(auth::admin))
        .route("/v1/admin/sandboxes", get(admin::list))
        .route("/v1/admin/sandboxes/{id}", delete(admin::delete))
        .route("/v1/admin/revoke", post(admin::revoke))
        .route("/v1/sandboxes", post(sandboxes::create).get(sandboxes::list))
        .route("/v1/sandboxes/{id}", get(sandboxes::get).patch(sandboxes::patch).delete(sandboxes::delete))
        .route("/v1/sandboxes/{id}/exec-sync", post(exec::exec_sync))
        .route("/v1/sandboxes/{id}/exec", post(exec::exec))
        .route("/v1/sandboxes/{id}/exec-sync-batch", post(batch::exec_sync_batch))
        .route(
            "/v1/sandboxes/{id}/files/{*path}",
            get(files::get).put(files::put).patch(edit::patch).delete(files::delete),
        )
        .route("/v1/sandboxes/{id}/writeFiles", post(write::write_files))
        .route("/v1/sandboxes/{id}/mkdir", post(write::mkdir))
        .route("/v1/sandboxes/{id}/tree", get(tree::tree))
        .route("/v1/sandboxes/{id}/ingest-files", post(ingest::ingest_files))
        .route("/v1/sandboxes/{id}/ingest", post(ingest::ingest))
        .route("/v1/sandboxes/{id}/export", get(export::export))
        .merge(mcp::routes(&state))
        .fallback(async || error::ApiError::no_route())
        .method_not_allowed_fallback(async || error::ApiError::method_not_allowed())
        .layer(from_fn(observe::observe))
        .with_state(state)
}
