//! The commands of `exec/commands/` as builtins of the engine.

use std::collections::BTreeMap;
use std::path::Path;

use bashkit::{
    BashBuilder, Builtin, BuiltinContext, ExecResult, ExecutionPlan, FileType, Metadata, Result, SubCommand,
    async_trait,
};

use super::engine::Stage;
use super::file_system::nanoseconds;
use crate::clock;
use crate::exec::commands::fetch::Net;
use crate::exec::commands::{ALL, Answer, Call, Command, Lent, absolute, curl, git, reads_lent, wget, xargs};
use crate::fs::{Errno, Kind, Quota, Stat};

mod find;
mod programs;
mod yes;

/// Gives the engine our commands in place of its own.
pub(super) fn register(mut bash: BashBuilder, stage: &Stage, quota: &Quota) -> BashBuilder {
    for &(name, run) in ALL {
        bash = bash.builtin(name, Box::new(Ours { stage: stage.clone(), name, run }));
    }
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
        let call = Call {
            files: &scene.files,
            lent: &lent,
            args: ctx.args,
            cwd: ctx.cwd.to_str().unwrap_or("/"),
            stdin: ctx.stdin.map_or(&[], |stdin| stdin.as_bytes()),
            now_ns: clock::wall_ns(),
        };
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
    fn script(&self, ctx: &BuiltinContext<'_>) -> std::result::Result<String, Answer> {
        xargs::script(&Call {
            files: &self.stage.scene().files,
            lent: &BTreeMap::new(),
            args: ctx.args,
            cwd: ctx.cwd.to_str().unwrap_or("/"),
            stdin: ctx.stdin.map_or(&[], |stdin| stdin.as_bytes()),
            now_ns: clock::wall_ns(),
        })
    }
}

#[async_trait]
impl Builtin for Xargs {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        Ok(result(self.script(&ctx).err().unwrap_or_default()))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> Result<Option<ExecutionPlan>> {
        let Ok(script) = self.script(ctx) else { return Ok(None) };
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
        let cwd = ctx.cwd.to_str().unwrap_or("/").to_owned();
        let lent = if reads_lent(self.name) { self.lent(&ctx, &cwd).await } else { BTreeMap::new() };
        // What was printed before leaves now: the command may compute for long.
        tokio::task::yield_now().await;
        let call = Call {
            files: &self.stage.scene().files,
            lent: &lent,
            args: ctx.args,
            cwd: &cwd,
            stdin: ctx.stdin.map_or(&[], |stdin| stdin.as_bytes()),
            now_ns: clock::wall_ns(),
        };
        let answer = (self.run)(&call);
        if answer.exit != 0
            && let Some(line) = refused_option(&answer.stderr)
        {
            self.stage.scene().seen.warn(line);
        }
        Ok(result(answer))
    }
}

/// The line in which a command says that it does not know an option.
fn refused_option(stderr: &[u8]) -> Option<String> {
    let line = stderr.split(|&byte| byte == b'\n').find(|line| !line.is_empty())?;
    let line = std::str::from_utf8(line).ok()?;
    let refused = line.contains(": invalid option -- ") || line.contains(": unrecognized option ");
    refused.then(|| line.to_owned())
}

impl Ours {
    /// Operands that only the engine knows: `/dev/fd/63`, `/etc/passwd`; for `ls` the
    /// root too, which has its directories.
    async fn lent(&self, ctx: &BuiltinContext<'_>, cwd: &str) -> BTreeMap<String, Lent> {
        let mut lent = BTreeMap::new();
        let lists = self.name == "ls";
        let here = if lists && cwd == "/" { Some(".") } else { None };
        let operands =
            ctx.args.iter().map(String::as_str).filter(|arg| !arg.is_empty() && !arg.starts_with('-'));
        for arg in operands.chain(here) {
            let path = absolute(cwd, arg);
            let root = lists && path.starts_with('/') && path.trim_end_matches(['/', '.']).is_empty();
            if !root && !matches!(self.stage.scene().files.stat(&path, true), Err(Errno::ENOENT)) {
                continue;
            }
            let path = Path::new(&path);
            let Ok(metadata) = ctx.fs.stat(path).await else { continue };
            let (mut data, mut entries) = (Vec::new(), Vec::new());
            if metadata.file_type != FileType::Directory {
                match ctx.fs.read_file(path).await {
                    Ok(read) => data = read,
                    Err(_) => continue,
                }
            } else if lists {
                let found = ctx.fs.read_dir(path).await.unwrap_or_default();
                entries.extend(found.into_iter().map(|entry| {
                    let size = entry.metadata.size;
                    (entry.name.into(), stat(&entry.metadata, size))
                }));
            }
            let stat = stat(&metadata, data.len() as u64);
            lent.insert(arg.to_owned(), Lent { stat, data: data.into(), entries });
        }
        lent
    }
}

fn stat(metadata: &Metadata, size: u64) -> Stat {
    let (kind, size) = match metadata.file_type {
        FileType::Directory => (Kind::Dir, 4096),
        _ => (Kind::File, size),
    };
    let mtime_ns = nanoseconds(metadata.modified);
    Stat { ino: 0, kind, mode: metadata.mode & 0o7777, size, mtime_ns, nlink: 1 }
}
