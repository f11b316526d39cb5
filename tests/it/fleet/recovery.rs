//! How long the sandboxes of a replica that is gone stay taken: measured on many at once,
//! from the worst moment on, right after their leases were renewed.

use std::time::Duration;

use sqlfs::clock;

use super::rig::{CALM, Env, Fleet, LEASE, MODES, QUICK, begun, key};
use super::traces::Injected;
use crate::support::redis::Redis;
use crate::support::redis_calls::RedisCalls;

const SANDBOXES: usize = 20;

/// What a busy machine may add until the last of them is granted.
const SLACK: Duration = Duration::from_millis(300);

/// What preemptible adds: until a waiting replica looks again.
const LOOK: Duration = Duration::from_millis(500);

/// The longest time from the signal to a grant on the other replica, over many sandboxes.
async fn longest(times: &[Env<'_>], mode: Env<'_>, signal: i32) -> Duration {
    let redis = Redis::start().await;
    let mut fleet = Fleet::start(2, &redis.url(), times, &[mode, ("MAX_EXECS_PER_OWNER", "40")]).await;
    let make = || async {
        let id = fleet.api(0).create().await;
        let live = begun(fleet.api(0), &id, "sleep 60").await;
        (id, live)
    };
    let running = futures_util::future::join_all((0..SANDBOXES).map(|_| make())).await;
    let (ids, lives): (Vec<_>, Vec<_>) = running.into_iter().unzip();
    let watch = RedisCalls::begin(&redis.url()).await;
    let renewal = if mode.1 == "lease" { "renew" } else { "heartbeat" };
    watch.until(renewal, 2, Duration::from_secs(20)).await;
    let gone = clock::monotonic_ns();
    if signal == libc::SIGKILL {
        fleet.replica_mut(0).kill();
    } else {
        fleet.replica(0).signal(signal);
    }
    drop(lives);
    let waiting = ids.iter().map(|id| fleet.api(1).exec(id, "echo on > f"));
    futures_util::future::join_all(waiting).await;
    fleet.traces.check(if signal == libc::SIGKILL { Injected::Nothing } else { Injected::Pause });
    let grants = fleet.traces.grants();
    let taken = ids.iter().map(|id| {
        let later = grants.iter().find(|(ns, of)| *ns > gone && *of == key(id));
        Duration::from_nanos(later.expect("a grant").0 - gone)
    });
    taken.max().expect("some")
}

#[tokio::test]
async fn a_killed_replica_is_succeeded_within_its_lease() {
    for mode in MODES {
        let allowed = LEASE + if mode.1 == "lease" { SLACK } else { LOOK };
        let longest = longest(QUICK, mode, libc::SIGKILL).await;
        println!("killed, {mode:?}: the last of {SANDBOXES} after {longest:?} of {LEASE:?}");
        assert!(longest <= allowed, "{mode:?}: {longest:?}, allowed {allowed:?}");
        // Else the moment was not the worst one.
        assert!(longest + SLACK > LEASE, "{mode:?}: {longest:?}");
    }
}

#[tokio::test]
async fn a_stopped_replica_is_succeeded_within_its_lease() {
    for mode in MODES {
        let longest = longest(QUICK, mode, libc::SIGSTOP).await;
        println!("stopped, {mode:?}: the last of {SANDBOXES} after {longest:?} of {LEASE:?}");
        assert!(longest <= LEASE + Duration::from_secs(1), "{mode:?}: {longest:?}");
        assert!(longest + SLACK > LEASE, "{mode:?}: {longest:?}");
    }
}

#[tokio::test]
async fn with_the_default_times_a_killed_replica_is_succeeded_within_its_liveness_time() {
    let liveness = Duration::from_secs(10);
    let longest = longest(CALM, MODES[1], libc::SIGKILL).await;
    println!("killed, default times, preemptible: the last of {SANDBOXES} after {longest:?}");
    assert!(longest <= liveness + LOOK, "{longest:?}");
}
