//! Limits of one exec, as the engine wants them.

use std::time::Duration;

use bashkit::{ExecutionLimits, MemoryLimits};

use crate::fs::Quota;

/// Commands that one script may run.
pub(super) const COMMANDS: usize = 1_000_000;
/// Turns of all its loops together.
pub(super) const LOOP_TURNS: usize = 5_000_000;
/// The engine's units of work: about one per command, kilobyte or step of a tool. Far
/// above what [`COMMANDS`] need; it ends what computes without running commands.
const WORK: u64 = 20_000_000_000;
/// Bytes of script text, with what `eval` and `source` add.
const SCRIPT_BYTES: usize = 32 << 20;
/// Steps of the parser: each token and each byte of a here-document is one.
const PARSER_STEPS: usize = 50_000_000;

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Time, work and the sizes of streams. Output to the caller is cut by
/// [`crate::exec::Output`], long before the engine's own limit on it.
pub(super) fn execution(quota: &Quota, timeout: Duration) -> ExecutionLimits {
    let memory = size(quota.memory);
    ExecutionLimits::new()
        .max_commands(COMMANDS)
        .max_loop_iterations(LOOP_TURNS)
        .max_total_loop_iterations(LOOP_TURNS)
        .max_work_units(WORK)
        .max_aggregate_input_bytes(u64::MAX / 2)
        .max_live_intermediate_bytes(quota.memory)
        .max_stdout_bytes(memory)
        .max_stderr_bytes(memory)
        .max_word_split_bytes(memory)
        .max_word_split_fields(1_000_000)
        .max_input_bytes(SCRIPT_BYTES)
        .max_parser_operations(PARSER_STEPS)
        .parser_timeout(timeout)
        .max_history_entries(0)
        .max_history_bytes(0)
        .timeout(timeout)
}

/// Sizes of variables, arrays and functions.
pub(super) fn memory(quota: &Quota) -> MemoryLimits {
    let memory = size(quota.memory);
    MemoryLimits::new()
        .max_variable_count(1_000_000)
        .max_total_variable_bytes(memory)
        .max_array_entries(5_000_000)
        .max_function_count(100_000)
        .max_function_body_bytes(SCRIPT_BYTES)
}
