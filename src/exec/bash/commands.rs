//! The commands of `exec/commands/` as builtins of the engine.

use std::collections::BTreeMap;
use std::path::Path;

use bashkit::{BashBuilder, Builtin, BuiltinContext, ExecResult, FileType, Metadata, Result, async_trait};

use super::engine::Stage;
use super::file_system::nanoseconds;
use crate::clock;
use crate::exec::commands::{ALL, Call, Command, Lent, absolute, reads_lent};
use crate::fs::{Errno, Kind, Stat};

/// Gives the engine our commands in place of its own.
pub(super) fn register(mut bash: BashBuilder, stage: &Stage) -> BashBuilder {
    for (name, run) in ALL {
        bash = bash.builtin(name, Box::new(Ours { stage: stage.clone(), name, run }));
    }
    bash
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
        Ok(ExecResult {
            stdout: answer.stdout.into(),
            stderr: answer.stderr.into(),
            exit_code: answer.exit.into(),
            ..ExecResult::default()
        })
    }
}

impl Ours {
    /// Operands that only the engine knows: `/dev/fd/63`, `/etc/passwd`.
    async fn lent(&self, ctx: &BuiltinContext<'_>, cwd: &str) -> BTreeMap<String, Lent> {
        let mut lent = BTreeMap::new();
        for arg in ctx.args.iter().filter(|arg| !arg.starts_with('-')) {
            let path = absolute(cwd, arg);
            if !matches!(self.stage.scene().files.stat(&path, true), Err(Errno::ENOENT)) {
                continue;
            }
            let path = Path::new(&path);
            let Ok(metadata) = ctx.fs.stat(path).await else { continue };
            let data = if metadata.file_type == FileType::Directory {
                Vec::new()
            } else {
                match ctx.fs.read_file(path).await {
                    Ok(data) => data,
                    Err(_) => continue,
                }
            };
            lent.insert(arg.clone(), Lent { stat: stat(&metadata, data.len() as u64), data: data.into() });
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
