//! Statistics of differences: `a | 3 ++-`, and their sum.

use super::blobs::Blobs;
use super::failed::Done;
use super::patch::figures;
use super::repo::Repo;
use super::shown::{moved, quoted};
use super::trees::Change;

/// What changed in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figures {
    /// Lines that came, lines that went.
    Lines(usize, usize),
    /// Bytes before, bytes after; both 0 if they are the same.
    Binary(usize, usize),
}

/// Statistics of some files.
pub(super) struct Stats<'c>(Vec<(&'c Change, Figures)>);

impl<'c> Stats<'c> {
    /// Counts.
    pub(super) fn of(blobs: &Blobs<'_, '_>, changes: &'c [Change]) -> Done<Self> {
        let count = |change: &'c Change| {
            blobs.repo.go_on()?;
            Ok((change, figures(blobs, change)?))
        };
        Ok(Self(changes.iter().map(count).collect::<Done<_>>()?))
    }

    /// ` 2 files changed, 3 insertions(+), 1 deletion(-)` and a newline.
    pub(super) fn sum(&self) -> String {
        let (mut came, mut gone) = (0, 0);
        for (_, figures) in &self.0 {
            if let Figures::Lines(more, less) = figures {
                (came, gone) = (came + more, gone + less);
            }
        }
        let files = self.0.len();
        let mut text = format!(" {files} file{} changed", if files == 1 { "" } else { "s" });
        if came > 0 || gone == 0 {
            text += &format!(", {came} insertion{}(+)", if came == 1 { "" } else { "s" });
        }
        if gone > 0 || came == 0 {
            text += &format!(", {gone} deletion{}(-)", if gone == 1 { "" } else { "s" });
        }
        text + "\n"
    }

    /// For programs.
    pub(super) fn numbers(&self, repo: &Repo<'_>, zero: bool, out: &mut Vec<u8>) {
        for (change, figures) in &self.0 {
            let (came, gone) = match figures {
                Figures::Lines(came, gone) => (came.to_string(), gone.to_string()),
                Figures::Binary(..) => ("-".to_owned(), "-".to_owned()),
            };
            let line = match (&change.from, zero) {
                (Some((from, _)), true) => format!("{came}\t{gone}\t\0{from}\0{}\0", change.path),
                (None, true) => format!("{came}\t{gone}\t{}\0", change.path),
                (Some((from, _)), false) => format!("{came}\t{gone}\t{}\n", moved(from, &change.path)),
                (None, false) => format!("{came}\t{gone}\t{}\n", quoted(repo, &change.path)),
            };
            out.extend_from_slice(line.as_bytes());
        }
    }

    /// One line a file, in so many columns.
    pub(super) fn graph(&self, repo: &Repo<'_>, width: usize, out: &mut Vec<u8>) {
        let name = |change: &Change| match &change.from {
            Some((from, _)) => moved(from, &change.path),
            None => quoted(repo, &change.path),
        };
        let names: Vec<String> = self.0.iter().map(|(change, _)| name(change)).collect();
        let columns = |text: &str| unicode_width::UnicodeWidthStr::width(text);
        let longest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
        let total = |figures: &Figures| match figures {
            Figures::Lines(came, gone) => came + gone,
            Figures::Binary(..) => 0,
        };
        let most = self.0.iter().map(|(_, figures)| total(figures)).max().unwrap_or(0);
        let (mut digits, mut bytes) = (most.to_string().len(), 0);
        for (_, figures) in &self.0 {
            if let Figures::Binary(old, new) = figures {
                // "Bin 10 -> 20 bytes"
                bytes = bytes.max(14 + old.to_string().len() + new.to_string().len());
                digits = digits.max(3);
            }
        }
        let width = width.max(16 + 6 + digits);
        let mut graph_width = if most + 4 > bytes { most } else { bytes - 4 };
        let mut name_width = longest;
        if name_width + digits + 6 + graph_width > width {
            if graph_width > (width * 3 / 8).saturating_sub(digits + 6) {
                graph_width = (width * 3 / 8).saturating_sub(digits + 6).max(6);
            }
            if name_width > width - digits - 6 - graph_width {
                name_width = width - digits - 6 - graph_width;
            } else {
                graph_width = width - digits - 6 - name_width;
            }
        }
        for ((_, figures), name) in self.0.iter().zip(&names) {
            let (mut prefix, mut name) = ("", name.as_str());
            if columns(name) > name_width {
                prefix = "...";
                let kept = name_width.saturating_sub(3);
                let cut = name.char_indices().map(|(at, _)| at).find(|&at| columns(&name[at..]) <= kept);
                name = &name[cut.unwrap_or(name.len())..];
                name = name.find('/').map_or(name, |at| &name[at..]);
            }
            let pad = " ".repeat(name_width.saturating_sub(prefix.len() + columns(name)));
            let tail = match figures {
                Figures::Binary(0, 0) => format!("{:>digits$}", "Bin"),
                Figures::Binary(old, new) => format!("{:>digits$} {old} -> {new} bytes", "Bin"),
                Figures::Lines(came, gone) => {
                    let (plus, minus) = bars(*came, *gone, graph_width, most);
                    let gap = if came + gone > 0 { " " } else { "" };
                    format!("{:>digits$}{gap}{}{}", came + gone, "+".repeat(plus), "-".repeat(minus))
                }
            };
            out.extend_from_slice(format!(" {prefix}{name}{pad} | {tail}\n").as_bytes());
        }
    }
}

fn bars(came: usize, gone: usize, width: usize, most: usize) -> (usize, usize) {
    if width > most || most == 0 {
        return (came, gone);
    }
    let scaled = |count: usize| if count == 0 { 0 } else { 1 + count * (width - 1) / most };
    let mut total = scaled(came + gone);
    if total < 2 && came > 0 && gone > 0 {
        total = 2;
    }
    if came < gone {
        let plus = scaled(came);
        (plus, total - plus)
    } else {
        let minus = scaled(gone);
        (total - minus, minus)
    }
}
