//! The facts of all processes of a fleet, in the order of the machine's clock. The names of
//! the properties are those of tests/model.

use std::collections::{BTreeMap, BTreeSet};

use sqlfs::lease::keys::LeaseKey;
use sqlfs::lease::verbs::Incarnation;

use super::Injected;
use super::follow::{Fact, Outcome, What};

/// How much there was to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub grants: usize,
    /// Grants of a lease that another process had before.
    pub handovers: usize,
    pub permissions: usize,
    /// Times during which a process surely had a waiting mark.
    pub waits: usize,
}

/// Checks what no process can see alone.
pub fn side_by_side(mut facts: Vec<Fact>, injected: Injected) -> Result<Summary, String> {
    facts.sort_by_key(|fact| fact.ns);
    let mut keys: BTreeMap<&LeaseKey, Vec<&Fact>> = BTreeMap::new();
    for fact in &facts {
        keys.entry(&fact.key).or_default().push(fact);
    }
    let mut summary = Summary::default();
    for facts in keys.values() {
        let waits = waits(facts);
        if injected == Injected::Nothing {
            exclusive(facts)?;
        }
        if injected != Injected::MemoryLoss {
            token_monotonic(facts)?;
            no_overtaking(facts, &waits)?;
        }
        summary.permissions += facts.iter().filter(|fact| matches!(fact.what, What::Permitted(_))).count();
        let grants: Vec<_> = facts.iter().filter(|fact| matches!(fact.what, What::Token(_))).collect();
        summary.grants += grants.len();
        summary.handovers += grants.windows(2).filter(|pair| pair[0].who != pair[1].who).count();
        summary.waits += waits.len();
    }
    Ok(summary)
}

/// At most one ticket at a time is permitted and not ended.
fn exclusive(facts: &[&Fact]) -> Result<(), String> {
    let mut holder: Option<(&Fact, u64)> = None;
    for fact in facts {
        match (&fact.what, holder) {
            (What::Permitted(ticket), Some((first, held))) if (first.who, held) != (fact.who, *ticket) => {
                return Err(format!(
                    "{}: two hold the lease, the other one since {}",
                    fact.place, first.place
                ));
            }
            (What::Permitted(ticket), None) => holder = Some((fact, *ticket)),
            (What::Ended(ticket), Some((first, held))) if (first.who, held) == (fact.who, *ticket) => {
                holder = None;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Tokens grow with each grant.
fn token_monotonic(facts: &[&Fact]) -> Result<(), String> {
    let mut last: Option<(i64, &Fact)> = None;
    for fact in facts {
        let What::Token(token) = fact.what else { continue };
        if let Some((before, at)) = last
            && token <= before
        {
            return Err(format!("{}: token {token} after {before} of {}", fact.place, at.place));
        }
        last = Some((token, fact));
    }
    Ok(())
}

/// A time during which a process surely had a waiting mark.
struct Wait<'a> {
    who: Incarnation,
    from: u64,
    to: u64,
    at: &'a Fact,
}

/// A mark stands from the answer "busy" on, for its time counted from the question, or until
/// the process sent something that takes it away: then it is not sure any more.
fn waits<'a>(facts: &[&'a Fact]) -> Vec<Wait<'a>> {
    let mut waits: Vec<Wait> = Vec::new();
    for fact in facts {
        let What::Asked { outcome: Outcome::Busy, sent_ns, mark_ns, .. } = fact.what else { continue };
        let ends = facts.iter().filter(|other| other.who == fact.who).filter_map(|other| {
            let (from, until) = match other.what {
                What::Asked { outcome: Outcome::Got, sent_ns, .. } | What::Left { sent_ns, sure: true } => {
                    (sent_ns, other.ns)
                }
                What::Asked { outcome: Outcome::Unknown, sent_ns, .. }
                | What::Left { sent_ns, sure: false } => (sent_ns, u64::MAX),
                _ => return None,
            };
            (until >= sent_ns).then_some(from)
        });
        let to = ends.fold(sent_ns + mark_ns, u64::min);
        if to <= fact.ns {
            continue;
        }
        match waits.iter_mut().rev().find(|wait| wait.who == fact.who) {
            Some(wait) if fact.ns <= wait.to => wait.to = to,
            _ => waits.push(Wait { who: fact.who, from: fact.ns, to, at: fact }),
        }
    }
    waits
}

/// While a mark stands, no other process gets the lease twice.
fn no_overtaking(facts: &[&Fact], waits: &[Wait<'_>]) -> Result<(), String> {
    for wait in waits {
        let mut passed: BTreeMap<Incarnation, BTreeSet<u64>> = BTreeMap::new();
        let later = &facts[facts.partition_point(|fact| fact.ns < wait.from)..];
        let during = later.iter().take_while(|fact| fact.ns <= wait.to);
        for fact in during.filter(|fact| fact.who != wait.who) {
            let What::Asked { ticket, sent_ns, outcome: Outcome::Got, .. } = fact.what else { continue };
            if wait.from <= sent_ns {
                let tickets = passed.entry(fact.who).or_default();
                tickets.insert(ticket);
                if tickets.len() > 1 {
                    return Err(format!(
                        "{}: the lease a second time, and another waits since {}",
                        fact.place, wait.at.place
                    ));
                }
            }
        }
    }
    Ok(())
}
