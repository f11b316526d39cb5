//! `more`, of util-linux, with output to no terminal: nobody turns pages.

use super::{Answer, Call};

const LINE: &str = "::::::::::::::";

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let operands: Vec<&String> = call.args.iter().filter(|arg| !arg.starts_with(['-', '+'])).collect();
    if operands.is_empty() {
        answer.stdout.extend_from_slice(call.stdin);
    }
    for operand in operands {
        match call.read(operand) {
            Ok(data) => {
                answer.stdout.extend_from_slice(format!("{LINE}\n{operand}\n{LINE}\n").as_bytes());
                answer.stdout.extend_from_slice(&data);
            }
            Err(crate::fs::Errno::EISDIR) => {
                answer.stdout.extend_from_slice(format!("\n*** {operand}: directory ***\n\n").as_bytes());
            }
            // Its exit status is 0 in any case.
            Err(errno) => {
                answer.stderr.extend_from_slice(format!("more: cannot open {operand}: {errno}\n").as_bytes());
            }
        }
    }
    answer
}
