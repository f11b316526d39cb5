//! The driver: several replicas in one process, over a store that can be made to fail.

mod faulty;

use std::sync::Arc;
use std::time::Duration;

use faulty::{Faulty, Trouble};
use sqlfs::clock;
use sqlfs::ids::{SandboxId, TenantId};
use sqlfs::lease::driver::{AcquireError, Leases, RaiseError};
use sqlfs::lease::keys::LeaseKey;
use sqlfs::lease::protocol::{Config, Loss, WhenAway};
use sqlfs::lease::verbs::{Mode, Terms};
use tokio::sync::oneshot;

const MODES: [Mode; 2] = [Mode::Lease, Mode::Preemptible];

/// Short leases, for tests that wait for the kill-switch or for expiry.
fn quick(mode: Mode) -> Config {
    Config { mode, lease: 600, renew: 100, margin: 200, poll: 50, retry: 20 }
}

/// Leases that never expire in a test, for those about anything else. Nothing is asked
/// again but on a wake-up.
fn calm(mode: Mode) -> Config {
    Config { mode, lease: 600_000, renew: 60_000, margin: 1000, poll: 300_000, retry: 20 }
}

fn key() -> LeaseKey {
    LeaseKey { tenant: TenantId("default".into()), sandbox: SandboxId::random() }
}

fn store(config: Config) -> Arc<Faulty> {
    Arc::new(Faulty::new(Terms { lease: config.lease, mark: 4 * config.poll }))
}

fn replica(store: &Arc<Faulty>, config: Config) -> Leases {
    Leases::start(store.clone(), config).expect("the lease thread starts")
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("it hangs")
}

#[tokio::test]
async fn one_replica_holds_the_others_wait_and_are_woken() {
    for mode in MODES {
        let config = calm(mode);
        let store = store(config);
        let (a, b) = (replica(&store, config), replica(&store, config));
        soon(store.until_listening(2)).await;
        let key = key();
        let first = soon(a.acquire(key.clone(), 7, WhenAway::Lose)).await.expect("granted");
        assert_eq!(first.token(), 8);
        assert_eq!(first.enter(|| 5), Ok(5));
        let waiting = tokio::spawn({
            let (b, key) = (b.clone(), key.clone());
            async move { b.acquire(key, 0, WhenAway::Lose).await }
        });
        soon(store.until_calls("acquire", 2)).await;
        assert!(!waiting.is_finished());
        first.release();
        let second = soon(waiting).await.expect("no panic").expect("granted");
        assert_eq!(second.token(), 9);
    }
}

#[tokio::test]
async fn an_uncontended_exec_costs_one_call_awaited_and_one_behind_it() {
    let config = calm(Mode::Lease);
    let store = store(config);
    let a = replica(&store, config);
    for _ in 0..5 {
        soon(a.acquire(key(), 0, WhenAway::Lose)).await.expect("granted").release();
    }
    assert!(soon(a.close(Duration::from_secs(20))).await, "all given back");
    assert_eq!(store.calls(), vec![("acquire", 5), ("release", 5)]);
}

#[tokio::test]
async fn a_token_is_raised_above_the_row() {
    let config = calm(Mode::Lease);
    let store = store(config);
    let a = replica(&store, config);
    let mut held = soon(a.acquire(key(), 0, WhenAway::Lose)).await.expect("granted");
    assert_eq!(held.token(), 1);
    assert_eq!(soon(held.raise(100)).await, Ok(101));
    store.set(Trouble::NotSent);
    assert_eq!(soon(held.raise(200)).await, Err(RaiseError::Away));
    assert_eq!((held.token(), held.check()), (101, Ok(())), "the old one stands");
}

