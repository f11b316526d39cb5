//! What a file says of each ticket, by rules that know nothing of the protocol's inside:
//! whose claims it sends, what its grants rest on, and until when it may permit.

use std::collections::BTreeMap;

use sqlfs::lease::keys::LeaseKey;
use sqlfs::lease::protocol::{Effect, Event, Seq, Ticket};
use sqlfs::lease::trace::Step;
use sqlfs::lease::verbs::{Answer, Claim, Incarnation, Mode, Ms, Verb};

use super::File;

/// Something that matters to other processes.
#[derive(Clone, Debug)]
pub struct Fact {
    pub ns: u64,
    /// `FILE:LINE`.
    pub place: String,
    pub who: Incarnation,
    pub key: LeaseKey,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The ticket was granted this token, or its token was raised to it.
    Token(i64),
    /// The ticket may start or commit.
    Permitted(Ticket),
    /// It may not any more.
    Ended(Ticket),
    /// A question of this ticket was sent at `sent_ns` and is answered now.
    Asked { ticket: Ticket, sent_ns: u64, outcome: Outcome, mark_ns: u64 },
    /// A release was sent at `sent_ns` and is answered now, or failed (`None`).
    Left { sent_ns: u64, sure: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Got,
    /// Its mark stands for `mark_ns` from when the question was carried out.
    Busy,
    /// It may still be carried out.
    Unknown,
}

/// A waiting mark stands for this many poll times (`app::coordination`).
const MARK_POLLS: Ms = 4;

struct Sent {
    at: Ms,
    ns: u64,
    verb: Verb<LeaseKey>,
}

#[derive(PartialEq)]
enum State {
    Wanted,
    /// Stands until then by itself; `confirmed`: as long as the replica's liveness.
    Granted {
        until: Ms,
        confirmed: bool,
    },
    Degraded,
    Ended,
}

struct Lease {
    key: LeaseKey,
    floor: i64,
    state: State,
    permitted: bool,
}

struct Follower<'a> {
    file: &'a File,
    calls: BTreeMap<Seq, Sent>,
    leases: BTreeMap<Ticket, Lease>,
    alive_until: Ms,
    facts: Vec<Fact>,
}

/// The facts of a file, or the line that breaks a rule.
pub fn follow(file: &File) -> Result<Vec<Fact>, String> {
    let mut follower =
        Follower { file, calls: BTreeMap::new(), leases: BTreeMap::new(), alive_until: 0, facts: Vec::new() };
    for (index, step) in file.steps.iter().enumerate() {
        follower.step(index, step).map_err(|why| format!("{}: {why}", file.place(index)))?;
    }
    // Whoever was killed ran nothing after its last line.
    if let Some(last) = file.steps.len().checked_sub(1) {
        let open: Vec<Ticket> = follower.leases.keys().copied().collect();
        for ticket in open {
            follower.end(last, ticket, State::Ended);
        }
    }
    Ok(follower.facts)
}

