//! The world of the model: replicas, the calls between them and the store, time, and
//! everything that may go wrong.
//!
//! Time is one number for all; that clocks' rates differ is part of what the margin
//! pays for and is not modelled apart. A replica acts on a due timer whenever it likes,
//! but under bounded timing no later than margin − 1 after a kill-switch's deadline.
//! A call is answered at once, or it is one of the slow ones, whose number is bounded:
//! these are carried out at any time after they were sent and in any order, the halves
//! of a heartbeat one by one, and answered at any time after that. A slow call may fail
//! and be carried out all the same, before or after the failure is noticed. Wake-ups are left out: they only make a
//! replica ask earlier than its timer, which it may do anyway.

use sqlfs::lease::protocol::{Config, Effect, Event, Loss, Protocol, Rule, Seq, Ticket};
use sqlfs::lease::table::{Table, TableRule};
use sqlfs::lease::verbs::{Answer, CallError, Claim, Hint, Incarnation, Mode, Ms, Parting, Terms, Verb};
use stateright::{Model, Property};
use std::collections::{BTreeMap, BTreeSet};

mod network;

pub const EXCLUSIVE: &str = "exclusive";
pub const KILL_BEFORE_EXPIRY: &str = "kill before expiry";
pub const PERMITTED_HOLDS: &str = "permitted only while held";
pub const TOKEN_MONOTONIC: &str = "token monotonic";
pub const BOTH_RAN: &str = "both replicas ran a script";
pub const NO_OVERTAKING: &str = "no overtaking";
pub const HINT_NEWEST: &str = "a hint names the newest state";

const LEASE: Ms = 6;
const MARGIN: Ms = 2;
const KEY: u8 = 0;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Faults {
    /// Calls that are not answered at once: carried out, answered or failed at any
    /// later time, in parts and in any order.
    pub slow_calls: u8,
    /// Of these: carried out once more later on.
    pub duplicates: u8,
    pub crashes: u8,
    pub flushes: u8,
}

