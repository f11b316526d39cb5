//! `tac`, as of GNU coreutils 9.1. Left out: `-r`.

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call, quote};
use crate::fs::Errno;

const SPECS: &[Spec] = &[
    ('b', "before", Takes::Nothing),
    ('s', "separator", Takes::Argument),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: tac [OPTION]... [FILE]...
Write each FILE to standard output, last line first.

  -b, --before             attach the separator before instead of after
  -s, --separator=STRING   use STRING as the separator instead of newline
";

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Given { options: given, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.misused(1, "tac", &message);
            return answer;
        }
    };
    let (mut before, mut separator) = (false, "\n");
    for (letter, value) in given {
        match (letter, value) {
            ('b', _) => before = true,
            // An empty one is NUL.
            ('s', Some(text)) => separator = if text.is_empty() { "\0" } else { text },
            _ => {
                let text = if letter == HELP { USAGE } else { "tac (sqlfs), after GNU coreutils 9.1\n" };
                answer.stdout.extend_from_slice(text.as_bytes());
                return answer;
            }
        }
    }
    let names = if operands.is_empty() { vec!["-"] } else { operands };
    for name in names {
        if call.is_over() {
            return answer;
        }
        let shown = quote::when_needed(name);
        match call.read(name) {
            Ok(data) => reversed(&data, separator.as_bytes(), before, &mut answer.stdout),
            // It asks for the end of the directory first, which has none.
            Err(Errno::EISDIR) => answer.complain(1, format!("tac: {shown}: read error: {}", Errno::EINVAL)),
            Err(errno) => {
                let name = quote::always(name);
                answer.complain(1, format!("tac: failed to open {name} for reading: {errno}"));
            }
        }
    }
    answer
}

/// Appends the records of `data`, the last one first, each with its separator.
fn reversed(data: &[u8], separator: &[u8], before: bool, out: &mut Vec<u8>) {
    let mut end = data.len();
    let mut search = end;
    while let Some(at) = data[..search].windows(separator.len()).rposition(|window| window == separator) {
        let start = if before { at } else { at + separator.len() };
        if start < end {
            out.extend_from_slice(&data[start..end]);
            end = start;
        }
        search = at;
    }
    out.extend_from_slice(&data[..end]);
}
