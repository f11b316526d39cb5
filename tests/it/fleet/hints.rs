//! Freshness by version hints (`VERSION_CHECK=redis`), whatever becomes of Redis.

use std::time::Duration;

use serde_json::json;

use super::rig::{CALM, Env, Fleet, LEASE, MODES, QUICK, begun, bounded, exec_within, key, load, refusal};
use crate::support::eventually;
use crate::support::redis::{Redis, connect, shared_url};

const HINTS: [Env<'static>; 2] = [("VERSION_CHECK", "redis"), ("REDIS_DOWN", "refuse")];

/// What lies in the hint's key.
async fn hint(fleet: &Fleet, id: &str) -> String {
    let mut get = redis::cmd("GET");
    let text: Option<String> =
        get.arg(key(id).ver()).query_async(&mut fleet.redis().await).await.expect("Redis");
    text.unwrap_or_default()
}

/// Waits until a hint is given: a release is not waited for by the reply.
async fn until_hinted(fleet: &Fleet, id: &str) -> String {
    eventually("a hint", Duration::from_secs(10), || async {
        Some(hint(fleet, id).await).filter(|text| text.starts_with("= "))
    })
    .await
}

#[tokio::test]
async fn a_write_is_seen_on_another_replica_as_soon_as_it_is_acknowledged() {
    for mode in MODES {
        let redis = Redis::start().await;
        let fleet = Fleet::start(2, &redis.url(), CALM, &[HINTS[0], HINTS[1], mode]).await;
        let id = fleet.api(0).create().await;
        for round in 0..bounded(30) {
            let (writer, reader) = (fleet.api(round % 2), fleet.api((round + 1) % 2));
            let version = writer.exec(&id, &format!("echo {round} > f")).await["version"].clone();
            match round % 4 {
                0 => redis.flush().await,
                1 => drop(until_hinted(&fleet, &id).await),
                _ => {}
            }
            let body = json!({"script": "cat f", "readOnly": round % 3 > 0});
            let read = reader.exec_with(&id, &body).await;
            assert_eq!((&read["stdout"], &read["version"]), (&json!(format!("{round}\n")), &version));
            assert_eq!(reader.file(&id, "/home/user/f").await.expect(200).text(), format!("{round}\n"));
        }
    }
}

#[tokio::test]
async fn writers_on_two_replicas_count_exactly() {
    for mode in MODES {
        let fleet = Fleet::start(2, &shared_url(), CALM, &[HINTS[0], HINTS[1], mode]).await;
        let id = fleet.api(0).create().await;
        let history = load(&fleet.apis(), &id, 4, bounded(12)).await;
        // A start on an old tree would be a lost race, and two of them a refusal.
        assert_eq!((history.refused(), history.unknown()), (vec![], 0), "{mode:?}");
        assert_eq!(history.check(fleet.api(1), &id).await, history.done(), "{mode:?}");
    }
}

#[tokio::test]
async fn a_hint_that_redis_had_saved_counts_for_nothing_after_its_restart() {
    let mut redis = Redis::start().await;
    let fleet = Fleet::start(2, &redis.url(), QUICK, &HINTS).await;
    let id = fleet.api(0).create().await;
    fleet.api(0).exec(&id, "echo old > f").await;
    assert_eq!(fleet.api(1).stdout(&id, "cat f").await, "old\n", "warm");
    let old = until_hinted(&fleet, &id).await;
    redis::cmd("SAVE").exec_async(&mut connect(&redis.url()).await).await.expect("saved");
    fleet.api(0).exec(&id, "echo new > f").await;
    assert_ne!(until_hinted(&fleet, &id).await, old);
    redis.kill();
    redis.start_again().await;
    assert_eq!(
        hint(&fleet, &id).await,
        old,
        "the old hint is back, and the warm tree is the one that it names"
    );
    let read = json!({"script": "cat f", "readOnly": true});
    assert_eq!(fleet.api(1).exec_with(&id, &read).await["stdout"], "new\n");
    assert_eq!(fleet.api(1).file(&id, "/home/user/f").await.expect(200).text(), "new\n");
    eventually("leases again", LEASE, || async {
        let ready = fleet.api(1).get("/readyz").await;
        (ready.status == 200).then_some(())
    })
    .await;
    assert_eq!(fleet.api(1).stdout(&id, "cat f").await, "new\n");
}

#[tokio::test]
async fn a_killed_holder_leaves_it_pending() {
    for mode in MODES {
        let mut fleet = Fleet::start(2, &shared_url(), QUICK, &[HINTS[0], HINTS[1], mode]).await;
        let id = fleet.api(0).create().await;
        fleet.api(0).exec(&id, "echo old > f").await;
        assert_eq!(fleet.api(1).stdout(&id, "cat f").await, "old\n", "warm");
        until_hinted(&fleet, &id).await;
        // One that is acknowledged, and one that dies: no release comes between.
        let live = begun(fleet.api(0), &id, "sleep 60").await;
        assert!(hint(&fleet, &id).await.starts_with("? "));
        fleet.replica_mut(0).kill();
        drop(live);
        assert!(hint(&fleet, &id).await.starts_with("? "));
        let read = json!({"script": "cat f; ls", "readOnly": true});
        assert_eq!(fleet.api(1).exec_with(&id, &read).await["stdout"], "old\nf\n");
        exec_within(fleet.api(1), &id, "cat f; ls", LEASE + Duration::from_secs(1), "old\nf\n").await;
        until_hinted(&fleet, &id).await;
    }
}

#[tokio::test]
async fn the_late_end_of_a_lapsed_holder_changes_no_hint() {
    let fleet = Fleet::start(2, &shared_url(), QUICK, &HINTS).await;
    let id = fleet.api(0).create().await;
    fleet.api(0).exec(&id, "echo old > f").await;
    assert_eq!(fleet.api(1).stdout(&id, "cat f").await, "old\n", "warm");
    let live = begun(fleet.api(0), &id, "sleep 1; echo late > f").await;
    fleet.replica(0).signal(libc::SIGSTOP);
    // The next holder changes nothing, and gives the hint of what it saw.
    exec_within(fleet.api(1), &id, "cat f", LEASE + Duration::from_secs(1), "old\n").await;
    until_hinted(&fleet, &id).await;
    fleet.replica(0).signal(libc::SIGCONT);
    let error = refusal(live).await;
    assert!(["LEASE_LOST", "CONFLICT"].iter().any(|code| error["code"] == *code), "{error}");
    fleet.api(1).exec(&id, "echo new > f").await;
    until_hinted(&fleet, &id).await;
    for replica in [0, 1] {
        assert_eq!(fleet.api(replica).file(&id, "/home/user/f").await.expect(200).text(), "new\n");
        assert_eq!(fleet.api(replica).stdout(&id, "cat f").await, "new\n");
    }
}

#[tokio::test]
async fn changes_beside_the_head_are_seen() {
    let fleet = Fleet::start(2, &shared_url(), CALM, &HINTS).await;
    let id = fleet.api(0).create().await;
    let path = format!("/v1/sandboxes/{id}");
    for round in 0..4 {
        let (one, other) = (fleet.api(round % 2), fleet.api((round + 1) % 2));
        other.exec(&id, "true").await;
        until_hinted(&fleet, &id).await;
        one.exec(&id, &format!("mkdir -p /tmp/d{round}")).await;
        other.exec(&id, "true").await;
        one.exec(&id, &format!("cd /tmp/d{round}")).await;
        assert_eq!(other.stdout(&id, "pwd").await, format!("/tmp/d{round}\n"));
        until_hinted(&fleet, &id).await;
        one.patch(&path, &json!({"env": {"X": format!("{round}")}})).await.expect(200);
        assert_eq!(other.stdout(&id, "echo $X").await, format!("{round}\n"));
        let read = json!({"script": "echo $X; pwd", "readOnly": true});
        assert_eq!(one.exec_with(&id, &read).await["stdout"], format!("{round}\n/tmp/d{round}\n"));
        // The patch keeps hints off for a while; the next round begins with one again.
        redis::cmd("DEL").arg(key(&id).ver()).exec_async(&mut fleet.redis().await).await.expect("deleted");
    }
}

#[tokio::test]
async fn without_redis_reads_go_on_and_what_would_leave_an_old_hint_is_refused() {
    let mut redis = Redis::start().await;
    let fleet = Fleet::start(2, &redis.url(), QUICK, &HINTS).await;
    let id = fleet.api(0).create().await;
    let path = format!("/v1/sandboxes/{id}");
    fleet.api(0).exec(&id, "echo x > f").await;
    let read = json!({"script": "cat f", "readOnly": true});
    assert_eq!(fleet.api(1).exec_with(&id, &read).await["stdout"], "x\n");
    redis.kill();
    for _ in 0..5 {
        assert_eq!(fleet.api(1).exec_with(&id, &read).await["stdout"], "x\n");
        assert_eq!(fleet.api(0).file(&id, "/home/user/f").await.expect(200).text(), "x\n");
    }
    let env = json!({"env": {"X": "1"}});
    fleet.api(0).patch(&path, &env).await.refused(503, "COORDINATION_UNAVAILABLE");
    fleet.api(0).delete(&format!("{path}?force=true")).await.refused(503, "COORDINATION_UNAVAILABLE");
    redis.start_again().await;
    eventually("Redis is back for both", Duration::from_secs(10), || async {
        let ready = [fleet.api(0).get("/readyz").await.status, fleet.api(1).get("/readyz").await.status];
        (ready == [200, 200]).then_some(())
    })
    .await;
    fleet.api(0).patch(&path, &env).await.expect(200);
    assert_eq!(fleet.api(1).stdout(&id, "echo $X").await, "1\n");
    fleet.api(0).delete(&format!("{path}?force=true")).await.expect(204);
    fleet.api(1).try_exec(&id, &read).await.refused(404, "SANDBOX_NOT_FOUND");
}
