//! `head`, as of GNU coreutils 9.1. It reads no more of standard input than it prints, but
//! for counts from the end.

use super::filter::{Filter, Next};
use super::input::is_stdin;
use super::options::{self, HELP, Spec, Takes, VERSION};
use super::refusal::Refusal;
use super::{Answer, Call, counts, quote};
use crate::fs::Errno;

const SPECS: &[Spec] = &[
    ('c', "bytes", Takes::Argument),
    ('n', "lines", Takes::Argument),
    ('q', "quiet", Takes::Nothing),
    ('q', "silent", Takes::Nothing),
    ('v', "verbose", Takes::Nothing),
    ('z', "zero-terminated", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: head [OPTION]... [FILE]...
Print the first 10 lines of each FILE, or of standard input for - or none.

  -n, --lines=[-]NUM   the first NUM lines; with a minus, all but the last NUM
  -c, --bytes=[-]NUM   bytes in place of lines
  -q, --quiet          no names        -v, --verbose  names in any case
  -z, --zero-terminated  lines end in a zero byte
NUM may end in b (512), K, KiB (1024), KB (1000), and so on for M, G, T, P, E.
";

/// So many bytes of a device without end are looked at for lines.
const MOST_OF_DEVICE: u64 = 1 << 20;

/// Begins it.
pub(super) fn begin<'a>(call: &Call<'a>) -> Result<Box<dyn Filter + 'a>, Answer> {
    Ok(Box::new(Head::of(call.args).map_err(|refusal| refusal.answer("head", 1))?))
}

struct Head<'a> {
    operands: Vec<&'a str>,
    next: usize,
    count: u64,
    /// All but the last.
    from_end: bool,
    /// What ends a line; `None`: bytes are counted.
    end: Option<u8>,
    headers: bool,
    first: bool,
    stdin: Option<Stdin>,
    /// Standard input is at its end.
    stdin_ended: bool,
    /// What came of it, and was not printed.
    rest: Vec<u8>,
}

/// Standard input on its way.
struct Stdin {
    left: u64,
    /// What may be among the last.
    held: Vec<u8>,
}

/// `-5`, `-5kqv`: a count as the first word, as it was once written.
fn obsolete(word: &str) -> Option<Result<Vec<(char, String)>, Refusal>> {
    let rest = word.strip_prefix('-').filter(|rest| rest.starts_with(|char: char| char.is_ascii_digit()))?;
    let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, letters) = rest.split_at(end);
    let (mut unit, mut counted, mut others) = (None, 'n', Vec::new());
    for letter in letters.chars() {
        match letter {
            'c' => (counted, unit) = ('c', None),
            'b' | 'k' | 'm' => (counted, unit) = ('c', Some(letter)),
            'l' => counted = 'n',
            'q' | 'v' | 'z' => others.push((letter, String::new())),
            other => return Some(Err(Refusal::Misused(format!("invalid trailing option -- {other}")))),
        }
    }
    let unit = unit.map(String::from).unwrap_or_default();
    others.insert(0, (counted, format!("{digits}{unit}")));
    Some(Ok(others))
}

impl<'a> Head<'a> {
    fn of(args: &'a [String]) -> Result<Self, Refusal> {
        let mut head = Self {
            operands: Vec::new(),
            next: 0,
            count: 10,
            from_end: false,
            end: Some(b'\n'),
            headers: false,
            first: true,
            stdin: None,
            stdin_ended: false,
            rest: Vec::new(),
        };
        let old = args.first().and_then(|word| obsolete(word)).transpose()?;
        let rest = if old.is_some() { &args[1..] } else { args };
        let given = options::parse(rest, SPECS).map_err(|message| match counts::refused_digit(&message) {
            Some(digit) => Refusal::Misused(format!("invalid trailing option -- {digit}")),
            None => Refusal::Misused(message),
        })?;
        let (mut lines, mut end, mut names) = (true, b'\n', None);
        let new = given.options.iter().map(|&(letter, value)| (letter, value.unwrap_or_default()));
        let old = old.unwrap_or_default();
        for (letter, word) in old.iter().map(|(letter, word)| (*letter, word.as_str())).chain(new) {
            match letter {
                HELP => return Err(Refusal::Told(USAGE)),
                VERSION => return Err(Refusal::Told("head (sqlfs), after GNU coreutils 9.1\n")),
                'n' | 'c' => {
                    lines = letter == 'n';
                    let count = counts::parse(word, lines)?;
                    (head.count, head.from_end) = (count.value, count.sign == Some('-'));
                }
                'q' => names = Some(false),
                'v' => names = Some(true),
                _ => end = 0,
            }
        }
        head.end = lines.then_some(end);
        head.headers = names.unwrap_or(given.operands.len() > 1);
        head.operands = if given.operands.is_empty() { vec!["-"] } else { given.operands };
        Ok(head)
    }

