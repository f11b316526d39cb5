//! Fields of lines, and the lines that are made of them.

use std::borrow::Cow;

use super::order::{Column, Order};
use crate::exec::commands::input::is_blank;

pub(super) type Line<'a> = &'a [u8];

impl Order<'_> {
    /// The fields of a line; an empty line has none.
    pub(super) fn split<'l>(&self, line: Line<'l>) -> Vec<&'l [u8]> {
        if line.is_empty() {
            return Vec::new();
        }
        if let Some(separator) = self.separator {
            // A separator that ends lines too parts nothing.
            let parts = |byte: &u8| *byte == separator && separator != b'\n';
            return line.split(parts).collect();
        }
        let start = line.iter().take_while(|&&byte| is_blank(byte)).count();
        let mut fields = Vec::new();
        let mut rest = &line[start..];
        if rest.is_empty() {
            return fields;
        }
        // Blanks at the end begin one more field, an empty one.
        loop {
            let end = rest.iter().take_while(|&&byte| !is_blank(byte)).count();
            fields.push(&rest[..end]);
            if end == rest.len() {
                return fields;
            }
            let blanks = rest[end..].iter().take_while(|&&byte| is_blank(byte)).count();
            rest = &rest[end + blanks..];
        }
    }

    /// What a line of a file is joined by; nothing if it has no such field.
    pub(super) fn key<'l>(&self, file: usize, line: Line<'l>) -> Cow<'l, [u8]> {
        let field = self.split(line).get(self.fields[file]).copied().unwrap_or_default();
        if self.fold { field.to_ascii_uppercase().into() } else { field.into() }
    }
}

/// How a pair is printed.
pub(super) struct Shape<'o> {
    pub(super) order: &'o Order<'o>,
    /// With `-o auto`, how many fields a line of each file has.
    pub(super) counts: Option<[usize; 2]>,
}

impl Shape<'_> {
    /// Appends a pair, of which one may be missing.
    pub(super) fn print(&self, left: Option<Line<'_>>, right: Option<Line<'_>>, out: &mut Vec<u8>) {
        let order = self.order;
        let split = |line: Option<_>| line.map(|line| order.split(line)).unwrap_or_default();
        let lines = [split(left), split(right)];
        let joined = usize::from(left.is_none());
        let field = |file: usize, field: usize| -> &[u8] {
            let text = lines[file].get(field).copied().unwrap_or_default();
            if text.is_empty() { order.filler.as_bytes() } else { text }
        };
        let mut begun = false;
        let mut put = |text: &[u8]| {
            if std::mem::replace(&mut begun, true) {
                out.push(order.separator.unwrap_or(b' '));
            }
            out.extend_from_slice(text);
        };
        if order.columns.is_empty() {
            put(field(joined, order.fields[joined]));
            for file in [0, 1] {
                let count = self.counts.map_or(lines[file].len(), |counts| counts[file]);
                for number in (0..count).filter(|number| *number != order.fields[file]) {
                    put(field(file, number));
                }
            }
        } else {
            for column in &order.columns {
                put(match *column {
                    Column::Joined => field(joined, order.fields[joined]),
                    Column::Field(file, number) => field(file, number),
                });
            }
        }
        out.push(order.end);
    }
}
