//! `uniq`, as of GNU coreutils 9.1, byte for byte.

use super::input::{input, is_blank, output, records};
use super::options::{self, DIGIT, HELP, Spec, Takes, VERSION};
use super::refusal::{Refusal, choice, count};
use super::{Answer, Call, quote};
use crate::fs::Errno;

const GROUP: char = '\u{3}';
const ALL_REPEATED: char = '\u{4}';

const SPECS: &[Spec] = &[
    ('c', "count", Takes::Nothing),
    ('d', "repeated", Takes::Nothing),
    ('D', "", Takes::Nothing),
    (ALL_REPEATED, "all-repeated", Takes::Optional),
    ('f', "skip-fields", Takes::Argument),
    (GROUP, "group", Takes::Optional),
    ('i', "ignore-case", Takes::Nothing),
    ('s', "skip-chars", Takes::Argument),
    ('u', "unique", Takes::Nothing),
    ('z', "zero-terminated", Takes::Nothing),
    ('w', "check-chars", Takes::Argument),
    // How fields were skipped once: `-1`.
    (DIGIT, "", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: uniq [OPTION]... [INPUT [OUTPUT]]
Filter adjacent matching lines from INPUT (or standard input),
writing to OUTPUT (or standard output).

  -c, --count           prefix lines by the number of occurrences
  -d, --repeated        only print duplicate lines, one for each group
  -D                    print all duplicate lines
      --all-repeated[=METHOD]  like -D, but allow separating groups
                                 with an empty line;
                                 METHOD={none(default),prepend,separate}
  -f, --skip-fields=N   avoid comparing the first N fields
      --group[=METHOD]  show all items, separating groups with an empty line;
                          METHOD={separate(default),prepend,append,both}
  -i, --ignore-case     ignore differences in case when comparing
  -s, --skip-chars=N    avoid comparing the first N characters
  -u, --unique          only print unique lines
  -z, --zero-terminated     line delimiter is NUL, not newline
  -w, --check-chars=N   compare no more than N characters in lines
";

/// Where empty lines stand between groups.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gaps {
    None,
    Before,
    Between,
    After,
    Around,
}

/// Which lines of a group are printed.
struct Order<'a> {
    /// That of a group of one.
    single: bool,
    /// The first one of a larger group.
    first: bool,
    /// The other ones.
    others: bool,
    counted: bool,
    gaps: Gaps,
    skip_fields: usize,
    skip_chars: usize,
    most_chars: usize,
    fold: bool,
    end: u8,
    operands: Vec<&'a str>,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let order = match Order::of(call) {
        Ok(order) => order,
        Err(refusal) => return refusal.answer("uniq", 1),
    };
    let mut answer = Answer::default();
    if let Err(message) = order.work(call, &mut answer) {
        answer.complain(1, format!("uniq: {message}"));
    }
    answer
}

