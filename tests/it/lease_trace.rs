//! The checker of lease traces: it accepts what the protocol did, and refuses each kind of
//! change to it, by the line.

mod made;

use std::path::Path;

use made::{Made, made};
use sqlfs::lease::protocol::Rule;
use sqlfs::lease::verbs::Mode;

use crate::support::lease_trace::{File, Injected, Summary, check, follow, replay, side_by_side};

const MODES: [Mode; 2] = [Mode::Lease, Mode::Preemptible];

fn checked(made: &Made) -> Result<Summary, String> {
    let folder = tempfile::tempdir().expect("a folder");
    made.write(folder.path());
    check(folder.path(), Injected::Nothing)
}

fn read(path: &Path) -> File {
    File::read(path).expect("readable").expect("whole")
}

#[test]
fn what_the_protocol_did_is_accepted() {
    for mode in MODES {
        let summary = checked(&made(mode)).expect("accepted");
        assert_eq!(summary, Summary { grants: 4, handovers: 3, permissions: 6, waits: 3 }, "{mode:?}");
    }
}

#[test]
fn a_last_line_that_is_cut_off_is_accepted_at_every_byte() {
    let good = made(Mode::Lease);
    let folder = tempfile::tempdir().expect("a folder");
    good.write(folder.path());
    let path = folder.path().join("a.jsonl");
    let whole = std::fs::read(&path).expect("a trace");
    let last = good.a.last().expect("a line").len();
    for cut in 0..=last {
        std::fs::write(&path, &whole[..whole.len() - cut]).expect("written");
        check(folder.path(), Injected::Nothing).expect("accepted");
    }
    for header in [0, 20] {
        std::fs::write(&path, &whole[..header]).expect("written");
        std::fs::remove_file(folder.path().join("b.jsonl")).ok();
        assert_eq!(check(folder.path(), Injected::Nothing), Ok(Summary::default()));
    }
}

/// What is changed, the change, and the beginning of the refusal that it must meet.
type Doctored = (&'static str, fn(&mut Made) -> usize, &'static str);

