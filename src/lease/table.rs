//! What a lease store does, as a pure value: the reference that the in-process store
//! wraps, the model checks and the Redis scripts are held to by the conformance suite.
//!
//! Per key: who holds the lease (a claim, its fencing token, and either the instant at
//! which it expires or "confirmed"), the counter of fencing tokens, and the marks of
//! the replicas that wait, and the version hint. Per incarnation: until when it counts as
//! alive.
//!
//! Rules: R1 a claim that asks again has its lease time begun anew. R2 a confirmed
//! lease is taken from a dead owner only if the claim that was seen is still the one
//! that holds it. R3 the lease goes to who has waited longest. R4 a fencing token is
//! above the counter, above the floor given, and above that of the lease that it
//! replaces. R5 a lease that is gone is restored by its holder only if the counter is
//! gone too: then the store lost its memory; otherwise the lease expired or was given
//! back, and a late renewal must not bring it to life.
//!
//! Rules of the hint (spec/Hint.tla): H1 who is granted the lease takes the hint; from
//! then on it is pending under its claim. H2 a hint that was set under another run of the
//! server counts for nothing: what was saved may be old. H3 it is set only by who holds
//! the lease, while it is pending under its claim: whoever dropped it meanwhile knew
//! better. H4 who committed and does not hold the lease any more drops it.

use std::collections::BTreeMap;

use crate::lease::verbs::{Answer, Claim, Hint, Holding, Incarnation, Ms, Notice, Parting, Terms, Verb};

/// Who is to hear what.
pub type Wake<K> = (Incarnation, Notice<K>);

/// A rule that a test switches off, to show that the checks notice.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableRule {
    RepeatExtends,
    LongestWaiterFirst,
    AboveFloor,
    HintTaken,
    HintOfThisRun,
    HintByHolder,
}

