//! A replica dies, stops, or loses its lease in the middle of a script.

use std::time::Duration;

use serde_json::json;

use super::rig::{CALM, Fleet, LEASE, MODES, QUICK, begun, exec_within, key, refusal};
use super::traces::Injected;
use crate::support::eventually;
use crate::support::http::hang_up;
use crate::support::redis::shared_url;

/// What a busy machine may add to a time that the protocol bounds.
const SLACK: Duration = Duration::from_secs(1);

/// The same for one exec on a replica that is idle otherwise; `recovery.rs` measures the
/// grants themselves.
const ONE_EXEC: Duration = Duration::from_millis(500);

#[tokio::test]
async fn the_sandbox_of_a_killed_replica_is_free_within_one_lease() {
    for mode in MODES {
        let mut fleet = Fleet::start(2, &shared_url(), QUICK, &[mode]).await;
        let id = fleet.api(0).create().await;
        let live = begun(fleet.api(0), &id, "sleep 60").await;
        fleet.replica_mut(0).kill();
        drop(live);
        let waited = exec_within(fleet.api(1), &id, "ls; echo on > f", LEASE + ONE_EXEC, "").await;
        // Else there was no lease to wait for, and this test proves nothing.
        assert!(waited > LEASE / 4, "{mode:?}: {waited:?}");
        exec_within(fleet.api(1), &id, "cat f", SLACK, "on\n").await;
        fleet.traces.check(Injected::Nothing);
    }
}

#[tokio::test]
async fn a_replica_that_stopped_beyond_its_lease_applies_nothing() {
    for mode in MODES {
        let fleet = Fleet::start(2, &shared_url(), QUICK, &[mode]).await;
        let id = fleet.api(0).create().await;
        let live = begun(fleet.api(0), &id, "sleep 1; echo late > late").await;
        fleet.replica(0).signal(libc::SIGSTOP);
        exec_within(fleet.api(1), &id, "ls; echo on > f", LEASE + SLACK, "").await;
        fleet.replica(0).signal(libc::SIGCONT);
        let error = refusal(live).await;
        assert!(["LEASE_LOST", "CONFLICT"].iter().any(|code| error["code"] == *code), "{mode:?}: {error}");
        for replica in [0, 1] {
            assert_eq!(fleet.api(replica).stdout(&id, "ls; cat f").await, "f\non\n", "{mode:?}");
        }
        fleet.traces.check(Injected::Pause);
        let refused = fleet.traces.refused(Injected::Nothing);
        assert!(refused.contains("two hold the lease"), "{mode:?}: the stop is not seen: {refused}");
    }
}

#[tokio::test]
async fn a_lease_that_was_taken_away_ends_the_script() {
    for mode in MODES {
        let fleet = Fleet::start(2, &shared_url(), QUICK, &[mode]).await;
        let mut redis = fleet.redis().await;
        for steal in [false, true] {
            let id = fleet.api(0).create().await;
            let lock = key(&id).lock();
            let live = begun(fleet.api(0), &id, "sleep 60; echo late > late").await;
            if steal {
                let thief = format!("{:032x}-1 1000 e 1000", 7);
                let mut set = redis::cmd("SET");
                set.arg(&lock).arg(thief).arg("PX").arg(1000).exec_async(&mut redis).await.expect("stolen");
            } else {
                redis::cmd("DEL").arg(&lock).exec_async(&mut redis).await.expect("deleted");
            }
            let start = tokio::time::Instant::now();
            let error = refusal(live).await;
            assert_eq!(
                (&error["code"], &error["retryable"]),
                (&json!("LEASE_LOST"), &json!(true)),
                "{error}"
            );
            assert!(start.elapsed() < LEASE + SLACK, "{mode:?}: {:?}", start.elapsed());
            for replica in [1, 0] {
                exec_within(fleet.api(replica), &id, "ls -A", LEASE + SLACK, "").await;
            }
        }
        fleet.traces.check(Injected::MemoryLoss);
    }
}

#[tokio::test]
async fn a_replica_cut_off_from_redis_ends_its_script_before_another_begins() {
    for mode in MODES {
        let fleet = Fleet::start(2, &shared_url(), QUICK, &[mode, ("REDIS_DOWN", "refuse")]).await;
        let id = fleet.api(0).create().await;
        let live = begun(fleet.api(0), &id, "sleep 60; echo late > late").await;
        fleet.cut_off(0);
        let other = tokio::spawn({
            let (api, id) = (fleet.api(1).clone(), id.clone());
            async move { (api.stdout(&id, "ls; echo on > f").await, tokio::time::Instant::now()) }
        });
        let error = refusal(live).await;
        let ended = tokio::time::Instant::now();
        assert_eq!(error["code"], "LEASE_LOST", "{mode:?}: {error}");
        let (seen, began) = other.await.expect("the other");
        assert_eq!(seen, "");
        assert!(ended < began, "{mode:?}: two ran at once");
        fleet.api(0).try_exec(&id, &json!({"script": "true"})).await.refused(503, "COORDINATION_UNAVAILABLE");
        fleet.traces.check(Injected::Nothing);
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_leaves_the_queue_in_redis_at_once() {
    let fleet = Fleet::start(2, &shared_url(), CALM, &[]).await;
    let id = fleet.api(0).create().await;
    let live = begun(fleet.api(0), &id, "sleep 60").await;
    let path = format!("/v1/sandboxes/{id}/exec-sync");
    let request = fleet.api(1).raw_post(&path, &json!({"script": "echo x > never"}));
    let socket = hang_up(fleet.replica(1).addr(), &request).await;
    fleet.until_waiting(&id, 1, Duration::from_secs(10)).await;
    drop(socket);
    // The mark would stand for another 1.2 s, and its key for 4.8.
    fleet.until_waiting(&id, 0, Duration::from_secs(1)).await;
    drop(live);
    exec_within(fleet.api(1), &id, "ls", SLACK, "").await;
    fleet.traces.check(Injected::Nothing);
}

#[tokio::test]
async fn without_the_lease_the_compare_and_set_decides() {
    let fleet = Fleet::start(2, &shared_url(), QUICK, &[]).await;
    let id = fleet.api(0).create().await;
    // The replica goes on without Redis; what it then meets in Postgres is not its own.
    let live = begun(fleet.api(0), &id, "sleep 6; echo late > late").await;
    fleet.cut_off(0);
    exec_within(fleet.api(1), &id, "ls; echo on > f", LEASE + SLACK, "").await;
    let error = refusal(live).await;
    assert_eq!(error["code"], "CONFLICT", "{error}");
    eventually("readyz says what is away", LEASE, || async {
        let ready = fleet.api(0).get("/readyz").await.expect(200).json();
        (ready["degraded"] == json!(["redis"])).then_some(())
    })
    .await;
    assert_eq!(fleet.api(1).get("/readyz").await.expect(200).json()["degraded"], json!([]));
    assert_eq!(fleet.api(0).stdout(&id, "ls; cat f").await, "f\non\n");
    fleet.traces.check(Injected::Nothing);
}
