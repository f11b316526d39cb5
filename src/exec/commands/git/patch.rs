//! Differences in the words of git: heads, hunks, and the short forms.

use std::fmt::Write as _;

use super::blobs::{Blobs, is_binary};
use super::diffstat::{Figures, Stats};
use super::failed::{Done, fatal};
use super::shown::quoted;
use super::trees::{Change, Side};
use crate::exec::commands::diff::format::Report;
use crate::exec::commands::diff::lines::{self, Lines, MAX_LINES};

/// What is printed of differences.
#[derive(Clone, Debug)]
pub(super) struct Style {
    pub(super) patch: bool,
    pub(super) stat: bool,
    pub(super) shortstat: bool,
    pub(super) numstat: bool,
    pub(super) summary: bool,
    pub(super) names: bool,
    pub(super) letters: bool,
    pub(super) raw: bool,
    /// Nothing but the exit code.
    pub(super) quiet: bool,
    pub(super) exit_code: bool,
    pub(super) context: usize,
    pub(super) renames: bool,
    pub(super) prefixes: bool,
    pub(super) full_index: bool,
    pub(super) text: bool,
    pub(super) reverse: bool,
    /// Names end with NUL.
    pub(super) zero: bool,
    /// Letters of `--diff-filter`.
    pub(super) filter: String,
    /// Columns of statistics.
    pub(super) width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            patch: false,
            stat: false,
            shortstat: false,
            numstat: false,
            summary: false,
            names: false,
            letters: false,
            raw: false,
            quiet: false,
            exit_code: false,
            context: 3,
            renames: true,
            prefixes: true,
            full_index: false,
            text: false,
            reverse: false,
            zero: false,
            filter: String::new(),
            width: 80,
        }
    }
}

impl Style {
    /// Whether a form was chosen.
    pub(super) fn is_chosen(&self) -> bool {
        self.patch
            || self.stat
            || self.shortstat
            || self.numstat
            || self.summary
            || self.names
            || self.letters
            || self.raw
            || self.quiet
    }

    fn wanted(&self, change: &Change) -> bool {
        let letter = change.letter();
        let (small, large): (Vec<char>, Vec<char>) = self.filter.chars().partition(char::is_ascii_lowercase);
        (large.is_empty() || large.contains(&letter)) && !small.contains(&letter.to_ascii_lowercase())
    }
}

/// Moves are found, sides are turned round, letters are chosen.
pub(super) fn prepared(blobs: &Blobs<'_, '_>, style: &Style, changes: Vec<Change>) -> Done<Vec<Change>> {
    let mut changes = changes;
    if style.reverse {
        changes.iter_mut().for_each(|change| std::mem::swap(&mut change.old, &mut change.new));
    }
    if style.renames {
        changes = blobs.find_moved(changes)?;
    }
    changes.retain(|change| style.wanted(change));
    Ok(changes)
}

/// Writes all forms that were chosen, for changes that are prepared.
pub(super) fn write(blobs: &Blobs<'_, '_>, style: &Style, changes: &[Change], out: &mut Vec<u8>) -> Done {
    if style.quiet || changes.is_empty() {
        return Ok(());
    }
    let end = if style.zero { '\0' } else { '\n' };
    let name = |path: &str| if style.zero { path.to_owned() } else { quoted(blobs.repo, path) };
    let mut text = String::new();
    for change in changes {
        let letter = match &change.from {
            Some((_, score)) => format!("R{score:03}"),
            None => change.letter().to_string(),
        };
        let gap = if style.zero { '\0' } else { '\t' };
        let paths = match &change.from {
            Some((from, _)) => format!("{}{gap}{}", name(from), name(&change.path)),
            None => name(&change.path),
        };
        if style.raw {
            let mode = |side: Side| side.map_or(0, |(mode, _)| mode);
            let oid =
                |side: Side| side.map_or_else(|| Ok("0000000".to_owned()), |(_, oid)| blobs.repo.short(&oid));
            let (old, new) = (oid(change.old)?, oid(change.new)?);
            let _ = write!(
                text,
                ":{:06o} {:06o} {old} {new} {letter}{gap}{paths}{end}",
                mode(change.old),
                mode(change.new)
            );
        }
        if style.letters {
            let _ = write!(text, "{letter}{gap}{paths}{end}");
        } else if style.names {
            let _ = write!(text, "{}{end}", name(&change.path));
        }
    }
    out.extend_from_slice(text.as_bytes());
    if style.stat || style.shortstat || style.numstat {
        let stats = Stats::of(blobs, changes)?;
        if style.numstat {
            stats.numbers(blobs.repo, style.zero, out);
        }
        if style.stat {
            stats.graph(blobs.repo, style.width, out);
        }
        if style.stat || style.shortstat {
            out.extend_from_slice(stats.sum().as_bytes());
        }
    }
    if style.summary {
        out.extend_from_slice(summary(blobs, changes).as_bytes());
    }
    if style.patch {
        if style.stat || style.shortstat || style.numstat || style.summary || style.raw {
            out.push(b'\n');
        }
        for change in changes {
            file(blobs, style, change, out)?;
        }
    }
    Ok(())
}

