//! `yes` writes as long as somebody reads. A reader that wants everything, as `rm -i` does,
//! would get no end: there is one at a part of what a script may hold.

use bashkit::{Command, CommandContext, CommandStatus, Result, async_trait};

use crate::exec::bash::engine::Stage;
use crate::exec::commands::yes;

/// Lines are written so many bytes at a time, at least one.
const CHUNK: usize = 16 * 1024;

/// Of the memory limit, a byte for each so many: a reader may hold all of it, as bytes and
/// as text.
const BYTES_PART: u64 = 8;
/// And a line: a reader such as `sed` may hold all of them too, each with what it costs.
const LINES_PART: u64 = 128;

pub(super) struct Yes {
    pub(super) stage: Stage,
}

#[async_trait]
impl Command for Yes {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let line = match yes::line(ctx.args) {
            Ok(line) => line,
            Err(answer) => {
                ctx.stdout.write_all(&answer.stdout).await?;
                ctx.stderr.write_all(&answer.stderr).await?;
                return Ok(CommandStatus::with_code(answer.exit.into()));
            }
        };
        let chunk = line.repeat((CHUNK / line.len()).max(1));
        let memory = self.stage.scene().files.quota().memory;
        let most = (memory / BYTES_PART).min((memory / LINES_PART).saturating_mul(line.len() as u64));
        let mut written = 0;
        // A reader that has gone ends it: the engine makes 141 of the error.
        while written < most {
            ctx.stdout.write_all(&chunk).await?;
            written += chunk.len() as u64;
            tokio::task::yield_now().await;
        }
        let message =
            format!("yes: stopped after {written} bytes, which is as much as a script may read of it\n");
        ctx.stderr.write_all(message.as_bytes()).await?;
        Ok(CommandStatus::with_code(1))
    }
}
