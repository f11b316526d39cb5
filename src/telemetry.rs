//! Logs, and traces when a collector is configured. Scripts, file contents, secrets and
//! tokens are never logged; text that came from outside is logged as a field, so that it is
//! escaped and cannot forge a line.

use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{ConfigError, LogFormat};

mod traces;

pub use traces::join;

/// Target of all spans: they exist for traces alone, so that without a collector they cost
/// nothing and lines look the same.
pub const SPANS: &str = "sqlfs::span";

/// A step of an exec, as a span of its trace.
macro_rules! span {
    ($name:literal) => {
        tracing::trace_span!(target: crate::telemetry::SPANS, $name)
    };
}
pub(crate) use span;

/// Keep it until the end of the process: what was traced and not sent yet is sent when it
/// is dropped.
#[derive(Debug, Default)]
pub struct Telemetry {
    traces: Option<traces::Traces>,
}

/// Starts logging to standard error, and tracing if `traced`. `filter` has the syntax of
/// [`EnvFilter`]. To be called once, at the start of the process; later calls change
/// nothing.
pub fn init(format: LogFormat, filter: &str, traced: bool) -> Result<Telemetry, ConfigError> {
    let filter = EnvFilter::try_new(filter).map_err(|e| ConfigError(format!("RUST_LOG: {e}")))?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // The MCP SDK logs whole replies, that is, scripts' output and files; at no level here.
    let quiet = filter_fn(|line| !line.target().starts_with("rmcp") || *line.level() == Level::ERROR);
    let filter = filter.and(quiet);
    let lines = match format {
        LogFormat::Text => lines.with_filter(filter).boxed(),
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(false).with_span_list(false);
            lines.with_filter(filter).boxed()
        }
    };
    let traces = if traced { Some(traces::Traces::start()?) } else { None };
    let spans = traces
        .as_ref()
        .map(|traces| traces.layer().with_filter(Targets::new().with_target(SPANS, tracing::Level::TRACE)));
    // An error means that logging has started already, as in tests.
    drop(tracing_subscriber::registry().with(lines).with(spans).try_init());
    Ok(Telemetry { traces })
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(traces) = self.traces.take() {
            traces.end();
        }
    }
}
