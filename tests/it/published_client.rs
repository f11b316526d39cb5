//! The client that is published on PyPI works unchanged: every public method of it, and
//! what it sends again after a failure.

use std::process::Command;
use std::time::Duration;

use crate::support::python;
use crate::support::server::AUTH_SECRET;
use crate::support::{Server, TestStore, on_each_store};

const ADMIN_SECRET: &str = "admin-secret-of-the-integration-tests-0123456789";

on_each_store![every_method_works];

async fn every_method_works(store: TestStore) {
    // Nobody waits long for a turn, so that the client meets a 503 of the server itself.
    let env = [("ADMIN_SECRET", ADMIN_SECRET), ("REDIS_EXEC_LOCK_ACQUIRE_TIMEOUT_MS", "200")];
    let server = Server::start_with(store, &env).await;
    let mut command = Command::new(python::environment("client.txt"));
    command
        .arg(python::folder().join("published_client.py"))
        .env("SQLFS_URL", server.url())
        .env("SQLFS_AUTH_SECRET", AUTH_SECRET)
        .env("SQLFS_ADMIN_SECRET", ADMIN_SECRET);
    let ran = python::run(command, Duration::from_mins(1)).await;
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{}\n{stdout}\n{stderr}", ran.status);
    assert!(stdout.starts_with("used all of "), "{stdout}");
}