    /// Prints of standard input what is certain; whether more of it is wanted.
    fn stdin(&mut self, fresh: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(stdin) = &mut self.stdin else { return false };
        self.stdin_ended = fresh.is_empty();
        if self.from_end {
            stdin.held.extend_from_slice(fresh);
            // A line that has not ended may yet be the last, so that it does not count.
            let whole = match self.end {
                Some(end) if !fresh.is_empty() => memchr::memrchr(end, &stdin.held).map_or(0, |at| at + 1),
                _ => stdin.held.len(),
            };
            let certain = counts::last(&stdin.held[..whole], self.count, self.end);
            out.extend_from_slice(&stdin.held[..certain]);
            stdin.held.drain(..certain);
            return !fresh.is_empty();
        }
        match counts::first(fresh, stdin.left, self.end) {
            Ok(certain) => {
                out.extend_from_slice(&fresh[..certain]);
                self.rest = fresh[certain..].to_vec();
                self.stdin_ended = false;
                false
            }
            Err(counted) => {
                stdin.left -= counted;
                out.extend_from_slice(fresh);
                !fresh.is_empty()
            }
        }
    }

    /// Prints what an operand's file begins with.
    fn file(&mut self, call: &Call<'_>, operand: &str, answer: &mut Answer) -> Next {
        let read = call.read(operand);
        let endless = matches!(read, Err(Errno::EINVAL)) && !self.from_end;
        let most = if self.end.is_some() { MOST_OF_DEVICE } else { self.count };
        let data = if endless { call.files.read_at(&call.path(operand), 0, most) } else { read };
        match data {
            Ok(data) => {
                self.header(operand, &mut answer.stdout);
                let to = if self.from_end {
                    Ok(counts::last(&data, self.count, self.end))
                } else {
                    counts::first(&data, self.count, self.end)
                };
                if endless && to.is_err() {
                    let name = quote::always(operand);
                    answer.complain(
                        1,
                        format!("head: {name} has no end: only {most} bytes of it are looked at"),
                    );
                }
                Next::Print(data.slice(..to.unwrap_or(data.len())))
            }
            Err(errno) => {
                if errno == Errno::EISDIR {
                    self.header(operand, &mut answer.stdout);
                    answer.complain(1, format!("head: error reading {}: {errno}", quote::always(operand)));
                } else {
                    let name = quote::always(operand);
                    answer.complain(1, format!("head: cannot open {name} for reading: {errno}"));
                }
                Next::Again
            }
        }
    }

    fn header(&mut self, name: &str, out: &mut Vec<u8>) {
        if self.headers {
            counts::header(name, &mut self.first, out);
        }
    }
}

impl Filter for Head<'_> {
    fn step(&mut self, call: &Call<'_>, input: Option<&[u8]>, answer: &mut Answer) -> Next {
        if self.stdin.is_some() {
            let Some(fresh) = input else { return Next::Input };
            if self.stdin(fresh, &mut answer.stdout) {
                return Next::Input;
            }
            self.stdin = None;
        }
        let Some(&operand) = self.operands.get(self.next) else { return Next::Done };
        self.next += 1;
        if !is_stdin(call, operand) {
            return self.file(call, operand, answer);
        }
        self.header(if operand == "-" { "standard input" } else { operand }, &mut answer.stdout);
        let wanted = self.count > 0 || self.from_end;
        if wanted && !self.stdin_ended {
            self.stdin = Some(Stdin { left: self.count, held: Vec::new() });
            let rest = std::mem::take(&mut self.rest);
            if !rest.is_empty() && !self.stdin(&rest, &mut answer.stdout) {
                self.stdin = None;
            }
        }
        Next::Again
    }
}
