//! The version hint: given with the lease, and only what its last holder knew.

use super::rig::{LEASE, Rig, claim, each_store, on_redis};
use super::{fence, is_busy};
use sqlfs::lease::verbs::{Answer, Claim, Hint, Notice, Parting};

const ONE: Option<Hint> = Some(Hint(1));
const TWO: Option<Hint> = Some(Hint(u128::MAX - 1));

fn saw(hint: Option<Hint>) -> Parting {
    Parting { hint, wrote: false }
}

fn committed(hint: Option<Hint>) -> Parting {
    Parting { hint, wrote: true }
}

/// The hint that comes with the lease.
async fn taken(rig: &Rig, claim: Claim) -> Option<Hint> {
    match rig.acquire(claim, 0).await {
        Answer::Acquired { hint, .. } => hint,
        other => panic!("not granted: {other:?}"),
    }
}

#[tokio::test]
async fn it_is_given_to_the_next_holder_and_pending_while_that_one_holds() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        assert_eq!((rig.hint().await, taken(&rig, a).await), (None, None));
        rig.part(a, committed(ONE)).await;
        assert_eq!(rig.hint().await, ONE);
        assert_eq!(rig.hint().await, ONE, "a reader takes nothing away");
        assert_eq!(taken(&rig, b).await, ONE);
        assert_eq!(rig.hint().await, None, "pending");
        assert!(is_busy(&rig.acquire(a, 0).await));
        assert_eq!(rig.hint().await, None, "who only waits changes nothing");
        rig.part(b, saw(TWO)).await;
        assert_eq!(rig.hint().await, TWO);
    })
    .await;
}

#[tokio::test]
async fn a_repeated_question_does_not_bring_it_again() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        taken(&rig, a).await;
        rig.part(a, committed(ONE)).await;
        assert_eq!(taken(&rig, b).await, ONE);
        assert_eq!(taken(&rig, b).await, None);
        rig.part(b, saw(ONE)).await;
        assert_eq!(rig.hint().await, ONE);
    })
    .await;
}

#[tokio::test]
async fn a_holder_that_knows_nothing_or_dies_leaves_none() {
    each_store(async |rig: Rig| {
        let (a, b, c) = (claim(1, 0), claim(2, 0), claim(3, 0));
        taken(&rig, a).await;
        rig.part(a, committed(ONE)).await;
        taken(&rig, b).await;
        rig.part(b, committed(None)).await;
        assert_eq!(rig.hint().await, None);
        taken(&rig, a).await;
        rig.part(a, committed(ONE)).await;
        taken(&rig, b).await;
        rig.pass(LEASE + 20).await;
        assert_eq!(rig.hint().await, None, "pending under the dead");
        assert_eq!(taken(&rig, c).await, None);
        rig.part(c, saw(TWO)).await;
        assert_eq!(rig.hint().await, TWO);
    })
    .await;
}

#[tokio::test]
async fn a_late_release_does_not_set_it() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        taken(&rig, a).await;
        rig.pass(LEASE + 20).await;
        rig.part(a, saw(ONE)).await;
        assert_eq!(rig.hint().await, None, "expired, nobody else holds it");
        taken(&rig, b).await;
        rig.part(a, saw(ONE)).await;
        assert_eq!(rig.hint().await, None, "another's");
        rig.part(b, saw(TWO)).await;
        assert_eq!(rig.hint().await, TWO, "and the holder's own counts");
        rig.part(a, saw(ONE)).await;
        assert_eq!(rig.hint().await, TWO, "who wrote nothing changes nothing");
    })
    .await;
}

#[tokio::test]
async fn a_late_committer_drops_it_pending_or_not() {
    each_store(async |rig: Rig| {
        let (a, b, c) = (claim(1, 0), claim(2, 0), claim(3, 0));
        taken(&rig, a).await;
        rig.pass(LEASE + 20).await;
        taken(&rig, b).await;
        rig.part(b, saw(ONE)).await;
        rig.part(a, committed(TWO)).await;
        assert_eq!(rig.hint().await, None);
        // Before the next holder is done: that one no longer knows the newest state.
        taken(&rig, b).await;
        rig.pass(LEASE + 20).await;
        taken(&rig, c).await;
        rig.part(b, committed(TWO)).await;
        rig.part(c, saw(ONE)).await;
        assert_eq!(rig.hint().await, None);
    })
    .await;
}

