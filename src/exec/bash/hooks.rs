//! What is looked at before each command of a script.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bashkit::hooks::{HookAction, Interceptor, ToolEvent};

use super::engine::{Scene, Stage};
use crate::clock;
use crate::exec::commands::date;
use crate::exec::guards::{self, Refused};
use crate::exec::stop::Cause;

thread_local! {
    /// The job on this thread came deep enough to leave much of its stack resident.
    static WORN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the stack of this thread grew so much in the last job that the thread should
/// end. Resets.
pub(super) fn stack_is_worn() -> bool {
    WORN.take()
}

/// Warnings of one script; what comes after them is of the same kind.
const MOST_WARNINGS: usize = 20;

/// What the hook has seen of a script.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// A command that may change the working directory.
    pub(super) moved: AtomicBool,
    /// A command that may run a file as a script.
    pub(super) runs_files: AtomicBool,
    /// Aliases may be expanded from here on.
    aliases: AtomicBool,
    /// What the agent should know even if the script hid stderr.
    warnings: Mutex<Vec<String>>,
    /// Last components of the files that commands read a program from.
    programs: Mutex<Vec<(&'static str, String)>>,
}

impl Seen {
    fn programs(&self) -> MutexGuard<'_, Vec<(&'static str, String)>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a warning to the reply, each one once.
    pub(super) fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.len() < MOST_WARNINGS && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// What [`Seen::warn`] was given.
    pub(super) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note_programs(&self, command: &'static str, args: &[String]) {
        let files = guards::program_files(args);
        let name = |file: &str| file.rsplit('/').next().unwrap_or(file).to_owned();
        self.programs().extend(files.into_iter().map(|file| (command, name(file))));
    }

    /// Refuses the content of a file that a command is about to run or has been told
    /// to take its program from; `executable`: whether the file may be run by its name.
    pub(super) fn check_content(
        &self,
        path: &str,
        data: &[u8],
        executable: impl FnOnce() -> bool,
    ) -> Result<(), Refused> {
        if guards::may_be_parser_bomb(data)
            && (self.runs_files.load(Ordering::Relaxed) || executable())
            && let Ok(text) = std::str::from_utf8(data)
        {
            guards::check_text(text)?;
        }
        let programs = self.programs();
        let name = path.rsplit('/').next().unwrap_or(path);
        match programs.iter().find(|(_, file)| file == name) {
            Some((command, _)) => guards::check_program_text(command, &String::from_utf8_lossy(data)),
            None => Ok(()),
        }
    }
}

/// The hook: ends a script that recurses, or asks for recursion, beyond what the stack
/// holds. It never cancels the one command (the engine would say so on stderr and go
/// on): the engine looks at its flag next.
pub(super) fn before_tool(stage: Stage) -> Interceptor<ToolEvent> {
    Box::new(move |mut event| {
        let Scene { seen, stop, script, .. } = stage.scene();
        match event.name.as_str() {
            "cd" | "pushd" | "popd" | "dirs" => seen.moved.store(true, Ordering::Relaxed),
            "." | "source" | "bash" | "sh" => seen.runs_files.store(true, Ordering::Relaxed),
            "shopt" => {
                // autocd changes the directory without a command.
                seen.moved.store(true, Ordering::Relaxed);
                if event.args.iter().any(|arg| arg == "expand_aliases") {
                    seen.aliases.store(true, Ordering::Relaxed);
                }
            }
            "date" | "touch" => date::plain_args(&mut event.args, clock::wall_ns()),
            "jq" => seen.note_programs("jq", &event.args),
            "yq" => seen.note_programs("yq", &event.args),
            _ => {}
        }
        if let Err(refused) = check(&event, seen, script) {
            stop.stop(Cause::Limit(refused.name, refused.message));
        }
        HookAction::Continue(event)
    })
}

fn check(event: &ToolEvent, seen: &Seen, script: &str) -> Result<(), Refused> {
    let used = guards::stack_used();
    if used > guards::WORN_BYTES {
        WORN.set(true);
    }
    if used > guards::SCRIPT_STACK_BYTES {
        let message = "commands that run commands are nested too deeply".to_owned();
        return Err(Refused { name: "stack", message });
    }
    if seen.aliases.load(Ordering::Relaxed) {
        guards::check_aliased_text(script)?;
        event.args.iter().try_for_each(|arg| guards::check_aliased_text(arg))?;
    }
    guards::check_command(&event.name, &event.args)
}
