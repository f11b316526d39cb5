//! Keys: which part of a line counts, and how two of them compare.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{BuildHasher as _, RandomState};

use super::numbers;
use crate::exec::commands::input::is_blank;
use crate::exec::commands::refusal::count;
use crate::exec::commands::{quote, versions};

/// Letters of the manners, in the order in which messages name them.
const MANNERS: &[u8] = b"bdfghiMnrRV";

/// How keys are compared, as a set of letters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manners {
    letters: u16,
    /// Blanks do not count before the place where a key ends.
    end_blanks: bool,
}

impl Manners {
    fn bit(letter: u8) -> u16 {
        MANNERS.iter().position(|&known| known == letter).map_or(0, |at| 1 << at)
    }

    pub(super) fn has(self, letter: u8) -> bool {
        self.letters & Self::bit(letter) != 0
    }

    /// Whether nothing is said but, it may be, `r`.
    pub(super) fn is_default(self) -> bool {
        self.letters & !Self::bit(b'r') == 0 && !self.end_blanks
    }

    /// Adds a letter. `Err` of one that is none.
    pub(super) fn add(&mut self, letter: u8) -> Result<(), ()> {
        match Self::bit(letter) {
            0 => return Err(()),
            // The stricter one of both stays.
            _ if letter == b'i' && self.has(b'd') => {}
            bit => self.letters |= bit,
        }
        if letter == b'd' {
            self.letters &= !Self::bit(b'i');
        }
        Ok(())
    }

    /// For the whole line: `b` at both ends.
    pub(super) fn add_global(&mut self, letter: u8) -> Result<(), ()> {
        self.end_blanks |= letter == b'b';
        self.add(letter)
    }

    /// The letters that cannot stand together, if there are such.
    pub(super) fn conflict(self) -> Option<String> {
        let kinds = b"nghM".iter().filter(|&&letter| self.has(letter)).count();
        let texts = usize::from(b"VRdi".iter().any(|&letter| self.has(letter)));
        let named = MANNERS.iter().filter(|&&letter| !b"br".contains(&letter) && self.has(letter));
        (kinds + texts > 1).then(|| named.map(|&letter| char::from(letter)).collect())
    }
}

/// A part of a line: `-k FROM,TO`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// Fields and characters before it begins.
    from: (usize, usize),
    /// Fields before it ends, and characters in the next one; 0: all of that. `None`: the
    /// line's end.
    to: Option<(usize, usize)>,
    pub(super) manners: Manners,
}

impl Key {
    /// The whole line.
    pub(super) fn whole(manners: Manners) -> Self {
        Self { from: (0, 0), to: None, manners }
    }

    /// `F[.C][OPTS][,F[.C][OPTS]]`.
    pub(super) fn of(spec: &str) -> Result<Self, String> {
        let bad = |what: &str| format!("{what}: invalid field specification {}", quote::curly(spec));
        let mut manners = Manners::default();
        let (field, rest) = number(spec, "invalid number at field start")?;
        let from_field = field.checked_sub(1).ok_or_else(|| bad("field number is zero"))?;
        let (mut from_char, mut rest) = (0, rest);
        if let Some(behind) = rest.strip_prefix('.') {
            let found = number(behind, "invalid number after '.'")?;
            rest = found.1;
            from_char = found.0.checked_sub(1).ok_or_else(|| bad("character offset is zero"))?;
        }
        rest = letters(rest, |letter| manners.add(letter));
        let mut to = None;
        if let Some(behind) = rest.strip_prefix(',') {
            let (field, behind) = number(behind, "invalid number after ','")?;
            let field = field.checked_sub(1).ok_or_else(|| bad("field number is zero"))?;
            let (mut chars, mut behind) = (0, behind);
            if let Some(offset) = behind.strip_prefix('.') {
                (chars, behind) = number(offset, "invalid number after '.'")?;
            }
            to = Some((field, chars));
            rest = letters(behind, |letter| {
                if letter == b'b' {
                    manners.end_blanks = true;
                    return Ok(());
                }
                manners.add(letter)
            });
        }
        if rest.is_empty() {
            Ok(Self { from: (from_field, from_char), to, manners })
        } else {
            Err(bad("stray character in field spec"))
        }
    }
}

/// A number at the beginning of a text, and the rest.
fn number<'a>(text: &'a str, what: &str) -> Result<(usize, &'a str), String> {
    let digits = text.trim_start_matches([' ', '\t', '+']);
    let end = digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len());
    let value = count(&digits[..end])
        .ok_or_else(|| format!("{what}: invalid count at start of {}", quote::curly(text)))?;
    Ok((value, &digits[end..]))
}

