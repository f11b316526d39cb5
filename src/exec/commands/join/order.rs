//! What was asked of `join`.

use crate::exec::commands::comm::{Check, two_operands};
use crate::exec::commands::input::is_stdin;
use crate::exec::commands::options::{self, HELP, Spec, Takes, VERSION};
use crate::exec::commands::refusal::{Refusal, count};
use crate::exec::commands::{Call, quote};

const CHECK: char = '\u{3}';
const NO_CHECK: char = '\u{4}';
const HEADER: char = '\u{5}';

const SPECS: &[Spec] = &[
    ('1', "", Takes::Argument),
    ('2', "", Takes::Argument),
    ('a', "", Takes::Argument),
    ('e', "", Takes::Argument),
    ('i', "ignore-case", Takes::Nothing),
    ('j', "", Takes::Argument),
    ('o', "", Takes::Argument),
    ('t', "", Takes::Argument),
    ('v', "", Takes::Argument),
    ('z', "zero-terminated", Takes::Nothing),
    (CHECK, "check-order", Takes::Nothing),
    (NO_CHECK, "nocheck-order", Takes::Nothing),
    (HEADER, "header", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: join [OPTION]... FILE1 FILE2
For each pair of input lines with identical join fields, write a line to
standard output. The default join field is the first, delimited by blanks.

  -a FILENUM             also print unpairable lines from file FILENUM, where
                           FILENUM is 1 or 2, corresponding to FILE1 or FILE2
  -e STRING              replace missing input fields with STRING
  -i, --ignore-case      ignore differences in case when comparing fields
  -j FIELD               equivalent to '-1 FIELD -2 FIELD'
  -o FORMAT              obey FORMAT while constructing output line
  -t CHAR                use CHAR as input and output field separator
  -v FILENUM             like -a FILENUM, but suppress joined output lines
  -1 FIELD               join on this FIELD of file 1
  -2 FIELD               join on this FIELD of file 2
      --check-order      check that the input is correctly sorted, even
                           if all input lines are pairable
      --nocheck-order    do not check that the input is correctly sorted
      --header           treat the first line in each file as field headers
  -z, --zero-terminated  line delimiter is NUL, not newline

FORMAT is 'auto', or comma or blank separated specifications, each being
'FILENUM.FIELD' or '0'.
";

/// A column of the output.
#[derive(Clone, Copy)]
pub(super) enum Column {
    /// The field that both are joined by.
    Joined,
    /// File and field, from 0.
    Field(usize, usize),
}

/// A call, understood.
pub(super) struct Order<'a> {
    /// The fields that are joined by, from 0.
    pub(super) fields: [usize; 2],
    /// Whether lines of a file that have no partner are printed.
    pub(super) alone: [bool; 2],
    pub(super) pairs: bool,
    pub(super) filler: &'a str,
    pub(super) fold: bool,
    /// Empty: the joined field, then the other ones.
    pub(super) columns: Vec<Column>,
    /// All lines get as many columns as the first ones have.
    pub(super) automatic: bool,
    pub(super) separator: Option<u8>,
    pub(super) header: bool,
    pub(super) check: Check,
    pub(super) end: u8,
    pub(super) names: [&'a str; 2],
}

impl<'a> Order<'a> {
    pub(super) fn of(call: &Call<'a>) -> Result<Self, Refusal> {
        let given = options::parse(call.args, SPECS).map_err(Refusal::Misused)?;
        let mut order = Self {
            fields: [0; 2],
            alone: [false; 2],
            pairs: true,
            filler: "",
            fold: false,
            columns: Vec::new(),
            automatic: false,
            separator: None,
            header: false,
            check: Check::Default,
            end: b'\n',
            names: [""; 2],
        };
        let (mut fields, mut filler) = ([None; 2], None);
        for (letter, value) in given.options {
            let value = value.unwrap_or_default();
            match letter {
                '1' => set(&mut fields[0], value)?,
                '2' => set(&mut fields[1], value)?,
                'j' => {
                    set(&mut fields[0], value)?;
                    set(&mut fields[1], value)?;
                }
                'a' | 'v' => {
                    let file = count(value).filter(|file| [1, 2].contains(file));
                    order.alone[file.ok_or_else(|| invalid("field number", value))? - 1] = true;
                    order.pairs &= letter == 'a';
                }
                'e' if filler.is_some_and(|other| other != value) => {
                    return Err(wrong("conflicting empty-field replacement strings"));
                }
                'e' => filler = Some(value),
                'i' => order.fold = true,
                'o' if value == "auto" => order.automatic = true,
                'o' => order.columns.extend(list(value)?),
                't' => {
                    let separator = match value.as_bytes() {
                        [] => b'\n',
                        [sign] => *sign,
                        b"\\0" => 0,
                        _ => return Err(wrong(&format!("multi-character tab {}", quote::curly(value)))),
                    };
                    if order.separator.is_some_and(|other| other != separator) {
                        return Err(wrong("incompatible tabs"));
                    }
                    order.separator = Some(separator);
                }
                'z' => order.end = 0,
                CHECK => order.check = Check::Always,
                NO_CHECK => order.check = Check::Never,
                HEADER => order.header = true,
                HELP => return Err(Refusal::Told(USAGE)),
                _ => return Err(Refusal::Told("join (sqlfs), after GNU coreutils 9.1\n")),
            }
        }
        // A field list may go on in words of its own, as long as two operands are left.
        let mut operands = &given.operands[..];
        while let [spec, rest @ ..] = operands
            && rest.len() > 1
            && !order.columns.is_empty()
            && let Ok(columns) = list(spec)
        {
            order.columns.extend(columns);
            operands = rest;
        }
        order.names = two_operands(operands, quote::always)?;
        if order.names.iter().all(|name| is_stdin(call, name)) {
            return Err(wrong("both files cannot be standard input: No such file or directory"));
        }
        order.fields = fields.map(Option::unwrap_or_default);
        order.filler = filler.unwrap_or_default();
        Ok(order)
    }
}

fn wrong(message: &str) -> Refusal {
    Refusal::Wrong(message.to_owned())
}

fn invalid(what: &str, value: &str) -> Refusal {
    Refusal::Wrong(format!("invalid {what}: {}", quote::curly(value)))
}

/// A number of a field, from 0.
fn field(value: &str) -> Result<usize, Refusal> {
    count(value).and_then(|field| field.checked_sub(1)).ok_or_else(|| invalid("field number", value))
}

/// Takes a field to join by, once.
fn set(place: &mut Option<usize>, value: &str) -> Result<(), Refusal> {
    let field = field(value)?;
    match place.replace(field).filter(|other| *other != field) {
        Some(other) => Err(wrong(&format!("incompatible join fields {}, {}", other + 1, field + 1))),
        None => Ok(()),
    }
}

/// A field list.
fn list(text: &str) -> Result<Vec<Column>, Refusal> {
    text.split([',', ' ', '\t']).map(column).collect()
}

fn column(spec: &str) -> Result<Column, Refusal> {
    match spec.as_bytes() {
        b"0" => Ok(Column::Joined),
        [file @ (b'1' | b'2'), b'.', ..] => Ok(Column::Field(usize::from(file - b'1'), field(&spec[2..])?)),
        [b'0' | b'1' | b'2', ..] => Err(invalid("field specifier", spec)),
        _ => Err(invalid("file number in field spec", spec)),
    }
}
