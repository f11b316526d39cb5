//! Path resolution as path_resolution(7) tells it. Nodes have no parent pointers: the
//! way down is kept as a stack, so that `..` pops it and a move changes one name only.

use crate::fs::devices;
use crate::fs::node::{Kind, Node, NodeBody, ROOT};
use crate::fs::{Errno, Tree, path};
use crate::ids::Ino;

/// A tree to resolve in, with or without the virtual `/dev` over it.
#[derive(Clone, Copy)]
pub(crate) struct View<'t> {
    pub tree: &'t Tree,
    pub devices: bool,
}

/// What the call does with the last component.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Final {
    /// A link is followed (stat).
    Follow,
    /// A link is not followed, unless a slash comes after it (lstat).
    NoFollow,
    /// Links are followed up to the name to create; a trailing slash is EISDIR
    /// (open with O_CREAT).
    Create,
    /// The name itself is meant; its length is checked by [`Found::entry`] (rename).
    Entry,
}

/// The last component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Last<'a> {
    /// The path is `/`, or a link to it was its end.
    Root,
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// A name in the directory on top of the stack.
    Name { name: &'a str, ino: Option<Ino> },
}

/// Where a path leads.
pub(crate) struct Found<'a> {
    /// Directories from the root down. For [`Last::Name`] the top is its parent, else
    /// the top is what was found.
    pub dirs: Stack<'a>,
    pub last: Last<'a>,
    /// A slash followed the last component.
    pub slash: bool,
    /// Links followed.
    pub hops: usize,
}

impl<'a> Found<'a> {
    /// The number that exists there. A name followed by a slash must be a directory.
    pub fn existing(&self, view: View<'_>) -> Result<Ino, Errno> {
        match self.last {
            Last::Root | Last::Dot | Last::DotDot => Ok(self.dirs.top()),
            Last::Name { ino: None, name } if name.len() > path::NAME_MAX => Err(Errno::ENAMETOOLONG),
            Last::Name { ino: None, .. } => Err(Errno::ENOENT),
            Last::Name { ino: Some(ino), .. } => {
                if self.slash && view.kind(ino) != Kind::Dir {
                    Err(Errno::ENOTDIR)
                } else {
                    Ok(ino)
                }
            }
        }
    }

    /// Whether the last component is neither `/` nor `.` nor `..`.
    pub fn is_name(&self) -> bool {
        matches!(self.last, Last::Name { .. })
    }

    /// The entry meant by the last component; `special` is the error for `/`, `.` and
    /// `..`.
    pub fn entry(&self, special: Errno) -> Result<(&'a str, Option<Ino>), Errno> {
        match self.last {
            Last::Root | Last::Dot | Last::DotDot => Err(special),
            Last::Name { name, .. } if name.len() > path::NAME_MAX => Err(Errno::ENAMETOOLONG),
            Last::Name { name, ino } => Ok((name, ino)),
        }
    }

    /// The path without links, `.` and `..`.
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        for name in self.dirs.names() {
            out.push('/');
            out.push_str(name);
        }
        if let Last::Name { name, .. } = self.last {
            out.push('/');
            out.push_str(name);
        }
        if out.is_empty() {
            out.push('/');
        }
        out
    }
}

