//! `cmp`, as of GNU diffutils 3.8.

use bytes::Bytes;

use super::options::{self, Given, HELP, Spec, Takes};
use super::{Answer, Call};
use crate::fs::Errno;

const SPECS: &[Spec] = &[
    ('b', "print-bytes", Takes::Nothing),
    ('i', "ignore-initial", Takes::Argument),
    ('l', "verbose", Takes::Nothing),
    ('n', "bytes", Takes::Argument),
    ('s', "quiet", Takes::Nothing),
    ('s', "silent", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    ('v', "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: cmp [OPTION]... FILE1 [FILE2 [SKIP1 [SKIP2]]]
Compare two files byte by byte.

  -b, --print-bytes          print differing bytes
  -i, --ignore-initial=SKIP1[:SKIP2]  skip first bytes of both inputs
  -l, --verbose              output byte numbers and differing byte values
  -n, --bytes=LIMIT          compare at most LIMIT bytes
  -s, --quiet, --silent      suppress all normal output
";

/// A count, with `k`, `K`, `M` and so on.
fn number(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor = match &text[digits.len()..] {
        "" => 1,
        "kB" => 1000,
        "k" | "K" => 1 << 10,
        "MB" => 1_000_000,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(factor)
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let refuse = |mut answer: Answer, message: &str| {
        answer.complain(2, format!("cmp: {message}"));
        answer.complain(2, "cmp: Try 'cmp --help' for more information.");
        answer
    };
    let Given { options, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => return refuse(answer, &message),
    };
    let (mut skip, mut most, mut silent, mut list, mut shown) = ([0; 2], usize::MAX, false, false, false);
    for (letter, value) in options {
        let value = value.unwrap_or_default();
        match letter {
            'b' => shown = true,
            'l' => list = true,
            's' => silent = true,
            'n' => match number(value) {
                Some(count) => most = count,
                None => return refuse(answer, &format!("invalid --bytes value '{value}'")),
            },
            'i' => {
                let (first, second) = value.split_once(':').unwrap_or((value, value));
                match (number(first), number(second)) {
                    (Some(first), Some(second)) => skip = [first, second],
                    _ => return refuse(answer, &format!("invalid --ignore-initial value '{value}'")),
                }
            }
            HELP => {
                answer.stdout.extend_from_slice(USAGE.as_bytes());
                return answer;
            }
            _ => {
                answer.stdout.extend_from_slice(b"cmp (sqlfs), after GNU diffutils 3.8\n");
                return answer;
            }
        }
    }
    let names = match operands[..] {
        [] => return refuse(answer, "missing operand after 'cmp'"),
        [one] => [one, "-"],
        [one, two, ..] => [one, two],
    };
    for (at, text) in operands.iter().skip(2).enumerate() {
        match (number(text), skip.get_mut(at)) {
            (Some(count), Some(skip)) => *skip = count,
            (None, Some(_)) => return refuse(answer, &format!("invalid --ignore-initial value '{text}'")),
            (_, None) => return refuse(answer, &format!("extra operand '{text}'")),
        }
    }
    let mut data = Vec::new();
    for (name, skip) in names.into_iter().zip(skip) {
        match read(call, name) {
            Ok(bytes) => data.push(bytes.slice(skip.min(bytes.len())..)),
            Err(_) if silent => {
                answer.exit = 2;
                return answer;
            }
            Err(errno) => {
                answer.complain(2, format!("cmp: {name}: {errno}"));
                return answer;
            }
        }
    }
    let [a, b] = [&data[0], &data[1]].map(|bytes| &bytes[..bytes.len().min(most)]);
    let width = a.len().min(b.len()).to_string().len();
    let (mut line, mut out) = (1, String::new());
    for (at, (left, right)) in a.iter().zip(b).enumerate() {
        if left != right {
            answer.exit = 1;
            if silent {
                return answer;
            }
            let place = at + 1;
            let (left_text, right_text) = (visible(*left), visible(*right));
            if !list {
                let [first, second] = names;
                let bytes = if shown {
                    format!(" is {left:>3o} {left_text} {right:>3o} {right_text}")
                } else {
                    String::new()
                };
                out = format!("{first} {second} differ: byte {place}, line {line}{bytes}\n");
                answer.stdout.extend_from_slice(out.as_bytes());
                return answer;
            }
            out.push_str(&if shown {
                format!("{place:>width$} {left:>3o} {left_text:<4} {right:>3o} {right_text}\n")
            } else {
                format!("{place:>width$} {left:>3o} {right:>3o}\n")
            });
        }
        line += usize::from(*left == b'\n');
    }
    answer.stdout.extend_from_slice(out.as_bytes());
    if a.len() != b.len() {
        let (name, short) = if a.len() < b.len() { (names[0], a) } else { (names[1], b) };
        answer.exit = 1;
        if !silent {
            let lines = short.iter().filter(|&&byte| byte == b'\n').count();
            let count = short.len();
            let place = match (count, list, short.last()) {
                (0, _, _) => "which is empty".to_owned(),
                (_, true, _) => format!("after byte {count}"),
                (_, _, Some(b'\n')) => format!("after byte {count}, line {lines}"),
                _ => format!("after byte {count}, in line {}", lines + 1),
            };
            answer.complain(1, format!("cmp: EOF on {name} {place}"));
        }
    }
    answer
}

fn read(call: &Call<'_>, name: &str) -> Result<Bytes, Errno> {
    if name == "-" || call.path(name) == "/dev/stdin" {
        return Ok(Bytes::copy_from_slice(call.stdin));
    }
    match call.lent.get(name) {
        Some(lent) => Ok(lent.data.clone()),
        None => call.files.read(&call.path(name)),
    }
}

/// A byte as `cat -t` shows it.
fn visible(byte: u8) -> String {
    let (prefix, low) = if byte >= 128 { ("M-", byte - 128) } else { ("", byte) };
    match low {
        0..32 => format!("{prefix}^{}", char::from(low + 64)),
        127 => format!("{prefix}^?"),
        _ => format!("{prefix}{}", char::from(low)),
    }
}
