//! Which files a command is about.

use super::failed::{Done, fatal};
use super::join;
use super::repo::Repo;
use crate::exec::commands::{absolute, glob};

struct Item {
    /// As it was given.
    given: String,
    /// From the root of the work tree, without a slash at its end; empty is all.
    path: String,
    out: bool,
}

/// Paths and patterns; none mean all files.
#[derive(Default)]
pub(super) struct Pathspec(Vec<Item>);

/// A path without `.` and `..`.
pub(super) fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// A path from the root of the work tree; `None` if it is outside.
pub(super) fn below<'p>(work: &str, path: &'p str) -> Option<&'p str> {
    if work == "/" {
        return Some(path.trim_start_matches('/'));
    }
    let rest = path.strip_prefix(work)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

impl Pathspec {
    /// Reads them, as seen from `cwd`.
    pub(super) fn new(repo: &Repo<'_>, cwd: &str, given: &[&str]) -> Done<Self> {
        let work = repo.work.as_deref().unwrap_or("/");
        let mut items = Vec::new();
        for &text in given {
            let (rest, top, out) = if let Some(rest) = text.strip_prefix(":(exclude)") {
                (rest, false, true)
            } else if let Some(rest) = text.strip_prefix(":(top)") {
                (rest, true, false)
            } else if let Some(rest) = text.strip_prefix([':']) {
                match rest.chars().next() {
                    Some('!' | '^') => (&rest[1..], false, true),
                    Some('/') => (&rest[1..], true, false),
                    _ => {
                        return Err(fatal(format!(
                            "pathspec magic is not supported here: '{text}'; :! and :/ are"
                        )));
                    }
                }
            } else {
                (text, false, false)
            };
            if rest.is_empty() && !top {
                return Err(fatal(
                    "empty string is not a valid pathspec. please use . instead if you meant to match all paths",
                ));
            }
            let path = plain(&if top { join(work, rest) } else { absolute(cwd, rest) });
            let path = below(work, &path)
                .ok_or_else(|| fatal(format!("{rest}: '{rest}' is outside repository at '{work}'")))?;
            items.push(Item { given: text.to_owned(), path: path.to_owned(), out });
        }
        Ok(Self(items))
    }

    /// Whether all files are meant.
    pub(super) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a file is meant.
    pub(super) fn matches(&self, path: &str) -> bool {
        let meant = |out: bool| self.0.iter().filter(move |item| item.out == out);
        let wanted = meant(false).next().is_none() || meant(false).any(|item| item.covers(path));
        wanted && !meant(true).any(|item| item.covers(path))
    }

    /// Whether something below a directory may be meant.
    pub(super) fn reaches(&self, dir: &str) -> bool {
        let inside = |item: &Item| {
            item.covers(dir)
                || item.path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
                || item.path.contains(['*', '?', '['])
        };
        self.0.iter().all(|item| item.out) || self.0.iter().any(|item| !item.out && inside(item))
    }

    /// The first that no path of these is meant by.
    pub(super) fn unmatched<'p>(&self, paths: impl Iterator<Item = &'p str> + Clone) -> Option<&str> {
        let missing =
            |item: &&Item| !item.out && !item.path.is_empty() && !paths.clone().any(|path| item.covers(path));
        self.0.iter().find(missing).map(|item| item.given.as_str())
    }

    /// Whether a file is named, not found by a directory or a pattern.
    pub(super) fn names(&self, path: &str) -> bool {
        self.0.iter().any(|item| !item.out && item.path == path)
    }
}

impl Item {
    fn covers(&self, path: &str) -> bool {
        let below = || path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/'));
        self.path.is_empty()
            || self.path == path
            || below()
            || self.is_pattern() && glob::matches(&self.path, path)
    }

    fn is_pattern(&self) -> bool {
        self.path.contains(['*', '?', '['])
    }
}