#[tokio::test]
async fn a_long_script_keeps_its_lease_and_after_silence_the_kill_switch_comes_before_expiry() {
    for mode in MODES {
        let config = quick(mode);
        let store = store(config);
        let (a, b) = (replica(&store, config), replica(&store, config));
        let key = key();
        let held = soon(a.acquire(key.clone(), 0, WhenAway::Lose)).await.expect("granted");
        let (tell, lost) = oneshot::channel();
        held.on_lost(move |loss| {
            let _ = tell.send((loss, clock::now()));
        });
        tokio::time::sleep(Duration::from_millis(3 * config.lease)).await;
        assert_eq!(held.check(), Ok(()), "renewed for three lease times");

        // The replica alone is cut off; the store lives on for the other one.
        store.cut_off(a.incarnation());
        let (loss, at) = soon(lost).await.expect("told");
        assert_eq!(loss, Loss::NotRenewed);
        assert_eq!(held.check(), Err(Loss::NotRenewed));
        assert!(held.lost().is_cancelled());
        assert!(held.enter(|| unreachable!("nothing starts under a lost lease")).is_err());
        let other = soon(b.acquire(key, 0, WhenAway::Lose)).await.expect("the lease expired");
        assert!(clock::now() > at && other.token() > held.token());
    }
}

#[tokio::test]
async fn a_stolen_lease_is_noticed_by_the_next_renewal() {
    for mode in MODES {
        let config = quick(mode);
        let store = store(config);
        let (a, b) = (replica(&store, config), replica(&store, config));
        let key = key();
        let held = soon(a.acquire(key.clone(), 0, WhenAway::Degrade)).await.expect("granted");
        let (tell, lost) = oneshot::channel();
        held.on_lost(move |loss| {
            let _ = tell.send(loss);
        });
        store.steal(&key);
        let _other = soon(b.acquire(key, 0, WhenAway::Lose)).await.expect("granted");
        assert_eq!(soon(lost).await, Ok(Loss::Taken));
    }
}

#[tokio::test]
async fn a_dropped_request_leaves_the_store_alone_also_when_its_answer_is_under_way() {
    for mode in MODES {
        let config = calm(mode);
        let store = store(config);
        let (a, b) = (replica(&store, config), replica(&store, config));
        soon(store.until_listening(2)).await;
        let key = key();
        // Liveness first, where there is one.
        drop(soon(a.acquire(self::key(), 0, WhenAway::Lose)).await);
        store.hold_next("acquire");
        let asking = tokio::spawn({
            let (a, key) = (a.clone(), key.clone());
            async move { a.acquire(key, 0, WhenAway::Lose).await }
        });
        soon(store.until_held()).await;
        asking.abort();
        assert!(soon(asking).await.expect_err("aborted").is_cancelled());
        store.let_go();
        // The answer comes, is given back, and the lease is free.
        soon(b.acquire(key.clone(), 0, WhenAway::Lose)).await.expect("granted").release();
        assert!(soon(a.close(Duration::from_secs(20))).await, "nothing is open");
    }
}

#[tokio::test]
async fn a_lost_reply_costs_nothing_but_the_repetition() {
    for mode in MODES {
        let config = calm(mode);
        let store = store(config);
        let a = replica(&store, config);
        drop(soon(a.acquire(key(), 0, WhenAway::Lose)).await);
        store.set(Trouble::LoseOneReply("acquire"));
        let held = soon(a.acquire(key(), 0, WhenAway::Lose)).await.expect("granted");
        assert_eq!(held.token(), 1, "the first question had been carried out");
        store.set(Trouble::LoseOneReply("release"));
        held.release();
        assert!(soon(a.close(Duration::from_secs(20))).await, "the release was repeated");
    }
}

#[tokio::test]
async fn with_the_store_away_a_wait_ends_at_once_and_a_held_lease_degrades_or_is_lost() {
    for mode in MODES {
        let config = quick(mode);
        let store = store(config);
        let a = replica(&store, config);
        let degradable = soon(a.acquire(key(), 0, WhenAway::Degrade)).await.expect("granted");
        let strict = soon(a.acquire(key(), 0, WhenAway::Lose)).await.expect("granted");
        store.set(Trouble::NotSent);
        soon(strict.lost().cancelled()).await;
        // Both deadlines lie within one renewal time of each other.
        tokio::time::sleep(Duration::from_millis(config.renew)).await;
        assert!(degradable.is_degraded() && !degradable.lost().is_cancelled());
        assert_eq!(degradable.enter(|| ()), Ok(()), "it goes on");
        let refused = soon(a.acquire(key(), 0, WhenAway::Degrade)).await;
        assert_eq!(refused.expect_err("away"), AcquireError::Away);
        store.set(Trouble::None);
        drop((degradable, strict));
        assert!(soon(a.acquire(key(), 0, WhenAway::Lose)).await.is_ok(), "and back");
        assert!(soon(a.close(Duration::from_secs(20))).await, "all given back");
    }
}

