//! Scripts of one command, and the interpreter that runs them: in virtual time, over the
//! real working copy. Each write appends its id to `log` beside what it does, so that
//! the whole state is told by the log.

use std::fmt::{self, Write};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use sqlfs::clock;
use sqlfs::exec::{Control, End, Ended, Interpreter, Job, Stream};
use sqlfs::fs::{
    ChangeSet, ContentCache, ContentSource, ContentUnavailable, Errno, Fatal, Mode, WorkingCopy,
};
use sqlfs::ids::Sha256;
use sqlfs::lease::verbs::{Incarnation, Ms};
use sqlfs::store::Store;

use super::gate::Gate;
use super::store_net::StoreNet;
use super::world::{Run, World, lock, pause, tenant};

pub const LOG: &str = "/home/user/log";
pub const COUNTER: &str = "/home/user/counter";
pub const ACCOUNTS: [&str; 3] = ["/home/user/bank/a", "/home/user/bank/b", "/home/user/bank/c"];
pub const BANK: &str = "/home/user/bank";
pub const BALANCE: i64 = 100;

/// What a script does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Append,
    Count,
    Transfer {
        from: usize,
        to: usize,
        amount: i64,
    },
    /// Writes, and exits with 1.
    Fail,
    Read,
}

/// One script.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    pub id: u32,
    pub sandbox: usize,
    pub act: Act,
    /// How long it runs.
    pub ms: Ms,
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, a, b, amount) = match self.act {
            Act::Append => ("append", 0, 0, 0),
            Act::Count => ("count", 0, 0, 0),
            Act::Transfer { from, to, amount } => ("transfer", from, to, amount),
            Act::Fail => ("fail", 0, 0, 0),
            Act::Read => ("read", 0, 0, 0),
        };
        write!(f, "{name} {} {} {} {a} {b} {amount}", self.id, self.sandbox, self.ms)
    }
}

impl Script {
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let [name, id, sandbox, ms, a, b, amount] = words[..] else { return None };
        let act = match name {
            "append" => Act::Append,
            "count" => Act::Count,
            "transfer" => {
                Act::Transfer { from: a.parse().ok()?, to: b.parse().ok()?, amount: amount.parse().ok()? }
            }
            "fail" => Act::Fail,
            "read" => Act::Read,
            _ => return None,
        };
        Some(Self { id: id.parse().ok()?, sandbox: sandbox.parse().ok()?, act, ms: ms.parse().ok()? })
    }

    /// Does it; what it prints.
    fn act(&self, files: &WorkingCopy) -> Result<String, Errno> {
        let text = |path: &str| Ok(String::from_utf8_lossy(&files.read(path)?).into_owned());
        let number = |path: &str| text(path)?.trim().parse::<i64>().map_err(|_| Errno::EIO);
        let put = |path: &str, value: i64| files.write(path, format!("{value}\n").as_bytes());
        if self.act != Act::Read {
            files.append(LOG, format!("{}\n", self.id).as_bytes())?;
        }
        match self.act {
            Act::Append | Act::Fail => Ok(String::new()),
            Act::Count => {
                let next = number(COUNTER)? + 1;
                put(COUNTER, next)?;
                Ok(next.to_string())
            }
            Act::Transfer { from, to, amount } => {
                put(ACCOUNTS[from], number(ACCOUNTS[from])? - amount)?;
                put(ACCOUNTS[to], number(ACCOUNTS[to])? + amount)?;
                Ok(String::new())
            }
            Act::Read => {
                let mut out = text(LOG)?.replace('\n', ",");
                for path in [COUNTER].iter().chain(&ACCOUNTS) {
                    let _ = write!(out, " {}", number(path)?);
                }
                Ok(out)
            }
        }
    }
}

/// The interpreter of one replica.
pub struct Commands {
    pub world: Arc<World>,
    pub gate: Arc<Gate>,
    pub me: Incarnation,
    pub store: Arc<StoreNet>,
    pub cache: Arc<ContentCache>,
}

/// A script makes this many steps; a replica that is stopped is stopped between two.
const STEPS: Ms = 4;

