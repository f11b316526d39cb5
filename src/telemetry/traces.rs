//! Traces: spans sent by OTLP over HTTP. The OpenTelemetry SDK reads its own variables
//! (`OTEL_*`) for everything but whether there are traces at all.

use std::collections::HashMap;
use std::time::Duration;

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tracing::Span;
use tracing_opentelemetry::{OpenTelemetryLayer, OpenTelemetrySpanExt};
use tracing_subscriber::registry::LookupSpan;

use crate::config::ConfigError;

/// The longest that the end of the process waits for spans to be sent.
const FLUSH: Duration = Duration::from_secs(3);

/// The way to the collector.
#[derive(Debug)]
pub(super) struct Traces(SdkTracerProvider);

impl Traces {
    pub(super) fn start() -> Result<Self, ConfigError> {
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .build()
            .map_err(|error| ConfigError(format!("OTEL_EXPORTER_OTLP_ENDPOINT: {error}")))?;
        // OTEL_SERVICE_NAME comes first.
        let mut resource = Resource::builder();
        let named = Resource::builder().build();
        let name = named.get(&"service.name".into()).map(|name| name.to_string());
        if name.is_none_or(|name| name.starts_with("unknown_service")) {
            resource = resource.with_service_name("sqlfs");
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        Ok(Self(provider))
    }

    pub(super) fn layer<S>(&self) -> OpenTelemetryLayer<S, SdkTracer>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("sqlfs"))
            .with_location(false)
            .with_threads(false)
    }

    pub(super) fn end(self) {
        if let Err(error) = self.0.shutdown_with_timeout(FLUSH) {
            tracing::warn!(%error, "the last spans were not sent");
        }
    }
}

/// Makes `span` part of the trace that a request's `traceparent` header names. Without
/// traces, and with a header that is malformed, nothing happens.
pub fn join(span: &Span, traceparent: Option<&str>) {
    let Some(traceparent) = traceparent else { return };
    let carrier = HashMap::from([("traceparent".to_owned(), traceparent.to_owned())]);
    let parent = TraceContextPropagator::new().extract(&carrier);
    // It fails where no layer listens.
    let _ = span.set_parent(parent);
}
