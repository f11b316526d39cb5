//! `find` with commands in its expression. The engine is given a short script that asks the
//! search for the next command, runs it, and tells the search how it ended.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bashkit::{
    Builtin, BuiltinContext, DirEntry, ExecResult, ExecutionPlan, FileType, Metadata, Result, SubCommand,
    async_trait,
};
use bytes::Bytes;

use super::{call, result, stat};
use crate::exec::bash::engine::Stage;
use crate::exec::commands::{Answer, Lent, absolute, find};
use crate::fs::Errno;

/// First word of a call by which the script asks. No predicate or path of a script is so.
const STEP: &str = "\u{1}step";

/// Where the script finds the command, in the end the exit.
const NEXT: &str = "__find";

/// Entries of what only the engine has that a search sees.
const MOST_LENT: usize = 10_000;

/// Searches that wait for a command; each is in the script of its own call.
#[derive(Default)]
struct Runs {
    next: u64,
    waiting: HashMap<u64, find::Run>,
}

pub(super) struct Find {
    stage: Stage,
    runs: Mutex<Runs>,
}

impl Find {
    pub(super) fn new(stage: Stage) -> Self {
        Self { stage, runs: Mutex::default() }
    }

    fn runs(&self) -> std::sync::MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(
        &self,
        ctx: &BuiltinContext<'_>,
        lent: &BTreeMap<String, Lent>,
    ) -> std::result::Result<find::Run, Answer> {
        find::start(&call(&self.stage, ctx, lent), true)
    }

    /// What there is at starting points that only the engine knows. The root has them too.
    async fn lent(&self, ctx: &BuiltinContext<'_>) -> BTreeMap<String, Lent> {
        let files = &self.stage.scene().files;
        let cwd = ctx.cwd.to_str().unwrap_or("/");
        let mut starts = find::starts(ctx.args);
        if starts.is_empty() {
            starts.push(".".to_owned());
        }
        let mut lent = BTreeMap::new();
        for start in starts {
            let path = absolute(cwd, &start);
            let known = files.canonical(&path);
            let is_root = known.as_deref() == Ok("/");
            if !is_root && (start.is_empty() || !matches!(known, Err(Errno::ENOENT))) {
                continue;
            }
            let mut waiting =
                vec![if is_root { "/".to_owned() } else { path.trim_end_matches('/').to_owned() }];
            while let Some(path) = waiting.pop() {
                let place = Path::new(&path);
                let Ok(metadata) = ctx.fs.stat(place).await else { continue };
                if metadata.file_type == FileType::Directory && lent.len() < MOST_LENT {
                    let entries: Vec<DirEntry> = ctx.fs.read_dir(place).await.unwrap_or_default();
                    let below = entries
                        .into_iter()
                        .map(|entry| format!("{}/{}", path.trim_end_matches('/'), entry.name));
                    // What the sandbox has is seen without this.
                    waiting.extend(below.filter(|path| files.stat(path, false).is_err()));
                }
                if path != "/" {
                    lent.insert(path, seen(&metadata));
                }
            }
        }
        // Files to compare with.
        for arg in ctx.args.iter().filter(|arg| arg.starts_with('/')) {
            if !lent.contains_key(arg)
                && matches!(files.stat(arg, true), Err(Errno::ENOENT))
                && let Ok(metadata) = ctx.fs.stat(Path::new(arg)).await
            {
                lent.insert(arg.clone(), seen(&metadata));
            }
        }
        lent
    }

    /// One step: what the search prints, and its next command for the script.
    fn step(&self, ctx: BuiltinContext<'_>) -> Option<Answer> {
        let [_, number, status] = ctx.args else { return None };
        let number = number.parse().ok()?;
        let mut run = self.runs().waiting.remove(&number)?;
        let next = run.resume(status.parse().unwrap_or(1));
        let mut answer = run.take();
        match next {
            Some(command) => {
                answer.exit = 0;
                ctx.variables.insert(NEXT.to_owned(), command);
                self.runs().waiting.insert(number, run);
            }
            None => {
                ctx.variables.insert(NEXT.to_owned(), answer.exit.to_string());
                answer.exit = 1;
            }
        }
        Some(answer)
    }
}

/// What only the engine has, as a search sees it: no bytes.
fn seen(metadata: &Metadata) -> Lent {
    Lent { stat: stat(metadata, metadata.size), data: Bytes::new(), entries: Vec::new() }
}

#[async_trait]
impl Builtin for Find {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        // What was printed before leaves now: the walk may take long.
        tokio::task::yield_now().await;
        if ctx.args.first().is_some_and(|arg| arg == STEP) {
            return Ok(result(self.step(ctx).unwrap_or_default()));
        }
        let lent = self.lent(&ctx).await;
        Ok(result(find::run(&call(&self.stage, &ctx, &lent))))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> Result<Option<ExecutionPlan>> {
        if !find::runs_commands(ctx.args) {
            return Ok(None);
        }
        let lent = self.lent(ctx).await;
        let Ok(run) = self.start(ctx, &lent) else { return Ok(None) };
        let number = {
            let mut runs = self.runs();
            runs.next += 1;
            let number = runs.next;
            runs.waiting.insert(number, run);
            number
        };
        let script = format!(
            "__status=0; while command find '{STEP}' {number} \"$__status\"; do eval \"${NEXT}\"; \
             __status=$?; done; exit \"${NEXT}\""
        );
        let command = SubCommand {
            name: "bash".to_owned(),
            args: vec!["-c".to_owned(), script, "find".to_owned()],
            stdin: ctx.stdin.cloned(),
            assignments: Vec::new(),
        };
        Ok(Some(ExecutionPlan::Batch { commands: vec![command] }))
    }
}
