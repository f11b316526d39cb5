//! Encrypted ways to Postgres and Redis, under a throw-away authority. The wrong one has the
//! same name, as one whose key was changed.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::support::certificates::Authority;
use crate::support::postgres_server::TlsPostgres;
use crate::support::redis::{Redis, connect};
use crate::support::server::run;
use crate::support::{Server, TestStore, eventually, free_port};

/// Exit code of a refused configuration.
const REFUSED: Option<i32> = Some(78);

#[tokio::test]
async fn postgres_is_reached_only_if_its_certificate_is_right() {
    let (authority, other) = (Authority::new(), Authority::new());
    let postgres = TlsPostgres::start(&authority.server("postgres", "DNS:localhost")).await;
    let trusting = |file: &Path| format!("sslrootcert={}", file.display());
    let (right, wrong) = (trusting(&authority.file()), trusting(&other.file()));
    let store = TestStore::sqlite();
    let exec = async |host: &str, options: &str| {
        let env = [("DATABASE_URL", postgres.app_url(host, options))];
        let env = env.each_ref().map(|(name, value)| (*name, value.as_str()));
        let (status, stdout, stderr) = run(&store, &["exec", "echo hi"], &env, b"").await;
        assert!(!stderr.contains(TlsPostgres::password()), "{stderr}");
        (status.code(), stdout, stderr)
    };

    let full = format!("sslmode=verify-full&{right}");
    let good = (Some(0), "hi\n".to_owned(), String::new());
    assert_eq!(exec("localhost", &full).await, good);
    // Asked for less, it gets less: the name, or anything, is not looked at.
    assert_eq!(exec("127.0.0.1", &format!("sslmode=verify-ca&{right}")).await, good);
    assert_eq!(exec("127.0.0.1", "sslmode=require").await, good);

    for (host, options, said) in [
        (
            "localhost",
            format!("sslmode=verify-full&{wrong}"),
            "name the file of its authority with sslrootcert",
        ),
        (
            "localhost",
            format!("sslmode=verify-ca&{wrong}"),
            "name the file of its authority with sslrootcert",
        ),
        ("localhost", "sslmode=verify-full".into(), "name the file of its authority with sslrootcert"),
        ("127.0.0.1", full.clone(), "is for another host name"),
        ("localhost", "sslmode=disable".into(), "add sslmode=verify-full"),
        ("localhost", "sslmode=verify-full&sslrootcert=/none.pem".into(), "(sslrootcert, sslcert, sslkey)"),
    ] {
        let (code, stdout, stderr) = exec(host, &options).await;
        assert_eq!((code, stdout.as_str()), (REFUSED, ""), "{host} {options}: {stderr}");
        assert!(stderr.contains(said) && stderr.lines().count() == 1, "{host} {options}: {stderr}");
    }

    let url = postgres.app_url("localhost", &full);
    let server = Server::start_with(TestStore::sqlite(), &[("DATABASE_URL", &url)]).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, "echo x > f").await;
    assert_eq!(api.file(&id, "/home/user/f").await.text(), "x\n");
}

/// A server, and the port on which it takes encrypted connections.
async fn redis_under(authority: &Authority) -> (Redis, u16) {
    let certificate = authority.server("redis", "DNS:localhost");
    let port = free_port();
    let file = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (pem, key, ca) = (file(&certificate.certificate), file(&certificate.key), file(&authority.file()));
    let text = port.to_string();
    let options = ["--tls-port", &text, "--tls-cert-file", &pem, "--tls-key-file", &key];
    let more = ["--tls-ca-cert-file", &ca, "--tls-auth-clients", "no"];
    (Redis::start_with(&[&options[..], &more[..]].concat()).await, port)
}

