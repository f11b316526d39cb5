//! `--transform`: names of members, changed as `s` of sed(1) changes lines.

use crate::exec::commands::posix_regex::{GivenUp, Options, Regex, Spans, Syntax, utf8};

/// What a name is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    File,
    /// The target of a symbolic link, of a hard link.
    Symlink,
    Link,
}

/// One `s/…/…/`.
pub(super) struct Transform {
    regex: Regex,
    parts: Vec<Part>,
    all: bool,
    /// From which match on.
    from: usize,
    of: [bool; 3],
}

enum Part {
    Text(String),
    Group(usize),
    Case(Case),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    /// `\L`, `\U`, `\E`
    Lower,
    Upper,
    Plain,
    /// `\l`, `\u`: of the next sign.
    NextLower,
    NextUpper,
}

/// Reads expressions, parted by semicolons. `Err` is GNU's message.
pub(super) fn read(text: &str) -> Result<Vec<Transform>, String> {
    let invalid = || "Invalid transform expression".to_owned();
    let mut transforms = Vec::new();
    let mut of = [true; 3];
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(flags) = rest.strip_prefix("flags=") {
            let end = flags.find(';').unwrap_or(flags.len());
            of = [false; 3];
            for flag in flags[..end].chars() {
                scope(flag, &mut of).ok_or_else(|| unknown(flag))?;
            }
            rest = flags[end..].trim_start_matches(';');
            continue;
        }
        let body = rest.strip_prefix('s').ok_or_else(invalid)?;
        let delimiter = body.chars().next().ok_or_else(invalid)?;
        let body = &body[delimiter.len_utf8()..];
        let (pattern, body) = until(body, delimiter).ok_or_else(invalid)?;
        let (replacement, body) = until(body, delimiter).ok_or_else(invalid)?;
        let end = body.find(';').unwrap_or(body.len());
        let (flags, behind) = body.split_at(end);
        rest = behind.trim_start_matches(';');
        let (mut all, mut fold, mut extended, mut from) = (false, false, false, 0usize);
        let mut own = of;
        for flag in flags.chars() {
            match flag {
                'g' => all = true,
                'i' => fold = true,
                'x' => extended = true,
                digit if digit.is_ascii_digit() => {
                    let digit = digit.to_digit(10).unwrap_or(0) as usize;
                    from = from.saturating_mul(10).saturating_add(digit);
                }
                flag => scope(flag, &mut own).ok_or_else(|| unknown(flag))?,
            }
        }
        let syntax = if extended { Syntax::EXTENDED } else { Syntax::BASIC };
        let wrong = |what: &str| format!("Invalid transform expression: {what}");
        let options = Options { ignore_case: fold, ..Options::new(syntax) };
        let regex = Regex::new(pattern.as_bytes(), &options).map_err(wrong)?;
        let parts = parts(&replacement, regex.groups() + 1)
            .ok_or_else(|| wrong("Invalid reference in the replacement"))?;
        transforms.push(Transform { regex, parts, all, from: from.max(1), of: own });
    }
    if transforms.is_empty() { Err(invalid()) } else { Ok(transforms) }
}

fn unknown(flag: char) -> String {
    format!("Unknown flag in transform expression: {flag}")
}

/// A flag that says which names are meant.
fn scope(flag: char, of: &mut [bool; 3]) -> Option<()> {
    let at = match flag.to_ascii_lowercase() {
        'r' => Of::File,
        's' => Of::Symlink,
        'h' => Of::Link,
        _ => return None,
    };
    of[at as usize] = flag.is_ascii_lowercase();
    Some(())
}

/// The text up to a delimiter, which a backslash makes a sign of the text, and what follows.
fn until(text: &str, delimiter: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            char if char == delimiter => return Some((out, chars.as_str())),
            '\\' => {
                let next = chars.next()?;
                if next != delimiter {
                    out.push('\\');
                }
                out.push(next);
            }
            char => out.push(char),
        }
    }
    None
}

