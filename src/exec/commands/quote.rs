//! Names in messages, quoted as coreutils and diffutils quote them in a UTF-8 locale.

use std::fmt::Write as _;

/// As a word for the shell, always in quotes: `'a b'`, `"it's"`, `'a'$'\n''b'`.
pub(super) fn always(name: &str) -> String {
    if name.chars().any(char::is_control) {
        return escaped(name);
    }
    if !name.contains('\'') {
        return format!("'{name}'");
    }
    if name.contains(['"', '$', '`', '\\', '!']) {
        format!("'{}'", name.replace('\'', r"'\''"))
    } else {
        format!("\"{name}\"")
    }
}

/// As [`always`], but bare when the shell would take it as it is.
pub(super) fn when_needed(name: &str) -> String {
    let special = |c: char| c.is_control() || " \t!\"$&'()*;<=>?[\\^`|".contains(c);
    if name.is_empty() || name.contains(special) || name.starts_with(['#', '~']) {
        always(name)
    } else {
        name.to_owned()
    }
}

/// Control characters go into pieces of `$'…'`.
fn escaped(name: &str) -> String {
    let mut out = String::from("'");
    let mut inside = false;
    for c in name.chars() {
        if c.is_control() != inside {
            out.push_str(if inside { "''" } else { "'$'" });
            inside = !inside;
        }
        if inside {
            let short = match c {
                '\n' => 'n',
                '\t' => 't',
                '\r' => 'r',
                '\u{7}' => 'a',
                '\u{8}' => 'b',
                '\u{b}' => 'v',
                '\u{c}' => 'f',
                _ => {
                    for byte in c.to_string().bytes() {
                        let _ = write!(out, "\\{byte:03o}");
                    }
                    continue;
                }
            };
            out.push('\\');
            out.push(short);
        } else if c == '\'' {
            out.push_str(r"'\''");
        } else {
            out.push(c);
        }
    }
    out.push('\'');
    out
}

/// In the typographic quotes that some messages have instead.
pub(super) fn curly(text: &str) -> String {
    format!("\u{2018}{text}\u{2019}")
}

/// As [`curly`], with escapes for what would break the line or end the quotes.
pub(super) fn locale(name: &str) -> String {
    if !name.contains(|c: char| c.is_control() || matches!(c, '\\' | '\u{2019}')) {
        return curly(name);
    }
    let mut out = String::new();
    for c in name.chars() {
        match c {
            '\u{2019}' => out.push_str("\\\u{2019}"),
            '"' => out.push('"'),
            c => {
                let text = c_quoted(c.encode_utf8(&mut [0; 4]), c.is_control());
                out.push_str(&text[1..text.len() - 1]);
            }
        }
    }
    curly(&out)
}

/// A word as the shell takes it whatever it holds.
pub(super) fn shell_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// As a string of C, always in quotes; a space does not need any.
pub(super) fn double(name: &str) -> String {
    let quoted = c_string(name);
    if quoted.starts_with('"') { quoted } else { format!("\"{quoted}\"") }
}

/// As a string of C, if it holds a space or what must be escaped there: the names in
/// headers of diff.
pub(super) fn c_string(name: &str) -> String {
    if name.contains(|c: char| c == ' ' || c == '"' || c == '\\' || c.is_ascii_control()) {
        c_quoted(name, false)
    } else {
        name.to_owned()
    }
}

/// In quotes as a string of C. With `wide` the bytes of characters beyond ASCII are escaped, too.
pub(super) fn c_quoted(text: &str, wide: bool) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_ascii_control() || (wide && !c.is_ascii()) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
