//! The commands of `exec/commands/` as builtins of the engine.

use std::collections::BTreeMap;
use std::path::Path;

use bashkit::{
    BashBuilder, Builtin, BuiltinContext, ExecResult, ExecutionPlan, FileSystem, FileType, Metadata, Result,
    SubCommand, async_trait,
};

use super::engine::Stage;
use super::file_system::nanoseconds;
use crate::clock;
use crate::exec::commands::fetch::Net;
use crate::exec::commands::{
    ALL, Answer, Call, Command, Lent, absolute, curl, git, join, reads_lent, wget, xargs,
};
use crate::fs::{Errno, Kind, Quota, Stat, WorkingCopy};

mod filters;
mod find;
mod programs;
mod yes;

/// Gives the engine our commands in place of its own.
pub(super) fn register(mut bash: BashBuilder, stage: &Stage, quota: &Quota) -> BashBuilder {
    for &(name, run) in ALL {
        bash = bash.builtin(name, Box::new(Ours { stage: stage.clone(), name, run }));
    }
    bash = filters::register(bash, stage);
    for name in ["curl", "git", "wget"] {
        bash = bash.builtin(name, Box::new(Fetching { stage: stage.clone(), name }));
    }
    bash = programs::register(bash, stage, quota).command("yes", yes::Yes { stage: stage.clone() });
    bash = bash.builtin("find", Box::new(find::Find::new(stage.clone())));
    bash.builtin("xargs", Box::new(Xargs { stage: stage.clone() }))
}

fn result(answer: Answer) -> ExecResult {
    ExecResult {
        stdout: answer.stdout.into(),
        stderr: answer.stderr.into(),
        exit_code: answer.exit.into(),
        ..ExecResult::default()
    }
}

/// A call as a command of ours takes it.
fn call<'a>(stage: &'a Stage, ctx: &'a BuiltinContext<'_>, lent: &'a BTreeMap<String, Lent>) -> Call<'a> {
    Call {
        files: &stage.scene().files,
        lent,
        args: ctx.args,
        cwd: ctx.cwd.to_str().unwrap_or("/"),
        stdin: ctx.stdin.map_or(&[], |stdin| stdin.as_bytes()),
        now_ns: clock::wall_ns(),
    }
}

/// The variables that a command of the script sees.
fn exported(ctx: &BuiltinContext<'_>) -> BTreeMap<String, String> {
    ctx.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Commands that reach the network: they ask the server, and wait.
struct Fetching {
    stage: Stage,
    name: &'static str,
}

#[async_trait]
impl Builtin for Fetching {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        // What was printed before leaves now: the answer may take long.
        tokio::task::yield_now().await;
        let scene = self.stage.scene();
        let lent = substituted(&ctx).await;
        let call = call(&self.stage, &ctx, &lent);
        let net = Net { host: &*scene.host, allowed: scene.permissions.network };
        Ok(result(match self.name {
            "curl" => curl::run(&call, &net).await,
            "git" => git::run(&call, &exported(&ctx), &net).await,
            _ => wget::run(&call, &net).await,
        }))
    }
}

/// What stands behind `@/dev/fd/63`, wherever in an argument it is named.
async fn substituted(ctx: &BuiltinContext<'_>) -> BTreeMap<String, Lent> {
    let mut lent = BTreeMap::new();
    for arg in ctx.args {
        let Some(at) = arg.find("/dev/fd/") else { continue };
        let name = arg[at..].split(';').next().unwrap_or_default();
        let path = Path::new(name);
        if let (Ok(data), Ok(metadata)) = (ctx.fs.read_file(path).await, ctx.fs.stat(path).await) {
            let stat = stat(&metadata, data.len() as u64);
            lent.insert(name.to_owned(), Lent { stat, data: data.into(), entries: Vec::new() });
        }
    }
    lent
}

/// Runs commands: the engine is given a script for them.
struct Xargs {
    stage: Stage,
}

impl Xargs {
    async fn script(&self, ctx: &BuiltinContext<'_>) -> std::result::Result<String, Answer> {
        let cwd = ctx.cwd.to_str().unwrap_or("/");
        let lent = lent(&self.stage, &*ctx.fs, ctx.args, cwd, Dirs::Closed).await;
        xargs::script(&call(&self.stage, ctx, &lent))
    }
}

#[async_trait]
impl Builtin for Xargs {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        Ok(result(self.script(&ctx).await.err().unwrap_or_default()))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> Result<Option<ExecutionPlan>> {
        let Ok(script) = self.script(ctx).await else { return Ok(None) };
        let command = SubCommand {
            name: "bash".to_owned(),
            args: vec!["-c".to_owned(), script, "xargs".to_owned()],
            stdin: None,
            assignments: Vec::new(),
        };
        Ok(Some(ExecutionPlan::Batch { commands: vec![command] }))
    }
}

struct Ours {
    stage: Stage,
    name: &'static str,
    run: Command,
}

