//! What was asked of `sort`.

use std::cmp::Ordering;

use super::keys::{Comparer, Key, Manners};
use crate::exec::commands::options::{self, HELP, Spec, Takes, VERSION};
use crate::exec::commands::refusal::{Refusal, choice, count};
use crate::exec::commands::{Call, quote};

const SORT: char = '\u{3}';
const FILES: char = '\u{4}';
const PARALLEL: char = '\u{5}';
const BATCH: char = '\u{6}';
const COMPRESS: char = '\u{7}';
const DEBUG: char = '\u{8}';
const RANDOM: char = '\u{e}';
const CHECK: char = '\u{f}';

const SPECS: &[Spec] = &[
    ('b', "ignore-leading-blanks", Takes::Nothing),
    ('d', "dictionary-order", Takes::Nothing),
    ('f', "ignore-case", Takes::Nothing),
    ('g', "general-numeric-sort", Takes::Nothing),
    ('i', "ignore-nonprinting", Takes::Nothing),
    ('M', "month-sort", Takes::Nothing),
    ('h', "human-numeric-sort", Takes::Nothing),
    ('n', "numeric-sort", Takes::Nothing),
    ('R', "random-sort", Takes::Nothing),
    (RANDOM, "random-source", Takes::Argument),
    ('r', "reverse", Takes::Nothing),
    (SORT, "sort", Takes::Argument),
    ('V', "version-sort", Takes::Nothing),
    (BATCH, "batch-size", Takes::Argument),
    (CHECK, "check", Takes::Optional),
    ('c', "", Takes::Nothing),
    ('C', "", Takes::Nothing),
    (COMPRESS, "compress-program", Takes::Argument),
    (DEBUG, "debug", Takes::Nothing),
    (FILES, "files0-from", Takes::Argument),
    ('k', "key", Takes::Argument),
    ('m', "merge", Takes::Nothing),
    ('o', "output", Takes::Argument),
    ('s', "stable", Takes::Nothing),
    ('S', "buffer-size", Takes::Argument),
    ('t', "field-separator", Takes::Argument),
    ('T', "temporary-directory", Takes::Argument),
    (PARALLEL, "parallel", Takes::Argument),
    ('u', "unique", Takes::Nothing),
    ('y', "", Takes::Optional),
    ('z', "zero-terminated", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: sort [OPTION]... [FILE]...
Write sorted concatenation of all FILE(s) to standard output.

  -b, --ignore-leading-blanks  ignore leading blanks
  -d, --dictionary-order       consider only blanks and alphanumeric characters
  -f, --ignore-case            fold lower case to upper case characters
  -g, --general-numeric-sort   compare according to general numerical value
  -i, --ignore-nonprinting     consider only printable characters
  -M, --month-sort             compare (unknown) < 'JAN' < ... < 'DEC'
  -h, --human-numeric-sort     compare human readable numbers (e.g., 2K 1G)
  -n, --numeric-sort           compare according to string numerical value
  -R, --random-sort            shuffle, but group identical keys
  -r, --reverse                reverse the result of comparisons
      --sort=WORD              sort according to WORD:
                                 general-numeric -g, human-numeric -h, month -M,
                                 numeric -n, random -R, version -V
  -V, --version-sort           natural sort of (version) numbers within text
  -c, --check, --check=diagnose-first  check for sorted input; do not sort
  -C, --check=quiet, --check=silent  like -c, but do not report first bad line
  -k, --key=KEYDEF             sort via a key: F[.C][OPTS][,F[.C][OPTS]]
  -m, --merge                  merge already sorted files; do not sort
  -o, --output=FILE            write result to FILE instead of standard output
  -s, --stable                 stabilize sort by disabling last-resort comparison
  -t, --field-separator=SEP    use SEP instead of non-blank to blank transition
  -u, --unique                 output only the first of an equal run
  -z, --zero-terminated        line delimiter is NUL, not newline

Taken, and of no effect: -S, -T, --parallel, --batch-size, --compress-program,
--random-source.
";

/// What to do with the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Sort,
    Merge,
    /// The letter, `c` or `C`.
    Check(char),
}

/// A call, understood.
pub(super) struct Order<'a> {
    keys: Vec<Comparer>,
    reverse: bool,
    /// Lines with equal keys are not compared further.
    keys_alone: bool,
    pub(super) unique: bool,
    pub(super) work: Work,
    pub(super) output: Option<&'a str>,
    pub(super) end: u8,
    pub(super) names: Vec<&'a str>,
}