impl<'a> Order<'a> {
    fn of(call: &Call<'a>) -> Result<Self, Refusal> {
        let given = options::parse(call.args, SPECS).map_err(Refusal::Misused)?;
        let mut order = Self {
            single: true,
            first: true,
            others: false,
            counted: false,
            gaps: Gaps::None,
            skip_fields: 0,
            skip_chars: 0,
            most_chars: usize::MAX,
            fold: false,
            end: b'\n',
            operands: given.operands,
        };
        let (mut grouped, mut chosen, mut digits) = (false, false, String::new());
        for (letter, value) in given.options {
            let number = |what: &str| {
                let value = value.unwrap_or_default();
                count(value).ok_or_else(|| Refusal::Wrong(format!("{value}: invalid number of {what}")))
            };
            chosen |= "cdDu".contains(letter) || letter == ALL_REPEATED;
            match letter {
                'c' => order.counted = true,
                'd' => order.single = false,
                'D' | ALL_REPEATED => {
                    let names =
                        [("none", Gaps::None), ("prepend", Gaps::Before), ("separate", Gaps::Between)];
                    (order.single, order.others) = (false, true);
                    order.gaps = match value {
                        Some(value) => choice("--all-repeated", value, &names)?,
                        None => Gaps::None,
                    };
                }
                GROUP => {
                    let names = [
                        ("prepend", Gaps::Before),
                        ("append", Gaps::After),
                        ("separate", Gaps::Between),
                        ("both", Gaps::Around),
                    ];
                    grouped = true;
                    order.gaps = choice("--group", value.unwrap_or("separate"), &names)?;
                }
                'u' => order.first = false,
                'i' => order.fold = true,
                'z' => order.end = 0,
                'f' => {
                    digits.clear();
                    order.skip_fields = number("fields to skip")?;
                }
                's' => order.skip_chars = number("bytes to skip")?,
                'w' => order.most_chars = number("bytes to compare")?,
                HELP => return Err(Refusal::Told(USAGE)),
                VERSION => return Err(Refusal::Told("uniq (sqlfs), after GNU coreutils 9.1\n")),
                digit => {
                    digits.push(digit);
                    order.skip_fields = count(&digits).unwrap_or(0);
                }
            }
        }
        let misused = |message: &str| Err(Refusal::Misused(message.to_owned()));
        if let Some(extra) = order.operands.get(2) {
            return Err(Refusal::Misused(format!("extra operand {}", quote::curly(extra))));
        }
        if grouped && chosen {
            return misused("--group is mutually exclusive with -c/-d/-D/-u");
        }
        if order.counted && order.others {
            return misused("printing all duplicated lines and repeat counts is meaningless");
        }
        order.others |= grouped;
        Ok(order)
    }

    fn work(&self, call: &Call<'_>, answer: &mut Answer) -> Result<(), String> {
        let name = self.operands.first().copied().unwrap_or("-");
        let opened = |name: &str, errno: Errno| format!("{}: {errno}", quote::when_needed(name));
        let data = match input(call, name) {
            Err(Errno::EISDIR) => return Err(format!("error reading {}", quote::always(name))),
            data => data.map_err(|errno| opened(name, errno))?,
        };
        let mut out = Vec::new();
        self.filter(&data, &mut out);
        match self.operands.get(1).filter(|name| **name != "-") {
            None => answer.stdout = out,
            Some(name) => output(call, name, out, answer).map_err(|errno| opened(name, errno))?,
        }
        Ok(())
    }

    fn filter(&self, data: &[u8], out: &mut Vec<u8>) {
        let mut lines = records(data, self.end).peekable();
        let mut any = false;
        while let Some(line) = lines.next() {
            let mut ahead = lines.clone();
            let same = std::iter::from_fn(|| ahead.next_if(|next| self.same(next, line))).count();
            let shown = if same == 0 { self.single } else { self.first };
            if shown || (same > 0 && self.others) {
                let gap = match self.gaps {
                    Gaps::Before | Gaps::Around => true,
                    Gaps::Between | Gaps::After => any,
                    Gaps::None => false,
                };
                if gap {
                    out.push(self.end);
                }
                any = true;
            }
            if same > 0 && self.others {
                // All of them; the last one counts as the first.
                let group = std::iter::once(line).chain(lines);
                for line in group.take(same + usize::from(self.first)) {
                    self.put(line, out);
                }
            } else if shown {
                if self.counted {
                    out.extend_from_slice(format!("{:>7} ", same + 1).as_bytes());
                }
                self.put(line, out);
            }
            lines = ahead;
        }
        if any && matches!(self.gaps, Gaps::After | Gaps::Around) {
            out.push(self.end);
        }
    }

    fn put(&self, line: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(line);
        out.push(self.end);
    }

    /// Whether what counts of two lines is equal.
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        let (a, b) = (self.counting(a), self.counting(b));
        if self.fold { a.eq_ignore_ascii_case(b) } else { a == b }
    }

    /// What counts of a line.
    fn counting<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        let mut rest = line;
        for _ in 0..self.skip_fields {
            if rest.is_empty() {
                break;
            }
            let blanks = rest.iter().take_while(|&&byte| is_blank(byte)).count();
            let field = rest[blanks..].iter().take_while(|&&byte| !is_blank(byte)).count();
            rest = &rest[blanks + field..];
        }
        let rest = &rest[self.skip_chars.min(rest.len())..];
        &rest[..self.most_chars.min(rest.len())]
    }
}
