//! What leases cost in calls to Redis, counted by Redis itself.

use std::time::Duration;

use serde_json::json;
use sqlfs::ids::{SandboxId, TenantId};
use sqlfs::lease::driver::Leases;
use sqlfs::lease::keys::LeaseKey;
use sqlfs::lease::protocol::{Config, WhenAway};
use sqlfs::lease::redis::RedisLeases;
use sqlfs::lease::verbs::{Mode, Terms};
use sqlfs::remote::RedisServer;

use super::rig::{CALM, Fleet, MODES, begun, bounded, key};
use super::traces::Injected;
use crate::support::eventually;
use crate::support::proxy::Action;
use crate::support::redis::Redis;
use crate::support::redis_calls::{Call, RedisCalls, count, hash, without_repeats};

const SOON: Duration = Duration::from_secs(20);

/// After this a call to Redis counts as not answered (`app::LONGEST_LEASE_CALL`).
const CALL_IS_LOST: Duration = Duration::from_secs(1);

/// The default times.
fn config(mode: Mode) -> Config {
    Config { mode, lease: 10_000, renew: 3000, margin: 1000, poll: 300, retry: 100 }
}

/// Nobody holds the lease: the release of the exec before has arrived.
async fn until_free(fleet: &Fleet, id: &str) {
    let (redis, lock) = (fleet.redis().await, key(id).lock());
    eventually("the lease is given back", SOON, || async {
        let held: bool =
            redis::cmd("EXISTS").arg(&lock).query_async(&mut redis.clone()).await.expect("Redis");
        (!held).then_some(())
    })
    .await;
}

/// Calls in a second, from the first one to the last one.
fn rate(calls: &[Call]) -> f64 {
    let (first, last) = (calls.first().expect("a call").at, calls.last().expect("a call").at);
    let gaps = u32::try_from(calls.len() - 1).expect("not many");
    f64::from(gaps) / last.saturating_sub(first).as_secs_f64()
}

#[tokio::test]
async fn a_warm_write_exec_makes_two_calls() {
    for mode in MODES {
        let redis = Redis::start().await;
        let fleet = Fleet::start(1, &redis.url(), CALM, &[mode]).await;
        let id = fleet.api(0).create().await;
        fleet.api(0).exec(&id, "echo warm > f").await;
        until_free(&fleet, &id).await;
        let calls = RedisCalls::begin(&redis.url()).await;
        for n in 0..100 {
            assert_eq!(fleet.api(0).exec(&id, &format!("echo {n} > f")).await["committed"], true);
        }
        let calls = without_repeats(&calls.until("release", 100, SOON).await);
        let mut counts = count(&calls);
        println!("{mode:?}: 100 warm write execs: {counts:?}");
        // What keeps leases and liveness goes by time, not by execs.
        for (background, lease_mode) in [("renew", "lease"), ("heartbeat", "preemptible")] {
            if mode.1 == lease_mode {
                counts.remove(background);
            }
        }
        assert_eq!(counts, [("acquire", 100), ("release", 100)].into(), "{mode:?}");
        fleet.traces.check(Injected::Nothing);
    }
}

#[tokio::test]
async fn an_exec_waits_for_its_acquire_and_not_for_its_release() {
    for mode in MODES {
        let redis = Redis::start().await;
        let fleet = Fleet::start(1, &redis.url(), CALM, &[mode]).await;
        let api = fleet.api(0);
        let id = api.create().await;
        api.exec(&id, "echo warm > f").await;
        until_free(&fleet, &id).await;

        let release = fleet.redis_proxy(0).trap(hash("release").as_bytes(), Action::Hold);
        let start = tokio::time::Instant::now();
        assert_eq!(api.exec(&id, "echo 1 > f").await["committed"], true);
        assert!(start.elapsed() < CALL_IS_LOST, "{mode:?}: it waited until the release counted as lost");
        // The answer is there, and Redis has not heard of the release.
        release.sprung(SOON).await;
        let held: bool = redis::cmd("EXISTS")
            .arg(key(&id).lock())
            .query_async(&mut fleet.redis().await)
            .await
            .expect("Redis");
        assert!(held, "{mode:?}: the release went round the trap");
        release.release(SOON).await;
        until_free(&fleet, &id).await;

        let acquire = fleet.redis_proxy(0).trap(hash("acquire").as_bytes(), Action::Hold);
        let waiting = tokio::spawn({
            let (api, id) = (api.clone(), id.clone());
            async move { api.exec(&id, "echo 2 > f").await }
        });
        acquire.sprung(SOON).await;
        tokio::time::sleep(CALL_IS_LOST / 3).await;
        assert!(!waiting.is_finished(), "{mode:?}: it ran without its lease");
        acquire.release(SOON).await;
        assert_eq!(waiting.await.expect("an answer")["committed"], true);
        fleet.traces.check(Injected::Nothing);
    }
}

