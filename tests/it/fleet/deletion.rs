//! A deletion on one replica, seen on the others.

use std::time::Duration;

use serde_json::json;

use super::rig::{CALM, Fleet, LEASE, MODES, QUICK, begun, refusal};
use super::traces::Injected;
use crate::support::redis::{Redis, shared_url};

#[tokio::test]
async fn a_deletion_is_seen_on_warm_and_cold_replicas() {
    let fleet = Fleet::start(3, &shared_url(), CALM, &[]).await;
    let id = fleet.api(0).create().await;
    fleet.api(0).exec(&id, "echo x > f").await;
    assert_eq!(fleet.api(1).stdout(&id, "cat f").await, "x\n");
    fleet.api(0).delete(&format!("/v1/sandboxes/{id}")).await.expect(204);
    // Replica 1 is warm, replica 2 has never seen it.
    for replica in [1, 2, 0] {
        let api = fleet.api(replica);
        for body in [json!({"script": "echo y > f"}), json!({"script": "cat f", "readOnly": true})] {
            api.try_exec(&id, &body).await.refused(404, "SANDBOX_NOT_FOUND");
        }
        api.file(&id, "/home/user/f").await.refused(404, "SANDBOX_NOT_FOUND");
        api.put(&id, "/home/user/f", "z").await.refused(404, "SANDBOX_NOT_FOUND");
        api.delete(&format!("/v1/sandboxes/{id}")).await.refused(404, "SANDBOX_NOT_FOUND");
    }
    fleet.traces.check(Injected::Nothing);
}

#[tokio::test]
async fn a_deletion_waits_for_a_script_on_another_replica_unless_forced() {
    let fleet = Fleet::start(2, &shared_url(), CALM, &[]).await;
    let id = fleet.api(0).create().await;
    let live = begun(fleet.api(0), &id, "sleep 0.5; echo y > f").await;
    fleet.api(1).delete(&format!("/v1/sandboxes/{id}")).await.expect(204);
    let exit = live.all().await.pop().expect("an exit");
    assert_eq!((exit.name.as_str(), &exit.data["committed"]), ("exit", &json!(true)), "{exit:?}");

    let id = fleet.api(0).create().await;
    let live = begun(fleet.api(0), &id, "sleep 0.5; echo y > f").await;
    fleet.api(1).delete(&format!("/v1/sandboxes/{id}?force=true")).await.expect(204);
    assert_eq!(refusal(live).await["code"], "SANDBOX_NOT_FOUND");
    fleet.api(0).try_exec(&id, &json!({"script": "ls"})).await.refused(404, "SANDBOX_NOT_FOUND");
    fleet.traces.check(Injected::Nothing);
}

#[tokio::test]
async fn a_forced_deletion_ends_a_script_on_another_replica_at_once() {
    for mode in MODES {
        let fleet = Fleet::start(2, &shared_url(), CALM, &[mode]).await;
        let id = fleet.api(0).create().await;
        let live = begun(fleet.api(0), &id, "sleep 60; echo y > f").await;
        let start = tokio::time::Instant::now();
        fleet.api(1).delete(&format!("/v1/sandboxes/{id}?force=true")).await.expect(204);
        assert_eq!(refusal(live).await["code"], "SANDBOX_NOT_FOUND", "{mode:?}");
        assert!(start.elapsed() < Duration::from_secs(1), "{mode:?}: {:?}", start.elapsed());
    }
}

#[tokio::test]
async fn who_was_not_told_of_a_forced_deletion_learns_it_with_the_lease() {
    for mode in MODES {
        let redis = Redis::start().await;
        let fleet = Fleet::start(2, &redis.url(), QUICK, &[mode]).await;
        let id = fleet.api(0).create().await;
        let live = begun(fleet.api(0), &id, "sleep 60; echo y > f").await;
        // Nobody hears anything until the replicas listen again.
        let mut deaf = redis::cmd("CLIENT");
        deaf.arg("KILL").arg("TYPE").arg("pubsub").exec_async(&mut fleet.redis().await).await.expect("deaf");
        let start = tokio::time::Instant::now();
        fleet.api(1).delete(&format!("/v1/sandboxes/{id}?force=true")).await.expect(204);
        assert_eq!(refusal(live).await["code"], "SANDBOX_NOT_FOUND", "{mode:?}");
        assert!(start.elapsed() < LEASE, "{mode:?}: {:?}", start.elapsed());
    }
}
