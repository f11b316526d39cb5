//! Commands that read standard input as it comes. They must be ones of the engine's that
//! stream: by the names `cat` and `grep` alone it gives their standard input away as a pipe,
//! which no other builtin can read.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bashkit::{
    BashBuilder, Builtin, BuiltinContext, BuiltinRegistry, Command, CommandContext, CommandStatus, Error,
    ExecResult, Result, async_trait,
};

use super::{Dirs, lent, warn_of_refused_option};
use crate::clock;
use crate::exec::bash::engine::Stage;
use crate::exec::commands::filter::{Begin, Next};
use crate::exec::commands::{Answer, Call, FILTERS};

/// Gives the engine ours in place of its own.
pub(super) fn register(mut bash: BashBuilder, stage: &Stage) -> BashBuilder {
    for &(name, begin) in FILTERS {
        bash = bash.builtin(name, Box::new(Filtering { stage: stage.clone(), name, begin }));
    }
    bash
}

struct Filtering {
    stage: Stage,
    name: &'static str,
    begin: Begin,
}

#[async_trait]
impl Builtin for Filtering {
    fn streams_io(&self) -> bool {
        true
    }

    /// Standard input that is all here is taken in one piece. The engine would copy it, with a
    /// second one as text, and give it in pieces of 4 KiB.
    async fn execute(&self, mut ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        let held = ctx.stdin.take().map(|stdin| stdin.as_bytes().to_vec()).unwrap_or_default();
        let call = FilterCall { stage: self.stage.clone(), begin: self.begin, held: Mutex::new(held) };
        let registry = BuiltinRegistry::new();
        registry.insert_command(self.name, call);
        let command = registry.lookup(self.name).ok_or_else(|| Error::Internal("no command".to_owned()))?;
        command.execute(ctx).await
    }
}

/// One call, with the standard input that is here.
struct FilterCall {
    stage: Stage,
    begin: Begin,
    held: Mutex<Vec<u8>>,
}

impl FilterCall {
    /// More of standard input, none at its end.
    async fn input(&self, ctx: &CommandContext<'_>) -> Result<Vec<u8>> {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        if held.is_empty() { Ok(ctx.stdin.read_chunk().await?.unwrap_or_default()) } else { Ok(held) }
    }

    /// Lets out what was printed. What a command refused is told to the agent as well.
    async fn let_out(&self, ctx: &CommandContext<'_>, answer: &mut Answer) -> Result<()> {
        if !answer.stdout.is_empty() {
            ctx.stdout.write_all(&std::mem::take(&mut answer.stdout)).await?;
        }
        if !answer.stderr.is_empty() {
            let stderr = std::mem::take(&mut answer.stderr);
            warn_of_refused_option(&self.stage, &stderr);
            ctx.stderr.write_all(&stderr).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Command for FilterCall {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let cwd = Path::to_str(ctx.cwd).unwrap_or("/").to_owned();
        // Only `grep` goes into directories.
        let dirs = if ctx.name.ends_with("grep") { Dirs::Read } else { Dirs::Closed };
        let lent = lent(&self.stage, &*ctx.fs, ctx.args, &cwd, dirs).await;
        // What was printed before leaves now: the command may compute for long.
        tokio::task::yield_now().await;
        let call = Call {
            files: &self.stage.scene().files,
            lent: &lent,
            args: ctx.args,
            cwd: &cwd,
            stdin: &[],
            now_ns: clock::wall_ns(),
        };
        let mut answer = Answer::default();
        let mut filter = match (self.begin)(&call) {
            Ok(filter) => filter,
            Err(mut answer) => {
                self.let_out(&ctx, &mut answer).await?;
                return Ok(CommandStatus::with_code(answer.exit.into()));
            }
        };
        let mut input: Option<Vec<u8>> = None;
        while !call.is_over() {
            let next = filter.step(&call, input.take().as_deref(), &mut answer);
            self.let_out(&ctx, &mut answer).await?;
            match next {
                Next::Input => input = Some(self.input(&ctx).await?),
                Next::Print(data) => ctx.stdout.write_all(&data).await?,
                Next::Again => {}
                Next::Done => break,
            }
        }
        Ok(CommandStatus::with_code(answer.exit.into()))
    }
}
