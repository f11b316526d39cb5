//! Languages as commands: the sandbox must allow them, and the server has so many places
//! for their programs.

use std::collections::BTreeMap;

use bashkit::{BashBuilder, Builtin, BuiltinContext, CPython, ExecResult, Result, async_trait};

use super::{exported, result};
use crate::clock;
use crate::exec::bash::engine::{Scene, Stage};
use crate::exec::bash::python;
use crate::exec::commands::{Answer, Call, node};
use crate::exec::host::{Question, Reply, Runtime};
use crate::exec::stop::Cause;
use crate::fs::Quota;

/// Names that run JavaScript.
const NODE: [&str; 2] = ["node", "js-exec"];

/// Names that run Python.
const PYTHON: [&str; 2] = ["python3", "python"];

pub(super) fn register(mut bash: BashBuilder, stage: &Stage, quota: &Quota) -> BashBuilder {
    for name in NODE {
        bash = bash.builtin(name, Box::new(Node { stage: stage.clone(), name }));
    }
    for name in PYTHON {
        let python = python::builtin(quota);
        bash = bash.builtin(name, Box::new(Python { stage: stage.clone(), name, python }));
    }
    bash
}

fn complaint(exit: u8, text: &str) -> ExecResult {
    result(Answer { stderr: format!("{text}\n").into_bytes(), exit, ..Answer::default() })
}

/// A place to run a program in, asked of the server.
struct Place<'a> {
    scene: &'a Scene,
    runtime: Runtime,
}

impl<'a> Place<'a> {
    /// Waits for one. Without one the command ends with the result.
    async fn take(scene: &'a Scene, runtime: Runtime, name: &str) -> std::result::Result<Self, ExecResult> {
        let (allowed, field) = match runtime {
            Runtime::Python => (scene.permissions.python, "python"),
            Runtime::JavaScript => (scene.permissions.javascript, "javascript"),
        };
        if !allowed {
            let hint = format!("the sandbox was created without \"{field}\": true, or this server runs none");
            return Err(complaint(127, &format!("{name}: command not found\n{name}: {hint}")));
        }
        match scene.host.ask(Question::Start(runtime)).await {
            Reply::Done => {}
            Reply::Busy(why) => {
                scene.stop.stop(Cause::Limit("runtime_busy", why.clone()));
                return Err(complaint(126, &format!("{name}: {why}")));
            }
            Reply::Refused(why) => return Err(complaint(126, &format!("{name}: {why}"))),
            Reply::Fetched(_) | Reply::NotFetched(_) => {
                return Err(complaint(126, &format!("{name}: the server gave no answer")));
            }
        }
        // What was printed before leaves now: the program may compute for long.
        tokio::task::yield_now().await;
        Ok(Self { scene, runtime })
    }

    /// Gives it back. (When a script is cut off, the server takes it back itself.)
    async fn leave(self) {
        self.scene.host.ask(Question::Done(self.runtime)).await;
    }
}

struct Node {
    stage: Stage,
    name: &'static str,
}

#[async_trait]
impl Builtin for Node {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        let scene = self.stage.scene();
        let place = match Place::take(scene, Runtime::JavaScript, self.name).await {
            Ok(place) => place,
            Err(without) => return Ok(without),
        };
        let cwd = ctx.cwd.to_str().unwrap_or("/").to_owned();
        let answer = node::run(
            &Call {
                files: &scene.files,
                lent: &BTreeMap::new(),
                args: ctx.args,
                cwd: &cwd,
                stdin: ctx.stdin.map_or(&[], |stdin| stdin.as_bytes()),
                now_ns: clock::wall_ns(),
            },
            &exported(&ctx),
        );
        place.leave().await;
        Ok(result(answer))
    }
}

struct Python {
    stage: Stage,
    name: &'static str,
    python: CPython,
}

#[async_trait]
impl Builtin for Python {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        let place = match Place::take(self.stage.scene(), Runtime::Python, self.name).await {
            Ok(place) => place,
            Err(without) => return Ok(without),
        };
        let args = python::command_line(ctx.args);
        let mut ctx: BuiltinContext<'_> = ctx;
        ctx.args = &args;
        let ran = self.python.execute(ctx).await;
        place.leave().await;
        ran
    }
}
