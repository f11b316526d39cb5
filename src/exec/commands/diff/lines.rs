//! Which lines changed.

use std::borrow::Cow;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, IndentHeuristic, IndentLevel, InternedInput};

use super::{Options, Space};

/// More lines than this, of both files together, are refused: what is kept for a line
/// costs some 50 bytes.
pub(in crate::exec::commands) const MAX_LINES: usize = 8_000_000;

/// Up to this many lines `-d` looks for the smallest set of changes, which takes time
/// quadratic in the number of changes.
const MAX_MINIMAL: usize = 20_000;

/// One file's lines, without their newlines.
pub(in crate::exec::commands) struct Lines<'a> {
    pub(in crate::exec::commands) all: Vec<&'a [u8]>,
    /// The last line has no newline.
    pub(in crate::exec::commands) incomplete: bool,
}

impl<'a> Lines<'a> {
    pub(in crate::exec::commands) fn of(data: &'a [u8]) -> Self {
        let incomplete = !data.is_empty() && !data.ends_with(b"\n");
        let body = data.strip_suffix(b"\n").unwrap_or(data);
        let all = if data.is_empty() { Vec::new() } else { body.split(|&byte| byte == b'\n').collect() };
        Self { all, incomplete }
    }

    /// Whether line `at` is the one without a newline.
    pub(in crate::exec::commands) fn is_incomplete(&self, at: usize) -> bool {
        self.incomplete && at + 1 == self.all.len()
    }
}

/// A change: these lines became those; one side may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::exec::commands) struct Change {
    pub(in crate::exec::commands) old: Range<usize>,
    pub(in crate::exec::commands) new: Range<usize>,
    /// Of blank lines only, and these are ignored.
    pub(in crate::exec::commands) ignored: bool,
}

/// What makes two lines equal.
#[derive(Default, PartialEq, Eq, Hash)]
struct Key<'a> {
    text: Cow<'a, [u8]>,
    incomplete: bool,
}

/// The changes in order.
pub(super) fn changes(old: &Lines<'_>, new: &Lines<'_>, options: &Options<'_>) -> Vec<Change> {
    let mut input: InternedInput<Key<'_>> = InternedInput::default();
    let silent = options.space >= Space::Trailing;
    let keys = |lines: &Lines<'_>, at: usize| lines.is_incomplete(at) && !silent;
    input.update_before(
        old.all
            .iter()
            .enumerate()
            .map(|(at, line)| Key { text: text(line, options), incomplete: keys(old, at) }),
    );
    input.update_after(
        new.all
            .iter()
            .enumerate()
            .map(|(at, line)| Key { text: text(line, options), incomplete: keys(new, at) }),
    );
    let minimal = options.minimal && old.all.len() + new.all.len() <= MAX_MINIMAL;
    let algorithm = if minimal { Algorithm::MyersMinimal } else { Algorithm::Myers };
    let mut diff = Diff::compute(algorithm, &input);
    diff.postprocess_no_heuristic(&input);
    let mut changes = in_order(&diff);
    if options.ignore_blank {
        for change in &mut changes {
            let mut lines = old.all[change.old.clone()].iter().chain(&new.all[change.new.clone()]);
            change.ignored = lines.all(|line| is_blank(line, options));
        }
    }
    changes
}

/// The changes as git finds them: every byte counts, and a change that could stand in
/// several places stands where the indentation is smallest.
pub(in crate::exec::commands) fn changes_of_git(old: &Lines<'_>, new: &Lines<'_>) -> Vec<Change> {
    let key = |lines: &Lines<'_>, at: usize| lines.is_incomplete(at);
    let mut input: InternedInput<(&[u8], bool)> = InternedInput::default();
    input.update_before(old.all.iter().enumerate().map(|(at, line)| (*line, key(old, at))));
    input.update_after(new.all.iter().enumerate().map(|(at, line)| (*line, key(new, at))));
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    let indent = |token| {
        let (line, _): (&[u8], bool) = input.interner[token];
        IndentLevel::for_ascii_line(line.iter().copied(), 8)
    };
    diff.postprocess_with_heuristic(&input, IndentHeuristic::new(indent));
    in_order(&diff)
}

fn in_order(diff: &Diff) -> Vec<Change> {
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks()
        .map(|hunk| Change { old: range(hunk.before), new: range(hunk.after), ignored: false })
        .collect()
}

fn is_blank(line: &[u8], options: &Options<'_>) -> bool {
    if options.space >= Space::Trailing { line.iter().all(|&byte| is_space(byte)) } else { line.is_empty() }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// A line as it is compared.
fn text<'a>(line: &'a [u8], options: &Options<'_>) -> Cow<'a, [u8]> {
    let mut text = match options.space {
        Space::TabExpansion if line.contains(&b'\t') => Cow::Owned(expand_tabs(line)),
        Space::Counts | Space::TabExpansion => Cow::Borrowed(line),
        Space::Trailing => Cow::Borrowed(trim_end(line)),
        Space::Change => Cow::Owned(squeeze(trim_end(line))),
        Space::All => Cow::Owned(line.iter().copied().filter(|&byte| !is_space(byte)).collect()),
    };
    if options.ignore_case {
        // Beyond ASCII only what is one character on both sides.
        text = match std::str::from_utf8(&text) {
            Ok(utf8) if !utf8.is_ascii() => {
                Cow::Owned(utf8.chars().map(lower).collect::<String>().into_bytes())
            }
            Ok(_) | Err(_) => Cow::Owned(text.to_ascii_lowercase()),
        };
    }
    text
}

fn lower(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

fn trim_end(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|&byte| !is_space(byte)).map_or(0, |at| at + 1);
    &line[..end]
}

fn squeeze(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    for &byte in line {
        if !is_space(byte) {
            out.push(byte);
        } else if out.last() != Some(&b' ') {
            out.push(b' ');
        }
    }
    out
}

fn expand_tabs(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len() + 8);
    for &byte in line {
        if byte == b'\t' {
            let width = 8 - out.len() % 8;
            out.resize(out.len() + width, b' ');
        } else {
            out.push(byte);
        }
    }
    out
}