/// Takes letters from the beginning of a text as long as they are known.
fn letters(text: &str, mut take: impl FnMut(u8) -> Result<(), ()>) -> &str {
    let known = text.bytes().take_while(|&letter| take(letter).is_ok()).count();
    &text[known..]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Numeric,
    General,
    Human,
    Month,
    Random,
    Version,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    All,
    /// Blanks, letters and digits.
    Words,
    Printing,
}

/// A key, ready to compare with.
pub(super) struct Comparer {
    key: Key,
    skip_blanks: bool,
    separator: Option<u8>,
    kind: Kind,
    counts: Counts,
    fold: bool,
    reverse: bool,
    /// Of `-R`: equal keys stay together, in an order that is new each time.
    chance: RandomState,
}

impl Comparer {
    pub(super) fn new(key: Key, separator: Option<u8>) -> Self {
        let has = |letter| key.manners.has(letter);
        let kinds = [
            (b'n', Kind::Numeric),
            (b'g', Kind::General),
            (b'h', Kind::Human),
            (b'M', Kind::Month),
            (b'R', Kind::Random),
            (b'V', Kind::Version),
        ];
        let kind = kinds.into_iter().find(|(letter, _)| has(*letter)).map_or(Kind::Text, |(_, kind)| kind);
        let counts = match (has(b'd'), has(b'i')) {
            (true, _) => Counts::Words,
            (_, true) => Counts::Printing,
            _ => Counts::All,
        };
        let (skip_blanks, fold, reverse) = (has(b'b'), has(b'f'), has(b'r'));
        Self { key, skip_blanks, separator, kind, counts, fold, reverse, chance: RandomState::new() }
    }

    /// Orders two lines by this key alone.
    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (a, b) = (self.part(a), self.part(b));
        let order = match self.kind {
            Kind::Text if self.counts == Counts::All && !self.fold => a.cmp(b),
            Kind::Text => self.filtered(a).cmp(self.filtered(b)),
            kind => {
                let (a, b) = (self.translated(a), self.translated(b));
                match kind {
                    Kind::Numeric => numbers::numeric(&a, &b),
                    Kind::General => numbers::general(&a, &b),
                    Kind::Human => numbers::human(&a, &b),
                    Kind::Month => numbers::month(&a, &b),
                    Kind::Random => {
                        let hash = |text: &[u8]| self.chance.hash_one(text);
                        if a == b { Ordering::Equal } else { hash(&a).cmp(&hash(&b)).then_with(|| a.cmp(&b)) }
                    }
                    Kind::Version | Kind::Text => versions::compare(&a, &b),
                }
            }
        };
        if self.reverse { order.reverse() } else { order }
    }

    fn filtered<'a>(&self, text: &'a [u8]) -> impl Iterator<Item = u8> + use<'a> {
        let (counts, fold) = (self.counts, self.fold);
        let kept = move |byte: &u8| match counts {
            Counts::All => true,
            Counts::Words => is_blank(*byte) || byte.is_ascii_alphanumeric(),
            Counts::Printing => (b' '..=b'~').contains(byte),
        };
        let bytes = text.iter().copied().filter(kept);
        bytes.map(move |byte| if fold { byte.to_ascii_uppercase() } else { byte })
    }

    fn translated<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if self.counts == Counts::All && !self.fold {
            Cow::Borrowed(text)
        } else {
            self.filtered(text).collect()
        }
    }

    /// The part of a line that counts; none if the end lies before the beginning.
    fn part<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        let (fields, chars) = self.key.from;
        let mut start = self.after(line, fields, true);
        if self.skip_blanks {
            start = past(line, start, is_blank);
        }
        start = start.saturating_add(chars).min(line.len());
        let end = match self.key.to {
            None => line.len(),
            Some((fields, 0)) => self.after(line, fields.saturating_add(1), false),
            Some((fields, chars)) => {
                let mut end = self.after(line, fields, true);
                if self.key.manners.end_blanks {
                    end = past(line, end, is_blank);
                }
                end.saturating_add(chars).min(line.len())
            }
        };
        &line[start..end.max(start)]
    }

    /// Where so many fields end; with the separator behind the last one, or without.
    fn after(&self, line: &[u8], fields: usize, with_separator: bool) -> usize {
        let mut at = 0;
        for left in (0..fields).rev() {
            if at >= line.len() {
                break;
            }
            match self.separator {
                Some(separator) => {
                    at = past(line, at, |byte| byte != separator);
                    if at < line.len() && (left > 0 || with_separator) {
                        at += 1;
                    }
                }
                None => {
                    at = past(line, at, is_blank);
                    at = past(line, at, |byte| !is_blank(byte));
                }
            }
        }
        at
    }
}

/// The first place from `at` on whose byte is none of those.
fn past(line: &[u8], at: usize, those: impl Fn(u8) -> bool) -> usize {
    at + line[at..].iter().take_while(|&&byte| those(byte)).count()
}
