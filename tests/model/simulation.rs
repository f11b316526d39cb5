//! Whole runs of several replicas in virtual time: the real session service with the real
//! lease driver and protocol, over a store and a lease store in memory that lose, delay
//! and repeat. A seed decides everything, so the same seed gives the same run.
//!
//! `SQLFS_TEST_SEED=n` runs one seed and prints its events.

mod clients;
mod fleet;
mod gate;
mod history;
mod lease_net;
mod plan;
mod run;
mod scripts;
mod store_net;
mod twins;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use run::{Report, replay, run};

/// Seeds of a usual run; the numbers begin with 1.
const SEEDS: u64 = 20_000;

fn chosen_seed() -> Option<u64> {
    let text = std::env::var_os("SQLFS_TEST_SEED")?;
    let text = text.to_str().expect("a seed is a number");
    Some(text.parse().unwrap_or_else(|_| panic!("SQLFS_TEST_SEED is {text:?}; it must be a number")))
}

/// Runs seeds on two threads until all are done or `stop` says so.
fn on_two_threads(seeds: u64, work: impl Fn(u64) -> bool + Sync) {
    let next = AtomicU64::new(1);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > seeds || !work(seed) {
                        return;
                    }
                }
            });
        }
    });
}

/// What must have happened in a full run: every fault and every outcome.
const EXPECTED: &[&str] = &[
    "acknowledged",
    "client hung up",
    "conflict",
    "coordination unavailable",
    "crash",
    "deleted",
    "done without a commit",
    "flush",
    "lease call late",
    "lease call repeated",
    "lease call slow",
    "lease lost",
    "lease of a dead replica taken",
    "lease reply dropped",
    "lease request dropped",
    "lease store away",
    "no reply",
    "not found",
    "pause",
    "race lost",
    "ran without a lease",
    "resolved as applied",
    "resolved as not applied",
    "restart",
    "script timed out",
    "shutting down",
    "store away",
    "store call failed",
    "store call slow",
    "store unavailable",
    "token raised",
    "unknown",
    "wake-up late",
    "wake-up lost",
    "write in a read exec",
    "write late",
    "write lost",
    "write not sent",
    "write's reply lost",
];

#[test]
fn every_guarantee_holds_in_every_run() {
    if let Some(seed) = chosen_seed() {
        let report = run(seed, None, true);
        assert_eq!(report.breach, None, "seed {seed}");
        return;
    }
    let seeds = if std::env::var_os("SQLFS_TEST_LONG").is_some() { 20 * SEEDS } else { SEEDS };
    let started = sqlfs::clock::now();
    let total = std::sync::Mutex::new((BTreeMap::<&str, u64>::new(), 0, None::<Report>));
    on_two_threads(seeds, |seed| {
        let report = run(seed, None, false);
        let mut total = world::lock(&total);
        for (what, count) in &report.counts {
            *total.0.entry(what).or_default() += count;
        }
        total.1 += report.execs;
        if report.breach.is_some() && total.2.as_ref().is_none_or(|known| report.seed < known.seed) {
            total.2 = Some(report);
        }
        total.2.is_none()
    });
    let (counts, execs, failed) = total.into_inner().expect("no panic");
    if let Some(Report { seed, breach, .. }) = failed {
        panic!("seed {seed}: {}\n{}", breach.unwrap_or_default(), replay(seed));
    }
    println!("{seeds} seeds, {execs} execs, {:?}", sqlfs::clock::now() - started);
    for (what, count) in &counts {
        println!("{count:9} {what}");
    }
    for what in EXPECTED {
        assert!(counts.contains_key(what), "in no run: {what}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let different = AtomicU64::new(0);
    let first = run(1, None, false).hash;
    on_two_threads(100, |seed| {
        let hash = run(seed, None, false).hash;
        assert_eq!(hash, run(seed, None, false).hash, "seed {seed}");
        different.fetch_add(u64::from(hash != first), Ordering::Relaxed);
        true
    });
    assert_eq!(different.into_inner(), 99, "runs of other seeds differ");
}