#[tokio::test]
async fn after_a_flush_or_a_restart_it_counts_for_nothing() {
    each_store(async |rig: Rig| {
        let (a, b, c) = (claim(1, 0), claim(2, 0), claim(3, 0));
        let token = fence(&rig.acquire(a, 0).await);
        rig.part(a, committed(ONE)).await;
        rig.restart().await;
        assert_eq!(rig.hint().await, None);
        assert_eq!(taken(&rig, b).await, None);
        rig.part(b, saw(ONE)).await;
        assert_eq!(rig.hint().await, ONE, "of this run");
        rig.flush().await;
        assert_eq!(rig.hint().await, None);
        // A lease that was restored after a flush brings no hint with it.
        taken(&rig, c).await;
        rig.flush().await;
        assert_eq!(rig.renew(c, token + 9).await, Answer::Kept(vec![true]));
        rig.part(c, saw(ONE)).await;
        assert_eq!(rig.hint().await, None);
    })
    .await;
}

#[tokio::test]
async fn while_void_it_is_neither_given_nor_set() {
    each_store(async |rig: Rig| {
        let (a, b, c) = (claim(1, 0), claim(2, 0), claim(3, 0));
        let release = async |claim, hint| rig.part(claim, saw(hint)).await;
        taken(&rig, a).await;
        rig.void(0).await;
        release(a, ONE).await;
        assert_eq!(rig.hint().await, None, "the holder does not know what happened meanwhile");
        taken(&rig, a).await;
        release(a, ONE).await;
        assert_eq!(rig.hint().await, ONE);
        rig.void(1000).await;
        assert_eq!(rig.hint().await, None);
        assert_eq!(taken(&rig, b).await, None);
        release(b, ONE).await;
        assert_eq!(rig.hint().await, None);
        taken(&rig, c).await;
        rig.void(0).await;
        rig.part(a, committed(ONE)).await;
        rig.end().await;
        assert_eq!(taken(&rig, a).await, None);
        rig.pass(1000 + 20).await;
        release(a, ONE).await;
        assert_eq!(rig.hint().await, None, "taken while it was void");
        taken(&rig, b).await;
        release(b, TWO).await;
        assert_eq!(rig.hint().await, TWO);
    })
    .await;
}

#[tokio::test]
async fn an_end_frees_the_lease_and_tells_its_holder_alone() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        let mut holder = rig.listen(a.owner).await;
        let mut waiter = rig.listen(b.owner).await;
        let token = fence(&rig.acquire(a, 0).await);
        assert!(is_busy(&rig.acquire(b, 0).await));
        rig.end().await;
        assert_eq!(holder.recv().await, Some(Notice::Gone(rig.key.clone())));
        assert_eq!(waiter.recv().await, Some(Notice::Free(rig.key.clone())));
        assert_eq!(rig.renew(a, token).await, Answer::Kept(vec![false]), "and by its next renewal");
        taken(&rig, b).await;
        rig.release(b).await;
        rig.end().await;
        rig.end().await;
        assert!(holder.try_recv().is_err() && waiter.try_recv().is_err(), "nobody holds it");
    })
    .await;
}

#[tokio::test]
async fn garbage_in_its_key_is_no_hint_and_does_not_stay() {
    let rig = on_redis().await;
    let key = rig.key.ver();
    let hex = "0".repeat(40);
    let mut all = vec![
        redis::cmd("RPUSH").arg(&key).arg("a").take(),
        redis::cmd("HSET").arg(&key).arg("a").arg("b").take(),
    ];
    for text in [
        String::new(),
        "garbage".into(),
        "\0".into(),
        "=".into(),
        "?".into(),
        "!!".into(),
        format!("= 1 {hex}"),
        format!("= {} {hex}", "f".repeat(32)),
        format!("= {} ", "f".repeat(32)),
        format!("= {}", "f".repeat(32)),
        format!("? {}", claim(9, 9)),
        format!("? {}x", claim(9, 9)),
    ] {
        all.push(redis::cmd("SET").arg(&key).arg(text).take());
    }
    for (number, command) in (1..).zip(&all) {
        let put = async || {
            rig.redis(redis::cmd("DEL").arg(&key)).await;
            rig.redis(command).await;
        };
        let (a, b) = (claim(1, number), claim(2, number));
        put().await;
        assert_eq!(rig.hint().await, None, "{number}");
        put().await;
        assert_eq!(taken(&rig, a).await, None, "{number}");
        put().await;
        rig.part(a, committed(ONE)).await;
        assert_eq!(rig.hint().await, None, "{number}: not pending under its claim any more");
        put().await;
        rig.void(0).await;
        put().await;
        rig.end().await;
        put().await;
        taken(&rig, b).await;
        rig.part(b, saw(TWO)).await;
        assert_eq!(rig.hint().await, TWO, "{number}");
    }
    // A void without an end gets one.
    rig.redis(redis::cmd("SET").arg(&key).arg("!")).await;
    assert_eq!(taken(&rig, claim(1, 1000)).await, None);
    rig.release(claim(1, 1000)).await;
    rig.pass(3_600_000 + 20).await;
    taken(&rig, claim(1, 1001)).await;
    rig.part(claim(1, 1001), saw(ONE)).await;
    assert_eq!(rig.hint().await, ONE);
}