impl<'a> Order<'a> {
    pub(super) fn of(call: &Call<'a>) -> Result<Self, Refusal> {
        let given = options::parse(call.args, SPECS).map_err(Refusal::Misused)?;
        let (mut global, mut keys, mut separator, mut check) = (Manners::default(), Vec::new(), None, None);
        let (mut stable, mut merge) = (false, false);
        let mut order = Self {
            keys: Vec::new(),
            reverse: false,
            keys_alone: false,
            unique: false,
            work: Work::Sort,
            output: None,
            end: b'\n',
            names: if given.operands.is_empty() { vec!["-"] } else { given.operands },
        };
        for (letter, value) in given.options {
            let value = value.unwrap_or_default();
            match letter {
                'k' => keys.push(Key::of(value).map_err(Refusal::Wrong)?),
                't' => {
                    let sign = separator_of(value)?;
                    if separator.is_some_and(|other| other != sign) {
                        return Err(Refusal::Wrong("incompatible tabs".to_owned()));
                    }
                    separator = Some(sign);
                }
                'c' | 'C' | CHECK => {
                    let names = [("quiet", 'C'), ("silent", 'C'), ("diagnose-first", 'c')];
                    let letter = match letter {
                        CHECK if !value.is_empty() => choice("--check", value, &names)?,
                        CHECK => 'c',
                        letter => letter,
                    };
                    if check.is_some_and(|other| other != letter) {
                        return Err(incompatible("cC"));
                    }
                    check = Some(letter);
                }
                'm' => merge = true,
                'o' if order.output.is_some_and(|other| other != value) => {
                    return Err(Refusal::Wrong("multiple output files specified".to_owned()));
                }
                'o' => order.output = Some(value),
                's' => stable = true,
                'u' => order.unique = true,
                'z' => order.end = 0,
                'S' => buffer_size(value)?,
                PARALLEL => match count(value) {
                    Some(0) => return Err(Refusal::Wrong("number in parallel must be nonzero".to_owned())),
                    Some(_) => {}
                    None => return Err(invalid("", "--parallel", value)),
                },
                BATCH => {
                    if count(value).is_none() {
                        return Err(invalid("", "--batch-size", value));
                    }
                }
                SORT => {
                    let names = [
                        ("general-numeric", b'g'),
                        ("human-numeric", b'h'),
                        ("month", b'M'),
                        ("numeric", b'n'),
                        ("random", b'R'),
                        ("version", b'V'),
                    ];
                    let _ = global.add_global(choice("--sort", value, &names)?);
                }
                FILES | DEBUG => {
                    let name = if letter == FILES { "--files0-from" } else { "--debug" };
                    return Err(Refusal::Wrong(format!("{name} is not supported here")));
                }
                'T' | 'y' | COMPRESS | RANDOM => {}
                HELP => return Err(Refusal::Told(USAGE)),
                VERSION => return Err(Refusal::Told("sort (sqlfs), after GNU coreutils 9.1\n")),
                manner => {
                    let _ = global.add_global(manner as u8);
                }
            }
        }
        for key in &mut keys {
            if key.manners.is_default() && !key.manners.has(b'r') {
                key.manners = global;
            }
        }
        if keys.is_empty() && !global.is_default() {
            keys.push(Key::whole(global));
        }
        if let Some(letters) = keys.iter().find_map(|key| key.manners.conflict()) {
            return Err(incompatible(&letters));
        }
        if let Some(letter) = check {
            order.checks(letter)?;
        } else if merge {
            order.work = Work::Merge;
        }
        order.reverse = global.has(b'r');
        order.keys_alone = !keys.is_empty() && (stable || order.unique);
        order.keys = keys.into_iter().map(|key| Comparer::new(key, separator)).collect();
        Ok(order)
    }

    fn checks(&mut self, letter: char) -> Result<(), Refusal> {
        if let Some(extra) = self.names.get(1) {
            let extra = quote::always(extra);
            return Err(Refusal::Wrong(format!("extra operand {extra} not allowed with -{letter}")));
        }
        if self.output.is_some() {
            return Err(incompatible(&format!("{letter}o")));
        }
        self.work = Work::Check(letter);
        Ok(())
    }

    /// Orders two lines.
    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        for key in &self.keys {
            let order = key.compare(a, b);
            if order != Ordering::Equal {
                return order;
            }
        }
        match (self.keys_alone, self.reverse) {
            (true, _) => Ordering::Equal,
            (_, false) => a.cmp(b),
            (_, true) => b.cmp(a),
        }
    }
}

/// One byte, or `\0`.
fn separator_of(text: &str) -> Result<u8, Refusal> {
    match text.as_bytes() {
        [] => Err(Refusal::Wrong("empty tab".to_owned())),
        [sign] => Ok(*sign),
        b"\\0" => Ok(0),
        _ => Err(Refusal::Wrong(format!("multi-character tab {}", quote::curly(text)))),
    }
}

/// A size, which is looked at and no more: all lines are held in any case.
fn buffer_size(text: &str) -> Result<(), Refusal> {
    let rest = text.trim_start_matches(|char: char| char.is_ascii_digit());
    if rest.len() == text.len() {
        Err(invalid("", "-S", text))
    } else if matches!(
        rest.as_bytes(),
        [] | [b'%'
            | b'b'
            | b'k'
            | b'K'
            | b'm'
            | b'M'
            | b'g'
            | b'G'
            | b't'
            | b'T'
            | b'P'
            | b'E'
            | b'Z'
            | b'Y']
    ) {
        Ok(())
    } else {
        Err(invalid("suffix in ", "-S", text))
    }
}

fn invalid(what: &str, option: &str, value: &str) -> Refusal {
    Refusal::Wrong(format!("invalid {what}{option} argument '{value}'"))
}

fn incompatible(letters: &str) -> Refusal {
    Refusal::Wrong(format!("options '-{letters}' are incompatible"))
}
