//! `umask`: the engine's own keeps the mask and does nothing with it. Here it changes the
//! mode of what the script makes.
//!
//! The engine keeps the mask in a variable, so that a subshell's ends with it. Files are
//! made without those variables at hand: the working copy holds one mask, and a subshell
//! that set it would leave it behind. So there only the variable is set, and the reply
//! warns. A builtin is not told whether it runs in a subshell: the shell is asked, by a
//! command that it expands.

use bashkit::{
    BashBuilder, Builtin, BuiltinContext, ExecResult, ExecutionPlan, Result, SubCommand, async_trait,
};

use super::engine::Stage;
use crate::exec::commands::mode;

/// The engine's variable.
const VARIABLE: &str = "_UMASK";

/// Marks the second call: level of the subshell, level of the shell, mask.
const APPLY: &str = "--apply";

const USAGE: &str = "umask: usage: umask [-p] [-S] [mode]\n";

/// Gives the engine our command in place of its own.
pub(super) fn register(bash: BashBuilder, stage: &Stage) -> BashBuilder {
    bash.builtin("umask", Box::new(Umask { stage: stage.clone() }))
}

struct Umask {
    stage: Stage,
}

/// What a call asks for.
enum Asked {
    Print { reusable: bool, symbolic: bool },
    Set(u32),
    Wrong(String),
}

fn current(ctx: &BuiltinContext<'_>) -> u32 {
    ctx.variables.get(VARIABLE).and_then(|mask| u32::from_str_radix(mask, 8).ok()).unwrap_or(0o022)
}

fn asked(args: &[String], current: u32) -> Asked {
    let (mut reusable, mut symbolic, mut args) = (false, false, args.iter().map(String::as_str).peekable());
    while let Some(arg) = args.next_if(|arg| arg.len() > 1 && arg.starts_with('-')) {
        if arg == "--" {
            break;
        }
        for letter in arg[1..].chars() {
            match letter {
                'p' => reusable = true,
                'S' => symbolic = true,
                // A symbolic mode may begin with a sign.
                'r' | 'w' | 'x' if arg.len() > 1 => return set(arg, current),
                other => return Asked::Wrong(format!("bash: umask: -{other}: invalid option\n{USAGE}")),
            }
        }
    }
    match args.next() {
        Some(text) => set(text, current),
        None => Asked::Print { reusable, symbolic },
    }
}

fn set(text: &str, current: u32) -> Asked {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match u32::from_str_radix(text, 8) {
            Ok(mask @ 0..=0o777) => Asked::Set(mask),
            _ => Asked::Wrong(format!("bash: umask: {text}: octal number out of range\n")),
        };
    }
    match mode::change(text, 0o777 & !current, false, 0) {
        Some(allowed) => Asked::Set(0o777 & !allowed),
        None => Asked::Wrong(format!("bash: umask: `{text}': invalid symbolic mode operator\n")),
    }
}

fn symbolic(mask: u32) -> String {
    let letters = |shift: u32| {
        let allowed = !mask >> shift & 7;
        let pairs = [(4, 'r'), (2, 'w'), (1, 'x')];
        pairs.iter().filter(|(bit, _)| allowed & bit != 0).map(|(_, letter)| *letter).collect::<String>()
    };
    format!("u={},g={},o={}", letters(6), letters(3), letters(0))
}

impl Umask {
    fn apply(&self, ctx: &mut BuiltinContext<'_>) -> ExecResult {
        let [_, subshell, shell, mask] = ctx.args else { return ExecResult::err(USAGE.to_owned(), 2) };
        let Ok(bits) = u32::from_str_radix(mask, 8) else { return ExecResult::err(USAGE.to_owned(), 2) };
        ctx.variables.insert(VARIABLE.to_owned(), format!("{bits:04o}"));
        if subshell == "0" && shell == "1" {
            self.stage.scene().files.set_umask(bits);
        } else if bits != self.stage.scene().files.umask() {
            let text =
                "umask in a subshell does not change the mode of new files; set it outside, or use chmod";
            self.stage.scene().seen.warn(text.to_owned());
        }
        ExecResult::ok(String::new())
    }
}

#[async_trait]
impl Builtin for Umask {
    async fn execute(&self, mut ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        if ctx.args.first().is_some_and(|arg| arg == APPLY) {
            return Ok(self.apply(&mut ctx));
        }
        let mask = current(&ctx);
        Ok(match asked(ctx.args, mask) {
            Asked::Print { reusable, symbolic: letters } => {
                let shown = if letters { symbolic(mask) } else { format!("{mask:04o}") };
                let before = match (reusable, letters) {
                    (true, true) => "umask -S ",
                    (true, false) => "umask ",
                    _ => "",
                };
                ExecResult::ok(format!("{before}{shown}\n"))
            }
            // The plan runs instead.
            Asked::Set(_) => ExecResult::ok(String::new()),
            Asked::Wrong(message) => ExecResult::err(message, 1),
        })
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> Result<Option<ExecutionPlan>> {
        let Asked::Set(mask) = asked(ctx.args, current(ctx)) else { return Ok(None) };
        if ctx.args.first().is_some_and(|arg| arg == APPLY) {
            return Ok(None);
        }
        let command = SubCommand {
            name: "eval".to_owned(),
            args: vec![format!("umask {APPLY} \"$BASH_SUBSHELL\" \"$SHLVL\" {mask:04o}")],
            stdin: None,
            assignments: Vec::new(),
        };
        Ok(Some(ExecutionPlan::Batch { commands: vec![command] }))
    }
}
