//! What is looked at before each command of a script.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bashkit::hooks::{HookAction, Interceptor, ToolEvent};

use crate::exec::guards;
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

/// The hook: ends a script that is being cut off, or that recurses or asks for
/// recursion beyond what the stack holds. `moved` is set by commands that may change
/// the working directory.
pub(super) fn before_tool(stop: Arc<Stop>, moved: Arc<AtomicBool>) -> Interceptor<ToolEvent> {
    Box::new(move |event| {
        if stop.is_stopping() {
            // A fatal file call has printed its error by now.
            stop.interrupt();
            return HookAction::Cancel(String::new());
        }
        let used = guards::stack_used();
        if used > guards::WORN_BYTES {
            WORN.set(true);
        }
        if used > guards::SCRIPT_STACK_BYTES {
            let message = "the script's commands are nested too deeply".to_owned();
            stop.stop(Cause::Limit("stack", message));
            return HookAction::Cancel(String::new());
        }
        if let Err(refused) = guards::check_command(&event.name, &event.args) {
            stop.stop(Cause::Limit(refused.name, refused.message));
            return HookAction::Cancel(String::new());
        }
        if matches!(event.name.as_str(), "cd" | "pushd" | "popd" | "dirs" | "shopt") {
            moved.store(true, Ordering::Relaxed);
        }
        HookAction::Continue(event)
    })
}
