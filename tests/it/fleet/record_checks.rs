//! The checker of histories accepts good ones and refuses bad ones.

use super::record::{Op, Outcome, Span, State, Tally, Truth, Work, check};

/// A history that grows op by op; each is sent and answered before the next.
struct Story {
    ops: Vec<Op>,
    truth: Truth,
    now: u64,
}

impl Story {
    fn new() -> Self {
        let truth = Truth { first: 3, last: Some(State::first()), ..Truth::default() };
        Self { ops: vec![], truth, now: 0 }
    }

    fn state(&self) -> State {
        self.truth.last.clone().expect("a state")
    }

    fn version(&self) -> u64 {
        self.truth.commits.last().map_or(self.truth.first, |(version, _)| *version)
    }

    fn op(&mut self, work: Work, outcome: Outcome) -> String {
        let id = format!("op{}", self.ops.len());
        let op = Op { id: id.clone(), work, replica: 0, start: self.now + 1, end: self.now + 9, outcome };
        self.now += 10;
        self.ops.push(op);
        id
    }

    /// Puts a commit where Postgres has it.
    fn commit(&mut self, id: &str, work: Work) {
        let version = self.version() + 1;
        self.truth.last = Some(self.state().after(id, work));
        self.truth.commits.push((version, id.to_owned()));
        self.truth.log.push(id.to_owned());
    }

    fn write(mut self, work: Work) -> Self {
        let id = format!("op{}", self.ops.len());
        self.commit(&id, work);
        let done = Outcome::Done { version: self.version(), seen: self.state() };
        self.op(work, done);
        self
    }

    fn look(mut self) -> Self {
        let done = Outcome::Done { version: self.version(), seen: self.state() };
        self.op(Work::Look, done);
        self
    }

    /// An op that ends otherwise; `there`: whether Postgres has it.
    fn ends(mut self, work: Work, outcome: Outcome, there: bool) -> Self {
        let id = self.op(work, outcome);
        if there {
            self.commit(&id, work);
        }
        self
    }

