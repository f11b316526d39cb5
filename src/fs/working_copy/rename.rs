//! rename(2).

use super::{Fail, State, WorkingCopy};
use crate::fs::Errno;
use crate::fs::devices;
use crate::fs::node::{Kind, Name};
use crate::fs::resolve::Final;
use crate::ids::Ino;

/// A move that is allowed.
struct Move {
    from_dir: Ino,
    from_name: Name,
    ino: Ino,
    is_dir: bool,
    to_dir: Ino,
    to_name: Name,
    /// What the new name stood for; it goes.
    replaced: Option<Ino>,
}

impl WorkingCopy {
    /// rename(2), with all its rules. O(log n) whatever is below a directory.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.call(|state| {
            let Some(moved) = state.check_move(from, to)? else { return Ok(()) };
            self.writable(from)?;
            let Move { from_dir, from_name, ino, is_dir, to_dir, to_name, replaced } = moved;
            let now_ns = (self.now)();
            state.tree.take_name(from_dir, &from_name);
            state.entry_changed(from_dir, now_ns, -i32::from(is_dir));
            state.tree.add_name(to_dir, to_name, ino);
            state.entry_changed(to_dir, now_ns, i32::from(is_dir));
            if let Some(old) = replaced {
                if is_dir {
                    state.tree.remove(old);
                    state.entry_changed(to_dir, now_ns, -1);
                } else {
                    state.drop_link(old);
                }
            }
            Ok(())
        })
    }
}

impl State {
    /// `None`: both names stand for the same inode, and nothing is to be done. The
    /// checks are in the order of Linux.
    fn check_move(&self, from: &str, to: &str) -> Result<Option<Move>, Fail> {
        let view = self.view();
        let old = view.lookup(from, Final::Entry)?;
        let new = view.lookup(to, Final::Entry)?;
        if !(old.is_name() && new.is_name()) {
            return Err(Errno::EBUSY.into());
        }
        let (from_name, ino) = old.entry(Errno::EBUSY)?;
        let ino = ino.ok_or(Errno::ENOENT)?;
        let (to_name, target) = new.entry(Errno::EBUSY)?;
        let is_dir = view.kind(ino) == Kind::Dir;
        if !is_dir && (old.slash || new.slash) {
            return Err(Errno::ENOTDIR.into());
        }
        if is_dir && new.dirs.contains(ino) {
            return Err(Errno::EINVAL.into());
        }
        if target.is_some_and(|target| old.dirs.contains(target)) {
            return Err(Errno::ENOTEMPTY.into());
        }
        let (from_dir, to_dir) = (old.dirs.top(), new.dirs.top());
        if [ino, from_dir, to_dir].into_iter().chain(target).any(devices::is_virtual) {
            return Err(Errno::EPERM.into());
        }
        if target == Some(ino) {
            return Ok(None);
        }
        if let Some(target) = target {
            match (is_dir, view.kind(target) == Kind::Dir) {
                (true, false) => return Err(Errno::ENOTDIR.into()),
                (false, true) => return Err(Errno::EISDIR.into()),
                (false, false) => {}
                (true, true) => {
                    if self.tree.entries_of(target).is_some_and(|entries| !entries.is_empty()) {
                        return Err(Errno::ENOTEMPTY.into());
                    }
                }
            }
        }
        let (from_name, to_name) = (from_name.into(), to_name.into());
        Ok(Some(Move { from_dir, from_name, ino, is_dir, to_dir, to_name, replaced: target }))
    }
}
