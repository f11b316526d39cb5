//! A campaign of faults: several fleets of three replicas under a mixed load, each with a
//! Redis of its own, and one fault after the other in an order that the seed gives. In the
//! end replies, files and the exec log must tell one story (`record.rs`).

use std::collections::BTreeMap;
use std::time::Duration;

use super::inject::{Fault, Field};
use super::record::{Outcome, Tally, Work, check};
use super::rig::{Env, Fleet, bounded};
use super::workload::World;
use crate::support::eventually;
use crate::support::random::{Random, seed};
use crate::support::redis::Redis;

/// After a fault is over, each sandbox is written again within this.
const USABLE: Duration = Duration::from_secs(20);

/// How often each fault comes in one fleet.
const PLAN: &[(Fault, usize)] = &[
    (Fault::KillMidScript, 3),
    (Fault::KillBeforeCommitAnswer, 3),
    (Fault::KillAfterCommitAnswer, 3),
    (Fault::StopBeyondLease, 3),
    (Fault::LeaseDeleted, 8),
    (Fault::LeaseStolen, 5),
    (Fault::RedisRestartedEmpty, 2),
    (Fault::RedisFlushed, 10),
    (Fault::RedisEvicting, 2),
    (Fault::GarbageInKey, 20),
    (Fault::BackendTerminated, 20),
    (Fault::CommitCutBefore, 12),
    (Fault::CommitCutAfter, 12),
    (Fault::CommitArrivesLate, 5),
    (Fault::CommitHeld, 3),
    (Fault::CommitAnswerHeld, 4),
    (Fault::PostgresCut, 6),
    (Fault::PostgresHung, 3),
    (Fault::PostgresRepliesLost, 3),
    (Fault::PostgresPartition, 2),
    (Fault::PostgresLatency, 2),
    (Fault::RedisCut, 6),
    (Fault::RedisRequestsLost, 3),
    (Fault::RedisRepliesLost, 3),
    (Fault::RedisHung, 3),
    (Fault::RedisPartition, 2),
    (Fault::RedisLatency, 2),
];

const LEASE: Duration = Duration::from_millis(1500);
const TIMES: &[Env<'static>] = &[
    ("REDIS_EXEC_LOCK_LEASE_MS", "1500"),
    ("REDIS_EXEC_LOCK_RENEW_MS", "300"),
    ("REDIS_EXEC_LOCK_MARGIN_MS", "300"),
    ("HISTORY_VERSIONS", "1000000"),
];

const DEGRADE: &[&str] = &["LEASE_LOST", "CONFLICT", "STORE_UNAVAILABLE"];
const REFUSE: &[&str] = &["LEASE_LOST", "CONFLICT", "STORE_UNAVAILABLE", "COORDINATION_UNAVAILABLE"];

/// One fleet's part: how it is set up and what happens to it.
struct Part {
    name: &'static str,
    replicas: usize,
    places: usize,
    /// On each sandbox through each replica.
    clients: usize,
    more: &'static [Env<'static>],
    allowed: &'static [&'static str],
    plan: &'static [(Fault, usize)],
    rounds: usize,
}

const PARTS: [Part; 4] = {
    const LEASES: Part = Part {
        name: "lease",
        replicas: 3,
        places: 3,
        clients: 1,
        more: &[("LEASE_MODE", "lease")],
        allowed: DEGRADE,
        plan: PLAN,
        rounds: 1,
    };
    [
        LEASES,
        Part { name: "preemptible", more: &[("LEASE_MODE", "preemptible")], ..LEASES },
        Part {
            name: "lease, refuse",
            more: &[("LEASE_MODE", "lease"), ("REDIS_DOWN", "refuse")],
            allowed: REFUSE,
            ..LEASES
        },
        Part {
            name: "preemptible, refuse",
            more: &[("LEASE_MODE", "preemptible"), ("REDIS_DOWN", "refuse")],
            allowed: REFUSE,
            ..LEASES
        },
    ]
};

/// What came of a part.
struct Report {
    /// Ended after all parts: the end of a database stops this thread for a while.
    _field: Field,
    /// How often, and the longest time after its end until every sandbox was written again.
    seen: BTreeMap<Fault, (usize, Duration)>,
    tally: Tally,
    refused: BTreeMap<String, usize>,
}

