//! Redis is away for many lease times: writers without network permission go on.

use std::time::Duration;

use super::record::{Outcome, Work, check};
use super::rig::{Env, Fleet, bounded};
use super::workload::World;
use crate::support::random::{Random, seed};
use crate::support::redis::Redis;

/// Lease times that Redis is away.
const LEASES: u32 = 60;
/// In each of these spans every sandbox is written.
const SPAN: Duration = Duration::from_secs(2);

#[tokio::test]
async fn sixty_leases_without_redis_cost_nobody_anything() {
    // The shortest that the settings allow; in a long run one of seconds.
    let long = bounded(1) > 1;
    let times: &[Env<'_>] = if long {
        &[
            ("REDIS_EXEC_LOCK_LEASE_MS", "1000"),
            ("REDIS_EXEC_LOCK_RENEW_MS", "200"),
            ("REDIS_EXEC_LOCK_MARGIN_MS", "200"),
        ]
    } else {
        &[
            ("REDIS_EXEC_LOCK_LEASE_MS", "200"),
            ("REDIS_EXEC_LOCK_RENEW_MS", "50"),
            ("REDIS_EXEC_LOCK_MARGIN_MS", "50"),
        ]
    };
    let lease = Duration::from_millis(if long { 1000 } else { 200 });
    let mut redis = Redis::start().await;
    let fleet = Fleet::start(2, &redis.url(), times, &[]).await;
    let mut random = Random(seed());
    // Sandbox 0 is written through one replica, sandbox 1 through both.
    let world = World::new(fleet.apis(), 2, &["CONFLICT"]).await;
    redis.kill();
    let mut clients = tokio::task::JoinSet::new();
    for (place, replica) in [(0, 0), (0, 0), (0, 0), (1, 0), (1, 0), (1, 1), (1, 1)] {
        clients.spawn(world.clone().client(place, replica, random.fork(), 30));
    }
    let spans = (lease * LEASES).as_millis().div_ceil(SPAN.as_millis());
    for span in 0..spans {
        let before = world.acknowledged();
        tokio::time::sleep(SPAN).await;
        let now = world.acknowledged();
        assert!(now.iter().zip(&before).all(|(now, before)| now > before), "span {span}: {before:?} {now:?}");
    }
    world.stop();
    while let Some(ended) = clients.join_next().await {
        ended.expect("a client");
    }
    for place in [0, 1] {
        let (ops, truth) = world.truth(place, fleet.database()).await;
        let tally = check(&ops, &truth).unwrap_or_else(|error| panic!("sandbox {place}: {error}"));
        println!("sandbox {place}: {tally:?}");
        assert_eq!(tally.unanswered, 0, "sandbox {place}: {tally:?}");
        let refused = if place == 0 { 0 } else { tally.writes / 10 };
        assert!(tally.refused <= refused, "sandbox {place}: {tally:?}");
    }
    redis.start_again().await;
    for replica in [0, 1] {
        let back = world.run(1, replica, Work::Count, Duration::ZERO).await;
        assert!(matches!(back, Outcome::Done { .. }), "Redis is back: {back:?}");
    }
}
