//! `s` and `y`: how they are done.

use super::failed::Failed;
use super::machine::Machine;
use super::script::{Case, Piece, Substitution, Table};
use crate::exec::commands::posix_regex::{Spans, utf8};

impl Machine<'_> {
    /// Whether something was replaced.
    pub(super) fn substitute(&mut self, given: &Substitution) -> Result<bool, Failed> {
        let regex = self.regex(&given.pattern)?;
        let text = std::mem::take(&mut self.pattern_space);
        let mut out = std::mem::take(&mut self.scratch);
        out.clear();
        let mut spans: Spans = vec![None; 2 * (given.highest.min(regex.groups()) + 1)];
        let (mut start, mut copied, mut count) = (0, 0, 0);
        let (mut last_end, mut replaced) = (None, false);
        while start <= text.len() && regex.find(&text, start, &mut spans)? {
            let (Some(from), Some(to)) = (spans[0], spans[1]) else { break };
            let (from, to) = (from.get(), to.get());
            // Nothing right behind a match is none.
            let counts = !(from == to && last_end == Some(from));
            if counts {
                count += 1;
                if count >= given.from {
                    out.extend_from_slice(&text[copied..from]);
                    append(&given.replacement, &text, &spans, &mut out);
                    copied = to;
                    replaced = true;
                    if !given.global {
                        break;
                    }
                    if self.held() + out.len() > self.most {
                        return Err(super::machine::exhausted());
                    }
                    if count.is_multiple_of(1024) && self.call.is_over() {
                        break;
                    }
                }
            }
            last_end = Some(to);
            start = if from == to { to + utf8::step(&text[to..]) } else { to };
        }
        if replaced {
            out.extend_from_slice(&text[copied..]);
            self.pattern_space = out;
            self.scratch = text;
        } else {
            self.pattern_space = text;
            self.scratch = out;
        }
        Ok(replaced)
    }

    /// `y`.
    pub(super) fn translate(&mut self, table: &Table) {
        if table.others.is_empty() {
            for byte in &mut self.pattern_space {
                *byte = table.bytes[usize::from(*byte)];
            }
            return;
        }
        let text = std::mem::take(&mut self.pattern_space);
        self.scratch.clear();
        let mut at = 0;
        while at < text.len() {
            let char = &text[at..at + utf8::step(&text[at..])];
            match table.others.iter().find(|(from, _)| from == char) {
                Some((_, to)) => self.scratch.extend_from_slice(to),
                None if char.len() == 1 => self.scratch.push(table.bytes[usize::from(char[0])]),
                None => self.scratch.extend_from_slice(char),
            }
            at += char.len();
        }
        self.pattern_space = std::mem::replace(&mut self.scratch, text);
    }
}

fn append(replacement: &[Piece], text: &[u8], spans: &Spans, out: &mut Vec<u8>) {
    let (mut case, mut next) = (Case::Same, None);
    for piece in replacement {
        let bytes = match piece {
            Piece::Text(text) => &text[..],
            // The pattern that was used last may have fewer groups.
            Piece::Group(group) => match spans.get(2 * group..2 * group + 2) {
                Some(&[Some(from), Some(to)]) => &text[from.get()..to.get()],
                _ => &[],
            },
            Piece::Case(Case::NextUpper) => {
                next = Some(Case::Upper);
                continue;
            }
            Piece::Case(Case::NextLower) => {
                next = Some(Case::Lower);
                continue;
            }
            Piece::Case(of) => {
                (case, next) = (*of, None);
                continue;
            }
        };
        if bytes.is_empty() {
            continue;
        }
        let first = next.take().map_or(0, |case| {
            let len = utf8::step(bytes);
            cased(&bytes[..len], case, out);
            len
        });
        cased(&bytes[first..], case, out);
    }
}

/// Letters in another case; those that would become several stay.
fn cased(bytes: &[u8], case: Case, out: &mut Vec<u8>) {
    if !matches!(case, Case::Upper | Case::Lower) {
        out.extend_from_slice(bytes);
        return;
    }
    let mut at = 0;
    while at < bytes.len() {
        let step = utf8::step(&bytes[at..]);
        let changed = utf8::decode(&bytes[at..]).and_then(|(char, _)| {
            let (mut upper, mut lower) = (char.to_uppercase(), char.to_lowercase());
            let changed = if case == Case::Upper { upper.next() } else { lower.next() };
            let more = if case == Case::Upper { upper.next() } else { lower.next() };
            changed.filter(|_| more.is_none())
        });
        match changed {
            Some(char) => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.extend_from_slice(&bytes[at..at + step]),
        }
        at += step;
    }
}
