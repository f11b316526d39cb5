//! What a campaign did, as its clients saw it, and what Postgres says in the end: the two
//! must tell one story. A checker of histories, without any I/O.
//!
//! Every write appends its own id to the file `log` beside what else it does, so the log,
//! the exec log of Postgres and the replies are three witnesses of one order.

use std::collections::{BTreeMap, BTreeSet};

/// Accounts and their first balance.
pub const ACCOUNTS: usize = 8;
pub const BALANCE: i64 = 100;
/// Files that hold one nonce.
pub const COPIES: usize = 8;

/// What a script does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Appends its id.
    Append,
    /// Reads the counter, and writes it back plus one.
    Count,
    /// Moves an amount between two accounts.
    Move { from: usize, to: usize, amount: i64 },
    /// Writes its id into all copies.
    Snapshot,
    /// Reads everything (readOnly).
    Look,
}

/// What a client learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// 200, at this version, with what the script saw at its end.
    Done { version: u64, seen: State },
    /// An error with applied no.
    Refused(String),
    /// An error with applied yes.
    Applied(String),
    /// An error with applied unknown.
    Unknown(String),
    /// The connection broke without an answer.
    Lost,
    /// No connection: the request was never sent.
    NotSent,
}

/// One request. Times are microseconds of one clock: before it was sent, and after its
/// answer was there.
#[derive(Clone, Debug)]
pub struct Op {
    pub id: String,
    pub work: Work,
    pub replica: usize,
    pub start: u64,
    pub end: u64,
    pub outcome: Outcome,
}

/// All files of the workloads at one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Lines of the log, and the last one.
    pub lines: u64,
    pub last: String,
    pub counter: u64,
    pub accounts: Vec<i64>,
    pub copies: Vec<String>,
}

/// A time in which something was true of a replica.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub replica: usize,
    pub from: u64,
    pub to: u64,
}

/// What Postgres holds in the end.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Version of the state before the first op.
    pub first: u64,
    /// Version and id of each commit after that, in the order of versions.
    pub commits: Vec<(u64, String)>,
    /// The lines of `log` without the first, and the rest of the files.
    pub log: Vec<String>,
    pub last: Option<State>,
    /// When which replica was dead.
    pub deaths: Vec<Span>,
    /// When which replica could not reach Postgres.
    pub away: Vec<Span>,
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub writes: usize,
    pub reads: usize,
    pub refused: usize,
    pub unanswered: usize,
    /// Of the unanswered and unknown: those that were applied.
    pub applied_unanswered: usize,
}

impl Tally {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            writes: self.writes + other.writes,
            reads: self.reads + other.reads,
            refused: self.refused + other.refused,
            unanswered: self.unanswered + other.unanswered,
            applied_unanswered: self.applied_unanswered + other.applied_unanswered,
        }
    }
}

impl State {
    pub fn first() -> Self {
        Self {
            lines: 1,
            last: "start".into(),
            counter: 0,
            accounts: vec![BALANCE; ACCOUNTS],
            copies: vec!["none".into(); COPIES],
        }
    }

    /// After one more op.
    pub fn after(&self, id: &str, work: Work) -> Self {
        let mut next = self.clone();
        next.lines += 1;
        id.clone_into(&mut next.last);
        match work {
            Work::Append | Work::Look => {}
            Work::Count => next.counter += 1,
            Work::Move { from, to, amount } => {
                next.accounts[from] -= amount;
                next.accounts[to] += amount;
            }
            Work::Snapshot => next.copies.fill(id.to_owned()),
        }
        next
    }
}

/// Compares everything with everything. `Err` says what does not fit.
pub fn check(ops: &[Op], truth: &Truth) -> Result<Tally, String> {
    let by_id: BTreeMap<&str, &Op> = ops.iter().map(|op| (op.id.as_str(), op)).collect();
    let versions = versions(truth, &by_id)?;
    let states = states(truth, &by_id);
    let mut tally = Tally::default();
    for op in ops {
        outcome(op, truth, versions.get(op.id.as_str()).copied(), &mut tally)?;
        if let Outcome::Done { version, seen } = &op.outcome {
            let (_, at) = states
                .range(..=version)
                .next_back()
                .ok_or_else(|| format!("{}: version {version} is before the beginning", op.id))?;
            seen_is(op, seen, at)?;
        }
    }
    real_time(ops, &versions)?;
    final_files(truth, states.values().next_back().expect("the first state"))?;
    Ok(tally)
}

/// Id → version. Each commit is of an op that writes, and each op commits at most once.
fn versions<'a>(truth: &'a Truth, by_id: &BTreeMap<&str, &Op>) -> Result<BTreeMap<&'a str, u64>, String> {
    let mut versions = BTreeMap::new();
    let mut before = truth.first;
    for (version, id) in &truth.commits {
        match by_id.get(id.as_str()) {
            None => return Err(format!("version {version} is of {id}, which nobody sent")),
            Some(op) if op.work == Work::Look => return Err(format!("{id} only reads, and made {version}")),
            Some(_) => {}
        }
        if *version <= before {
            return Err(format!("version {version} comes after {before}"));
        }
        before = *version;
        if let Some(first) = versions.insert(id.as_str(), *version) {
            return Err(format!("{id} was committed twice: {first} and {version}"));
        }
    }
    Ok(versions)
}

