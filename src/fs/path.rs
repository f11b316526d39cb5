//! Paths: what is a legal one, and its parts. Limits and their errors are Linux's.

use crate::fs::Errno;

/// Bytes of the longest path plus one, as `PATH_MAX` counts the closing NUL.
pub const PATH_MAX: usize = 4096;
/// Bytes of the longest name.
pub const NAME_MAX: usize = 255;
/// Symbolic links followed in one resolution; one more is ELOOP.
pub const MAX_HOPS: usize = 40;

/// Refuses what no call accepts: empty (ENOENT), 4096 bytes or more (ENAMETOOLONG),
/// with a NUL, or not absolute (EINVAL).
pub fn check(path: &str) -> Result<(), Errno> {
    check_text(path)?;
    if path.starts_with('/') { Ok(()) } else { Err(Errno::EINVAL) }
}

/// As [`check`], for a text that may be relative: the target of a symlink.
pub fn check_text(path: &str) -> Result<(), Errno> {
    if path.is_empty() {
        return Err(Errno::ENOENT);
    }
    if path.len() >= PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    if path.as_bytes().contains(&0) { Err(Errno::EINVAL) } else { Ok(()) }
}

/// Whether `name` may stand in a directory.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_MAX
        && name != "."
        && name != ".."
        && !name.bytes().any(|b| b == b'/' || b == 0)
}

/// The first component of `rest` and what follows it (empty or starting with `/`);
/// `None` when only slashes are left.
pub(crate) fn split_first(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.trim_start_matches('/');
    if rest.is_empty() {
        return None;
    }
    let end = rest.bytes().position(|b| b == b'/').unwrap_or(rest.len());
    Some(rest.split_at(end))
}

/// Whether anything but slashes is left.
pub(crate) fn has_more(rest: &str) -> bool {
    rest.bytes().any(|b| b != b'/')
}
