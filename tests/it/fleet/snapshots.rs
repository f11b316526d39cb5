//! Path snapshots in Redis: a replica that does not know a sandbox starts from one, and
//! whatever lies there instead, or does not answer, costs no more than a load.

use std::time::Duration;

use serde_json::json;
use sqlfs::session::snapshots::{QUIET, SMALLEST};

use crate::support::proxy::Proxy;
use crate::support::redis::{Redis, connect};
use crate::support::redis_calls::{RedisCalls, count};
use crate::support::watched::Watched;
use crate::support::weather::{Flow, Weather};
use crate::support::{Api, TestStore, eventually};

pub const SOON: Duration = Duration::from_secs(30);
/// The machine may be busy; what a slow Redis costs has a test of its own.
pub const PATIENT: (&str, &str) = ("REDIS_CACHE_TIMEOUT_MS", "5000");
const OFF: (&str, &str) = ("REDIS_PATH_SNAPSHOT_ENABLED", "false");
pub const HUNG: Weather = Weather { up: Flow::Hold, down: Flow::Hold, latency: Duration::ZERO };

/// One database and one cache server, for replicas that come and go.
pub struct Place {
    store: TestStore,
    pub redis: Redis,
}

/// A replica with a proxy before its database and one before its cache server.
pub struct Replica {
    watched: Watched,
    pub api: Api,
    store: Proxy,
    pub cache: Proxy,
}

impl Place {
    pub async fn new() -> Self {
        Self { store: TestStore::postgres().await, redis: Redis::start().await }
    }

    pub async fn replica(&self, more: &[(&str, &str)]) -> Replica {
        let (database, redis) = (self.store.postgres_url().expect("Postgres"), self.redis.url());
        let (store, cache) = (Proxy::before(&database).await, Proxy::before(&redis).await);
        let (store_url, cache_url) = (store.url(&database), cache.url(&redis));
        let mut env = vec![("DATABASE_URL", store_url.as_str()), ("REDIS_CACHE_URL", cache_url.as_str())];
        env.extend(more);
        let watched = Watched::start(TestStore::sqlite(), &env).await;
        let api = watched.server.api().await;
        store.count(b"sqlfs_load_head");
        Replica { watched, api, store, cache }
    }

    async fn connection(&self) -> redis::aio::MultiplexedConnection {
        connect(&self.redis.url()).await
    }

    /// The keys of a sandbox's snapshots.
    async fn keys(&self, id: &str) -> Vec<String> {
        self.all_keys(&format!("vfs:default:snap:{{{id}}}:*")).await
    }

    pub async fn all_keys(&self, pattern: &str) -> Vec<String> {
        let mut keys = redis::cmd("KEYS");
        keys.arg(pattern).query_async(&mut self.connection().await).await.expect("Redis")
    }

    /// The one key, another than `before`.
    async fn kept(&self, id: &str, before: &str) -> String {
        eventually("a snapshot of the newest state, and no other", SOON, || async {
            let keys = self.keys(id).await;
            (keys.len() == 1 && keys[0] != before).then(|| keys[0].clone())
        })
        .await
    }

    pub async fn get(&self, key: &str) -> Option<Vec<u8>> {
        let mut get = redis::cmd("GET");
        get.arg(key).query_async(&mut self.connection().await).await.ok().flatten()
    }

    pub async fn set(&self, key: &str, value: &[u8]) {
        let mut set = redis::cmd("SET");
        set.arg(key).arg(value).exec_async(&mut self.connection().await).await.expect("Redis");
    }
}

impl Replica {
    /// How often a metric counted.
    pub async fn counted(&self, name: &str, label: &str) -> f64 {
        self.watched.metrics().await.get(&format!("{name}{{{label}}}")).copied().unwrap_or(0.0)
    }

    async fn reads(&self, result: &str) -> f64 {
        self.counted("sqlfs_snapshot_read_duration_seconds_count", &format!("result=\"{result}\"")).await
    }

    async fn trees(&self, kind: &str) -> f64 {
        self.counted("sqlfs_tree_duration_seconds_count", &format!("kind=\"{kind}\"")).await
    }
}

/// A sandbox with so many files that a snapshot is worth it.
async fn large(api: &Api) -> String {
    let id = api.create().await;
    let script =
        format!("mkdir d; ln -s d l; for ((i = 0; i < {SMALLEST}; i++)); do echo $((i % 7)) > d/$i; done");
    api.exec(&id, &script).await;
    id
}

async fn looks_right(api: &Api, id: &str) {
    let body = json!({"script": "ls l/ | wc -l; cat d/13", "readOnly": true});
    assert_eq!(api.exec_with(id, &body).await["stdout"], format!("{SMALLEST}\n6\n"));
}

