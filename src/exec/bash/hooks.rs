//! What is looked at before each command of a script.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bashkit::hooks::{HookAction, Interceptor, ToolEvent};

use crate::exec::guards::{self, Refused};
use crate::exec::stop::{Cause, Stop};

thread_local! {
    /// The job on this thread came deep enough to leave much of its stack resident.
    static WORN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the stack of this thread grew so much in the last job that the thread should
/// end. Resets.
pub(super) fn stack_is_worn() -> bool {
    WORN.take()
}

/// What the hook has seen of a script.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// A command that may change the working directory.
    pub(super) moved: AtomicBool,
    /// A command that may run a file as a script.
    pub(super) runs_files: AtomicBool,
    /// Aliases may be expanded from here on.
    aliases: AtomicBool,
}

/// The hook: ends a script that recurses, or asks for recursion, beyond what the stack
/// holds. It never cancels the one command (the engine would say so on stderr and go
/// on): the engine looks at its flag next.
pub(super) fn before_tool(stop: Arc<Stop>, seen: Arc<Seen>, script: Arc<str>) -> Interceptor<ToolEvent> {
    Box::new(move |event| {
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
            _ => {}
        }
        if let Err(refused) = check(&event, &seen, &script) {
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