const DOCTORED: &[Doctored] = &[
    (
        "an effect removed",
        |m| m.edit_a("Granted", r#"{"Granted":[0,1]},"#, ""),
        "the protocol gives [Granted(0, 1)",
    ),
    (
        "an effect added",
        |m| m.edit_a("Released", r#""effects":[]"#, r#""effects":[{"Permitted":0}]"#),
        "the protocol gives []",
    ),
    (
        "a deadline moved",
        |m| m.edit_a("Granted", r#"{"Due":"#, r#"{"Due":1"#),
        "the protocol gives [Granted(0, 1)",
    ),
    (
        "an answer that was never asked",
        |m| m.edit_a("Granted", r#""Reply":[0"#, r#""Reply":[7"#),
        "an answer to call 7, which was never sent",
    ),
    ("an answer given twice", |m| m.repeat_a("Released"), "an answer to call"),
    (
        "an answer of another kind",
        |m| m.edit_a("Granted", r#"{"Acquired":{"fence":1,"hint":null}}"#, r#""Released""#),
        "Released is no answer to Acquire",
    ),
    (
        "an event that is not known",
        |m| m.edit_a("Granted", r#""Reply""#, r#""Rumour""#),
        "unknown variant `Rumour`",
    ),
    (
        "a field that is not known",
        |m| m.edit_a("Granted", r#"{"at""#, r#"{"then":1,"at""#),
        "unknown field `then`",
    ),
    ("an event reordered", |m| m.swap_a("Check"), "time runs backwards"),
    ("a middle line truncated", |m| m.truncate_a("Granted"), "EOF while parsing"),
    ("a line left out", |m| m.remove_a(r#""Acquire":{"ticket""#), "an answer to call 0"),
    ("a ticket used twice", |m| m.repeat_a(r#""Acquire":{"ticket""#), "ticket 0 was used before"),
    (
        "a foreign claim",
        |m| {
            m.edit_a(
                r#""Send":[0,{"Acquire""#,
                r#""owner":"0000000000000000000000000000000a","number":0"#,
                r#""owner":"0000000000000000000000000000000b","number":0"#,
            )
        },
        "the protocol gives [Send",
    ),
];

#[test]
fn each_doctored_trace_is_refused_by_the_line() {
    for (what, doctor, why) in DOCTORED {
        let mut made = made(Mode::Lease);
        let line = doctor(&mut made);
        let refused = checked(&made).expect_err(what);
        assert!(refused.starts_with(&format!("a.jsonl:{line}: {why}")), "{what} in line {line}: {refused}");
    }
}

/// The rules of `follow` stand without the protocol's help: these files are not replayed.
#[test]
fn what_a_wrong_protocol_might_do_is_refused_by_the_line() {
    let doctored: &[Doctored] = &[
        (
            "a grant to a ticket that did not ask",
            |m| m.edit_a("Granted", r#""Granted":[0"#, r#""Granted":[5"#),
            "5 is granted 1 by the answer to Acquire",
        ),
        (
            "another token than the answer's",
            |m| m.edit_a("Granted", r#""Granted":[0,1]"#, r#""Granted":[0,9]"#),
            "0 is granted 9 by the answer",
        ),
        (
            "a grant without an answer",
            |m| m.edit_a(r#""Tick""#, r#""effects":["#, r#""effects":[{"Granted":[0,2]}"#),
            "0 is granted without an answer",
        ),
        (
            "a permission after Lost",
            |m| {
                m.edit_a("Released", r#""effects":[]"#, r#""effects":[{"Lost":[0,"Taken"]},{"Permitted":0}]"#)
            },
            "0 is permitted and had not asked",
        ),
        ("a permission after the end", |m| m.late_permission_a(), "0 is permitted after its end"),
        (
            "a permission after the deadline",
            |m| m.delay_a("Check", 100_000),
            "0 is permitted after its deadline",
        ),
        (
            "a foreign claim",
            |m| m.edit_a(r#""Send":[0,{"Acquire""#, r#"a","number":0"#, r#"b","number":0"#),
            "0000000000000000000000000000000b-0 on",
        ),
        (
            "a claim on another key",
            |m| m.edit_a(r#""Send":[0,{"Acquire""#, r#""Acquire":{"key":"0"#, r#""Acquire":{"key":"f"#),
            "0000000000000000000000000000000a-0 on f",
        ),
        (
            "a token not above the floor",
            |m| m.edit_a(r#""Acquire":{"ticket""#, r#""floor":0,"degrade""#, r#""floor":5,"degrade""#) + 1,
            "token 1 is not above the floor 5",
        ),
    ];
    for (what, doctor, why) in doctored {
        let mut made = made(Mode::Lease);
        let line = doctor(&mut made);
        let folder = tempfile::tempdir().expect("a folder");
        made.write(folder.path());
        let refused = follow(&read(&folder.path().join("a.jsonl"))).expect_err(what);
        assert!(refused.starts_with(&format!("a.jsonl:{line}: {why}")), "{what} in line {line}: {refused}");
    }
}

#[test]
fn without_the_rule_kill_first_a_permission_comes_after_the_deadline() {
    let folder = tempfile::tempdir().expect("a folder");
    made::late_check(Some(Rule::KillFirst)).write(folder.path());
    let file = read(&folder.path().join("a.jsonl"));
    let refused = follow(&file).expect_err("refused");
    assert!(refused.contains("0 is permitted after its deadline"), "{refused}");
    let refused = replay(&file).expect_err("refused");
    assert!(refused.contains("the protocol gives [Lost(0, NotRenewed)"), "{refused}");
    made::late_check(None).write(folder.path());
    follow(&read(&folder.path().join("a.jsonl"))).expect("with the rule");
}

/// What only several files together show.
#[test]
fn what_no_process_sees_alone_is_refused_by_the_line() {
    use Injected::{MemoryLoss, Nothing, Pause};
    for (what, doctor, why, allowed) in [
        (
            "two at once",
            Made::overlap as fn(&mut Made) -> usize,
            "two hold the lease, the other one since",
            [Pause, MemoryLoss].as_slice(),
        ),
        ("a token again", Made::same_token, "token 1 after 1 of a.jsonl:", &[MemoryLoss]),
        (
            "overtaking",
            Made::overtaking,
            "the lease a second time, and another waits since b.jsonl:",
            &[MemoryLoss],
        ),
    ] {
        for injected in [Nothing, Pause, MemoryLoss] {
            let mut made = made(Mode::Lease);
            doctor(&mut made);
            let folder = tempfile::tempdir().expect("a folder");
            made.write(folder.path());
            let facts =
                ["a.jsonl", "b.jsonl"].map(|name| follow(&read(&folder.path().join(name))).expect("whole"));
            let result = side_by_side(facts.concat(), injected);
            if allowed.contains(&injected) {
                result.expect(what);
            } else {
                let refused = result.expect_err(what);
                assert!(refused.contains(&format!(": {why}")), "{what}: {refused}");
            }
        }
    }
}
