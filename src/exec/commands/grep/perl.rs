//! Patterns of Perl as GNU grep 3.8 takes them: classes know ASCII alone, characters are
//! those of UTF-8. What crate `regex` has no words for is left to `fancy-regex`.

use super::symbols::{Sign, literal};

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r"\t-\r ";
const HORIZONTAL: &str = r"\t \x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}";
const VERTICAL: &str = r"\n-\r\x{85}\x{2028}\x{2029}";

/// A pattern in other words.
#[derive(Debug, Default)]
pub(super) struct Translated {
    pub(super) text: String,
    /// Crate `regex` has no words for it: back-references, looking around.
    pub(super) fancy: bool,
}

/// Translates one; with `fancy` for an engine that looks around.
pub(super) fn translate(signs: &[Sign], fancy: bool) -> Result<Translated, String> {
    let mut translator =
        Translator { signs, at: 0, fancy, done: Translated::default(), depth: 0, repeatable: false };
    translator.run()?;
    Ok(translator.done)
}

struct Translator<'p> {
    signs: &'p [Sign],
    at: usize,
    fancy: bool,
    done: Translated,
    depth: usize,
    /// Whether a quantifier has something to repeat.
    repeatable: bool,
}

impl Translator<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        match self.signs.get(self.at + ahead) {
            Some(Sign::Char(char)) => Some(*char),
            _ => None,
        }
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, char)| self.peek(ahead) == Some(char))
    }

    fn run(&mut self) -> Result<(), String> {
        while let Some(&sign) = self.signs.get(self.at) {
            self.at += 1;
            let Sign::Char(char) = sign else {
                self.literal(sign);
                continue;
            };
            match char {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.open()?,
                ')' => {
                    self.depth = self.depth.checked_sub(1).ok_or("unmatched closing parenthesis")?;
                    self.push(")", true);
                }
                '|' => self.push("|", false),
                '*' | '+' | '?' => self.quantifier(&char.to_string())?,
                '{' => match self.interval()? {
                    Some(interval) => self.quantifier(&interval)?,
                    None => self.literal(sign),
                },
                '^' | '$' | '.' => self.push(&char.to_string(), true),
                // In `(?x)` a space or `#` means something, and stays as it is.
                ' ' | '#' | '\t' => {
                    self.done.text.push(char);
                    self.repeatable = true;
                }
                _ => self.literal(sign),
            }
        }
        if self.depth == 0 { Ok(()) } else { Err("missing closing parenthesis".to_owned()) }
    }

    fn literal(&mut self, sign: Sign) {
        literal(sign, &mut self.done.text);
        self.repeatable = true;
    }

    fn push(&mut self, text: &str, repeatable: bool) {
        self.done.text.push_str(text);
        self.repeatable = repeatable;
    }

    fn push_fancy(&mut self, text: &str) {
        self.done.fancy = true;
        self.push(text, true);
    }

    fn quantifier(&mut self, operator: &str) -> Result<(), String> {
        if !self.repeatable {
            return Err("quantifier does not follow a repeatable item".to_owned());
        }
        self.done.text.push_str(operator);
        match self.peek(0) {
            Some('?') => {
                self.done.text.push('?');
                self.at += 1;
            }
            Some('+') => {
                self.push_fancy("+");
                self.at += 1;
            }
            _ => {}
        }
        self.repeatable = false;
        Ok(())
    }

    /// `{n}`, `{n,}` or `{n,m}` behind an open brace, which else is a literal.
    fn interval(&mut self) -> Result<Option<String>, String> {
        let mut end = self.at;
        while matches!(self.signs.get(end), Some(Sign::Char('0'..='9' | ','))) {
            end += 1;
        }
        let inner: String = self.signs[self.at..end]
            .iter()
            .filter_map(|sign| if let Sign::Char(char) = sign { Some(*char) } else { None })
            .collect();
        let (low, high) = inner.split_once(',').unwrap_or((&inner, &inner));
        if self.signs.get(end) != Some(&Sign::Char('}')) || low.is_empty() || high.contains(',') {
            return Ok(None);
        }
        let number = |text: &str| text.parse::<u32>().ok().filter(|&number| number <= 65_535);
        let big = || "number too big in {} quantifier".to_owned();
        let low = number(low).ok_or_else(big)?;
        if !high.is_empty() && number(high).ok_or_else(big)? < low {
            return Err("numbers out of order in {} quantifier".to_owned());
        }
        self.at = end + 1;
        Ok(Some(format!("{{{inner}}}")))
    }

    fn open(&mut self) -> Result<(), String> {
        if self.starts_with("?#") {
            while self.peek(0).is_some_and(|char| char != ')') {
                self.at += 1;
            }
            if self.peek(0).is_none() {
                return Err("missing ) after (?# comment".to_owned());
            }
            self.at += 1;
            return Ok(());
        }
        self.depth += 1;
        self.push("(", false);
        if self.peek(0) == Some('*') {
            return Err("verbs as (*UTF) are not supported here".to_owned());
        }
        if self.peek(0) != Some('?') {
            return Ok(());
        }
        // Groups that are plain, named, or set flags; the others look around or more.
        let named = (self.peek(1) == Some('<') && !matches!(self.peek(2), Some('=' | '!')))
            || self.starts_with("?P<");
        let plain = named || matches!(self.peek(1), Some(':' | 'i' | 's' | 'm' | 'x' | 'U' | '-'));
        self.done.fancy |= !plain;
        while let Some(char) = self.peek(0) {
            self.done.text.push(char);
            self.at += 1;
            match char {
                ')' => {
                    self.depth -= 1;
                    self.repeatable = true;
                    break;
                }
                ':' | '=' | '!' | '>' => break,
                '(' if !plain => {
                    self.depth += 1;
                    break;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let sign = *self.signs.get(self.at).ok_or("\\ at end of pattern")?;
        self.at += 1;
        let Sign::Char(char) = sign else {
            self.literal(sign);
            return Ok(());
        };
        if let Some(set) = shorthand(char) {
            let set = if char.is_ascii_uppercase() { format!("[^{set}]") } else { format!("[{set}]") };
            self.push(&set, true);
            return Ok(());
        }
        match char {
            'b' | 'B' if !self.fancy => self.push(&format!("(?-u:\\{char})"), true),
            'b' => self.push(&format!("(?:(?<=[{WORD}])(?![{WORD}])|(?<![{WORD}])(?=[{WORD}]))"), true),
            'B' => self.push(&format!("(?:(?<=[{WORD}])(?=[{WORD}])|(?<![{WORD}])(?![{WORD}]))"), true),
            'A' => self.push("^", true),
            'z' | 'Z' => self.push("$", true),
            'N' => self.push(".", true),
            'R' => self.push(&format!("(?:\\r\\n|[{VERTICAL}])"), true),
            'e' => self.push("\\x1B", true),
            'a' | 'f' | 'n' | 'r' | 't' => self.push(&format!("\\{char}"), true),
            'Q' => {
                while self.at < self.signs.len() && !self.starts_with("\\E") {
                    self.literal(self.signs[self.at]);
                    self.at += 1;
                }
                self.at = (self.at + 2).min(self.signs.len());
            }
            'E' => {}
            'c' => {
                let control = self.peek(0).filter(char::is_ascii_graphic).ok_or("\\c at end of pattern")?;
                self.at += 1;
                self.push(&format!("\\x{:02X}", control.to_ascii_uppercase() as u8 ^ 0x40), true);
            }
            'x' => {
                let code = self.hexadecimal()?;
                self.push(&code, true);
            }
            'p' | 'P' => {
                self.push(&format!("\\{char}"), true);
                if self.peek(0) == Some('{') {
                    while let Some(char) = self.peek(0) {
                        self.done.text.push(char);
                        self.at += 1;
                        if char == '}' {
                            break;
                        }
                    }
                } else if let Some(char) = self.peek(0) {
                    self.done.text.push(char);
                    self.at += 1;
                }
            }
            '0' => {
                let mut code = 0;
                for _ in 0..2 {
                    if let Some(digit) = self.peek(0).and_then(|char| char.to_digit(8)) {
                        code = code * 8 + digit;
                        self.at += 1;
                    }
                }
                self.push(&format!("\\x{{{code:X}}}"), true);
            }
            '1'..='9' | 'K' => self.push_fancy(&format!("\\{char}")),
            'k' | 'g' => self.push_fancy(&format!("\\{char}")),
            char if char.is_ascii_alphanumeric() => {
                return Err("unrecognized character follows \\".to_owned());
            }
            _ => self.literal(sign),
        }
        Ok(())
    }

    /// `\x41` or `\x{41}`, of which `\x` is read.
    fn hexadecimal(&mut self) -> Result<String, String> {
        let braced = self.peek(0) == Some('{');
        let mut digits = String::new();
        self.at += usize::from(braced);
        while let Some(char) = self.peek(0).filter(char::is_ascii_hexdigit) {
            if !braced && digits.len() == 2 {
                break;
            }
            digits.push(char);
            self.at += 1;
        }
        if braced {
            if self.peek(0) != Some('}') || digits.is_empty() {
                return Err("non-hex character in \\x{} (closing brace missing?)".to_owned());
            }
            self.at += 1;
        }
        let code = u32::from_str_radix(&digits, 16).unwrap_or(0);
        if char::from_u32(code).is_none() || digits.len() > 8 {
            return Err("character code point value in \\x{} or \\o{} is too large".to_owned());
        }
        Ok(format!("\\x{{{code:X}}}"))
    }

    /// A set, whose `[` is read.
    fn class(&mut self) -> Result<(), String> {
        const OPEN: &str = "missing terminating ] for character class";
        self.push("[", true);
        if self.peek(0) == Some('^') {
            self.done.text.push('^');
            self.at += 1;
        }
        let first = self.at;
        loop {
            let sign = *self.signs.get(self.at).ok_or(OPEN)?;
            self.at += 1;
            match sign {
                Sign::Char(']') if self.at - 1 > first => break,
                Sign::Char('[') if matches!(self.peek(0), Some(':')) => {
                    let rest = &self.signs[self.at..];
                    let end = [Sign::Char(':'), Sign::Char(']')];
                    if let Some(length) = rest.windows(2).skip(1).position(|pair| pair == end) {
                        let name: String = rest[1..=length]
                            .iter()
                            .filter_map(|sign| if let Sign::Char(char) = sign { Some(*char) } else { None })
                            .collect();
                        let known = ["alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower"];
                        let more = ["print", "punct", "space", "upper", "word", "xdigit"];
                        let plain = name.trim_start_matches('^');
                        if !known.contains(&plain) && !more.contains(&plain) {
                            return Err("unknown POSIX class name".to_owned());
                        }
                        self.done.text.push_str(&format!("[:{name}:]"));
                        self.at += length + 3;
                    } else {
                        self.done.text.push_str("\\[");
                    }
                }
                Sign::Char('\\') => self.escape_in_class()?,
                Sign::Char('-') => {
                    // Between two signs it makes a range; elsewhere it is one itself.
                    let alone = self.at - 1 == first || self.peek(0) == Some(']');
                    self.done.text.push_str(if alone { "\\-" } else { "-" });
                }
                Sign::Byte(_) => return Err("a byte that is no character in brackets".to_owned()),
                Sign::Char(_) => literal(sign, &mut self.done.text),
            }
        }
        self.done.text.push(']');
        Ok(())
    }

    fn escape_in_class(&mut self) -> Result<(), String> {
        let sign = *self.signs.get(self.at).ok_or("\\ at end of pattern")?;
        self.at += 1;
        let Sign::Char(char) = sign else {
            return Err("a byte that is no character in brackets".to_owned());
        };
        if let Some(set) = shorthand(char) {
            let set = if char.is_ascii_uppercase() { format!("[^{set}]") } else { set.to_owned() };
            self.done.text.push_str(&set);
            return Ok(());
        }
        match char {
            'b' => self.done.text.push_str("\\x08"),
            'e' => self.done.text.push_str("\\x1B"),
            'a' | 'f' | 'n' | 'r' | 't' => self.done.text.extend(['\\', char]),
            'x' => {
                let code = self.hexadecimal()?;
                self.done.text.push_str(&code);
            }
            'p' | 'P' => {
                self.done.text.extend(['\\', char]);
                while let Some(char) = self.peek(0) {
                    self.done.text.push(char);
                    self.at += 1;
                    if char == '}' || !self.done.text.ends_with('{') && !self.done.text.contains("p{") {
                        break;
                    }
                }
            }
            '0' => self.done.text.push_str("\\x00"),
            char if char.is_ascii_alphanumeric() => {
                return Err("unrecognized character follows \\".to_owned());
            }
            _ => literal(sign, &mut self.done.text),
        }
        Ok(())
    }
}

/// What the letter of `\d` and its like stands for, as in brackets; a capital for all else.
fn shorthand(letter: char) -> Option<&'static str> {
    match letter {
        'd' | 'D' => Some(DIGIT),
        'w' | 'W' => Some(WORD),
        's' | 'S' => Some(SPACE),
        'h' | 'H' => Some(HORIZONTAL),
        'v' | 'V' => Some(VERTICAL),
        _ => None,
    }
}