async fn run(part: &Part, mut random: Random) -> Report {
    let redis = Redis::start().await;
    let fleet = Fleet::start_proxied(part.replicas, &redis.url(), TIMES, part.more).await;
    let world = World::new(fleet.apis(), part.places, part.allowed).await;
    let mut clients = tokio::task::JoinSet::new();
    for place in 0..part.places {
        for client in 0..part.replicas * part.clients {
            let replica = client % part.replicas;
            clients.spawn(world.clone().client(place, replica, random.fork(), 40));
        }
    }
    let mut faults: Vec<Fault> =
        part.plan.iter().flat_map(|(fault, count)| vec![*fault; count * part.rounds]).collect();
    random.shuffle(&mut faults);
    let mut field = Field { fleet, redis, world: world.clone(), random, lease: LEASE, turns: 0 };
    let (mut seen, mut times) = (BTreeMap::<Fault, (usize, Duration)>::new(), Vec::new());
    for (number, fault) in faults.into_iter().enumerate() {
        field.inject(fault).await;
        times.push(world.now());
        let over = tokio::time::Instant::now();
        let before = world.acknowledged();
        let what = format!("{}: every sandbox is written again after fault {number}, {fault:?}", part.name);
        eventually(&what, USABLE, || async {
            world.acknowledged().iter().zip(&before).all(|(now, before)| now > before).then_some(())
        })
        .await;
        let (count, longest) = seen.entry(fault).or_default();
        *count += 1;
        *longest = (*longest).max(over.elapsed());
    }
    world.stop();
    while let Some(ended) = clients.join_next().await {
        ended.expect("a client");
    }
    let (mut total, mut refused) = (Tally::default(), BTreeMap::new());
    for place in 0..part.places {
        for replica in 0..part.replicas {
            let last = world.run(place, replica, Work::Look, Duration::ZERO).await;
            assert!(matches!(last, Outcome::Done { .. }), "{}: in the end {last:?}", part.name);
        }
        let (ops, truth) = world.truth(place, field.fleet.database()).await;
        let tally = check(&ops, &truth).unwrap_or_else(|error| {
            let op = ops.iter().find(|op| error.contains(&op.id));
            let faults = op.map(|op| times.iter().filter(|time| **time < op.end).count());
            panic!("{}, after {faults:?} faults: {error}", part.name)
        });
        total = total.and(tally);
        for op in &ops {
            if let Outcome::Refused(code) | Outcome::Unknown(code) | Outcome::Applied(code) = &op.outcome {
                *refused.entry(code.clone()).or_default() += 1;
            }
        }
    }
    Report { _field: field, seen, tally: total, refused }
}

/// How many faults were seen, what was compared, and how many execs lost their lease or
/// the race for the commit.
async fn campaign(parts: &[Part]) -> (usize, Tally, usize) {
    let mut random = Random(seed());
    let began = tokio::time::Instant::now();
    let runs: Vec<_> = parts.iter().map(|part| (part, random.fork())).collect();
    let reports =
        futures_util::future::join_all(runs.into_iter().map(|(part, random)| run(part, random))).await;
    let mut total = BTreeMap::<Fault, (usize, Duration)>::new();
    let (mut tally, mut lost) = (Tally::default(), 0);
    for (part, report) in parts.iter().zip(&reports) {
        println!("{}: {:?}, errors {:?}", part.name, report.tally, report.refused);
        tally = tally.and(report.tally);
        lost += ["LEASE_LOST", "CONFLICT"].iter().filter_map(|code| report.refused.get(*code)).sum::<usize>();
        for (fault, (count, longest)) in &report.seen {
            let sum = total.entry(*fault).or_default();
            *sum = (sum.0 + count, sum.1.max(*longest));
        }
    }
    for (fault, (count, longest)) in &total {
        println!("{count:6}  {:24} all written again after {longest:?}", format!("{fault:?}"));
    }
    let count = total.values().map(|(count, _)| count).sum();
    println!("{count:6}  faults seen in {:?}, {tally:?}", began.elapsed());
    (count, tally, lost)
}

/// What meets commits, on two replicas that write one sandbox.
const COMMITS: &[(Fault, usize)] = &[
    (Fault::CommitCutBefore, 30),
    (Fault::CommitCutAfter, 30),
    (Fault::CommitArrivesLate, 10),
    (Fault::CommitHeld, 5),
    (Fault::CommitAnswerHeld, 5),
    (Fault::BackendTerminated, 40),
    (Fault::PostgresCut, 10),
];

#[tokio::test]
async fn every_answer_is_right_when_commits_of_two_replicas_on_one_sandbox_are_cut() {
    let [lease, preemptible, ..] = PARTS;
    let rounds = bounded(1);
    let parts = [lease, preemptible].map(|part| Part {
        replicas: 2,
        places: 1,
        clients: 2,
        plan: COMMITS,
        rounds,
        ..part
    });
    let (count, tally, _) = campaign(&parts).await;
    assert_eq!((count, tally.unanswered), (260 * rounds, 0), "somebody got no answer: {tally:?}");
    assert!(tally.writes >= count, "too small a load: {tally:?}");
}

#[tokio::test]
async fn no_fault_loses_doubles_or_tears_anything_and_every_answer_is_right() {
    let rounds = bounded(1);
    let parts = PARTS.map(|part| Part { rounds, ..part });
    let (count, tally, lost) = campaign(&parts).await;
    assert!(count >= 500 * rounds, "only {count} faults were seen");
    assert!(tally.writes > 2 * count && tally.reads > 2 * count, "too small a load: {tally:?}");
    assert!(tally.applied_unanswered > 0, "no reply was lost after its commit: {tally:?}");
    assert!(tally.refused < tally.writes, "more was refused than done: {tally:?}");
    // A fault costs an exec its lease, here and there one more. Where leases keep nobody
    // apart it is one exec after the other.
    assert!(lost <= count, "{count} faults, and {lost} leases or races lost");
}
