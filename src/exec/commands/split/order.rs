//! What was asked of `split`.

use super::names::{Alphabet, Names};
use crate::exec::commands::options::{self, DIGIT, HELP, Spec, Takes, VERSION};
use crate::exec::commands::refusal::Refusal;
use crate::exec::commands::{human, quote};

const NUMERIC: char = '\u{3}';
const HEX: char = '\u{4}';
const SUFFIX: char = '\u{5}';
const FILTER: char = '\u{6}';
const VERBOSE: char = '\u{7}';

const SPECS: &[Spec] = &[
    ('a', "suffix-length", Takes::Argument),
    (SUFFIX, "additional-suffix", Takes::Argument),
    ('b', "bytes", Takes::Argument),
    ('C', "line-bytes", Takes::Argument),
    ('d', "", Takes::Nothing),
    (NUMERIC, "numeric-suffixes", Takes::Optional),
    ('x', "", Takes::Nothing),
    (HEX, "hex-suffixes", Takes::Optional),
    ('e', "elide-empty-files", Takes::Nothing),
    (FILTER, "filter", Takes::Argument),
    ('l', "lines", Takes::Argument),
    ('n', "number", Takes::Argument),
    ('t', "separator", Takes::Argument),
    ('u', "unbuffered", Takes::Nothing),
    (VERBOSE, "verbose", Takes::Nothing),
    // How lines were counted once: `-100`.
    (DIGIT, "", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: split [OPTION]... [FILE [PREFIX]]
Output pieces of FILE to PREFIXaa, PREFIXab, ...;
default size is 1000 lines, and default PREFIX is 'x'.

  -a, --suffix-length=N   generate suffixes of length N (default 2)
      --additional-suffix=SUFFIX  append an additional SUFFIX to file names
  -b, --bytes=SIZE        put SIZE bytes per output file
  -C, --line-bytes=SIZE   put at most SIZE bytes of records per output file
  -d                      use numeric suffixes starting at 0, not alphabetic
      --numeric-suffixes[=FROM]  same as -d, but allow setting the start value
  -x                      use hex suffixes starting at 0, not alphabetic
      --hex-suffixes[=FROM]  same as -x, but allow setting the start value
  -e, --elide-empty-files  do not generate empty output files with '-n'
  -l, --lines=NUMBER      put NUMBER lines/records per output file
  -n, --number=CHUNKS     generate CHUNKS output files; CHUNKS may be
                            N, K/N, l/N, l/K/N, r/N or r/K/N
  -t, --separator=SEP     use SEP instead of newline as the record separator
      --verbose           print a diagnostic just before each
                            output file is opened
";

/// What chunks are made of.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Bytes,
    Lines,
    /// Lines in turn.
    Round,
}

/// How the input is split.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Lines(usize),
    Bytes(usize),
    LineBytes(usize),
    /// Into so many; or only this one, from 0, to standard output.
    Chunks {
        part: Part,
        number: usize,
        only: Option<usize>,
    },
}

/// A call, understood.
pub(super) struct Order<'a> {
    pub(super) way: Way,
    pub(super) input: &'a str,
    pub(super) names: Names<'a>,
    pub(super) elide: bool,
    pub(super) verbose: bool,
    pub(super) end: u8,
}

/// What is said of suffixes.
struct Suffixes<'a> {
    alphabet: Alphabet,
    from: Option<&'a str>,
    length: usize,
    after: &'a str,
}

impl<'a> Order<'a> {
    pub(super) fn of(args: &'a [String]) -> Result<Self, Refusal> {
        let given = options::parse(args, SPECS).map_err(Refusal::Misused)?;
        let (mut way, mut digits, mut end) = (None, String::new(), None);
        let (mut elide, mut verbose) = (false, false);
        let mut suffixes = Suffixes { alphabet: Alphabet::Letters, from: None, length: 0, after: "" };
        for (letter, value) in given.options {
            let text = value.unwrap_or_default();
            // Digits go on with the number that they began.
            let begins = "lbCn".contains(letter) || (letter.is_ascii_digit() && digits.is_empty());
            if begins && way.is_some() {
                return Err(misused("cannot split in more than one way"));
            }
            match letter {
                'l' => way = Some(Way::Lines(size(text, "number of lines", false)?)),
                'b' => way = Some(Way::Bytes(size(text, "number of bytes", true)?)),
                'C' => way = Some(Way::LineBytes(size(text, "number of bytes", true)?)),
                'n' => way = Some(chunks(text)?),
                'a' => {
                    let length = text.parse().ok().filter(|length| *length <= LONGEST);
                    suffixes.length = length.ok_or_else(|| invalid("suffix length", text, ""))?;
                }
                'd' | NUMERIC | 'x' | HEX => {
                    let decimal = matches!(letter, 'd' | NUMERIC);
                    suffixes.alphabet = if decimal { Alphabet::Decimal } else { Alphabet::Hexadecimal };
                    if let Some(from) = value {
                        suffixes.start(from)?;
                    }
                }
                SUFFIX if text.contains('/') => {
                    let suffix = quote::curly(text);
                    return Err(misused(&format!("invalid suffix {suffix}, contains directory separator")));
                }
                SUFFIX => suffixes.after = text,
                'e' => elide = true,
                't' => {
                    let sign = separator(text)?;
                    if end.is_some_and(|other| other != sign) {
                        return Err(wrong("multiple separator characters specified"));
                    }
                    end = Some(sign);
                }
                VERBOSE => verbose = true,
                'u' => {}
                FILTER => return Err(wrong("--filter is not supported here")),
                HELP => return Err(Refusal::Told(USAGE)),
                VERSION => return Err(Refusal::Told("split (sqlfs), after GNU coreutils 9.1\n")),
                digit => {
                    digits.push(digit);
                    way = Some(Way::Lines(size(&digits, "number of lines", false)?));
                }
            }
        }
        let way = way.unwrap_or(Way::Lines(1000));
        let (input, prefix) = match given.operands[..] {
            [] => ("-", "x"),
            [input] => (input, "x"),
            [input, prefix] => (input, prefix),
            [_, _, extra, ..] => return Err(misused(&format!("extra operand {}", quote::curly(extra)))),
        };
        let names = suffixes.names(prefix, way)?;
        Ok(Self { way, input, names, elide, verbose, end: end.unwrap_or(b'\n') })
    }
}