#[tokio::test]
async fn a_cold_replica_starts_from_the_snapshot_and_keeps_it_up() {
    let place = Place::new().await;
    let writer = place.replica(&[PATIENT]).await;
    let id = large(&writer.api).await;
    let first = place.kept(&id, "").await;
    let calls = RedisCalls::begin(&place.redis.url()).await;
    let cold = place.replica(&[PATIENT]).await;
    looks_right(&cold.api, &id).await;
    let seen = calls.all().await;
    assert_eq!(count(&seen).get("getrange"), Some(&1), "{seen:?}");
    assert_eq!(cold.store.counted(), 0, "the store loaded nothing");
    assert_eq!((cold.reads("hit").await, cold.trees("snapshot").await), (1.0, 1.0));
    assert!(cold.counted("sqlfs_snapshot_bytes_total", "direction=\"read\"").await > 1000.0);
    // It goes on from there as from any tree.
    let replies = [cold.api.exec(&id, "echo new > d/13").await, writer.api.exec(&id, "cat d/13").await];
    assert_eq!((&replies[0]["version"], &replies[1]["stdout"]), (&json!(2), &json!("new\n")));
    let second = place.kept(&id, &first).await;
    assert_eq!(count(&calls.all().await).get("getrange"), Some(&1), "who has a tree does not ask");
    // The writer took the difference; its next state is another's foreign one.
    writer.api.exec(&id, "echo 6 > d/13").await;
    place.kept(&id, &second).await;
    let third = place.replica(&[PATIENT]).await;
    looks_right(&third.api, &id).await;
    assert_eq!((third.reads("hit").await, third.store.counted()), (1.0, 0));
}

#[tokio::test]
async fn small_sandboxes_are_neither_kept_nor_asked_for() {
    let place = Place::new().await;
    let calls = RedisCalls::begin(&place.redis.url()).await;
    let mut writer = place.replica(&[PATIENT]).await;
    let id = writer.api.create().await;
    writer.api.exec(&id, "echo x > f").await;
    writer.watched.server.terminate();
    assert!(writer.watched.server.exited().await.success());
    let cold = place.replica(&[PATIENT]).await;
    assert_eq!(cold.api.stdout(&id, "cat f").await, "x\n");
    let seen = calls.all().await;
    let counts = count(&seen);
    assert_eq!((counts.get("getrange"), counts.get("set")), (None, None), "{counts:?}");
    assert_eq!(cold.trees("full").await, 1.0);
}

#[tokio::test]
async fn a_replica_that_goes_down_writes_what_was_not_quiet_yet() {
    let place = Place::new().await;
    let mut writer = place.replica(&[PATIENT]).await;
    let id = large(&writer.api).await;
    writer.api.exec(&id, "echo 6 > d/13").await;
    let begun = tokio::time::Instant::now();
    writer.watched.server.terminate();
    assert!(writer.watched.server.exited().await.success());
    assert!(begun.elapsed() < QUIET + SOON);
    let cold = place.replica(&[PATIENT]).await;
    looks_right(&cold.api, &id).await;
    assert_eq!((cold.reads("hit").await, cold.store.counted()), (1.0, 0));
}

