//! Basic and extended regular expressions of POSIX with GNU's additions, in the words of
//! crate `regex`.

use super::bracket::{self, SPACE, WORD};
use super::symbols::{Sign, literal};

/// Most repetitions that an interval may ask for.
const MOST: u32 = 32_767;

/// A pattern in other words.
#[derive(Debug, Default)]
pub(super) struct Translated {
    pub(super) text: String,
    /// Crate `regex` has no words for it: back-references, looking around.
    pub(super) fancy: bool,
    /// What the user is told and the search goes on.
    pub(super) warnings: Vec<&'static str>,
}

/// Translates a pattern that is one line. With `fancy` for an engine that looks around.
pub(super) fn translate(signs: &[Sign], extended: bool, fancy: bool) -> Result<Translated, String> {
    let mut translator = Translator {
        signs,
        at: 0,
        extended,
        fancy,
        done: Translated::default(),
        place: Place::Start,
        atom: 0,
        groups: Vec::new(),
        opened: 0,
        closed: Vec::new(),
    };
    translator.run()?;
    Ok(translator.done)
}

/// What stands before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing that could be repeated.
    Start,
    /// As `Start`, behind a `^` of a basic expression, where no second one can stand.
    Begun,
    Atom,
    Repeated,
}

struct Translator<'p> {
    signs: &'p [Sign],
    at: usize,
    extended: bool,
    fancy: bool,
    done: Translated,
    place: Place,
    /// Where the last atom begins in the text.
    atom: usize,
    /// Number of each open group, and where it begins in the text.
    groups: Vec<(usize, usize)>,
    opened: usize,
    closed: Vec<usize>,
}

