//! Languages as commands: the sandbox must allow them, and the server has so many places
//! for their programs.

use std::collections::BTreeMap;

use bashkit::{BashBuilder, Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::result;
use crate::clock;
use crate::exec::bash::engine::Stage;
use crate::exec::commands::{Answer, Call, node};
use crate::exec::host::{Question, Reply, Runtime};
use crate::exec::stop::Cause;

/// Names that run JavaScript.
const NODE: [&str; 2] = ["node", "js-exec"];

pub(super) fn register(mut bash: BashBuilder, stage: &Stage) -> BashBuilder {
    for name in NODE {
        bash = bash.builtin(name, Box::new(Node { stage: stage.clone(), name }));
    }
    bash
}

fn complaint(exit: u8, text: &str) -> ExecResult {
    result(Answer { stderr: format!("{text}\n").into_bytes(), exit, ..Answer::default() })
}

struct Node {
    stage: Stage,
    name: &'static str,
}

#[async_trait]
impl Builtin for Node {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        let scene = self.stage.scene();
        let name = self.name;
        if !scene.permissions.javascript {
            let hint = "this sandbox was created without it; create one with \"javascript\": true";
            return Ok(complaint(127, &format!("{name}: command not found\n{name}: {hint}")));
        }
        match scene.host.ask(Question::Start(Runtime::JavaScript)).await {
            Reply::Done => {}
            Reply::Busy(why) => {
                scene.stop.stop(Cause::Limit("runtime_busy", why.clone()));
                return Ok(complaint(126, &format!("{name}: {why}")));
            }
            Reply::Refused(why) => return Ok(complaint(126, &format!("{name}: {why}"))),
            Reply::Fetched(_) | Reply::NotFetched(_) => {
                return Ok(complaint(126, &format!("{name}: the server gave no answer")));
            }
        }
        let cwd = ctx.cwd.to_str().unwrap_or("/").to_owned();
        let env = ctx.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        // What was printed before leaves now: the program may compute for long.
        tokio::task::yield_now().await;
        let answer = node::run(
            &Call {
                files: &scene.files,
                lent: &BTreeMap::new(),
                args: ctx.args,
                cwd: &cwd,
                stdin: ctx.stdin.map_or(&[], |stdin| stdin.as_bytes()),
                now_ns: clock::wall_ns(),
            },
            &env,
        );
        scene.host.ask(Question::Done(Runtime::JavaScript)).await;
        Ok(result(answer))
    }
}
