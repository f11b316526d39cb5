//! Languages as commands: the sandbox must allow them, and the server has so many places
//! for their programs.

use std::collections::BTreeMap;

use bashkit::{
    BashBuilder, Builtin, BuiltinContext, CPython, Command, CommandContext, CommandInput, CommandStatus,
    ExecResult, Result, async_trait,
};

use super::result;
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
        bash = bash.command(name, Node { stage: stage.clone(), name });
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
impl Command for Node {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let scene = self.stage.scene();
        let place = match Place::take(scene, Runtime::JavaScript, self.name).await {
            Ok(place) => place,
            Err(without) => {
                ctx.stderr.write_all(without.stderr.as_bytes()).await?;
                return Ok(CommandStatus::with_code(without.exit_code));
            }
        };
        let ran = self.run(scene, &ctx).await;
        place.leave().await;
        Ok(CommandStatus::with_code(ran?.into()))
    }
}

impl Node {
    async fn run(&self, scene: &Scene, ctx: &CommandContext<'_>) -> Result<u8> {
        let Some(stdin) = whole(&ctx.stdin, scene.files.quota().memory).await? else {
            let text = format!("{}: standard input is larger than EXEC_MEMORY_BYTES\n", self.name);
            ctx.stderr.write_all(text.as_bytes()).await?;
            return Ok(1);
        };
        let env = ctx.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let started = node::start(
            &Call {
                files: &scene.files,
                lent: &BTreeMap::new(),
                args: ctx.args,
                cwd: ctx.cwd.to_str().unwrap_or("/"),
                stdin: &stdin,
                now_ns: clock::wall_ns(),
            },
            &env,
        );
        let mut running = match started {
            Ok(running) => running,
            Err(answer) => {
                ctx.stdout.write_all(&answer.stdout).await?;
                ctx.stderr.write_all(&answer.stderr).await?;
                return Ok(answer.exit);
            }
        };
        loop {
            match running.go_on() {
                node::Step::Printed(pieces) => {
                    for piece in pieces {
                        let to = if piece.error { &ctx.stderr } else { &ctx.stdout };
                        to.write_all(&piece.data).await?;
                    }
                    // Whoever reads it has its turn now. The engine's readers of the two outputs are
                    // looked at in no fixed order, and what one of them was given may wait for the
                    // other: once is not enough for both.
                    for _ in 0..READERS_TURNS {
                        tokio::task::yield_now().await;
                    }
                }
                node::Step::Waits(time) => tokio::time::sleep(time).await,
                node::Step::Ended(exit) => return Ok(exit),
            }
        }
    }
}

/// All of standard input; `None`: it is larger than a script may hold.
async fn whole(stdin: &CommandInput, most: u64) -> Result<Option<Vec<u8>>> {
    let mut all = Vec::new();
    while let Some(piece) = stdin.read_chunk().await? {
        if (all.len() + piece.len()) as u64 > most {
            return Ok(None);
        }
        all.extend_from_slice(&piece);
    }
    Ok(Some(all))
}

/// How often a program that has printed lets the engine's readers go on.
const READERS_TURNS: usize = 4;

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
