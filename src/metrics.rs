//! Metrics: what the process counts, under the names that README.md lists and
//! `tests/it/observability.rs` holds. One set for the process, as Prometheus sees it.
//!
//! Labels come from fixed sets: no sandbox, owner or path is ever one, so that the number
//! of series is bounded and nothing of a user's shows.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

mod process;

use process::Process;

const PREFIX: &str = "sqlfs";

/// Upper bounds in seconds: from a warm read to the longest script.
const TIMES: [f64; 18] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    75.0, 300.0,
];

/// `N` labels of fixed sets, as (name, value).
type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Counters by `N` labels.
#[derive(Debug)]
pub struct Counts<const N: usize>(Family<Labels<N>, Counter>);

impl<const N: usize> Counts<N> {
    /// Counts one.
    pub fn one(&self, labels: Labels<N>) {
        self.add(labels, 1);
    }

    /// Counts several.
    pub fn add(&self, labels: Labels<N>, count: u64) {
        self.0.get_or_create(&labels).inc_by(count);
    }
}

/// Distributions of times by `N` labels.
#[derive(Debug)]
pub struct Times<const N: usize>(Family<Labels<N>, Histogram, fn() -> Histogram>);

impl<const N: usize> Times<N> {
    /// Notes a time.
    pub fn note(&self, labels: Labels<N>, time: Duration) {
        self.0.get_or_create(&labels).observe(time.as_secs_f64());
    }
}

/// Labels of a request.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct RequestLabels {
    /// `GET`, `POST`, …; `other` for those that no route has.
    pub method: &'static str,
    /// The route's pattern, such as `/v1/sandboxes/{id}`; empty when none matched.
    pub route: String,
    /// The status code.
    pub status: u16,
}

/// Programs of one language at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuntimeLoad {
    /// Label of the language.
    pub name: &'static str,
    /// Programs that run.
    pub running: usize,
    /// Programs that wait for a place.
    pub waiting: usize,
}

/// State of the service at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Sandboxes that are warm.
    pub sessions: usize,
    /// Estimated bytes of their trees.
    pub tree_bytes: u64,
    /// Bytes of the content cache.
    pub content_bytes: u64,
    /// Look-ups in the content cache that found something, since the start.
    pub content_hits: u64,
    /// Look-ups that found nothing.
    pub content_misses: u64,
    /// Scripts that run.
    pub running: usize,
    /// Requests that wait for their turn or for a run slot.
    pub waiting: usize,
    /// Worker processes that live.
    pub workers: u64,
    /// Those that stand still until it is their turn.
    pub workers_standing: u64,
    /// Worker processes that were started, since the start.
    pub workers_started: u64,
    /// Worker processes that ended in the middle of a script, since the start.
    pub workers_lost: u64,
    /// Languages that scripts run programs of.
    pub runtimes: [RuntimeLoad; 2],
    /// Connections to the databases that are in use.
    pub connections_used: usize,
    /// Connections that are open and idle.
    pub connections_idle: usize,
}

/// Everything that is counted. README.md says what each means.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is described where it is registered")]
pub struct Metrics {
    registry: Registry,
    names: Vec<String>,
    pub requests: Family<RequestLabels, Counter>,
    pub request_time: Times<1>,
    pub execs: Times<2>,
    pub exec_wait: Times<1>,
    pub scripts: Times<1>,
    pub lease_wait: Times<0>,
    pub lease_calls: Times<2>,
    pub leases_lost: Counts<1>,
    pub lateness: Times<0>,
    pub commits: Times<1>,
    pub reruns: Counts<0>,
    pub resolved: Counts<1>,
    pub probes: Times<0>,
    pub trees: Times<1>,
    pub snapshot_reads: Times<1>,
    pub snapshot_writes: Times<1>,
    pub snapshot_bytes: Counts<1>,
    pub blob_reads: Times<1>,
    pub blob_bytes: Counts<1>,
    pub refused_waits: Counts<0>,
    pub runtime_wait: Times<1>,
    pub runtime_refusals: Counts<2>,
    pub network_requests: Times<1>,
    pub network_refusals: Counts<1>,
    pub network_bytes: Counts<1>,
    pub network_dns: Times<1>,
    pub collected: Counts<0>,
    pub mcp_calls: Times<2>,
    pub mcp_errors: Counts<1>,
    pub mcp_cancellations: Counts<1>,
    sampled: Sampled,
}

