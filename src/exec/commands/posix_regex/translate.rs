//! From POSIX to the words of crate `regex`.

use std::fmt::Write as _;

use super::{Options, brackets, utf8};

/// Most repetitions of an interval.
const MOST: u32 = 32_767;
/// Deepest nesting of groups.
const DEEPEST: usize = 250;
const NOTHING_TO_REPEAT: &str = "Invalid preceding regular expression";

/// A pattern that was translated.
#[derive(Default)]
pub(super) struct Translated {
    pub(super) pattern: String,
    /// Groups of the pattern itself.
    pub(super) groups: usize,
    /// Whether a match that is found first may not be the longest: there are alternatives, or
    /// something optional follows what it may have taken from.
    pub(super) ambiguous: bool,
    /// What the groups of the translation stand for, from the first on: groups of the pattern, or
    /// references to them, which are groups here so that they can be found again.
    pub(super) meant: Vec<Meant>,
}

/// A group of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// A group of the pattern, counted from 1.
    Group(usize),
    /// The text of that group.
    Reference(usize),
}

struct Parser<'a> {
    options: &'a Options,
    pattern: &'a [u8],
    at: usize,
    out: Translated,
    /// For each group that is open: where it begins in the output, and its number.
    open: Vec<(usize, usize)>,
    /// Groups that may be referred to, a bit for each.
    closed: u32,
    /// For all that is open, the whole pattern first: what was closed before it, and what its
    /// alternatives so far have closed. They cannot refer to each other's.
    alternatives: Vec<(u32, u32)>,
    /// Where what was written last begins, if it can be repeated, and whether it is one character.
    last: Option<(usize, bool)>,
    /// What was written last is repeated already.
    repeated: bool,
    /// Something is.
    quantified: bool,
    /// A pattern, a group or an alternative begins: a basic `^` is an anchor nowhere else.
    begins: bool,
}

/// A special sign; all else is a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
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
    /// `\w` and the like.
    Escaped(u8),
    Literal,
}

fn bit(group: usize) -> u32 {
    1_u32.checked_shl(u32::try_from(group).unwrap_or(u32::MAX)).unwrap_or(0)
}

pub(super) fn translate(pattern: &[u8], options: &Options) -> Result<Translated, &'static str> {
    let mut parser = Parser {
        options,
        pattern,
        at: 0,
        out: Translated::default(),
        open: Vec::new(),
        closed: 0,
        alternatives: vec![(0, 0)],
        last: None,
        repeated: false,
        quantified: false,
        begins: true,
    };
    while parser.at < pattern.len() {
        parser.next()?;
    }
    if !parser.open.is_empty() {
        return Err(r"Unmatched ( or \(");
    }
    Ok(parser.out)
}

