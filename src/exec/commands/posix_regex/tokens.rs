//! The signs of a pattern.

use super::syntax::{Sign, Syntax};

/// A special sign; all else is a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Open,
    Close,
    Alternative,
    Star,
    Plus,
    Question,
    Interval,
    Caret,
    Dollar,
    Dot,
    Bracket,
    /// `\1`
    Reference(usize),
    /// `\w` and the like.
    Escaped(u8),
    Literal,
}

/// The token that `rest`, which is not empty, begins with, and its length.
pub(super) fn token(rest: &[u8], syntax: &Syntax) -> Result<(Token, usize), &'static str> {
    let (sign, written, len) = match *rest {
        [b'\\', next, ..] => (next, Sign::Escaped, 2),
        [b'\\'] => return Err("Trailing backslash"),
        [first, ..] => (first, Sign::Bare, 1),
        [] => return Ok((Token::Literal, 0)),
    };
    let token = match sign {
        b'(' if syntax.groups == written => Token::Open,
        b')' if syntax.groups == written => Token::Close,
        b'|' if syntax.alternatives == written => Token::Alternative,
        b'+' if syntax.plus == written => Token::Plus,
        b'?' if syntax.plus == written => Token::Question,
        b'{' if syntax.intervals == written => Token::Interval,
        b'*' if len == 1 => Token::Star,
        b'^' if len == 1 => Token::Caret,
        b'$' if len == 1 => Token::Dollar,
        b'.' if len == 1 => Token::Dot,
        b'[' if len == 1 => Token::Bracket,
        b'1'..=b'9' if len == 2 && syntax.references => Token::Reference(usize::from(sign - b'0')),
        b'w' | b'W' | b's' | b'S' | b'b' | b'B' | b'<' | b'>' | b'`' | b'\''
            if len == 2 && syntax.gnu_escapes =>
        {
            Token::Escaped(sign)
        }
        _ => Token::Literal,
    };
    Ok((token, len))
}

/// What follows the sign that begins an interval.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Interval {
    /// How often, at least and at most, and how many bytes tell it.
    Times(u32, Option<u32>, usize),
    /// It is no interval, and text where that may be.
    Text(&'static str),
}

/// Most repetitions of an interval.
const MOST: u32 = 32_767;
const INVALID: &str = r"Invalid content of \{\}";

/// A number of an interval.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Missing,
    Of(u32),
    Wrong,
}

/// Reads an interval. `Err`: it is one that makes no sense.
pub(super) fn interval(rest: &[u8], syntax: &Syntax) -> Result<Interval, &'static str> {
    let close: &[u8] = if syntax.intervals == Sign::Bare { b"}" } else { br"\}" };
    let (low, at) = number(rest, 0, close);
    let comma = rest.get(at) == Some(&b',');
    let (high, at) = if comma && low != Number::Wrong { number(rest, at + 1, close) } else { (low, at) };
    match rest.get(at..) {
        None | Some([]) => return Ok(Interval::Text(r"Unmatched \{")),
        Some(_) if low == Number::Wrong || high == Number::Wrong => return Ok(Interval::Text(INVALID)),
        Some(rest) if !rest.starts_with(close) || (low == Number::Missing && !comma) => return Err(INVALID),
        Some(_) => {}
    }
    let low = if let Number::Of(number) = low { number } else { 0 };
    let high = if let Number::Of(number) = high { Some(number) } else { None };
    if high.is_some_and(|high| high < low) {
        return Err(INVALID);
    }
    if high.unwrap_or(low) > MOST {
        return Err("Regular expression too big");
    }
    Ok(Interval::Times(low, high, at + close.len()))
}

/// What stands before a comma or the end of the interval, and where that is.
fn number(rest: &[u8], mut at: usize, close: &[u8]) -> (Number, usize) {
    let mut number = Number::Missing;
    while at < rest.len() && rest[at] != b',' && !rest[at..].starts_with(close) {
        number = match (number, rest[at]) {
            (Number::Missing, digit @ b'0'..=b'9') => Number::Of(u32::from(digit - b'0')),
            (Number::Of(number), digit @ b'0'..=b'9') => {
                Number::Of((number * 10 + u32::from(digit - b'0')).min(MOST + 1))
            }
            _ => Number::Wrong,
        };
        at += 1;
    }
    (number, at)
}
