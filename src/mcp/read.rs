//! `file_read`: lines of a text file, page by page. Pages put together are the file, byte
//! for byte: with its line ends, without a line end at its end, with its byte order mark.

use std::fmt::Write;

use bytes::Bytes;
use serde_json::{Value, json};

use super::bounded;
use super::files::path_field;
use super::reply::Done;
use crate::fs::{Errno, Node, NodeBody};
use crate::http::HttpState;
use crate::http::error::{ApiError, ApiResult};
use crate::http::extract::Target;
use crate::http::json::Fields;
use crate::session::{ReadView, SessionError};

/// Budget of a page, bytes on the wire.
const PAGE_BYTES: usize = 48 << 10;
const LINES: i64 = 2000;
const MOST_LINES: i64 = 10_000;
/// Bytes that are searched for line ends at once.
const PIECE: u64 = 1 << 20;

/// A place in a file: line and byte within it, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    line: u64,
    column: u64,
}

/// What of a file fits on a page.
#[derive(Debug, PartialEq, Eq)]
struct Page {
    /// Bytes of it.
    length: usize,
    /// Where the next one begins, if the page ends before the text given.
    next: Option<Place>,
}

/// `file_read`.
pub async fn file(state: &HttpState, target: Target, mut fields: Fields) -> ApiResult<Done> {
    let path = path_field(&mut fields)?;
    let number = |fields: &mut Fields, name, most, default| {
        fields.integer(name, 1..=most).map(|n| n.unwrap_or(default) as u64)
    };
    let from = Place {
        line: number(&mut fields, "offset", i64::MAX, 1)?,
        column: number(&mut fields, "column", i64::MAX, 1)?,
    };
    let lines = number(&mut fields, "limit", MOST_LINES, LINES)?;
    let view = state.service.read(&target.caller, target.sandbox).await?;
    let node = view.tree.resolve(&path, true).map_err(|errno| ApiError::fs(errno, &path))?.1.clone();
    let NodeBody::File { size, .. } = node.body else { return Err(ApiError::fs(Errno::EISDIR, &path)) };
    let start = find(&view, &node, size, from).await?;
    // A character takes no less on the wire than in the file, so this is more than fits, also
    // without one that is cut at its end: the page ends where the text does at the file's end only.
    let wanted = (size - start).min(PAGE_BYTES as u64 + 4);
    let data = whole(&view, &node, start, wanted).await?;
    let ends_here = start + wanted == size;
    let text = text(&data, ends_here, start == size, &path)?;
    let page = page(text, from, lines);
    let last = from.line + text[..page.length].trim_end_matches('\n').matches('\n').count() as u64;
    let content = &text[..page.length];
    let mut data = json!({
        "path": path,
        "content": content,
        "startLine": from.line,
        "endLine": last,
        "size": size,
        "version": view.version,
    });
    Ok(Done::new(shown(content, from, last, page.next, &mut data), data))
}

/// The text for the model: the lines as they are, and how to go on.
fn shown(content: &str, from: Place, last: u64, next: Option<Place>, data: &mut Value) -> String {
    let Some(Place { line, column }) = next else { return content.to_owned() };
    data["nextOffset"] = json!(line);
    let mut place = format!("offset {line}");
    if column > 1 {
        data["nextColumn"] = json!(column);
        let _ = write!(place, ", column {column}");
    }
    let gap = if content.ends_with('\n') { "" } else { "\n" };
    format!("{content}{gap}[lines {} to {last}; the file goes on at {place}]", from.line)
}

/// The byte where a place is.
async fn find(view: &ReadView, node: &Node, size: u64, place: Place) -> ApiResult<u64> {
    let (mut at, mut line) = (0, 1);
    // The last byte, to tell whether a line begins at the end.
    let mut last = None;
    while line < place.line && at < size {
        let piece = whole(view, node, at, PIECE.min(size - at)).await?;
        last = piece.last().copied().or(last);
        let wanted = (place.line - line - 1) as usize;
        let ends = || piece.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        if let Some((end, _)) = ends().nth(wanted) {
            (at, line) = (at + end as u64 + 1, place.line);
        } else {
            (at, line) = (at + piece.len() as u64, line + ends().count() as u64);
        }
    }
    if line < place.line || (at == size && line > 1) {
        let lines = if last == Some(b'\n') { line - 1 } else { line };
        return Err(ApiError::invalid(format!("offset: the file has {lines} lines, got {}", place.line)));
    }
    let start = at.saturating_add(place.column - 1);
    if start > at {
        let outside = || ApiError::invalid(format!("column: line {line} ends before byte {}", place.column));
        if start >= size {
            return Err(outside());
        }
        while at < start {
            let piece = whole(view, node, at, PIECE.min(start - at)).await?;
            if piece.contains(&b'\n') {
                return Err(outside());
            }
            at += piece.len() as u64;
        }
        if whole(view, node, start, 1).await?[0] & 0xc0 == 0x80 {
            return Err(ApiError::invalid(format!("column: byte {} is inside a character", place.column)));
        }
    }
    Ok(start)
}

async fn whole(view: &ReadView, node: &Node, at: u64, len: u64) -> ApiResult<Bytes> {
    let data = view.content(node, at, len).await?;
    if data.len() as u64 == len {
        return Ok(data);
    }
    Err(SessionError::Internal(format!("a content ends at {}, before its size", at + data.len() as u64))
        .into())
}

/// The bytes as text, without a character that was cut at the end.
fn text<'a>(data: &'a [u8], ends_here: bool, empty: bool, path: &str) -> ApiResult<&'a str> {
    let binary = || {
        ApiError::invalid(format!(
            "{path}: not a UTF-8 text file; look at it in bash_exec, with xxd or base64, or get it with fs_export"
        ))
    };
    let text = match std::str::from_utf8(data) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && !ends_here => {
            std::str::from_utf8(&data[..error.valid_up_to()]).map_err(|_| binary())?
        }
        Err(_) => return Err(binary()),
    };
    if text.contains('\0') || (text.is_empty() && !empty) { Err(binary()) } else { Ok(text) }
}

/// As much of the text as fits: whole lines, or the beginning of a line too long for a
/// page of its own.
fn page(text: &str, from: Place, lines: u64) -> Page {
    let fits = bounded::head(text, PAGE_BYTES);
    let ends = text[..fits].match_indices('\n').map(|(at, _)| at + 1);
    if let Some(length) = ends.clone().nth(lines as usize - 1) {
        let next = (length < text.len()).then_some(Place { line: from.line + lines, column: 1 });
        return Page { length, next };
    }
    if fits == text.len() {
        return Page { length: fits, next: None };
    }
    match ends.enumerate().last() {
        Some((n, length)) => Page { length, next: Some(Place { line: from.line + n as u64 + 1, column: 1 }) },
        None => {
            Page { length: fits, next: Some(Place { line: from.line, column: from.column + fits as u64 }) }
        }
    }
}
