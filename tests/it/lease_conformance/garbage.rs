//! Redis alone: whatever lies in a key, the sandbox stays usable and tokens stay right.

use super::rig::{LEASE, MARK, Rig, SCRIPTS, claim, on_redis, on_redis_while, on_redis_with, redis_url};
use super::{fence, is_busy};
use sqlfs::lease::keys::alive;
use sqlfs::lease::verbs::{Answer, Terms};

/// Commands that put garbage into a key, without a time to live.
fn garbage(key: &str) -> Vec<redis::Cmd> {
    let mut all = Vec::new();
    for text in
        ["", "garbage", "-5", "1e300", "9223372036854775807", "99999999999999999999", "nan", "\0\u{1}"]
    {
        all.push(redis::cmd("SET").arg(key).arg(text).take());
    }
    let well_formed = claim(9, 9);
    for text in [
        format!("{well_formed} 99999999999999999999 e 500"),
        format!("{well_formed} 1 e 0"),
        format!("{well_formed} 1 e 99999999999"),
        format!("{well_formed} 1 x 500"),
        format!("{well_formed} 1 e"),
    ] {
        all.push(redis::cmd("SET").arg(key).arg(text).take());
    }
    all.push(redis::cmd("RPUSH").arg(key).arg("a").take());
    all.push(redis::cmd("SADD").arg(key).arg("a").take());
    all.push(redis::cmd("ZADD").arg(key).arg(1).arg("a").take());
    all.push(redis::cmd("HSET").arg(key).arg("a").arg("b").take());
    all.push(redis::cmd("HSET").arg(key).arg("a").arg("0 99999999999999 1").take());
    all.push(redis::cmd("HSET").arg(key).arg("a").arg("99999999999999999 99999999999999 1").take());
    all
}

async fn put(rig: &Rig, key: &str, command: &redis::Cmd) {
    rig.redis(redis::cmd("DEL").arg(key)).await;
    rig.redis(command).await;
}

#[tokio::test]
async fn in_the_lease_counter_and_marks() {
    let rig = on_redis().await;
    let mut number = 0;
    for key in [rig.key.lock(), rig.key.fence(), rig.key.wait()] {
        for command in garbage(&key) {
            number += 1;
            let (a, b) = (claim(1, number), claim(2, number));
            put(&rig, &key, &command).await;
            let granted = rig.acquire(a, 1000).await;
            assert!(
                matches!(granted, Answer::Acquired { fence, .. } if fence > 1000),
                "{key} {number}: {granted:?}"
            );
            // And while it is held, under every verb.
            put(&rig, &key, &command).await;
            rig.raise(a, 2000).await;
            put(&rig, &key, &command).await;
            rig.renew(a, 2001).await;
            put(&rig, &key, &command).await;
            rig.heartbeat(a, 2001).await;
            put(&rig, &key, &command).await;
            rig.acquire(b, 1000).await;
            put(&rig, &key, &command).await;
            rig.release(a).await;
            rig.release(b).await;
            put(&rig, &key, &command).await;
            let next = fence(&rig.acquire(b, 3000).await);
            assert!(next > 3000 && next < 1 << 53, "{key} {number}: {next}");
            rig.release(b).await;
        }
    }
}

#[tokio::test]
async fn in_the_liveness_key_it_delays_by_one_liveness_time_at_most() {
    let rig = on_redis().await;
    let (a, b) = (claim(1, 0), claim(2, 0));
    let token = fence(&rig.acquire(a, 0).await);
    rig.heartbeat(a, token).await;
    let key = alive(a.owner);
    for command in garbage(&key) {
        put(&rig, &key, &command).await;
        assert_eq!(rig.alive(a.owner).await, Answer::Alive(true), "garbage is no death");
    }
    rig.pass(LEASE + 20).await;
    assert_eq!(rig.alive(a.owner).await, Answer::Alive(false));
    fence(&rig.evict(b, a).await);
}

#[tokio::test]
async fn a_lease_or_mark_that_lost_its_expiry_gets_it_back() {
    let rig = on_redis().await;
    let (a, b, c) = (claim(1, 0), claim(2, 0), claim(3, 0));
    fence(&rig.acquire(a, 0).await);
    rig.redis(redis::cmd("PERSIST").arg(rig.key.lock())).await;
    assert!(is_busy(&rig.acquire(b, 0).await));
    rig.redis(redis::cmd("PERSIST").arg(rig.key.wait())).await;
    rig.pass(LEASE.max(MARK) + 20).await;
    fence(&rig.acquire(c, 0).await);
}

#[tokio::test]
async fn a_confirmed_lease_that_nobody_asks_for_is_forgotten_in_the_end() {
    let rig = on_redis().await;
    let a = claim(1, 0);
    let token = fence(&rig.acquire(a, 0).await);
    let mut server = crate::support::redis::connect(&redis_url()).await;
    for round in 0..2 {
        assert_eq!(rig.heartbeat(a, token).await, Answer::Kept(vec![true]));
        let left: i64 =
            redis::cmd("PTTL").arg(rig.key.lock()).query_async(&mut server).await.expect("Redis answers");
        // Each heartbeat begins the hour anew.
        assert!((3_590_000..=3_600_000).contains(&left), "round {round}: {left} ms");
        rig.redis(redis::cmd("PEXPIRE").arg(rig.key.lock()).arg(60_000)).await;
    }
}

#[tokio::test]
async fn scripts_that_the_server_forgot_are_sent_again() {
    let alone = SCRIPTS.write().await;
    let mut server = redis::Client::open(redis_url())
        .expect("a Redis URL")
        .get_multiplexed_async_connection()
        .await
        .expect("a Redis that runs");
    let forgotten: redis::RedisResult<()> = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut server).await;
    forgotten.expect("the test's own command");
    let rig = on_redis_while(alone.downgrade()).await;
    fence(&rig.acquire(claim(1, 0), 0).await);
    rig.release(claim(1, 0)).await;
    fence(&rig.acquire(claim(2, 0), 0).await);
}

#[tokio::test]
async fn the_server_itself_ends_a_lease_after_its_time_and_not_before() {
    let lease = 300;
    let rig = on_redis_with(Terms { lease, mark: MARK }).await;
    let asked = sqlfs::clock::now();
    fence(&rig.acquire(claim(1, 0), 0).await);
    while is_busy(&rig.acquire(claim(2, 0), 0).await) {
        assert!(asked.elapsed().as_secs() < 60, "it does not end");
    }
    assert!(asked.elapsed().as_millis() as u64 >= lease, "ended early");
}
