//! Lists of `cut`: `1,3-5,7-`.

use crate::exec::commands::quote;

/// First and last of each part, both counted from 1, in order. They do not overlap.
pub(super) type List = Vec<(usize, usize)>;

/// Reads a list. `Err` is a message.
pub(super) fn ranges(text: &str, fields: bool, complement: bool) -> Result<List, String> {
    let mut list = List::new();
    for part in text.split([',', ' ', '\t']) {
        list.push(range(part, fields)?);
    }
    list.sort_unstable();
    let mut joined: List = Vec::new();
    for (first, last) in list {
        match joined.last_mut() {
            Some((_, end)) if first <= *end => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    Ok(if complement { others(&joined) } else { joined })
}

fn range(part: &str, fields: bool) -> Result<(usize, usize), String> {
    let from_one = || {
        let what = if fields { "fields are" } else { "byte/character positions are" };
        format!("{what} numbered from 1")
    };
    if part == "-" {
        return Err("invalid range with no endpoint: -".to_owned());
    }
    let (first, last) = match part.split_once('-') {
        None => {
            let only = number(part, fields)?;
            (only, only)
        }
        Some((_, last)) if last.contains('-') => {
            let what = if fields { "field" } else { "byte or character" };
            return Err(format!("invalid {what} range"));
        }
        Some((first, last)) => (
            if first.is_empty() { Some(1) } else { number(first, fields)? },
            if last.is_empty() { Some(usize::MAX) } else { number(last, fields)? },
        ),
    };
    let (Some(first @ 1..), Some(last)) = (first, last) else { return Err(from_one()) };
    if last < first { Err("invalid decreasing range".to_owned()) } else { Ok((first, last)) }
}

/// A number; `None` of no digits.
fn number(text: &str, fields: bool) -> Result<Option<usize>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits < text.len() {
        let what = if fields { "field value" } else { "byte/character position" };
        return Err(format!("invalid {what} {}", quote::curly(&text[digits..])));
    }
    match text.parse() {
        Ok(usize::MAX) | Err(_) => {
            let what = if fields { "field number" } else { "byte/character offset" };
            Err(format!("{what} {} is too large", quote::curly(text)))
        }
        Ok(number) => Ok(Some(number)),
    }
}

/// What a list leaves out.
fn others(list: &List) -> List {
    let (mut others, mut next) = (List::new(), 1);
    for &(first, last) in list {
        if first > next {
            others.push((next, first - 1));
        }
        next = last.saturating_add(1);
    }
    if next < usize::MAX {
        others.push((next, usize::MAX));
    }
    others
}
