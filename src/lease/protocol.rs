//! The lease protocol of one replica, as a pure state machine:
//! `step(state, now, event) → effects`. No I/O, no clock, no randomness: time is the
//! number `now`, jitter is computed from the claim. The driver turns effects into
//! calls; the model checker drives this very type.
//!
//! **Tickets.** Each acquisition is a ticket, a number that is used once; with the
//! replica's incarnation it makes the claim. A ticket's phases:
//!
//! ```text
//! Acquire → [Queued] → Asking ⇄ Waiting ⇄ Judging        the wait
//!               Asking → Held → Leaving → (gone)         the lease
//! ```
//! *Queued* (preemptible only): the replica's own liveness is not confirmed yet.
//! *Asking*: an `Acquire` call is under way. *Waiting*: another holds the lease; asked
//! again when woken, when it should have expired, and from time to time. *Judging*: the
//! lease is confirmed; its owner's liveness is looked up. *Held*: granted; the script
//! may run until the kill-switch. *Leaving*: given back, abandoned or lost; `Release`
//! is repeated until acknowledged or the lease has expired by itself.
//!
//! **Events** come from requests (`Acquire`, `Abandon`, `Check`, `Raise`, `Parting`,
//! `Release`),
//! from the store (`Reply`, `Woken`) and from time (`Tick`). **Effects** go to the store
//! (`Send`, each followed by exactly one `Reply`), to requests (`Granted`, `Denied`,
//! `Raised`, `NotRaised`, `Lost`, `Degraded`, `Permitted`) and to the driver (`Due`).
//!
//! **Kill-switch.** Deadline of a lease = send time of the last call that renewed it +
//! lease − margin. In `preemptible` a confirmed lease has the deadline of the replica's
//! liveness, and one not yet confirmed the earlier of its own and that. The deadline is
//! looked at before anything else an event brings ("kill first"), so that no permission
//! is given and no late reply believed after it; a permission and the kill-switch can
//! therefore never interleave. A ticket that lost its lease never holds it again.
//!
//! **Redis away.** A wait that is refused twice in a row ends as `Denied`. A lease
//! whose deadline passes after a failed renewal is `Degraded` instead of `Lost` if its
//! request said so: the exec goes on with the compare-and-set alone. One that is found
//! to belong to another is `Lost` in any case.
//!
//! **Invariants** (names as in tests/model): *exclusive*: under the timing assumptions
//! at most one replica has a permitted, not degraded ticket on a key. *kill before
//! expiry*: such a ticket's claim holds the lease in the store. *token monotonic*:
//! tokens grow with each grant, and are above the floor given. *no overtaking*: no
//! replica gets the lease twice while another's mark stands.
//! Assumptions: the driver acts on a deadline within less than the margin, the clocks'
//! rates differ by less than the margin per lease, and the store does not lose memory.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::lease::verbs::{Answer, CallError, Claim, Hint, Incarnation, Mode, Ms, Parting, Verb};

mod calls;
mod held;
mod liveness;
mod waiting;

/// One acquisition. Chosen by the driver, never used twice.
pub type Ticket = u64;

/// One call to the store, among those under way.
pub type Seq = u64;

/// The times of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub struct Config {
    /// How leases live.
    pub mode: Mode,
    /// Lease time and liveness time, as in the store's terms.
    pub lease: Ms,
    /// Time from a successful renewal or heartbeat to the next one.
    pub renew: Ms,
    /// How long before expiry the kill-switch acts.
    pub margin: Ms,
    /// Time between two questions of a waiting ticket that nobody wakes, up to a
    /// quarter more.
    pub poll: Ms,
    /// Time from a failed call to its repetition.
    pub retry: Ms,
}

impl Config {
    /// Checks that the times fit together. Says which do not, and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        let Self { lease, renew, margin, poll, retry, .. } = *self;
        if margin == 0 || margin >= lease {
            return Err(format!(
                "the lease margin is {margin} ms; it must be above 0 and below the lease of {lease} ms"
            ));
        }
        if renew == 0 || renew > (lease - margin) / 2 {
            return Err(format!(
                "leases are renewed every {renew} ms; it must be above 0 and at most half of lease − margin \
                 ({} ms), so that one lost renewal loses no lease",
                (lease - margin) / 2
            ));
        }
        if poll == 0 || retry == 0 {
            return Err("the poll and retry times of leases must be above 0".into());
        }
        Ok(())
    }
}