/// All leases of a store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table<K: Ord> {
    terms: Terms,
    held: BTreeMap<K, Held>,
    counters: BTreeMap<K, i64>,
    marks: BTreeMap<K, BTreeMap<Incarnation, Mark>>,
    alive: BTreeMap<Incarnation, Ms>,
    hints: BTreeMap<K, Hinted>,
    /// Counts the starts of the server.
    run: u64,
    without: Option<TableRule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    claim: Claim,
    fence: i64,
    /// `None`: confirmed.
    expires: Option<Ms>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Hinted {
    /// Set under this run of the server.
    Known(Hint, u64),
    /// This claim took it.
    Pending(Claim),
    /// None is given or set before this time.
    Void(Ms),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mark {
    /// Place in the queue.
    place: u64,
    /// The youngest claim that waits: a release of an older one, that arrives late,
    /// must not take its place away.
    number: u64,
    expires: Ms,
}

impl<K: Clone + Ord> Table<K> {
    /// A store that holds nothing.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        Self {
            terms,
            held: BTreeMap::new(),
            counters: BTreeMap::new(),
            marks: BTreeMap::new(),
            alive: BTreeMap::new(),
            hints: BTreeMap::new(),
            run: 0,
            without: None,
        }
    }

    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, rule: TableRule) -> Self {
        self.without = Some(rule);
        self
    }

    /// Carries out a call. Whoever must be woken by it is added to `wakes`.
    pub fn call(&mut self, now: Ms, verb: &Verb<K>, wakes: &mut Vec<Wake<K>>) -> Answer {
        match verb {
            Verb::Acquire { key, claim, floor, evict } => {
                self.acquire(now, key, *claim, *floor, *evict, wakes)
            }
            Verb::Raise { key, claim, floor } => self.raise(now, key, *claim, *floor),
            Verb::Renew(leases) => {
                Answer::Kept(leases.iter().map(|lease| self.keep(now, lease, false)).collect())
            }
            Verb::Heartbeat { owner, leases } => {
                self.beat(now, *owner);
                Answer::Kept(leases.iter().map(|lease| self.keep(now, lease, true)).collect())
            }
            Verb::Alive(owner) => Answer::Alive(self.is_alive(now, *owner)),
            Verb::Release { key, claim, parting } => self.release(now, key, *claim, *parting, wakes),
            Verb::Hint(key) => Answer::Hint(self.hint(key)),
            Verb::Void { key, block } => {
                self.void(now, key, *block);
                Answer::Voided
            }
            Verb::End(key) => self.end(now, key, wakes),
        }
    }

    /// The first half of a heartbeat. The two halves need not be one step: a store
    /// spread over several servers carries them out one by one, in any order.
    pub fn beat(&mut self, now: Ms, owner: Incarnation) {
        self.alive.retain(|_, until| *until > now);
        self.alive.insert(owner, now + self.terms.lease);
    }

    /// The other half, and a renewal: whether the claim still holds the lease.
    pub fn keep(&mut self, now: Ms, lease: &Holding<K>, confirm: bool) -> bool {
        let expires = Some(now + self.terms.lease);
        let remembers = self.counters.contains_key(&lease.key);
        match self.holder(now, &lease.key) {
            Some(held) if held.claim == lease.claim => {
                if confirm {
                    held.expires = None;
                } else if held.expires.is_some() {
                    held.expires = expires;
                }
                true
            }
            Some(_) => false,
            None if remembers => false,
            None => {
                let held = Held { claim: lease.claim, fence: lease.fence, expires };
                self.held.insert(lease.key.clone(), held);
                self.counters.insert(lease.key.clone(), lease.fence);
                true
            }
        }
    }

    /// The claim that holds the lease at `now`.
    #[must_use]
    pub fn claim(&self, now: Ms, key: &K) -> Option<Claim> {
        let held = self.held.get(key)?;
        held.expires.is_none_or(|at| at > now).then_some(held.claim)
    }

    /// Whether `owner` counts as alive at `now`.
    #[must_use]
    pub fn is_alive(&self, now: Ms, owner: Incarnation) -> bool {
        self.alive.get(&owner).is_some_and(|until| *until > now)
    }

    /// Who waits for the key at `now`.
    #[must_use]
    pub fn waiting(&self, now: Ms, key: &K) -> Vec<Incarnation> {
        let marks = self.marks.get(key).into_iter().flatten();
        marks.filter(|(_, mark)| mark.expires > now).map(|(owner, _)| *owner).collect()
    }

    /// Forgets everything, as a flushed or replaced server does.
    pub fn flush(&mut self) {
        self.held.clear();
        self.counters.clear();
        self.marks.clear();
        self.alive.clear();
        self.hints.clear();
    }

    /// Starts again with what was saved.
    pub fn restart(&mut self) {
        self.run += 1;
    }

    /// The newest state, if it is known.
    #[must_use]
    pub fn hint(&self, key: &K) -> Option<Hint> {
        match self.hints.get(key)? {
            Hinted::Known(hint, run) if *run == self.run || !self.on(TableRule::HintOfThisRun) => Some(*hint),
            Hinted::Known(..) | Hinted::Pending(_) | Hinted::Void(_) => None,
        }
    }

    fn acquire(
        &mut self,
        now: Ms,
        key: &K,
        claim: Claim,
        mut floor: i64,
        evict: Option<Claim>,
        wakes: &mut Vec<Wake<K>>,
    ) -> Answer {
        let lease = self.terms.lease;
        let extends = self.on(TableRule::RepeatExtends);
        let mut evicted = false;
        if let Some(held) = self.holder(now, key) {
            if held.claim == claim {
                if extends && held.expires.is_some() {
                    held.expires = Some(now + lease);
                }
                let fence = held.fence;
                self.unmark(key, claim);
                // The hint went with the answer that was lost.
                return Answer::Acquired { fence, hint: None };
            }
            if let Some(evict) = evict
                && held.expires.is_none()
                && held.claim == evict
            {
                floor = floor.max(held.fence);
                evicted = true;
            }
        }
        if evicted {
            self.held.remove(key);
        }
        let longest = self.longest_waiter(now, key);
        if !self.held.contains_key(key) {
            match longest {
                Some(other) if other != claim.owner && self.on(TableRule::LongestWaiterFirst) => {
                    if evicted {
                        wakes.push((other, Notice::Free(key.clone())));
                    }
                }
                _ => {
                    self.unmark(key, claim);
                    let fence = self.next_fence(key, floor);
                    self.held.insert(key.clone(), Held { claim, fence, expires: Some(now + lease) });
                    return Answer::Acquired { fence, hint: self.take_hint(now, key, claim) };
                }
            }
        }
        let expires = now + self.terms.mark;
        let marks = self.marks.entry(key.clone()).or_default();
        let place = marks.values().map(|mark| mark.place + 1).max().unwrap_or(0);
        let mark = marks.entry(claim.owner).or_insert(Mark { place, number: claim.number, expires });
        (mark.number, mark.expires) = (mark.number.max(claim.number), expires);
        let held = self.held.get(key);
        Answer::Busy {
            left: held.and_then(|held| held.expires).map(|at| at - now),
            confirmed: held.filter(|held| held.expires.is_none()).map(|held| held.claim),
        }
    }

    fn raise(&mut self, now: Ms, key: &K, claim: Claim, floor: i64) -> Answer {
        let Some(fence) = self.holder(now, key).filter(|held| held.claim == claim).map(|held| held.fence)
        else {
            return Answer::Raised(None);
        };
        let fence = self.next_fence(key, floor.max(fence));
        if let Some(held) = self.held.get_mut(key) {
            held.fence = fence;
        }
        Answer::Raised(Some(fence))
    }

    fn release(
        &mut self,
        now: Ms,
        key: &K,
        claim: Claim,
        parting: Parting,
        wakes: &mut Vec<Wake<K>>,
    ) -> Answer {
        let holds = self.holder(now, key).is_some_and(|held| held.claim == claim);
        if holds {
            self.held.remove(key);
        }
        self.put_hint(now, key, claim, holds, parting);
        self.unmark(key, claim);
        self.wake_longest(now, key, wakes);
        Answer::Released
    }

    fn end(&mut self, now: Ms, key: &K, wakes: &mut Vec<Wake<K>>) -> Answer {
        if let Some(holder) = self.holder(now, key).map(|held| held.claim.owner) {
            self.held.remove(key);
            wakes.push((holder, Notice::Gone(key.clone())));
        }
        self.void(now, key, 0);
        self.wake_longest(now, key, wakes);
        Answer::Ended
    }

    fn wake_longest(&mut self, now: Ms, key: &K, wakes: &mut Vec<Wake<K>>) {
        if !self.held.contains_key(key)
            && let Some(longest) = self.longest_waiter(now, key)
        {
            wakes.push((longest, Notice::Free(key.clone())));
        }
    }

    fn take_hint(&mut self, now: Ms, key: &K, claim: Claim) -> Option<Hint> {
        let hint = self.hint(key);
        if !self.is_void(now, key) && self.on(TableRule::HintTaken) {
            self.hints.insert(key.clone(), Hinted::Pending(claim));
        }
        hint
    }

    fn put_hint(&mut self, now: Ms, key: &K, claim: Claim, holds: bool, parting: Parting) {
        let pending = self.hints.get(key) == Some(&Hinted::Pending(claim));
        let taken = pending || !self.on(TableRule::HintTaken);
        let may_set = (holds && taken) || !self.on(TableRule::HintByHolder);
        match parting.hint {
            Some(hint) if may_set => {
                self.hints.insert(key.clone(), Hinted::Known(hint, self.run));
            }
            None if holds && pending => self.void(now, key, 0),
            Some(_) | None if !holds && parting.wrote => self.void(now, key, 0),
            Some(_) | None => {}
        }
    }

    fn void(&mut self, now: Ms, key: &K, block: Ms) {
        if block > 0 {
            self.hints.insert(key.clone(), Hinted::Void(now + block));
        } else if !self.is_void(now, key) {
            self.hints.remove(key);
        }
    }

    fn is_void(&self, now: Ms, key: &K) -> bool {
        matches!(self.hints.get(key), Some(Hinted::Void(until)) if *until > now)
    }

    fn next_fence(&mut self, key: &K, floor: i64) -> i64 {
        let floor = if self.on(TableRule::AboveFloor) { floor } else { 0 };
        let counter = self.counters.entry(key.clone()).or_insert(0);
        *counter = (*counter).max(floor) + 1;
        *counter
    }

    /// The lease at `now`; one that expired is removed.
    fn holder(&mut self, now: Ms, key: &K) -> Option<&mut Held> {
        if self.held.get(key)?.expires.is_some_and(|at| at <= now) {
            self.held.remove(key);
        }
        self.held.get_mut(key)
    }

    fn longest_waiter(&mut self, now: Ms, key: &K) -> Option<Incarnation> {
        let marks = self.marks.get_mut(key)?;
        marks.retain(|_, mark| mark.expires > now);
        let longest = marks.iter().min_by_key(|(owner, mark)| (mark.place, **owner)).map(|(owner, _)| *owner);
        if longest.is_none() {
            self.marks.remove(key);
        }
        longest
    }

    fn unmark(&mut self, key: &K, claim: Claim) {
        if let Some(marks) = self.marks.get_mut(key) {
            marks.retain(|owner, mark| *owner != claim.owner || mark.number > claim.number);
            if marks.is_empty() {
                self.marks.remove(key);
            }
        }
    }

    fn on(&self, rule: TableRule) -> bool {
        self.without != Some(rule)
    }
}
