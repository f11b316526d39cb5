//! Escapes that stand for one byte: `\t`, `\x41`, `\o101`, `\d065`, `\cA`.

/// What an escape stands for, and how many bytes it takes, its backslash left out. `None` if it is
/// none; `Err` what is wrong.
pub(super) fn byte(after: &[u8]) -> Result<Option<(u8, usize)>, &'static str> {
    let Some(&sign) = after.first() else { return Ok(None) };
    Ok(match sign {
        b'a' => Some((0x07, 1)),
        b'f' => Some((0x0c, 1)),
        b'r' => Some((b'\r', 1)),
        b't' => Some((b'\t', 1)),
        b'v' => Some((0x0b, 1)),
        b'c' => match (after.get(1), after.get(2)) {
            (Some(b'\\'), Some(b'\\')) => Some((b'\\' ^ 0x40, 3)),
            (Some(b'\\'), _) => return Err("recursive escaping after \\c not allowed"),
            (Some(byte), _) => Some((byte.to_ascii_uppercase() ^ 0x40, 2)),
            (None, _) => None,
        },
        b'd' => number(&after[1..], 10, 3),
        b'o' => number(&after[1..], 8, 3),
        b'x' => number(&after[1..], 16, 2),
        _ => None,
    })
}

fn number(digits: &[u8], base: u32, most: usize) -> Option<(u8, usize)> {
    let digits = digits.iter().take(most).map_while(|&byte| char::from(byte).to_digit(base));
    let (value, count) = digits.fold((0, 0), |(value, count), digit| (value * base + digit, count + 1));
    // What does not fit is cut, as in C.
    (count > 0).then_some((value as u8, count + 1))
}

/// A pattern with its escapes resolved; a special sign that comes of one is a plain character.
pub(super) fn in_pattern(pattern: &[u8], extended: bool) -> Result<Vec<u8>, &'static str> {
    let (mut out, mut at) = (Vec::with_capacity(pattern.len()), 0);
    while at < pattern.len() {
        match pattern[at] {
            b'[' => {
                let end = bracket_end(pattern, at).unwrap_or(pattern.len());
                in_bracket(&pattern[at..end], &mut out)?;
                at = end;
            }
            b'\\' => match byte(&pattern[at + 1..])? {
                Some((byte, taken)) => {
                    let special = b"$*.[\\]^".contains(&byte) || (extended && b"+?(){}|".contains(&byte));
                    if special {
                        out.push(b'\\');
                    }
                    out.push(byte);
                    at += 1 + taken;
                }
                None => {
                    let end = pattern.len().min(at + 2);
                    out.extend_from_slice(&pattern[at..end]);
                    at = end;
                }
            },
            other => {
                out.push(other);
                at += 1;
            }
        }
    }
    Ok(out)
}

fn in_bracket(text: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'\\'
            && let Some((byte, taken)) = byte(&text[at + 1..])?
        {
            out.push(byte);
            at += 1 + taken;
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    Ok(())
}

/// Where a bracket that begins at `at` ends, if it does.
pub(super) fn bracket_end(text: &[u8], mut at: usize) -> Option<usize> {
    at += 1;
    at += usize::from(text.get(at) == Some(&b'^'));
    let first = at;
    loop {
        match text.get(at)? {
            b']' if at > first => return Some(at + 1),
            b'[' => match text.get(at + 1) {
                Some(sign @ (b':' | b'.' | b'=')) => {
                    let rest = text.get(at + 2..)?;
                    match rest.windows(2).position(|pair| pair == [*sign, b']']) {
                        Some(len) => at += len + 4,
                        None => at += 1,
                    }
                }
                _ => at += 1,
            },
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_pattern;

    #[test]
    fn what_an_escape_makes_is_not_special() {
        let made = |pattern: &str, extended| {
            String::from_utf8(in_pattern(pattern.as_bytes(), extended).unwrap()).unwrap()
        };
        assert_eq!(made(r"\x5e\o101\d066\.\n", false), r"\^AB\.\n");
        assert_eq!(made(r"\x2b", false), "+");
        assert_eq!(made(r"\x2b", true), r"\+");
        assert_eq!(made(r"[\t\]\x5d", false), "[\t\\]\\]");
        assert_eq!(made(r"\x\d\cA", false), "\\x\\d\x01");
        assert!(in_pattern(br"\c\d", false).is_err());
    }
}