#[tokio::test]
async fn doctor_says_what_is_wrong_with_the_way_to_redis() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (_redis, port) = redis_under(&authority).await;
    let store = TestStore::sqlite();
    let doctor = async |host: &str, ca: &Path| {
        let url = format!("rediss://{host}:{port}");
        let env = [("REDIS_URL", url.as_str()), ("REDIS_CA_FILE", ca.to_str().expect("UTF-8"))];
        let (status, stdout, stderr) = run(&store, &["doctor"], &env, b"").await;
        let lines: Vec<String> =
            stdout.lines().filter(|line| line.contains(" redis")).map(str::to_owned).collect();
        (status.code(), lines, stderr)
    };
    let (code, lines, _) = doctor("localhost", &authority.file()).await;
    assert_eq!(code, Some(0), "{lines:#?}");
    assert!(lines.len() >= 5 && lines.iter().all(|line| line.starts_with("ok ")), "{lines:#?}");
    assert!(lines[0].ends_with("redis encryption: TLS, by the authority of REDIS_CA_FILE"), "{lines:#?}");

    for (host, ca, said) in [
        ("localhost", other.file(), "set REDIS_CA_FILE to the file of its authority"),
        ("localhost", "".into(), "set REDIS_CA_FILE to the file of its authority"),
        ("127.0.0.1", authority.file(), "is for another host name"),
    ] {
        let (code, lines, _) = doctor(host, &ca).await;
        assert_eq!(code, Some(1), "{host} {ca:?}: {lines:#?}");
        let failed: Vec<&String> = lines.iter().filter(|line| line.starts_with("fail ")).collect();
        assert!(failed.len() == 1 && failed[0].contains(said), "{host} {ca:?}: {lines:#?}");
    }
}

#[tokio::test]
async fn an_authority_file_that_is_none_stops_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let (none, empty) = (folder.path().join("none.pem"), folder.path().join("empty.pem"));
    std::fs::write(&empty, "no certificate").expect("written");
    for (url, file, said) in [
        ("rediss://localhost", &none, "none.pem: No such file"),
        ("rediss://localhost", &empty, "empty.pem: holds no certificate"),
        ("redis://localhost", &empty, "needs a REDIS_URL that begins with rediss://"),
    ] {
        let env = [("REDIS_URL", url), ("REDIS_CA_FILE", file.to_str().expect("UTF-8"))];
        let (status, _, stderr) = run(&TestStore::sqlite(), &["serve"], &env, b"").await;
        assert_eq!(status.code(), REFUSED, "{stderr}");
        assert!(stderr.contains("REDIS_CA_FILE: ") && stderr.contains(said), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

#[tokio::test]
async fn leases_and_wake_ups_go_over_the_encrypted_way() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (redis, port) = redis_under(&authority).await;
    let url = format!("rediss://localhost:{port}");
    let with = |ca: &Path| {
        let ca = ca.to_str().expect("UTF-8").to_owned();
        [("REDIS_URL", url.clone()), ("REDIS_CA_FILE", ca), ("REDIS_DOWN", "refuse".into())]
    };
    let env = with(&authority.file());
    let env = env.each_ref().map(|(name, value)| (*name, value.as_str()));
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, "echo x > f").await;
    let mut plain = connect(&redis.url()).await;
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(&mut plain).await.expect("keys");
    assert!(keys.iter().any(|key| key.contains(&id)), "the lease was taken in Redis: {keys:?}");
    eventually("the server listens", Duration::from_secs(10), async || {
        let channels: Vec<String> =
            redis::cmd("PUBSUB").arg("CHANNELS").query_async(&mut connect(&redis.url()).await).await.ok()?;
        (!channels.is_empty()).then_some(())
    })
    .await;

    let env = with(&other.file());
    let env = env.each_ref().map(|(name, value)| (*name, value.as_str()));
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let api = server.api().await;
    let id = api.create().await;
    let refused = api.try_exec(&id, &json!({"script": "echo x > f"})).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    eventually("the log says why", Duration::from_secs(10), async || {
        let logs = server.logs();
        (logs.contains("the lease server is out of reach") && logs.contains("set REDIS_CA_FILE"))
            .then_some(())
    })
    .await;
}
