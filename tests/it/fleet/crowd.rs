//! A thousand clients at once want one sandbox, over two replicas.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::rig::{CALM, Fleet, bounded};
use crate::support::Api;
use crate::support::redis::shared_url;

const CLIENTS: usize = 1000;
/// Increments of one client, for a mean.
const MEASURED: usize = 100;
/// While both replicas have waiters, neither is this many completions ahead.
const AHEAD: i64 = 8;

/// One increment: where, the counter that it wrote, its version, and how long it took.
struct Done {
    replica: usize,
    counter: u64,
    version: u64,
    took: Duration,
}

/// `Err` is an answer that is not a success.
async fn increment(api: Api, id: String, replica: usize) -> Result<Done, String> {
    let start = Instant::now();
    let script = "n=$(cat c); echo $((n + 1)) > c; cat c";
    let reply = api.try_exec(&id, &json!({"script": script})).await;
    let took = start.elapsed();
    if reply.status != 200 {
        return Err(format!("{} after {took:?}: {}", reply.status, reply.text()));
    }
    let body: Value = reply.json();
    assert_eq!((&body["exitCode"], &body["committed"]), (&json!(0), &json!(true)), "{body}");
    let counter = body["stdout"].as_str().expect("stdout").trim().parse().expect("a number");
    Ok(Done { replica, counter, version: body["version"].as_u64().expect("a version"), took })
}

/// Mean time of an increment that nobody disturbs, through `replicas` in turn.
async fn alone(fleet: &Fleet, id: &str, replicas: usize) -> Duration {
    let mut sum = Duration::ZERO;
    for n in 0..MEASURED {
        let replica = n % replicas;
        let done = increment(fleet.api(replica).clone(), id.to_owned(), replica).await;
        sum += done.expect("nobody is in the way").took;
    }
    sum / MEASURED as u32
}

#[tokio::test]
async fn a_thousand_clients_on_two_replicas_all_get_their_fair_share() {
    // On a busy machine a thousand take longer than an exec waits by default.
    let patient = [("REDIS_EXEC_LOCK_ACQUIRE_TIMEOUT_MS", "300000")];
    let fleet = Fleet::start(2, &shared_url(), CALM, &patient).await;
    let id = fleet.api(0).create().await;
    fleet.api(1).exec(&id, "echo 0 > c").await;
    for round in 0..bounded(1) {
        crowd(&fleet, &id, round).await;
    }
}

async fn crowd(fleet: &Fleet, id: &str, round: usize) {
    let one = alone(fleet, id, 1).await;
    let before = alone(fleet, id, 2).await;
    let start = Instant::now();
    let all = (0..CLIENTS).map(|n| tokio::spawn(increment(fleet.api(n % 2).clone(), id.to_owned(), n % 2)));
    let done: Vec<_> = futures_util::future::join_all(all.collect::<Vec<_>>()).await;
    let total = start.elapsed();
    let (done, refused): (Vec<_>, Vec<_>) =
        done.into_iter().map(|done| done.expect("an increment")).partition(Result::is_ok);
    let refused: Vec<String> = refused.into_iter().filter_map(Result::err).collect();
    assert!(refused.is_empty(), "{} of {CLIENTS} were not served, one with {}", refused.len(), refused[0]);
    let mut done: Vec<Done> = done.into_iter().filter_map(Result::ok).collect();
    let after = alone(fleet, id, 2).await;
    // What the last one waits where a thousand are served one after the other and the
    // replicas take turns: each has to load what the other wrote.
    let share = before.max(after) * CLIENTS as u32;
    let longest = done.iter().map(|done| done.took).max().expect("a wait");
    println!(
        "round {round}: alone {one:?} on one replica, {before:?} and {after:?} on both, {CLIENTS} at once in {total:?}, longest wait {longest:?}, \
         fair share {share:?}"
    );

    done.sort_by_key(|done| done.version);
    let first = done[0].counter;
    for (at, done) in done.iter().enumerate() {
        assert_eq!(done.counter, first + at as u64, "version {}", done.version);
    }
    let last = fleet.api(1).stdout(id, "cat c").await;
    let expected = (round + 1) * (CLIENTS + 3 * MEASURED);
    assert_eq!(last.trim(), expected.to_string(), "an increment is lost or there twice");

    // Until one has served all of its own.
    let (mut served, mut ahead, mut most) = ([0; 2], 0_i64, 0);
    for done in &done {
        served[done.replica] += 1;
        if served.contains(&(CLIENTS / 2)) {
            break;
        }
        ahead += if done.replica == 0 { 1 } else { -1 };
        most = most.max(ahead.abs());
    }
    println!("no replica was more than {most} completions ahead; served {served:?} until one had no waiters");
    assert!(most <= AHEAD, "one replica was {most} completions ahead");
    assert!(longest <= 2 * share, "the longest wait was {longest:?}, the fair share {share:?}");
}
