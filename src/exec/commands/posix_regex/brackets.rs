//! Bracket expressions, in the words of crate `regex`. Bytes that are no character are in no set.

use std::fmt::Write as _;

use super::classes::class;
use super::syntax::{Newline, Options};
use super::utf8;

const UNMATCHED: &str = "Unmatched [, [^, [:, [., or [=";
const RANGE: &str = "Invalid range end";

/// A member of a set, or an end of a range.
#[derive(Clone, Copy)]
enum Item {
    Char(char),
    /// A byte of no character. As the end of a range it is the character of that number.
    Byte(u8),
    /// `-`, which only stands for itself first, last, and as the end of a range.
    Hyphen,
    /// A class, or `[=a=]`: no end of a range.
    Set(&'static str),
    Equivalent(char),
}

impl Item {
    fn end(self) -> Option<char> {
        match self {
            Self::Char(char) => Some(char),
            Self::Byte(byte) => Some(char::from(byte)),
            Self::Hyphen => Some('-'),
            Self::Set(_) | Self::Equivalent(_) => None,
        }
    }
}

struct Reader<'a> {
    pattern: &'a [u8],
    at: usize,
    options: &'a Options,
}

/// Translates what follows a `[` at `at`; gives where it ends.
pub(super) fn translate(
    pattern: &[u8],
    at: usize,
    options: &Options,
    out: &mut String,
) -> Result<usize, &'static str> {
    let mut reader = Reader { pattern, at, options };
    out.push('[');
    let negated = reader.takes(b'^');
    if negated {
        out.push('^');
        if options.newline == Newline::None {
            out.push_str(r"\n");
        }
    }
    let (first, empty) = (reader.at, out.len());
    if first == pattern.len() {
        return Err("Invalid regular expression");
    }
    let mut plain = true;
    while reader.at == first || !reader.takes(b']') {
        plain &= reader.member(reader.at == first, out)?;
    }
    let inside = &pattern[at..reader.at - 1];
    if options.syntax.line_matcher && plain && matches!(inside, [b':', _, .., b':']) {
        return Err("character class syntax is [[:space:]], not [:space:]");
    }
    if out.len() == empty {
        // Nothing but what no bracket matches.
        out.push_str(r"a&&b");
    }
    out.push(']');
    Ok(reader.at)
}

impl Reader<'_> {
    fn takes(&mut self, sign: u8) -> bool {
        let takes = self.pattern.get(self.at) == Some(&sign);
        self.at += usize::from(takes);
        takes
    }

    fn follows(&self, text: &[u8]) -> bool {
        self.pattern[self.at..].starts_with(text)
    }

    /// Reads a member or a range; whether it is one sign that stands for itself.
    fn member(&mut self, first: bool, out: &mut String) -> Result<bool, &'static str> {
        let begin = self.at;
        let low = self.item()?;
        if matches!(low, Item::Hyphen) && !first && !self.follows(b"]") {
            return Err(RANGE);
        }
        let ends = !matches!(low, Item::Set(_) | Item::Equivalent(_));
        if !ends || !self.follows(b"-") || self.follows(b"-]") || self.follows(b"---") {
            match low {
                Item::Char(char) | Item::Equivalent(char) => push(char, out),
                Item::Hyphen => push('-', out),
                Item::Set(words) => out.push_str(words),
                Item::Byte(_) => {}
            }
            return Ok(self.pattern[begin] != b'[' || self.at == begin + 1);
        }
        self.at += 1;
        match (low.end(), self.item()?.end()) {
            (Some(low), Some(high)) if low <= high => {
                push(low, out);
                out.push('-');
                push(high, out);
                Ok(false)
            }
            (Some(_), Some(_)) if self.options.syntax.empty_ranges => Ok(false),
            _ => Err(RANGE),
        }
    }

    fn item(&mut self) -> Result<Item, &'static str> {
        let rest = &self.pattern[self.at..];
        let syntax = &self.options.syntax;
        match *rest {
            [] => Err(UNMATCHED),
            [b'[', sign @ (b'.' | b'='), ..] => self.named(sign),
            [b'[', b':', ..] if syntax.classes => self.named(b':'),
            // Three are one.
            [b'-', b'-', b'-', ..] => {
                self.at += 3;
                Ok(Item::Char('-'))
            }
            [b'-', ..] => {
                self.at += 1;
                Ok(Item::Hyphen)
            }
            [b'\\', _, ..] if syntax.bracket_escapes => {
                self.at += 1;
                Ok(self.sign())
            }
            _ => Ok(self.sign()),
        }
    }

    fn sign(&mut self) -> Item {
        if let Some((char, size)) = utf8::decode(&self.pattern[self.at..]) {
            self.at += size;
            return Item::Char(char);
        }
        self.at += 1;
        Item::Byte(self.pattern[self.at - 1])
    }

    /// `[:name:]`, `[.name.]` or `[=name=]`
    fn named(&mut self, sign: u8) -> Result<Item, &'static str> {
        let rest = &self.pattern[self.at + 2..];
        let len = rest.windows(2).position(|pair| pair == [sign, b']']).ok_or(UNMATCHED)?;
        let name = &rest[..len];
        self.at += 2 + len + 2;
        if sign == b':' {
            return class(name).map(Item::Set).ok_or("Invalid character class name");
        }
        match utf8::decode(name) {
            Some((char, size)) if size == len && sign == b'=' => Ok(Item::Equivalent(char)),
            Some((char, size)) if size == len => Ok(Item::Char(char)),
            _ => Err("Invalid collation character"),
        }
    }
}

fn push(char: char, out: &mut String) {
    let _ = write!(out, r"\x{{{:x}}}", u32::from(char));
}
