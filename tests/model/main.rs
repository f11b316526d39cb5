//! Model check of the lease protocol: every reachable behaviour, within bounds, of
//! replicas that run the very `Protocol` of the server over the reference `Table`.
//! Each property has a twin in which one rule is switched off, and which must fail.

#[path = "../it/support/memory_store/mod.rs"]
mod memory_store;
mod simulation;
mod world;

use sqlfs::lease::protocol::Rule;
use sqlfs::lease::table::TableRule;
use sqlfs::lease::verbs::Mode;
use stateright::{Checker, HasDiscoveries, Model};
use world::{Faults, Setting};

const MODES: [Mode; 2] = [Mode::Lease, Mode::Preemptible];

const NO_FAULTS: Faults = Faults { slow_calls: 0, duplicates: 0, crashes: 0, flushes: 0 };
const ONE_SLOW_CALL: Faults = Faults { slow_calls: 1, ..NO_FAULTS };

/// Two replicas that act in time.
fn timely(mode: Mode, horizon: u64, tickets: [u64; 2], faults: Faults) -> Setting {
    Setting { mode, horizon, tickets, faults, pauses: false, rule: None, table_rule: None }
}

/// States looked at, breadth first, where all of them would take too long.
const ENOUGH: usize = 2_500_000;

/// Explores breadth first, all of it or `ENOUGH`; returns how many different states.
fn holds(setting: &Setting) -> usize {
    let started = sqlfs::clock::now();
    let checker = setting.clone().checker().threads(2).target_state_count(ENOUGH).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!(
        "{setting:?}: {states} states, {} of them again, depth {}, {:?}",
        checker.state_count() - states,
        checker.max_depth(),
        sqlfs::clock::now() - started
    );
    for (name, path) in checker.discoveries() {
        assert_eq!(name, world::BOTH_RAN, "broken by {:?}", path.into_actions());
    }
    states
}

/// The twin: the named property must be refuted.
fn refuted(setting: &Setting, property: &'static str) {
    let started = sqlfs::clock::now();
    let checker =
        setting.clone().checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let path = checker.discovery(property);
    println!(
        "{setting:?}: {} states, {:?}, \"{property}\" refuted in {:?} steps",
        checker.unique_state_count(),
        sqlfs::clock::now() - started,
        path.as_ref().map(|path| path.clone().into_actions().len())
    );
    assert!(path.is_some(), "nothing was found wrong with {property:?} in {setting:?}");
}

#[test]
fn under_bounded_timing_at_most_one_exec_runs_and_tokens_and_turns_are_right() {
    let crash = Faults { crashes: 1, ..ONE_SLOW_CALL };
    let states: usize = [
        timely(Mode::Lease, 9, [2, 2], NO_FAULTS),
        timely(Mode::Lease, 7, [1, 1], ONE_SLOW_CALL),
        timely(Mode::Lease, 7, [1, 1], crash.clone()),
        timely(Mode::Preemptible, 8, [1, 1], NO_FAULTS),
        timely(Mode::Preemptible, 8, [1, 1], crash),
    ]
    .iter()
    .map(holds)
    .sum();
    assert!(states >= 1_000_000, "only {states} states");
}

#[test]
fn duplicated_calls_change_nothing() {
    for mode in MODES {
        holds(&timely(mode, 4, [1, 1], Faults { duplicates: 1, ..ONE_SLOW_CALL }));
    }
}

#[test]
fn after_any_pause_nothing_is_permitted_without_the_lease() {
    for mode in MODES {
        holds(&Setting { pauses: true, ..timely(mode, 8, [1, 1], NO_FAULTS) });
    }
}

#[test]
fn after_a_flush_tokens_still_exceed_what_committed() {
    for mode in MODES {
        holds(&timely(mode, 5, [2, 1], Faults { flushes: 1, ..NO_FAULTS }));
    }
}

#[test]
fn twin_without_the_margin() {
    for mode in MODES {
        let setting = timely(mode, 8, [1, 0], NO_FAULTS);
        refuted(&Setting { rule: Some(Rule::Margin), ..setting }, world::KILL_BEFORE_EXPIRY);
    }
}

#[test]
fn twin_that_counts_from_the_reply() {
    for mode in MODES {
        let setting = timely(mode, 9, [1, 0], ONE_SLOW_CALL);
        refuted(&Setting { rule: Some(Rule::FromSendTime), ..setting }, world::KILL_BEFORE_EXPIRY);
    }
}

#[test]
fn twin_that_permits_before_it_looks_at_the_deadline() {
    for mode in MODES {
        let setting = Setting { pauses: true, ..timely(mode, 8, [1, 0], NO_FAULTS) };
        refuted(&Setting { rule: Some(Rule::KillFirst), ..setting }, world::PERMITTED_HOLDS);
    }
}

#[test]
fn twin_whose_unconfirmed_leases_outlive_the_liveness() {
    let setting = timely(Mode::Preemptible, 9, [1, 1], ONE_SLOW_CALL);
    refuted(&Setting { rule: Some(Rule::AllNeedLiveness), ..setting }, world::KILL_BEFORE_EXPIRY);
}

#[test]
fn twin_whose_store_does_not_extend_a_repeated_question() {
    let setting = timely(Mode::Lease, 8, [1, 0], ONE_SLOW_CALL);
    let setting = Setting { table_rule: Some(TableRule::RepeatExtends), ..setting };
    refuted(&setting, world::KILL_BEFORE_EXPIRY);
}

#[test]
fn twin_whose_store_forgets_who_waited() {
    let setting = timely(Mode::Lease, 5, [3, 1], NO_FAULTS);
    let setting = Setting { table_rule: Some(TableRule::LongestWaiterFirst), ..setting };
    refuted(&setting, world::NO_OVERTAKING);
}

#[test]
fn twin_whose_store_leaves_the_hint_to_be_read_while_the_lease_is_held() {
    let setting = timely(Mode::Lease, 4, [1, 1], NO_FAULTS);
    let setting = Setting { table_rule: Some(TableRule::HintTaken), ..setting };
    refuted(&setting, world::HINT_NEWEST);
}

#[test]
fn twin_whose_store_believes_a_late_release() {
    let setting = timely(Mode::Lease, 8, [1, 1], ONE_SLOW_CALL);
    let setting = Setting { table_rule: Some(TableRule::HintByHolder), ..setting };
    refuted(&setting, world::HINT_NEWEST);
}

#[test]
fn twin_whose_store_ignores_the_floor() {
    let setting = timely(Mode::Lease, 5, [2, 1], Faults { flushes: 1, ..NO_FAULTS });
    let setting = Setting { table_rule: Some(TableRule::AboveFloor), ..setting };
    refuted(&setting, world::TOKEN_MONOTONIC);
}
