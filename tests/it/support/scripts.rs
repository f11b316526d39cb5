//! Scripts straight on the interpreter: a tree in memory, no store, no server.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use sqlfs::clock;
use sqlfs::exec::host::{Host, Permissions, Question, Reply};
use sqlfs::exec::{
    BashInterpreter, Captured, Control, Ended, Interpreter, Job, Output, ProcessInterpreter, Workers,
};
use sqlfs::fs::{ChangeSet, ContentSource, ContentUnavailable, Mode, Quota, Tree, WorkingCopy};
use sqlfs::ids::{Caller, Ino, Owner, SandboxId, Sha256, TenantId};

/// Contents by hash, as a store would hold them.
#[derive(Default)]
pub struct Contents(Mutex<HashMap<Sha256, Bytes>>);

impl Contents {
    fn keep(&self, changes: &ChangeSet) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for blob in &changes.blobs {
            if let Some(data) = &blob.data {
                held.insert(blob.sha256, data.clone());
            }
        }
    }
}

impl ContentSource for Contents {
    fn read(&self, sha256: &Sha256, _size: u64) -> Result<Bytes, ContentUnavailable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(sha256).cloned().ok_or(ContentUnavailable)
    }
}

/// A host that has nothing to give.
struct NoHost;

#[async_trait::async_trait]
impl Host for NoHost {
    async fn ask(&self, _question: Question) -> Reply {
        Reply::Refused("there is no server behind this script".to_owned())
    }
}

/// Limits that no test meets by accident.
pub const QUOTA: Quota = Quota { entries: 200_000, bytes: 1 << 30, file_bytes: 256 << 20, memory: 256 << 20 };

/// One interpreter for all tests that do not look at its threads or processes: worker
/// processes, or with `SQLFS_TEST_INTERPRETER=thread` threads of this one.
pub static INTERPRETER: LazyLock<Box<dyn Interpreter>> =
    LazyLock::new(|| match std::env::var("SQLFS_TEST_INTERPRETER").as_deref() {
        Ok("thread") => Box::new(BashInterpreter::new(8)),
        Ok("process") | Err(_) => Box::new(Processes::new(8)),
        Ok(other) => panic!("SQLFS_TEST_INTERPRETER is thread or process, not {other}"),
    });

/// How tests start worker processes.
pub fn workers(running: usize) -> Workers {
    Workers {
        program: env!("CARGO_BIN_EXE_sqlfs").into(),
        running,
        waiting: 8,
        waiting_python: 2,
        quota: QUOTA,
        memory: 1 << 30,
    }
}

/// Worker processes for tests that have runtimes of their own: their sockets need one that
/// outlives all tests.
struct Processes {
    interpreter: Arc<ProcessInterpreter>,
    runtime: tokio::runtime::Runtime,
}

impl Processes {
    fn new(running: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let entered = runtime.enter();
        let interpreter = Arc::new(ProcessInterpreter::new(workers(running)));
        drop(entered);
        Self { interpreter, runtime }
    }
}

#[async_trait::async_trait]
impl Interpreter for Processes {
    async fn run(&self, job: Job, control: Control) -> Ended {
        let interpreter = self.interpreter.clone();
        let mut tasks = tokio::task::JoinSet::new();
        // A task set ends its task when it is dropped, as the interpreter ends its job.
        tasks.spawn_on(async move { interpreter.run(job, control).await }, self.runtime.handle());
        tasks.join_next().await.expect("one task").expect("no panic")
    }
}

/// A file system that lives as long as the test, changed by what ends by itself.
#[derive(Clone)]
pub struct Sandbox {
    pub id: SandboxId,
    pub tree: Tree,
    pub next_ino: Ino,
    pub contents: Arc<Contents>,
}

/// What a script came to.
#[derive(Debug)]
pub struct Ran {
    pub ended: Ended,
    pub output: Captured,
}

impl Ran {
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

impl Sandbox {
    pub fn new() -> Self {
        let (tree, next_ino) = Tree::first(clock::wall_ns());
        Self { id: SandboxId::random(), tree, next_ino, contents: Arc::default() }
    }

    /// A read-write job over the present tree.
    pub fn job(&self, script: &str) -> Job {
        Job {
            caller: Caller { tenant: TenantId("default".into()), owner: Owner("tests".into()) },
            sandbox: self.id,
            script: script.to_owned(),
            debug: false,
            cwd: "/home/user".to_owned(),
            env: BTreeMap::new(),
            args: Vec::new(),
            stdin: None,
            timeout: Duration::from_mins(1),
            base: self.tree.clone(),
            next_ino: self.next_ino,
            mode: Mode::ReadWrite,
            quota: QUOTA,
            content: self.contents.clone(),
            output: Arc::new(Output::buffered(16 << 20)),
            permissions: Permissions::default(),
            host: Arc::new(NoHost),
        }
    }

    /// Runs a job and makes its changes true.
    pub async fn run_job(&mut self, job: Job) -> Ran {
        let output = job.output.clone();
        let ended = INTERPRETER.run(job, Control::new()).await;
        self.apply(&ended.changes);
        Ran { output: output.take(), ended }
    }

    pub async fn run(&mut self, script: &str) -> Ran {
        self.run_job(self.job(script)).await
    }

    pub fn apply(&mut self, changes: &ChangeSet) {
        self.contents.keep(changes);
        self.tree = self.tree.apply(&changes.delta).expect("the changes fit the tree");
        // An empty change set knows no number.
        self.next_ino = self.next_ino.max(changes.next_ino);
    }

    /// To look at the files, or to put some there ahead of a script.
    pub fn working_copy(&self) -> WorkingCopy {
        WorkingCopy::new(
            self.tree.clone(),
            self.next_ino,
            Mode::ReadWrite,
            QUOTA,
            self.contents.clone(),
            clock::wall_ns,
        )
    }

    /// Makes an edit true.
    pub fn edit(&mut self, edit: impl FnOnce(&WorkingCopy)) {
        let working_copy = self.working_copy();
        edit(&working_copy);
        self.apply(&working_copy.finish().expect("the edit is good"));
    }
}