/// Suffixes that are longer fit no name.
const LONGEST: usize = 255;

impl<'a> Suffixes<'a> {
    fn start(&mut self, from: &'a str) -> Result<(), Refusal> {
        if !from.bytes().all(|sign| self.alphabet.signs().contains(&sign)) {
            let kind = if self.alphabet == Alphabet::Decimal { "numerical" } else { "hexadecimal" };
            let from = quote::curly(from);
            return Err(misused(&format!("{from}: invalid start value for {kind} suffix")));
        }
        let short = from.trim_start_matches('0');
        self.from = Some(if short.is_empty() && !from.is_empty() { "0" } else { short });
        Ok(())
    }

    /// The names: as long as a known number of pieces needs, else growing.
    fn names(&self, prefix: &str, way: Way) -> Result<Names<'a>, Refusal> {
        let signs = self.alphabet.signs();
        let (mut needed, mut grows) = (0, self.from.is_none() && self.length == 0);
        if let Way::Chunks { number, .. } = way {
            let from = self.from.and_then(|from| from.parse().ok()).filter(|from| *from < number);
            let mut last = (number - 1).saturating_add(from.unwrap_or(0));
            while needed == 0 || last > 0 {
                needed += 1;
                last /= signs.len();
            }
            grows = false;
        }
        if self.length > 0 && self.length < needed {
            return Err(wrong(&format!("the suffix length needs to be at least {needed}")));
        }
        let length = if self.length > 0 { self.length } else { needed.max(2) };
        let mut next = vec![0; length];
        let from = self.from.unwrap_or_default();
        if from.len() > length {
            return Err(misused("numerical suffix start value is too large for the suffix length"));
        }
        for (place, sign) in next[length - from.len()..].iter_mut().zip(from.bytes()) {
            *place = signs.iter().position(|&known| known == sign).unwrap_or(0);
        }
        Ok(Names { prefix: prefix.to_owned(), signs, next, grows, after: self.after, ended: false })
    }
}

fn misused(message: &str) -> Refusal {
    Refusal::Misused(message.to_owned())
}

fn wrong(message: &str) -> Refusal {
    Refusal::Wrong(message.to_owned())
}

fn invalid(what: &str, text: &str, reason: &str) -> Refusal {
    Refusal::Wrong(format!("invalid {what}: {}{reason}", quote::curly(text)))
}

const OUT_OF_RANGE: &str = ": Numerical result out of range";
const TOO_LARGE: &str = ": Value too large for defined data type";

fn separator(text: &str) -> Result<u8, Refusal> {
    match text.as_bytes() {
        [] => Err(wrong("empty record separator")),
        [sign] => Ok(*sign),
        b"\\0" => Ok(0),
        _ => Err(wrong(&format!("multi-character separator {}", quote::curly(text)))),
    }
}

/// A number above zero; with `units` one like `10K`, `1MB` or `2b`.
fn size(text: &str, what: &str, units: bool) -> Result<usize, Refusal> {
    let plain = text.trim_start_matches([' ', '\t']);
    let plain = plain.strip_prefix('+').unwrap_or(plain);
    let end = plain.find(|char: char| !char.is_ascii_digit()).unwrap_or(plain.len());
    let (number, unit) = plain.split_at(end);
    let unit = if units { human::factor(unit) } else { unit.is_empty().then_some(1) };
    // A unit alone is one of it.
    let number = if number.is_empty() && units && unit.is_some_and(|unit| unit > 1) { "1" } else { number };
    let unit = unit.filter(|_| !number.is_empty()).ok_or_else(|| invalid(what, text, ""))?;
    let value = number.parse::<u128>().ok().and_then(|number| number.checked_mul(unit));
    match value.filter(|value| *value <= u128::from(u64::MAX)) {
        Some(0) => Err(invalid(what, text, OUT_OF_RANGE)),
        Some(value) => Ok(usize::try_from(value).unwrap_or(usize::MAX)),
        None => Err(invalid(what, text, TOO_LARGE)),
    }
}

/// `N`, `K/N`, `l/N`, `l/K/N`, `r/N`, `r/K/N`.
fn chunks(text: &str) -> Result<Way, Refusal> {
    let (part, rest) = match text.split_once('/') {
        Some(("l", rest)) => (Part::Lines, rest),
        Some(("r", rest)) => (Part::Round, rest),
        _ => (Part::Bytes, text),
    };
    let (only, number) = match rest.split_once('/') {
        Some((only, number)) => (Some(only), number),
        None => (None, rest),
    };
    let what = "number of chunks";
    let number = match (only, size(number, what, false)) {
        // What is no number before the slash is told first.
        (Some(only), _) if only.parse::<u64>().is_err() => return Err(invalid("chunk number", only, "")),
        (_, number) => number?,
    };
    let only = only.map(|only| {
        let found = size(only, "chunk number", false)?;
        if found > number { Err(invalid("chunk number", only, OUT_OF_RANGE)) } else { Ok(found - 1) }
    });
    Ok(Way::Chunks { part, number, only: only.transpose()? })
}