impl Translator<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        match self.signs.get(self.at + ahead) {
            Some(Sign::Char(char)) => Some(*char),
            _ => None,
        }
    }

    fn run(&mut self) -> Result<(), String> {
        while let Some(&sign) = self.signs.get(self.at) {
            self.at += 1;
            let Sign::Char(char) = sign else {
                self.atom(|out| literal(sign, out));
                continue;
            };
            match char {
                '\\' => self.escape()?,
                '[' => {
                    self.atom = self.done.text.len();
                    self.at = bracket::translate(self.signs, self.at, &mut self.done.text)?;
                    self.place = Place::Atom;
                }
                '.' => self.atom(|out| out.push('.')),
                '*' => self.repeat("*", "* at start of expression"),
                '^' if self.extended || self.place == Place::Start => self.anchor('^'),
                '$' if self.extended || self.ends_here() => self.anchor('$'),
                '+' if self.extended => self.repeat("+", "+ at start of expression"),
                '?' if self.extended => self.repeat("?", "? at start of expression"),
                '{' if self.extended => self.interval()?,
                '(' if self.extended => self.open(),
                ')' if self.extended && !self.groups.is_empty() => self.close(),
                '|' if self.extended => self.alternative(),
                _ => self.atom(|out| literal(sign, out)),
            }
        }
        if self.groups.is_empty() { Ok(()) } else { Err("Unmatched ( or \\(".to_owned()) }
    }

    fn escape(&mut self) -> Result<(), String> {
        let sign = *self.signs.get(self.at).ok_or("Trailing backslash")?;
        self.at += 1;
        let Sign::Char(char) = sign else {
            self.atom(|out| literal(sign, out));
            return Ok(());
        };
        match char {
            '(' if !self.extended => self.open(),
            ')' if !self.extended => {
                if self.groups.is_empty() {
                    return Err("Unmatched ) or \\)".to_owned());
                }
                self.close();
            }
            '|' if !self.extended => self.alternative(),
            '{' if !self.extended => self.interval()?,
            '+' if !self.extended => self.repeat("+", ""),
            '?' if !self.extended => self.repeat("?", ""),
            '<' if self.fancy => self.atom(|out| out.push_str(&format!("(?<![{WORD}])(?=[{WORD}])"))),
            '>' if self.fancy => self.atom(|out| out.push_str(&format!("(?<=[{WORD}])(?![{WORD}])"))),
            '<' => self.atom(|out| out.push_str(r"\b{start}")),
            '>' => self.atom(|out| out.push_str(r"\b{end}")),
            'b' | 'B' => self.atom(|out| out.extend(['\\', char])),
            '`' => self.anchor('^'),
            '\'' => self.anchor('$'),
            'w' => self.atom(|out| out.push_str(&format!("[{WORD}]"))),
            'W' => self.atom(|out| out.push_str(&format!("[^{WORD}]"))),
            's' => self.atom(|out| out.push_str(&format!("[{SPACE}]"))),
            'S' => self.atom(|out| out.push_str(&format!("[^{SPACE}]"))),
            '1'..='9' => {
                let number = char as usize - '0' as usize;
                if !self.closed.contains(&number) {
                    return Err("Invalid back reference".to_owned());
                }
                self.done.fancy = true;
                // A digit that follows is no part of it.
                self.atom(|out| out.push_str(&format!("(?:\\{number})")));
            }
            _ => self.atom(|out| literal(sign, out)),
        }
        Ok(())
    }

    fn atom(&mut self, write: impl FnOnce(&mut String)) {
        self.atom = self.done.text.len();
        write(&mut self.done.text);
        self.place = Place::Atom;
    }

    fn anchor(&mut self, sign: char) {
        self.atom(|out| out.push(sign));
        // `^*` of a basic expression is a star.
        if !self.extended && sign == '^' {
            self.place = Place::Begun;
        }
    }

    /// Whether a `$` here ends a basic expression, or one of its parts.
    fn ends_here(&self) -> bool {
        self.at == self.signs.len() || (self.peek(0) == Some('\\') && matches!(self.peek(1), Some(')' | '|')))
    }

    fn open(&mut self) {
        self.opened += 1;
        self.groups.push((self.opened, self.done.text.len()));
        self.done.text.push('(');
        self.place = Place::Start;
    }

    fn close(&mut self) {
        if let Some((number, begin)) = self.groups.pop() {
            self.closed.push(number);
            self.done.text.push(')');
            self.atom = begin;
            self.place = Place::Atom;
        }
    }

    fn alternative(&mut self) {
        self.done.text.push('|');
        self.place = Place::Start;
    }

    /// An operator on the atom before. Without one it is a literal, or, in an extended
    /// expression, nothing.
    fn repeat(&mut self, operator: &str, warning: &'static str) {
        match self.place {
            Place::Start if self.extended => self.done.warnings.push(warning),
            Place::Start | Place::Begun => self.atom(|out| {
                out.push('\\');
                out.push_str(operator);
            }),
            Place::Atom => {
                self.done.text.push_str(operator);
                self.place = Place::Repeated;
            }
            Place::Repeated => {
                // `a+?` is lazy in the other words.
                self.done.text.insert_str(self.atom, "(?:");
                self.done.text.push(')');
                self.done.text.push_str(operator);
            }
        }
    }

    fn interval(&mut self) -> Result<(), String> {
        let (low, at) = self.number(self.at);
        let (high, comma, at) = match self.signs.get(at) {
            Some(Sign::Char(',')) => {
                let (high, at) = self.number(at + 1);
                (high, true, at)
            }
            _ => (low, false, at),
        };
        let close: &[Sign] =
            if self.extended { &[Sign::Char('}')] } else { &[Sign::Char('\\'), Sign::Char('}')] };
        let closed = self.signs.get(at..).is_some_and(|rest| rest.starts_with(close));
        let ordered = match (low, high) {
            (Some(low), Some(high)) => low <= high,
            (low, _) => comma || low.is_some(),
        };
        if !closed && self.extended {
            self.atom(|out| out.push_str(r"\{"));
            return Ok(());
        }
        if !closed || !ordered {
            let open_ended = at >= self.signs.len();
            return Err(if open_ended { "Unmatched \\{" } else { "Invalid content of \\{\\}" }.to_owned());
        }
        let low = low.unwrap_or(0);
        if low.max(high.unwrap_or(0)) > MOST {
            return Err("Regular expression too big".to_owned());
        }
        if matches!(self.place, Place::Start | Place::Begun) && !self.extended {
            return Err("Invalid preceding regular expression".to_owned());
        }
        self.at = at + close.len();
        let operator = match (comma, high) {
            (false, _) => format!("{{{low}}}"),
            (true, None) => format!("{{{low},}}"),
            (true, Some(high)) => format!("{{{low},{high}}}"),
        };
        self.repeat(&operator, "{...} at start of expression");
        Ok(())
    }

    /// Digits at `at`, and what follows. What is too large is above [`MOST`].
    fn number(&self, at: usize) -> (Option<u32>, usize) {
        let mut end = at;
        let mut number: Option<u32> = None;
        while let Some(Sign::Char(digit @ '0'..='9')) = self.signs.get(end) {
            let digit = *digit as u32 - '0' as u32;
            number = Some((number.unwrap_or(0) * 10 + digit).min(MOST + 1));
            end += 1;
        }
        (number, end)
    }
}
