//! How lines are printed: what stands before them, colours, the parts that match.

use std::io::Write as _;

use super::engine::Engine;
use super::options::{Binary, Options};

const NAME: &str = "35";
const NUMBER: &str = "32";
const SEPARATOR: &str = "36";
const MATCH: &str = "01;31";

/// Where a line, or a part of one, stands.
pub(super) struct Place<'p> {
    pub(super) name: &'p str,
    pub(super) number: u64,
    pub(super) offset: u64,
    /// Of both numbers.
    pub(super) width: usize,
    /// Or printed for what is around it.
    pub(super) selected: bool,
}

/// Appends `text`, in a colour if there are any.
fn colored(options: &Options<'_>, color: &str, text: &[u8], out: &mut Vec<u8>) {
    if options.color {
        let _ = write!(out, "\x1b[{color}m\x1b[K");
        out.extend_from_slice(text);
        out.extend_from_slice(b"\x1b[m\x1b[K");
    } else {
        out.extend_from_slice(text);
    }
}

fn number(options: &Options<'_>, number: u64, width: usize, out: &mut Vec<u8>) {
    if options.color {
        colored(options, NUMBER, format!("{number:>width$}").as_bytes(), out);
    } else {
        let _ = write!(out, "{number:>width$}");
    }
}

/// What stands between groups of lines.
pub(super) fn separator(options: &Options<'_>, out: &mut Vec<u8>) {
    if let Some(separator) = options.separator {
        colored(options, SEPARATOR, separator.as_bytes(), out);
        out.push(b'\n');
    }
}

/// A name on a line of its own.
pub(super) fn name(options: &Options<'_>, name: &str, out: &mut Vec<u8>) {
    colored(options, NAME, name.as_bytes(), out);
    out.push(if options.null { 0 } else { b'\n' });
}

/// A count, with the name if names are shown.
pub(super) fn count(options: &Options<'_>, name: &str, count: u64, out: &mut Vec<u8>) {
    if options.with_names {
        named(options, name, b":", out);
    }
    let _ = writeln!(out, "{count}");
}

fn named(options: &Options<'_>, name: &str, sign: &[u8], out: &mut Vec<u8>) {
    colored(options, NAME, name.as_bytes(), out);
    if options.null {
        out.push(0);
    } else {
        colored(options, SEPARATOR, sign, out);
    }
}

/// What stands before a text. `false`, and nothing: the text is none.
fn head(options: &Options<'_>, place: &Place<'_>, text: &[u8], out: &mut Vec<u8>) -> bool {
    if options.binary != Binary::Text && std::str::from_utf8(text).is_err() {
        return false;
    }
    let sign = if place.selected { b":" } else { b"-" };
    if options.with_names {
        named(options, place.name, sign, out);
    }
    if options.numbers {
        number(options, place.number, place.width, out);
        colored(options, SEPARATOR, sign, out);
    }
    if options.offsets {
        number(options, place.offset, place.width, out);
        colored(options, SEPARATOR, sign, out);
    }
    if options.tab && (options.with_names || options.numbers || options.offsets) && !text.is_empty() {
        out.push(b'\t');
    }
    true
}

/// Prints a line. `false`: it, or a part of it, is no text and was left out.
pub(super) fn line(
    options: &Options<'_>,
    place: &Place<'_>,
    text: &[u8],
    engine: &mut Engine,
    out: &mut Vec<u8>,
) -> Result<bool, String> {
    // Lines that are context, or selected by -v, cannot match, or all of them do.
    let matching = place.selected != options.invert;
    if !options.only {
        if !head(options, place, text, out) {
            return Ok(false);
        }
        if options.color && matching {
            highlighted(options, text, engine, out)?;
        } else {
            out.extend_from_slice(text);
        }
        out.push(options.end);
        return Ok(true);
    }
    let mut at = 0;
    while matching && at < text.len() {
        let Some((start, end)) = engine.find_in(text, at)? else { break };
        at = end.max(start + 1);
        if start == end {
            continue;
        }
        let part = Place { offset: place.offset + start as u64, ..*place };
        if !head(options, &part, &text[start..end], out) {
            return Ok(false);
        }
        colored(options, MATCH, &text[start..end], out);
        out.push(options.end);
    }
    Ok(true)
}

fn highlighted(
    options: &Options<'_>,
    text: &[u8],
    engine: &mut Engine,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let (mut printed, mut at) = (0, 0);
    while at < text.len() {
        let Some((start, end)) = engine.find_in(text, at)? else { break };
        at = end.max(start + 1);
        if start == end {
            continue;
        }
        out.extend_from_slice(&text[printed..start]);
        colored(options, MATCH, &text[start..end], out);
        printed = end;
    }
    out.extend_from_slice(&text[printed..]);
    Ok(())
}
