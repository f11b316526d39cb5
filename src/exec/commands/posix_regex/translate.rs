//! From POSIX to the words of crate `regex`.

use std::fmt::Write as _;

use super::classes::{SPACE, WORD};
use super::syntax::{Anchors, Newline, Nothing, Options};
use super::tokens::{Interval, Token, interval, token};
use super::{brackets, utf8};

/// Deepest nesting of groups.
const DEEPEST: usize = 250;
const NOTHING_TO_REPEAT: &str = "Invalid preceding regular expression";

/// A pattern that was translated.
#[derive(Debug, Default)]
pub(in crate::exec::commands) struct Translated {
    /// In other words.
    pub(in crate::exec::commands) pattern: String,
    /// Groups of the pattern itself.
    pub(super) groups: usize,
    /// Whether a match that is found first may not be the longest: there are alternatives, or
    /// something optional follows what it may have taken from.
    pub(super) ambiguous: bool,
    /// What the groups of the translation stand for, from the first on: groups of the pattern, or
    /// references to them, which are groups here so that they can be found again.
    pub(in crate::exec::commands) meant: Vec<Meant>,
    /// Signs that repeat nothing and were skipped, in GNU grep's words.
    pub(in crate::exec::commands) warnings: Vec<&'static str>,
}

impl Translated {
    /// Whether there are back-references.
    pub(in crate::exec::commands) fn refers(&self) -> bool {
        self.meant.iter().any(|meant| matches!(meant, Meant::Reference(_)))
    }

    /// Puts something around the pattern that takes no text.
    pub(in crate::exec::commands) fn put_between(&mut self, before: &str, after: &str) {
        self.pattern = format!("{before}(?:{}){after}", self.pattern);
    }
}

/// A group of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec::commands) enum Meant {
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
    /// The same, or only anchors came since.
    fresh: bool,
}

fn bit(group: usize) -> u32 {
    1_u32.checked_shl(u32::try_from(group).unwrap_or(u32::MAX)).unwrap_or(0)
}