#[tokio::test]
async fn what_is_no_snapshot_of_this_state_is_a_miss_and_heals() {
    let place = Place::new().await;
    let writer = place.replica(&[PATIENT]).await;
    let (stranger, strange) = (place.replica(&[PATIENT, ("SNAPSHOT_KEY", "another")]).await, "forged");
    let other = large(&writer.api).await;
    let foreign = place.get(&place.kept(&other, "").await).await.expect("a value");
    let mut cases = Vec::new();
    for (kind, reason) in [
        ("garbage", "format"),
        ("another version", "format"),
        ("cut", "forged"),
        ("flipped", "forged"),
        ("of another sandbox", "forged"),
        ("of the head before", "forged"),
        ("gone", "missing"),
        ("a list", "missing"),
        ("of another key", strange),
    ] {
        let id = large(&writer.api).await;
        let mut key = place.kept(&id, "").await;
        if kind == "of the head before" {
            let old = place.get(&key).await.expect("a value");
            writer.api.exec(&id, "echo 6 > d/13; chmod 600 d/1").await;
            key = place.kept(&id, &key).await;
            cases.push((id, key.clone(), place.get(&key).await, reason));
            place.set(&key, &old).await;
            continue;
        }
        let right = place.get(&key).await.expect("a value");
        cases.push((id.clone(), key.clone(), Some(right.clone()), reason));
        let mut wrong = right;
        match kind {
            "garbage" => wrong = b"garbage".to_vec(),
            "another version" => wrong[8] += 1,
            "cut" => wrong.truncate(wrong.len() / 2),
            "flipped" => *wrong.last_mut().expect("bytes") ^= 1,
            "of another sandbox" => wrong.clone_from(&foreign),
            _ => {
                let mut unlink = redis::cmd("UNLINK");
                unlink.arg(&key).exec_async(&mut place.connection().await).await.expect("Redis");
                if kind == "a list" {
                    let mut push = redis::cmd("RPUSH");
                    push.arg(&key).arg("x").exec_async(&mut place.connection().await).await.expect("Redis");
                }
                if kind == "of another key" {
                    looks_right(&stranger.api, &id).await;
                    place.kept(&id, "").await;
                }
                continue;
            }
        }
        place.set(&key, &wrong).await;
    }
    let cold = place.replica(&[PATIENT]).await;
    for (id, key, right, _) in &cases {
        looks_right(&cold.api, id).await;
        eventually("the right snapshot is there again", SOON, || async {
            (place.get(key).await == *right).then_some(())
        })
        .await;
    }
    for reason in ["format", "forged", "missing"] {
        let expected = cases.iter().filter(|(.., of)| *of == reason).count();
        assert_eq!(cold.reads(reason).await, expected as f64, "{reason}");
    }
    assert_eq!((cold.reads("hit").await, cold.trees("full").await), (0.0, cases.len() as f64));
}

#[tokio::test]
async fn the_snapshot_of_an_older_head_is_not_used() {
    let place = Place::new().await;
    let writer = place.replica(&[PATIENT]).await;
    let id = large(&writer.api).await;
    let old = place.kept(&id, "").await;
    // By one that keeps no snapshots, so that the old one stays.
    let plain = place.replica(&[OFF]).await;
    plain.api.exec(&id, "echo newer > d/13").await;
    let cold = place.replica(&[PATIENT]).await;
    assert_eq!(cold.api.stdout(&id, "cat d/13").await, "newer\n");
    assert_eq!((cold.reads("missing").await, cold.reads("hit").await), (1.0, 0.0));
    assert!(place.get(&old).await.is_some(), "it was there all the time");
    assert_eq!(plain.reads("missing").await, 0.0, "turned off");
}

#[tokio::test]
async fn a_cache_server_that_hangs_or_is_gone_costs_little_and_fails_nothing() {
    let mut place = Place::new().await;
    let writer = place.replica(&[PATIENT]).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(large(&writer.api).await);
    }
    for id in &ids {
        place.kept(id, "").await;
    }
    let mut hung = place.replica(&[]).await;
    hung.cache.weather(HUNG);
    let begun = tokio::time::Instant::now();
    for id in &ids {
        looks_right(&hung.api, id).await;
        assert_eq!(hung.api.exec(id, "echo x > more").await["committed"], true);
    }
    // One question for each second, of 50 ms; the rest is not asked.
    let patience = 1.0 + begun.elapsed().as_secs_f64();
    let quick = "sqlfs_snapshot_read_duration_seconds_bucket";
    let quick = hung.counted(quick, "le=\"0.025\",result=\"away\"").await;
    assert_eq!(hung.reads("away").await, 6.0);
    assert!(6.0 - quick <= patience, "{quick} of 6 were quick, within {patience} s");
    assert_eq!(hung.trees("full").await, 6.0);
    eventually("a write was given up", SOON, || async {
        let failed = hung.counted("sqlfs_snapshot_write_duration_seconds_count", "result=\"failed\"").await;
        (failed > 0.0).then_some(())
    })
    .await;
    let begun = tokio::time::Instant::now();
    hung.watched.server.terminate();
    assert!(hung.watched.server.exited().await.success());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());

    place.redis.kill();
    let alone = place.replica(&[]).await;
    for id in &ids {
        looks_right(&alone.api, id).await;
    }
    assert_eq!((alone.reads("away").await, alone.trees("full").await), (6.0, 6.0));
    let ready = alone.api.get("/readyz").await.expect(200).json();
    assert_eq!(ready["degraded"], json!([]), "a cache is not missed");
    // And it is used again when it is back.
    place.redis.start_again().await;
    let back = large(&alone.api).await;
    eventually("a snapshot again", SOON, || async {
        alone.api.exec(&back, "echo $RANDOM > more").await;
        tokio::time::sleep(QUIET * 2).await;
        (place.keys(&back).await.len() == 1).then_some(())
    })
    .await;
}
