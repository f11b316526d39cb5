//! The deployment of docker-compose.yml, without containers: roles as docker/postgres-init.sql
//! makes them, `migrate` by the owner, two servers by the app role, the settings of the file.

use std::collections::BTreeMap;

use serde_json::json;
use sqlfs::config::SETTINGS;

use crate::support::postgres::Database;
use crate::support::redis::shared_url;
use crate::support::server::run;
use crate::support::{Server, TestStore};

/// The environment of the replicas, as the file has it.
fn environment() -> BTreeMap<String, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docker-compose.yml");
    let text = std::fs::read_to_string(path).expect("docker-compose.yml");
    let lines = text.lines().skip_while(|line| !line.contains("&environment")).skip(1);
    let lines = lines.take_while(|line| line.starts_with("    "));
    let of = |line: &str| {
        let (name, value) = line.trim().split_once(": ")?;
        (!name.starts_with('#')).then(|| (name.to_owned(), value.trim_matches('"').to_owned()))
    };
    lines.filter_map(of).collect()
}

#[tokio::test]
async fn two_replicas_serve_as_docker_compose_starts_them() {
    let environment = environment();
    for name in environment.keys() {
        assert!(SETTINGS.iter().any(|setting| setting.name == name), "docker-compose.yml sets {name}");
    }
    let database = Database::empty().await;
    let (owner, app, redis) = (database.owner_url(), database.app_url(), shared_url());
    let store = TestStore::sqlite();
    let (status, out, err) = run(
        &store,
        &["migrate", "--grant-to", database.app_role()],
        &[("MIGRATE_DATABASE_URL", &owner)],
        b"",
    )
    .await;
    assert!(status.success(), "{out}{err}");
    // What differs here: addresses, and ports that are free.
    let ours: BTreeMap<&str, &str> = BTreeMap::from([
        ("DATABASE_URL", app.as_str()),
        ("REDIS_URL", redis.as_str()),
        ("REDIS_CACHE_URL", redis.as_str()),
        ("AUTH_SECRET", crate::support::server::AUTH_SECRET),
        ("BIND_ADDRESS", "127.0.0.1"),
        ("ADMIN_BIND_ADDRESS", "127.0.0.1"),
    ]);
    let env: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (name.as_str(), *ours.get(name.as_str()).unwrap_or(&value.as_str())))
        .collect();
    let one = Server::start_with(store, &env).await;
    let two = Server::start_with(TestStore::sqlite(), &env).await;
    let id = one.api().await.create().await;
    one.api().await.exec(&id, "echo x > f").await;
    assert_eq!(two.api().await.stdout(&id, "cat f").await, "x\n");
    for server in [&one, &two] {
        let url = server.url();
        let (status, out, err) = run(server.store(), &["ready"], &[("SQLFS_SERVER", &url)], b"").await;
        assert!(status.success(), "{out}{err}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&out).expect("JSON")["degraded"], json!([]));
    }
    let nobody = [("SQLFS_SERVER", "http://127.0.0.1:1")];
    assert!(!run(one.store(), &["ready"], &nobody, b"").await.0.success());
}

/// A folder that source files include from, and that the image's build is not given, would be
/// noticed by whoever builds the image.
#[test]
fn the_image_is_built_from_all_that_the_source_includes() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect(name);
    let (dockerfile, ignored) = (read("Dockerfile"), read(".dockerignore"));
    for folder in ["src", "migrations", "assets", "benches"] {
        assert!(root.join(folder).is_dir(), "{folder} is gone");
        assert!(dockerfile.contains(&format!("COPY {folder} {folder}\n")), "Dockerfile lacks {folder}");
        assert!(ignored.lines().any(|line| line == format!("!{folder}")), ".dockerignore keeps {folder} out");
    }
}
