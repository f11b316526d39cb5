//! Clients that work on the sandboxes of a campaign through all replicas and write down
//! what they did and saw.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Row, query};
use tokio::time::Instant;

use super::record::{ACCOUNTS, BALANCE, COPIES, Op, Outcome, Span, State, Truth, Work};
use crate::support::Api;
use crate::support::http::Events;
use crate::support::postgres::Database;
use crate::support::random::Random;

/// Begins the request id of each write, by which a proxy knows a commit.
pub const WRITES: &str = "put-";

/// One sandbox and what was done to it.
struct Place {
    id: String,
    first: u64,
    ops: Mutex<Vec<Op>>,
    acknowledged: AtomicU64,
}

/// What all clients of a campaign share.
pub struct World {
    places: Vec<Place>,
    apis: Mutex<Vec<Api>>,
    /// Codes that a lost race, a lost lease or a store that is away may answer.
    allowed: &'static [&'static str],
    began: Instant,
    next: AtomicU64,
    stopped: AtomicBool,
    pub deaths: Mutex<Vec<Span>>,
}

/// What a script prints at its end: all files of the workloads.
fn look() -> String {
    let all = |letter, count| (0..count).map(|n| format!("{letter}{n}")).collect::<Vec<_>>().join(" ");
    let (accounts, copies) = (all('a', ACCOUNTS), all('s', COPIES));
    format!("wc -l < log; tail -n 1 log; cat c; echo $(cat {accounts}); echo $(cat {copies})")
}

fn script(id: &str, work: Work, pause: Duration) -> String {
    let pause = if pause.is_zero() { String::new() } else { format!("sleep {}; ", pause.as_secs_f64()) };
    let does = match work {
        Work::Look => return look(),
        Work::Append => String::new(),
        Work::Count => format!("n=$(cat c); {pause}echo $((n + 1)) > c; "),
        Work::Move { from, to, amount } => format!(
            "x=$(cat a{from}); y=$(cat a{to}); echo $((x - {amount})) > a{from}; {pause}echo $((y + {amount})) > a{to}; "
        ),
        Work::Snapshot => {
            format!("for i in {{0..{}}}; do echo {id} > s$i; done; {pause}", COPIES - 1)
        }
    };
    format!("echo {id} >> log; {does}{}", look())
}

fn parse(stdout: &str) -> State {
    let lines: Vec<&str> = stdout.lines().collect();
    let [lines, last, counter, accounts, copies] = lines[..] else { panic!("five lines: {stdout:?}") };
    State {
        lines: lines.trim().parse().expect("a count"),
        last: last.to_owned(),
        counter: counter.parse().expect("a counter"),
        accounts: accounts.split(' ').map(|sum| sum.parse().expect("a balance")).collect(),
        copies: copies.split(' ').map(str::to_owned).collect(),
    }
}

fn random_work(random: &mut Random) -> Work {
    match random.below(8) {
        0 => Work::Append,
        1 => Work::Count,
        2 => {
            let from = random.below(ACCOUNTS as u64) as usize;
            let to = (from + 1 + random.below(ACCOUNTS as u64 - 1) as usize) % ACCOUNTS;
            Work::Move { from, to, amount: random.below(20) as i64 }
        }
        3 => Work::Snapshot,
        _ => Work::Look,
    }
}

/// An exec whose script has begun and goes on.
pub struct Begun {
    world: Arc<World>,
    place: usize,
    op: Op,
    live: Events,
}