/// What becomes of a held lease when its deadline passes while the store is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhenAway {
    /// It is lost.
    Lose,
    /// The exec goes on without it.
    Degrade,
}

/// What happens to a replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub enum Event<K> {
    /// A request wants the lease.
    Acquire {
        /// The acquisition.
        ticket: Ticket,
        /// What to lease.
        key: K,
        /// The highest fencing token known to have committed.
        floor: i64,
        /// Whether it may go on without the store.
        degrade: bool,
    },
    /// The request does not want it any more, whether it has it or not.
    Abandon(Ticket),
    /// May a script start, or a commit begin, now?
    Check(Ticket),
    /// The token must be above this floor.
    Raise(Ticket, i64),
    /// What is said of the newest state when the lease is given back, or lost.
    Parting(Ticket, Parting),
    /// The work is done.
    Release(Ticket),
    /// The answer to a call, or its failure.
    Reply(Seq, Result<Answer, CallError>),
    /// The lease on this key was given back and this replica has waited longest.
    Woken(K),
    /// Time has passed.
    Tick,
}

/// Why a lease is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub enum Loss {
    /// The kill-switch: it was not renewed in time.
    NotRenewed,
    /// The store says that the claim does not hold it.
    Taken,
}

impl Loss {
    /// For the metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotRenewed => "not_renewed",
            Self::Taken => "taken",
        }
    }
}

/// What the driver must do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub enum Effect<K> {
    /// Make this call; its `Reply` must follow, also when nothing came back.
    Send(Seq, Verb<K>),
    /// The ticket holds the lease, with this fencing token.
    Granted(Ticket, i64),
    /// The store is away; the wait is over.
    Denied(Ticket),
    /// The ticket's token is now this one.
    Raised(Ticket, i64),
    /// The store is away; the token stays as it is.
    NotRaised(Ticket),
    /// Yes: start or commit, in the same step.
    Permitted(Ticket),
    /// End the ticket's script and let nothing start or commit under it.
    Lost(Ticket, Loss),
    /// The ticket goes on without its lease.
    Degraded(Ticket),
    /// Tick at this time, or earlier.
    Due(Ms),
}

/// A rule that a test switches off, to show that the checks notice.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Deadlines count from the send time, not from the reply.
    FromSendTime,
    /// The kill-switch acts a margin before expiry.
    Margin,
    /// The deadline is looked at before the event.
    KillFirst,
    /// A permission needs the lease.
    PermissionNeedsLease,
    /// Without liveness nothing is admitted, and what is not confirmed yet ends too.
    AllNeedLiveness,
}

/// The leases of one replica. See the module's page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Protocol<K: Ord> {
    config: Config,
    me: Incarnation,
    tickets: BTreeMap<Ticket, Entry<K>>,
    calls: BTreeMap<Seq, Call>,
    liveness: liveness::Liveness,
    without: Option<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry<K> {
    key: K,
    floor: i64,
    when_away: WhenAway,
    /// Calls in a row that brought no answer.
    failures: u8,
    /// Whether the store may have heard of the claim.
    known: bool,
    /// What the store said of the newest state at the grant.
    hint: Option<Hint>,
    parting: Parting,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Queued,
    /// `poked`: woken meanwhile.
    Asking {
        poked: bool,
    },
    Waiting {
        poll: Ms,
    },
    Judging {
        holder: Claim,
        poked: bool,
    },
    Held(held::Held),
    Leaving(held::Leaving),
}

/// A call under way: when it was sent, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Call {
    sent: Ms,
    about: About,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum About {
    Acquire(Ticket),
    Judge(Ticket),
    Raise(Ticket),
    Renew(Vec<Ticket>),
    Heartbeat(Vec<Ticket>),
    Release(Ticket),
}

