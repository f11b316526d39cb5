//! The ways through an automaton, one after the other in the order in which glibc prefers them:
//! for the groups of a match whose end is known, and for patterns with back-references.

use std::collections::HashSet;

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::{NonMaxUsize, StateID};

use super::{GivenUp, Meant, Spans, utf8};

/// Most steps of one search with back-references.
pub(super) const STEPS: u64 = 5_000_000;
/// Most places that one search remembers.
const PLACES: usize = 20_000_000;

#[derive(Debug)]
pub(super) struct Paths {
    nfa: NFA,
    meant: Vec<Meant>,
    ambiguous: bool,
    ignore_case: bool,
    refers: bool,
}

/// What a way must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// As far as any.
    Longest,
    /// There.
    End(usize),
}

/// What is left to do: to go on from a place, or to take back what the ways from one set.
enum Job {
    Visit(StateID, usize),
    Slot(usize, Option<NonMaxUsize>),
    Entered(StateID, usize),
}

/// Where one search stands.
struct Walk<'t> {
    text: &'t [u8],
    /// No way goes beyond.
    limit: usize,
    jobs: Vec<Job>,
    /// Starts and ends of the translation's groups.
    slots: Spans,
    /// Places that were left without success: not of patterns with references, where it counts
    /// how one came there.
    seen: HashSet<(StateID, usize)>,
    /// For each state where the way parted last (plus one), so that loops that take nothing end.
    entered: Vec<usize>,
    /// Steps that are left.
    steps: u64,
}

impl Paths {
    pub(super) fn new(nfa: NFA, meant: Vec<Meant>, ambiguous: bool, ignore_case: bool) -> Self {
        let refers = meant.iter().any(|meant| matches!(meant, Meant::Reference(_)));
        Self { nfa, meant, ambiguous, ignore_case, refers }
    }

    pub(super) fn refers(&self) -> bool {
        self.refers
    }

    /// Whether a match can only begin where the text does.
    pub(super) fn at_start_only(&self) -> bool {
        self.nfa.is_always_start_anchored()
    }

    /// Where the match that begins at `start` ends; its groups go into `spans`. It may take so many
    /// steps, and leaves what is left of them.
    pub(super) fn run(
        &self,
        text: &[u8],
        start: usize,
        goal: Goal,
        spans: &mut Spans,
        steps: &mut u64,
    ) -> Result<Option<usize>, GivenUp> {
        let mut walk = Walk {
            text,
            limit: if let Goal::End(end) = goal { end } else { text.len() },
            jobs: vec![Job::Visit(self.nfa.start_anchored(), start)],
            slots: vec![None; 2 * (self.meant.len() + 1)],
            seen: HashSet::new(),
            entered: if self.refers { vec![0; self.nfa.states().len()] } else { Vec::new() },
            steps: *steps,
        };
        let mut best = None;
        while let Some(job) = walk.jobs.pop() {
            match job {
                Job::Slot(slot, old) => walk.slots[slot] = old,
                Job::Entered(state, old) => walk.entered[state.as_usize()] = old,
                Job::Visit(state, at) => {
                    let Some(end) = self.follow(&mut walk, state, at)? else { continue };
                    if matches!(goal, Goal::End(wanted) if end != wanted)
                        || best.is_some_and(|best| best >= end)
                    {
                        continue;
                    }
                    best = Some(end);
                    self.copy(&walk.slots, start, end, spans);
                    if goal != Goal::Longest || (self.refers && !self.ambiguous) || end == walk.limit {
                        break;
                    }
                }
            }
        }
        *steps = walk.steps;
        Ok(best)
    }

    fn copy(&self, slots: &[Option<NonMaxUsize>], start: usize, end: usize, spans: &mut Spans) {
        spans[0] = NonMaxUsize::new(start);
        spans[1] = NonMaxUsize::new(end);
        for (at, meant) in self.meant.iter().enumerate() {
            if let Meant::Group(number) = meant
                && let Some(room) = spans.get_mut(2 * number..2 * number + 2)
            {
                room.copy_from_slice(&slots[2 * (at + 1)..2 * (at + 2)]);
            }
        }
    }

