//! The three forms in which changes are written.

use std::ops::Range;

use super::Style;
use super::lines::{Change, Lines};

/// Bytes of a line that a hunk is headed with.
const LONGEST_PART: usize = 80;

/// What is written.
pub(in crate::exec::commands) struct Report<'a> {
    pub(in crate::exec::commands) old: &'a Lines<'a>,
    pub(in crate::exec::commands) new: &'a Lines<'a>,
    pub(in crate::exec::commands) changes: &'a [Change],
    /// Lines of context, in the forms that have it.
    pub(in crate::exec::commands) context: usize,
    /// What stands behind `--- ` and `+++ `.
    pub(in crate::exec::commands) headers: [String; 2],
    /// Whether a hunk names the part of the file that it is in, as git does.
    pub(in crate::exec::commands) parts: bool,
}

/// Changes with the unchanged lines around them.
struct Hunk<'a> {
    changes: &'a [Change],
    old: Range<usize>,
    new: Range<usize>,
}

impl Report<'_> {
    /// Writes all of it.
    pub(super) fn write(&self, style: Style, out: &mut Vec<u8>) {
        match style {
            Style::Normal => self.normal(out),
            Style::Unified => {
                out.extend_from_slice(
                    format!("--- {}\n+++ {}\n", self.headers[0], self.headers[1]).as_bytes(),
                );
                self.hunks(|hunk| self.unified(hunk, out));
            }
            Style::Context => {
                out.extend_from_slice(
                    format!("*** {}\n--- {}\n", self.headers[0], self.headers[1]).as_bytes(),
                );
                self.hunks(|hunk| self.context(hunk, out));
            }
        }
    }

    /// The hunks of the unified form alone.
    pub(in crate::exec::commands) fn write_hunks(&self, out: &mut Vec<u8>) {
        self.hunks(|hunk| self.unified(hunk, out));
    }

    /// The line above a hunk that begins with a letter: mostly a function's head.
    fn part(&self, before: usize) -> &[u8] {
        let begins = |line: &&&[u8]| {
            line.first().is_some_and(|&byte| byte.is_ascii_alphabetic() || b"_$".contains(&byte))
        };
        let found = self.old.all[..before].iter().rev().find(begins).copied().unwrap_or_default();
        found[..found.len().min(LONGEST_PART)].trim_ascii_end()
    }

    fn normal(&self, out: &mut Vec<u8>) {
        for change in self.changes.iter().filter(|change| !change.ignored) {
            let letter = match (change.old.is_empty(), change.new.is_empty()) {
                (true, _) => 'a',
                (_, true) => 'd',
                (false, false) => 'c',
            };
            let (old, new) = (span(&change.old), span(&change.new));
            out.extend_from_slice(format!("{old}{letter}{new}\n").as_bytes());
            for at in change.old.clone() {
                line(out, b"< ", self.old, at);
            }
            if letter == 'c' {
                out.extend_from_slice(b"---\n");
            }
            for at in change.new.clone() {
                line(out, b"> ", self.new, at);
            }
        }
    }

    /// Changes whose context touches are one hunk; one that is ignored joins the change
    /// before it only when it lies within that one's context. Hunks of nothing but ignored changes are left out.
    fn hunks(&self, mut each: impl FnMut(&Hunk<'_>)) {
        let mut rest = self.changes;
        while !rest.is_empty() {
            let joins = |pair: &[Change]| {
                let gap = pair[1].old.start - pair[0].old.end;
                if pair[1].ignored { gap < self.context } else { gap <= 2 * self.context }
            };
            let count = 1 + rest.windows(2).take_while(|pair| joins(pair)).count();
            let (changes, after) = rest.split_at(count);
            rest = after;
            if changes.iter().all(|change| change.ignored) {
                continue;
            }
            let (first, last) = (&changes[0], &changes[count - 1]);
            let behind =
                |end: usize, lines: &Lines<'_>| end.saturating_add(self.context).min(lines.all.len());
            each(&Hunk {
                changes,
                old: first.old.start - self.context.min(first.old.start)..behind(last.old.end, self.old),
                new: first.new.start - self.context.min(first.new.start)..behind(last.new.end, self.new),
            });
        }
    }

    fn unified(&self, hunk: &Hunk<'_>, out: &mut Vec<u8>) {
        let range = |range: &Range<usize>| match range.len() {
            0 => format!("{},0", range.start),
            1 => format!("{}", range.start + 1),
            len => format!("{},{len}", range.start + 1),
        };
        out.extend_from_slice(format!("@@ -{} +{} @@", range(&hunk.old), range(&hunk.new)).as_bytes());
        let part = if self.parts { self.part(hunk.old.start) } else { &[] };
        if !part.is_empty() {
            out.push(b' ');
            out.extend_from_slice(part);
        }
        out.push(b'\n');
        let mut at = hunk.old.start;
        for change in hunk.changes {
            for same in at..change.old.start {
                line(out, b" ", self.old, same);
            }
            for gone in change.old.clone() {
                line(out, b"-", self.old, gone);
            }
            for come in change.new.clone() {
                line(out, b"+", self.new, come);
            }
            at = change.old.end;
        }
        for same in at..hunk.old.end {
            line(out, b" ", self.old, same);
        }
    }

    fn context(&self, hunk: &Hunk<'_>, out: &mut Vec<u8>) {
        let range = |range: &Range<usize>| match range.len() {
            0 | 1 => format!("{}", range.end),
            _ => format!("{},{}", range.start + 1, range.end),
        };
        out.extend_from_slice(format!("***************\n*** {} ****\n", range(&hunk.old)).as_bytes());
        if hunk.changes.iter().any(|change| !change.old.is_empty() && !change.ignored) {
            Self::half(hunk, out, self.old, &hunk.old, b"- ", |change| (&change.old, &change.new));
        }
        out.extend_from_slice(format!("--- {} ----\n", range(&hunk.new)).as_bytes());
        if hunk.changes.iter().any(|change| !change.new.is_empty() && !change.ignored) {
            Self::half(hunk, out, self.new, &hunk.new, b"+ ", |change| (&change.new, &change.old));
        }
    }

    /// One file's part of a hunk; `sides` gives a change's lines in this file and in the
    /// other.
    fn half(
        hunk: &Hunk<'_>,
        out: &mut Vec<u8>,
        lines: &Lines<'_>,
        range: &Range<usize>,
        alone: &[u8],
        sides: impl Fn(&Change) -> (&Range<usize>, &Range<usize>),
    ) {
        let mut at = range.start;
        for change in hunk.changes {
            let (here, there) = sides(change);
            for same in at..here.start {
                line(out, b"  ", lines, same);
            }
            let mark: &[u8] = if there.is_empty() { alone } else { b"! " };
            for changed in here.clone() {
                line(out, mark, lines, changed);
            }
            at = here.end;
        }
        for same in at..range.end {
            line(out, b"  ", lines, same);
        }
    }
}

/// Lines as the normal form counts them: `3`, `3,5`; of none, the line before.
fn span(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{}", range.start),
        1 => format!("{}", range.end),
        _ => format!("{},{}", range.start + 1, range.end),
    }
}

fn line(out: &mut Vec<u8>, mark: &[u8], lines: &Lines<'_>, at: usize) {
    out.extend_from_slice(mark);
    out.extend_from_slice(lines.all[at]);
    out.push(b'\n');
    if lines.is_incomplete(at) {
        out.extend_from_slice(b"\\ No newline at end of file\n");
    }
}