#[async_trait]
impl Builtin for Ours {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        let cwd = ctx.cwd.to_str().unwrap_or("/");
        let dirs = if self.name == "ls" { Dirs::Listed } else { Dirs::Closed };
        let lent = if reads_lent(self.name) {
            lent(&self.stage, &*ctx.fs, ctx.args, cwd, dirs).await
        } else {
            BTreeMap::new()
        };
        // What was printed before leaves now: the command may compute for long.
        tokio::task::yield_now().await;
        let answer = (self.run)(&call(&self.stage, &ctx, &lent));
        if answer.exit != 0 {
            warn_of_refused_option(&self.stage, &answer.stderr);
        }
        Ok(result(answer))
    }
}

/// Tells the agent, too, if a command says that it does not know an option.
fn warn_of_refused_option(stage: &Stage, stderr: &[u8]) {
    let line = stderr.split(|&byte| byte == b'\n').find(|line| !line.is_empty());
    let Some(line) = line.and_then(|line| std::str::from_utf8(line).ok()) else { return };
    if line.contains(": invalid option -- ") || line.contains(": unrecognized option ") {
        stage.scene().seen.warn(line.to_owned());
    }
}

/// Who looks at directories that only the engine knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dirs {
    /// Nobody: that they are there is enough.
    Closed,
    /// Who lists them; the root too, which has its own.
    Listed,
    /// Who reads all below them.
    Read,
}

/// Files below one directory that are read, at most.
const MOST_BELOW: usize = 10_000;

/// Operands that only the engine knows: `/dev/fd/63`, `/etc/passwd`.
async fn lent<'a>(
    stage: &Stage,
    fs: &dyn FileSystem,
    args: &'a [String],
    cwd: &str,
    dirs: Dirs,
) -> BTreeMap<String, Lent> {
    let mut lent = BTreeMap::new();
    let here = if dirs == Dirs::Listed && cwd == "/" { Some(".") } else { None };
    // A long option may have one behind its equals sign.
    let operand = |arg: &'a String| match arg.strip_prefix("--") {
        Some(option) => option.split_once('=').map(|(_, value)| value),
        None => Some(arg.as_str()).filter(|arg| !arg.starts_with('-')),
    };
    let operands = args.iter().filter_map(operand).filter(|operand| !operand.is_empty());
    for arg in operands.chain(here) {
        let path = absolute(cwd, arg);
        let root =
            dirs == Dirs::Listed && path.starts_with('/') && path.trim_end_matches(['/', '.']).is_empty();
        if !root && !may_be_lent(&stage.scene().files, cwd, arg, &path) {
            continue;
        }
        let Some(found) = lend(fs, &path, dirs).await else { continue };
        let mut below: Vec<String> = Vec::new();
        let names = |dir: &str, found: &Lent| -> Vec<String> {
            found.entries.iter().map(|(name, _)| join(dir, name)).collect()
        };
        if dirs == Dirs::Read {
            below.extend(names(arg, &found));
        }
        lent.insert(arg.to_owned(), found);
        while let Some(name) = below.pop().filter(|_| lent.len() < MOST_BELOW) {
            let Some(found) = lend(fs, &absolute(cwd, &name), dirs).await else { continue };
            below.extend(names(&name, &found));
            lent.insert(name, found);
        }
    }
    lent
}

/// Whether the engine is worth asking: not for a plain name, which a pattern mostly is, in a
/// directory of the sandbox below `/home`, where it invents nothing.
fn may_be_lent(files: &WorkingCopy, cwd: &str, arg: &str, path: &str) -> bool {
    if !matches!(files.stat(path, true), Err(Errno::ENOENT)) {
        return false;
    }
    let own = || files.canonical(cwd).is_ok_and(|cwd| cwd.starts_with("/home/"));
    arg.contains('/') || files.stat(path, false).is_ok() || !own()
}

/// What the engine has there.
async fn lend(fs: &dyn FileSystem, path: &str, dirs: Dirs) -> Option<Lent> {
    let path = Path::new(path);
    let metadata = fs.stat(path).await.ok()?;
    let (mut data, mut entries) = (Vec::new(), Vec::new());
    if metadata.file_type != FileType::Directory {
        data = fs.read_file(path).await.ok()?;
    } else if dirs != Dirs::Closed {
        let found = fs.read_dir(path).await.unwrap_or_default();
        entries.extend(found.into_iter().map(|entry| {
            let size = entry.metadata.size;
            (entry.name.into(), stat(&entry.metadata, size))
        }));
    }
    let stat = stat(&metadata, data.len() as u64);
    Some(Lent { stat, data: data.into(), entries })
}

fn stat(metadata: &Metadata, size: u64) -> Stat {
    let (kind, size) = match metadata.file_type {
        FileType::Directory => (Kind::Dir, 4096),
        _ => (Kind::File, size),
    };
    let mtime_ns = nanoseconds(metadata.modified);
    Stat { ino: 0, kind, mode: metadata.mode & 0o7777, size, mtime_ns, nlink: 1 }
}
