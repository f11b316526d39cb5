//! Walking a tree in the order of path bytes.

use imbl::ordmap;

use super::Tree;
use crate::fs::node::{Name, Node};
use crate::fs::{Errno, Kind, path};
use crate::ids::Ino;

impl Tree {
    /// Entries below `path` (which is included), sorted by path bytes, so that a
    /// directory comes before what is in it; at most `depth` levels below it (`None`:
    /// all). A link as `path` is followed, others are not. Paths start with `path` as
    /// given, without slashes at its end. Moves can nest directories so deep that no
    /// path can name what is in them ([`path::PATH_MAX`]); that is left out. Lazy.
    pub fn walk(
        &self,
        path: &str,
        depth: Option<usize>,
    ) -> Result<Box<dyn Iterator<Item = Entry<'_>> + '_>, Errno> {
        let (ino, node) = self.resolve(path, true)?;
        let prefix = path.trim_end_matches('/').to_owned();
        let shown = if prefix.is_empty() { "/".to_owned() } else { prefix.clone() };
        let mut walk = Walk { tree: self, frames: Vec::new(), depth: depth.unwrap_or(usize::MAX) };
        walk.enter(prefix, ino);
        Ok(Box::new(std::iter::once((shown, ino, node)).chain(walk)))
    }
}

struct Walk<'t> {
    tree: &'t Tree,
    frames: Vec<Frame<'t>>,
    depth: usize,
}

/// A directory being listed.
struct Frame<'t> {
    /// Its path; empty for the root.
    path: String,
    entries: std::iter::Peekable<ordmap::Iter<'t, Name, Ino, imbl::shared_ptr::DefaultSharedPtr>>,
    /// Subdirectories that were shown and not yet entered. What is below `a` sorts as
    /// `a/`, which is after `a-b`; so names smaller than that come in between, and
    /// the last one put here is the first to be entered.
    waiting: Vec<(&'t str, Ino)>,
}

/// A path with what it names.
pub type Entry<'t> = (String, Ino, &'t Node);

impl Walk<'_> {
    fn enter(&mut self, path: String, dir: Ino) {
        if self.frames.len() >= self.depth {
            return;
        }
        if let Some(entries) = self.tree.entries_of(dir) {
            self.frames.push(Frame { path, entries: entries.iter().peekable(), waiting: Vec::new() });
        }
    }
}

impl<'t> Iterator for Walk<'t> {
    type Item = Entry<'t>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let frame = self.frames.last_mut()?;
            let next_name = frame.entries.peek().map(|(name, _)| name.as_bytes());
            let enter_first = match (frame.waiting.last(), next_name) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some((dir, _)), Some(name)) => dir.bytes().chain([b'/']).lt(name.iter().copied()),
            };
            if enter_first {
                if let Some((name, ino)) = frame.waiting.pop() {
                    let path = format!("{}/{name}", frame.path);
                    self.enter(path, ino);
                }
                continue;
            }
            let Some((name, &ino)) = frame.entries.next() else {
                self.frames.pop();
                continue;
            };
            if frame.path.len() + 1 + name.len() >= path::PATH_MAX {
                continue;
            }
            // A name without a node cannot be in a tree: from_rows and apply refuse it.
            let Some(node) = self.tree.node(ino) else { continue };
            if node.kind() == Kind::Dir {
                frame.waiting.push((name, ino));
            }
            return Some((format!("{}/{name}", frame.path), ino, node));
        }
    }
}