    fn but(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn check(&self) -> Result<Tally, String> {
        check(&self.ops, &self.truth)
    }

    #[track_caller]
    fn refused(&self, why: &str) {
        let error = self.check().expect_err("a bad history");
        assert!(error.contains(why), "refused for another reason: {error}");
    }
}

const MOVE: Work = Work::Move { from: 1, to: 2, amount: 7 };

/// Six ops: op0 append, op1 look, op2 count, op3 move, op4 snapshot, op5 look.
fn good() -> Story {
    let story = Story::new().write(Work::Append).look().write(Work::Count);
    story.write(MOVE).write(Work::Snapshot).look()
}

fn seen(op: &mut Op) -> &mut State {
    match &mut op.outcome {
        Outcome::Done { seen, .. } => seen,
        other => panic!("not done: {other:?}"),
    }
}

fn version(op: &mut Op) -> &mut u64 {
    match &mut op.outcome {
        Outcome::Done { version, .. } => version,
        other => panic!("not done: {other:?}"),
    }
}

fn no(code: &str) -> Outcome {
    Outcome::Refused(code.into())
}

#[test]
fn good_histories_are_accepted() {
    let tally = good().check().expect("good");
    assert_eq!((tally.writes, tally.reads), (4, 2));
    assert_eq!(Story::new().check(), Ok(Tally::default()));
    let dead = Span { replica: 0, from: 0, to: 1000 };
    let story = good()
        .ends(Work::Count, no("CONFLICT"), false)
        .ends(Work::Count, Outcome::NotSent, false)
        .ends(Work::Count, Outcome::Applied("X".into()), true)
        .ends(Work::Count, Outcome::Lost, true)
        .ends(Work::Count, Outcome::Lost, false)
        .ends(Work::Count, Outcome::Unknown("OUTCOME_UNKNOWN".into()), true)
        .but(|story| story.truth.deaths.push(dead))
        .but(|story| story.truth.away.push(dead))
        .look();
    let tally = story.check().expect("good");
    assert_eq!((tally.unanswered, tally.applied_unanswered, tally.refused), (3, 2, 2));
    // A version that an outcome question used up.
    good().but(|story| story.truth.commits.last_mut().expect("one").0 += 1).refused("acknowledged as 7");
    // Two at once: the one that answered last may come first.
    let story = good().but(|story| {
        story.ops[3].start = story.ops[2].start;
        story.ops[2].end = story.ops[3].end + 1;
    });
    story.check().expect("good");
    // A read that began before the write's answer may see the state before it.
    let story = good().but(|story| {
        let before = story.ops[4].start;
        story.ops[5].start = before;
        *version(&mut story.ops[5]) -= 1;
        seen(&mut story.ops[5]).copies.fill("none".into());
        let state = seen(&mut story.ops[5]);
        (state.lines, state.last) = (4, "op3".into());
    });
    story.check().expect("good");
}

#[test]
fn bad_histories_are_refused() {
    // A lost append: acknowledged, and neither log has it.
    good().but(|story| drop(story.truth.commits.pop())).refused("and lost");
    // Only the file lost it.
    good().but(|story| drop(story.truth.log.remove(0))).refused("line 0 of the log");
    // A duplicate, in the exec log or in the file alone.
    good().but(|story| story.truth.commits.push((99, "op4".into()))).refused("committed twice");
    good().but(|story| story.truth.log.push("op4".into())).refused("line 4 of the log");
    // An inversion in the file.
    good().but(|story| story.truth.log.swap(1, 2)).refused("line 1 of the log");
    // Versions that fall.
    good().but(|story| story.truth.commits.swap(1, 2)).refused("comes after");
    // An inversion in time: op3 was sent after op2 was answered.
    let story = good().but(|story| {
        let Story { ops, truth, .. } = story;
        (ops[2].start, ops[3].start) = (ops[3].start, ops[2].start);
        (ops[2].end, ops[3].end) = (ops[3].end, ops[2].end);
        truth.away.clear();
    });
    story.refused("stale or out of order");
    // A stale read, whole in itself.
    let story = good().but(|story| {
        let old = seen(&mut story.ops[1]).clone();
        *version(&mut story.ops[5]) = 4;
        *seen(&mut story.ops[5]) = old;
    });
    story.refused("stale or out of order");
    // The newest version with the state of the one before.
    good().but(|story| seen(&mut story.ops[5]).lines -= 1).refused("at its version there was");
    good().but(|story| seen(&mut story.ops[2]).counter = 0).refused("at its version there was");
    // A torn read.
    good().but(|story| seen(&mut story.ops[5]).copies[3] = "none".into()).refused("a torn read");
    // A wrong sum, and a right sum of wrong balances.
    good().but(|story| seen(&mut story.ops[5]).accounts[1] += 7).refused("sum of all accounts");
    let story = good().but(|story| {
        seen(&mut story.ops[5]).accounts[1] += 1;
        seen(&mut story.ops[5]).accounts[2] -= 1;
    });
    story.refused("at its version there was");
    // Files that end otherwise than the log of commits says.
    good().but(|story| story.truth.last = Some(State::first())).refused("the files end as");
    // A commit of nobody, and of a read.
    good().but(|story| story.truth.commits.push((99, "ghost".into()))).refused("which nobody sent");
    good().but(|story| story.truth.commits.push((99, "op1".into()))).refused("only reads");
    // Before the beginning.
    good().but(|story| *version(&mut story.ops[1]) = 1).refused("before the beginning");
}

#[test]
fn wrong_answers_are_refused() {
    good().ends(Work::Count, no("CONFLICT"), true).refused("applied no, and is there");
    good().ends(Work::Count, Outcome::NotSent, true).refused("never sent, and is there");
    good().ends(Work::Count, Outcome::Applied("X".into()), false).refused("applied yes, and is not there");
    good().but(|story| *version(&mut story.ops[3]) += 1).refused("acknowledged as");
    // No answer is only for those whose replica died, unknown for those without Postgres.
    good().ends(Work::Count, Outcome::Lost, true).refused("lived");
    good().ends(Work::Count, Outcome::Unknown("X".into()), false).refused("Postgres was there");
    let other = Span { replica: 1, from: 0, to: 1000 };
    let before = Span { replica: 0, from: 0, to: 5 };
    for span in [other, before] {
        let story = good().ends(Work::Count, Outcome::Lost, true);
        story.but(|story| story.truth.deaths.push(span)).refused("lived");
    }
}
