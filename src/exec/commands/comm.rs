//! `comm`, as of GNU coreutils 9.1, in the order of bytes.

use std::cmp::Ordering;
use std::iter::Peekable;

use super::input::{input, records};
use super::options::{self, HELP, Spec, Takes, VERSION};
use super::refusal::Refusal;
use super::{Answer, Call, quote};

const CHECK: char = '\u{3}';
const NO_CHECK: char = '\u{4}';
const DELIMITER: char = '\u{5}';
const TOTAL: char = '\u{6}';

const SPECS: &[Spec] = &[
    ('1', "", Takes::Nothing),
    ('2', "", Takes::Nothing),
    ('3', "", Takes::Nothing),
    (CHECK, "check-order", Takes::Nothing),
    (NO_CHECK, "nocheck-order", Takes::Nothing),
    (DELIMITER, "output-delimiter", Takes::Argument),
    (TOTAL, "total", Takes::Nothing),
    ('z', "zero-terminated", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: comm [OPTION]... FILE1 FILE2
Compare sorted files FILE1 and FILE2 line by line.

  -1                      suppress column 1 (lines unique to FILE1)
  -2                      suppress column 2 (lines unique to FILE2)
  -3                      suppress column 3 (lines that appear in both files)
      --check-order       check that the input is correctly sorted, even
                            if all input lines are pairable
      --nocheck-order     do not check that the input is correctly sorted
      --output-delimiter=STR  separate columns with STR
      --total             output a summary
  -z, --zero-terminated   line delimiter is NUL, not newline
";

/// When the order of the inputs is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// As soon as a line has no partner.
    Default,
    Always,
    Never,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    compare(call).unwrap_or_else(|refusal| refusal.answer("comm", 1))
}

fn compare(call: &Call<'_>) -> Result<Answer, Refusal> {
    let given = options::parse(call.args, SPECS).map_err(Refusal::Misused)?;
    let (mut shown, mut delimiter, mut total) = ([true; 3], None, false);
    let (mut check, mut end) = (Check::Default, b'\n');
    for (letter, value) in given.options {
        match letter {
            '1' => shown[0] = false,
            '2' => shown[1] = false,
            '3' => shown[2] = false,
            CHECK => check = Check::Always,
            NO_CHECK => check = Check::Never,
            DELIMITER if delimiter.is_some_and(|other| Some(other) != value) => {
                return Err(Refusal::Wrong("multiple output delimiters specified".to_owned()));
            }
            DELIMITER => delimiter = value,
            TOTAL => total = true,
            'z' => end = 0,
            HELP => return Err(Refusal::Told(USAGE)),
            _ => return Err(Refusal::Told("comm (sqlfs), after GNU coreutils 9.1\n")),
        }
    }
    let names = two_operands(&given.operands, quote::curly)?;
    let read = |name: &str| {
        input(call, name).map_err(|errno| Refusal::Wrong(format!("{}: {errno}", quote::when_needed(name))))
    };
    let (left, right) = (read(names[0])?, read(names[1])?);
    let delimiter = match delimiter {
        None => b"\t",
        Some("") => &b"\0"[..],
        Some(text) => text.as_bytes(),
    };
    let mut answer = Answer::default();
    let mut files = [&left, &right].map(|data| File::new(records(data, end)));
    let mut counts = [0_u64; 3];
    let mut unpaired = false;
    loop {
        let [left, right] = &mut files;
        let order = match (left.lines.peek(), right.lines.peek()) {
            (None, None) => break,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) => a.cmp(b),
        };
        let (class, from) = match order {
            Ordering::Less => (0, 0),
            Ordering::Greater => (1, 1),
            Ordering::Equal => (2, 0),
        };
        unpaired |= class < 2;
        counts[class] += 1;
        if let Some(line) = files[from].lines.peek().filter(|_| shown[class]) {
            for _ in shown[..class].iter().filter(|shown| **shown) {
                answer.stdout.extend_from_slice(delimiter);
            }
            answer.stdout.extend_from_slice(line);
            answer.stdout.push(end);
        }
        for (at, file) in files.iter_mut().enumerate() {
            if class != 2 && class != at {
                continue;
            }
            let looks = check == Check::Always || (check == Check::Default && unpaired);
            if file.step(looks) {
                answer.complain(1, format!("comm: file {} is not in sorted order", at + 1));
                if check == Check::Always {
                    return Ok(answer);
                }
            }
        }
    }
    if total {
        for count in counts {
            answer.stdout.extend_from_slice(count.to_string().as_bytes());
            answer.stdout.extend_from_slice(delimiter);
        }
        answer.stdout.extend_from_slice(b"total");
        answer.stdout.push(end);
    }
    if answer.exit > 0 {
        answer.complain(1, "comm: input is not in sorted order");
    }
    Ok(answer)
}

/// Both operands of commands that take two files.
pub(super) fn two_operands<'a>(
    operands: &[&'a str],
    quoted: fn(&str) -> String,
) -> Result<[&'a str; 2], Refusal> {
    match operands {
        [] => Err(Refusal::Misused("missing operand".to_owned())),
        [only] => Err(Refusal::Misused(format!("missing operand after {}", quote::curly(only)))),
        [first, second] => Ok([first, second]),
        [_, _, extra, ..] => Err(Refusal::Misused(format!("extra operand {}", quoted(extra)))),
    }
}

/// A file that is gone through.
struct File<'a, Lines: Iterator<Item = &'a [u8]>> {
    lines: Peekable<Lines>,
    /// The line before the one before the next one.
    earlier: Option<&'a [u8]>,
    told: bool,
}

impl<'a, Lines: Iterator<Item = &'a [u8]>> File<'a, Lines> {
    fn new(lines: Lines) -> Self {
        Self { lines: lines.peekable(), earlier: None, told: false }
    }

    /// Goes on by a line. Whether it is told now that lines are out of order. At the end the
    /// last two are looked at once more: that one has no partner may be known since then.
    fn step(&mut self, looks: bool) -> bool {
        let Some(last) = self.lines.next() else { return false };
        let pair = match self.lines.peek() {
            Some(&next) => Some((last, next)),
            None => self.earlier.map(|earlier| (earlier, last)),
        };
        self.earlier = Some(last);
        let tells = looks && !self.told && pair.is_some_and(|(a, b)| a > b);
        self.told |= tells;
        tells
    }
}