    /// Goes on while there is one way only. The end, if it is reached.
    fn follow(&self, walk: &mut Walk<'_>, state: StateID, at: usize) -> Result<Option<usize>, GivenUp> {
        let (mut state, mut at) = (state, at);
        loop {
            if self.refers {
                walk.steps = walk.steps.checked_sub(1).ok_or(GivenUp)?;
            }
            if walk.seen.len() > PLACES {
                return Err(GivenUp);
            }
            let (ways, text) = (self.nfa.state(state), &walk.text[..walk.limit]);
            if !self.refers && !matches!(ways, State::ByteRange { .. }) && !walk.seen.insert((state, at)) {
                return Ok(None);
            }
            let next = match ways {
                State::ByteRange { trans } => trans.matches(text, at).then_some((trans.next, at + 1)),
                State::Sparse(ways) => ways.matches(text, at).map(|next| (next, at + 1)),
                State::Dense(ways) => ways.matches(text, at).map(|next| (next, at + 1)),
                State::Look { look, next } => {
                    self.nfa.look_matcher().matches(*look, walk.text, at).then_some((*next, at))
                }
                State::Union { alternates } => self.part(walk, state, at, alternates),
                State::BinaryUnion { alt1, alt2 } => self.part(walk, state, at, &[*alt1, *alt2]),
                State::Capture { next, group_index, slot, .. } => {
                    let group = group_index.as_usize();
                    match group.checked_sub(1).and_then(|at| self.meant.get(at)) {
                        Some(Meant::Reference(number)) => self.refer(walk, *next, *number, at),
                        _ => {
                            let slot = slot.as_usize();
                            walk.jobs.push(Job::Slot(slot, walk.slots[slot]));
                            walk.slots[slot] = NonMaxUsize::new(at);
                            Some((*next, at))
                        }
                    }
                }
                State::Fail => None,
                State::Match { .. } => return Ok(Some(at)),
            };
            let Some(next) = next else { return Ok(None) };
            (state, at) = next;
        }
    }

    fn part(
        &self,
        walk: &mut Walk<'_>,
        state: StateID,
        at: usize,
        ways: &[StateID],
    ) -> Option<(StateID, usize)> {
        if self.refers {
            let entered = &mut walk.entered[state.as_usize()];
            if *entered == at + 1 {
                return None;
            }
            walk.jobs.push(Job::Entered(state, *entered));
            *entered = at + 1;
        }
        let (first, rest) = ways.split_first()?;
        walk.jobs.extend(rest.iter().rev().map(|way| Job::Visit(*way, at)));
        Some((*first, at))
    }

    /// Reads the text of a group, and steps over the character that stands for it.
    fn refer(&self, walk: &Walk<'_>, sign: StateID, number: usize, at: usize) -> Option<(StateID, usize)> {
        let group = self.meant.iter().position(|meant| *meant == Meant::Group(number))? + 1;
        let (start, end) = (walk.slots[2 * group]?.get(), walk.slots[2 * group + 1]?.get());
        let (wanted, there) = (walk.text.get(start..end)?, &walk.text[at..walk.limit]);
        let taken = if self.ignore_case {
            taken_in_any_case(wanted, there)?
        } else {
            there.starts_with(wanted).then_some(wanted.len())?
        };
        let State::ByteRange { trans } = self.nfa.state(sign) else { return None };
        let State::Capture { next, .. } = self.nfa.state(trans.next) else { return None };
        Some((*next, at + taken))
    }
}

/// How many bytes of `there` are `wanted`, whatever the case of letters.
fn taken_in_any_case(wanted: &[u8], there: &[u8]) -> Option<usize> {
    let (mut from, mut at) = (0, 0);
    while from < wanted.len() {
        match (utf8::decode(&wanted[from..]), utf8::decode(&there[at..])) {
            (Some((a, a_size)), Some((b, b_size))) if a == b || a.to_lowercase().eq(b.to_lowercase()) => {
                from += a_size;
                at += b_size;
            }
            (None, None) if there.get(at) == Some(&wanted[from]) => {
                from += 1;
                at += 1;
            }
            _ => return None,
        }
    }
    Some(at)
}