impl Parser<'_> {
    /// The token at a place, and its length.
    fn token(&self, at: usize) -> Result<(Token, usize), &'static str> {
        let extended = self.options.extended;
        let byte = self.pattern[at];
        if byte == b'\\' {
            let next = *self.pattern.get(at + 1).ok_or("Trailing backslash")?;
            let token = match next {
                b'(' if !extended => Token::Open,
                b')' if !extended => Token::Close,
                b'|' if !extended => Token::Alternative,
                b'+' if !extended => Token::Plus,
                b'?' if !extended => Token::Question,
                b'{' if !extended => Token::Interval,
                b'1'..=b'9' | b'w' | b'W' | b's' | b'S' | b'b' | b'B' | b'<' | b'>' | b'`' | b'\'' => {
                    Token::Escaped(next)
                }
                _ => Token::Literal,
            };
            return Ok((token, 2));
        }
        let token = match byte {
            b'(' if extended => Token::Open,
            b')' if extended => Token::Close,
            b'|' if extended => Token::Alternative,
            b'+' if extended => Token::Plus,
            b'?' if extended => Token::Question,
            b'{' if extended => Token::Interval,
            b'*' => Token::Star,
            b'^' => Token::Caret,
            b'$' => Token::Dollar,
            b'.' => Token::Dot,
            b'[' => Token::Bracket,
            _ => Token::Literal,
        };
        Ok((token, 1))
    }

    fn next(&mut self) -> Result<(), &'static str> {
        let (token, len) = self.token(self.at)?;
        let start = self.at;
        self.at += len;
        let begins = std::mem::replace(&mut self.begins, matches!(token, Token::Open | Token::Alternative));
        match token {
            Token::Open => {
                if self.open.len() == DEEPEST {
                    return Err("Regular expression too big");
                }
                self.out.groups += 1;
                self.out.meant.push(Meant::Group(self.out.groups));
                self.open.push((self.out.pattern.len(), self.out.groups));
                self.out.pattern.push('(');
                self.alternatives.push((self.closed, 0));
                self.last = None;
            }
            Token::Close => {
                let (begin, number) = self.open.pop().ok_or(r"Unmatched ) or \)")?;
                self.out.pattern.push(')');
                self.closed |= self.alternatives.pop().map_or(0, |(_, all)| all) | bit(number);
                self.written(begin, false);
            }
            Token::Alternative => {
                self.out.ambiguous = true;
                self.out.pattern.push('|');
                if let Some((before, all)) = self.alternatives.last_mut() {
                    *all |= self.closed;
                    self.closed = *before;
                }
                self.last = None;
            }
            Token::Star | Token::Plus | Token::Question if self.last.is_some() => self.repeat(match token {
                Token::Star => "*",
                Token::Plus => "+",
                _ => "?",
            }),
            Token::Star | Token::Plus | Token::Question if self.options.extended => {
                return Err(NOTHING_TO_REPEAT);
            }
            Token::Interval => self.interval()?,
            Token::Caret if self.options.extended || begins => {
                self.anchor(if self.options.lines { "(?m:^)" } else { r"\A" });
            }
            Token::Dollar if self.options.extended || self.ends()? => {
                self.anchor(if self.options.lines { "(?m:$)" } else { r"\z" });
            }
            Token::Dot => {
                let begin = self.out.pattern.len();
                self.out.pattern.push_str(if self.options.lines { r"[^\n]" } else { "(?s:.)" });
                self.written(begin, true);
            }
            Token::Bracket => {
                let begin = self.out.pattern.len();
                self.at =
                    brackets::translate(self.pattern, self.at, self.options.lines, &mut self.out.pattern)?;
                self.written(begin, true);
            }
            Token::Escaped(sign) => self.escaped(sign)?,
            Token::Star | Token::Plus | Token::Question | Token::Caret | Token::Dollar | Token::Literal => {
                self.literal(start + len - 1);
            }
        }
        Ok(())
    }

    /// Whether a basic pattern, a group or an alternative ends here.
    fn ends(&self) -> Result<bool, &'static str> {
        if self.at == self.pattern.len() {
            return Ok(true);
        }
        Ok(matches!(self.token(self.at)?.0, Token::Close | Token::Alternative))
    }

    fn anchor(&mut self, words: &str) {
        self.out.pattern.push_str(words);
        self.last = None;
    }

    fn written(&mut self, begin: usize, single: bool) {
        self.last = Some((begin, single));
        self.repeated = false;
    }

    /// The character at `at`, as itself.
    fn literal(&mut self, at: usize) {
        let begin = self.out.pattern.len();
        if let Some((char, size)) = utf8::decode(&self.pattern[at..]) {
            self.at = at + size;
            self.out.pattern.push_str(&regex::escape(char.encode_utf8(&mut [0; 4])));
        } else {
            self.at = at + 1;
            let _ = write!(self.out.pattern, r"(?-u:\x{:02x})", self.pattern[at]);
        }
        self.written(begin, true);
    }

    fn escaped(&mut self, sign: u8) -> Result<(), &'static str> {
        let begin = self.out.pattern.len();
        match sign {
            b'1'..=b'9' => {
                let number = usize::from(sign - b'0');
                if self.closed & bit(number) == 0 {
                    return Err("Invalid back reference");
                }
                // A character, so that it can be repeated; `paths` reads the group's text there.
                self.out.pattern.push_str("(0)");
                self.out.meant.push(Meant::Reference(number));
                self.written(begin, false);
            }
            b'w' => self.set(r"\w"),
            b'W' => self.set(r"\W"),
            b's' => self.set(r"\s"),
            b'S' => self.set(r"\S"),
            b'b' => self.anchor(r"\b"),
            b'B' => self.anchor(r"\B"),
            b'<' => self.anchor(r"\b{start}"),
            b'>' => self.anchor(r"\b{end}"),
            b'`' => self.anchor(r"\A"),
            _ => self.anchor(r"\z"),
        }
        Ok(())
    }

    fn set(&mut self, words: &str) {
        let begin = self.out.pattern.len();
        self.out.pattern.push_str(words);
        self.written(begin, true);
    }

    fn repeat(&mut self, words: &str) {
        let Some((begin, single)) = self.last else { return };
        // `a*?` means something else there.
        if self.repeated {
            self.out.pattern.insert_str(begin, "(?:");
            self.out.pattern.push(')');
        }
        self.out.pattern.push_str(words);
        self.out.ambiguous |= !single || self.repeated || self.quantified;
        self.quantified = true;
        self.repeated = true;
    }

    fn number(&mut self) -> Option<u32> {
        let digits = self.pattern[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = std::str::from_utf8(&self.pattern[self.at..self.at + digits]).ok()?;
        self.at += digits;
        (digits > 0).then(|| text.parse().unwrap_or(u32::MAX))
    }

    /// What follows `{` or `\{`.
    fn interval(&mut self) -> Result<(), &'static str> {
        if self.last.is_none() {
            return Err(NOTHING_TO_REPEAT);
        }
        let low = self.number();
        let comma = self.pattern.get(self.at) == Some(&b',');
        self.at += usize::from(comma);
        let high = if comma { self.number() } else { low };
        let close: &[u8] = if self.options.extended { b"}" } else { br"\}" };
        let rest = &self.pattern[self.at..];
        if !rest.starts_with(close) {
            let cut = rest.is_empty() || rest == br"\";
            return Err(if cut { r"Unmatched \{" } else { r"Invalid content of \{\}" });
        }
        self.at += close.len();
        if low.is_none() && !comma {
            return Err(r"Invalid content of \{\}");
        }
        let low = low.unwrap_or(0);
        if low > MOST || high.is_some_and(|high| high > MOST) {
            return Err("Regular expression too big");
        }
        match high {
            Some(high) if high < low => return Err(r"Invalid content of \{\}"),
            Some(high) => self.repeat(&format!("{{{low},{high}}}")),
            None => self.repeat(&format!("{{{low},}}")),
        }
        Ok(())
    }
}