#[async_trait]
impl Interpreter for Commands {
    async fn run(&self, job: Job, control: Control) -> Ended {
        let Some(script) = Script::parse(&job.script) else {
            return ended(End::Failed("no script of the simulation".into()), job.cwd, clock::now());
        };
        let run = (job.mode == Mode::ReadWrite).then(|| self.begin(&script, &job));
        let began = clock::now();
        let cwd = job.cwd.clone();
        let end = tokio::select! {
            biased;
            () = control.cancelled() => ended(End::Cancelled, cwd, began),
            end = self.body(script, job, began) => end,
        };
        self.world.note(format_args!("{} {} ends {:?}", self.gate.name(), script.id, end.end));
        drop(run);
        end
    }
}

impl Commands {
    fn begin(&self, script: &Script, job: &Job) -> Running<'_> {
        let world = &self.world;
        world.note(format_args!("{} {script} starts", self.gate.name()));
        if job.env.contains_key("SQLFS_FENCING_TOKEN") {
            let sandbox = lock(&world.sandboxes)[script.sandbox];
            world.must_hold(self.me, &self.gate, sandbox, "a script starts");
        } else {
            world.count("ran without a lease");
        }
        let mut runs = lock(&world.runs);
        runs.push(Run {
            sandbox: script.sandbox,
            id: script.id,
            began: world.now(),
            ended: None,
            gate: self.gate.clone(),
        });
        Running(world, runs.len() - 1)
    }

    async fn body(&self, script: Script, job: Job, began: clock::Instant) -> Ended {
        if self.fetch(&job).await.is_err() {
            return ended(End::Fs(Fatal::ContentUnavailable), job.cwd, began);
        }
        let work = async {
            for step in 0..STEPS {
                pause(script.ms * (step + 1) / STEPS - script.ms * step / STEPS).await;
                self.gate.pass().await;
            }
        };
        if tokio::time::timeout(job.timeout, work).await.is_err() {
            self.gate.pass().await;
            return ended(End::TimedOut, job.cwd, began);
        }
        let files = WorkingCopy::new(job.base, job.next_ino, job.mode, job.quota, job.content, || NOW_NS);
        let printed = script.act(&files);
        if let Some(fatal) = files.fatal() {
            return ended(End::Fs(fatal), job.cwd, began);
        }
        let code = match &printed {
            Ok(text) => {
                job.output.write(Stream::Stdout, text.as_bytes()).await;
                i32::from(script.act == Act::Fail)
            }
            Err(errno) => return ended(End::Failed(format!("{script}: {errno}")), job.cwd, began),
        };
        match files.finish() {
            Ok(changes) if job.mode == Mode::ReadWrite => {
                Ended { changes, ..ended(End::Exited(code), job.cwd, began) }
            }
            Ok(_) => ended(End::Exited(code), job.cwd, began),
            Err(errno) => ended(End::Failed(format!("{script} has no end: {errno}")), job.cwd, began),
        }
    }

    /// Brings what the script reads into the cache: the one thread of the simulation must
    /// not wait in a file call.
    async fn fetch(&self, job: &Job) -> Result<(), ()> {
        for path in [LOG, COUNTER].iter().chain(&ACCOUNTS) {
            let Ok((_, node)) = job.base.resolve(path, true) else { continue };
            let sqlfs::fs::NodeBody::File { sha256: Some(hash), .. } = node.body else { continue };
            if self.cache.contains(&tenant(), &hash) {
                continue;
            }
            for (hash, data) in self.store.blobs(&[hash]).await.map_err(drop)? {
                self.cache.insert(&tenant(), hash, data);
            }
            if !self.cache.contains(&tenant(), &hash) {
                return Err(());
            }
        }
        Ok(())
    }
}

/// File times tell nothing here.
pub const NOW_NS: i64 = 1_700_000_000_000_000_000;

/// A source that has no contents.
pub struct Nothing;

impl ContentSource for Nothing {
    fn read(&self, _sha256: &Sha256, _size: u64) -> Result<Bytes, ContentUnavailable> {
        Err(ContentUnavailable)
    }
}

fn ended(end: End, cwd: String, began: clock::Instant) -> Ended {
    Ended { end, cwd, changes: ChangeSet::default(), duration: began.elapsed(), warnings: Vec::new() }
}

/// Notes the end of a script that may write, however it comes.
struct Running<'a>(&'a World, usize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let now = self.0.now();
        lock(&self.0.runs)[self.1].ended = Some(now);
    }
}
