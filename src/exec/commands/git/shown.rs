//! Paths as they are printed.

use super::repo::Repo;
use crate::exec::commands::quote;

/// In quotes where it has signs that are not plain; bytes beyond ASCII count as such,
/// unless `core.quotePath` is off.
pub(super) fn quoted(repo: &Repo<'_>, path: &str) -> String {
    let wide = repo.config.is("core.quotepath") != Some(false);
    quoted_if(path, wide)
}

/// The same, `wide` telling whether bytes beyond ASCII are escaped.
pub(super) fn quoted_if(path: &str, wide: bool) -> String {
    let special = |c: char| c.is_ascii_control() || matches!(c, '"' | '\\') || (wide && !c.is_ascii());
    if path.contains(special) { quote::c_quoted(path, wide) } else { path.to_owned() }
}

/// A path as seen from a directory, both from the root of the work tree.
pub(super) fn relative(path: &str, dir: &str) -> String {
    if dir.is_empty() {
        return path.to_owned();
    }
    let (from, to): (Vec<&str>, Vec<&str>) = (dir.split('/').collect(), path.split('/').collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut parts = vec![".."; from.len() - common];
    parts.extend(&to[common..]);
    match parts[..] {
        [] | [""] => "./".to_owned(),
        [.., ".."] => parts.join("/") + "/",
        _ => parts.join("/"),
    }
}

/// `{old => new}/rest`, as statistics name a file that was moved.
pub(super) fn moved(old: &str, new: &str) -> String {
    let (a, b) = (old.as_bytes(), new.as_bytes());
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let prefix = a[..same].iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    // The slash of the common beginning may be that of the common end, too.
    let most = (a.len().min(b.len()) + usize::from(prefix > 0)).saturating_sub(prefix);
    let mut suffix = 0;
    for count in 1..=most.min(a.len()).min(b.len()) {
        if a[a.len() - count] != b[b.len() - count] {
            break;
        }
        if a[a.len() - count] == b'/' {
            suffix = count;
        }
    }
    let middle = |text: &str| {
        let end = text.len() - suffix;
        if end > prefix { text[prefix..end].to_owned() } else { String::new() }
    };
    if prefix + suffix == 0 {
        return format!("{old} => {new}");
    }
    format!("{}{{{} => {}}}{}", &old[..prefix], middle(old), middle(new), &old[old.len() - suffix..])
}
