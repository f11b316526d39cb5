//! Commands that read standard input as it comes. They must be commands of the engine that
//! stream: by the names `cat` and `grep` alone it gives their standard input away as a pipe,
//! which no other builtin can read.

use std::path::Path;

use bashkit::{BashBuilder, Command, CommandContext, CommandStatus, Result, async_trait};

use super::{lent, refused_option};
use crate::clock;
use crate::exec::bash::engine::Stage;
use crate::exec::commands::filter::{Begin, Next};
use crate::exec::commands::{Answer, Call, FILTERS};

/// Gives the engine ours in place of its own.
pub(super) fn register(mut bash: BashBuilder, stage: &Stage) -> BashBuilder {
    for &(name, begin) in FILTERS {
        bash = bash.command(name, Filtering { stage: stage.clone(), begin });
    }
    bash
}

struct Filtering {
    stage: Stage,
    begin: Begin,
}

impl Filtering {
    /// Lets out what was printed. What a command refused is told to the agent as well.
    async fn let_out(&self, ctx: &CommandContext<'_>, answer: &mut Answer) -> Result<()> {
        if !answer.stdout.is_empty() {
            ctx.stdout.write_all(&std::mem::take(&mut answer.stdout)).await?;
        }
        if !answer.stderr.is_empty() {
            let stderr = std::mem::take(&mut answer.stderr);
            if let Some(line) = refused_option(&stderr) {
                self.stage.scene().seen.warn(line);
            }
            ctx.stderr.write_all(&stderr).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Command for Filtering {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let cwd = Path::to_str(ctx.cwd).unwrap_or("/").to_owned();
        let lent = lent(&self.stage, &*ctx.fs, ctx.args, &cwd, false).await;
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
        let mut filter = match (self.begin)(&call) {
            Ok(filter) => filter,
            Err(mut answer) => {
                self.let_out(&ctx, &mut answer).await?;
                return Ok(CommandStatus::with_code(answer.exit.into()));
            }
        };
        let mut answer = Answer::default();
        let mut input: Option<Vec<u8>> = None;
        loop {
            let next = filter.step(&call, input.as_deref(), &mut answer);
            input = None;
            self.let_out(&ctx, &mut answer).await?;
            match next {
                Next::Input => input = Some(ctx.stdin.read_chunk().await?.unwrap_or_default()),
                Next::Print(data) => ctx.stdout.write_all(&data).await?,
                Next::Again => {}
                Next::Done => return Ok(CommandStatus::with_code(answer.exit.into())),
            }
            if call.files.fatal().is_some() {
                return Ok(CommandStatus::with_code(answer.exit.into()));
            }
        }
    }
}
