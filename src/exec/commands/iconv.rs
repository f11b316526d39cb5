//! `iconv`, as of glibc 2.36: character sets by name, over the tables of `encoding_rs`;
//! UTF-16, UTF-32, ASCII and Latin-1 are in `charsets.rs`. Left out: sets that those
//! lack (EBCDIC, UTF-7), and transliteration beyond `?` and a few signs.

use super::options::{self, Given, HELP, Spec, Takes};
use super::{Answer, Call, new_name};
use charsets::{Bad, Charset};

mod charsets;

const OMIT: char = 'c';

const SPECS: &[Spec] = &[
    ('f', "from-code", Takes::Argument),
    ('t', "to-code", Takes::Argument),
    ('l', "list", Takes::Nothing),
    (OMIT, "", Takes::Nothing),
    ('o', "output", Takes::Argument),
    ('s', "silent", Takes::Nothing),
    ('v', "verbose", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    ('V', "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: iconv [OPTION...] [FILE...]
Convert encoding of given files from one encoding to another.

  -f, --from-code=NAME   encoding of original text
  -t, --to-code=NAME     encoding for output
  -l, --list             list all known coded character sets
  -c                     omit invalid characters from output
  -o, --output=FILE      output file
  -s, --silent           suppress warnings
";

/// What is done with a character that the target lacks.
#[derive(Clone, Copy, Default)]
struct Lenience {
    /// Leave it out: `-c`, `//IGNORE`.
    omit: bool,
    /// Put something like it: `//TRANSLIT`.
    translit: bool,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Given { options: given, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.complain(64, format!("iconv: {message}"));
            answer.complain(64, "Try `iconv --help' or `iconv --usage' for more information.");
            return answer;
        }
    };
    let (mut from, mut to, mut output, mut lenience) = ("", "", None, Lenience::default());
    for (letter, value) in given {
        match (letter, value) {
            ('f', Some(name)) => from = name,
            ('t', Some(name)) => to = name,
            ('o', Some(name)) => output = Some(name),
            (OMIT, _) => lenience.omit = true,
            ('l', _) => {
                answer
                    .stdout
                    .extend(charsets::NAMES.iter().flat_map(|name| format!("{name}//\n").into_bytes()));
                return answer;
            }
            (HELP | 'V', _) => {
                let text = if letter == 'V' { "iconv (sqlfs), after glibc 2.36\n" } else { USAGE };
                answer.stdout.extend_from_slice(text.as_bytes());
                return answer;
            }
            _ => {}
        }
    }
    let mut suffixes = to.split("//");
    to = suffixes.next().unwrap_or_default();
    for suffix in suffixes {
        lenience.translit |= suffix.eq_ignore_ascii_case("TRANSLIT");
        lenience.omit |= suffix.eq_ignore_ascii_case("IGNORE");
    }
    from = from.split("//").next().unwrap_or_default();
    let find = |name: &str| Charset::find(if name.is_empty() { "UTF-8" } else { name });
    let (source, target) = match (find(from), find(to)) {
        (Some(source), Some(target)) => (source, target),
        (source, _) => {
            let unknown = if source.is_none() { from } else { to };
            answer.complain(1, format!("iconv: conversion of `{unknown}' is not supported"));
            return answer;
        }
    };
    let mut out = Vec::new();
    target.begin(&mut out);
    let names = if operands.is_empty() { vec!["-"] } else { operands };
    for name in names {
        if call.is_over() {
            return answer;
        }
        let converted = match call.read(name) {
            Ok(data) => convert(&data, source, target, lenience, &mut out),
            Err(crate::fs::Errno::EISDIR) => Err("error while reading the input: Is a directory".to_owned()),
            Err(errno) => {
                answer.complain(1, format!("iconv: cannot open input file `{name}': {errno}"));
                continue;
            }
        };
        if let Err(message) = converted {
            answer.complain(1, format!("iconv: {message}"));
            break;
        }
    }
    match output {
        None => answer.stdout = out,
        Some(name) => {
            let path = call.path(name);
            if let Err(errno) = new_name(&path).and_then(|path| call.files.write(path, &out)) {
                answer.complain(1, format!("iconv: unable to open output file: {errno}"));
            }
        }
    }
    answer
}

/// Appends what `data` is in the target; `Err` says where it is not.
fn convert(
    data: &[u8],
    source: Charset,
    target: Charset,
    lenience: Lenience,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let illegal = |at: usize| Err(format!("illegal input sequence at position {at}"));
    let mut at = source.mark(data);
    let mut text = String::new();
    while at < data.len() {
        text.clear();
        // `at` moves behind what was understood.
        let start = at;
        let bad = source.decode(data, &mut at, &mut text);
        for (offset, char) in text.char_indices() {
            let fits = target.encode(char, out) || (lenience.translit && alike(char, target, out));
            if !fits && !lenience.omit {
                return illegal(start + source.length(&text[..offset]));
            }
        }
        match bad {
            None => {}
            Some(Bad::Cut) => {
                return Err("incomplete character or shift sequence at end of buffer".to_owned());
            }
            Some(Bad::Illegal(length)) if lenience.omit => at += length.max(1),
            Some(Bad::Illegal(_)) => return illegal(at),
        }
    }
    Ok(())
}

/// Appends what is like a character in a set that lacks it.
fn alike(char: char, target: Charset, out: &mut Vec<u8>) -> bool {
    let like = match char {
        '\u{2018}' | '\u{2019}' | '\u{201b}' => "'",
        '\u{201c}' | '\u{201d}' | '\u{201f}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{2026}' => "...",
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' => " ",
        '\u{20ac}' => "EUR",
        '\u{ab}' => "<<",
        '\u{bb}' => ">>",
        '\u{a9}' => "(C)",
        '\u{ae}' => "(R)",
        '\u{d7}' => "x",
        'ß' => "ss",
        'Æ' => "AE",
        'æ' => "ae",
        'Œ' => "OE",
        'œ' => "oe",
        _ => base_letter(char),
    };
    like.chars().all(|char| target.encode(char, out))
}

/// The letter below an accent; `?` of anything else, as glibc puts it.
fn base_letter(char: char) -> &'static str {
    match char {
        'à'..='å' | 'ā' | 'ă' | 'ą' => "a",
        'À'..='Å' | 'Ā' | 'Ă' | 'Ą' => "A",
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => "c",
        'Ç' | 'Ć' | 'Ĉ' | 'Ċ' | 'Č' => "C",
        'ď' => "d",
        'Ď' => "D",
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => "e",
        'È'..='Ë' | 'Ē' | 'Ĕ' | 'Ė' | 'Ę' | 'Ě' => "E",
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => "g",
        'Ĝ' | 'Ğ' | 'Ġ' | 'Ģ' => "G",
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' => "i",
        'Ì'..='Ï' | 'Ĩ' | 'Ī' | 'Ĭ' | 'Į' | 'İ' => "I",
        'ĺ' | 'ļ' | 'ľ' | 'ł' => "l",
        'Ĺ' | 'Ļ' | 'Ľ' | 'Ł' => "L",
        'ñ' | 'ń' | 'ņ' | 'ň' => "n",
        'Ñ' | 'Ń' | 'Ņ' | 'Ň' => "N",
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' => "o",
        'Ò'..='Ö' | 'Ø' | 'Ō' | 'Ŏ' | 'Ő' => "O",
        'ŕ' | 'ŗ' | 'ř' => "r",
        'Ŕ' | 'Ŗ' | 'Ř' => "R",
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => "s",
        'Ś' | 'Ŝ' | 'Ş' | 'Š' | 'Ș' => "S",
        'ţ' | 'ť' | 'ț' => "t",
        'Ţ' | 'Ť' | 'Ț' => "T",
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => "u",
        'Ù'..='Ü' | 'Ũ' | 'Ū' | 'Ŭ' | 'Ů' | 'Ű' | 'Ų' => "U",
        'ý' | 'ÿ' => "y",
        'Ý' | 'Ÿ' => "Y",
        'ź' | 'ż' | 'ž' => "z",
        'Ź' | 'Ż' | 'Ž' => "Z",
        _ => "?",
    }
}
