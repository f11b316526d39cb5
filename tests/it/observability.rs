//! What an operator sees: metrics under the names of README.md, traces at a collector, log
//! lines with the names of DEVELOPER.md; and nothing of what users wrote in any of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};

use crate::support::http::send;
use crate::support::watched::Watched;
use crate::support::{Api, TestStore, eventually, free_port};

/// Must be found nowhere but in replies.
const CANARY: &str = "canary-5f2a";
const SOON: Duration = Duration::from_secs(20);

/// One of everything that leaves a trace in the metrics, each with the canary in it.
async fn use_it(api: &Api) -> String {
    let id = api.create_with(&json!({"env": {"CANARY": CANARY}, "name": CANARY})).await["id"].clone();
    let id = id.as_str().expect("an id").to_owned();
    let script = format!("echo {CANARY} > {CANARY}; cat {CANARY}; cat");
    let body = json!({"script": script, "stdin": CANARY, "env": {"B": CANARY}, "args": [CANARY]});
    assert_eq!(api.exec_with(&id, &body).await["committed"], true);
    let read = json!({"script": format!("cat {CANARY}"), "readOnly": true});
    assert_eq!(api.exec_with(&id, &read).await["committed"], false);
    let slow = json!({"script": format!("echo {CANARY}; sleep 60"), "timeoutMs": 100});
    api.try_exec(&id, &slow).await.refused(408, "EXEC_TIMEOUT");
    api.get(&format!("/v1/sandboxes/{id}/files/home/user/{CANARY}")).await.expect(200);
    api.get(&format!("/{CANARY}")).await.refused(404, "NOT_FOUND");
    id
}

#[tokio::test]
async fn metrics_count_what_happened_and_name_nobody() {
    let watched = Watched::start(TestStore::postgres().await, &[]).await;
    let api = watched.server.api().await;
    let id = use_it(&api).await;
    let metrics = watched.metrics().await;
    let execs = |mode: &str, outcome: &str| {
        format!("sqlfs_exec_duration_seconds_count{{mode=\"{mode}\",outcome=\"{outcome}\"}}")
    };
    let file_route = "/v1/sandboxes/{id}/files/{*path}";
    for (name, value) in [
        (execs("write", "committed"), 1.0),
        (execs("read", "unchanged"), 1.0),
        (execs("write", "timeout"), 1.0),
        ("sqlfs_exec_wait_seconds_count{mode=\"write\"}".into(), 2.0),
        ("sqlfs_script_duration_seconds_count{mode=\"write\"}".into(), 2.0),
        ("sqlfs_script_duration_seconds_count{mode=\"read\"}".into(), 1.0),
        ("sqlfs_lease_wait_seconds_count".into(), 2.0),
        ("sqlfs_commit_duration_seconds_count{outcome=\"done\"}".into(), 1.0),
        ("sqlfs_tree_duration_seconds_count{kind=\"warm\"}".into(), 4.0),
        (format!("sqlfs_http_requests_total{{method=\"GET\",route=\"{file_route}\",status=\"200\"}}"), 1.0),
        ("sqlfs_http_requests_total{method=\"GET\",route=\"\",status=\"404\"}".into(), 1.0),
        ("sqlfs_sessions".into(), 1.0),
        ("sqlfs_scripts_running".into(), 0.0),
        ("sqlfs_requests_waiting".into(), 0.0),
    ] {
        assert_eq!(metrics.get(&name), Some(&value), "{name} in {metrics:#?}");
    }
    for above_zero in [
        "sqlfs_tree_cache_bytes",
        "sqlfs_content_cache_bytes",
        "sqlfs_content_cache_lookups_total{result=\"hit\"}",
        "sqlfs_db_connections{state=\"idle\"}",
        "process_resident_memory_bytes",
        "process_open_fds",
    ] {
        assert!(metrics.get(above_zero).is_some_and(|value| *value > 0.0), "{above_zero} in {metrics:#?}");
    }
    let warm = watched.get("/debug/sessions").await.expect(200).json();
    assert_eq!((&warm["sessions"][0]["sandbox"], &warm["sessions"][0]["version"]), (&json!(id), &json!(1)));
    for path in ["/metrics", "/debug/sessions"] {
        let text = watched.get(path).await.text().to_owned();
        assert!(!text.contains(CANARY) && !text.contains("tester"), "{path}: {text}");
        // They are the operators' alone.
        api.get(path).await.refused(404, "NOT_FOUND");
    }
    watched.get("/v1/sandboxes").await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn a_reply_that_was_kept_is_told_from_one_that_was_made() {
    let watched = Watched::start(TestStore::sqlite(), &[]).await;
    let api = watched.server.api().await;
    let id = api.create().await;
    for _ in 0..3 {
        let request = api.request(reqwest::Method::POST, &format!("/v1/sandboxes/{id}/exec-sync"));
        let request = request.header("idempotency-key", CANARY).json(&json!({"script": "echo x > f"}));
        send(request).await.expect(200);
    }
    let metrics = watched.metrics().await;
    for (outcome, count) in [("committed", 1.0), ("replayed", 2.0)] {
        let name = format!("sqlfs_exec_duration_seconds_count{{mode=\"write\",outcome=\"{outcome}\"}}");
        assert_eq!(metrics.get(&name), Some(&count), "{metrics:#?}");
    }
    assert_eq!(metrics.get("sqlfs_script_duration_seconds_count{mode=\"write\"}"), Some(&1.0));
    assert!(!watched.get("/metrics").await.text().contains(CANARY));
}

#[tokio::test]
async fn what_waits_and_what_runs_is_seen() {
    let watched = Watched::start(TestStore::sqlite(), &[("MAX_QUEUE_PER_SANDBOX", "2")]).await;
    let api = watched.server.api().await;
    let id = api.create().await;
    let script = json!({"script": "while [ ! -e go ]; do sleep 0.01; done", "timeoutMs": 60_000});
    let start = || {
        let (api, id, script) = (api.clone(), id.clone(), script.clone());
        tokio::spawn(async move { api.try_exec(&id, &script).await })
    };
    let seen = async |running: f64, waiting: f64| {
        eventually("so many run and wait", SOON, || async {
            let metrics = watched.metrics().await;
            let is = |name: &str, value: f64| metrics.get(name) == Some(&value);
            (is("sqlfs_scripts_running", running) && is("sqlfs_requests_waiting", waiting)).then_some(())
        })
        .await;
    };
    let mut tasks = vec![start()];
    // Else all three would need a place to wait in the same moment.
    seen(1.0, 0.0).await;
    tasks.extend([start(), start()]);
    seen(1.0, 2.0).await;
    api.try_exec(&id, &json!({"script": "true"})).await.refused(429, "QUEUE_FULL");
    assert_eq!(watched.metrics().await.get("sqlfs_queue_refusals_total"), Some(&1.0));
    let warm = watched.get("/debug/sessions").await.expect(200).json();
    assert_eq!(warm["sessions"][0]["writing"], true);
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
}

/// Names of README.md's table, which end in what Prometheus shows.
fn documented() -> BTreeSet<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let text = std::fs::read_to_string(path).expect("README.md");
    let part = text.split("<!-- metrics -->").nth(1).and_then(|rest| rest.split("<!-- /metrics -->").next());
    let lines = part.expect("README.md has a table of metrics").lines();
    lines.filter_map(|line| Some(line.strip_prefix("| `")?.split(['`', '{']).next()?.to_owned())).collect()
}

