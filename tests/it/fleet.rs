//! Several server processes on one Postgres and one Redis: nothing is lost, doubled, stale
//! or half there, whatever becomes of a replica or of Redis.

mod campaign;
mod crowd;
mod deletion;
mod faults;
mod figures;
mod hints;
mod housekeeping;
mod inject;
mod record;
mod record_checks;
mod recovery;
mod redis_away;
mod redis_faults;
mod rig;
mod runs_once;
mod shared_contents;
mod snapshots;
mod traces;
mod workload;

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use crate::support::http::send;
use crate::support::redis::{Redis, shared_url};
use rig::{CALM, Fleet, LEASE, MODES, QUICK, begun, bounded, exec_within, load};
use traces::Injected;

#[tokio::test]
async fn writers_on_two_replicas_count_exactly() {
    for mode in MODES {
        let fleet = Fleet::start(2, &shared_url(), CALM, &[mode]).await;
        let id = fleet.api(0).create().await;
        let history = load(&fleet.apis(), &id, 4, bounded(12)).await;
        // Redis is well: nobody meets anybody.
        assert_eq!((history.refused(), history.unknown()), (vec![], 0), "{mode:?}");
        let tokens = history.check(fleet.api(1), &id).await;
        assert_eq!(tokens, history.done(), "{mode:?}: all under a lease");
        // Whether a writer of that load had to wait is chance; this one has to.
        let live = begun(fleet.api(0), &id, "sleep 60").await;
        let (api, waiter) = (fleet.api(1).clone(), id.clone());
        let other = tokio::spawn(async move { api.stdout(&waiter, "ls half || echo none").await });
        fleet.until_waiting(&id, 1, Duration::from_secs(10)).await;
        drop(live);
        assert_eq!(other.await.expect("the other"), "none\n", "{mode:?}");
        let seen = fleet.traces.check(Injected::Nothing);
        assert!(seen.handovers > 0 && seen.waits > 0, "{mode:?}: {seen:?}");
    }
}

#[tokio::test]
async fn a_write_is_seen_on_another_replica_as_soon_as_it_is_acknowledged() {
    let redis = Redis::start().await;
    let fleet = Fleet::start(2, &redis.url(), CALM, &[]).await;
    let id = fleet.api(0).create().await;
    for round in 0..bounded(20) {
        let (writer, reader) = (fleet.api(round % 2), fleet.api((round + 1) % 2));
        let version = writer.exec(&id, &format!("echo {round} > f")).await["version"].clone();
        if round % 3 == 0 {
            redis.flush().await;
        }
        let read = reader.exec_with(&id, &json!({"script": "cat f", "readOnly": true})).await;
        assert_eq!((&read["stdout"], &read["version"]), (&json!(format!("{round}\n")), &version));
        assert_eq!(reader.file(&id, "/home/user/f").await.expect(200).text(), format!("{round}\n"));
    }
    fleet.traces.check(Injected::MemoryLoss);
}

#[tokio::test]
async fn a_unique_name_has_one_winner() {
    let fleet = Fleet::start(2, &shared_url(), CALM, &[]).await;
    for round in 0..bounded(8) {
        let name = format!("name-{round}");
        let wanted = json!({"name": name, "unique": true});
        let tries = (0..6).map(|n| fleet.api(n % 2).post("/v1/sandboxes", &wanted));
        let replies = futures_util::future::join_all(tries).await;
        let (made, taken): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 201);
        assert_eq!((made.len(), taken.len()), (1, 5), "{taken:?}");
        let id = made[0].json()["id"].as_str().expect("an id").to_owned();
        for reply in &taken {
            assert_eq!(reply.refused(409, "NAME_TAKEN")["holderId"], json!(id));
        }
        let same = fleet.api(1).post("/v1/sandboxes?ifExists=return", &wanted).await.expect(200).json();
        assert_eq!(same["id"], json!(id));
        fleet.api(1).delete(&format!("/v1/sandboxes/{id}")).await.expect(204);
        fleet.api(0).post("/v1/sandboxes", &wanted).await.expect(201);
    }
    fleet.traces.check(Injected::Nothing);
}

#[tokio::test]
async fn a_drain_under_load_loses_nothing_and_gives_the_leases_back() {
    let mut fleet = Fleet::start(2, &shared_url(), CALM, &[]).await;
    let id = fleet.api(0).create().await;
    let running = tokio::spawn({
        let (apis, id) = (fleet.apis(), id.clone());
        async move { load(&apis, &id, 3, bounded(25)).await }
    });
    // The load is on its way.
    crate::support::eventually("some appends are there", Duration::from_secs(20), || async {
        (fleet.api(1).sandbox(&id).await["version"].as_u64() > Some(10)).then_some(())
    })
    .await;
    fleet.replica(0).terminate();
    assert!(fleet.replica_mut(0).exited().await.success());
    // The lease time is 10 s: it was given back, not left to expire.
    let start = tokio::time::Instant::now();
    fleet.api(1).exec(&id, "true").await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let history = running.await.expect("the load");
    assert!(history.refused().iter().all(|code| *code == "SHUTTING_DOWN"), "{:?}", history.refused());
    history.check(fleet.api(1), &id).await;
    fleet.traces.check(Injected::Nothing);
}

#[tokio::test]
async fn a_script_that_outlives_its_lease_time_keeps_its_lease() {
    for mode in MODES {
        let fleet = Fleet::start(2, &shared_url(), QUICK, &[mode]).await;
        let id = fleet.api(0).create().await;
        let long = tokio::spawn({
            let (api, id) = (fleet.api(0).clone(), id.clone());
            async move { api.exec(&id, "touch begun; sleep 4; echo one > f").await }
        });
        let path = format!("/v1/sandboxes/{id}/exec-sync");
        // In time for the second to wait: the first is in the log of nobody yet, so look
        // at the lease itself.
        fleet.until_leased(&id).await;
        let second =
            fleet.api(1).request(Method::POST, &path).json(&json!({"script": "cat f; echo two > f"}));
        let second = send(second).await.expect(200).json();
        assert_eq!(second["stdout"], "one\n", "{mode:?}: it waited for the first");
        assert_eq!(long.await.expect("the first")["committed"], true);
        exec_within(fleet.api(0), &id, "cat f", LEASE, "two\n").await;
        fleet.traces.check(Injected::Nothing);
    }
}
