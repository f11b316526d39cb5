//! Bracket expressions, in the words of crate `regex`. Classes are Unicode's, as in a UTF-8
//! locale of glibc; bytes that are no character are in no class.

use std::fmt::Write as _;

use super::utf8;

const UNMATCHED: &str = "Unmatched [, [^, [:, [., or [=";
const GRAPH: &str = r"[^\p{Cc}\p{Cn}\p{Z}]";
const ALNUM: &str = r"\p{Alphabetic}\p{Nd}";
/// Spaces but for those that do not break a line.
const BLANK: &str = r"\x20\t\u{1680}\u{2000}-\u{2006}\u{2008}-\u{200a}\u{205f}\u{3000}";

/// One end of a range, or a member.
enum Item {
    Char(char),
    /// A byte of no character. As the end of a range it is the character of that number.
    Byte(u8),
    Class,
}

impl Item {
    /// As the end of a range.
    fn end(&self) -> Option<char> {
        match self {
            Self::Char(char) => Some(*char),
            Self::Byte(byte) => Some(char::from(*byte)),
            Self::Class => None,
        }
    }
}

/// Translates what follows a `[` at `at`; gives where it ends. With `lines`, none that is
/// negated matches a newline.
pub(super) fn translate(
    pattern: &[u8],
    mut at: usize,
    lines: bool,
    out: &mut String,
) -> Result<usize, &'static str> {
    out.push('[');
    let negated = pattern.get(at) == Some(&b'^');
    if negated {
        at += 1;
        out.push('^');
        if lines {
            out.push_str(r"\n");
        }
    }
    let (first, empty) = (at, out.len());
    loop {
        if pattern.get(at) == Some(&b']') && at > first {
            break;
        }
        let (low, after) = item(pattern, at, out)?;
        at = after;
        let range = pattern.get(at) == Some(&b'-') && pattern.get(at + 1).is_some_and(|&next| next != b']');
        if !range {
            if let Item::Char(char) = low {
                member(char, out);
            }
            continue;
        }
        let (high, after) = item(pattern, at + 1, &mut String::new())?;
        at = after;
        match (low.end(), high.end()) {
            (Some(low), Some(high)) if low <= high => {
                member(low, out);
                out.push('-');
                member(high, out);
            }
            _ => return Err("Invalid range end"),
        }
    }
    if out.len() == empty {
        // Nothing but bytes that no bracket matches.
        out.push_str(r"a&&b");
    }
    out.push(']');
    Ok(at + 1)
}

fn member(char: char, out: &mut String) {
    let _ = write!(out, r"\x{{{:x}}}", u32::from(char));
}

/// What begins at `at`; a class is written at once.
fn item(pattern: &[u8], at: usize, out: &mut String) -> Result<(Item, usize), &'static str> {
    let first = *pattern.get(at).ok_or(UNMATCHED)?;
    let sign = pattern.get(at + 1).copied();
    if first == b'['
        && let Some(sign @ (b':' | b'.' | b'=')) = sign
    {
        let rest = &pattern[at + 2..];
        let len = rest.windows(2).position(|pair| pair == [sign, b']']).ok_or(UNMATCHED)?;
        let (name, after) = (&rest[..len], at + 2 + len + 2);
        if sign == b':' {
            out.push_str(&class(name).ok_or("Invalid character class name")?);
            return Ok((Item::Class, after));
        }
        return match utf8::decode(name) {
            Some((char, size)) if size == len => Ok((Item::Char(char), after)),
            _ => Err("Invalid collation character"),
        };
    }
    match utf8::decode(&pattern[at..]) {
        Some((char, size)) => Ok((Item::Char(char), at + size)),
        None => Ok((Item::Byte(first), at + 1)),
    }
}

fn class(name: &[u8]) -> Option<String> {
    Some(match name {
        b"alpha" => r"\p{Alphabetic}".to_owned(),
        b"digit" => "0-9".to_owned(),
        b"alnum" => ALNUM.to_owned(),
        b"upper" => r"\p{Uppercase}".to_owned(),
        b"lower" => r"\p{Lowercase}".to_owned(),
        b"blank" => BLANK.to_owned(),
        b"space" => format!(r"{BLANK}\n-\r\u{{2028}}\u{{2029}}"),
        b"cntrl" => r"\p{Cc}\u{2028}\u{2029}".to_owned(),
        b"graph" => GRAPH.to_owned(),
        b"print" => format!(r"{GRAPH}\p{{Zs}}"),
        b"punct" => format!("[{GRAPH}--[{ALNUM}]]"),
        b"xdigit" => "0-9A-Fa-f".to_owned(),
        _ => return None,
    })
}