#[tokio::test]
async fn the_table_of_metrics_is_the_programs() {
    let watched = Watched::start(TestStore::sqlite(), &[]).await;
    let text = watched.get("/metrics").await.expect(200).text().to_owned();
    let served = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).map(|line| {
        match line.split_once(' ').expect("a name and a type") {
            (name, "counter") => format!("{name}_total"),
            (name, "info") => format!("{name}_info"),
            (name, _) => name.to_owned(),
        }
    });
    let documented = documented();
    for name in served {
        assert!(documented.contains(&name), "README.md does not list {name}");
    }
    let names = sqlfs::metrics::metrics().names().map(str::to_owned);
    assert_eq!(names.collect::<BTreeSet<_>>(), documented);
}

/// A collector of traces: OTLP over HTTP, as far as spans go.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Span>>>);

impl Collector {
    async fn start() -> (Self, String) {
        let collector = Self::default();
        let spans = collector.clone();
        let take = async move |body: axum::body::Bytes| {
            let request = ExportTraceServiceRequest::decode(body).expect("an export request");
            let sent = request.resource_spans.into_iter().flat_map(|resource| {
                let attributes = resource.resource.expect("a resource").attributes;
                assert!(format!("{attributes:?}").contains("sqlfs"), "the service has a name");
                resource.scope_spans.into_iter().flat_map(|scope| scope.spans)
            });
            spans.0.lock().expect("spans").extend(sent);
        };
        let routes = axum::Router::new().route("/v1/traces", axum::routing::post(take));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(sqlfs::http::serve(listener, routes, std::future::pending()));
        (collector, url)
    }
}

