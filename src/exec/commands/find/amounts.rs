//! The arguments of tests, read.

use std::cmp::Ordering;

use super::tests::{Amount, Bits, TYPES, Test};
use crate::exec::commands::{mode, quote};

/// `+` or `-` before a number, and the rest.
fn ordered(text: &str) -> (Ordering, &str) {
    match text.as_bytes().first() {
        Some(b'+') => (Ordering::Greater, &text[1..]),
        Some(b'-') => (Ordering::Less, &text[1..]),
        _ => (Ordering::Equal, text),
    }
}

/// A whole number to compare with.
pub(super) fn amount(text: &str) -> Option<Amount> {
    let (order, digits) = ordered(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| Amount { order, number: digits.parse().unwrap_or(u64::MAX) })
}

/// A number of days or minutes, which may be a part of one.
pub(super) fn age(text: &str) -> Option<(Ordering, f64)> {
    let (order, digits) = ordered(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits.parse().ok().filter(|_| plain).map(|count| (order, count))
}

/// `-type` and `-xtype`.
pub(super) fn types(predicate: &str, text: &str) -> Result<u8, String> {
    if text.is_empty() {
        return Err(format!("Arguments to {predicate} should contain at least one letter"));
    }
    let mut types = 0;
    let mut chars = text.chars();
    while let Some(letter) = chars.next() {
        let Some((_, bit)) = TYPES.iter().find(|(own, _)| *own == letter) else {
            return Err(format!("Unknown argument to {predicate}: {letter}"));
        };
        if letter == 'D' {
            return Err(format!(
                "{predicate} D is not supported because Solaris doors are not supported on the platform find was \
                 compiled on."
            ));
        }
        if types & bit != 0 {
            return Err(format!("Duplicate file type '{letter}' in the argument list to {predicate}."));
        }
        types |= bit;
        match (chars.next(), chars.as_str().is_empty()) {
            (None, _) => {}
            (Some(','), false) => {}
            (Some(','), true) => {
                return Err(format!(
                    "Last file type in list argument to {predicate} is missing, i.e., list is ending on: ','"
                ));
            }
            (Some(_), _) => {
                return Err(format!("Must separate multiple arguments to {predicate} using: ','"));
            }
        }
    }
    Ok(types)
}

/// `-size`: a number, in units of 512 bytes if no letter says otherwise.
pub(super) fn size(text: &str) -> Result<Test, String> {
    let Some(last) = text.chars().last() else { return Err("invalid null argument to -size".to_owned()) };
    let (digits, unit) = match last {
        'b' => (&text[..text.len() - 1], 512),
        'c' => (&text[..text.len() - 1], 1),
        'w' => (&text[..text.len() - 1], 2),
        'k' => (&text[..text.len() - 1], 1 << 10),
        'M' => (&text[..text.len() - 1], 1 << 20),
        'G' => (&text[..text.len() - 1], 1 << 30),
        '0'..='9' => (text, 512),
        other => return Err(format!("invalid -size type `{other}'")),
    };
    let amount = amount(digits).ok_or_else(|| format!("Invalid argument `{text}' to -size"))?;
    Ok(Test::Size(amount, unit))
}

/// `-perm`
pub(super) fn perm(text: &str) -> Result<Test, String> {
    let (bits, mode) = match text.as_bytes().first() {
        Some(b'-') => (Bits::All, &text[1..]),
        Some(b'/') => (Bits::Any, &text[1..]),
        _ => (Bits::Exactly, text),
    };
    let read = |dir| mode::change(mode, 0, dir, 0);
    match (read(false), read(true)) {
        (Some(plain), Some(dir)) => Ok(Test::Perm(bits, plain, dir)),
        _ => Err(format!("invalid mode {}", quote::curly(text))),
    }
}
