//! Logs. Scripts, file contents, secrets and tokens are never logged; text that came
//! from outside is logged as a field, so that it is escaped and cannot forge a line.

use tracing::Level;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::config::{ConfigError, LogFormat};

/// Starts logging to standard error. `filter` has the syntax of [`EnvFilter`]. To be
/// called once, at the start of the process; later calls change nothing.
pub fn init(format: LogFormat, filter: &str) -> Result<(), ConfigError> {
    let filter = EnvFilter::try_new(filter).map_err(|e| ConfigError(format!("RUST_LOG: {e}")))?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // The MCP SDK logs whole replies, that is, scripts' output and files; at no level here.
    let quiet = filter_fn(|line| !line.target().starts_with("rmcp") || *line.level() == Level::ERROR);
    let registry = tracing_subscriber::registry().with(filter);
    let started = match format {
        LogFormat::Text => registry.with(lines.with_filter(quiet)).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true).with_filter(quiet)).try_init(),
    };
    // An error means that logging has started already, as in tests.
    drop(started);
    Ok(())
}
