//! Calls that take names away.

use imbl::OrdMap;

use super::{Fail, State, WorkingCopy};
use crate::fs::Errno;
use crate::fs::devices;
use crate::fs::node::Kind;
use crate::fs::resolve::{Final, Last};
use crate::ids::Ino;

/// A name to take away.
struct Doomed<'a> {
    dir: Ino,
    name: &'a str,
    ino: Ino,
    kind: Kind,
    slash: bool,
}

impl WorkingCopy {
    /// unlink(2): files and links. A directory is EISDIR.
    pub fn unlink(&self, path: &str) -> Result<(), Errno> {
        self.call(|state| {
            let doomed = state.doomed(path, [Errno::EISDIR; 3])?;
            match doomed.kind {
                Kind::Dir => return Err(Errno::EISDIR.into()),
                Kind::File | Kind::Symlink if doomed.slash => return Err(Errno::ENOTDIR.into()),
                Kind::File | Kind::Symlink => {}
            }
            let doomed = doomed.real()?;
            self.writable(path)?;
            self.take(state, &doomed);
            Ok(())
        })
    }

    /// rmdir(2). The root is EBUSY, `.` is EINVAL, `..` is ENOTEMPTY.
    pub fn rmdir(&self, path: &str) -> Result<(), Errno> {
        self.call(|state| {
            let doomed = state.doomed(path, [Errno::EBUSY, Errno::EINVAL, Errno::ENOTEMPTY])?;
            if doomed.kind != Kind::Dir {
                return Err(Errno::ENOTDIR.into());
            }
            let doomed = doomed.real()?;
            if state.tree.entries_of(doomed.ino).is_some_and(|entries| !entries.is_empty()) {
                return Err(Errno::ENOTEMPTY.into());
            }
            self.writable(path)?;
            self.take(state, &doomed);
            Ok(())
        })
    }

    /// Removes whatever is there, with all below it; links are not followed. The root
    /// is EBUSY, `.` and `..` are EINVAL. O(entries below).
    pub fn remove_all(&self, path: &str) -> Result<(), Errno> {
        self.call(|state| {
            let doomed = state.doomed(path, [Errno::EBUSY, Errno::EINVAL, Errno::EINVAL])?;
            if doomed.slash && doomed.kind != Kind::Dir {
                return Err(Errno::ENOTDIR.into());
            }
            let doomed = doomed.real()?;
            self.writable(path)?;
            let mut open = vec![doomed.ino];
            self.take(state, &doomed);
            while let Some(ino) = open.pop() {
                // Files and links are settled already; what still has a node here is a
                // directory that lost its name.
                if !state.tree.node(ino).is_some_and(|node| node.kind() == Kind::Dir) {
                    continue;
                }
                let Some(gone) = state.tree.remove(ino) else { continue };
                for &child in gone.entries().into_iter().flat_map(OrdMap::values) {
                    match state.view().kind(child) {
                        Kind::Dir => open.push(child),
                        Kind::File | Kind::Symlink => state.drop_link(child),
                    }
                }
            }
            Ok(())
        })
    }

    /// Takes the name away. A file or link that loses its last name goes, an empty
    /// directory too.
    fn take(&self, state: &mut State, doomed: &Doomed<'_>) {
        let &Doomed { dir, name, ino, kind, slash: _ } = doomed;
        state.tree.take_name(dir, name);
        let is_dir = kind == Kind::Dir;
        state.entry_changed(dir, (self.now)(), -i32::from(is_dir));
        if !is_dir {
            state.drop_link(ino);
        } else if state.tree.entries_of(ino).is_some_and(OrdMap::is_empty) {
            state.tree.remove(ino);
        }
    }
}

impl State {
    /// What a path names; `special` are the errors for `/`, `.` and `..`.
    fn doomed<'a>(&self, path: &'a str, special: [Errno; 3]) -> Result<Doomed<'a>, Fail> {
        let view = self.view();
        let found = view.lookup(path, Final::Entry)?;
        let special = match found.last {
            Last::Root | Last::Name { .. } => special[0],
            Last::Dot => special[1],
            Last::DotDot => special[2],
        };
        let (name, ino) = found.entry(special)?;
        let ino = ino.ok_or(Errno::ENOENT)?;
        // The last name is not followed, so it is a part of `path` itself.
        let name = &path[path.trim_end_matches('/').len() - name.len()..path.trim_end_matches('/').len()];
        Ok(Doomed { dir: found.dirs.top(), name, ino, kind: view.kind(ino), slash: found.slash })
    }
}

impl Doomed<'_> {
    /// Refuses what is virtual.
    fn real(self) -> Result<Self, Fail> {
        if devices::is_virtual(self.ino) { Err(Errno::EPERM.into()) } else { Ok(self) }
    }
}
