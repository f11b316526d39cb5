//! Bracket expressions of POSIX, in a UTF-8 locale of GNU's.

use super::symbols::Sign;

const UNMATCHED: &str = "Unmatched [, [^, [:, [., or [=";

/// Appends the set that begins behind the `[` at `at`; returns where it ends.
pub(super) fn translate(signs: &[Sign], at: usize, out: &mut String) -> Result<usize, String> {
    let mut at = at;
    let begin = at;
    out.push('[');
    if signs.get(at) == Some(&Sign::Char('^')) {
        out.push('^');
        at += 1;
    }
    let first = at;
    if at == signs.len() {
        return Err("Invalid regular expression".to_owned());
    }
    let mut plain = true;
    loop {
        let sign = *signs.get(at).ok_or(UNMATCHED)?;
        if sign == Sign::Char(']') && at > first {
            break;
        }
        if let Some((kind, name, after)) = named(signs, at)? {
            plain = false;
            if kind == ':' {
                out.push_str(class(&name).ok_or("Invalid character class name")?);
                at = after;
                continue;
            }
        }
        let (low, after) = end(signs, at)?;
        let ranges = signs.get(after) == Some(&Sign::Char('-'))
            && signs.get(after + 1).is_some_and(|&sign| sign != Sign::Char(']'));
        if ranges {
            plain = false;
            let (high, past) = end(signs, after + 1)?;
            if low > high {
                return Err("Invalid range end".to_owned());
            }
            push(low, out);
            out.push('-');
            push(high, out);
            at = past;
        } else {
            push(low, out);
            at = after;
        }
    }
    let colon = |at: usize| signs.get(at) == Some(&Sign::Char(':'));
    if plain && at - begin > 2 && colon(begin) && colon(at - 1) {
        return Err("character class syntax is [[:space:]], not [:space:]".to_owned());
    }
    out.push(']');
    Ok(at + 1)
}

fn push(char: char, out: &mut String) {
    if regex_syntax::is_meta_character(char) {
        out.push('\\');
    }
    out.push(char);
}

/// `[:name:]`, `[.name.]` or `[=name=]` at `at`: which, the name, where it ends.
fn named(signs: &[Sign], at: usize) -> Result<Option<(char, String, usize)>, String> {
    if signs.get(at) != Some(&Sign::Char('[')) {
        return Ok(None);
    }
    let Some(&Sign::Char(kind @ (':' | '.' | '='))) = signs.get(at + 1) else { return Ok(None) };
    let rest = signs.get(at + 2..).unwrap_or_default();
    let length =
        rest.windows(2).position(|pair| pair == [Sign::Char(kind), Sign::Char(']')]).ok_or(UNMATCHED)?;
    let name = rest[..length]
        .iter()
        .map(|sign| match sign {
            Sign::Char(char) => *char,
            Sign::Byte(_) => char::REPLACEMENT_CHARACTER,
        })
        .collect();
    Ok(Some((kind, name, at + 2 + length + 2)))
}

/// A character, or the end of a range: a sign, or what `[.a.]` and `[=a=]` stand for.
fn end(signs: &[Sign], at: usize) -> Result<(char, usize), String> {
    if let Some((kind, name, after)) = named(signs, at)? {
        let mut chars = name.chars();
        return match (kind, chars.next(), chars.next()) {
            (':', ..) => Err("Invalid range end".to_owned()),
            (_, Some(char), None) => Ok((char, after)),
            _ => Err("Invalid collation character".to_owned()),
        };
    }
    match signs.get(at) {
        Some(&Sign::Char(char)) => Ok((char, at + 1)),
        Some(Sign::Byte(_)) => Err("Invalid character in brackets".to_owned()),
        None => Err(UNMATCHED.to_owned()),
    }
}

/// What a class holds, as it stands in brackets. Digits of other scripts are letters, as in
/// glibc's locales.
pub(super) fn class(name: &str) -> Option<&'static str> {
    Some(match name {
        "alpha" => r"\p{Alphabetic}[\p{Nd}--0-9]",
        "digit" => "0-9",
        "alnum" => r"\p{Alphabetic}\p{Nd}",
        "upper" => r"\p{Uppercase}",
        "lower" => r"\p{Lowercase}",
        "space" => SPACE,
        "blank" => r"\t \x{1680}\x{2000}-\x{2006}\x{2008}-\x{200A}\x{205F}\x{3000}",
        "punct" => r"!-/:-@\[-`{-~\p{P}\p{S}\p{M}",
        "print" => r"[\P{C}--[\p{Zl}\p{Zp}]]",
        "graph" => r"[\P{C}--[\p{Z}]]",
        "cntrl" => r"\p{Cc}\p{Zl}\p{Zp}",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

/// White space, without the spaces that do not break.
pub(super) const SPACE: &str =
    r"\t-\r \x{1680}\x{2000}-\x{2006}\x{2008}-\x{200A}\x{2028}\x{2029}\x{205F}\x{3000}";
/// Letters, digits, the underscore.
pub(super) const WORD: &str = r"\p{Alphabetic}\p{Nd}_";