/// ` create mode 100644 a`, …
pub(super) fn summary(blobs: &Blobs<'_, '_>, changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes {
        let path = quoted(blobs.repo, &change.path);
        let _ = match (change.old, change.new, &change.from) {
            (Some((old, _)), Some((new, _)), Some((from, score))) => {
                let names = super::shown::moved(from, &change.path);
                let _ = writeln!(text, " rename {names} ({score}%)");
                if old == new { Ok(()) } else { writeln!(text, " mode change {old:06o} => {new:06o}") }
            }
            (None, Some((mode, _)), _) => writeln!(text, " create mode {mode:06o} {path}"),
            (Some((mode, _)), None, _) => writeln!(text, " delete mode {mode:06o} {path}"),
            (Some((old, _)), Some((new, _)), None) if old != new => {
                writeln!(text, " mode change {old:06o} => {new:06o} {path}")
            }
            _ => Ok(()),
        };
    }
    text
}

/// One file's patch.
fn file(blobs: &Blobs<'_, '_>, style: &Style, change: &Change, out: &mut Vec<u8>) -> Done {
    blobs.repo.go_on()?;
    if change.letter() == 'T' {
        // Another kind of file: the old one goes, the new one comes.
        file(blobs, style, &Change { new: None, ..change.clone() }, out)?;
        return file(blobs, style, &Change { old: None, ..change.clone() }, out);
    }
    let prefixes = if style.prefixes { ["a/", "b/"] } else { ["", ""] };
    let from = change.from.as_ref().map_or(&change.path, |(from, _)| from);
    let shown = [from, &change.path].map(|path| path.to_owned());
    let names = [0, 1].map(|side| quoted(blobs.repo, &format!("{}{}", prefixes[side], shown[side])));
    let mut head = format!("diff --git {} {}\n", names[0], names[1]);
    match (change.old, change.new) {
        (None, Some((mode, _))) => head += &format!("new file mode {mode:06o}\n"),
        (Some((mode, _)), None) => head += &format!("deleted file mode {mode:06o}\n"),
        (Some((old, _)), Some((new, _))) if old != new => {
            head += &format!("old mode {old:06o}\nnew mode {new:06o}\n");
        }
        _ => {}
    }
    if let Some((_, score)) = &change.from {
        let (old, new) = (quoted(blobs.repo, &shown[0]), quoted(blobs.repo, &shown[1]));
        head += &format!("similarity index {score}%\nrename from {old}\nrename to {new}\n");
    }
    let same = change.old.map(|(_, oid)| oid) == change.new.map(|(_, oid)| oid);
    if same {
        out.extend_from_slice(head.as_bytes());
        return Ok(());
    }
    let oid = |side: Side| match side {
        _ if style.full_index => Ok(side.map_or(super::oid::Oid::NULL, |(_, oid)| oid).to_string()),
        Some((_, oid)) => blobs.repo.short(&oid),
        None => Ok("0000000".to_owned()),
    };
    let mode = match (change.old, change.new) {
        (Some((old, _)), Some((new, _))) if old == new => format!(" {old:06o}"),
        _ => String::new(),
    };
    head += &format!("index {}..{}{mode}\n", oid(change.old)?, oid(change.new)?);
    out.extend_from_slice(head.as_bytes());
    let (old, new) = (blobs.get(change.old)?, blobs.get(change.new)?);
    if old.is_empty() && new.is_empty() {
        return Ok(());
    }
    let side = |number: usize, side: Side| {
        if side.is_some() { names[number].clone() } else { "/dev/null".to_owned() }
    };
    let (a, b) = (side(0, change.old), side(1, change.new));
    if !style.text && (is_binary(&old) || is_binary(&new)) {
        out.extend_from_slice(format!("Binary files {a} and {b} differ\n").as_bytes());
        return Ok(());
    }
    check_lines(&old, &new)?;
    let (old, new) = (Lines::of(&old), Lines::of(&new));
    let changes = lines::changes_of_git(&old, &new);
    // Programs that read patches take a name up to a tab.
    let tab = |name: &str| if name.contains(' ') { "\t" } else { "" };
    out.extend_from_slice(format!("--- {a}{}\n+++ {b}{}\n", tab(&a), tab(&b)).as_bytes());
    let report = Report {
        old: &old,
        new: &new,
        changes: &changes,
        context: style.context,
        headers: [a, b],
        parts: true,
    };
    report.write_hunks(out);
    Ok(())
}

fn check_lines(old: &[u8], new: &[u8]) -> Done {
    let lines = [old, new].into_iter().flat_map(|data| data.split(|&byte| byte == b'\n'));
    if lines.take(MAX_LINES + 1).count() > MAX_LINES {
        return Err(fatal(format!("more than {MAX_LINES} lines in a difference")));
    }
    Ok(())
}

/// Lines that came and went in a file.
pub(super) fn figures(blobs: &Blobs<'_, '_>, change: &Change) -> Done<Figures> {
    let (old, new) = (blobs.get(change.old)?, blobs.get(change.new)?);
    if change.old.map(|(_, oid)| oid) == change.new.map(|(_, oid)| oid) {
        let binary = is_binary(&old);
        return Ok(if binary { Figures::Binary(0, 0) } else { Figures::Lines(0, 0) });
    }
    if is_binary(&old) || is_binary(&new) {
        return Ok(Figures::Binary(old.len(), new.len()));
    }
    check_lines(&old, &new)?;
    let (old, new) = (Lines::of(&old), Lines::of(&new));
    let changes = lines::changes_of_git(&old, &new);
    let came = changes.iter().map(|change| change.new.len()).sum();
    let gone = changes.iter().map(|change| change.old.len()).sum();
    Ok(Figures::Lines(came, gone))
}