#[tokio::test]
async fn a_dead_replica_is_succeeded_within_its_liveness_time() {
    let config = quick(Mode::Preemptible);
    let store = store(config);
    let (a, b) = (replica(&store, config), replica(&store, config));
    let key = key();
    let held = soon(a.acquire(key.clone(), 0, WhenAway::Lose)).await.expect("granted");
    soon(store.until_confirmed(&key)).await;
    store.cut_off(a.incarnation());
    let died = clock::now();
    let next = soon(b.acquire(key, 0, WhenAway::Lose)).await.expect("taken over");
    let took = died.elapsed();
    assert!(next.token() > held.token());
    // The machine may be slow; the bound is for one that is not starved.
    assert!(took < Duration::from_millis(config.lease + 500), "{took:?}");
}

#[tokio::test]
async fn heartbeats_do_not_grow_with_the_leases() {
    let config = Config { renew: 150, lease: 3000, ..quick(Mode::Preemptible) };
    let store = store(config);
    let a = replica(&store, config);
    let mut held = Vec::new();
    for _ in 0..1000 {
        held.push(soon(a.acquire(key(), 0, WhenAway::Lose)).await.expect("granted"));
    }
    let before = store.calls();
    soon(store.until_calls("heartbeat", 10)).await;
    let after = store.calls();
    let other = |calls: &[(&str, usize)]| -> usize {
        calls.iter().filter(|(verb, _)| *verb != "heartbeat").map(|(_, n)| n).sum()
    };
    assert_eq!(other(&before), other(&after), "heartbeats alone");
    assert!(held.iter().all(|held| held.check().is_ok()));
}

#[tokio::test]
async fn two_replicas_take_turns() {
    let config = calm(Mode::Lease);
    let store = store(config);
    let replicas = [replica(&store, config), replica(&store, config)];
    soon(store.until_listening(2)).await;
    let key = key();
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let work = replicas.iter().enumerate().map(|(index, leases)| {
        let (leases, key, order) = (leases.clone(), key.clone(), order.clone());
        tokio::spawn(async move {
            for _ in 0..50 {
                let held = leases.acquire(key.clone(), 0, WhenAway::Lose).await.expect("granted");
                order.lock().expect("whole").push((index, held.token()));
                tokio::task::yield_now().await;
            }
        })
    });
    for worker in work.collect::<Vec<_>>() {
        soon(worker).await.expect("no panic");
    }
    let order = order.lock().expect("whole");
    assert!(order.is_sorted_by_key(|(_, token)| *token), "tokens grow: {order:?}");
    // While both want it, nobody has it twice running once the other has asked.
    let longest = order.chunk_by(|a, b| a.0 == b.0).take(50).map(<[_]>::len).max();
    assert!(longest <= Some(3), "{order:?}");
}

#[tokio::test]
async fn times_that_do_not_fit_are_refused_with_the_reason() {
    let store = store(quick(Mode::Lease));
    for (config, reason) in [
        (Config { margin: 600, ..quick(Mode::Lease) }, "margin is 600 ms"),
        (Config { margin: 0, ..quick(Mode::Lease) }, "margin is 0 ms"),
        (Config { renew: 201, ..quick(Mode::Lease) }, "at most half of lease − margin (200 ms)"),
        (Config { poll: 0, ..quick(Mode::Lease) }, "poll"),
    ] {
        let refused = Leases::start(store.clone(), config).err().expect("refused");
        assert!(refused.contains(reason), "{refused}");
    }
}