impl<'t> View<'t> {
    /// Resolves an absolute path.
    pub fn lookup<'a>(self, path: &'a str, end: Final) -> Result<Found<'a>, Errno>
    where
        't: 'a,
    {
        path::check(path)?;
        self.lookup_from(Stack::root(), path, end)
    }

    /// Resolves `rest` from the directory on top of `dirs`.
    pub fn lookup_from<'a>(
        self,
        mut dirs: Stack<'a>,
        mut rest: &'a str,
        end: Final,
    ) -> Result<Found<'a>, Errno>
    where
        't: 'a,
    {
        // What is left of the paths whose links are being followed, innermost last.
        let mut pending: Vec<&'a str> = Vec::new();
        let mut hops = 0;
        let mut slash = false;
        let mut follow = matches!(end, Final::Follow | Final::Create);
        let mut last = Last::Root;
        loop {
            let Some((name, after)) = path::split_first(rest) else {
                match pending.pop() {
                    Some(outer) => {
                        rest = outer;
                        continue;
                    }
                    None => return Ok(Found { dirs, last, slash, hops }),
                }
            };
            rest = after;
            let more = path::has_more(after) || !pending.is_empty();
            if name == "." || name == ".." {
                last = if name == "." { Last::Dot } else { Last::DotDot };
                if name == ".." {
                    dirs.pop();
                }
                continue;
            }
            if !more && !after.is_empty() {
                match end {
                    Final::Create => return Err(Errno::EISDIR),
                    Final::Follow | Final::NoFollow => follow = true,
                    Final::Entry => {}
                }
                slash = true;
            }
            if name.len() > path::NAME_MAX && (more || end != Final::Entry) {
                return Err(Errno::ENAMETOOLONG);
            }
            let ino = self.child(dirs.top(), name);
            let is_link = ino.is_some_and(|ino| self.kind(ino) == Kind::Symlink);
            if !(more || follow && is_link) {
                return Ok(Found { dirs, last: Last::Name { name, ino }, slash, hops });
            }
            let ino = ino.ok_or(Errno::ENOENT)?;
            if let Some(target) = self.link_target(ino) {
                hops += 1;
                if hops > path::MAX_HOPS {
                    return Err(Errno::ELOOP);
                }
                if path::has_more(after) {
                    pending.push(after);
                }
                if target.starts_with('/') {
                    dirs = Stack::root();
                }
                last = Last::Root;
                rest = target;
            } else if self.kind(ino) == Kind::Dir {
                dirs.push(ino, name);
            } else {
                return Err(Errno::ENOTDIR);
            }
        }
    }

    /// The entry `name` of the directory `dir`.
    pub fn child(self, dir: Ino, name: &str) -> Option<Ino> {
        if dir == devices::DEV_DIR {
            return devices::child(name);
        }
        let found = self.tree.entries_of(dir).and_then(|entries| entries.get(name)).copied();
        if found.is_none() && dir == ROOT && self.devices && name == "dev" {
            return Some(devices::DEV_DIR);
        }
        found
    }

    /// Kind of a number that resolution gave.
    pub fn kind(self, ino: Ino) -> Kind {
        if devices::is_virtual(ino) {
            return devices::stat(ino).kind;
        }
        // A name whose inode is missing cannot be in a tree: from_rows and apply refuse it.
        self.tree.node(ino).map_or(Kind::File, Node::kind)
    }

    fn link_target(self, ino: Ino) -> Option<&'t str> {
        match &self.tree.node(ino)?.body {
            NodeBody::Symlink { target } => Some(target),
            NodeBody::File { .. } | NodeBody::Dir { .. } => None,
        }
    }
}

const INLINE: usize = 12;

/// The directories from the root to where resolution stands, each with its name. The
/// first twelve levels take no allocation.
pub(crate) struct Stack<'a> {
    inline: [(Ino, &'a str); INLINE],
    spill: Vec<(Ino, &'a str)>,
    /// Levels below the root.
    len: usize,
}

impl<'a> Stack<'a> {
    pub fn root() -> Self {
        Self { inline: [(ROOT, ""); INLINE], spill: Vec::new(), len: 0 }
    }

    pub fn push(&mut self, ino: Ino, name: &'a str) {
        match self.inline.get_mut(self.len) {
            Some(slot) => *slot = (ino, name),
            None => self.spill.push((ino, name)),
        }
        self.len += 1;
    }

    /// At the root nothing happens, as `/..` is `/`.
    pub fn pop(&mut self) {
        self.spill.pop();
        self.len = self.len.saturating_sub(1);
    }

    fn levels(&self) -> impl DoubleEndedIterator<Item = &(Ino, &'a str)> {
        self.inline[..self.len.min(INLINE)].iter().chain(&self.spill)
    }

    /// The same directories without their names, which may borrow from a tree that is
    /// about to change.
    pub fn detached<'b>(&self) -> Stack<'b> {
        let mut copy = Stack::root();
        for (ino, _) in self.levels() {
            copy.push(*ino, "");
        }
        copy
    }

    pub fn top(&self) -> Ino {
        self.levels().next_back().map_or(ROOT, |(ino, _)| *ino)
    }

    pub fn contains(&self, ino: Ino) -> bool {
        ino == ROOT || self.levels().any(|(level, _)| *level == ino)
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.levels().map(|(_, name)| *name)
    }
}