/// A thousand leases held by one replica, and the calls of `name` until there were `calls`.
async fn a_thousand_held(mode: Mode, name: &str, calls: usize) -> Vec<Call> {
    let redis = Redis::start().await;
    let config = config(mode);
    let terms = Terms { lease: config.lease, mark: 4 * config.poll };
    let server = RedisServer::new("REDIS_URL", &redis.url(), None).expect("a Redis URL");
    let store = RedisLeases::new(&server, terms, Duration::from_secs(1)).expect("a store");
    let leases = Leases::start(std::sync::Arc::new(store), config).expect("the lease thread starts");
    let tenant = TenantId("default".into());
    let mut held = Vec::new();
    for _ in 0..1000 {
        let key = LeaseKey { tenant: tenant.clone(), sandbox: SandboxId::random() };
        held.push(leases.acquire(key, 0, WhenAway::Lose).await.expect("granted"));
    }
    // Redis learns the script with the first ones.
    RedisCalls::begin(&redis.url()).await.until(name, 2, SOON).await;
    let watch = RedisCalls::begin(&redis.url()).await;
    let all = watch.until(name, calls, Duration::from_mins(1)).await;
    assert!(held.iter().all(|held| held.check().is_ok()), "a lease was lost");
    all
}

#[tokio::test]
async fn heartbeats_of_a_thousand_leases_are_a_call_each() {
    let calls = a_thousand_held(Mode::Preemptible, "heartbeat", 3).await;
    println!("1000 held, preemptible: {:?}, {:.2} a second", count(&calls), rate(&calls));
    assert_eq!(count(&calls), [("heartbeat", calls.len())].into(), "heartbeats alone");
    assert!(calls.iter().all(|call| call.keys == 1 + 2 * 1000), "each of all leases: {calls:?}");
    assert!(rate(&calls) <= 2.0, "{calls:?}");
}

#[tokio::test]
async fn renewals_of_a_thousand_leases_are_a_few_calls() {
    let calls = a_thousand_held(Mode::Lease, "renew", 7).await;
    let renewed: usize = calls.iter().map(|call| call.keys / 2).sum();
    println!(
        "1000 held, lease: {:?} of {renewed} leases, {:.2} a second",
        calls.iter().map(|call| call.keys / 2).collect::<Vec<_>>(),
        rate(&calls)
    );
    assert_eq!(count(&calls), [("renew", calls.len())].into(), "renewals alone");
    // At most 500 go together, and those within an eighth of the renewal time; so there
    // are at most 8 + 1000/500 calls in a renewal time of 3 s.
    assert!(rate(&calls) <= 10.0 / 3.0, "{calls:?}");
}

#[tokio::test]
async fn heartbeats_of_a_replica_do_not_grow_with_its_running_scripts() {
    // 100 scripts; 1000 in a long run.
    let scripts = bounded(100);
    let redis = Redis::start().await;
    let limit = (scripts + 10).to_string();
    let admit = [("MAX_CONCURRENT_EXECS", limit.as_str()), ("MAX_EXECS_PER_OWNER", limit.as_str())];
    let mode = [("LEASE_MODE", "preemptible")];
    let mut fleet = Fleet::start(1, &redis.url(), &admit, &mode).await;
    let mut running = Vec::new();
    while running.len() < scripts {
        let some = (0..20).map(|_| async {
            let id = fleet.api(0).create_with(&json!({})).await["id"].as_str().expect("an id").to_owned();
            begun(fleet.api(0), &id, "sleep 59").await
        });
        running.extend(futures_util::future::join_all(some).await);
    }
    let watch = RedisCalls::begin(&redis.url()).await;
    let calls = watch.until("heartbeat", 3, SOON).await;
    println!("{scripts} scripts, preemptible: {:?}, {:.2} a second", count(&calls), rate(&calls));
    assert_eq!(count(&calls), [("heartbeat", calls.len())].into(), "heartbeats alone");
    assert!(calls.iter().all(|call| call.keys == 1 + 2 * scripts), "each of all leases: {calls:?}");
    assert!(rate(&calls) <= 2.0, "{calls:?}");
    fleet.replica_mut(0).kill();
    let seen = fleet.traces.check(Injected::Nothing);
    assert!(seen.grants >= scripts, "{seen:?}");
}
