//! `seq`, as of GNU coreutils 9.1: exact decimals, and no end before the last number but the
//! script's memory.

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::refusal::Refusal;
use super::{Answer, Call, quote};

const SPECS: &[Spec] = &[
    ('f', "format", Takes::Argument),
    ('s', "separator", Takes::Argument),
    ('w', "equal-width", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: seq [OPTION]... LAST
  or:  seq [OPTION]... FIRST LAST
  or:  seq [OPTION]... FIRST INCREMENT LAST
Print numbers from FIRST to LAST, in steps of INCREMENT.

  -f, --format=FORMAT      use printf style floating-point FORMAT (%e, %f or %g)
  -s, --separator=STRING   use STRING to separate numbers (default: \\n)
  -w, --equal-width        equalize width by padding with leading zeroes
";

/// Digits behind the point that are kept exactly, and digits in all.
const LONGEST: usize = 30;

/// Lines between two looks at whether the script is being ended.
const LOOK: u64 = 1 << 16;

/// A decimal as it was written.
#[derive(Clone, Copy)]
struct Number {
    /// In units of the last digit; `None`: infinite.
    units: Option<i128>,
    negative: bool,
    /// Digits behind the point.
    precision: usize,
    /// Characters that it was written in.
    width: usize,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    match Order::of(call.args) {
        Ok(order) => order.print(call, &mut answer),
        Err(refusal) => return refusal.answer("seq", 1),
    }
    answer
}

struct Order<'a> {
    first: Number,
    step: Number,
    last: Number,
    separator: &'a str,
    equal_width: bool,
    format: Option<Format<'a>>,
}

const ONE: Number = Number { units: Some(1), negative: false, precision: 0, width: 1 };

impl<'a> Order<'a> {
    fn of(args: &'a [String]) -> Result<Self, Refusal> {
        let (mut separator, mut equal_width, mut format) = ("\n", false, None);
        let Given { options, operands, .. } =
            options::parse_to_number(args, SPECS).map_err(Refusal::Misused)?;
        for (letter, value) in options {
            match letter {
                'w' => equal_width = true,
                's' => separator = value.unwrap_or(separator),
                'f' => format = value,
                HELP => return Err(Refusal::Told(USAGE)),
                _ => return Err(Refusal::Told("seq (sqlfs), after GNU coreutils 9.1\n")),
            }
        }
        let number = |text: &str| {
            Number::of(text).ok_or_else(|| {
                Refusal::Misused(format!("invalid floating point argument: {}", quote::always(text)))
            })
        };
        let (first, step, last) = match operands[..] {
            [] => return Err(Refusal::Misused("missing operand".to_owned())),
            [last] => (ONE, ONE, number(last)?),
            [first, last] => (number(first)?, ONE, number(last)?),
            [first, step, last] => (number(first)?, number(step)?, number(last)?),
            [_, _, _, extra, ..] => {
                return Err(Refusal::Misused(format!("extra operand {}", quote::always(extra))));
            }
        };
        if step.units == Some(0) {
            let step = quote::always(operands[1]);
            return Err(Refusal::Misused(format!("invalid Zero increment value: {step}")));
        }
        let format = format.map(Format::of).transpose().map_err(Refusal::Wrong)?;
        if format.is_some() && equal_width {
            let message = "format string may not be specified when printing equal width strings";
            return Err(Refusal::Misused(message.to_owned()));
        }
        Ok(Self { first, step, last, separator, equal_width, format })
    }

    fn print(&self, call: &Call<'_>, answer: &mut Answer) {
        let scale = [self.first, self.step, self.last].map(|number| number.precision).into_iter().max();
        let scale = scale.unwrap_or(0);
        let (Some(first), Some(step)) = (self.first.at(scale), self.step.at(scale)) else { return };
        let last = self.last.at(scale).unwrap_or(if self.last.negative { i128::MIN } else { i128::MAX });
        let precision = self.first.precision.max(self.step.precision);
        let width = if self.equal_width { self.width(precision) } else { 0 };
        let most = usize::try_from(call.files.quota().memory / 2).unwrap_or(usize::MAX);
        let mut value = first;
        let mut lines = 0;
        let out = &mut answer.stdout;
        while if step > 0 { value <= last } else { value >= last } {
            if lines > 0 {
                out.extend_from_slice(self.separator.as_bytes());
            }
            match &self.format {
                Some(format) => format.print(value as f64 / 10_f64.powi(scale as i32), out),
                None => print(value, scale, precision, width, out),
            }
            lines += 1;
            if lines % LOOK == 0 && (call.is_over() || out.len() > most) {
                break;
            }
            let Some(next) = value.checked_add(step) else { break };
            value = next;
        }
        if lines > 0 {
            out.push(b'\n');
        }
        if out.len() > most {
            answer.complain(
                1,
                format!("seq: the output is larger than {most} bytes, half of what a script may hold"),
            );
        }
    }

    fn width(&self, precision: usize) -> usize {
        let point = |number: Number| usize::from(number.precision == 0 && precision > 0);
        let first = self.first.width + (precision - self.first.precision) + point(self.first);
        let mut last = (self.last.width + precision).saturating_sub(self.last.precision) + point(self.last);
        if self.last.precision > 0 && precision == 0 {
            last -= 1;
        }
        first.max(last)
    }
}

/// A value of `scale` digits behind the point, with `precision` of them shown.
fn print(value: i128, scale: usize, precision: usize, width: usize, out: &mut Vec<u8>) {
    let digits = value.unsigned_abs() / 10_u128.pow((scale - precision) as u32);
    let unit = 10_u128.pow(precision as u32);
    let sign = if value < 0 { "-" } else { "" };
    let whole = digits / unit;
    let behind = if precision > 0 { format!(".{:0precision$}", digits % unit) } else { String::new() };
    let zeros = width.saturating_sub(sign.len() + behind.len());
    out.extend_from_slice(format!("{sign}{whole:0zeros$}{behind}").as_bytes());
}

impl Number {
    fn of(text: &str) -> Option<Self> {
        let written = text.trim_start().trim_start_matches('+');
        let (negative, digits) = written.strip_prefix('-').map_or((false, written), |rest| (true, rest));
        if ["inf", "infinity"].iter().any(|word| digits.eq_ignore_ascii_case(word)) {
            return Some(Self { units: None, negative, precision: 0, width: written.len() });
        }
        let (digits, exponent) = match digits.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (digits, 0),
        };
        let (whole, behind) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{behind}");
        if all.is_empty() || all.len() > LONGEST || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut units: i128 = all.parse().ok()?;
        let mut precision = i32::try_from(behind.len()).ok()? - exponent;
        if precision < 0 {
            units = units.checked_mul(10_i128.checked_pow(precision.unsigned_abs())?)?;
            precision = 0;
        }
        let precision = usize::try_from(precision).ok().filter(|precision| *precision <= LONGEST)?;
        let units = Some(if negative { -units } else { units });
        // A number with an exponent is as wide as it would be without.
        let width =
            if exponent == 0 { written.len() } else { units?.to_string().len() + usize::from(precision > 0) };
        Some(Self { units, negative, precision, width })
    }

    /// In units of so many digits behind the point; `None` if it is infinite or too large.
    fn at(self, scale: usize) -> Option<i128> {
        self.units?.checked_mul(10_i128.checked_pow(u32::try_from(scale - self.precision).ok()?)?)
    }
}

