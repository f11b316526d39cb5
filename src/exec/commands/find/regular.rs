//! The regular expressions of `-regex`: they match whole paths.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

use crate::exec::commands::basic_regex::{self, bracket};

/// Largest automaton of a pattern, in bytes.
const SIZE: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec::commands) enum Syntax {
    /// As Emacs has it: groups as in basic ones, `+` and `?` as in extended ones. A dot is no
    /// new line.
    Emacs,
    /// The same, but a dot is any sign, as in all others.
    Findutils,
    Basic,
    Extended,
}

/// The names of `-regextype`, in the order in which GNU tells them.
pub(super) const NAMES: &[(&str, Syntax)] = &[
    ("findutils-default", Syntax::Findutils),
    ("ed", Syntax::Basic),
    ("emacs", Syntax::Emacs),
    ("gnu-awk", Syntax::Extended),
    ("grep", Syntax::Basic),
    ("posix-awk", Syntax::Extended),
    ("awk", Syntax::Extended),
    ("posix-basic", Syntax::Basic),
    ("posix-egrep", Syntax::Extended),
    ("egrep", Syntax::Extended),
    ("posix-extended", Syntax::Extended),
    ("posix-minimal-basic", Syntax::Basic),
    ("sed", Syntax::Basic),
];

/// What a pattern is in the words of crate `regex`.
pub(in crate::exec::commands) fn translated(pattern: &str, syntax: Syntax) -> Result<String, String> {
    match syntax {
        Syntax::Basic => basic_regex::translated(pattern),
        syntax => other(pattern, syntax == Syntax::Extended),
    }
}

/// Compiles one. `Err` says what is wrong with it.
pub(super) fn compile(pattern: &str, syntax: Syntax, fold: bool) -> Result<Regex, String> {
    let inner = translated(pattern, syntax)?;
    RegexBuilder::new(&format!(r"\A(?:{inner})\z"))
        .case_insensitive(fold)
        .dot_matches_new_line(syntax != Syntax::Emacs)
        .size_limit(SIZE)
        .build()
        .map_err(|_| "Invalid regular expression".to_owned())
}

fn other(pattern: &str, extended: bool) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    let mut open = 0;
    // Whether a sign that repeats would have nothing to repeat.
    let mut begins = true;
    while let Some(char) = chars.next() {
        let began = std::mem::take(&mut begins);
        let (escaped, char) =
            if char == '\\' { (true, chars.next().ok_or("Trailing backslash")?) } else { (false, char) };
        match char {
            '(' if escaped != extended => {
                open += 1;
                begins = true;
                out.push('(');
            }
            ')' if escaped != extended && (open > 0 || !extended) => {
                if open == 0 {
                    return Err("Unmatched ) or \\)".to_owned());
                }
                open -= 1;
                out.push(')');
            }
            '|' if escaped != extended => {
                begins = true;
                out.push('|');
            }
            '*' | '+' | '?' if !escaped && began && extended => {
                return Err("Invalid preceding regular expression".to_owned());
            }
            '*' | '+' | '?' if !escaped && !began => out.push(char),
            '{' if !escaped && extended && !began => match interval(&mut chars) {
                Some(interval) => out.push_str(&interval),
                None => out.push_str(r"\{"),
            },
            '[' if !escaped => bracket(&mut chars, &mut out)?,
            '.' if !escaped => out.push('.'),
            '^' if !escaped && (extended || began) => {
                begins = true;
                out.push('^');
            }
            '$' if !escaped => {
                let rest: String = chars.clone().take(2).collect();
                let ends = extended || rest.is_empty() || rest == r"\)" || rest == r"\|";
                out.push_str(if ends { "$" } else { r"\$" });
            }
            '<' if escaped => out.push_str(r"\b{start}"),
            '>' if escaped => out.push_str(r"\b{end}"),
            '`' if escaped => out.push_str(r"\A"),
            '\'' if escaped => out.push_str(r"\z"),
            'w' | 'W' | 's' | 'S' | 'b' | 'B' if escaped => out.extend(['\\', char]),
            '1'..='9' if escaped => return Err("Invalid back reference".to_owned()),
            char => out.push_str(&regex::escape(char.encode_utf8(&mut [0; 4]))),
        }
    }
    if open > 0 { Err("Unmatched ( or \\(".to_owned()) } else { Ok(out) }
}

/// `{2,3}` behind its bracket; `None`: the bracket stands for itself.
fn interval(chars: &mut Peekable<Chars<'_>>) -> Option<String> {
    let rest: String = chars.clone().take_while(|char| *char != '}').collect();
    let (low, high) = rest.split_once(',').unwrap_or((&rest, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let closed = chars.clone().nth(rest.chars().count()) == Some('}');
    if !closed || rest.is_empty() || !digits(low) || !digits(high) {
        return None;
    }
    let interval = if low.is_empty() { format!("{{0,{high}}}") } else { format!("{{{rest}}}") };
    chars.nth(rest.chars().count());
    Some(interval)
}

#[cfg(test)]
mod tests {
    use super::{Syntax, compile};

    #[test]
    fn syntaxes_differ_in_what_is_special() {
        let found = |pattern, syntax, text: &str| compile(pattern, syntax, false).unwrap().is_match(text);
        assert!(found(r".*\(a\|b\)+", Syntax::Findutils, "x\nab") && !found("a", Syntax::Emacs, "ab"));
        assert!(!found("a.b", Syntax::Emacs, "a\nb") && found("a.b", Syntax::Basic, "a\nb"));
        assert!(found("a{2}", Syntax::Emacs, "a{2}") && found("a{2}", Syntax::Extended, "aa"));
        assert!(found("(a|b)?c$", Syntax::Extended, "c") && found("a{,2}", Syntax::Extended, "aa"));
        assert!(found(r"a\{2\}", Syntax::Basic, "aa") && found("a+", Syntax::Basic, "a+"));
        assert!(found("+a", Syntax::Emacs, "+a") && found(r"[\]+", Syntax::Emacs, "\\\\"));
        assert!(found("a{x", Syntax::Extended, "a{x") && found(r"a\$b$", Syntax::Emacs, "a$b"));
        for wrong in ["(a", "*a", "[a", r"(a)\1", "a{9999999}"] {
            assert!(compile(wrong, Syntax::Extended, false).is_err(), "{wrong}");
        }
        assert!(compile("AB", Syntax::Emacs, true).unwrap().is_match("ab"));
    }
}