#[derive(Clone, Debug)]
pub struct Setting {
    pub mode: Mode,
    /// Time ends here.
    pub horizon: Ms,
    /// Acquisitions of each replica's incarnations.
    pub tickets: [Ticket; 2],
    pub faults: Faults,
    /// Replicas may stand still for any time.
    pub pauses: bool,
    pub rule: Option<Rule>,
    pub table_rule: Option<TableRule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    now: Ms,
    table: Table<u8>,
    replicas: [Replica; 2],
    /// Sent in this instant: answered at once, or turned into slow ones.
    fresh: Vec<InFlight>,
    calls: BTreeSet<InFlight>,
    replies: BTreeSet<(usize, Seq, Answer)>,
    faults: Faults,
    flushed: bool,
    /// The fence column of the sandbox's row.
    committed: i64,
    /// The highest token that a script started with.
    started: i64,
    /// For each mark that stands: who got the lease meanwhile.
    passed: BTreeMap<Incarnation, BTreeSet<Incarnation>>,
    /// Properties of steps that were found broken.
    broken: BTreeSet<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Replica {
    protocol: Protocol<u8>,
    me: Incarnation,
    next: Ticket,
    /// The row's fence, as this replica's probe saw it. What commits later changes the
    /// head too, and the compare-and-set refuses who started from the old one.
    floor: i64,
    work: Work,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Work {
    Idle,
    Waiting(Ticket),
    /// Granted; the script has not started.
    Granted(Ticket),
    Raising(Ticket),
    /// With a token above the row's; the script has not started.
    Raised(Ticket),
    Running(Ticket),
    /// Goes on with the compare-and-set alone.
    Degraded(Ticket),
}

/// A call that is to be carried out, in one or more parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct InFlight {
    replica: usize,
    seq: Seq,
    verb: Verb<u8>,
    /// Of a heartbeat: what each part found, the liveness itself last.
    parts: Vec<Option<bool>>,
    /// Nobody waits for the answer.
    ghost: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Swift,
    Slow,
    Pass,
    Tick(usize),
    Request(usize),
    Abandon(usize),
    Start(usize),
    Finish(usize),
    Carry(usize, Seq, usize, bool),
    Answer(usize, Seq),
    Fail(usize, Seq),
    Duplicate(usize, Seq),
    Forget(usize, Seq),
    Crash(usize),
    Flush,
}

impl Setting {
    fn protocol(&self, me: Incarnation) -> Protocol<u8> {
        let config = Config { mode: self.mode, lease: LEASE, renew: 2, margin: MARGIN, poll: 2, retry: 1 };
        config.check().expect("times that fit");
        let protocol = Protocol::new(config, me);
        self.rule.map_or(protocol.clone(), |rule| protocol.without(rule))
    }
}

impl Model for Setting {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let replica = |me: u128| Replica {
            protocol: self.protocol(Incarnation(me)),
            me: Incarnation(me),
            next: 0,
            floor: 0,
            work: Work::Idle,
        };
        let table = Table::new(Terms { lease: LEASE, mark: 4 });
        vec![World {
            now: 0,
            table: self.table_rule.map_or(table.clone(), |rule| table.without(rule)),
            replicas: [replica(1), replica(2)],
            fresh: Vec::new(),
            calls: BTreeSet::new(),
            replies: BTreeSet::new(),
            faults: self.faults.clone(),
            flushed: false,
            committed: 0,
            started: 0,
            passed: BTreeMap::new(),
            broken: BTreeSet::new(),
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if !world.fresh.is_empty() {
            actions.push(Action::Swift);
            if world.faults.slow_calls > 0 {
                actions.push(Action::Slow);
            }
            return;
        }
        if world.now < self.horizon && (self.pauses || world.timely()) {
            actions.push(Action::Pass);
        }
        for (index, replica) in world.replicas.iter().enumerate() {
            if self.tickets[index] == 0 {
                // A world of one replica.
                continue;
            }
            if replica.protocol.next_due().is_some_and(|due| due <= world.now) {
                actions.push(Action::Tick(index));
            }
            match replica.work {
                Work::Idle if replica.next < self.tickets[index] => actions.push(Action::Request(index)),
                Work::Waiting(_) => actions.push(Action::Abandon(index)),
                Work::Granted(_) | Work::Raised(_) => actions.push(Action::Start(index)),
                Work::Running(_) | Work::Degraded(_) => {
                    actions.push(Action::Finish(index));
                }
                Work::Idle | Work::Raising(_) => {}
            }
            if world.faults.crashes > 0 {
                actions.push(Action::Crash(index));
            }
        }
        for call in &world.calls {
            for (part, found) in call.parts.iter().enumerate() {
                if found.is_none() {
                    actions.push(Action::Carry(call.replica, call.seq, part, call.ghost));
                }
            }
            if call.ghost {
                actions.push(Action::Forget(call.replica, call.seq));
            } else {
                actions.push(Action::Fail(call.replica, call.seq));
                if world.faults.duplicates > 0 {
                    actions.push(Action::Duplicate(call.replica, call.seq));
                }
            }
        }
        for (replica, seq, _) in &world.replies {
            actions.push(Action::Answer(*replica, *seq));
            actions.push(Action::Fail(*replica, *seq));
        }
        if world.faults.flushes > 0 {
            actions.push(Action::Flush);
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        match action {
            Action::Swift => {
                let call = world.fresh.remove(0);
                let at = call.replica;
                let seq = call.seq;
                let parts = call.parts.len();
                world.calls.insert(call);
                for part in 0..parts {
                    world.carry(at, seq, part, false);
                }
                let reply = world.replies.iter().find(|(r, s, _)| (*r, *s) == (at, seq))?.clone();
                world.replies.remove(&reply);
                world.step(at, Event::Reply(seq, Ok(reply.2)));
            }
            Action::Slow => {
                world.faults.slow_calls -= 1;
                let call = world.fresh.remove(0);
                world.calls.insert(call);
            }
            Action::Pass => world.now += 1,
            Action::Tick(at) => world.step(at, Event::Tick),
            Action::Request(at) => {
                let replica = &mut world.replicas[at];
                let ticket = replica.next;
                replica.next += 1;
                replica.work = Work::Waiting(ticket);
                world.step(at, Event::Acquire { ticket, key: KEY, floor: 0, degrade: at == 1 });
            }
            Action::Abandon(at) => {
                let Work::Waiting(ticket) = world.replicas[at].work else { return None };
                world.replicas[at].work = Work::Idle;
                world.step(at, Event::Abandon(ticket));
            }
            Action::Start(at) => world.start(at),
            Action::Finish(at) => world.finish(at),
            Action::Carry(at, seq, part, ghost) => world.carry(at, seq, part, ghost),
            Action::Answer(at, seq) => {
                let reply = world.replies.iter().find(|(r, s, _)| (*r, *s) == (at, seq))?.clone();
                world.replies.remove(&reply);
                world.step(at, Event::Reply(seq, Ok(reply.2)));
            }
            Action::Fail(at, seq) => {
                world.replies.retain(|(r, s, _)| (*r, *s) != (at, seq));
                world.make_ghosts(|call| (call.replica, call.seq) == (at, seq));
                world.step(at, Event::Reply(seq, Err(CallError::Unknown)));
            }
            Action::Duplicate(at, seq) => {
                world.faults.duplicates -= 1;
                let call = world.calls.iter().find(|c| (c.replica, c.seq, c.ghost) == (at, seq, false))?;
                let copy = InFlight { ghost: true, ..call.clone() };
                world.calls.insert(copy);
            }
            Action::Forget(at, seq) => {
                world.calls.retain(|call| (call.replica, call.seq, call.ghost) != (at, seq, true));
            }
            Action::Crash(at) => {
                world.faults.crashes -= 1;
                let me = Incarnation(world.replicas[at].me.0 + 10);
                world.replicas[at] =
                    Replica { protocol: self.protocol(me), me, next: 0, floor: 0, work: Work::Idle };
                // Numbers of calls start anew: what is still under way is told apart.
                world.make_ghosts(|call| call.replica == at);
                world.replies.retain(|(replica, _, _)| *replica != at);
                let ghosts: Vec<InFlight> = world.calls.iter().filter(|c| c.replica == at).cloned().collect();
                for ghost in ghosts {
                    world.calls.remove(&ghost);
                    world.calls.insert(InFlight { replica: at + 2, ..ghost });
                }
            }
            Action::Flush => {
                world.faults.flushes -= 1;
                world.flushed = true;
                world.table.flush();
            }
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(EXCLUSIVE, |model: &Self, world: &World| {
                model.pauses || world.flushed || world.running().count() <= 1
            }),
            Property::always(KILL_BEFORE_EXPIRY, |model: &Self, world: &World| {
                let held = |claim| world.table.claim(world.now, &KEY) == Some(claim);
                model.pauses || world.flushed || world.running().all(held)
            }),
            Property::always(PERMITTED_HOLDS, |_, world: &World| !world.broken.contains(PERMITTED_HOLDS)),
            Property::always(TOKEN_MONOTONIC, |_, world: &World| !world.broken.contains(TOKEN_MONOTONIC)),
            Property::always(NO_OVERTAKING, |_, world: &World| !world.broken.contains(NO_OVERTAKING)),
            // After a flush two may commit, and a token is no name of a state any more.
            Property::always(HINT_NEWEST, |_, world: &World| {
                world.flushed || world.table.hint(&KEY).is_none_or(|hint| hint == state(world.committed))
            }),
            Property::sometimes(BOTH_RAN, |_, world: &World| {
                world.started >= 2 && matches!(world.replicas[1].work, Work::Running(_))
            }),
        ]
    }
}

/// The state that the commit with this token left.
fn state(token: i64) -> Hint {
    Hint(u128::try_from(token).unwrap_or(0))
}

impl World {
    /// Whether time may pass: no kill-switch is later than the assumption allows.
    fn timely(&self) -> bool {
        self.replicas.iter().all(|replica| match replica.work {
            Work::Running(ticket) => {
                replica.protocol.kills_at(ticket).is_none_or(|at| self.now + 1 < at + MARGIN)
            }
            _ => true,
        })
    }

    /// The claims under which a script runs that is not degraded.
    fn running(&self) -> impl Iterator<Item = Claim> {
        self.replicas.iter().filter_map(|replica| match replica.work {
            Work::Running(ticket) => Some(replica.protocol.claim(ticket)),
            _ => None,
        })
    }

    fn step(&mut self, at: usize, event: Event<u8>) {
        let effects = self.replicas[at].protocol.step(self.now, event);
        for effect in effects {
            self.effect(at, effect);
        }
    }

    fn effect(&mut self, at: usize, effect: Effect<u8>) {
        let replica = &mut self.replicas[at];
        let current = match replica.work {
            Work::Idle => None,
            Work::Waiting(t)
            | Work::Granted(t)
            | Work::Raising(t)
            | Work::Raised(t)
            | Work::Running(t)
            | Work::Degraded(t) => Some(t),
        };
        let is_current = |ticket: Ticket| current == Some(ticket);
        match effect {
            Effect::Send(seq, verb) => {
                let parts = match &verb {
                    Verb::Heartbeat { leases, .. } => leases.len() + 1,
                    _ => 1,
                };
                let parts = vec![None; parts];
                self.fresh.push(InFlight { replica: at, seq, verb, parts, ghost: false });
            }
            Effect::Granted(ticket, _) if is_current(ticket) => replica.work = Work::Granted(ticket),
            Effect::Raised(ticket, _) if is_current(ticket) => replica.work = Work::Raised(ticket),
            Effect::Denied(ticket) if is_current(ticket) => replica.work = Work::Idle,
            Effect::NotRaised(ticket) if is_current(ticket) => {
                replica.work = Work::Idle;
                self.step(at, Event::Abandon(ticket));
            }
            Effect::Lost(ticket, Loss::NotRenewed | Loss::Taken) if is_current(ticket) => {
                replica.work = Work::Idle;
            }
            Effect::Degraded(ticket) if is_current(ticket) => {
                replica.work = match replica.work {
                    Work::Running(_) => Work::Degraded(ticket),
                    // It would start with the row's own token: nothing left to model.
                    _ => Work::Idle,
                };
                if replica.work == Work::Idle {
                    self.step(at, Event::Abandon(ticket));
                }
            }
            Effect::Granted(ticket, _) => panic!("{ticket} was granted to nobody"),
            Effect::Permitted(_)
            | Effect::Due(_)
            | Effect::Raised(..)
            | Effect::Denied(_)
            | Effect::NotRaised(_)
            | Effect::Lost(..)
            | Effect::Degraded(_) => {}
        }
    }

    /// Asks for permission; says whether it was given.
    fn permitted(&mut self, at: usize, ticket: Ticket) -> bool {
        let effects = self.replicas[at].protocol.step(self.now, Event::Check(ticket));
        let permitted = effects.contains(&Effect::Permitted(ticket));
        for effect in effects {
            self.effect(at, effect);
        }
        permitted
    }

    fn holds(&self, at: usize, ticket: Ticket) -> bool {
        self.table.claim(self.now, &KEY) == Some(self.replicas[at].protocol.claim(ticket))
    }

    /// The probe of the row, a new token if it is needed, and the start.
    fn start(&mut self, at: usize) {
        let work = self.replicas[at].work.clone();
        let (Work::Granted(ticket) | Work::Raised(ticket)) = work else { return };
        let Some(token) = self.replicas[at].protocol.token(ticket) else { return };
        if work == Work::Granted(ticket) {
            self.replicas[at].floor = self.committed;
        }
        if work == Work::Granted(ticket)
            && token <= self.committed
            && self.replicas[at].protocol.kills_at(ticket).is_some()
        {
            self.replicas[at].work = Work::Raising(ticket);
            self.step(at, Event::Raise(ticket, self.committed));
            return;
        }
        if !self.permitted(at, ticket) || self.replicas[at].work != work {
            return;
        }
        self.replicas[at].work = Work::Running(ticket);
        if !self.flushed && !self.holds(at, ticket) {
            self.broken.insert(PERMITTED_HOLDS);
        }
        if token <= self.replicas[at].floor || (!self.flushed && token <= self.started) {
            self.broken.insert(TOKEN_MONOTONIC);
        }
        self.started = self.started.max(token);
    }

    fn finish(&mut self, at: usize) {
        let (ticket, degraded) = match self.replicas[at].work {
            Work::Running(ticket) => (ticket, false),
            Work::Degraded(ticket) => (ticket, true),
            _ => return,
        };
        let token = self.replicas[at].protocol.token(ticket).unwrap_or(0);
        if self.permitted(at, ticket) && !degraded {
            if matches!(self.replicas[at].work, Work::Running(_)) && !self.flushed && !self.holds(at, ticket)
            {
                self.broken.insert(PERMITTED_HOLDS);
            }
            self.committed = self.committed.max(token);
            let parting = Parting { hint: Some(state(self.committed)), wrote: true };
            self.step(at, Event::Parting(ticket, parting));
        }
        self.replicas[at].work = Work::Idle;
        self.step(at, Event::Release(ticket));
    }
}
