//! Model check of the lease protocol: every reachable behaviour, within bounds, of
//! replicas that run the very `Protocol` of the server over the reference `Table`.
//! Each property has a twin in which one rule is switched off, and which must fail.

mod world;

use sqlfs::lease::protocol::Rule;
use sqlfs::lease::table::TableRule;
use sqlfs::lease::verbs::Mode;
use stateright::{Checker, HasDiscoveries, Model};
use world::{Faults, Setting};

const MODES: [Mode; 2] = [Mode::Lease, Mode::Preemptible];

/// Two replicas, every fault once, bounded timing.
fn timely(mode: Mode) -> Setting {
    Setting {
        mode,
        horizon: 9,
        tickets: 2,
        faults: Faults { slow_calls: 1, duplicates: 0, crashes: 1, flushes: 0 },
        pauses: false,
        rule: None,
        table_rule: None,
    }
}

/// Explores all of it; returns how many different states there are.
fn holds(setting: &Setting) -> usize {
    let started = sqlfs::clock::now();
    let checker = setting.clone().checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    let states = checker.unique_state_count();
    println!(
        "{setting:?}: {states} states, depth {}, {:?}",
        checker.max_depth(),
        sqlfs::clock::now() - started
    );
    states
}

/// The twin: the named property must be refuted.
fn refuted(setting: &Setting, property: &'static str) {
    let started = sqlfs::clock::now();
    let checker = setting.clone().checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
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
#[ignore = "measuring"]
fn measure() {
    let get = |name: &str, default: u64| -> u64 { std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default) };
    for mode in MODES {
        let faults = Faults { slow_calls: get("F", 0) as u8, duplicates: get("D", 0) as u8, crashes: get("C", 0) as u8, flushes: get("L", 0) as u8 };
        let setting = Setting { faults, horizon: get("H", 7), tickets: get("T", 2), pauses: get("P", 0) == 1, ..timely(mode) };
        let started = sqlfs::clock::now();
        let checker = setting.clone().checker().threads(2).target_state_count(get("MAX", 3_000_000) as usize).spawn_bfs().join();
        println!("{setting:?}: {} states depth {} {:?}", checker.unique_state_count(), checker.max_depth(), sqlfs::clock::now() - started);
        for (name, path) in checker.discoveries() { println!("{name} {:?}", path.into_actions()); }
    }
}

#[test]
fn under_bounded_timing_at_most_one_exec_runs() {
    let states: usize = MODES.iter().map(|mode| holds(&timely(*mode))).sum();
    assert!(states >= 1_000_000, "only {states} states");
}

#[test]
fn duplicated_and_late_calls_change_nothing() {
    for mode in MODES {
        let faults = Faults { slow_calls: 1, duplicates: 1, crashes: 0, flushes: 0 };
        holds(&Setting { faults, horizon: 7, ..timely(mode) });
    }
}

#[test]
fn after_any_pause_nothing_is_permitted_without_the_lease() {
    for mode in MODES {
        let faults = Faults { slow_calls: 0, duplicates: 0, crashes: 0, flushes: 0 };
        holds(&Setting { faults, pauses: true, horizon: 10, ..timely(mode) });
    }
}

#[test]
fn after_a_flush_tokens_still_exceed_what_committed() {
    for mode in MODES {
        let faults = Faults { slow_calls: 0, duplicates: 0, crashes: 0, flushes: 1 };
        holds(&Setting { faults, horizon: 7, ..timely(mode) });
    }
}

#[test]
fn twin_without_the_margin() {
    for mode in MODES {
        refuted(&Setting { rule: Some(Rule::Margin), ..timely(mode) }, world::KILL_BEFORE_EXPIRY);
    }
}

#[test]
fn twin_that_counts_from_the_reply() {
    for mode in MODES {
        refuted(&Setting { rule: Some(Rule::FromSendTime), ..timely(mode) }, world::KILL_BEFORE_EXPIRY);
    }
}

#[test]
fn twin_that_permits_before_it_looks_at_the_deadline() {
    for mode in MODES {
        let setting = Setting { pauses: true, rule: Some(Rule::KillFirst), ..timely(mode) };
        refuted(&setting, world::PERMITTED_HOLDS);
    }
}

#[test]
fn twin_whose_unconfirmed_leases_outlive_the_liveness() {
    let setting = Setting { rule: Some(Rule::AllNeedLiveness), ..timely(Mode::Preemptible) };
    refuted(&setting, world::EXCLUSIVE);
}

#[test]
fn twin_whose_store_does_not_extend_a_repeated_question() {
    let setting = Setting { table_rule: Some(TableRule::RepeatExtends), ..timely(Mode::Lease) };
    refuted(&setting, world::KILL_BEFORE_EXPIRY);
}

#[test]
fn twin_whose_store_evicts_whoever_is_there() {
    let setting = Setting { table_rule: Some(TableRule::EvictOnlyUnchanged), ..timely(Mode::Preemptible) };
    refuted(&setting, world::EXCLUSIVE);
}

#[test]
fn twin_whose_store_forgets_who_waited() {
    for mode in MODES {
        let setting = Setting { table_rule: Some(TableRule::LongestWaiterFirst), tickets: 3, ..timely(mode) };
        refuted(&setting, world::NO_OVERTAKING);
    }
}

#[test]
fn twin_whose_store_ignores_the_floor() {
    let faults = Faults { slow_calls: 0, duplicates: 0, crashes: 0, flushes: 1 };
    let setting = Setting { table_rule: Some(TableRule::AboveFloor), faults, ..timely(Mode::Lease) };
    refuted(&setting, world::TOKEN_MONOTONIC);
}
