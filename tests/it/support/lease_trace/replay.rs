//! The events of a file, played through the protocol again.

use std::collections::{BTreeMap, BTreeSet};

use sqlfs::lease::protocol::{Effect, Event, Protocol};
use sqlfs::lease::verbs::{Answer, Verb};

use super::File;

/// The effects must be those that the protocol gives; time must not run backwards, tickets
/// must be new, and each answer must be the first to a call that was sent.
pub fn replay(file: &File) -> Result<(), String> {
    let mut protocol = Protocol::new(file.header.config, file.header.incarnation);
    let mut open = BTreeMap::new();
    let mut tickets = BTreeSet::new();
    let mut last = (0, file.header.origin_ns);
    for (index, step) in file.steps.iter().enumerate() {
        let refuse = |why: String| Err(format!("{}: {why}", file.place(index)));
        if step.at < last.0 || step.ns < last.1 {
            return refuse(format!("time runs backwards: {last:?}, then {:?}", (step.at, step.ns)));
        }
        last = (step.at, step.ns);
        match &step.event {
            Event::Acquire { ticket, .. } if !tickets.insert(*ticket) => {
                return refuse(format!("ticket {ticket} was used before"));
            }
            Event::Reply(seq, answer) => match (open.remove(seq), answer) {
                (None, _) => {
                    return refuse(format!(
                        "an answer to call {seq}, which was never sent or has its answer"
                    ));
                }
                (Some(verb), Ok(answer)) if !fits(&verb, answer) => {
                    return refuse(format!("{answer:?} is no answer to {verb:?}"));
                }
                (Some(_), _) => {}
            },
            _ => {}
        }
        let expected = protocol.step(step.at, step.event.clone());
        if expected != step.effects {
            return refuse(format!("the protocol gives {expected:?}, not {:?}", step.effects));
        }
        for effect in expected {
            if let Effect::Send(seq, verb) = effect {
                open.insert(seq, verb);
            }
        }
    }
    Ok(())
}

fn fits<K>(verb: &Verb<K>, answer: &Answer) -> bool {
    match verb {
        Verb::Acquire { .. } => matches!(answer, Answer::Acquired { .. } | Answer::Busy { .. }),
        Verb::Raise { .. } => matches!(answer, Answer::Raised(_)),
        Verb::Renew(leases) | Verb::Heartbeat { leases, .. } => {
            matches!(answer, Answer::Kept(kept) if kept.len() == leases.len())
        }
        Verb::Alive(_) => matches!(answer, Answer::Alive(_)),
        Verb::Release { .. } => matches!(answer, Answer::Released),
        // Not the protocol's: the driver asks them beside it.
        Verb::Hint(_) | Verb::Void { .. } | Verb::End(_) => false,
    }
}
