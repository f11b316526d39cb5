//! `cat`, as of GNU coreutils 9.1. Files pass uncopied, standard input as it comes. Devices
//! without end are read until nobody reads on, or as far as `yes` writes.

use bytes::Bytes;

use super::filter::{Filter, Next};
use super::input::is_stdin;
use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call, quote};
use crate::fs::Errno;

const SPECS: &[Spec] = &[
    ('A', "show-all", Takes::Nothing),
    ('b', "number-nonblank", Takes::Nothing),
    ('e', "", Takes::Nothing),
    ('E', "show-ends", Takes::Nothing),
    ('n', "number", Takes::Nothing),
    ('s', "squeeze-blank", Takes::Nothing),
    ('t', "", Takes::Nothing),
    ('T', "show-tabs", Takes::Nothing),
    ('u', "", Takes::Nothing),
    ('v', "show-nonprinting", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: cat [OPTION]... [FILE]...
Print each FILE, or standard input for - or none.

  -n, --number           number the lines        -b  those that are not empty
  -s, --squeeze-blank    one empty line for several
  -E, --show-ends        $ at the end of lines
  -T, --show-tabs        tabs as ^I
  -v, --show-nonprinting bytes that cannot be seen as ^X and M-x
  -A  as -vET            -e  as -vE              -t  as -vT
";

/// So many bytes of a device at a time.
const PIECE: u64 = 64 << 10;

/// Of the memory limit, what is read of a device without end.
const MEMORY_PART: u64 = 8;

/// Begins it.
pub(super) fn begin<'a>(call: &Call<'a>) -> Result<Box<dyn Filter + 'a>, Answer> {
    let mut answer = Answer::default();
    let given = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.misused(1, "cat", &message);
            return Err(answer);
        }
    };
    for (letter, text) in [(HELP, USAGE), (VERSION, "cat (sqlfs), after GNU coreutils 9.1\n")] {
        if given.has(letter) {
            answer.stdout.extend_from_slice(text.as_bytes());
            return Err(answer);
        }
    }
    let shown = Shown::of(&given);
    let operands = if given.operands.is_empty() { vec!["-"] } else { given.operands };
    Ok(Box::new(Cat { operands, next: 0, source: Source::None, stdin_read: false, shown }))
}

struct Cat<'a> {
    operands: Vec<&'a str>,
    next: usize,
    source: Source,
    stdin_read: bool,
    /// `None`: everything passes as it is.
    shown: Option<Shown>,
}

enum Source {
    None,
    Stdin,
    /// A device without end: where it is, and how much of it was read.
    Device(String, u64),
}

impl Filter for Cat<'_> {
    fn step(&mut self, call: &Call<'_>, input: Option<&[u8]>, answer: &mut Answer) -> Next {
        match &mut self.source {
            Source::Stdin => {
                let Some(data) = input else { return Next::Input };
                if data.is_empty() {
                    self.source = Source::None;
                    return Next::Again;
                }
                match &mut self.shown {
                    Some(shown) => shown.show(data, &mut answer.stdout),
                    None => answer.stdout.extend_from_slice(data),
                }
                return Next::Input;
            }
            Source::Device(path, read) => {
                if *read >= call.files.quota().memory / MEMORY_PART {
                    answer.complain(1, format!("cat: {path}: stopped after {read} bytes, for it has no end"));
                    self.source = Source::None;
                    return Next::Again;
                }
                *read += PIECE;
                let data = call.files.read_at(path, 0, PIECE);
                let name = path.clone();
                return self.print(&name, data, answer);
            }
            Source::None => {}
        }
        let Some(&operand) = self.operands.get(self.next) else {
            if self.shown.as_ref().is_some_and(|shown| shown.carriage) {
                answer.stdout.push(b'\r');
            }
            return Next::Done;
        };
        self.next += 1;
        if is_stdin(call, operand) {
            if !std::mem::replace(&mut self.stdin_read, true) {
                self.source = Source::Stdin;
            }
            return Next::Again;
        }
        let data = call.read(operand);
        if data == Err(Errno::EINVAL) {
            self.source = Source::Device(call.path(operand), 0);
            return Next::Again;
        }
        self.print(operand, data, answer)
    }
}

impl Cat<'_> {
    fn print(&mut self, operand: &str, data: Result<Bytes, Errno>, answer: &mut Answer) -> Next {
        match (data, &mut self.shown) {
            (Ok(data), None) => return Next::Print(data),
            (Ok(data), Some(shown)) => shown.show(&data, &mut answer.stdout),
            (Err(errno), _) => {
                self.source = Source::None;
                answer.complain(1, format!("cat: {}: {errno}", quote::when_needed(operand)));
            }
        }
        Next::Again
    }
}

/// What is made visible, and where in the lines it is.
#[derive(Default)]
struct Shown {
    number: bool,
    /// Empty lines have no number.
    number_full: bool,
    squeeze: bool,
    ends: bool,
    tabs: bool,
    hidden: bool,
    line: u64,
    inside: bool,
    /// The line before was empty.
    blank: bool,
    /// A carriage return came last, which shows if a line ends behind it.
    carriage: bool,
}

impl Shown {
    fn of(given: &Given<'_>) -> Option<Self> {
        let any = |letters: &str| letters.chars().any(|letter| given.has(letter));
        let shown = Self {
            number: any("nb"),
            number_full: any("b"),
            squeeze: any("s"),
            ends: any("AeE"),
            tabs: any("AtT"),
            hidden: any("Aetv"),
            ..Self::default()
        };
        (shown.number || shown.squeeze || shown.ends || shown.tabs || shown.hidden).then_some(shown)
    }

    fn show(&mut self, data: &[u8], out: &mut Vec<u8>) {
        for piece in data.split_inclusive(|&byte| byte == b'\n') {
            let (text, ended) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if !self.inside {
                let blank = text.is_empty();
                if blank && self.squeeze && std::mem::replace(&mut self.blank, true) {
                    continue;
                }
                self.blank = blank;
                if self.number && !(blank && self.number_full) {
                    self.line += 1;
                    out.extend_from_slice(format!("{:>6}\t", self.line).as_bytes());
                }
            }
            self.text(text, out);
            if ended {
                if std::mem::take(&mut self.carriage) {
                    out.extend_from_slice(b"^M");
                }
                if self.ends {
                    out.push(b'$');
                }
                out.push(b'\n');
            }
            self.inside = !ended;
        }
    }

    fn text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        for (at, &byte) in text.iter().enumerate() {
            if std::mem::take(&mut self.carriage) {
                out.push(b'\r');
            }
            match byte {
                b'\t' if self.tabs => out.extend_from_slice(b"^I"),
                b'\t' => out.push(byte),
                b'\r' if self.ends && !self.hidden && at + 1 == text.len() => self.carriage = true,
                _ if self.hidden => visible(byte, out),
                _ => out.push(byte),
            }
        }
    }
}

fn visible(byte: u8, out: &mut Vec<u8>) {
    if byte >= 0x80 {
        out.extend_from_slice(b"M-");
    }
    match byte & 0x7f {
        low @ 0..0x20 => out.extend([b'^', low + 0x40]),
        0x7f => out.extend_from_slice(b"^?"),
        low => out.push(low),
    }
}
