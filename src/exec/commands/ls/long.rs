//! Lines of `ls -l`, and the fields that stand before names.

use chrono::DateTime;

use super::{Entry, Human, Options, indicator, shown};
use crate::exec::commands::human;
use crate::exec::commands::stat::{blocks, mode_text};

/// Half a year of 365.2425 days: older files show their year.
const RECENT_SECONDS: i64 = 31_556_952 / 2;

/// Kibibytes on a disk with blocks of 4 KiB.
pub(super) fn kibibytes(entry: &Entry) -> u64 {
    blocks(&entry.stat, entry.device) / 2
}

/// Bytes, in `unit`s if not human readable.
pub(super) fn size(options: &Options<'_>, bytes: u64, unit: u64) -> String {
    match options.human {
        Human::No => bytes.div_ceil(unit).to_string(),
        Human::Binary => human::size(bytes, 1024),
        Human::Decimal => human::size(bytes, 1000),
    }
}

fn right(texts: &[String]) -> Vec<String> {
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.iter().map(|text| format!("{text:>width$} ")).collect()
}

/// Inode number and blocks, where asked for, of each entry.
pub(super) fn fronts(options: &Options<'_>, entries: &[Entry]) -> Vec<String> {
    let mut fronts = vec![String::new(); entries.len()];
    let mut add = |texts: Vec<String>| {
        for (front, text) in fronts.iter_mut().zip(right(&texts)) {
            front.push_str(&text);
        }
    };
    if options.inode {
        add(entries.iter().map(|entry| entry.stat.ino.to_string()).collect());
    }
    if options.blocks {
        add(entries.iter().map(|entry| size(options, kibibytes(entry) * 1024, 1024)).collect());
    }
    fronts
}

pub(super) fn print(options: &Options<'_>, entries: &[Entry], out: &mut String) {
    let fronts = fronts(options, entries);
    let links = right(&entries.iter().map(|entry| entry.stat.nlink.to_string()).collect::<Vec<_>>());
    let size_of = |entry: &Entry| {
        if entry.device { "0, 0".to_owned() } else { size(options, entry.stat.size, 1) }
    };
    let sizes = right(&entries.iter().map(size_of).collect::<Vec<_>>());
    let user = if options.numeric { "1000 " } else { "user " };
    for (at, entry) in entries.iter().enumerate() {
        out.push_str(&fronts[at]);
        out.push_str(&mode_text(entry.stat.kind, entry.device, entry.stat.mode));
        out.push(' ');
        out.push_str(&links[at]);
        if options.owner {
            out.push_str(user);
        }
        if options.group {
            out.push_str(user);
        }
        out.push_str(&sizes[at]);
        out.push_str(&time(options, entry.stat.mtime_ns));
        out.push(' ');
        out.push_str(&shown(options, &entry.name));
        match &entry.target {
            Some(target) => {
                out.push_str(" -> ");
                out.push_str(&shown(options, target));
                out.push_str(entry.leads_to.map_or("", |stat| indicator(options, &stat)));
            }
            None => out.push_str(indicator(options, &entry.stat)),
        }
        out.push(options.end);
    }
}

fn time(options: &Options<'_>, ns: i64) -> String {
    let age = options.now_ns / 1_000_000_000 - ns.div_euclid(1_000_000_000);
    let recent = (0..RECENT_SECONDS).contains(&age);
    let style = options.time_style.strip_prefix("posix-").unwrap_or(options.time_style);
    let format = match (style, recent) {
        ("full-iso", _) => "%Y-%m-%d %H:%M:%S%.9f +0000",
        ("long-iso", _) => "%Y-%m-%d %H:%M",
        ("iso", true) => "%m-%d %H:%M",
        ("iso", false) => "%Y-%m-%d ",
        (style, recent) if style.starts_with('+') => {
            let mut formats = style[1..].split('\n');
            let old = formats.next().unwrap_or_default();
            if recent { formats.next().unwrap_or(old) } else { old }
        }
        (_, true) => "%b %e %H:%M",
        (_, false) => "%b %e  %Y",
    };
    let valid = !chrono::format::StrftimeItems::new(format).any(|item| item == chrono::format::Item::Error);
    if valid { DateTime::from_timestamp_nanos(ns).format(format).to_string() } else { format.to_owned() }
}
