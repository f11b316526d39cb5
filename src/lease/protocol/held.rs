//! A held lease: permission, renewal, the kill-switch, and giving it back.

use std::fmt::Debug;

use super::{About, Effect, Entry, Loss, Phase, Protocol, Rule, Ticket, WhenAway};
use crate::lease::verbs::{Holding, Mode, Ms, Verb};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) fence: i64,
    /// The kill-switch's deadline, as long as the lease is not confirmed.
    until: Ms,
    /// Stands until its owner's liveness ends.
    confirmed: bool,
    /// When to renew next.
    renew: Ms,
    /// A renewal is under way.
    renewing: bool,
    /// The last renewal brought no answer.
    away: bool,
    /// Goes on without the lease.
    degraded: bool,
}

impl Held {
    pub(super) fn new(fence: i64, until: Ms, renew: Ms) -> Self {
        Self { fence, until, confirmed: false, renew, renewing: false, away: false, degraded: false }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    /// After this the lease has expired by itself; `None`: it may be confirmed, and
    /// only a release ends it.
    give_up: Option<Ms>,
    /// When to repeat the release; `None`: it, or the last question, is under way.
    retry: Option<Ms>,
}

impl Leaving {
    pub(super) fn due(&self) -> Option<Ms> {
        self.retry
    }
}

/// Leases renewed by one call.
const RENEWED_TOGETHER: usize = 500;

impl<K: Clone + Ord + Debug> Protocol<K> {
    pub(super) fn held(&self, ticket: Ticket) -> Option<&Held> {
        match &self.tickets.get(&ticket)?.phase {
            Phase::Held(held) => Some(held),
            _ => None,
        }
    }

    fn held_mut(&mut self, ticket: Ticket) -> Option<&mut Held> {
        match &mut self.tickets.get_mut(&ticket)?.phase {
            Phase::Held(held) => Some(held),
            _ => None,
        }
    }

    /// When the kill-switch ends it.
    pub(super) fn deadline(&self, held: &Held) -> Option<Ms> {
        let alive = || self.alive_until().unwrap_or(0);
        match self.config.mode {
            _ if held.degraded => None,
            Mode::Preemptible if held.confirmed => Some(alive()),
            Mode::Preemptible if self.on(Rule::AllNeedLiveness) => Some(held.until.min(alive())),
            Mode::Lease | Mode::Preemptible => Some(held.until),
        }
    }

    pub(super) fn renewal_due(&self, held: &Held) -> Ms {
        let renews = self.config.mode == Mode::Lease && !held.renewing && !held.degraded;
        if renews { held.renew } else { Ms::MAX }
    }

    pub(super) fn check(&mut self, now: Ms, ticket: Ticket, out: &mut Vec<Effect<K>>) {
        if self.on(Rule::PermissionNeedsLease) {
            self.end_if_due(now, ticket, out);
        }
        if self.held(ticket).is_some() || !self.on(Rule::PermissionNeedsLease) {
            out.push(Effect::Permitted(ticket));
        }
    }

    /// The kill-switch of all leases. Late answers must find it pulled.
    pub(super) fn end_all_due(&mut self, now: Ms, out: &mut Vec<Effect<K>>) {
        let due = |held: &Held| self.deadline(held).is_some_and(|deadline| deadline <= now);
        let ends = |entry: &Entry<K>| matches!(&entry.phase, Phase::Held(held) if due(held));
        let ending: Vec<Ticket> = self.tickets.iter().filter(|(_, e)| ends(e)).map(|(t, _)| *t).collect();
        for ticket in ending {
            self.lose(now, ticket, Loss::NotRenewed, out);
        }
    }

    /// The kill-switch of one.
    fn end_if_due(&mut self, now: Ms, ticket: Ticket, out: &mut Vec<Effect<K>>) {
        let deadline = self.held(ticket).and_then(|held| self.deadline(held));
        if deadline.is_some_and(|deadline| deadline <= now) && self.on(Rule::KillFirst) {
            self.lose(now, ticket, Loss::NotRenewed, out);
        }
    }

