//! The whole program put together. (Interface; the body comes with the session.)

use std::sync::Arc;

use crate::config::Config;
use crate::http::HttpState;

pub mod secret;

pub use secret::auth_secret;

/// Owner of the sandboxes of the command line, and of the token that `serve` prints.
pub const LOCAL_OWNER: &str = "local";
/// The tenant of `DATABASE_URL` and of SQLite.
pub const DEFAULT_TENANT: &str = "default";
/// File in the data folder where the server that holds it leaves `IP:PORT`.
pub const ADDRESS_FILE: &str = "address";

/// Why the start is refused: one line.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No secret.
    #[error("{0}")]
    Secret(#[from] secret::SecretError),
}

/// Stores, interpreter and sessions, running.
pub struct App {}

impl App {
    /// What the HTTP interface needs.
    #[must_use]
    pub fn http_state(&self) -> HttpState {
        todo!()
    }

    /// Ends running work in order and closes the stores.
    pub async fn shutdown(self) {
        todo!()
    }
}

/// Opens the stores and starts the sessions.
pub async fn open(_config: Arc<Config>) -> Result<App, StartError> {
    todo!()
}

/// Serves until SIGTERM or SIGINT.
pub async fn serve(_config: Arc<Config>) -> Result<(), StartError> {
    todo!()
}

/// URL of the store: `DATABASE_URL`, or SQLite in the data folder.
#[must_use]
pub fn store_url(config: &Config) -> String {
    match &config.database_url {
        Some(url) => url.0.clone(),
        None => format!("sqlite:{}", config.data_dir.join("sqlfs.db").display()),
    }
}
