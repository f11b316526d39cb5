//! Applying ingested entries to a working copy, as tar would unpack them.

use super::archive::{Entry, What};
use super::extract::parent;
use super::files::fs_error;
use crate::fs::{Errno, Kind, WorkingCopy};
use crate::session::SessionError;

/// Makes `base` and all entries below it. An entry that would end up outside of
/// `base`, because a link of the sandbox leads there, is refused.
pub fn apply(copy: &WorkingCopy, base: &str, entries: &[Entry]) -> Result<(), SessionError> {
    copy.make_dirs(base).map_err(|errno| fs_error(errno, base))?;
    let inside = copy.canonical(base).map_err(|errno| fs_error(errno, base))?;
    let mut checked = String::new();
    for entry in entries {
        let path = join(base, &entry.path);
        let directory = parent(&path);
        if directory != checked {
            make_parent(copy, directory, &inside)?;
            directory.clone_into(&mut checked);
        }
        one(copy, base, entry, &path).map_err(|errno| fs_error(errno, &path))?;
        if matches!(entry.what, What::Symlink(_)) {
            checked.clear();
        }
    }
    // Entries below a directory have touched its time meanwhile.
    for entry in entries.iter().rev().filter(|entry| matches!(entry.what, What::Dir)) {
        let path = join(base, &entry.path);
        if let Some(mtime_ns) = entry.mtime_ns {
            copy.set_mtime(&path, mtime_ns, false).map_err(|errno| fs_error(errno, &path))?;
        }
    }
    Ok(())
}

fn make_parent(copy: &WorkingCopy, directory: &str, inside: &str) -> Result<(), SessionError> {
    copy.make_dirs(directory).map_err(|errno| fs_error(errno, directory))?;
    let real = copy.canonical(directory).map_err(|errno| fs_error(errno, directory))?;
    let within =
        inside == "/" || real == inside || real.strip_prefix(inside).is_some_and(|r| r.starts_with('/'));
    if within {
        return Ok(());
    }
    Err(SessionError::Invalid(format!("{directory}: a link of the sandbox leads out of basePath")))
}

fn one(copy: &WorkingCopy, base: &str, entry: &Entry, path: &str) -> Result<(), Errno> {
    let present = copy.stat(path, false).ok();
    match &entry.what {
        What::Dir => {
            match present.map(|stat| stat.kind) {
                None => copy.mkdir(path)?,
                Some(Kind::Dir) => {}
                Some(Kind::File | Kind::Symlink) => return Err(Errno::EEXIST),
            }
            return entry.mode.map_or(Ok(()), |mode| copy.chmod(path, mode));
        }
        What::File(content) => {
            // A new file in place of a link, not a write through it.
            match present {
                Some(stat) if stat.kind == Kind::Dir => return Err(Errno::EISDIR),
                Some(stat) if stat.kind == Kind::Symlink || stat.nlink > 1 => copy.unlink(path)?,
                Some(_) | None => {}
            }
            content.write(copy, path)?;
            if let Some(mode) = entry.mode {
                copy.chmod(path, mode)?;
            }
        }
        What::Symlink(target) => {
            if present.is_some() {
                copy.unlink(path)?;
            }
            copy.symlink(target, path)?;
        }
        What::HardLink(to) => {
            let to = join(base, to);
            let same = copy.stat(&to, false)?.ino;
            if present.is_some_and(|stat| stat.ino == same) {
                return Ok(());
            }
            if present.is_some() {
                copy.unlink(path)?;
            }
            // Mode and time are those of the file.
            return copy.link(&to, path);
        }
    }
    entry.mtime_ns.map_or(Ok(()), |mtime_ns| copy.set_mtime(path, mtime_ns, false))
}

/// A relative path below an absolute one.
#[must_use]
pub fn join(base: &str, relative: &str) -> String {
    if base == "/" { format!("/{relative}") } else { format!("{base}/{relative}") }
}