impl Follower<'_> {
    fn step(&mut self, index: usize, step: &Step) -> Result<(), String> {
        let answered = match &step.event {
            Event::Acquire { ticket, key, floor, .. } => {
                let (key, floor) = (key.clone(), *floor);
                self.leases.insert(*ticket, Lease { key, floor, state: State::Wanted, permitted: false });
                None
            }
            Event::Release(ticket) | Event::Abandon(ticket) => {
                self.end(index, *ticket, State::Ended);
                None
            }
            Event::Raise(ticket, floor) => {
                if let Some(lease) = self.leases.get_mut(ticket) {
                    lease.floor = *floor;
                }
                None
            }
            Event::Reply(seq, answer) => {
                let sent = self.calls.remove(seq).ok_or_else(|| format!("call {seq} was never sent"))?;
                self.answer(index, step, &sent, answer.as_ref().ok());
                answer.as_ref().ok().map(|answer| (sent, answer))
            }
            Event::Check(_) | Event::Woken(_) | Event::Tick | Event::Parting(..) => None,
        };
        for effect in &step.effects {
            self.effect(index, step, effect, answered.as_ref())?;
        }
        Ok(())
    }

    /// What an answer lengthens, and what it tells others.
    fn answer(&mut self, index: usize, step: &Step, sent: &Sent, answer: Option<&Answer>) {
        let until = self.until(sent.at);
        match (&sent.verb, answer) {
            (Verb::Renew(leases), Some(Answer::Kept(kept))) => {
                for (lease, _) in leases.iter().zip(kept).filter(|(_, kept)| **kept) {
                    let in_time = self.in_time(lease.claim.number, step.at);
                    if let Some(State::Granted { until: old, .. }) = self.state(lease.claim.number)
                        && in_time
                    {
                        *old = until.max(*old);
                    }
                }
            }
            (Verb::Heartbeat { leases, .. }, Some(Answer::Kept(kept))) => {
                let of = |lease: &sqlfs::lease::verbs::Holding<LeaseKey>| lease.claim.number;
                let in_time: Vec<Ticket> =
                    leases.iter().map(of).filter(|t| self.in_time(*t, step.at)).collect();
                self.alive_until = self.alive_until.max(until);
                for (lease, _) in leases.iter().zip(kept).filter(|(_, kept)| **kept) {
                    if let Some(State::Granted { confirmed, .. }) = self.state(lease.claim.number)
                        && in_time.contains(&lease.claim.number)
                    {
                        *confirmed = true;
                    }
                }
            }
            (Verb::Acquire { key, claim, .. }, answer) => {
                let outcome = match answer {
                    Some(Answer::Acquired { .. }) => Outcome::Got,
                    Some(Answer::Busy { .. }) => Outcome::Busy,
                    _ => Outcome::Unknown,
                };
                let mark_ns = MARK_POLLS * self.file.header.config.poll * 1_000_000;
                let what = What::Asked { ticket: claim.number, sent_ns: sent.ns, outcome, mark_ns };
                self.fact(index, key.clone(), what);
            }
            (Verb::Release { key, .. }, answer) => {
                let what = What::Left { sent_ns: sent.ns, sure: answer.is_some() };
                self.fact(index, key.clone(), what);
            }
            (
                Verb::Renew(_)
                | Verb::Heartbeat { .. }
                | Verb::Raise { .. }
                | Verb::Alive(_)
                | Verb::Hint(_)
                | Verb::Void { .. }
                | Verb::End(_),
                _,
            ) => {}
        }
    }

    fn effect(
        &mut self,
        index: usize,
        step: &Step,
        effect: &Effect<LeaseKey>,
        answered: Option<&(Sent, &Answer)>,
    ) -> Result<(), String> {
        match effect {
            Effect::Send(seq, verb) => {
                self.own_claims(verb)?;
                self.calls.insert(*seq, Sent { at: step.at, ns: step.ns, verb: verb.clone() });
            }
            Effect::Granted(ticket, token) => {
                let Some((sent, Answer::Acquired { fence, .. })) = answered else {
                    return Err(format!("{ticket} is granted without an answer that says so"));
                };
                let until = self.until(sent.at);
                let own = matches!(&sent.verb, Verb::Acquire { claim, .. } if claim.number == *ticket);
                if !own || fence != token {
                    return Err(format!("{ticket} is granted {token} by the answer to {:?}", sent.verb));
                }
                let lease = self.wanted(*ticket)?;
                lease.state = State::Granted { until, confirmed: false };
                self.token(index, *ticket, *token)?;
                if !self.in_time(*ticket, step.at) {
                    return Err(format!("{ticket} is granted after its deadline"));
                }
            }
            Effect::Raised(ticket, token) => {
                if !matches!(answered, Some((_, Answer::Raised(Some(fence)))) if fence == token) {
                    return Err(format!("{ticket} is raised to {token} without an answer that says so"));
                }
                self.token(index, *ticket, *token)?;
            }
            Effect::Permitted(ticket) => {
                if step.event != Event::Check(*ticket) {
                    return Err(format!("{ticket} is permitted and had not asked"));
                }
                let in_time = self.in_time(*ticket, step.at);
                let Some(lease) = self.leases.get_mut(ticket) else {
                    return Err(format!("{ticket} is permitted and was never wanted"));
                };
                match lease.state {
                    State::Granted { .. } if in_time => {
                        lease.permitted = true;
                        let key = lease.key.clone();
                        self.fact(index, key, What::Permitted(*ticket));
                    }
                    State::Granted { .. } => return Err(format!("{ticket} is permitted after its deadline")),
                    State::Degraded => {}
                    State::Ended => return Err(format!("{ticket} is permitted after its end")),
                    State::Wanted => return Err(format!("{ticket} is permitted and was not granted")),
                }
            }
            Effect::Lost(ticket, _) | Effect::Denied(ticket) => self.end(index, *ticket, State::Ended),
            Effect::Degraded(ticket) => self.end(index, *ticket, State::Degraded),
            Effect::NotRaised(_) | Effect::Due(_) => {}
        }
        Ok(())
    }

    /// A claim that is sent is this process's, and on the key that its ticket is about.
    fn own_claims(&self, verb: &Verb<LeaseKey>) -> Result<(), String> {
        let claims: Vec<(&LeaseKey, Claim)> = match verb {
            Verb::Acquire { key, claim, .. }
            | Verb::Raise { key, claim, .. }
            | Verb::Release { key, claim, .. } => {
                vec![(key, *claim)]
            }
            Verb::Renew(leases) | Verb::Heartbeat { leases, .. } => {
                leases.iter().map(|lease| (&lease.key, lease.claim)).collect()
            }
            Verb::Alive(_) | Verb::Hint(_) | Verb::Void { .. } | Verb::End(_) => vec![],
        };
        let me = self.file.header.incarnation;
        for (key, claim) in claims {
            let own = self.leases.get(&claim.number).is_some_and(|lease| lease.key == *key);
            if claim.owner != me || !own {
                return Err(format!("{claim} on {} is a foreign claim", key.to_wire()));
            }
        }
        match verb {
            Verb::Heartbeat { owner, .. } if *owner != me => {
                Err(format!("a heartbeat of {owner}, not of {me}"))
            }
            _ => Ok(()),
        }
    }

    fn token(&mut self, index: usize, ticket: Ticket, token: i64) -> Result<(), String> {
        let lease = self.leases.get(&ticket).ok_or_else(|| format!("{ticket} was never wanted"))?;
        if token <= lease.floor {
            return Err(format!("token {token} is not above the floor {}", lease.floor));
        }
        self.fact(index, lease.key.clone(), What::Token(token));
        Ok(())
    }

    fn end(&mut self, index: usize, ticket: Ticket, state: State) {
        let Some(lease) = self.leases.get_mut(&ticket) else { return };
        lease.state = state;
        if std::mem::take(&mut lease.permitted) {
            let key = lease.key.clone();
            self.fact(index, key, What::Ended(ticket));
        }
    }

    fn wanted(&mut self, ticket: Ticket) -> Result<&mut Lease, String> {
        let lease = self.leases.get_mut(&ticket).filter(|lease| lease.state == State::Wanted);
        lease.ok_or_else(|| format!("{ticket} is granted and not wanted"))
    }

    fn state(&mut self, ticket: Ticket) -> Option<&mut State> {
        self.leases.get_mut(&ticket).map(|lease| &mut lease.state)
    }

    /// Whether a granted ticket's deadline lies ahead.
    fn in_time(&self, ticket: Ticket, now: Ms) -> bool {
        let preemptible = self.file.header.config.mode == Mode::Preemptible;
        match self.leases.get(&ticket).map(|lease| &lease.state) {
            Some(State::Granted { confirmed: true, .. }) if preemptible => now < self.alive_until,
            Some(State::Granted { until, .. }) if preemptible => now < self.alive_until.min(*until),
            Some(State::Granted { until, .. }) => now < *until,
            _ => false,
        }
    }

    fn until(&self, sent: Ms) -> Ms {
        sent + self.file.header.config.lease - self.file.header.config.margin
    }

    fn fact(&mut self, index: usize, key: LeaseKey, what: What) {
        let (ns, place) = (self.file.steps[index].ns, self.file.place(index));
        self.facts.push(Fact { ns, place, who: self.file.header.incarnation, key, what });
    }
}
