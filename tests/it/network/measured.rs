//! What the metrics say of scripts' requests: each once, by how it ended, and nothing of
//! what scripts wrote.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sqlfs::metrics::{Snapshot, metrics};
use tokio::io::AsyncWriteExt;

use super::sandbox;
use super::ssrf::{Names, broker, fetch};
use crate::support::watched::Watched;
use crate::support::web::Web;
use crate::support::{TestStore, eventually, free_port};

const CANARY: &str = "canary-1d0e";
const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn requests_are_counted_by_how_they_ended() {
    let web = Web::start().await;
    let garbage = Web::says("canary, no HTTP\r\n\r\n").await;
    let silent = Web::raw(|mut stream| async move {
        std::future::pending::<()>().await;
        stream.write_all(b"").await
    })
    .await;
    let closed = format!("127.0.0.1:{}", free_port());
    let private = format!("{},{},{},{closed}", web.addr, garbage.addr, silent.addr);
    let env =
        [("NETWORK_ALLOW_PRIVATE", private.as_str()), ("NETWORK_ALLOWED_HOSTS", "127.0.0.1,10.0.0.1,*.test")];
    let watched = Watched::start(TestStore::sqlite(), &env).await;
    let api = watched.server.api().await;
    let id = sandbox(&api, json!(true)).await;
    let listed = sandbox(&api, json!({"allow": [format!("{}/{CANARY}", web.url())]})).await;
    let long = "a".repeat(70);
    let url = web.url();
    let script = format!(
        "curl -s -d {CANARY} {url}/method; curl -sL '{url}/redirect/302?/bytes/1000' -o {CANARY}; curl -s -I {url}/text >/dev/null
         curl -s http://8.8.8.8/{CANARY}; curl -s http://10.0.0.1/; curl -s ftp://{CANARY}/; curl -s -H 'Host: {CANARY}' {url}/
         curl -s http://{long}.test/; curl -s http://{closed}/; curl -s https://{}/; curl -s {}/
         curl -s -m 0.2 {}/; curl -s --max-filesize 5 {url}/text; true",
        web.addr,
        garbage.url(),
        silent.url(),
    );
    assert_eq!(api.stdout(&id, &script).await, format!("POST {}\n", CANARY.len()));
    api.exec(&listed, &format!("curl -s {url}/text")).await;
    let slow = json!({"script": format!("curl -s {}/", silent.url()), "timeoutMs": 300});
    api.try_exec(&id, &slow).await.refused(408, "EXEC_TIMEOUT");

    let count =
        |outcome: &str| format!("sqlfs_network_request_duration_seconds_count{{outcome=\"{outcome}\"}}");
    let refused = |reason: &str| format!("sqlfs_network_refusals_total{{reason=\"{reason}\"}}");
    let bytes = |direction: &str| format!("sqlfs_network_bytes_total{{direction=\"{direction}\"}}");
    eventually("the request of the script that was cut off is counted", SOON, || async {
        (watched.metrics().await.get(&count("cut_off")) == Some(&1.0)).then_some(())
    })
    .await;
    let metrics = watched.metrics().await;
    let method = format!("POST {}\n", CANARY.len());
    for (name, value) in [
        (count("answered"), 4.0),
        (count("refused"), 3.0),
        (count("malformed"), 2.0),
        (count("dns"), 1.0),
        (count("connect"), 1.0),
        (count("tls"), 1.0),
        (count("broken"), 1.0),
        (count("timeout"), 1.0),
        (count("too_large"), 1.0),
        (refused("operator"), 1.0),
        (refused("address"), 1.0),
        (refused("list"), 1.0),
        (bytes("sent"), CANARY.len() as f64),
        (bytes("received"), (method.len() + "moved\n".len() + 1000) as f64),
        ("sqlfs_network_dns_duration_seconds_count{result=\"unknown\"}".to_owned(), 1.0),
    ] {
        assert_eq!(metrics.get(&name), Some(&value), "{name} in {metrics:#?}");
    }
    let text = watched.get("/metrics").await.text().to_owned();
    for hidden in [CANARY, "127.0.0.1", "8.8.8.8", "canary"] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
}

#[tokio::test]
async fn refusals_beyond_the_limit_and_names_that_are_found_are_counted() {
    /// The set of this process counts other tests, too: it can only grow.
    fn value(name: &str) -> f64 {
        let text = metrics().render(&Snapshot::default());
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(0.0, |value| value.trim().parse().expect("a number"))
    }
    let (web, names) = (Web::start().await, Arc::<Names>::default());
    let found = "sqlfs_network_dns_duration_seconds_count{result=\"found\"}";
    let before = value(found);
    let url = format!("http://private.test:{}/text", web.addr.port());
    fetch(&broker(&web.addr.to_string(), &names), &url).await.expect("an answer");
    assert!(value(found) > before);
    let too_many = "sqlfs_network_refusals_total{reason=\"too_many\"}";
    let before = value(too_many);
    let (broker, scanner) = (broker("", &names), sqlfs::ids::SandboxId::random());
    for _ in 0..101 {
        let ask = super::ssrf::get("http://10.0.0.1/");
        broker.fetch(scanner, &sqlfs::broker::Allow::All, ask).await.expect_err("a private place");
    }
    assert!(value(too_many) > before);
}
