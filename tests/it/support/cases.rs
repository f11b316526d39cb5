//! The case suites: small scripts with what GNU bash and coreutils did with them. Where
//! scripts run is a [`Runner`], so that the same cases go through every surface.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

/// Files below the directory that a script runs in: path → what is there.
pub type Files = BTreeMap<String, Entry>;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    File { mode: u32, content: Vec<u8> },
    Dir,
    Link(String),
}

/// What a script did.
#[derive(Debug)]
pub struct Outcome {
    pub stdout: Vec<u8>,
    pub exit: i64,
    /// All that is below the directory afterwards.
    pub files: Files,
}

/// Environment that the cases were recorded with, besides an empty standard input.
pub const ENV: [(&str, &str); 3] = [("HOME", "/root"), ("LC_ALL", "C.UTF-8"), ("TMP", "/tmp")];

/// A place to run scripts in.
#[async_trait::async_trait]
pub trait Runner {
    /// Runs `script` in a fresh directory that holds `files` (their parents made) and
    /// nothing else. `Err` when it did not end by itself; the text says how.
    async fn run(&self, files: &Files, script: &str) -> Result<Outcome, String>;
}

/// One case.
pub struct Case {
    pub id: String,
    pub script: String,
    setup: Files,
    stdout: Vec<u8>,
    exit: i64,
    /// Files afterwards; `None` when the case says nothing about them.
    files: Option<Expected>,
}

struct Expected {
    files: Files,
    /// Paths whose bytes are not compared.
    any: BTreeSet<String>,
}

/// A suite, with the number of its cases and the share that must be equal.
pub struct Suite {
    pub name: &'static str,
    /// What README.md calls its cases.
    pub told_as: &'static str,
    pub cases: Vec<Case>,
    pub least_percent: usize,
}

/// Both suites.
pub fn suites() -> [Suite; 2] {
    let agent = lines("agent-scripts.jsonl").iter().map(|case| agent_case(case, &fixture())).collect();
    let faults =
        lines("cases.jsonl").iter().filter(|case| case["kind"] == "script").map(fault_case).collect();
    let suites = [
        Suite { name: "agent-scripts", told_as: "447 as agents send them", cases: agent, least_percent: 98 },
        Suite { name: "cases", told_as: "37 from reports of faults", cases: faults, least_percent: 96 },
    ];
    assert_eq!(suites.each_ref().map(|suite| suite.cases.len()), [447, 37], "the denominators are fixed");
    suites
}

/// Cases that are known to differ, with the reason.
pub fn exceptions() -> BTreeMap<String, String> {
    let mut exceptions = BTreeMap::new();
    for line in read("exceptions.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (id, reason) = line.split_once(": ").expect("a line is `id: reason`");
        let twice = exceptions.insert(id.to_owned(), reason.to_owned());
        assert!(twice.is_none(), "{id} is listed twice");
    }
    exceptions
}

/// Runs a suite: every case is equal or listed with its reason, and enough are equal.
/// Gives their number.
pub async fn check(suite: &Suite, runner: &(impl Runner + Sync)) -> usize {
    let exceptions = exceptions();
    let (mut equal, mut wrong) = (0, String::new());
    for case in &suite.cases {
        match (case.check(runner).await, exceptions.get(&case.id)) {
            (Ok(()), None) => equal += 1,
            (Ok(()), Some(_)) => {
                equal += 1;
                let _ = writeln!(wrong, "{}: is listed as an exception and passes", case.id);
            }
            (Err(_), Some(_)) => {}
            (Err(difference), None) => {
                let _ = writeln!(wrong, "{}: {difference}\n    {:?}", case.id, case.script);
            }
        }
    }
    let all = suite.cases.len();
    println!("{}: {equal} of {all} equal", suite.name);
    assert!(wrong.is_empty(), "{}: {equal} of {all} equal\n{wrong}", suite.name);
    assert!(equal * 100 >= all * suite.least_percent, "{}: {equal} of {all} are too few", suite.name);
    equal
}

impl Case {
    /// Runs the case; `Err` tells the first difference.
    pub async fn check(&self, runner: &(impl Runner + Sync)) -> Result<(), String> {
        let got = runner.run(&self.setup, &self.script).await?;
        if got.stdout != self.stdout {
            let text = String::from_utf8_lossy;
            return Err(format!("stdout {:?}, expected {:?}", text(&got.stdout), text(&self.stdout)));
        }
        if got.exit != self.exit {
            return Err(format!("exit {}, expected {}", got.exit, self.exit));
        }
        self.files.as_ref().map_or(Ok(()), |expected| expected.compare(&got.files))
    }
}

