//! The formats of `-printf`: read once, printed for each entry.

use super::moments;
use super::tests::{USER, letter, letter_behind};
use crate::exec::commands::stat::{blocks, mode_text};
use crate::exec::commands::walk::{Entry, Walk};
use crate::fs::{Errno, Kind, Sight};

/// No field is wider.
const MAX_WIDTH: usize = 4096;

#[derive(Debug)]
pub(super) struct Format(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(Vec<u8>),
    Field(Field, char),
    Time(Field, char),
    /// `\c`: the rest is not printed.
    End,
}

#[derive(Debug, Default)]
struct Field {
    left: bool,
    zero: bool,
    alternate: bool,
    sign: Option<char>,
    width: usize,
    precision: Option<usize>,
}

const LETTERS: &str = "abcdDfFgGhHiklmMnpPsStuUyYZ";

impl Format {
    /// Reads one, and tells what is odd about it. `Err`: it is none.
    pub(super) fn read(text: &str, warnings: &mut Vec<String>) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain: Vec<u8> = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['%', '\\']) {
            plain.extend_from_slice(&rest.as_bytes()[..at]);
            let escape = rest[at..].starts_with('\\');
            rest = &rest[at + 1..];
            if escape {
                if !escaped(&mut rest, &mut plain, warnings) {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    pieces.push(Piece::End);
                    return Ok(Self(pieces));
                }
                continue;
            }
            if let Some(after) = rest.strip_prefix('%') {
                plain.push(b'%');
                rest = after;
                continue;
            }
            let (field, behind) = Field::read(rest);
            let mut chars = behind.chars();
            let Some(letter) = chars.next() else { return Err("% at end of format string".to_owned()) };
            let second = chars.clone().next();
            let end = |behind: &str| rest.len() - behind.len();
            let piece = match letter {
                '{' | '[' | '(' => {
                    return Err(format!("the format directive `%{letter}' is reserved for future use"));
                }
                letter if LETTERS.contains(letter) => {
                    rest = chars.as_str();
                    Piece::Field(field, letter)
                }
                'A' | 'B' | 'C' | 'T' if second.is_some() => {
                    chars.next();
                    rest = chars.as_str();
                    let time = second.unwrap_or('@');
                    if letter == 'B' { Piece::Text(Vec::new()) } else { Piece::Time(field, time) }
                }
                letter => {
                    warnings.push(if matches!(letter, 'A' | 'B' | 'C' | 'T') {
                        format!("format directive `%{letter}' should be followed by another character")
                    } else {
                        format!("unrecognized format directive `%{letter}'")
                    });
                    plain.push(b'%');
                    plain.extend_from_slice(&rest.as_bytes()[..end(chars.as_str())]);
                    rest = chars.as_str();
                    continue;
                }
            };
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(piece);
        }
        plain.extend_from_slice(rest.as_bytes());
        pieces.push(Piece::Text(plain));
        Ok(Self(pieces))
    }

    /// Prints it, up to somewhat more than `most` bytes.
    pub(super) fn print(&self, walk: &Walk, entry: &Entry, most: usize, out: &mut Vec<u8>) {
        for piece in &self.0 {
            if out.len() > most {
                break;
            }
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Field(field, letter) => field.print(*letter, walk, entry, out),
                Piece::Time(field, letter) => field.pad(&moments::part(entry.stat.mtime_ns, *letter), out),
                Piece::End => break,
            }
        }
    }
}

/// What stands behind a backslash. Whether the format goes on.
fn escaped(rest: &mut &str, plain: &mut Vec<u8>, warnings: &mut Vec<String>) -> bool {
    let mut chars = rest.chars();
    let Some(sign) = chars.next() else {
        warnings.push("escape `\\' followed by nothing at all".to_owned());
        plain.push(b'\\');
        return true;
    };
    let digits = rest.bytes().take(3).take_while(|byte| (b'0'..b'8').contains(byte)).count();
    if digits > 0 {
        let value = u32::from_str_radix(&rest[..digits], 8).unwrap_or(0);
        plain.push(value as u8);
        *rest = &rest[digits..];
        return true;
    }
    *rest = chars.as_str();
    plain.push(match sign {
        'a' => 7,
        'b' => 8,
        'c' => return false,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        other => {
            warnings.push(format!("unrecognized escape `\\{other}'"));
            plain.push(b'\\');
            plain.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            return true;
        }
    });
    true
}

