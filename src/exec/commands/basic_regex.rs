//! POSIX basic regular expressions, with GNU's additions, in the words of crate `regex`.
//! Without back-references: that crate, which needs linear time only, has none.

use regex::bytes::Regex;

/// Largest automaton of a pattern, in bytes.
const SIZE: usize = 1 << 20;

/// Compiles one. `Err` is a sentence without the pattern.
pub(super) fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, String> {
    let translated = translated(pattern)?;
    regex::bytes::RegexBuilder::new(&translated)
        .case_insensitive(ignore_case)
        .size_limit(SIZE)
        .build()
        .map_err(|_| "Invalid regular expression".to_owned())
}

/// What `pattern` is in the words of crate `regex`.
pub(super) fn translated(pattern: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    // Whether a `*` here would have nothing to repeat.
    let mut begins = true;
    while let Some(char) = chars.next() {
        let began = std::mem::take(&mut begins);
        match char {
            '\\' => match chars.next().ok_or("Trailing backslash")? {
                sign @ ('(' | '|') => {
                    out.push(sign);
                    begins = true;
                }
                sign @ (')' | '{' | '}' | '+' | '?') => out.push(sign),
                '<' => out.push_str(r"\b{start}"),
                '>' => out.push_str(r"\b{end}"),
                '`' => out.push_str(r"\A"),
                '\'' => out.push_str(r"\z"),
                sign @ ('w' | 'W' | 's' | 'S' | 'b' | 'B') => out.extend(['\\', sign]),
                'n' => out.push_str(r"\n"),
                '1'..='9' => return Err("Invalid back reference".to_owned()),
                other => out.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
            },
            '*' if began => out.push_str(r"\*"),
            '^' if began => {
                out.push('^');
                begins = true;
            }
            '^' => out.push_str(r"\^"),
            '$' if chars.peek().is_none() => out.push('$'),
            '$' => out.push_str(r"\$"),
            '[' => bracket(&mut chars, &mut out)?,
            '(' | ')' | '{' | '}' | '|' | '+' | '?' => out.extend(['\\', char]),
            other => out.push(other),
        }
    }
    Ok(out)
}

/// What stands in brackets: a backslash is a character there, `[:class:]` a class.
pub(super) fn bracket(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    out: &mut String,
) -> Result<(), String> {
    out.push('[');
    if chars.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut first = true;
    loop {
        let char = chars.next().ok_or("Unmatched [, [^, [:, [., or [=")?;
        match char {
            ']' if !first => break,
            '[' if chars.peek() == Some(&':') => {
                out.push('[');
                for char in chars.by_ref() {
                    out.push(char);
                    if char == ']' {
                        break;
                    }
                }
            }
            '-' => out.push('-'),
            '[' | ']' | '\\' | '^' | '&' | '~' => out.extend(['\\', char]),
            other => out.push(other),
        }
        first = false;
    }
    out.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn what_is_special_is_so_with_a_backslash() {
        let found = |pattern: &str, text: &str| compile(pattern, false).unwrap().is_match(text.as_bytes());
        assert!(found(r"^a\(b\|c\)\{2\}$", "abc") && !found(r"^a\(b\|c\)\{2\}$", "ab"));
        assert!(found("a+(b)", "a+(b)") && found("*x", "*x") && found(r"\(*x\)", "*x"));
        assert!(found("[]a]", "]") && found(r"[\]", "\\") && found("[[:digit:]x-z]", "7"));
        assert!(found("a^b$c", "a^b$c") && found(r"\<b", "a b") && !found(r"\<b", "ab"));
        for wrong in ["[a", r"\(a\)\1", r"a\{9999999\}"] {
            assert!(compile(wrong, false).is_err(), "{wrong}");
        }
        assert!(compile("ab", true).unwrap().is_match(b"AB"));
    }
}
