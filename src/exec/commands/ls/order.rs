//! The order of names.

use std::cmp::Ordering;

use super::{By, Entry, Options};
use crate::exec::commands::versions;

fn extension(name: &str) -> &str {
    name.rfind('.').map_or("", |at| &name[at..])
}

/// Sorts as the options ask.
pub(super) fn sort(options: &Options<'_>, entries: &mut [Entry]) {
    if options.by == By::Nothing {
        return;
    }
    let compare = |a: &Entry, b: &Entry| {
        let order = match options.by {
            By::Name | By::Nothing => Ordering::Equal,
            By::Size => b.stat.size.cmp(&a.stat.size),
            By::Time => b.stat.mtime_ns.cmp(&a.stat.mtime_ns),
            By::Extension => extension(&a.name).cmp(extension(&b.name)),
            By::Version => versions::compare(a.name.as_bytes(), b.name.as_bytes()),
        };
        let order = order.then_with(|| a.name.as_bytes().cmp(b.name.as_bytes()));
        if options.reverse { order.reverse() } else { order }
    };
    entries.sort_by(|a, b| {
        let dirs = if options.dirs_first { b.is_dir().cmp(&a.is_dir()) } else { Ordering::Equal };
        dirs.then_with(|| compare(a, b))
    });
}
