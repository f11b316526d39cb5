//! Each twin lacks one rule, and must be found out within a bounded number of seeds.

use std::sync::Mutex;

use super::on_two_threads;
use super::plan::Mutation;
use super::run::{Report, run};
use super::world::lock;

/// Runs seeds until a guarantee whose text has one of `words` is broken.
fn found_out(mutation: Mutation, within: u64, words: &[&str]) {
    let found: Mutex<Option<Report>> = Mutex::default();
    on_two_threads(within, |seed| {
        let report = run(seed, Some(mutation), false);
        let hit = report.breach.as_ref().is_some_and(|text| words.iter().any(|word| text.contains(word)));
        if hit {
            lock(&found).get_or_insert(report);
        }
        lock(&found).is_none()
    });
    let found = lock(&found).take();
    let report = found.unwrap_or_else(|| panic!("{mutation:?} was not found out in {within} seeds"));
    println!("{mutation:?}: seed {}: {}", report.seed, report.breach.unwrap_or_default());
}

#[test]
fn twin_whose_store_does_not_compare_heads() {
    found_out(Mutation::NoCompareAndSet, 2_000, &["G1", "G2", "G5"]);
}

#[test]
fn twin_whose_resolve_voids_nothing() {
    found_out(Mutation::NoVoiding, 2_000, &["G5"]);
}

#[test]
fn twin_whose_probe_answers_from_a_cache() {
    found_out(Mutation::StaleProbe, 200, &["G3"]);
}

#[test]
fn twin_that_does_not_look_at_the_lease_before_it_starts_or_commits() {
    found_out(Mutation::NoEnter, 2_000, &["under a lease that is not held"]);
}

#[test]
fn twin_whose_kill_switch_is_late() {
    found_out(Mutation::NoKillSwitch, 2_000, &["G7"]);
}
