//! What `sqlfs doctor` and the start of `serve` say of Redis.

use std::time::Duration;

use crate::support::redis::{Redis, connect, shared_url};
use crate::support::server::run;
use crate::support::{Server, TestStore, eventually};

/// The lines of `sqlfs doctor` that are about Redis, and its exit code.
async fn doctor(url: &str) -> (Vec<String>, Option<i32>) {
    let (status, stdout, stderr) = run(&TestStore::sqlite(), &["doctor"], &[("REDIS_URL", url)], b"").await;
    assert_eq!(stderr, "", "{stdout}");
    let lines = stdout.lines().filter(|line| line.contains(" redis")).map(str::to_owned);
    (lines.collect(), status.code())
}

/// The one line about `name`.
fn line<'a>(lines: &'a [String], name: &str) -> &'a str {
    let found: Vec<&String> =
        lines.iter().filter(|line| line[7..].starts_with(&format!(" {name}: "))).collect();
    assert_eq!(found.len(), 1, "{name} in {lines:#?}");
    found[0]
}

/// A user whose rights are `rights`; its URL.
async fn user(redis: &Redis, name: &str, rights: &[&str]) -> String {
    let mut admin = connect(&redis.url()).await;
    let mut set = redis::cmd("ACL");
    set.arg("SETUSER").arg(name).arg("on").arg(">pw").arg("~*").arg("&*").arg("+@all").arg(rights);
    set.exec_async(&mut admin).await.expect("a user");
    redis.url().replace("redis://", &format!("redis://{name}:pw@"))
}

#[tokio::test]
async fn a_redis_that_does_is_found_to_do() {
    let (lines, code) = doctor(&shared_url()).await;
    assert_eq!(code, Some(0), "{lines:#?}");
    assert!(lines.iter().all(|line| line.starts_with("ok ")), "{lines:#?}");
    assert!(line(&lines, "redis").contains("version "), "{lines:#?}");
    assert!(line(&lines, "redis scripts").contains("a call takes "), "{lines:#?}");
    for name in ["redis encryption", "redis eviction", "redis wake-ups"] {
        line(&lines, name);
    }
    let (lines, _) = doctor("redis://192.0.2.1:6379").await;
    assert!(line(&lines, "redis encryption").starts_with("warn "), "{lines:#?}");
}

#[tokio::test]
async fn one_that_is_away_or_forbids_scripts_fails() {
    let mut redis = Redis::start().await;
    let weak = user(&redis, "weak", &["-eval", "-evalsha"]).await;
    let (lines, code) = doctor(&weak).await;
    assert_eq!(code, Some(1), "{lines:#?}");
    assert!(
        line(&lines, "redis scripts").starts_with("fail    redis scripts: acquire did not work"),
        "{lines:#?}"
    );
    let deaf = user(&redis, "deaf", &["-subscribe"]).await;
    let (lines, code) = doctor(&deaf).await;
    assert_eq!(code, Some(0), "{lines:#?}");
    assert!(line(&lines, "redis wake-ups").starts_with("warn "), "{lines:#?}");
    let left: Vec<String> =
        redis::cmd("KEYS").arg("*").query_async(&mut connect(&redis.url()).await).await.expect("keys");
    assert_eq!(left, Vec::<String>::new(), "nothing stays behind");
    let wrong = redis.url().replace("redis://", "redis://weak:hunter2@");
    let (lines, code) = doctor(&wrong).await;
    assert_eq!(code, Some(1), "{lines:#?}");
    assert!(!lines.concat().contains("hunter2"), "{lines:#?}");
    redis.kill();
    let (lines, code) = doctor(&redis.url()).await;
    assert_eq!(code, Some(1), "{lines:#?}");
    assert!(line(&lines, "redis").starts_with("fail    redis: does not answer"), "{lines:#?}");
}

#[tokio::test]
async fn one_for_caches_that_is_away_is_told_and_not_missed() {
    let mut redis = Redis::start().await;
    let url = redis.url();
    let env = [("REDIS_CACHE_URL", url.as_str()), ("REDIS_CACHE_TIMEOUT_MS", "5000")];
    let doctor = async || {
        let (status, out, _) = run(&TestStore::sqlite(), &["doctor"], &env, b"").await;
        assert_eq!(status.code(), Some(0), "{out}");
        out
    };
    assert!(doctor().await.contains("ok      redis caches: gives back"), "it is there");
    redis.kill();
    assert!(doctor().await.contains("warn    redis caches: keeps nothing"), "it is gone");
}

#[tokio::test]
async fn one_that_may_evict_is_warned_of_by_doctor_and_serve() {
    const WARNING: &str = "the lease server may lose leases";
    let cases: [(&[&str], bool); 3] = [
        (&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"], true),
        (&["--maxmemory", "100mb", "--maxmemory-policy", "noeviction"], false),
        (&["--maxmemory", "0", "--maxmemory-policy", "allkeys-lru"], false),
    ];
    for (options, warned) in cases {
        let redis = Redis::start_with(options).await;
        let (lines, code) = doctor(&redis.url()).await;
        assert_eq!(code, Some(0), "{lines:#?}");
        let word = if warned { "warn " } else { "ok " };
        assert!(line(&lines, "redis eviction").starts_with(word), "{options:?}: {lines:#?}");
        let forbidden = user(&redis, "plain", &["-config"]).await;
        let (lines, _) = doctor(&forbidden).await;
        assert!(line(&lines, "redis eviction").contains("not known"), "{lines:#?}");

        let log = [("RUST_LOG", "info,sqlfs::app=debug")];
        let server = Server::start_with(TestStore::sqlite(), &[("REDIS_URL", &redis.url()), log[0]]).await;
        let unsure = Server::start_with(TestStore::sqlite(), &[("REDIS_URL", &forbidden), log[0]]).await;
        eventually("the check of the second server has an end", Duration::from_secs(10), || async {
            let logs = unsure.logs();
            let line =
                logs.lines().find(|line| line.contains("whether the lease server evicts is not known"))?;
            line.contains("DEBUG").then_some(())
        })
        .await;
        assert!(!unsure.logs().contains(WARNING));
        if warned {
            let line = eventually("a warning", Duration::from_secs(10), || async {
                server.logs().lines().find(|line| line.contains(WARNING)).map(str::to_owned)
            })
            .await;
            assert!(line.contains("WARN") && line.contains("allkeys-lru"), "{line}");
            assert!(line.contains("set maxmemory-policy to noeviction"), "{line}");
        } else {
            eventually("the check has an end", Duration::from_secs(10), || async {
                server.logs().contains("loses no leases to make room").then_some(())
            })
            .await;
            assert!(!server.logs().contains(WARNING), "{options:?}");
        }
    }
}
