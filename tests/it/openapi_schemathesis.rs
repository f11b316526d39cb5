//! schemathesis reads `/openapi.json`, makes requests that it allows and requests that it
//! forbids, and checks each reply against it.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::support::python;
use crate::support::server::AUTH_SECRET;
use crate::support::{Server, TestStore};

const ADMIN_SECRET: &str = "admin-secret-of-the-integration-tests-0123456789";
/// The same requests in every run; another one with SQLFS_TEST_SEED.
const SEED: &str = "20261130";

#[tokio::test]
async fn schemathesis_finds_nothing() {
    let python = python::environment("schemathesis.txt");
    let long = std::env::var_os("SQLFS_TEST_LONG").is_some();
    let seed = std::env::var_os("SQLFS_TEST_SEED")
        .map_or_else(|| SEED.into(), |seed| seed.to_string_lossy().into_owned());
    let server = Server::start_with(TestStore::sqlite(), &[("ADMIN_SECRET", ADMIN_SECRET)]).await;
    let api = server.api().await;
    let sandbox = api.create_with(&json!({"files": {"/home/user/a.txt": "hello\n"}})).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(python);
    command
        .args(["-c", "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"])
        .arg("--config-file")
        .arg(python::folder().join("schemathesis.toml"))
        .arg("run")
        .arg(format!("{}/openapi.json", server.url()))
        .args(["--header", &format!("Authorization: Bearer {}", api.token)])
        .args(["--header", &format!("X-Auth-Secret: {AUTH_SECRET}")])
        .args(["--header", &format!("X-Admin-Secret: {ADMIN_SECRET}")])
        .args(["--seed", &seed, "--max-examples", if long { "100" } else { "8" }])
        .args(["--continue-on-failure", "--no-color"])
        .env("SCHEMATHESIS_HOOKS", "schemathesis_hooks")
        .env("PYTHONPATH", python::folder())
        .env("SQLFS_SANDBOX", sandbox["id"].as_str().expect("an id"))
        .current_dir(folder.path());
    let ran = python::run(command, Duration::from_secs(if long { 1800 } else { 240 })).await;
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "seed {seed}: {}\n{stdout}\n{stderr}", ran.status);
    let all = api.get("/openapi.json").await.expect(200).json();
    let operations: usize = all["paths"]
        .as_object()
        .expect("paths")
        .values()
        .map(|item| item.as_object().expect("an item").len())
        .sum();
    // The document's own route is where it came from, and not tested.
    let tested = format!("Tested: {}", operations - 1);
    assert!(stdout.contains(&tested), "{tested} is not in\n{stdout}");
    // The sandbox outlived it all.
    assert_eq!(api.stdout(sandbox["id"].as_str().expect("an id"), "echo alive").await, "alive\n");
}
