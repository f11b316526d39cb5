//! Numbers in the text of keys: `-n`, `-h`, `-g` and `-M`.

use std::cmp::Ordering;

use crate::exec::commands::input::is_blank;

fn skip_blanks(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|&&byte| is_blank(byte)).count()..]
}

/// How many digits a text begins with.
fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// A decimal of any length, as written, less the zeros that mean nothing.
struct Decimal<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// What follows the digits.
    rest: &'a [u8],
}

impl<'a> Decimal<'a> {
    /// What is no number is zero.
    fn of(text: &'a [u8]) -> Self {
        let text = skip_blanks(text);
        let minus = text.first() == Some(&b'-');
        let text = &text[usize::from(minus)..];
        let (whole, mut rest) = text.split_at(digits(text));
        let mut fraction: &[u8] = b"";
        if let [b'.', behind @ ..] = rest {
            (fraction, rest) = behind.split_at(digits(behind));
        }
        let whole = &whole[whole.iter().take_while(|&&digit| digit == b'0').count()..];
        let end = fraction.iter().rposition(|&digit| digit != b'0').map_or(0, |at| at + 1);
        let fraction = &fraction[..end];
        let negative = minus && !(whole.is_empty() && fraction.is_empty());
        Self { negative, whole, fraction, rest }
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    fn compare(&self, other: &Self) -> Ordering {
        let sizes = || {
            let whole = self.whole.len().cmp(&other.whole.len()).then_with(|| self.whole.cmp(other.whole));
            whole.then_with(|| self.fraction.cmp(other.fraction))
        };
        match (self.negative, other.negative) {
            (false, false) => sizes(),
            (true, true) => sizes().reverse(),
            (negative, _) => {
                if negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }

    /// The power that a letter behind the number names; below zero of negative numbers.
    fn unit(&self) -> i32 {
        if self.is_zero() {
            return 0;
        }
        let letter = self.rest.first().map(|&letter| if letter == b'k' { b'K' } else { letter });
        let power = letter.and_then(|letter| b"KMGTPEZY".iter().position(|&unit| unit == letter));
        let power = power.map_or(0, |power| power as i32 + 1);
        if self.negative { -power } else { power }
    }
}

/// `-n`.
pub(super) fn numeric(a: &[u8], b: &[u8]) -> Ordering {
    Decimal::of(a).compare(&Decimal::of(b))
}

/// `-h`: the letter counts before the number.
pub(super) fn human(a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (Decimal::of(a), Decimal::of(b));
    a.unit().cmp(&b.unit()).then_with(|| a.compare(&b))
}

/// `-M`: what is no month comes before January.
pub(super) fn month(a: &[u8], b: &[u8]) -> Ordering {
    const NAMES: &[u8] = b"JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
    let number = |text: &[u8]| {
        let start = skip_blanks(text).get(..3)?;
        NAMES.chunks(3).position(|name| name.eq_ignore_ascii_case(start))
    };
    number(a).cmp(&number(b))
}

/// `-g`: what is no number, then what C calls NaN, then numbers.
pub(super) fn general(a: &[u8], b: &[u8]) -> Ordering {
    match (float(a), float(b)) {
        (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan())),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// The number that a text begins with, as strtod(3) reads it.
fn float(text: &[u8]) -> Option<f64> {
    let start = text.iter().take_while(|&&byte| matches!(byte, b' ' | b'\t'..=b'\r')).count();
    let text = &text[start..];
    let negative = text.first() == Some(&b'-');
    let text = &text[usize::from(matches!(text.first(), Some(b'-' | b'+')))..];
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let size = if begins(b"inf") {
        f64::INFINITY
    } else if begins(b"nan") {
        f64::NAN
    } else if let Some(value) = begins(b"0x").then(|| hexadecimal(&text[2..])).flatten() {
        value
    } else {
        let mut end = digits(text);
        let mut found = end;
        if text.get(end) == Some(&b'.') {
            let behind = digits(&text[end + 1..]);
            found += behind;
            end += 1 + behind;
        }
        if found == 0 {
            return None;
        }
        end += exponent(&text[end..], b'e').map_or(0, |(length, _)| length);
        std::str::from_utf8(&text[..end]).ok()?.parse().ok()?
    };
    Some(if negative { -size } else { size })
}

/// `e-5`: its length and its value.
fn exponent(text: &[u8], letter: u8) -> Option<(usize, i32)> {
    if !text.first()?.eq_ignore_ascii_case(&letter) {
        return None;
    }
    let sign = usize::from(matches!(text.get(1), Some(b'-' | b'+')));
    let count = digits(&text[1 + sign..]);
    let number = std::str::from_utf8(&text[1 + sign..1 + sign + count]).ok().filter(|_| count > 0)?;
    let value = number.parse::<i32>().unwrap_or(i32::MAX / 2);
    Some((1 + sign + count, if text[1] == b'-' { -value } else { value }))
}

/// What follows `0x`.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let (mut value, mut power, mut found, mut point) = (0.0_f64, 0_i32, false, false);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if let Some(digit) = char::from(byte).to_digit(16) {
            value = value * 16.0 + f64::from(digit);
            power -= if point { 4 } else { 0 };
            found = true;
        } else if byte == b'.' && !point {
            point = true;
        } else {
            break;
        }
        at += 1;
    }
    power = power.saturating_add(exponent(&text[at..], b'p').map_or(0, |(_, power)| power));
    found.then(|| value * 2.0_f64.powi(power))
}