impl World {
    /// Makes the sandboxes.
    pub async fn new(apis: Vec<Api>, places: usize, allowed: &'static [&'static str]) -> Arc<Self> {
        let mut world = Self {
            places: vec![],
            apis: Mutex::new(apis.clone()),
            allowed,
            began: Instant::now(),
            next: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            deaths: Mutex::default(),
        };
        for _ in 0..places {
            let id = apis[0].create().await;
            let setup = format!(
                "echo start > log; echo 0 > c; for i in {{0..{}}}; do echo {BALANCE} > a$i; done; \
                 for i in {{0..{}}}; do echo none > s$i; done",
                ACCOUNTS - 1,
                COPIES - 1
            );
            let first = apis[0].exec(&id, &setup).await["version"].as_u64().expect("a version");
            world.places.push(Place { id, first, ops: Mutex::default(), acknowledged: AtomicU64::new(0) });
        }
        Arc::new(world)
    }

    /// Sandboxes.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Id of a sandbox.
    pub fn id(&self, place: usize) -> &str {
        &self.places[place].id
    }

    /// Microseconds since the beginning.
    pub fn now(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    /// Where a replica is now.
    pub fn moved(&self, replica: usize, url: &str) {
        let mut apis = self.apis.lock().expect("apis");
        apis[replica] = apis[replica].at(url);
    }

    /// Ends the clients after what they are at.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Acknowledged writes of each sandbox.
    pub fn acknowledged(&self) -> Vec<u64> {
        self.places.iter().map(|place| place.acknowledged.load(Ordering::SeqCst)).collect()
    }

    /// One client: random work on one sandbox through one replica, until stopped.
    pub async fn client(self: Arc<Self>, place: usize, replica: usize, mut random: Random, pause_ms: u64) {
        while !self.stopped.load(Ordering::SeqCst) {
            let work = random_work(&mut random);
            // Some scripts hold their lease for a while.
            let inside = if random.below(3) == 0 { random.below(60) } else { 0 };
            let outcome = self.run(place, replica, work, Duration::from_millis(inside)).await;
            // A replica that is dead answers at once.
            let least = if outcome == Outcome::NotSent { 20 } else { 0 };
            tokio::time::sleep(Duration::from_millis(least + random.below(pause_ms))).await;
        }
    }

    fn op(&self, replica: usize, work: Work) -> Op {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let kind = if work == Work::Look { "get-" } else { WRITES };
        let id = format!("{kind}{number:06}");
        Op { id, work, replica, start: self.now(), end: 0, outcome: Outcome::Lost }
    }

    fn request(&self, op: &Op, place: usize, route: &str, script: &str) -> reqwest::RequestBuilder {
        let api = self.apis.lock().expect("apis")[op.replica].clone();
        let path = format!("/v1/sandboxes/{}/{route}", self.id(place));
        let body = json!({"script": script, "readOnly": op.work == Work::Look});
        api.request(Method::POST, &path).header("x-request-id", &op.id).json(&body)
    }

    /// One request from beginning to end.
    pub async fn run(&self, place: usize, replica: usize, work: Work, pause: Duration) -> Outcome {
        let mut op = self.op(replica, work);
        let request = self.request(&op, place, "exec-sync", &script(&op.id, work, pause));
        op.outcome = match request.send().await {
            Err(error) => not_answered(&error),
            Ok(reply) => self.answered(reply, work).await,
        };
        self.record(place, op)
    }

    async fn answered(&self, reply: reqwest::Response, work: Work) -> Outcome {
        let status = reply.status().as_u16();
        let Ok(body) = reply.bytes().await else { return Outcome::Lost };
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        if status != 200 {
            return self.error(&body);
        }
        assert_eq!(
            (&body["exitCode"], &body["committed"]),
            (&json!(0), &json!(work != Work::Look)),
            "{body}"
        );
        let seen = parse(body["stdout"].as_str().expect("stdout"));
        Outcome::Done { version: body["version"].as_u64().expect("a version"), seen }
    }

    fn error(&self, body: &Value) -> Outcome {
        let code = body["code"].as_str().expect("a code").to_owned();
        let retryable = body["retryable"] == true;
        match body["applied"].as_str() {
            Some("no") => {
                assert!(self.allowed.contains(&code.as_str()) && retryable, "no fault explains {body}");
                Outcome::Refused(code)
            }
            Some("yes") if !retryable => Outcome::Applied(code),
            Some("unknown") if !retryable => Outcome::Unknown(code),
            _ => panic!("applied and retryable: {body}"),
        }
    }

    fn record(&self, place: usize, mut op: Op) -> Outcome {
        op.end = self.now();
        let outcome = op.outcome.clone();
        if matches!(outcome, Outcome::Done { .. }) && op.work != Work::Look {
            self.places[place].acknowledged.fetch_add(1, Ordering::SeqCst);
        }
        self.places[place].ops.lock().expect("ops").push(op);
        outcome
    }

    /// A script that has begun and goes on for `pause`. `None` when it was refused.
    pub async fn begin(self: &Arc<Self>, place: usize, replica: usize, pause: Duration) -> Option<Begun> {
        let mut op = self.op(replica, Work::Count);
        let rest = script(&op.id, Work::Count, pause);
        let sent = self.request(&op, place, "exec", &format!("echo go; {rest}")).send().await;
        op.outcome = match sent {
            Err(error) => not_answered(&error),
            Ok(reply) if reply.status() == 200 => {
                let mut begun = Begun { world: self.clone(), place, op, live: Events::of(reply) };
                match begun.live.try_next().await {
                    Ok(Some(event)) if event.name == "stdout" => return Some(begun),
                    Ok(Some(event)) if event.name == "error" => begun.op.outcome = self.error(&event.data),
                    other => panic!("no beginning: {other:?}"),
                }
                self.record(place, begun.op);
                return None;
            }
            Ok(reply) => self.answered(reply, Work::Count).await,
        };
        self.record(place, op);
        None
    }

    /// What Postgres holds of a sandbox, and all ops on it.
    pub async fn truth(&self, place: usize, database: &Database) -> (Vec<Op>, Truth) {
        let Place { id, first, ops, .. } = &self.places[place];
        let mut admin = database.admin().await;
        let id: uuid::Uuid = id.parse().expect("an id");
        let rows = query(
            "SELECT version, request_id FROM exec_log WHERE sandbox_id = $1 AND version > $2 \
             AND outcome = 'committed' ORDER BY version",
        );
        let rows = rows.bind(id).bind(*first as i64).fetch_all(&mut admin).await.expect("the exec log");
        let commits = rows.iter().map(|row| (row.get::<i64, _>(0) as u64, row.get(1))).collect();
        let rows = query(
            "SELECT d.name, b.data FROM dirents d \
             JOIN inodes i ON i.sandbox_id = d.sandbox_id AND i.ino = d.ino AND i.valid_to IS NULL \
             JOIN blobs b ON b.sha256 = i.sha256 WHERE d.sandbox_id = $1 AND d.valid_to IS NULL",
        );
        let rows = rows.bind(id).fetch_all(&mut admin).await.expect("the files");
        let files: std::collections::BTreeMap<String, String> =
            rows.iter().map(|row| (row.get(0), String::from_utf8(row.get(1)).expect("text"))).collect();
        let text = |name: &str| files.get(name).unwrap_or_else(|| panic!("no {name}: {files:?}")).trim();
        let all = |letter, count| (0..count).map(move |n| format!("{letter}{n}"));
        let log: Vec<String> = text("log").lines().map(str::to_owned).collect();
        let last = State {
            lines: log.len() as u64,
            last: log.last().expect("a line").clone(),
            counter: text("c").parse().expect("a counter"),
            accounts: all('a', ACCOUNTS).map(|name| text(&name).parse().expect("a balance")).collect(),
            copies: all('s', COPIES).map(|name| text(&name).to_owned()).collect(),
        };
        let truth = Truth {
            first: *first,
            commits,
            log: log[1..].to_vec(),
            last: Some(last),
            deaths: self.deaths.lock().expect("deaths").clone(),
            away: vec![],
        };
        (ops.lock().expect("ops").clone(), truth)
    }
}

fn not_answered(error: &reqwest::Error) -> Outcome {
    if error.is_connect() { Outcome::NotSent } else { Outcome::Lost }
}

impl Begun {
    /// Its sandbox.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Waits for its end.
    pub async fn end(mut self) -> Outcome {
        let mut stdout = String::new();
        loop {
            match self.live.try_next().await {
                Err(_) => break self.op.outcome = Outcome::Lost,
                Ok(None) => panic!("no end: {stdout:?}"),
                Ok(Some(event)) => match event.name.as_str() {
                    "stdout" => stdout.push_str(event.data["data"].as_str().expect("data")),
                    "error" => break self.op.outcome = self.world.error(&event.data),
                    "exit" => {
                        assert_eq!(event.data["committed"], true, "{event:?}");
                        let version = event.data["version"].as_u64().expect("a version");
                        break self.op.outcome = Outcome::Done { version, seen: parse(&stdout) };
                    }
                    other => panic!("{other}: {event:?}"),
                },
            }
        }
        self.world.record(self.place, self.op)
    }
}
