//! `tail`, as of GNU coreutils 9.1. Files do not grow while a script runs: `-f` prints what is
//! there, says so, and ends.

use super::input::{input, is_stdin};
use super::options::{self, HELP, Spec, Takes, VERSION};
use super::refusal::Refusal;
use super::{Answer, Call, counts, quote};
use crate::fs::Errno;

const RETRY: char = '\u{3}';
const PID: char = '\u{4}';
const UNCHANGED: char = '\u{5}';

const SPECS: &[Spec] = &[
    ('c', "bytes", Takes::Argument),
    ('f', "follow", Takes::Optional),
    ('F', "", Takes::Nothing),
    ('n', "lines", Takes::Argument),
    (UNCHANGED, "max-unchanged-stats", Takes::Argument),
    (PID, "pid", Takes::Argument),
    ('q', "quiet", Takes::Nothing),
    ('q', "silent", Takes::Nothing),
    (RETRY, "retry", Takes::Nothing),
    ('s', "sleep-interval", Takes::Argument),
    ('v', "verbose", Takes::Nothing),
    ('z', "zero-terminated", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: tail [OPTION]... [FILE]...
Print the last 10 lines of each FILE, or of standard input for - or none.

  -n, --lines=[+]NUM   the last NUM lines; with a plus, from line NUM on
  -c, --bytes=[+]NUM   bytes in place of lines
  -f, -F, --follow     nothing more: files do not grow while a script runs
  -q, --quiet          no names        -v, --verbose  names in any case
  -z, --zero-terminated  lines end in a zero byte
NUM may end in b (512), K, KiB (1024), KB (1000), and so on for M, G, T, P, E.
";

struct Tail<'a> {
    operands: Vec<&'a str>,
    count: u64,
    /// From this line or byte on.
    from_start: bool,
    /// What ends a line; `None`: bytes are counted.
    end: Option<u8>,
    headers: bool,
    follow: bool,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let tail = match Tail::of(call.args) {
        Ok(tail) => tail,
        Err(refusal) => return refusal.answer("tail", 1),
    };
    let mut answer = Answer::default();
    let (mut first, mut stdin_read, mut opened) = (true, false, false);
    for &operand in &tail.operands {
        if call.is_over() {
            break;
        }
        let stdin = is_stdin(call, operand);
        let read = input(call, operand);
        let name = if operand == "-" { "standard input" } else { operand };
        match &read {
            Err(errno) if *errno != Errno::EISDIR => {
                let name = quote::always(operand);
                answer.complain(1, format!("tail: cannot open {name} for reading: {errno}"));
                continue;
            }
            _ if tail.headers => counts::header(name, &mut first, &mut answer.stdout),
            _ => {}
        }
        match read {
            // Read once, it is at its end.
            Ok(_) if stdin && std::mem::replace(&mut stdin_read, true) => opened = true,
            Ok(data) => {
                answer.stdout.extend_from_slice(&data[tail.begin(&data)..]);
                opened = true;
            }
            Err(errno) => {
                answer.complain(1, format!("tail: error reading {}: {errno}", quote::always(operand)));
                if tail.follow {
                    let why = "cannot follow end of this type of file; giving up on this name";
                    answer.complain(1, format!("tail: {operand}: {why}"));
                }
            }
        }
    }
    // GNU's ignores -f on a pipe.
    let files = tail.operands.iter().any(|operand| !is_stdin(call, operand));
    match (tail.follow && files, opened) {
        (true, true) => answer.complain(0, "tail: not following: files do not grow while a script runs"),
        (true, false) => answer.complain(1, "tail: no files remaining"),
        (false, _) => {}
    }
    answer
}

/// `-5`, `+5`, `-5cf`: a count as the first word, as it was once written. `None`: it is none.
fn obsolete(word: &str) -> Option<(char, String, bool)> {
    let sign = word.chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
    let rest = &word[1..];
    let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, letters) = rest.split_at(end);
    let (unit, letters) = match letters.chars().next() {
        Some(unit @ ('b' | 'c' | 'l')) => (unit, &letters[1..]),
        _ => ('l', letters),
    };
    // `-c` and `-f` alone are options as they are written now.
    if !matches!(letters, "" | "f")
        || word == "-"
        || word == "+"
        || (sign == '-' && matches!(rest, "c" | "f"))
    {
        return None;
    }
    let digits = match digits {
        "" => "10",
        digits => digits,
    };
    let sign = if sign == '+' { "+" } else { "" };
    let (letter, unit) = match unit {
        'l' => ('n', ""),
        'b' => ('c', "b"),
        _ => ('c', ""),
    };
    Some((letter, format!("{sign}{digits}{unit}"), letters == "f"))
}

impl<'a> Tail<'a> {
    fn of(args: &'a [String]) -> Result<Self, Refusal> {
        let mut tail = Self {
            operands: Vec::new(),
            count: 10,
            from_start: false,
            end: Some(b'\n'),
            headers: false,
            follow: false,
        };
        // Only before one operand or none.
        let alone = matches!(args, [_] | [_, _])
            && !args.get(1).is_some_and(|next| next.len() > 1 && next.starts_with('-'));
        let old = args.first().filter(|_| alone).and_then(|word| obsolete(word));
        let rest = if old.is_some() { &args[1..] } else { args };
        let given = options::parse(rest, SPECS).map_err(|message| match counts::refused_digit(&message) {
            Some(digit) => Refusal::Wrong(format!("option used in invalid context -- {digit}")),
            None => Refusal::Misused(message),
        })?;
        let (mut lines, mut end, mut names) = (true, b'\n', None);
        let old = old.map(|(letter, word, follow)| {
            tail.follow = follow;
            (letter, word)
        });
        let new = given.options.iter().map(|&(letter, value)| (letter, value.unwrap_or_default()));
        for (letter, word) in old.iter().map(|(letter, word)| (*letter, word.as_str())).chain(new) {
            match letter {
                HELP => return Err(Refusal::Told(USAGE)),
                VERSION => return Err(Refusal::Told("tail (sqlfs), after GNU coreutils 9.1\n")),
                'n' | 'c' => {
                    lines = letter == 'n';
                    let count = counts::parse(word, lines)?;
                    tail.count = count.value;
                    tail.from_start |= count.sign == Some('+');
                }
                'f' | 'F' => tail.follow = true,
                'q' => names = Some(false),
                'v' => names = Some(true),
                'z' => end = 0,
                's' if !word.parse::<f64>().is_ok_and(|seconds| seconds >= 0.0) => {
                    return Err(Refusal::Wrong(format!("invalid number of seconds: {}", quote::curly(word))));
                }
                PID if word.parse::<u32>().is_err() => {
                    return Err(Refusal::Wrong(format!("invalid PID: {}", quote::curly(word))));
                }
                // What would be told to who waits.
                _ => {}
            }
        }
        tail.end = lines.then_some(end);
        tail.headers = names.unwrap_or(given.operands.len() > 1);
        tail.operands = if given.operands.is_empty() { vec!["-"] } else { given.operands };
        Ok(tail)
    }

    /// Where what is printed of `data` begins.
    fn begin(&self, data: &[u8]) -> usize {
        if self.from_start {
            counts::first(data, self.count.saturating_sub(1), self.end).unwrap_or(data.len())
        } else {
            counts::last(data, self.count, self.end)
        }
    }
}
