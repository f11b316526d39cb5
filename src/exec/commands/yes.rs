//! `yes`, as of GNU coreutils 9.1: what it says. How often, the pipeline decides
//! (`exec/bash/commands/yes.rs`).

use super::Answer;
use super::options::{self, HELP, Spec, Takes, VERSION};
use super::refusal::Refusal;

const SPECS: &[Spec] = &[(HELP, "help", Takes::Nothing), (VERSION, "version", Takes::Nothing)];

const USAGE: &str = "\
Usage: yes [STRING]...
Repeatedly output a line with all specified STRING(s), or 'y'.
";

/// The line that is repeated; `Err` is the whole answer.
pub(crate) fn line(args: &[String]) -> Result<Vec<u8>, Answer> {
    let refused = match options::parse(args, SPECS) {
        Ok(given) => match given.options.first() {
            None if given.operands.is_empty() => return Ok(b"y\n".to_vec()),
            None => return Ok(format!("{}\n", given.operands.join(" ")).into_bytes()),
            Some((HELP, _)) => Refusal::Told(USAGE),
            Some(_) => Refusal::Told("yes (sqlfs), after GNU coreutils 9.1\n"),
        },
        Err(message) => Refusal::Misused(message),
    };
    Err(refused.answer("yes", 1))
}