    fn lose(&mut self, now: Ms, ticket: Ticket, loss: Loss, out: &mut Vec<Effect<K>>) {
        let store_away = self.liveness_failed();
        let Some(entry) = self.tickets.get_mut(&ticket) else { return };
        let Phase::Held(held) = &mut entry.phase else { return };
        let away = held.away || store_away;
        if loss == Loss::NotRenewed && away && entry.when_away == WhenAway::Degrade {
            held.degraded = true;
            out.push(Effect::Degraded(ticket));
        } else {
            out.push(Effect::Lost(ticket, loss));
            self.release_now(now, ticket, out);
        }
    }

    pub(super) fn renew_due(&mut self, now: Ms, out: &mut Vec<Effect<K>>) {
        // Those that are due soon go along, so that calls stay few.
        let soon = now + self.config.renew / 8;
        let due = self.tickets.iter().filter_map(|(ticket, entry)| match &entry.phase {
            Phase::Held(held) => Some((*ticket, self.renewal_due(held))).filter(|(_, due)| *due <= soon),
            _ => None,
        });
        let due: Vec<(Ticket, Ms)> = due.collect();
        if due.iter().all(|(_, due)| *due > now) {
            return;
        }
        let due: Vec<Ticket> = due.into_iter().map(|(ticket, _)| ticket).collect();
        for tickets in due.chunks(RENEWED_TOGETHER) {
            let leases = self.holdings(tickets);
            for ticket in tickets {
                if let Some(held) = self.held_mut(*ticket) {
                    held.renewing = true;
                }
            }
            self.send(now, About::Renew(tickets.to_vec()), Verb::Renew(leases), out);
        }
    }

    pub(super) fn renewed(
        &mut self,
        now: Ms,
        sent: Ms,
        tickets: &[Ticket],
        kept: &[bool],
        out: &mut Vec<Effect<K>>,
    ) {
        let until = self.deadline_of(sent, now);
        let renew = sent + self.config.renew;
        for (index, ticket) in tickets.iter().enumerate() {
            self.end_if_due(now, *ticket, out);
            let Some(held) = self.held_mut(*ticket).filter(|held| !held.degraded) else { continue };
            if kept.get(index) == Some(&true) {
                held.until = held.until.max(until);
                (held.renew, held.renewing, held.away) = (renew, false, false);
            } else {
                self.lose(now, *ticket, Loss::Taken, out);
            }
        }
        out.push(Effect::Due(renew));
    }

    pub(super) fn renew_failed(&mut self, now: Ms, tickets: &[Ticket], out: &mut Vec<Effect<K>>) {
        let renew = now + self.config.retry;
        for ticket in tickets {
            if let Some(held) = self.held_mut(*ticket) {
                (held.renew, held.renewing, held.away) = (renew, false, true);
            }
        }
        out.push(Effect::Due(renew));
    }

    /// What a heartbeat found of a lease.
    pub(super) fn confirmed(&mut self, now: Ms, ticket: Ticket, kept: bool, out: &mut Vec<Effect<K>>) {
        let Some(held) = self.held_mut(ticket).filter(|held| !held.degraded) else { return };
        if kept {
            held.confirmed = true;
        } else {
            self.lose(now, ticket, Loss::Taken, out);
        }
    }

    /// The tickets that a heartbeat must confirm.
    pub(super) fn to_confirm(&self) -> Vec<Ticket> {
        let confirms = |entry: &Entry<K>| matches!(&entry.phase, Phase::Held(held) if !held.degraded);
        self.tickets.iter().filter(|(_, entry)| confirms(entry)).map(|(ticket, _)| *ticket).collect()
    }

    pub(super) fn holdings(&self, tickets: &[Ticket]) -> Vec<Holding<K>> {
        let holding = |ticket: &Ticket| {
            let entry = self.tickets.get(ticket)?;
            let fence = self.held(*ticket)?.fence;
            Some(Holding { key: entry.key.clone(), claim: self.claim(*ticket), fence })
        };
        tickets.iter().filter_map(holding).collect()
    }