#[tokio::test]
async fn traces_show_the_steps_of_an_exec_in_the_callers_trace() {
    let (collector, url) = Collector::start().await;
    let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()), ("OTEL_BSP_SCHEDULE_DELAY", "100")];
    let watched = Watched::start(TestStore::postgres().await, &env).await;
    let api = watched.server.api().await;
    use_it(&api).await;
    let id = api.create().await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let request = api.request(reqwest::Method::POST, &format!("/v1/sandboxes/{id}/exec-sync"));
    let request = request.header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
    send(request.json(&json!({"script": "echo x > f"}))).await.expect(200);
    let is = |id: &[u8], hex: &str| {
        let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
        id.iter().flat_map(digits).eq(hex.chars().map(Some))
    };
    let spans = eventually("the trace has arrived", SOON, || async {
        let spans = collector.0.lock().expect("spans").clone();
        let ours: Vec<Span> = spans.into_iter().filter(|span| is(&span.trace_id, trace)).collect();
        ours.iter().any(|span| span.name.starts_with("POST ")).then_some(ours)
    })
    .await;
    let names: BTreeSet<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    let request = "POST /v1/sandboxes/{id}/exec-sync";
    assert_eq!(names, BTreeSet::from([request, "lease", "probe", "script", "commit"]));
    let root = spans.iter().find(|span| span.name == request).expect("the request");
    assert!(is(&root.parent_span_id, "00f067aa0ba902b7"), "{root:?}");
    let all = format!("{:?}", collector.0.lock().expect("spans"));
    for hidden in [CANARY, api.token.as_str(), id.as_str()] {
        assert!(!all.contains(hidden), "{hidden} in a span");
    }
}

#[tokio::test]
async fn a_collector_that_is_away_hurts_nobody() {
    let nobody = format!("http://127.0.0.1:{}", free_port());
    let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", nobody.as_str()), ("OTEL_BSP_SCHEDULE_DELAY", "50")];
    let mut watched = Watched::start(TestStore::sqlite(), &env).await;
    let api = watched.server.api().await;
    let id = api.create().await;
    assert_eq!(api.exec(&id, "echo x > f").await["committed"], true);
    watched.server.terminate();
    assert!(watched.server.exited().await.success());
}

#[tokio::test]
async fn json_lines_have_the_documented_names_and_hide_what_users_wrote() {
    let env = [("LOG_FORMAT", "json"), ("RUST_LOG", "debug,sqlfs=trace")];
    let watched = Watched::start(TestStore::postgres().await, &env).await;
    let api = watched.server.api().await;
    use_it(&api).await;
    // The last request's line is on its way through a pipe.
    let logs = eventually("the last request is in the log", SOON, || async {
        let logs = watched.server.logs();
        logs.contains("\"status\":404").then_some(logs)
    })
    .await;
    let lines: Vec<Value> = logs.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of_request = lines.iter().find(|line| line["message"] == "request" && line["status"] == 408);
    let fields: BTreeSet<&str> = of_request
        .expect("a line for each request")
        .as_object()
        .expect("fields")
        .keys()
        .map(String::as_str)
        .collect();
    let wanted = [
        "timestamp",
        "level",
        "target",
        "message",
        "request_id",
        "method",
        "path",
        "status",
        "code",
        "duration_ms",
    ];
    assert_eq!(fields, BTreeSet::from(wanted));
    let audit = lines.iter().find(|line| line["target"] == "sqlfs::audit").expect("an audit line");
    assert_eq!((&audit["message"], &audit["sub"]), (&json!("token issued"), &json!("tester")));
    // Paths of requests are logged, and a file's name is part of one; nothing else is.
    let lines: Vec<&str> = logs.lines().filter(|line| !line.contains("\"path\":\"/")).collect();
    let all = lines.join("\n");
    for hidden in [CANARY, api.token.as_str(), crate::support::server::AUTH_SECRET] {
        assert!(!all.contains(hidden), "{hidden} in the logs: {all}");
    }
}

/// Words of a text that begin like a metric of ours.
fn named_in(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !word(c)).filter(|name| name.starts_with("sqlfs_"));
    words.map(|name| name.trim_end_matches("_count").trim_end_matches("_bucket").to_owned()).collect()
}

#[test]
fn the_dashboard_asks_for_metrics_that_are_there() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docker/grafana-dashboard.json");
    let text = std::fs::read_to_string(path).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let asked: BTreeSet<String> = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("targets"))
        .flat_map(|target| named_in(target["expr"].as_str().expect("a query")))
        .collect();
    let there = documented();
    assert!(asked.len() > 12, "{asked:?}");
    assert_eq!(asked.difference(&there).collect::<Vec<_>>(), Vec::<&String>::new());
}