impl Field {
    /// What stands between `%` and the letter, and what is behind.
    fn read(text: &str) -> (Self, &str) {
        let mut field = Self::default();
        let flags = text.bytes().take_while(|byte| b"-+ #0".contains(byte)).count();
        for flag in text[..flags].chars() {
            match flag {
                '-' => field.left = true,
                '0' => field.zero = true,
                '#' => field.alternate = true,
                sign if field.sign != Some('+') => field.sign = Some(sign),
                _ => {}
            }
        }
        let number = |text: &str| {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            (text[..digits].parse().unwrap_or(if digits > 0 { MAX_WIDTH } else { 0 }), digits)
        };
        let (width, digits) = number(&text[flags..]);
        field.width = width.min(MAX_WIDTH);
        let mut rest = &text[flags + digits..];
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, digits) = number(after);
            field.precision = Some(precision);
            rest = &after[digits..];
        }
        (field, rest)
    }

    fn pad(&self, text: &str, out: &mut Vec<u8>) {
        let bytes = text.as_bytes();
        let bytes = &bytes[..bytes.len().min(self.precision.unwrap_or(usize::MAX))];
        self.fill(bytes, b' ', out);
    }

    fn fill(&self, bytes: &[u8], fill: u8, out: &mut Vec<u8>) {
        let missing = self.width.saturating_sub(bytes.len());
        if !self.left {
            out.resize(out.len() + missing, fill);
        }
        out.extend_from_slice(bytes);
        if self.left {
            out.resize(out.len() + missing, b' ');
        }
    }

    /// Digits, as a number of C.
    fn number(&self, digits: &str, out: &mut Vec<u8>) {
        let mut text = digits.to_owned();
        if let Some(precision) = self.precision {
            let precision = precision.min(MAX_WIDTH);
            text.insert_str(0, &"0".repeat(precision.saturating_sub(text.len())));
        }
        let zeros = self.zero && !self.left && self.precision.is_none();
        self.fill(text.as_bytes(), if zeros { b'0' } else { b' ' }, out);
    }

    fn print(&self, letter: char, walk: &Walk, entry: &Entry, out: &mut Vec<u8>) {
        let stat = &entry.stat;
        let device = Sight::is_device(entry.ino);
        let path = walk.path(entry);
        let text = match letter {
            'a' | 'c' | 't' => moments::whole(stat.mtime_ns),
            'b' => blocks(stat, device).to_string(),
            'k' => blocks(stat, device).div_ceil(2).to_string(),
            'd' => {
                let sign = self.sign.map(String::from).unwrap_or_default();
                self.number(&format!("{sign}{}", entry.level), out);
                return;
            }
            'm' => {
                let zero = if self.alternate && stat.mode != 0 { "0" } else { "" };
                self.number(&format!("{zero}{:o}", stat.mode & 0o7777), out);
                return;
            }
            'D' => "0".to_owned(),
            'F' => "unknown".to_owned(),
            'f' => {
                // Of the slashes that a starting point may end with, one is shown.
                let name = walk.name(entry);
                let slash = name != "/" && path.ends_with('/');
                return self.pad(&format!("{name}{}", if slash { "/" } else { "" }), out);
            }
            'g' | 'u' => return self.pad("user", out),
            'G' | 'U' => USER.to_string(),
            'h' => {
                let plain = path.trim_end_matches('/');
                let above = match plain.rfind('/') {
                    Some(at) => &path[..at],
                    None if plain.is_empty() => &path[1..],
                    None => ".",
                };
                return self.pad(above, out);
            }
            'H' => return self.pad(&path[..entry.start], out),
            'i' => stat.ino.to_string(),
            'l' => {
                let target = walk.sight().target(entry.ino);
                return self.pad(target.as_deref().unwrap_or_default(), out);
            }
            'M' => mode_text(stat.kind, device, stat.mode),
            'n' => stat.nlink.to_string(),
            'p' => return self.pad(path, out),
            'P' => return self.pad(path[entry.start..].trim_start_matches('/'), out),
            's' => (if device { 0 } else { stat.size }).to_string(),
            'S' => sparseness(stat.size, blocks(stat, device)),
            'y' => self::letter(stat.kind, entry.ino).to_string(),
            'Y' => behind(walk, entry).to_string(),
            // No security contexts.
            _ => String::new(),
        };
        self.pad(&text, out);
    }
}

/// `%Y`: what a link leads to, `N` if that is nothing, `L` if it never ends.
fn behind(walk: &Walk, entry: &Entry) -> char {
    if entry.link.is_some() || entry.stat.kind != Kind::Symlink {
        return letter(entry.stat.kind, entry.ino);
    }
    match letter_behind(walk, entry) {
        Ok(letter) => letter,
        Err(Errno::ENOENT | Errno::ENOTDIR) => 'N',
        Err(Errno::ELOOP) => 'L',
        Err(_) => '?',
    }
}

/// Bytes on the disk for each one of the file, in six digits.
fn sparseness(size: u64, blocks: u64) -> String {
    if size == 0 {
        return if blocks == 0 { "1" } else { "inf" }.to_owned();
    }
    let ratio = (blocks * 512) as f64 / size as f64;
    let whole = if ratio < 1.0 { 0 } else { ratio.log10().floor() as i32 };
    let decimals = usize::try_from(5 - whole).unwrap_or(0);
    let text = format!("{ratio:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::{Format, sparseness};

    #[test]
    fn what_is_no_directive_is_told_and_stays() {
        let mut warnings = Vec::new();
        assert!(Format::read("a%5z\\q%T", &mut warnings).is_ok());
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert!(Format::read("%", &mut warnings).is_err() && Format::read("%{", &mut warnings).is_err());
        assert_eq!([sparseness(2, 8), sparseness(3, 8), sparseness(0, 0)], ["2048", "1365.33", "1"]);
    }
}