    pub(super) fn raise(&mut self, now: Ms, ticket: Ticket, floor: i64, out: &mut Vec<Effect<K>>) {
        let claim = self.claim(ticket);
        let key = self.tickets.get(&ticket).map(|entry| entry.key.clone());
        match (self.held(ticket), key) {
            (Some(held), Some(key)) if !held.degraded => {
                self.send(now, About::Raise(ticket), Verb::Raise { key, claim, floor }, out);
            }
            (Some(_), _) => out.push(Effect::NotRaised(ticket)),
            (None, _) => {}
        }
    }

    pub(super) fn raised(&mut self, now: Ms, ticket: Ticket, fence: Option<i64>, out: &mut Vec<Effect<K>>) {
        match (self.held_mut(ticket), fence) {
            (Some(held), Some(fence)) => {
                held.fence = fence;
                out.push(Effect::Raised(ticket, fence));
            }
            (Some(_), None) => self.lose(now, ticket, Loss::Taken, out),
            (None, _) => {}
        }
    }

    pub(super) fn raise_failed(&mut self, ticket: Ticket, out: &mut Vec<Effect<K>>) {
        if self.held(ticket).is_some() {
            out.push(Effect::NotRaised(ticket));
        }
    }

    /// The request is done with the lease, or with waiting for it.
    pub(super) fn leave(&mut self, now: Ms, ticket: Ticket, out: &mut Vec<Effect<K>>) {
        let give_up = Some(now + 2 * self.config.lease);
        let Some(entry) = self.tickets.get_mut(&ticket) else { return };
        match entry.phase {
            // Its release goes out after the answer to the question that is under way:
            // sent now, it might be carried out before it.
            Phase::Asking { .. } | Phase::Judging { .. } => {
                entry.phase = Phase::Leaving(Leaving { give_up, retry: None });
            }
            Phase::Queued | Phase::Waiting { .. } | Phase::Held(_) => self.release_now(now, ticket, out),
            Phase::Leaving(_) => {}
        }
    }

    pub(super) fn release_now(&mut self, now: Ms, ticket: Ticket, out: &mut Vec<Effect<K>>) {
        let claim = self.claim(ticket);
        let lease = self.config.lease;
        let mode = self.config.mode;
        let Some(entry) = self.tickets.get_mut(&ticket) else { return };
        if !entry.known {
            self.tickets.remove(&ticket);
            return;
        }
        let give_up = match &entry.phase {
            Phase::Leaving(leaving) => leaving.give_up,
            Phase::Held(_) if mode == Mode::Preemptible => None,
            _ => Some(now + 2 * lease),
        };
        entry.phase = Phase::Leaving(Leaving { give_up, retry: None });
        let verb = Verb::Release { key: entry.key.clone(), claim, parting: entry.parting };
        self.send(now, About::Release(ticket), verb, out);
    }

    pub(super) fn released(&mut self, ticket: Ticket) {
        self.tickets.remove(&ticket);
    }

    pub(super) fn release_failed(&mut self, now: Ms, ticket: Ticket, out: &mut Vec<Effect<K>>) {
        let retry = now + self.config.retry;
        let Some(entry) = self.tickets.get_mut(&ticket) else { return };
        let Phase::Leaving(leaving) = &mut entry.phase else { return };
        if leaving.give_up.is_some_and(|at| at <= now) {
            self.tickets.remove(&ticket);
        } else {
            leaving.retry = Some(retry);
            out.push(Effect::Due(retry));
        }
    }

    pub(super) fn release_due(&mut self, now: Ms, out: &mut Vec<Effect<K>>) {
        let due = |entry: &Entry<K>| matches!(&entry.phase, Phase::Leaving(leaving) if leaving.retry.is_some_and(|at| at <= now));
        let due: Vec<Ticket> = self.tickets.iter().filter(|(_, e)| due(e)).map(|(t, _)| *t).collect();
        for ticket in due {
            self.release_now(now, ticket, out);
        }
    }
}
