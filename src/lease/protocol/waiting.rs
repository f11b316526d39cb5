//! The wait for a lease: asking, waiting, judging the holder, and giving up.

use std::fmt::Debug;

use super::held::Held;
use super::{About, Effect, Entry, Phase, Protocol, Rule, Ticket, WhenAway};
use crate::lease::verbs::{CallError, Claim, Hint, Mode, Ms, Parting, Verb};

/// Failed questions in a row after which the store counts as away. The first failure
/// may be a connection that the store closed while it was idle.
const PATIENCE: u8 = 2;

impl<K: Clone + Ord + Debug> Protocol<K> {
    pub(super) fn begin(
        &mut self,
        now: Ms,
        ticket: Ticket,
        key: K,
        floor: i64,
        when_away: WhenAway,
        out: &mut Vec<Effect<K>>,
    ) {
        debug_assert!(!self.tickets.contains_key(&ticket), "ticket {ticket} was used before");
        let entry = Entry {
            key,
            floor,
            when_away,
            failures: 0,
            known: false,
            hint: None,
            parting: Parting::default(),
            phase: Phase::Queued,
        };
        self.tickets.insert(ticket, entry);
        if self.may_admit(now) {
            self.ask(now, ticket, None, out);
        } else {
            self.beat_now(now, out);
        }
    }

    pub(super) fn may_admit(&self, now: Ms) -> bool {
        self.config.mode == Mode::Lease || self.is_alive(now) || !self.on(Rule::AllNeedLiveness)
    }

    pub(super) fn ask(&mut self, now: Ms, ticket: Ticket, evict: Option<Claim>, out: &mut Vec<Effect<K>>) {
        let claim = self.claim(ticket);
        let Some(entry) = self.tickets.get_mut(&ticket) else { return };
        entry.phase = Phase::Asking { poked: false };
        let verb = Verb::Acquire { key: entry.key.clone(), claim, floor: entry.floor, evict };
        self.send(now, About::Acquire(ticket), verb, out);
    }

    pub(super) fn acquired(
        &mut self,
        now: Ms,
        ticket: Ticket,
        sent: Ms,
        (fence, hint): (i64, Option<Hint>),
        out: &mut Vec<Effect<K>>,
    ) {
        let until = self.deadline_of(sent, now);
        let admit = self.may_admit(now);
        let Some(entry) = self.tickets.get_mut(&ticket) else { return };
        if let Phase::Leaving(_) = entry.phase {
            self.release_now(now, ticket, out);
            return;
        }
        (entry.failures, entry.known) = (0, true);
        if now >= until {
            // The answer took longer than the lease. The same claim asks again.
            self.ask(now, ticket, None, out);
        } else if admit {
            entry.phase = Phase::Held(Held::new(fence, until, sent + self.config.renew));
            entry.hint = hint;
            out.push(Effect::Granted(ticket, fence));
            let due = self.kills_at(ticket).unwrap_or(until).min(sent + self.config.renew);
            out.push(Effect::Due(due));
        } else {
            entry.phase = Phase::Queued;
            self.beat_now(now, out);
        }
    }

    pub(super) fn busy(
        &mut self,
        now: Ms,
        ticket: Ticket,
        left: Option<Ms>,
        confirmed: Option<Claim>,
        out: &mut Vec<Effect<K>>,
    ) {
        let poll = self.jittered(now, ticket, self.config.poll);
        let Some(entry) = self.tickets.get_mut(&ticket) else { return };
        (entry.failures, entry.known) = (0, true);
        match (&entry.phase, confirmed) {
            (Phase::Leaving(_), _) => self.release_now(now, ticket, out),
            (Phase::Asking { poked: true }, _) => self.ask(now, ticket, None, out),
            (_, Some(holder)) => {
                entry.phase = Phase::Judging { holder, poked: false };
                self.send(now, About::Judge(ticket), Verb::Alive(holder.owner), out);
            }
            (_, None) => {
                // Just after it should have expired, if that comes first.
                let poll = left.map_or(poll, |left| poll.min(now + left + 1));
                entry.phase = Phase::Waiting { poll };
                out.push(Effect::Due(poll));
            }
        }
    }

    pub(super) fn judged(&mut self, now: Ms, ticket: Ticket, alive: bool, out: &mut Vec<Effect<K>>) {
        let poll = self.jittered(now, ticket, self.config.poll);
        let Some(entry) = self.tickets.get_mut(&ticket) else { return };
        entry.failures = 0;
        match entry.phase {
            Phase::Judging { holder, .. } if !alive => self.ask(now, ticket, Some(holder), out),
            Phase::Judging { poked: true, .. } => self.ask(now, ticket, None, out),
            Phase::Judging { .. } => {
                entry.phase = Phase::Waiting { poll };
                out.push(Effect::Due(poll));
            }
            Phase::Leaving(_) => self.release_now(now, ticket, out),
            Phase::Queued | Phase::Asking { .. } | Phase::Waiting { .. } | Phase::Held(_) => {}
        }
    }

    pub(super) fn ask_failed(&mut self, now: Ms, ticket: Ticket, error: CallError, out: &mut Vec<Effect<K>>) {
        let Some(entry) = self.tickets.get_mut(&ticket) else { return };
        entry.known |= error == CallError::Unknown;
        if let Phase::Leaving(_) = entry.phase {
            self.release_now(now, ticket, out);
            return;
        }
        entry.failures += 1;
        if entry.failures < PATIENCE {
            self.ask(now, ticket, None, out);
        } else {
            self.deny(now, ticket, out);
        }
    }

    pub(super) fn deny(&mut self, now: Ms, ticket: Ticket, out: &mut Vec<Effect<K>>) {
        out.push(Effect::Denied(ticket));
        self.release_now(now, ticket, out);
    }

    pub(super) fn woken(&mut self, now: Ms, key: &K, out: &mut Vec<Effect<K>>) {
        let mut ready = Vec::new();
        for (ticket, entry) in &mut self.tickets {
            if entry.key != *key {
                continue;
            }
            match &mut entry.phase {
                Phase::Waiting { .. } => ready.push(*ticket),
                Phase::Asking { poked } | Phase::Judging { poked, .. } => *poked = true,
                Phase::Queued | Phase::Held(_) | Phase::Leaving(_) => {}
            }
        }
        for ticket in ready {
            self.ask(now, ticket, None, out);
        }
    }

    pub(super) fn poll_due(&mut self, now: Ms, out: &mut Vec<Effect<K>>) {
        let due = |entry: &Entry<K>| matches!(entry.phase, Phase::Waiting { poll } if poll <= now);
        let due: Vec<Ticket> = self.tickets.iter().filter(|(_, e)| due(e)).map(|(t, _)| *t).collect();
        for ticket in due {
            self.ask(now, ticket, None, out);
        }
    }

    /// The time of the next question, `time` and up to a quarter more from now: spread
    /// over replicas, tickets and questions, but a function of them, so that a run can
    /// be repeated.
    fn jittered(&self, now: Ms, ticket: Ticket, time: Ms) -> Ms {
        let me = self.me.0 as u64 ^ (self.me.0 >> 64) as u64;
        let mut x = me ^ ticket.rotate_left(32) ^ now.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        now + time + (x ^ (x >> 31)) % (time / 4 + 1)
    }
}
