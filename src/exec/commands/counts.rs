//! The counts of `head` and `tail`: a sign, digits, a unit.

use super::refusal::Refusal;
use super::{human, quote};

/// A count, and the sign that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) sign: Option<char>,
    pub(super) value: u64,
}

/// Reads one of lines or bytes.
pub(super) fn parse(text: &str, lines: bool) -> Result<Count, Refusal> {
    let wrong = |text: &str, why: &str| {
        let what = if lines { "lines" } else { "bytes" };
        Refusal::Wrong(format!("invalid number of {what}: {}{why}", quote::curly(text)))
    };
    let sign = text.chars().next().filter(|sign| matches!(sign, '+' | '-'));
    let number = &text[sign.map_or(0, char::len_utf8)..];
    let digits = number.trim_start_matches([' ', '\t', '\n']);
    let digits = if sign.is_none() { digits } else { number };
    let end = digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, unit) = digits.split_at(end);
    let shown = if sign == Some('-') { number } else { text };
    // A unit alone is one of it.
    let digits = if digits.is_empty() && !unit.is_empty() { "1" } else { digits };
    let factor = human::factor(unit).filter(|_| !digits.is_empty()).ok_or_else(|| wrong(shown, ""))?;
    let factor = u64::try_from(factor).ok();
    let value = factor.zip(digits.parse::<u64>().ok()).and_then(|(factor, value)| value.checked_mul(factor));
    match value {
        Some(value) => Ok(Count { sign, value }),
        None => Err(wrong(shown, ": Value too large for defined data type")),
    }
}

/// The digit in getopt's message, if it was one that was refused: it has words of its own.
pub(super) fn refused_digit(message: &str) -> Option<char> {
    let refused = message.strip_prefix("invalid option -- '")?.chars().next()?;
    refused.is_ascii_digit().then_some(refused)
}

/// The line that stands before a file's part, if there are several.
pub(super) fn header(name: &str, first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(first) {
        out.push(b'\n');
    }
    out.extend_from_slice(format!("==> {name} <==\n").as_bytes());
}

/// Where the last `count` units begin: lines that end in `end`, or bytes.
pub(super) fn last(data: &[u8], count: u64, end: Option<u8>) -> usize {
    let Some(end) = end else {
        return data.len() - usize::try_from(count).unwrap_or(usize::MAX).min(data.len());
    };
    if count == 0 {
        return data.len();
    }
    let ended = data.last() == Some(&end);
    let before = &data[..data.len() - usize::from(ended)];
    let nth = usize::try_from(count - 1).unwrap_or(usize::MAX);
    memchr::memrchr_iter(end, before).nth(nth).map_or(0, |at| at + 1)
}

/// Where the first `count` units end, and how many there are, if there are fewer.
pub(super) fn first(data: &[u8], count: u64, end: Option<u8>) -> Result<usize, u64> {
    let Some(end) = end else {
        return if count <= data.len() as u64 { Ok(count as usize) } else { Err(data.len() as u64) };
    };
    if count == 0 {
        return Ok(0);
    }
    let mut found = 0;
    for at in memchr::memchr_iter(end, data) {
        found += 1;
        if found == count {
            return Ok(at + 1);
        }
    }
    Err(found)
}
