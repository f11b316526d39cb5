//! `rev`, as of util-linux 2.38; bytes that are no character pass as they are.

use super::input::input;
use super::options::{self, Spec, Takes};
use super::posix_regex::utf8;
use super::refusal::Refusal;
use super::{Answer, Call};

const SPECS: &[Spec] = &[('h', "help", Takes::Nothing), ('V', "version", Takes::Nothing)];

const USAGE: &str = "\
Usage: rev [FILE]...
Print each line with its characters in reverse order.

  -h, --help      print this
  -V, --version   print the version
";

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let given = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => return Refusal::Misused(message).answer("rev", 1),
    };
    if let Some((letter, _)) = given.options.first() {
        let text = if *letter == 'h' { USAGE } else { "rev (sqlfs), after util-linux 2.38\n" };
        return Refusal::Told(text).answer("rev", 1);
    }
    let mut answer = Answer::default();
    let names = if given.operands.is_empty() { vec!["-"] } else { given.operands };
    for name in names {
        if call.is_over() {
            return answer;
        }
        match input(call, name) {
            Ok(data) => {
                for line in data.split_inclusive(|&byte| byte == b'\n') {
                    reversed(line, &mut answer.stdout);
                }
            }
            Err(errno) => answer.complain(1, format!("rev: cannot open {name}: {errno}")),
        }
    }
    answer
}

fn reversed(line: &[u8], out: &mut Vec<u8>) {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let begin = out.len();
    let mut at = 0;
    while at < text.len() {
        let step = utf8::step(&text[at..]);
        // Each character backwards, then all.
        out.extend(text[at..at + step].iter().rev());
        at += step;
    }
    out[begin..].reverse();
    out.extend_from_slice(&line[text.len()..]);
}
