//! One suite for both lease stores: what the scripts do is what the reference does.

mod garbage;
mod hint;
mod rig;

use rig::{LEASE, MARK, Rig, claim, each_store};
use sqlfs::lease::verbs::{Answer, Holding, Notice, Parting, Verb};

fn fence(answer: &Answer) -> i64 {
    match answer {
        Answer::Acquired { fence, .. } | Answer::Raised(Some(fence)) => *fence,
        other => panic!("not granted: {other:?}"),
    }
}

fn is_busy(answer: &Answer) -> bool {
    matches!(answer, Answer::Busy { .. })
}

#[tokio::test]
async fn one_holder_and_growing_tokens() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        let first = fence(&rig.acquire(a, 0).await);
        let busy = rig.acquire(b, 0).await;
        let Answer::Busy { left: Some(left), confirmed: None } = busy else { panic!("{busy:?}") };
        assert!(left <= LEASE, "{left}");
        assert_eq!(rig.release(a).await, Answer::Released);
        let second = fence(&rig.acquire(b, 0).await);
        assert!(second > first, "{first} then {second}");
    })
    .await;
}

#[tokio::test]
async fn a_lease_expires_and_its_renewal_after_that_fails() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        let first = fence(&rig.acquire(a, 0).await);
        rig.pass(LEASE + 20).await;
        assert_eq!(rig.renew(a, first).await, Answer::Kept(vec![false]), "expired, nobody else");
        let second = fence(&rig.acquire(b, 0).await);
        assert!(second > first);
        assert_eq!(rig.renew(a, first).await, Answer::Kept(vec![false]), "another's");
        assert_eq!(rig.renew(b, second).await, Answer::Kept(vec![true]));
    })
    .await;
}

#[tokio::test]
async fn renewal_and_repetition_begin_the_lease_time_anew() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        let token = fence(&rig.acquire(a, 0).await);
        rig.pass(LEASE * 6 / 10).await;
        assert_eq!(rig.renew(a, token).await, Answer::Kept(vec![true]));
        rig.pass(LEASE * 6 / 10).await;
        assert!(is_busy(&rig.acquire(b, 0).await), "renewed");
        assert_eq!(fence(&rig.acquire(a, 0).await), token, "the lost reply was the same");
        rig.pass(LEASE * 6 / 10).await;
        assert!(is_busy(&rig.acquire(b, 0).await), "extended by the repetition");
    })
    .await;
}

#[tokio::test]
async fn a_foreign_or_repeated_release_frees_nothing() {
    each_store(async |rig: Rig| {
        let (a, b, c) = (claim(1, 0), claim(2, 0), claim(3, 0));
        fence(&rig.acquire(a, 0).await);
        assert_eq!(rig.release(b).await, Answer::Released);
        assert!(is_busy(&rig.acquire(c, 0).await), "still a's");
        rig.release(a).await;
        fence(&rig.acquire(c, 0).await);
        rig.release(a).await;
        assert!(is_busy(&rig.acquire(b, 0).await), "the late repetition freed c's");
    })
    .await;
}

#[tokio::test]
async fn tokens_are_above_the_floor_at_grant_and_when_raised() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        assert_eq!(fence(&rig.acquire(a, 41).await), 42);
        assert_eq!(fence(&rig.raise(a, 99).await), 100);
        assert_eq!(fence(&rig.raise(a, 99).await), 101, "a repetition is another token, above both");
        assert_eq!(fence(&rig.acquire(a, 0).await), 101, "and the lease knows it");
        assert_eq!(rig.raise(b, 500).await, Answer::Raised(None), "not the holder");
        rig.release(a).await;
        assert_eq!(rig.raise(a, 500).await, Answer::Raised(None), "not the holder any more");
        assert_eq!(fence(&rig.acquire(b, 7).await), 102, "a low floor lowers nothing");
        rig.release(b).await;
        let huge = (1 << 52) + 5;
        assert_eq!(fence(&rig.acquire(claim(1, 1), huge).await), huge + 1);
    })
    .await;
}

#[tokio::test]
async fn raising_a_token_does_not_lengthen_the_lease() {
    each_store(async |rig: Rig| {
        fence(&rig.acquire(claim(1, 0), 0).await);
        rig.pass(LEASE * 7 / 10).await;
        fence(&rig.raise(claim(1, 0), 5).await);
        rig.pass(LEASE * 4 / 10).await;
        fence(&rig.acquire(claim(2, 0), 0).await);
    })
    .await;
}

#[tokio::test]
async fn after_a_flush_the_holder_restores_its_lease_unless_another_came_first() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        let token = fence(&rig.acquire(a, 20).await);
        rig.flush().await;
        assert_eq!(rig.renew(a, token).await, Answer::Kept(vec![true]));
        assert!(is_busy(&rig.acquire(b, 0).await));
        rig.release(a).await;
        assert!(fence(&rig.acquire(b, 0).await) > token, "the counter was restored with it");

        rig.flush().await;
        fence(&rig.acquire(a, 0).await);
        assert_eq!(rig.renew(b, token + 1).await, Answer::Kept(vec![false]));
    })
    .await;
}

#[tokio::test]
async fn a_confirmed_lease_stands_without_renewal_and_falls_only_to_who_saw_its_owner_dead() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        assert_eq!(rig.alive(a.owner).await, Answer::Alive(false));
        let token = fence(&rig.acquire(a, 0).await);
        assert_eq!(rig.heartbeat(a, token).await, Answer::Kept(vec![true]));
        assert_eq!(rig.alive(a.owner).await, Answer::Alive(true));
        rig.pass(LEASE + 20).await;
        assert_eq!(rig.alive(a.owner).await, Answer::Alive(false));
        assert_eq!(rig.acquire(b, 0).await, Answer::Busy { left: None, confirmed: Some(a) });
        let seen_another = rig.evict(b, claim(1, 7)).await;
        assert_eq!(seen_another, Answer::Busy { left: None, confirmed: Some(a) });
        let taken = fence(&rig.evict(b, a).await);
        assert!(taken > token);
        assert_eq!(rig.heartbeat(a, token).await, Answer::Kept(vec![false]));
        assert!(is_busy(&rig.evict(claim(3, 0), a).await), "b's, not yet confirmed");
    })
    .await;
}

