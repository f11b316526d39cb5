//! The official client (package `mcp` of PyPI), configured as README.md says, against two
//! replicas: every tool, with and without the handshake of older protocol versions.

use std::process::Command;
use std::time::Duration;

use crate::support::python::{environment, folder, run};
use crate::support::redis::shared_url;
use crate::support::{Server, TestStore};

const PATIENCE: Duration = Duration::from_mins(3);

/// The block in README.md that a client's configuration takes.
fn configuration(url: &str, token: &str) -> String {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("README.md");
    let block = readme.split("<!-- mcp -->\n```json\n").nth(1).and_then(|rest| rest.split("```").next());
    let block = block.expect("README.md has a block of JSON after <!-- mcp -->");
    assert!(block.contains("http://127.0.0.1:8080/mcp") && block.contains("TOKEN"), "{block}");
    block.replace("http://127.0.0.1:8080", url).replace("TOKEN", token)
}

#[tokio::test]
async fn the_official_client_uses_every_tool() {
    let python = tokio::task::spawn_blocking(|| environment("mcp.txt")).await.expect("Python");
    let store = TestStore::postgres().await;
    let url = store.postgres_url().expect("Postgres");
    let redis = shared_url();
    let env = [("DATABASE_URL", url.as_str()), ("REDIS_URL", redis.as_str())];
    let first = Server::start_with(store, &env).await;
    let second = Server::start_with(TestStore::sqlite(), &env).await;
    let token = first.api_as("agent").await.token;
    let mut command = Command::new(python);
    command
        .arg(folder().join("mcp_client.py"))
        .arg(configuration(&first.url(), &token))
        .arg(format!("{}/mcp", second.url()))
        .env_remove("HTTP_PROXY")
        .env_remove("http_proxy");
    let ran = run(command, PATIENCE).await;
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.contains("legacy: 2025-11-25") && stdout.contains("auto: 2026-07-28"), "{stdout}");
    assert!(stdout.ends_with("all tools work\n"), "{stdout}\n{stderr}");
}
