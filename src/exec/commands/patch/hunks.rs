//! Where hunks fit, and the text that they make.

use super::parse::{Hunk, Patch, Sign};

/// Where a hunk was applied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// First line of the hunk in the new text.
    pub(super) line: usize,
    /// Lines away from where the patch says.
    pub(super) offset: isize,
    /// Lines of context that were left out at each end.
    pub(super) fuzz: usize,
}

/// A text after its patch.
pub(super) struct Applied {
    pub(super) text: Vec<u8>,
    /// For each hunk; `None`: it fits nowhere.
    pub(super) outcomes: Vec<Option<Place>>,
}

fn same(a: &[u8], b: &[u8], ignore_space: bool) -> bool {
    if !ignore_space {
        // The last line may lack its newline.
        return a == b;
    }
    let words = |line: &[u8]| {
        line.split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    words(a) == words(b)
}

struct Pattern<'a> {
    lines: Vec<&'a [u8]>,
    prefix: usize,
    suffix: usize,
}

impl<'a> Pattern<'a> {
    fn of(hunk: &'a Hunk) -> Self {
        let is_same = |(sign, _): &&(Sign, Vec<u8>)| *sign == Sign::Same;
        Self {
            lines: hunk
                .lines
                .iter()
                .filter(|(sign, _)| *sign != Sign::New)
                .map(|(_, line)| line.as_slice())
                .collect(),
            prefix: hunk.lines.iter().take_while(is_same).count(),
            suffix: hunk.lines.iter().rev().take_while(is_same).count(),
        }
    }

    /// Whether it stands at `at` (lines from 0), some lines at its ends left out.
    fn is_at(&self, text: &[&[u8]], at: isize, ends: (usize, usize), ignore_space: bool) -> bool {
        let (front, back) = ends;
        if front + back > self.lines.len() {
            return false;
        }
        (front..self.lines.len() - back).all(|line| {
            usize::try_from(at + line as isize)
                .ok()
                .and_then(|at| text.get(at))
                .is_some_and(|there| same(there, self.lines[line], ignore_space))
        })
    }

    /// Where it stands (lines from 0), near `guess`, behind the line `after`.
    fn find(
        &self,
        text: &[&[u8]],
        guess: isize,
        first: usize,
        after: isize,
        fuzz: usize,
        ignore_space: bool,
    ) -> Option<isize> {
        let context = self.prefix.max(self.suffix);
        let prefix_fuzz = (fuzz + self.prefix) as isize - context as isize;
        let suffix_fuzz = (fuzz + self.suffix) as isize - context as isize;
        let ends = (prefix_fuzz.max(0) as usize, suffix_fuzz.max(0) as usize);
        let end = text.len() as isize - self.lines.len() as isize;
        if self.lines.is_empty() {
            return (guess >= after && guess <= text.len() as isize).then_some(guess);
        }
        let fits = |at: isize| at + ends.0 as isize >= after && self.is_at(text, at, ends, ignore_space);
        if prefix_fuzz < 0 && first <= 1 {
            let whole = suffix_fuzz >= 0 || end == 0;
            return (whole && fits(0)).then_some(0);
        }
        if suffix_fuzz < 0 {
            return fits(end).then_some(end);
        }
        let last = text.len() as isize;
        (0..=last.max(guess))
            .find_map(|offset| [guess + offset, guess - offset].into_iter().find(|at| fits(*at)))
    }
}

/// Applies what can be applied.
pub(super) fn apply(data: &[u8], patch: &Patch, most_fuzz: usize, ignore_space: bool) -> Applied {
    let text: Vec<&[u8]> = data.split_inclusive(|&byte| byte == b'\n').collect();
    let (mut out, mut outcomes) = (Vec::with_capacity(data.len()), Vec::new());
    // Lines that are written already, lines that the text has grown by, the last offset.
    let (mut done, mut grown, mut drift) = (0_usize, 0_isize, 0_isize);
    for hunk in &patch.hunks {
        let pattern = Pattern::of(hunk);
        let wanted = hunk.old_start as isize - isize::from(!pattern.lines.is_empty());
        let context = pattern.prefix.max(pattern.suffix);
        let found = (0..=most_fuzz.min(context)).find_map(|fuzz| {
            let at =
                pattern.find(&text, wanted + drift, hunk.old_start, done as isize, fuzz, ignore_space)?;
            Some((at, fuzz))
        });
        let Some((at, fuzz)) = found else {
            outcomes.push(None);
            continue;
        };
        drift = at - wanted;
        let line = at + 1 + grown - isize::from(pattern.lines.is_empty());
        outcomes.push(Some(Place { line: line.max(1) as usize, offset: drift, fuzz }));
        // Lines of context are taken from the text: they may be others there.
        let mut place = at;
        for (sign, line) in &hunk.lines {
            if *sign == Sign::New {
                flush(&mut out, &text, &mut done, place);
                out.extend_from_slice(line);
                grown += 1;
                continue;
            }
            if *sign == Sign::Old {
                flush(&mut out, &text, &mut done, place);
                done = (done + 1).min(text.len());
                grown -= 1;
            }
            place += 1;
        }
    }
    flush(&mut out, &text, &mut done, text.len() as isize);
    Applied { text: out, outcomes }
}

/// Copies the lines up to `end`.
fn flush(out: &mut Vec<u8>, text: &[&[u8]], done: &mut usize, end: isize) {
    let end = end.clamp(0, text.len() as isize) as usize;
    while *done < end {
        out.extend_from_slice(text[*done]);
        *done += 1;
    }
}

/// Whether the first hunk stands where the patch says, or near.
pub(super) fn first_fits(data: &[u8], patch: &Patch, ignore_space: bool) -> bool {
    let text: Vec<&[u8]> = data.split_inclusive(|&byte| byte == b'\n').collect();
    patch.hunks.first().is_some_and(|hunk| {
        let pattern = Pattern::of(hunk);
        let wanted = hunk.old_start as isize - isize::from(!pattern.lines.is_empty());
        !pattern.lines.is_empty() && pattern.find(&text, wanted, hunk.old_start, 0, 0, ignore_space).is_some()
    })
}
