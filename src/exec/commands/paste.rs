//! `paste`, as of GNU coreutils 9.1.

use super::input::{Input, input, is_stdin};
use super::options::{self, HELP, Spec, Takes, VERSION};
use super::refusal::Refusal;
use super::{Answer, Call, quote};
use crate::fs::Errno;

const SPECS: &[Spec] = &[
    ('d', "delimiters", Takes::Argument),
    ('s', "serial", Takes::Nothing),
    ('z', "zero-terminated", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: paste [OPTION]... [FILE]...
Print lines made of the lines of all FILEs, a tab between them.

  -d, --delimiters=LIST   take these signs in turn instead of a tab
  -s, --serial            one line of each FILE
  -z, --zero-terminated   lines end with NUL
";
const TOLD: &str = "paste (sqlfs), after GNU coreutils 9.1\n";

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let given = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => return Refusal::Misused(message).answer("paste", 1),
    };
    if given.has(HELP) || given.has(VERSION) {
        return Refusal::Told(if given.has(HELP) { USAGE } else { TOLD }).answer("paste", 1);
    }
    let list = given.value('d').unwrap_or("\t");
    let Some(signs) = signs(list) else {
        let message = format!("delimiter list ends with an unescaped backslash: {list}");
        return Refusal::Wrong(message).answer("paste", 1);
    };
    let end = if given.has('z') { b'\0' } else { b'\n' };
    let serially = given.has('s');
    let names = if given.operands.is_empty() { vec!["-"] } else { given.operands };
    let mut answer = Answer::default();
    if serially {
        serial(call, &names, &signs, end, &mut answer);
    } else {
        parallel(call, &names, &signs, end, &mut answer);
    }
    answer
}

/// Signs of a list, `None` for none of them; nothing when a backslash stands alone at its end.
fn signs(list: &str) -> Option<Vec<Option<u8>>> {
    let mut bytes = list.bytes();
    let mut signs = Vec::new();
    while let Some(byte) = bytes.next() {
        signs.push(match byte {
            b'\\' => match bytes.next()? {
                b'0' => None,
                b'b' => Some(0x08),
                b'f' => Some(0x0c),
                b'n' => Some(b'\n'),
                b'r' => Some(b'\r'),
                b't' => Some(b'\t'),
                b'v' => Some(0x0b),
                other => Some(other),
            },
            byte => Some(byte),
        });
    }
    if signs.is_empty() {
        signs.push(None);
    }
    Some(signs)
}

/// Takes the next line off; `None` at the end.
fn line<'d>(rest: &mut &'d [u8], end: u8) -> Option<&'d [u8]> {
    if rest.is_empty() {
        return None;
    }
    let len = memchr::memchr(end, rest).unwrap_or(rest.len());
    let found = &rest[..len];
    *rest = rest.get(len + 1..).unwrap_or_default();
    Some(found)
}

fn failed(name: &str, errno: Errno, answer: &mut Answer) {
    answer.complain(1, format!("paste: {}: {errno}", quote::when_needed(name)));
}

fn serial(call: &Call<'_>, names: &[&str], signs: &[Option<u8>], end: u8, answer: &mut Answer) {
    let mut stdin_read = false;
    for name in names {
        let data = if is_stdin(call, name) && std::mem::replace(&mut stdin_read, true) {
            Ok(Input::Borrowed(&[]))
        } else {
            input(call, name)
        };
        let data = match data {
            Ok(data) => data,
            Err(errno) => {
                failed(name, errno, answer);
                // A directory can be opened, and has nothing.
                if errno != Errno::EISDIR {
                    continue;
                }
                Input::Borrowed(&[])
            }
        };
        let mut rest = &data[..];
        let mut between = signs.iter().cycle();
        answer.stdout.extend_from_slice(line(&mut rest, end).unwrap_or_default());
        while let Some(next) = line(&mut rest, end) {
            answer.stdout.extend(between.next().copied().flatten());
            answer.stdout.extend_from_slice(next);
        }
        answer.stdout.push(end);
    }
}

fn parallel(call: &Call<'_>, names: &[&str], signs: &[Option<u8>], end: u8, answer: &mut Answer) {
    let mut inputs = Vec::new();
    for name in names {
        // Several operands take the lines of standard input in turn.
        if is_stdin(call, name) {
            inputs.push(None);
            continue;
        }
        match input(call, name) {
            Ok(data) => inputs.push(Some(data)),
            Err(errno) => {
                failed(name, errno, answer);
                if errno != Errno::EISDIR {
                    return;
                }
                inputs.push(Some(Input::Borrowed(&[])));
            }
        }
    }
    let mut stdin = call.stdin;
    let mut rests: Vec<Option<&[u8]>> = inputs.iter().map(|input| input.as_deref()).collect();
    loop {
        if call.is_over() {
            return;
        }
        let left = rests.iter().any(|rest| rest.is_some_and(|rest| !rest.is_empty()));
        let waits = rests.iter().any(Option::is_none) && !stdin.is_empty();
        if !left && !waits {
            return;
        }
        let mut between = signs.iter().cycle();
        for (at, rest) in rests.iter_mut().enumerate() {
            if at > 0 {
                answer.stdout.extend(between.next().copied().flatten());
            }
            let next = match rest {
                Some(rest) => line(rest, end),
                None => line(&mut stdin, end),
            };
            answer.stdout.extend_from_slice(next.unwrap_or_default());
        }
        answer.stdout.push(end);
    }
}
