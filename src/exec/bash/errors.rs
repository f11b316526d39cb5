//! What the engine's result means for the exec.

use bashkit::{Error, ExecutionBudgetExceeded, LimitExceeded};

use crate::exec::End;

/// How a script ended as far as the engine knows.
pub(super) enum Outcome {
    /// So.
    End(End),
    /// By itself, with a last word on stderr that the engine did not print.
    Said {
        /// Exit code.
        code: i32,
        /// Text with its newline.
        stderr: String,
    },
}

/// Maps the engine's result; `script` is quoted in syntax errors.
pub(super) fn outcome(result: bashkit::Result<i32>, script: &str) -> Outcome {
    let error = match result {
        Ok(code) => return Outcome::End(End::Exited(code & 0xff)),
        Err(error) => error,
    };
    if let Some(stderr) = syntax_error(&error, script) {
        return Outcome::Said { code: 2, stderr };
    }
    match error {
        Error::Cancelled => Outcome::End(End::Cancelled),
        Error::ResourceLimit(limit) => Outcome::End(limit_hit(&limit)),
        // Other parse errors are limits of the parser or its failure.
        Error::Parse { message, .. } => Outcome::End(if message.starts_with("parser task failed") {
            failed(&message)
        } else {
            limit("parser_steps", message)
        }),
        Error::Execution(message) => execution_error(message),
        // Errors of a command that the engine did not catch: bash prints them and fails
        // the command.
        Error::CommandFailure(text) | Error::LineAbort(text) => said(text),
        Error::Io(error) => said(format!("bash: {error}")),
        Error::Regex(error) => said(format!("bash: {error}")),
        Error::Network(text) => said(format!("bash: {text}")),
        Error::SnapshotTooNew { .. } | Error::SnapshotCapabilityMismatch(_) | Error::Internal(_) => {
            Outcome::End(failed(&error.to_string()))
        }
    }
}

fn said(mut text: String) -> Outcome {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Outcome::Said { code: 1, stderr: text }
}

fn failed(log: &str) -> End {
    tracing::error!(error = log, "the interpreter failed");
    End::Failed("the interpreter failed on this script".to_owned())
}

fn limit(name: &'static str, message: String) -> End {
    End::Limit { name, message }
}

/// bash's words for a syntax error; `None` for anything else.
fn syntax_error(error: &Error, script: &str) -> Option<String> {
    match error {
        Error::Parse { message, .. }
            if message.starts_with("parser fuel") || message.starts_with("parser task failed") =>
        {
            None
        }
        _ => error.syntax_report("bash: -c", script),
    }
}

/// The engine uses this variant for refusals and for uncaught errors of commands alike.
fn execution_error(message: String) -> Outcome {
    if let Some(refused) = message.strip_prefix("budget validation failed: ") {
        return Outcome::End(limit("script_size", refused.to_owned()));
    }
    if message.contains("maximum source depth exceeded") {
        return Outcome::End(limit("function_depth", message));
    }
    said(message)
}

fn limit_hit(exceeded: &LimitExceeded) -> End {
    let name = match exceeded {
        // The time is kept by the caller too, who may be a moment later.
        LimitExceeded::Timeout(_)
        | LimitExceeded::ParserTimeout(_)
        | LimitExceeded::ExecutionBudget(ExecutionBudgetExceeded::Deadline { .. }) => return End::TimedOut,
        LimitExceeded::ExecutionBudget(ExecutionBudgetExceeded::Cancelled) => return End::Cancelled,
        LimitExceeded::ExecutionBudget(ExecutionBudgetExceeded::RequestClosed) => {
            return failed("the engine's budget was closed early");
        }
        LimitExceeded::ExecutionBudget(ExecutionBudgetExceeded::WorkUnits { .. }) => "work",
        LimitExceeded::ExecutionBudget(
            ExecutionBudgetExceeded::InputBytes { .. } | ExecutionBudgetExceeded::LiveBytes { .. },
        )
        | LimitExceeded::Memory(_) => "memory",
        LimitExceeded::MaxCommands(_) | LimitExceeded::SessionMaxCommands(_) => "commands",
        LimitExceeded::SessionMaxExecCalls(_) => "exec_calls",
        LimitExceeded::MaxLoopIterations(_) | LimitExceeded::MaxTotalLoopIterations(_) => "loop_iterations",
        LimitExceeded::MaxFunctionDepth(_) => "function_depth",
        LimitExceeded::MaxSubstDepth(_) => "substitution_depth",
        LimitExceeded::MaxSubshellDepth(_) => "subshell_depth",
        LimitExceeded::MaxPromptDepth(_) => "prompt_depth",
        LimitExceeded::MaxTrapDepth(_) => "trap_depth",
        LimitExceeded::MaxConcurrentJobs(_) => "jobs",
        LimitExceeded::MaxFileDescriptors(_) => "file_descriptors",
        LimitExceeded::InputTooLarge(..) => "script_size",
        LimitExceeded::AstTooDeep(..) => "nesting",
        LimitExceeded::ParserExhausted(..) => "parser_steps",
    };
    limit(name, exceeded.to_string())
}