#[tokio::test]
async fn a_lease_that_was_not_confirmed_expires_also_when_its_owner_lives() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        let token = fence(&rig.acquire(a, 0).await);
        rig.beat(a.owner).await;
        rig.pass(LEASE + 20).await;
        fence(&rig.acquire(b, 0).await);
        assert_eq!(rig.heartbeat(a, token).await, Answer::Kept(vec![false]));
    })
    .await;
}

#[tokio::test]
async fn the_longest_waiter_is_woken_and_served_first() {
    each_store(async |rig: Rig| {
        let (a, b, c) = (claim(1, 0), claim(2, 0), claim(3, 0));
        let mut woken_b = rig.listen(b.owner).await;
        let mut woken_c = rig.listen(c.owner).await;
        fence(&rig.acquire(a, 0).await);
        assert!(is_busy(&rig.acquire(c, 0).await));
        assert!(is_busy(&rig.acquire(b, 0).await));
        assert!(is_busy(&rig.acquire(c, 0).await), "asking again loses no place");
        rig.release(a).await;
        assert_eq!(woken_c.recv().await.as_ref(), Some(&Notice::Free(rig.key.clone())));
        assert!(woken_b.try_recv().is_err(), "only one is woken");
        assert!(is_busy(&rig.acquire(claim(1, 1), 0).await), "the last holder waits behind");
        assert!(is_busy(&rig.acquire(b, 0).await));
        fence(&rig.acquire(c, 0).await);
        // b leaves: the next one is woken in its place.
        rig.release(b).await;
        rig.release(c).await;
        fence(&rig.acquire(claim(1, 1), 0).await);
    })
    .await;
}

#[tokio::test]
async fn a_waiter_that_leaves_or_dies_holds_up_nobody_for_long() {
    each_store(async |rig: Rig| {
        let (a, b, c) = (claim(1, 0), claim(2, 0), claim(3, 0));
        let mut woken = rig.listen(c.owner).await;
        fence(&rig.acquire(a, 0).await);
        for waiter in [b, c] {
            assert!(is_busy(&rig.acquire(waiter, 0).await));
        }
        rig.release(a).await;
        rig.release(b).await;
        assert_eq!(woken.recv().await.as_ref(), Some(&Notice::Free(rig.key.clone())), "b left, c is next");
        fence(&rig.acquire(c, 0).await);
        assert!(is_busy(&rig.acquire(b, 0).await));
        rig.release(c).await;
        assert!(is_busy(&rig.acquire(a, 0).await), "b's mark stands");
        rig.pass(MARK + 20).await;
        fence(&rig.acquire(a, 0).await);
    })
    .await;
}

#[tokio::test]
async fn a_late_release_takes_no_younger_waiters_place() {
    each_store(async |rig: Rig| {
        let mut woken = rig.listen(claim(1, 0).owner).await;
        fence(&rig.acquire(claim(1, 1), 0).await);
        assert!(is_busy(&rig.acquire(claim(1, 2), 0).await), "the next of the same replica");
        assert!(is_busy(&rig.acquire(claim(2, 0), 0).await));
        rig.release(claim(1, 1)).await;
        assert_eq!(woken.recv().await.as_ref(), Some(&Notice::Free(rig.key.clone())));
        assert!(is_busy(&rig.acquire(claim(2, 0), 0).await));
        fence(&rig.acquire(claim(1, 2), 0).await);
    })
    .await;
}

#[tokio::test]
async fn many_leases_are_kept_by_one_call() {
    each_store(async |rig: Rig| {
        let mut leases = Vec::new();
        for number in 0..40 {
            let key = rig::fresh_key();
            let verb = Verb::Acquire { key: key.clone(), claim: claim(1, number), floor: 0, evict: None };
            let fence = fence(&rig.call(&verb).await);
            leases.push(Holding { key, claim: claim(1, number), fence });
        }
        let parting = Parting::default();
        let gone = Verb::Release { key: leases[7].key.clone(), claim: leases[7].claim, parting };
        rig.call(&gone).await;
        let expected: Vec<bool> = (0..40).map(|n| n != 7).collect();
        assert_eq!(rig.call(&Verb::Renew(leases.clone())).await, Answer::Kept(expected.clone()));
        let owner = claim(1, 0).owner;
        assert_eq!(rig.call(&Verb::Heartbeat { owner, leases }).await, Answer::Kept(expected));
    })
    .await;
}

#[tokio::test]
async fn a_clock_step_of_the_server_neither_keeps_a_dead_lease_nor_stops_the_next() {
    each_store(async |rig: Rig| {
        let (a, b) = (claim(1, 0), claim(2, 0));
        let token = fence(&rig.acquire(a, 0).await);
        // Forward: the lease ends early. Its holder learns it at the next renewal.
        rig.step_clock_forward().await;
        let next = fence(&rig.acquire(b, 0).await);
        assert!(next > token);
        assert_eq!(rig.renew(a, token).await, Answer::Kept(vec![false]));
        // Backward: it would stand for an hour; whoever asks cuts it to a lease time.
        rig.step_clock_back().await;
        assert!(is_busy(&rig.acquire(a, 0).await));
        rig.pass(LEASE + 20).await;
        assert!(fence(&rig.acquire(a, 0).await) > next);
    })
    .await;
}
