//! Redis dies, comes back empty, forgets, or holds garbage.

use std::time::Duration;

use serde_json::json;

use super::rig::{Fleet, History, LEASE, MODES, QUICK, bounded, key, load};
use super::traces::Injected;
use crate::support::redis::Redis;
use crate::support::{Api, eventually};

const SOON: Duration = Duration::from_secs(10);

/// What a lost race or a lost lease answers, and seldom: somebody always wins.
fn only_lost_races(history: &History) {
    let refused = history.refused();
    assert!(refused.iter().all(|code| ["CONFLICT", "LEASE_LOST"].contains(code)), "{refused:?}");
    assert!(history.done() >= 9 * refused.len(), "{} done, refused {refused:?}", history.done());
}

async fn degraded(api: &Api, expected: bool) {
    let expected = if expected { json!(["redis"]) } else { json!([]) };
    eventually("readyz sees Redis go or come", SOON, || async {
        let ready = api.get("/readyz").await.expect(200).json();
        (ready["degraded"] == expected).then_some(())
    })
    .await;
}

#[tokio::test]
async fn without_redis_writers_go_on_and_count_exactly() {
    let mut redis = Redis::start().await;
    let fleet = Fleet::start(2, &redis.url(), QUICK, &[]).await;
    let id = fleet.api(0).create().await;
    let networked = fleet.api(0).create_with(&json!({"network": true})).await["id"].clone();
    let networked = networked.as_str().expect("an id");
    fleet.api(0).exec(networked, "true").await;
    let running = tokio::spawn({
        let (apis, id) = (fleet.apis(), id.clone());
        async move { load(&apis, &id, 3, bounded(15)).await }
    });
    eventually("some appends are there", SOON, || async {
        (fleet.api(1).sandbox(&id).await["version"].as_u64() > Some(10)).then_some(())
    })
    .await;
    redis.kill();
    let history = running.await.expect("the load");
    only_lost_races(&history);
    degraded(fleet.api(0), true).await;

    let token = fleet.api(0).stdout(&id, "echo ${SQLFS_FENCING_TOKEN:-none}").await;
    assert_eq!(token, "none\n", "a token without a lease");
    for replica in [0, 1] {
        let refused = fleet.api(replica).try_exec(networked, &json!({"script": "echo x > f"})).await;
        refused.refused(503, "COORDINATION_UNAVAILABLE");
        assert!(!refused.header("retry-after").is_empty(), "{:?}", refused.headers);
    }
    // Two replicas on one sandbox: they meet, and run again until somebody wins.
    let away = load(&fleet.apis(), &id, 2, bounded(8)).await;
    only_lost_races(&away);

    redis.start_again().await;
    for replica in [0, 1] {
        degraded(fleet.api(replica), false).await;
        let token = fleet.api(replica).stdout(&id, "echo ${SQLFS_FENCING_TOKEN:-none}").await;
        assert_ne!(token, "none\n", "back to leases");
        fleet.api(replica).exec(networked, "echo x > f").await;
    }
    let back = load(&fleet.apis(), &id, 2, bounded(8)).await;
    assert_eq!(back.refused(), Vec::<&str>::new());
    history.and(away).and(back).check(fleet.api(1), &id).await;
    fleet.traces.check(Injected::MemoryLoss);
}

#[tokio::test]
async fn without_redis_writers_are_refused_if_so_configured() {
    let mut redis = Redis::start().await;
    let fleet = Fleet::start(1, &redis.url(), QUICK, &[("REDIS_DOWN", "refuse")]).await;
    let api = fleet.api(0);
    let id = api.create().await;
    api.exec(&id, "echo x > f").await;
    redis.kill();
    api.try_exec(&id, &json!({"script": "echo y > f"})).await.refused(503, "COORDINATION_UNAVAILABLE");
    api.put(&id, "/home/user/g", "g").await.refused(503, "COORDINATION_UNAVAILABLE");
    api.delete(&format!("/v1/sandboxes/{id}")).await.refused(503, "COORDINATION_UNAVAILABLE");
    api.get("/readyz").await.error(503, "STORE_UNAVAILABLE");
    let read = api.exec_with(&id, &json!({"script": "cat f; ls", "readOnly": true})).await;
    assert_eq!(read["stdout"], "x\nf\n", "reads need no lease");
    redis.start_again().await;
    eventually("ready again", SOON, || async { (api.get("/readyz").await.status == 200).then_some(()) })
        .await;
    api.exec(&id, "echo y > f").await;
    fleet.traces.check(Injected::MemoryLoss);
}

