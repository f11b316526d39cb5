//! Texts within scripts: of `a`, `i` and `c`, between delimiters, and of `y`.

use super::escapes;
use super::reader::Reader;
use super::script::Table;
use crate::exec::commands::posix_regex::utf8;

/// Reads the lines of `a`, `i` or `c`; `false` if they go on in the next piece.
pub(super) fn read(reader: &mut Reader<'_>, text: &mut Vec<u8>) -> Result<bool, &'static str> {
    while let Some(byte) = reader.next() {
        match byte {
            b'\\' => {
                if let Some((byte, taken)) = escapes::byte(reader.rest())? {
                    text.push(byte);
                    reader.at += taken;
                } else if let Some(next) = reader.next() {
                    text.push(next);
                } else {
                    text.push(b'\n');
                    return Ok(false);
                }
            }
            b'\n' => break,
            other => text.push(other),
        }
    }
    text.push(b'\n');
    Ok(true)
}

/// What stands before the next delimiter, which brackets of a pattern may hold. A backslash before
/// a delimiter goes, all others stay; `\n` of a pattern is a newline.
pub(super) fn delimited(reader: &mut Reader<'_>, delimiter: u8, pattern: bool) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        let byte = reader.next()?;
        if byte == delimiter {
            return Some(out);
        }
        match byte {
            b'\n' => {
                reader.at -= 1;
                return None;
            }
            b'\\' => {
                let next = reader.next()?;
                if next == delimiter && (pattern || next != b'&') {
                    out.push(next);
                } else if next == b'\n' || (next == b'n' && pattern) {
                    // A newline in a replacement has lost its backslash.
                    out.push(b'\n');
                } else {
                    out.extend([b'\\', next]);
                }
            }
            b'[' if pattern => {
                reader.at -= 1;
                let Some(len) = escapes::bracket_end(reader.rest(), 0) else {
                    reader.at += reader.rest().len();
                    return None;
                };
                let bracket = &reader.rest()[..len];
                reader.at += len;
                let mut at = 0;
                while at < bracket.len() {
                    let newline = bracket[at..].starts_with(br"\n");
                    out.push(if newline { b'\n' } else { bracket[at] });
                    at += 1 + usize::from(newline);
                }
            }
            other => out.push(other),
        }
    }
}

/// The characters of `y`.
pub(super) fn table(reader: &mut Reader<'_>) -> Result<Table, String> {
    let sides = reader.next().and_then(|delimiter| {
        Some((delimited(reader, delimiter, false)?, delimited(reader, delimiter, false)?))
    });
    let (from, to) = sides.ok_or_else(|| reader.wrong("unterminated `y' command"))?;
    let (from, to) = match (characters(&from), characters(&to)) {
        (Ok(from), Ok(to)) => (from, to),
        (Err(message), _) | (_, Err(message)) => return Err(reader.wrong(message)),
    };
    if from.len() != to.len() {
        return Err(reader.wrong("strings for `y' command are different lengths"));
    }
    let mut table = Table { bytes: std::array::from_fn(|at| at as u8), others: Vec::new() };
    let mut known = std::collections::HashSet::new();
    for (from, to) in from.into_iter().zip(to) {
        // The first of several counts.
        if !known.insert(from.clone()) {
            continue;
        }
        match (&from[..], &to[..]) {
            (&[from], &[to]) if from.is_ascii() => table.bytes[usize::from(from)] = to,
            _ => table.others.push((from, to)),
        }
    }
    Ok(table)
}

fn characters(text: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
    let (mut plain, mut at) = (Vec::new(), 0);
    let mut starts = Vec::new();
    while at < text.len() {
        starts.push(plain.len());
        if text[at] == b'\\' {
            if let Some((byte, taken)) = escapes::byte(&text[at + 1..])? {
                plain.push(byte);
                at += 1 + taken;
                continue;
            }
            at += 1;
            if text.get(at) == Some(&b'n') {
                plain.push(b'\n');
                at += 1;
                continue;
            }
        }
        let step = utf8::step(&text[at..]).min(text.len() - at);
        plain.extend_from_slice(&text[at..at + step]);
        at += step;
    }
    let ends = starts.iter().skip(1).copied().chain([plain.len()]);
    Ok(starts.iter().zip(ends).map(|(&start, end)| plain[start..end].to_vec()).collect())
}