/// `BEFORE%[FLAGS][WIDTH][.PRECISION]CONVERSION AFTER`.
struct Format<'a> {
    before: String,
    flags: &'a str,
    width: usize,
    precision: usize,
    conversion: u8,
    after: String,
}

impl<'a> Format<'a> {
    fn of(text: &'a str) -> Result<Self, String> {
        let shown = || quote::always(text);
        let mut at = None;
        let mut from = 0;
        while let Some(found) = text[from..].find('%').map(|found| from + found) {
            if !text[found..].starts_with("%%") {
                at = Some(found);
                break;
            }
            from = found + 2;
        }
        let at = at.ok_or_else(|| format!("format {} has no % directive", shown()))?;
        let rest = &text[at + 1..];
        let flags = rest.len() - rest.trim_start_matches(['-', '+', ' ', '#', '0']).len();
        let (flags, rest) = rest.split_at(flags);
        let (width, rest) = digits(rest);
        let (precision, rest) = match rest.strip_prefix('.') {
            Some(rest) => digits(rest),
            None => (6, rest),
        };
        let rest = rest.strip_prefix('L').unwrap_or(rest);
        let conversion = *rest.as_bytes().first().ok_or_else(|| format!("format {} ends in %", shown()))?;
        if !matches!(conversion, b'e' | b'f' | b'g' | b'E' | b'F' | b'G') {
            return Err(format!("format {} has unknown %{} directive", shown(), char::from(conversion)));
        }
        let after = &rest[1..];
        if after.replace("%%", "").contains('%') {
            return Err(format!("format {} has too many % directives", shown()));
        }
        let plain = |text: &str| text.replace("%%", "%");
        Ok(Self {
            before: plain(&text[..at]),
            flags,
            width: width.min(4096),
            precision: precision.min(300),
            conversion,
            after: plain(after),
        })
    }

    fn print(&self, value: f64, out: &mut Vec<u8>) {
        let mut text = match self.conversion.to_ascii_lowercase() {
            b'f' => format!("{:.*}", self.precision, value.abs()),
            b'e' => exponential(value.abs(), self.precision),
            _ => self.general(value.abs()),
        };
        if self.conversion.is_ascii_uppercase() {
            text.make_ascii_uppercase();
        }
        let sign = match (value < 0.0, self.flags.contains('+'), self.flags.contains(' ')) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        };
        let missing = self.width.saturating_sub(sign.len() + text.len());
        let (left, zeros, right) = match (self.flags.contains('-'), self.flags.contains('0')) {
            (true, _) => (0, 0, missing),
            (false, true) => (0, missing, 0),
            (false, false) => (missing, 0, 0),
        };
        let (left, zeros, right) = (" ".repeat(left), "0".repeat(zeros), " ".repeat(right));
        let (before, after) = (&self.before, &self.after);
        out.extend_from_slice(format!("{before}{left}{sign}{zeros}{text}{right}{after}").as_bytes());
    }

    fn general(&self, value: f64) -> String {
        let precision = self.precision.max(1);
        let rounded = exponential(value, precision - 1);
        let exponent: i32 = rounded.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
        let text = if (-4..i32::try_from(precision).unwrap_or(i32::MAX)).contains(&exponent) {
            format!("{:.*}", usize::try_from(precision as i32 - 1 - exponent).unwrap_or(0), value)
        } else {
            rounded
        };
        if self.flags.contains('#') || !text.contains('.') {
            return text;
        }
        let (number, power) = text.split_once('e').map_or((text.as_str(), None), |(n, p)| (n, Some(p)));
        let number = number.trim_end_matches('0').trim_end_matches('.');
        power.map_or_else(|| number.to_owned(), |power| format!("{number}e{power}"))
    }
}

/// As C writes it: a sign and two digits at least in the exponent.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (number, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let sign = if power < 0 { '-' } else { '+' };
    format!("{number}e{sign}{:02}", power.abs())
}

/// A number at the beginning of a text, 0 if there is none, and the rest.
fn digits(text: &str) -> (usize, &str) {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (text[..text.len() - rest.len()].parse().unwrap_or(0), rest)
}