/// The state that each commit left.
fn states(truth: &Truth, by_id: &BTreeMap<&str, &Op>) -> BTreeMap<u64, State> {
    let mut state = State::first();
    let mut states = BTreeMap::from([(truth.first, state.clone())]);
    for (version, id) in &truth.commits {
        state = state.after(id, by_id[id.as_str()].work);
        states.insert(*version, state.clone());
    }
    states
}

/// Whether the answer is what happened.
fn outcome(op: &Op, truth: &Truth, committed: Option<u64>, tally: &mut Tally) -> Result<(), String> {
    let Op { id, .. } = op;
    let within = |spans: &[Span]| {
        spans.iter().any(|span| span.replica == op.replica && span.from <= op.end && span.to >= op.start)
    };
    match (&op.outcome, committed) {
        (Outcome::Done { .. }, _) if op.work == Work::Look => tally.reads += 1,
        (Outcome::Done { version, .. }, Some(at)) if *version == at => tally.writes += 1,
        (Outcome::Done { version, .. }, Some(at)) => {
            return Err(format!("{id}: acknowledged as {version}, committed as {at}"));
        }
        (Outcome::Done { version, .. }, None) => {
            return Err(format!("{id}: acknowledged as {version}, and lost"));
        }
        (Outcome::Refused(code), Some(at)) => {
            return Err(format!("{id}: {code}, applied no, and is there as {at}"));
        }
        (Outcome::NotSent, Some(at)) => return Err(format!("{id}: never sent, and is there as {at}")),
        (Outcome::Refused(_) | Outcome::NotSent, None) => tally.refused += 1,
        (Outcome::Applied(_), Some(_)) => tally.writes += 1,
        (Outcome::Applied(code), None) => return Err(format!("{id}: {code}, applied yes, and is not there")),
        (Outcome::Lost, _) if !within(&truth.deaths) => {
            return Err(format!("{id}: no answer, and its replica {} lived", op.replica));
        }
        (Outcome::Unknown(code), _) if !within(&truth.away) => {
            return Err(format!("{id}: {code}, applied unknown, and Postgres was there"));
        }
        (Outcome::Lost | Outcome::Unknown(_), committed) => {
            tally.unanswered += 1;
            tally.applied_unanswered += usize::from(committed.is_some());
        }
    }
    Ok(())
}

/// Whether a script saw the state of its version: the whole of it, and no other.
fn seen_is(op: &Op, seen: &State, at: &State) -> Result<(), String> {
    let Op { id, .. } = op;
    let sum: i64 = seen.accounts.iter().sum();
    if sum != BALANCE * ACCOUNTS as i64 {
        return Err(format!("{id}: the sum of all accounts is {sum}: {seen:?}"));
    }
    if seen.copies.iter().collect::<BTreeSet<_>>().len() != 1 {
        return Err(format!("{id}: a torn read: {seen:?}"));
    }
    if seen != at {
        return Err(format!("{id}: saw {seen:?}, and at its version there was {at:?}"));
    }
    Ok(())
}

/// Whoever begins after an answer was there sees at least the version of that answer; a
/// write comes after it.
fn real_time(ops: &[Op], versions: &BTreeMap<&str, u64>) -> Result<(), String> {
    let mut starts: Vec<&Op> = ops.iter().collect();
    starts.sort_by_key(|op| op.start);
    let mut ends: Vec<(u64, u64, &str)> = ops
        .iter()
        .filter_map(|op| match op.outcome {
            Outcome::Done { version, .. } => Some((op.end, version, op.id.as_str())),
            _ => None,
        })
        .collect();
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    let (mut newest, mut of) = (0, "");
    for op in starts {
        while let Some((_, version, id)) = ends.next_if(|(end, _, _)| *end < op.start) {
            if version > newest {
                (newest, of) = (version, id);
            }
        }
        let stale = match (&op.outcome, versions.get(op.id.as_str())) {
            (_, Some(version)) => (*version <= newest).then_some(*version),
            (Outcome::Done { version, .. }, None) => (*version < newest).then_some(*version),
            (_, None) => None,
        };
        if let Some(version) = stale {
            return Err(format!(
                "{} is stale or out of order: {version}, begun after {of} was answered with {newest}",
                op.id
            ));
        }
    }
    Ok(())
}

fn final_files(truth: &Truth, expected: &State) -> Result<(), String> {
    let ids: Vec<&String> = truth.commits.iter().map(|(_, id)| id).collect();
    if let Some(at) =
        (0..ids.len().max(truth.log.len())).find(|at| ids.get(*at).copied() != truth.log.get(*at))
    {
        return Err(format!(
            "line {at} of the log is {:?}, the exec log has {:?}",
            truth.log.get(at),
            ids.get(at)
        ));
    }
    match &truth.last {
        Some(last) if last == expected => Ok(()),
        last => Err(format!("the files end as {last:?}, expected {expected:?}")),
    }
}