/// Values that are read when somebody asks.
#[derive(Debug)]
struct Sampled {
    sessions: Gauge,
    tree_bytes: Gauge,
    content_bytes: Gauge,
    content_lookups: Family<Labels<1>, Counter>,
    running: Gauge,
    waiting: Gauge,
    runtimes_running: Family<Labels<1>, Gauge>,
    runtimes_waiting: Family<Labels<1>, Gauge>,
    workers: Gauge,
    workers_standing: Gauge,
    workers_started: Counts<0>,
    workers_lost: Counts<0>,
    connections: Family<Labels<1>, Gauge>,
}

/// The process' metrics.
pub fn metrics() -> &'static Metrics {
    static METRICS: OnceLock<Metrics> = OnceLock::new();
    METRICS.get_or_init(Metrics::new)
}

/// Registers what counts under a name, and keeps the names as Prometheus shows them.
struct Under<'a> {
    registry: &'a mut Registry,
    names: Vec<String>,
}

impl Under<'_> {
    /// `suffix` is what the text form appends to a metric of its kind.
    fn add<M: Metric + Clone>(&mut self, name: &str, suffix: &str, help: &str, metric: M) -> M {
        self.names.push(format!("{PREFIX}_{name}{suffix}"));
        self.registry.register(name, help, metric.clone());
        metric
    }

    fn counts<const N: usize>(&mut self, name: &str, help: &str) -> Counts<N> {
        let counts = Counts(self.add(name, "_total", help, Family::default()));
        if let Ok(none) = Labels::try_from([].as_slice()) {
            drop(counts.0.get_or_create(&none));
        }
        counts
    }

    fn times<const N: usize>(&mut self, name: &str, help: &str) -> Times<N> {
        let times = Family::new_with_constructor((|| Histogram::new(TIMES)) as fn() -> Histogram);
        self.names.push(format!("{PREFIX}_{name}_seconds"));
        self.registry.register_with_unit(name, help, Unit::Seconds, times.clone());
        // One without labels is there from the start, at zero.
        if let Ok(none) = Labels::try_from([].as_slice()) {
            drop(times.get_or_create(&none));
        }
        Times(times)
    }

    fn gauge(&mut self, name: &str, help: &str) -> Gauge {
        self.add(name, "", help, Gauge::default())
    }

    fn bytes(&mut self, name: &str, help: &str) -> Gauge {
        let gauge = Gauge::default();
        self.names.push(format!("{PREFIX}_{name}_bytes"));
        self.registry.register_with_unit(name, help, Unit::Bytes, gauge.clone());
        gauge
    }
}

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Process));
        let mut under = Under { registry: registry.sub_registry_with_prefix(PREFIX), names: Vec::new() };
        let r = &mut under;
        r.registry.register("build", "The program", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        r.names.push(format!("{PREFIX}_build_info"));
        let mut metrics = Self {
            registry: Registry::default(),
            names: Vec::new(),
            requests: r.add("http_requests", "_total", "HTTP requests", Family::default()),
            request_time: r.times("http_request_duration", "Until the head of the reply"),
            execs: r.times("exec_duration", "Execs, from the request to the reply"),
            exec_wait: r.times("exec_wait", "Part of an exec before its script starts"),
            scripts: r.times("script_duration", "Run time of scripts"),
            lease_wait: r.times("lease_wait", "From asking for a lease to its grant or refusal"),
            lease_calls: r.times("lease_call_duration", "Calls to the lease server"),
            leases_lost: r.counts("leases_lost", "Leases that were lost while held"),
            lateness: r.times("heartbeat_lateness", "How late the lease thread woke for what was due"),
            commits: r.times("commit_duration", "Commits"),
            reruns: r.counts("reruns", "Scripts that were run again after a lost race"),
            resolved: r.counts("resolved_outcomes", "Commits whose reply was lost, by what became of them"),
            probes: r.times("freshness_probe_duration", "Reads of a sandbox's row"),
            trees: r.times("tree_duration", "From the fresh row to the tree of its head"),
            snapshot_reads: r.times("snapshot_read_duration", "Path snapshots that were asked for"),
            snapshot_writes: r.times("snapshot_write_duration", "Path snapshots that were made"),
            snapshot_bytes: r.counts("snapshot_bytes", "Bytes of path snapshots, packed"),
            blob_reads: r.times("shared_content_read_duration", "Contents that were asked for in Redis"),
            blob_bytes: r.counts("shared_content_bytes", "Bytes of contents to and from Redis"),
            refused_waits: r.counts("queue_refusals", "Requests that found no place to wait"),
            runtime_wait: r
                .times("runtime_wait", "From asking for a place for a program to its start or refusal"),
            runtime_refusals: r.counts("runtime_refusals", "Programs that found no place to run"),
            network_requests: r.times("network_request_duration", "Requests of scripts to the network"),
            network_refusals: r.counts("network_refusals", "Requests of scripts that may not be made"),
            network_bytes: r.counts("network_bytes", "Bytes of bodies to and from the network"),
            network_dns: r.times("network_dns_duration", "Questions to DNS for scripts"),
            collected: r.counts("collected_contents", "Contents deleted by garbage collection"),
            mcp_calls: r.times("mcp_call_duration", "Tool calls of MCP"),
            mcp_errors: r.counts("mcp_errors", "Tool calls of MCP that failed, by the code of the error"),
            mcp_cancellations: r.counts("mcp_cancellations", "Cancellations, by whether their call ran here"),
            sampled: Sampled {
                sessions: r.gauge("sessions", "Sandboxes that are warm"),
                tree_bytes: r.bytes("tree_cache", "Estimated size of the warm trees"),
                content_bytes: r.bytes("content_cache", "Size of the content cache"),
                content_lookups: r.add(
                    "content_cache_lookups",
                    "_total",
                    "Look-ups in the content cache",
                    Family::default(),
                ),
                running: r.gauge("scripts_running", "Scripts that run"),
                waiting: r.gauge("requests_waiting", "Requests that wait for their turn or a run slot"),
                runtimes_running: r.add("runtimes_running", "", "Programs that run", Family::default()),
                runtimes_waiting: r.add(
                    "runtimes_waiting",
                    "",
                    "Programs that wait to run",
                    Family::default(),
                ),
                workers: r.gauge("workers", "Worker processes that live"),
                workers_standing: r
                    .gauge("workers_standing", "Worker processes that stand still until their turn"),
                workers_started: r.counts("workers_started", "Worker processes that were started"),
                workers_lost: r.counts("workers_lost", "Worker processes that ended in a script"),
                connections: r.add("db_connections", "", "Connections to the databases", Family::default()),
            },
        };
        metrics.names = under.names;
        metrics.registry = registry;
        metrics
    }

    /// All names, as Prometheus shows them; those of the process itself too.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str).chain(process::NAMES)
    }

    /// All of it in Prometheus' text form, with the service's state as of now.
    #[must_use]
    pub fn render(&self, now: &Snapshot) -> String {
        let set = |gauge: &Gauge, value: u64| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        let sampled = &self.sampled;
        set(&sampled.sessions, now.sessions as u64);
        set(&sampled.tree_bytes, now.tree_bytes);
        set(&sampled.content_bytes, now.content_bytes);
        set(&sampled.running, now.running as u64);
        set(&sampled.waiting, now.waiting as u64);
        for (state, count) in [("used", now.connections_used), ("idle", now.connections_idle)] {
            set(&sampled.connections.get_or_create(&[("state", state)]), count as u64);
        }
        for load in now.runtimes.iter().filter(|load| !load.name.is_empty()) {
            let labels = [("runtime", load.name)];
            set(&sampled.runtimes_running.get_or_create(&labels), load.running as u64);
            set(&sampled.runtimes_waiting.get_or_create(&labels), load.waiting as u64);
        }
        set(&sampled.workers, now.workers);
        set(&sampled.workers_standing, now.workers_standing);
        for (counts, count) in
            [(&sampled.workers_started, now.workers_started), (&sampled.workers_lost, now.workers_lost)]
        {
            counts.0.get_or_create(&[]).inner().store(count, Ordering::Relaxed);
        }
        for (result, count) in [("hit", now.content_hits), ("miss", now.content_misses)] {
            let counter = sampled.content_lookups.get_or_create(&[("result", result)]);
            counter.inner().store(count, Ordering::Relaxed);
        }
        let mut out = String::new();
        // Writing to a String fails for no reason but a bug in the registry.
        if let Err(error) = text::encode(&mut out, &self.registry) {
            tracing::error!(%error, "the metrics cannot be written");
        }
        out
    }
}
