//! `cut`, as of GNU coreutils 9.1: on bytes, `-c` as `-b`.

use self::list::{List, ranges};
use super::input::{input, is_stdin, records};
use super::options::{self, HELP, Spec, Takes, VERSION};
use super::refusal::Refusal;
use super::{Answer, Call, quote};

mod list;

const OUTPUT: char = '\u{3}';
const COMPLEMENT: char = '\u{4}';

const SPECS: &[Spec] = &[
    ('b', "bytes", Takes::Argument),
    ('c', "characters", Takes::Argument),
    ('d', "delimiter", Takes::Argument),
    ('f', "fields", Takes::Argument),
    ('n', "", Takes::Nothing),
    (COMPLEMENT, "complement", Takes::Nothing),
    ('s', "only-delimited", Takes::Nothing),
    (OUTPUT, "output-delimiter", Takes::Argument),
    ('z', "zero-terminated", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: cut OPTION... [FILE]...
Print parts of each line. A LIST is made of N, N-M, N- and -M, parted by commas.

  -b, --bytes=LIST                these bytes
  -c, --characters=LIST           as -b
  -f, --fields=LIST               these fields; lines without a delimiter are printed whole
  -d, --delimiter=SIGN            what parts fields, instead of a tab
  -s, --only-delimited            no lines without a delimiter
      --complement                all but these
      --output-delimiter=STRING   what parts the parts
  -z, --zero-terminated           lines end with NUL
";
const TOLD: &str = "cut (sqlfs), after GNU coreutils 9.1\n";

/// What is asked for.
struct Order<'a> {
    list: List,
    fields: bool,
    delimiter: u8,
    only_delimited: bool,
    between: Option<&'a [u8]>,
    end: u8,
    names: Vec<&'a str>,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let order = match order(call) {
        Ok(order) => order,
        Err(refusal) => return refusal.answer("cut", 1),
    };
    let mut answer = Answer::default();
    let mut stdin_read = false;
    for name in &order.names {
        if call.is_over() {
            return answer;
        }
        // Read once, it is at its end.
        if is_stdin(call, name) && std::mem::replace(&mut stdin_read, true) {
            continue;
        }
        match input(call, name) {
            Ok(data) if order.fields && order.delimiter == order.end => {
                lines_as_fields(&order, &data, &mut answer.stdout);
            }
            Ok(data) => {
                for line in records(&data, order.end) {
                    if order.fields {
                        fields(&order, line, &mut answer.stdout);
                    } else {
                        bytes(&order, line, &mut answer.stdout);
                    }
                }
            }
            Err(errno) => answer.complain(1, format!("cut: {}: {errno}", quote::when_needed(name))),
        }
    }
    answer
}

fn order<'a>(call: &Call<'a>) -> Result<Order<'a>, Refusal> {
    let given = options::parse(call.args, SPECS).map_err(Refusal::Misused)?;
    let misused = |message: &str| Refusal::Misused(message.to_owned());
    let (mut list, mut delimiter) = (None, None);
    for (letter, value) in &given.options {
        match (*letter, *value) {
            (HELP, _) => return Err(Refusal::Told(USAGE)),
            (VERSION, _) => return Err(Refusal::Told(TOLD)),
            (letter @ ('b' | 'c' | 'f'), Some(text)) => {
                if list.replace((letter == 'f', text)).is_some() {
                    return Err(misused("only one list may be specified"));
                }
            }
            ('d', Some(text)) => match text.as_bytes() {
                // An empty one is NUL.
                [] => delimiter = Some(b'\0'),
                [sign] => delimiter = Some(*sign),
                _ => return Err(misused("the delimiter must be a single character")),
            },
            _ => {}
        }
    }
    let Some((fields, text)) = list else {
        return Err(misused("you must specify a list of bytes, characters, or fields"));
    };
    if !fields && delimiter.is_some() {
        return Err(misused("an input delimiter may be specified only when operating on fields"));
    }
    if !fields && given.has('s') {
        return Err(misused("suppressing non-delimited lines makes sense\n\tonly when operating on fields"));
    }
    let list = ranges(text, fields, given.has(COMPLEMENT)).map_err(Refusal::Misused)?;
    // An empty one is NUL, too.
    let between = given.value(OUTPUT).map(|text| if text.is_empty() { &b"\0"[..] } else { text.as_bytes() });
    Ok(Order {
        list,
        fields,
        delimiter: delimiter.unwrap_or(b'\t'),
        only_delimited: given.has('s'),
        between,
        end: if given.has('z') { b'\0' } else { b'\n' },
        names: if given.operands.is_empty() { vec!["-"] } else { given.operands },
    })
}

fn bytes(order: &Order<'_>, line: &[u8], out: &mut Vec<u8>) {
    let mut parts = order.list.iter().take_while(|(first, _)| *first <= line.len());
    let part = |(first, last): &(usize, usize)| &line[first - 1..line.len().min(*last)];
    if let Some(first) = parts.next() {
        out.extend_from_slice(part(first));
    }
    for next in parts {
        out.extend_from_slice(order.between.unwrap_or_default());
        out.extend_from_slice(part(next));
    }
    out.push(order.end);
}

fn fields(order: &Order<'_>, line: &[u8], out: &mut Vec<u8>) {
    if !line.contains(&order.delimiter) {
        if !order.only_delimited {
            out.extend_from_slice(line);
            out.push(order.end);
        }
        return;
    }
    let parts = line.split(|&byte| byte == order.delimiter);
    selected(order, parts, out);
    out.push(order.end);
}

/// Those parts that are asked for.
fn selected<'l>(order: &Order<'_>, parts: impl Iterator<Item = &'l [u8]>, out: &mut Vec<u8>) {
    let (mut ranges, mut some) = (order.list.iter().peekable(), false);
    for (at, part) in parts.enumerate() {
        while ranges.next_if(|(_, last)| *last <= at).is_some() {}
        let Some((first, _)) = ranges.peek() else { break };
        if at + 1 < *first {
            continue;
        }
        if std::mem::replace(&mut some, true) {
            out.extend_from_slice(order.between.unwrap_or(&[order.delimiter]));
        }
        out.extend_from_slice(part);
    }
}

/// Where lines are parted as fields are: all is one line of them.
fn lines_as_fields(order: &Order<'_>, data: &[u8], out: &mut Vec<u8>) {
    if records(data, order.end).count() < 2 && order.only_delimited {
        return;
    }
    selected(order, records(data, order.end), out);
    if !data.is_empty() {
        out.push(order.end);
    }
}
