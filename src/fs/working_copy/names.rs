//! Calls that make names and change what belongs to an inode but its content.

use imbl::OrdMap;

use super::limits::LINK_MAX;
use super::{Fail, State, WorkingCopy};
use crate::fs::devices;
use crate::fs::node::{Kind, Name, Node, NodeBody};
use crate::fs::resolve::{Final, Last, Stack};
use crate::fs::{Errno, path};
use crate::ids::Ino;

/// Carried from a directory to the directories made in it.
const SETGID: u32 = 0o2000;

impl WorkingCopy {
    /// mkdir(2), mode 0755.
    pub fn mkdir(&self, path: &str) -> Result<(), Errno> {
        self.call(|state| {
            let (dir, name) = state.free_name(path, Kind::Dir)?;
            self.make_dir(state, path, dir, name)?;
            Ok(())
        })
    }

    /// Makes `dir` and every directory above it that is missing, for something that is
    /// to be put there: a file in the way is ENOTDIR, wherever it stands.
    pub fn make_dirs(&self, dir: &str) -> Result<(), Errno> {
        self.mkdir_all(dir).map_err(|errno| match errno {
            Errno::EEXIST => Errno::ENOTDIR,
            other => other,
        })
    }

    /// `mkdir -p`: existing directories (links to them too) are fine, a file on the way
    /// is ENOTDIR, as the last component EEXIST.
    pub fn mkdir_all(&self, path: &str) -> Result<(), Errno> {
        self.call(|state| {
            path::check(path)?;
            let mut dirs = Stack::root();
            let mut rest = path;
            while let Some((name, after)) = path::split_first(rest) {
                rest = after;
                let view = state.view();
                // One component that is missing is no error of the look-up, so ENOENT
                // means a link that leads nowhere: its name is taken.
                let found = view.lookup_from(dirs, name, Final::Follow).map_err(|errno| match errno {
                    Errno::ENOENT => Errno::EEXIST,
                    other => other,
                })?;
                dirs = found.dirs;
                match found.last {
                    Last::Root | Last::Dot | Last::DotDot => {}
                    Last::Name { ino: Some(ino), .. } if view.kind(ino) == Kind::Dir => dirs.push(ino, name),
                    Last::Name { ino: Some(_), .. } if found.slash || path::has_more(rest) => {
                        return Err(Errno::ENOTDIR.into());
                    }
                    Last::Name { ino: Some(_), .. } => return Err(Errno::EEXIST.into()),
                    Last::Name { ino: None, .. } if found.hops > 0 => return Err(Errno::EEXIST.into()),
                    Last::Name { ino: None, .. } => {
                        let parent = dirs.top();
                        if devices::is_virtual(parent) {
                            return Err(Errno::EPERM.into());
                        }
                        // The names on the stack borrow from the tree where links led.
                        let mut kept = dirs.detached();
                        let ino = self.make_dir(state, path, parent, name.into())?;
                        kept.push(ino, "");
                        dirs = kept;
                    }
                }
            }
            Ok(())
        })
    }

    /// link(2) (a symlink as `from` is linked itself; a directory is EPERM).
    pub fn link(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.call(|state| {
            let ino = state.existing(from, false)?;
            let (dir, name) = state.free_name(to, Kind::File)?;
            if devices::is_virtual(ino) || state.node(ino)?.kind() == Kind::Dir {
                return Err(Errno::EPERM.into());
            }
            if state.node(ino)?.nlink >= LINK_MAX {
                return Err(Errno::EMLINK.into());
            }
            self.room_for_name(state)?;
            self.writable(to)?;
            state.tree.add_name(dir, name, ino);
            state.tree.edit(ino, |node| node.nlink += 1);
            state.entry_changed(dir, (self.now)(), 0);
            Ok(())
        })
    }

    /// symlink(2).
    pub fn symlink(&self, target: &str, link: &str) -> Result<(), Errno> {
        self.call(|state| {
            path::check_text(target)?;
            let (dir, name) = state.free_name(link, Kind::Symlink)?;
            self.room_for_name(state)?;
            self.room_for_target(state, target)?;
            self.writable(link)?;
            let body = NodeBody::Symlink { target: target.into() };
            state.create(dir, name, Node { mode: 0o777, mtime_ns: (self.now)(), nlink: 1, body });
            Ok(())
        })
    }

    /// chmod(2), links followed, bits 0o7777.
    pub fn chmod(&self, path: &str, mode: u32) -> Result<(), Errno> {
        self.call(|state| {
            let ino = state.own(path, true)?;
            self.writable(path)?;
            state.tree.edit(ino, |node| node.mode = mode & 0o7777);
            Ok(())
        })
    }

    /// utimensat(2) of the modification time, of files, directories and links.
    pub fn set_mtime(&self, path: &str, mtime_ns: i64, follow: bool) -> Result<(), Errno> {
        self.call(|state| {
            let ino = state.own(path, follow)?;
            self.writable(path)?;
            state.tree.edit(ino, |node| node.mtime_ns = mtime_ns);
            Ok(())
        })
    }

    fn make_dir(&self, state: &mut State, path: &str, dir: Ino, name: Name) -> Result<Ino, Fail> {
        self.room_for_name(state)?;
        self.writable(path)?;
        let mode = 0o777 & !self.umask() | (state.node(dir)?.mode & SETGID);
        let body = NodeBody::Dir { entries: OrdMap::new() };
        Ok(state.create(dir, name, Node { mode, mtime_ns: (self.now)(), nlink: 2, body }))
    }
}

impl State {
    /// The place of a name that must be free. Only a directory may be made with a
    /// slash after its name.
    fn free_name(&self, path: &str, kind: Kind) -> Result<(Ino, Name), Errno> {
        let found = self.view().lookup(path, Final::Entry)?;
        let (name, there) = found.entry(Errno::EEXIST)?;
        let dir = found.dirs.top();
        if there.is_some() {
            Err(Errno::EEXIST)
        } else if found.slash && kind != Kind::Dir {
            Err(Errno::ENOENT)
        } else if devices::is_virtual(dir) {
            Err(Errno::EPERM)
        } else {
            Ok((dir, name.into()))
        }
    }

    /// Something that exists and is not virtual.
    fn own(&self, path: &str, follow: bool) -> Result<Ino, Errno> {
        let ino = self.existing(path, follow)?;
        if devices::is_virtual(ino) { Err(Errno::EPERM) } else { Ok(ino) }
    }
}