#[tokio::test]
async fn a_redis_that_forgets_under_load_costs_no_append() {
    for mode in MODES {
        let server = Redis::start().await;
        let fleet = Fleet::start(2, &server.url(), QUICK, &[mode]).await;
        let id = fleet.api(0).create().await;
        let mut running = tokio::spawn({
            let (apis, id) = (fleet.apis(), id.clone());
            async move { load(&apis, &id, 3, bounded(60)).await }
        });
        let mut redis = fleet.redis().await;
        let (mut flushes, mut at) = (0, 0);
        let history = loop {
            // When it forgets is the random input of this test; by the progress of the load,
            // so that a slow machine is not flushed more often than it appends.
            let next = at + 10 + uuid::Uuid::new_v4().as_u128() as u64 % 4;
            let reached = async {
                loop {
                    let version = fleet.api(1).sandbox(&id).await["version"].as_u64().expect("a version");
                    if version >= next {
                        break version;
                    }
                }
            };
            tokio::select! {
                history = &mut running => break history.expect("the load"),
                version = reached => at = version,
            }
            redis::cmd("FLUSHALL").exec_async(&mut redis).await.expect("flushed");
            flushes += 1;
        };
        println!("{mode:?}: {flushes} flushes, {} done, refused {:?}", history.done(), history.refused());
        assert!(flushes > 20, "the load was over too soon to prove anything");
        only_lost_races(&history);
        history.check(fleet.api(1), &id).await;
        fleet.traces.check(Injected::MemoryLoss);
    }
}

#[tokio::test]
async fn garbage_in_every_key_heals() {
    for mode in MODES {
        let redis = Redis::start().await;
        let fleet = Fleet::start(2, &redis.url(), QUICK, &[mode]).await;
        let mut connection = fleet.redis().await;
        let id = fleet.api(0).create().await;
        let mut history = load(&fleet.apis(), &id, 1, 2).await;
        let garbage: [&[&str]; 5] = [
            &["SET", "", "garbage"],
            &["SET", "", "99999999999999999999999"],
            &["SET", "", "-1"],
            &["RPUSH", "", "list"],
            &["HSET", "", "00000000000000000000000000000001", "1 99999999999999 1"],
        ];
        for kind in garbage {
            let mut keys: Vec<String> =
                redis::cmd("KEYS").arg("vfs:*").query_async(&mut connection).await.expect("keys");
            keys.extend([key(&id).lock(), key(&id).fence(), key(&id).wait()]);
            for name in &keys {
                redis::cmd("DEL").arg(name).exec_async(&mut connection).await.expect("deleted");
                let mut put = redis::cmd(kind[0]);
                put.arg(name).arg(&kind[2..]);
                put.exec_async(&mut connection).await.expect("put");
            }
            let start = tokio::time::Instant::now();
            let more = load(&fleet.apis(), &id, 1, 2).await;
            only_lost_races(&more);
            assert!(start.elapsed() < 2 * LEASE + SOON, "{mode:?} {kind:?}: {:?}", start.elapsed());
            history = history.and(more);
        }
        let healed = load(&fleet.apis(), &id, 2, 3).await;
        assert_eq!(healed.refused(), Vec::<&str>::new(), "{mode:?}");
        history.and(healed).check(fleet.api(1), &id).await;
        fleet.traces.check(Injected::MemoryLoss);
    }
}