/// Translates a pattern. `Err` has the words of glibc.
pub(in crate::exec::commands) fn translate(
    pattern: &[u8],
    options: &Options,
) -> Result<Translated, &'static str> {
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
        fresh: true,
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
    fn next(&mut self) -> Result<(), &'static str> {
        let syntax = &self.options.syntax;
        let (token, len) = token(&self.pattern[self.at..], syntax)?;
        let last = self.at + len - 1;
        self.at += len;
        let begins = std::mem::take(&mut self.begins);
        let anywhere = syntax.anchors_anywhere;
        match token {
            Token::Open => self.open()?,
            Token::Close if self.open.is_empty() && syntax.lone_close => self.literal(last),
            Token::Close => self.close()?,
            Token::Alternative => self.alternative(),
            Token::Star => self.repeat(last, "*", "* at start of expression")?,
            Token::Plus => self.repeat(last, "+", "+ at start of expression")?,
            Token::Question => self.repeat(last, "?", "? at start of expression")?,
            Token::Interval => self.interval(last)?,
            Token::Caret if anywhere || begins => {
                self.anchor(if self.options.anchors == Anchors::Text { r"\A" } else { "(?m:^)" })
            }
            Token::Dollar if anywhere || self.ends()? => {
                self.anchor(if self.options.anchors == Anchors::Text { r"\z" } else { "(?m:$)" });
            }
            Token::Dot => {
                self.single(if self.options.newline == Newline::All { "(?s:.)" } else { r"[^\n]" });
            }
            Token::Bracket => {
                let begin = self.out.pattern.len();
                self.at = brackets::translate(self.pattern, self.at, self.options, &mut self.out.pattern)?;
                self.written(begin, true);
            }
            Token::Reference(number) => self.reference(number)?,
            Token::Escaped(sign) => self.escaped(sign),
            Token::Caret | Token::Dollar | Token::Literal => self.literal(last),
        }
        Ok(())
    }

    /// Whether a basic pattern, a group or an alternative ends here.
    fn ends(&self) -> Result<bool, &'static str> {
        let rest = &self.pattern[self.at..];
        if rest.is_empty() {
            return Ok(true);
        }
        Ok(matches!(token(rest, &self.options.syntax)?.0, Token::Close | Token::Alternative))
    }

    fn open(&mut self) -> Result<(), &'static str> {
        if self.open.len() == DEEPEST {
            return Err("Regular expression too big");
        }
        self.out.groups += 1;
        self.out.meant.push(Meant::Group(self.out.groups));
        self.open.push((self.out.pattern.len(), self.out.groups));
        self.out.pattern.push('(');
        self.alternatives.push((self.closed, 0));
        self.begin();
        Ok(())
    }

    fn close(&mut self) -> Result<(), &'static str> {
        let (begin, number) = self.open.pop().ok_or(r"Unmatched ) or \)")?;
        self.out.pattern.push(')');
        self.closed |= self.alternatives.pop().map_or(0, |(_, all)| all) | bit(number);
        self.written(begin, false);
        Ok(())
    }

    fn alternative(&mut self) {
        self.out.ambiguous = true;
        self.out.pattern.push('|');
        if let Some((before, all)) = self.alternatives.last_mut() {
            *all |= self.closed;
            self.closed = *before;
        }
        self.begin();
    }

    fn begin(&mut self) {
        (self.last, self.begins, self.fresh) = (None, true, true);
    }

    fn anchor(&mut self, words: &str) {
        let begin = self.out.pattern.len();
        self.out.pattern.push_str(words);
        self.last = self.options.syntax.line_matcher.then_some((begin, false));
        self.repeated = false;
    }

    /// An anchor at a word, which is glibc's whoever else may ask.
    fn word(&mut self, words: &str) {
        self.anchor(words);
        self.last = None;
    }

    fn written(&mut self, begin: usize, single: bool) {
        (self.last, self.repeated, self.fresh) = (Some((begin, single)), false, false);
    }

    /// One character, in other words.
    fn single(&mut self, words: &str) {
        let begin = self.out.pattern.len();
        self.out.pattern.push_str(words);
        self.written(begin, true);
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

    fn reference(&mut self, number: usize) -> Result<(), &'static str> {
        if self.closed & bit(number) == 0 {
            return Err("Invalid back reference");
        }
        let begin = self.out.pattern.len();
        // A character, so that it can be repeated; `paths` reads the group's text there.
        self.out.pattern.push_str("(0)");
        self.out.meant.push(Meant::Reference(number));
        self.written(begin, false);
        Ok(())
    }

    fn escaped(&mut self, sign: u8) {
        let apart = self.options.anchors == Anchors::Apart;
        match sign {
            b'w' => self.single(&format!("[{WORD}]")),
            b'W' => self.single(&format!("[^{WORD}]")),
            b's' => self.single(&format!("[{SPACE}]")),
            b'S' => self.single(&format!("[^{SPACE}]")),
            b'b' => self.word(r"\b"),
            b'B' => self.word(r"\B"),
            b'<' => self.word(r"\b{start}"),
            b'>' => self.word(r"\b{end}"),
            b'`' => self.anchor(if apart { "(?m:^)" } else { r"\A" }),
            _ => self.anchor(if apart { "(?m:$)" } else { r"\z" }),
        }
    }

    /// A sign at `at` that repeats what was written last.
    fn repeat(&mut self, at: usize, words: &str, skipped: &'static str) -> Result<(), &'static str> {
        let syntax = &self.options.syntax;
        if syntax.line_matcher && self.fresh || self.last.is_none() {
            match syntax.nothing {
                Nothing::Refused => return Err(NOTHING_TO_REPEAT),
                Nothing::Text => {
                    self.literal(at);
                    return Ok(());
                }
                Nothing::Skipped if self.fresh => self.out.warnings.push(skipped),
                Nothing::Skipped => {}
            }
        } else if self.repeated && words == "*" && syntax.repeats_once {
            return Err(NOTHING_TO_REPEAT);
        }
        self.times(words);
        Ok(())
    }

    fn times(&mut self, words: &str) {
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

    /// What follows the `{` at `at`.
    fn interval(&mut self, at: usize) -> Result<(), &'static str> {
        let syntax = &self.options.syntax;
        let alone = syntax.line_matcher && self.fresh || self.last.is_none();
        if syntax.repeats_once && (alone || self.repeated) {
            return Err(NOTHING_TO_REPEAT);
        }
        if alone {
            match syntax.nothing {
                Nothing::Refused => return Err(NOTHING_TO_REPEAT),
                Nothing::Skipped if !syntax.line_matcher => return Ok(()),
                Nothing::Text | Nothing::Skipped => {}
            }
        }
        let rest = &self.pattern[self.at..];
        match interval(rest, syntax) {
            _ if alone && syntax.nothing == Nothing::Text => self.literal(at),
            Ok(Interval::Times(low, high, len)) => {
                if alone && self.fresh {
                    self.out.warnings.push("{...} at start of expression");
                }
                self.at += len;
                match high {
                    Some(high) if high == low => self.times(&format!("{{{low}}}")),
                    Some(high) => self.times(&format!("{{{low},{high}}}")),
                    None => self.times(&format!("{{{low},}}")),
                }
            }
            Ok(Interval::Text(_)) | Err(_) if alone => self.literal(at),
            Ok(Interval::Text(_)) if syntax.lenient_intervals => self.literal(at),
            Ok(Interval::Text(message)) | Err(message) => return Err(message),
        }
        Ok(())
    }
}
