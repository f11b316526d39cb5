//! The load: clients that call replicas at random, and write down what they saw.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqlfs::fs::{ChangeSet, Mode, Tree, WorkingCopy};
use sqlfs::ids::{Caller, ExecId, Head, SandboxId, Version};
use sqlfs::lease::verbs::Ms;
use sqlfs::session::{ExecMode, ExecReply, ExecRequest, SessionError, Settings};
use sqlfs::store::{NewSandbox, Store};

use super::fleet::{Fleet, Replica};
use super::plan::LEASE;
use super::scripts::{ACCOUNTS, Act, BALANCE, BANK, COUNTER, LOG, NOW_NS, Nothing, Script};
use super::world::{lock, owner, pause, tenant};

/// What a client knows of one exec.
#[derive(Debug)]
pub struct Record {
    pub script: Script,
    /// Its place in the order of events, before it was sent and after the answer came.
    pub sent: u64,
    pub answered: u64,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub enum Outcome {
    Done {
        version: Version,
        committed: bool,
        output: String,
    },
    /// Applied: no.
    Refused(&'static str),
    /// Applied: unknown.
    Unknown,
    /// The connection was lost, by whosever fault.
    NoReply,
}

pub struct Load {
    pub fleet: Arc<Fleet>,
    pub history: Mutex<Vec<Record>>,
    pub deletions: Mutex<Vec<Deletion>>,
    ids: AtomicU32,
}

/// A deletion, as its client knows it.
#[derive(Debug)]
pub struct Deletion {
    pub sandbox: usize,
    pub sent: u64,
    pub answered: u64,
    /// Acknowledged.
    pub done: bool,
}

pub fn caller() -> Caller {
    Caller { tenant: tenant(), owner: owner() }
}

impl Load {
    pub fn new(fleet: Arc<Fleet>) -> Arc<Self> {
        Arc::new(Self {
            fleet,
            history: Mutex::default(),
            deletions: Mutex::default(),
            ids: AtomicU32::new(1),
        })
    }

    /// Makes a sandbox with its files, past the service, which would use a thread for it.
    pub async fn prepare(&self) {
        let world = &self.fleet.world;
        let new = NewSandbox {
            id: SandboxId::random(),
            owner: owner(),
            name: None,
            unique: false,
            env: BTreeMap::new(),
            python: false,
            javascript: false,
            network: None,
            cwd: "/home/user".into(),
            head: Head::random(),
            created_at_ns: NOW_NS,
            request_id: "create".into(),
            exec: ExecId::random(),
        };
        world.store.create(&new, &first_files()).await.expect("created");
        lock(&world.sandboxes).push(new.id);
    }

    /// One client: some execs, one after the other.
    pub async fn client(self: Arc<Self>) {
        let world = self.fleet.world.clone();
        for _ in 0..world.plan.execs {
            pause(if world.below(3) == 0 { world.below(400) } else { 0 }).await;
            let replica = loop {
                match self.fleet.at(world.below(world.plan.replicas as u64) as usize) {
                    Some(replica) => break replica,
                    None => pause(50).await,
                }
            };
            let script = self.script();
            let hang_up = world.strikes(world.plan.hang_ups).then(|| world.between(1, 800));
            self.exec(&replica, script, hang_up).await;
        }
    }

    /// Deletes a sandbox in the middle of it all.
    pub async fn delete(self: Arc<Self>, sandbox: usize) {
        let world = self.fleet.world.clone();
        pause(world.between(1, 4_000)).await;
        let Some(replica) = self.fleet.at(world.below(world.plan.replicas as u64) as usize) else { return };
        let (sent, force) = (world.event(), world.below(2) == 0);
        world.note(format_args!("{} <- delete {sandbox} {force}", replica.gate.name()));
        let (id, caller) = (lock(&world.sandboxes)[sandbox], caller());
        let deleted = tokio::select! {
            biased;
            () = replica.gate.crashed() => None,
            deleted = replica.service.delete(&caller, id, force) => Some(deleted),
        };
        let alive = replica.gate.pass_alive().await;
        let done = alive && matches!(deleted, Some(Ok(())));
        world.note(format_args!("{} -> delete {sandbox} {done}", replica.gate.name()));
        if done {
            world.count("deleted");
        }
        lock(&self.deletions).push(Deletion { sandbox, sent, answered: world.event(), done });
    }

    fn script(&self) -> Script {
        let world = &self.fleet.world;
        let act = match world.below(20) {
            0..=4 => Act::Append,
            5..=8 => Act::Count,
            9..=12 => {
                let from = world.below(3) as usize;
                let to = (from + 1 + world.below(2) as usize) % 3;
                Act::Transfer { from, to, amount: world.between(1, 50) as i64 }
            }
            13 => Act::Fail,
            _ => Act::Read,
        };
        let ms = match world.below(12) {
            0 => world.between(500, 2 * LEASE),
            1..=7 => world.between(20, 400),
            _ => world.below(10),
        };
        let sandbox = world.below(world.plan.sandboxes as u64) as usize;
        Script { id: self.ids.fetch_add(1, Ordering::Relaxed), sandbox, act, ms }
    }

    /// A write that has nothing to wait for, after the faults.
    pub async fn last(&self, replica: &Replica, sandbox: usize) -> bool {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        self.exec(replica, Script { id, sandbox, act: Act::Append, ms: 0 }, None).await
    }

    /// Runs one; whether it was acknowledged.
    async fn exec(&self, replica: &Replica, script: Script, hang_up: Option<Ms>) -> bool {
        let world = &self.fleet.world;
        let wrong_mode = script.act != Act::Read && world.faults_on() && world.below(40) == 0;
        let snapshot = world.below(2) == 0;
        let reads = script.act == Act::Read || wrong_mode;
        let request = ExecRequest {
            script: script.to_string(),
            cwd: None,
            env: BTreeMap::new(),
            stdin: None,
            args: Vec::new(),
            // Some are cut off.
            timeout: Duration::from_millis(if world.faults_on() && world.below(30) == 0 {
                100
            } else {
                60_000
            }),
            mode: if reads { ExecMode::Read { snapshot } } else { ExecMode::Write },
            rollback_on_error: true,
            dry_run: false,
            expect: None,
            debug: false,
            key: None,
        };
        let sandbox = lock(&world.sandboxes)[script.sandbox];
        let (sent, since) = (world.event(), world.now());
        world.note(format_args!(
            "{} <- {script}{}",
            replica.gate.name(),
            if reads { " (reads)" } else { "" }
        ));
        let (caller, id) = (caller(), script.id.to_string());
        let exec = replica.service.exec(&caller, &id, sandbox, request, None);
        let left = async {
            match hang_up {
                Some(ms) => pause(ms).await,
                None => std::future::pending().await,
            }
        };
        let result = tokio::select! {
            biased;
            () = replica.gate.crashed() => None,
            () = left => {
                world.count("client hung up");
                None
            }
            result = exec => Some(result),
        };
        // A replica that is stopped answers when it goes on.
        let result = match result {
            Some(result) if replica.gate.pass_alive().await => Some(result),
            Some(_) | None => None,
        };
        let outcome = self.outcome(result, replica.troubled_since(since));
        world.note(format_args!("{} -> {} {outcome:?}", replica.gate.name(), script.id));
        let done = matches!(outcome, Outcome::Done { .. });
        let answered = world.event();
        lock(&self.history).push(Record { script, sent, answered, outcome });
        done
    }

    fn outcome(&self, result: Option<Result<ExecReply, SessionError>>, troubled: bool) -> Outcome {
        let world = &self.fleet.world;
        let error = match result {
            None => {
                world.count("no reply");
                return Outcome::NoReply;
            }
            Some(Ok(reply)) => {
                world.count(if reply.committed { "acknowledged" } else { "done without a commit" });
                let output = String::from_utf8_lossy(&reply.output.stdout).into_owned();
                return Outcome::Done { version: reply.version, committed: reply.committed, output };
            }
            Some(Err(error)) => error,
        };
        let name = match error {
            SessionError::OutcomeUnknown => {
                world.count("unknown");
                if !troubled {
                    world.breach("an outcome is unknown although the store was there".into());
                }
                return Outcome::Unknown;
            }
            SessionError::NotFound => "not found",
            SessionError::LeaseLost => "lease lost",
            SessionError::Conflict => "conflict",
            SessionError::StoreUnavailable => "store unavailable",
            SessionError::CoordinationUnavailable => "coordination unavailable",
            SessionError::LeaseTimeout(_) => "lease timeout",
            SessionError::ShuttingDown => "shutting down",
            SessionError::Timeout { .. } => "script timed out",
            SessionError::ReadOnlyViolation { .. } => "write in a read exec",
            other => {
                world.breach(format!("an exec failed: {other:?}"));
                "failed"
            }
        };
        world.count(name);
        Outcome::Refused(name)
    }
}

/// The rows of a sandbox with a log, a counter and accounts.
fn first_files() -> ChangeSet {
    let (tree, next_ino) = Tree::first(NOW_NS);
    let quota = Settings::default().quota;
    let files =
        WorkingCopy::new(tree.clone(), next_ino, Mode::ReadWrite, quota, Arc::new(Nothing), || NOW_NS);
    files.mkdir(BANK).expect("a folder");
    files.write(LOG, b"0\n").expect("a file");
    files.write(COUNTER, b"0\n").expect("a file");
    for path in ACCOUNTS {
        files.write(path, format!("{BALANCE}\n").as_bytes()).expect("a file");
    }
    let changes = files.finish().expect("changes");
    tree.apply(&changes.delta).expect("a tree").whole(changes.next_ino, changes.blobs)
}
