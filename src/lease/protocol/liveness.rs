//! Mode `preemptible`: the replica's own liveness, and the one heartbeat that keeps it
//! and confirms all leases.

use std::fmt::Debug;

use super::{About, Effect, Phase, Protocol, Ticket};
use crate::lease::verbs::{Mode, Ms, Verb};

/// Heartbeats that fail in a row before those who wait for liveness are denied.
const PATIENCE: u32 = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Liveness {
    /// The kill-switch's deadline of all leases.
    until: Option<Ms>,
    /// When to send the next heartbeat.
    next: Ms,
    /// One is under way.
    beating: bool,
    /// Failures in a row.
    failures: u32,
}

impl<K: Clone + Ord + Debug> Protocol<K> {
    pub(super) fn alive_until(&self) -> Option<Ms> {
        self.liveness.until
    }

    pub(super) fn is_alive(&self, now: Ms) -> bool {
        self.liveness.until.is_some_and(|until| now < until)
    }

    pub(super) fn liveness_failed(&self) -> bool {
        self.config.mode == Mode::Preemptible && self.liveness.failures > 0
    }

    pub(super) fn liveness_due(&self) -> Option<Ms> {
        (self.config.mode == Mode::Preemptible && !self.liveness.beating).then_some(self.liveness.next)
    }

    pub(super) fn beat_due(&mut self, now: Ms, out: &mut Vec<Effect<K>>) {
        if self.liveness.next <= now {
            self.beat_now(now, out);
        }
    }

    /// Sends a heartbeat, unless one is under way.
    pub(super) fn beat_now(&mut self, now: Ms, out: &mut Vec<Effect<K>>) {
        if self.liveness.beating {
            return;
        }
        self.liveness.beating = true;
        let tickets = self.to_confirm();
        let leases = self.holdings(&tickets);
        let verb = Verb::Heartbeat { owner: self.me, leases };
        self.send(now, About::Heartbeat(tickets), verb, out);
    }

    pub(super) fn beaten(
        &mut self,
        now: Ms,
        sent: Ms,
        tickets: &[Ticket],
        kept: &[bool],
        out: &mut Vec<Effect<K>>,
    ) {
        // What ended before this answer came stays ended.
        self.end_all_due(now, out);
        let until = self.deadline_of(sent, now);
        let next = sent + self.config.renew;
        let liveness = &mut self.liveness;
        liveness.until = liveness.until.max(Some(until));
        (liveness.next, liveness.beating, liveness.failures) = (next, false, 0);
        for (index, ticket) in tickets.iter().enumerate() {
            self.confirmed(now, *ticket, kept.get(index) == Some(&true), out);
        }
        if self.is_alive(now) {
            for ticket in self.queued() {
                self.ask(now, ticket, None, out);
            }
        }
        out.push(Effect::Due(next));
    }

    pub(super) fn beat_failed(&mut self, now: Ms, out: &mut Vec<Effect<K>>) {
        let next = now + self.config.retry;
        let liveness = &mut self.liveness;
        liveness.failures = liveness.failures.saturating_add(1);
        (liveness.next, liveness.beating) = (next, false);
        let queued = self.queued();
        if !queued.is_empty() && self.liveness.failures < PATIENCE {
            self.beat_now(now, out);
            return;
        }
        for ticket in queued {
            self.deny(now, ticket, out);
        }
        out.push(Effect::Due(next));
    }

    fn queued(&self) -> Vec<Ticket> {
        let queued = self.tickets.iter().filter(|(_, entry)| matches!(entry.phase, Phase::Queued));
        queued.map(|(ticket, _)| *ticket).collect()
    }
}