impl Expected {
    fn compare(&self, got: &Files) -> Result<(), String> {
        let paths: BTreeSet<&String> = got.keys().chain(self.files.keys()).collect();
        for path in paths {
            let (got, expected) = (got.get(path), self.files.get(path));
            if !self.any.contains(path) && got.map(without_time) != expected.map(without_time) {
                return Err(format!("file {path}: {got:?}, expected {expected:?}"));
            }
            if got.is_none() {
                return Err(format!("file {path} is missing"));
            }
        }
        Ok(())
    }
}

/// The time stamps of a stored `diff -u` belong to the hour of the recording.
fn without_time(entry: &Entry) -> Entry {
    let Entry::File { mode, content } = entry else { return entry.clone() };
    let line = |line: &[u8]| {
        let header = line.starts_with(b"--- ") || line.starts_with(b"+++ ");
        let end = line.iter().position(|&byte| byte == b'\t').filter(|_| header);
        line[..end.unwrap_or(line.len())].to_vec()
    };
    let lines: Vec<_> = content.split(|&byte| byte == b'\n').map(line).collect();
    Entry::File { mode: *mode, content: lines.join(&b'\n') }
}

fn read(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/data/cases", name].iter().collect();
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lines(name: &str) -> Vec<Value> {
    read(name).lines().map(|line| serde_json::from_str(line).expect("a line is a case")).collect()
}

fn fixture() -> Files {
    files(&serde_json::from_str(&read("fixture.json")).expect("the fixture is JSON"))
}

fn files(map: &Value) -> Files {
    let entry = |value: &Value| match value {
        Value::String(content) => Entry::File { mode: 0o644, content: content.clone().into_bytes() },
        other => Entry::File {
            mode: u32::try_from(other["mode"].as_u64().expect("a mode")).expect("a mode"),
            content: other["content"].as_str().expect("a content").as_bytes().to_vec(),
        },
    };
    let map = map.as_object().into_iter().flatten();
    map.map(|(path, value)| (path.clone(), entry(value))).collect()
}

fn text(case: &Value, field: &str) -> String {
    case[field].as_str().unwrap_or_else(|| panic!("{}: no {field}", case["id"])).to_owned()
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn agent_case(case: &Value, fixture: &Files) -> Case {
    let mut setup = fixture.clone();
    setup.extend(files(&case["extra_files"]));
    for path in strings(&case["without"]) {
        setup.remove(path);
    }
    let mut files = with_parents(&setup);
    let mut any = BTreeSet::new();
    for (path, value) in case["changed"].as_object().into_iter().flatten() {
        let value = value.as_str().expect("a changed file is text");
        let entry = match value {
            "<dir>" => Entry::Dir,
            "<any>" => {
                any.insert(path.clone());
                Entry::Dir
            }
            _ => {
                if let Some(target) = value.strip_prefix("<link ").and_then(|rest| rest.strip_suffix('>')) {
                    Entry::Link(target.to_owned())
                } else {
                    let (mode, content) = value.split_once(':').expect("mode:content");
                    let mode = u32::from_str_radix(mode, 8).expect("an octal mode");
                    Entry::File { mode, content: content.as_bytes().to_vec() }
                }
            }
        };
        files.insert(path.clone(), entry);
    }
    for path in strings(&case["removed"]) {
        files.remove(path);
    }
    Case { files: Some(Expected { files, any }), ..plain_case(case, setup) }
}

fn fault_case(case: &Value) -> Case {
    plain_case(case, files(&case["setup_files"]))
}

fn plain_case(case: &Value, setup: Files) -> Case {
    Case {
        id: text(case, "id"),
        script: text(case, "script"),
        setup,
        stdout: text(case, "expected_stdout").into_bytes(),
        exit: case["expected_exit"].as_i64().expect("an exit status"),
        files: None,
    }
}

fn with_parents(files: &Files) -> Files {
    let mut all = files.clone();
    for path in files.keys() {
        for (at, _) in path.match_indices('/') {
            all.insert(path[..at].to_owned(), Entry::Dir);
        }
    }
    all
}