impl<K: Clone + Ord + Debug> Protocol<K> {
    /// A replica that holds nothing. In `preemptible` it sends heartbeats from its
    /// first `Tick` on.
    #[must_use]
    pub fn new(config: Config, me: Incarnation) -> Self {
        Self {
            config,
            me,
            tickets: BTreeMap::new(),
            calls: BTreeMap::new(),
            liveness: liveness::Liveness::default(),
            without: None,
        }
    }

    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, rule: Rule) -> Self {
        self.without = Some(rule);
        self
    }

    /// Takes in an event at `now` (never less than before) and says what to do.
    pub fn step(&mut self, now: Ms, event: Event<K>) -> Vec<Effect<K>> {
        let mut out = Vec::new();
        match event {
            Event::Acquire { ticket, key, floor, degrade } => {
                let when_away = if degrade { WhenAway::Degrade } else { WhenAway::Lose };
                self.begin(now, ticket, key, floor, when_away, &mut out);
            }
            Event::Abandon(ticket) | Event::Release(ticket) => self.leave(now, ticket, &mut out),
            Event::Check(ticket) => self.check(now, ticket, &mut out),
            Event::Raise(ticket, floor) => self.raise(now, ticket, floor, &mut out),
            Event::Parting(ticket, parting) => {
                if let Some(entry) = self.tickets.get_mut(&ticket) {
                    entry.parting = parting;
                }
            }
            Event::Reply(seq, answer) => self.reply(now, seq, answer, &mut out),
            Event::Woken(key) => self.woken(now, &key, &mut out),
            Event::Tick => self.tick(now, &mut out),
        }
        out
    }

    /// When the next `Tick` is due; `None`: not before another event.
    #[must_use]
    pub fn next_due(&self) -> Option<Ms> {
        let tickets = self.tickets.values().filter_map(|entry| match &entry.phase {
            Phase::Waiting { poll } => Some(*poll),
            Phase::Held(held) => Some(self.renewal_due(held).min(self.deadline(held).unwrap_or(Ms::MAX))),
            Phase::Leaving(leaving) => leaving.due(),
            Phase::Queued | Phase::Asking { .. } | Phase::Judging { .. } => None,
        });
        tickets.chain(self.liveness_due()).filter(|due| *due < Ms::MAX).min()
    }

    /// The fencing token of a ticket that holds its lease, degraded or not.
    #[must_use]
    pub fn token(&self, ticket: Ticket) -> Option<i64> {
        self.held(ticket).map(|held| held.fence)
    }

    /// What the store said of the newest state when it granted the lease to the ticket.
    #[must_use]
    pub fn hint(&self, ticket: Ticket) -> Option<Hint> {
        self.tickets.get(&ticket)?.hint
    }

    /// The instant at which the kill-switch ends the ticket; `None` if it holds no
    /// lease that could be lost.
    #[must_use]
    pub fn kills_at(&self, ticket: Ticket) -> Option<Ms> {
        self.held(ticket).and_then(|held| self.deadline(held))
    }

    /// The claim of a ticket of this replica.
    #[must_use]
    pub fn claim(&self, ticket: Ticket) -> Claim {
        Claim { owner: self.me, number: ticket }
    }

    /// Tickets that are not gone yet: waiting, holding, or not yet released for sure.
    #[must_use]
    pub fn open(&self) -> usize {
        self.tickets.len()
    }

    fn tick(&mut self, now: Ms, out: &mut Vec<Effect<K>>) {
        self.end_all_due(now, out);
        match self.config.mode {
            Mode::Lease => self.renew_due(now, out),
            Mode::Preemptible => self.beat_due(now, out),
        }
        self.poll_due(now, out);
        self.release_due(now, out);
    }

    fn send(&mut self, now: Ms, about: About, verb: Verb<K>, out: &mut Vec<Effect<K>>) -> Seq {
        // Unique among the calls under way.
        let seq = self.calls.last_key_value().map_or(0, |(last, _)| last + 1);
        self.calls.insert(seq, Call { sent: now, about });
        out.push(Effect::Send(seq, verb));
        seq
    }

    /// The kill-switch's deadline for a call sent at `sent` and answered at `now`.
    fn deadline_of(&self, sent: Ms, now: Ms) -> Ms {
        let from = if self.on(Rule::FromSendTime) { sent } else { now };
        let margin = if self.on(Rule::Margin) { self.config.margin } else { 0 };
        from + self.config.lease - margin
    }

    fn on(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}