fn parts(replacement: &str, groups: usize) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut chars = replacement.chars();
    while let Some(char) = chars.next() {
        let part = match char {
            '&' => Part::Group(0),
            '\\' => match chars.next()? {
                digit @ '0'..='9' => {
                    let group = digit.to_digit(10)? as usize;
                    if group >= groups {
                        return None;
                    }
                    Part::Group(group)
                }
                'L' => Part::Case(Case::Lower),
                'U' => Part::Case(Case::Upper),
                'E' => Part::Case(Case::Plain),
                'l' => Part::Case(Case::NextLower),
                'u' => Part::Case(Case::NextUpper),
                'n' => {
                    text.push('\n');
                    continue;
                }
                't' => {
                    text.push('\t');
                    continue;
                }
                other => {
                    text.push(other);
                    continue;
                }
            },
            char => {
                text.push(char);
                continue;
            }
        };
        parts.push(Part::Text(std::mem::take(&mut text)));
        parts.push(part);
    }
    parts.push(Part::Text(text));
    Some(parts)
}

/// A name after all transforms. `Err` tells why there is none.
pub(super) fn apply(transforms: &[Transform], name: &str, of: Of) -> Result<String, String> {
    let mut name = name.to_owned();
    for transform in transforms.iter().filter(|transform| transform.of[of as usize]) {
        name = transform
            .apply(&name)
            .map_err(|GivenUp| "A transform expression takes too many steps on this name".to_owned())?;
    }
    Ok(name)
}

impl Transform {
    fn apply(&self, name: &str) -> Result<String, GivenUp> {
        let mut out = String::new();
        let (mut from, mut behind, mut count) = (0, 0, 0);
        let mut spans: Spans = vec![None; 2 * (self.regex.groups() + 1)];
        while from <= name.len() && self.regex.find(name.as_bytes(), from, &mut spans)? {
            let found = |group: usize| Some((spans[2 * group]?.get(), spans[2 * group + 1]?.get()));
            let Some((start, end)) = found(0) else { break };
            from = if start == end { end + utf8::step(&name.as_bytes()[end..]) } else { end };
            // An empty match right behind another is none.
            if start == end && start == behind && count > 0 {
                continue;
            }
            count += 1;
            if count < self.from {
                continue;
            }
            out.push_str(&name[behind..start]);
            behind = end;
            let (mut case, mut next) = (Case::Plain, Case::Plain);
            for part in &self.parts {
                let text = match part {
                    Part::Text(text) => text.as_str(),
                    Part::Group(group) => found(*group).map_or("", |(start, end)| &name[start..end]),
                    Part::Case(change @ (Case::NextLower | Case::NextUpper)) => {
                        next = *change;
                        continue;
                    }
                    Part::Case(change) => {
                        case = *change;
                        continue;
                    }
                };
                for char in text.chars() {
                    match (std::mem::replace(&mut next, Case::Plain), case) {
                        (Case::NextLower, _) | (Case::Plain, Case::Lower) => out.extend(char.to_lowercase()),
                        (Case::NextUpper, _) | (Case::Plain, Case::Upper) => out.extend(char.to_uppercase()),
                        _ => out.push(char),
                    }
                }
            }
            if !self.all {
                break;
            }
        }
        out.push_str(&name[behind..]);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{Of, apply, read};

    #[test]
    fn names_change_as_sed_changes_lines() {
        for (text, name, made) in [
            ("s,^p,q,", "p/p", "q/p"),
            ("s/p/&&\\U\\0x/gi", "p/b", "ppPX/b"),
            ("s/./&-/2", "p/b", "p/-b"),
            ("s/(p)/\\1\\1/x", "p/b", "pp/b"),
            ("s/p/z/;s/b/c/", "p/b", "z/c"),
            ("s/a\\/b/x/", "a/b", "x"),
            ("s|.*|\\u&|", "abc", "Abc"),
            ("s/a\\|ab/x/", "ab", "x"),
            ("s/\\(.\\)\\1/<\\1>/g", "aabxx", "<a>b<x>"),
            ("s/a*/-/g", "baä", "-b-ä-"),
        ] {
            assert_eq!(apply(&read(text).unwrap(), name, Of::File).unwrap(), made, "{text}");
        }
        assert_eq!(apply(&read("s/p/q/S").unwrap(), "p", Of::Symlink).unwrap(), "p");
        assert_eq!(apply(&read("flags=r;s/p/q/").unwrap(), "p", Of::Link).unwrap(), "p");
        for wrong in ["s", "s/a", "s/a/b", "x/a/b/", "s/a/b/k", "s/\\(/b/", "s/a/\\1/", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
