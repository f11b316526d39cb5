//! Which files are searched, in which order.

use crate::exec::commands::{Call, glob, join};
use crate::fs::{Errno, Kind, Stat};

/// What `--include` and `--exclude` say: the last pattern that fits decides.
#[derive(Debug, Default)]
pub(super) struct Globs<'a> {
    /// Of files: the pattern, and whether it includes.
    files: Vec<(std::borrow::Cow<'a, str>, bool)>,
    dirs: Vec<&'a str>,
    /// Lists that `--exclude-from` names, to be read.
    lists: Vec<&'a str>,
}

impl<'a> Globs<'a> {
    pub(super) fn include(&mut self, glob: &'a str) {
        self.files.push((glob.into(), true));
    }

    pub(super) fn exclude(&mut self, glob: &'a str) {
        self.files.push((glob.into(), false));
    }

    pub(super) fn exclude_dir(&mut self, glob: &'a str) {
        let trimmed = glob.trim_end_matches('/');
        self.dirs.push(if trimmed.is_empty() { glob } else { trimmed });
    }

    pub(super) fn exclude_from(&mut self, list: &'a str) {
        self.lists.push(list);
    }

    /// Reads the lists. `Err` names one that cannot be read.
    pub(super) fn read_lists(&mut self, call: &Call<'_>) -> Result<(), (&'a str, Errno)> {
        for list in std::mem::take(&mut self.lists) {
            let data = call.read(list).map_err(|errno| (list, errno))?;
            let text = String::from_utf8_lossy(&data);
            let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
            self.files.extend(lines.map(|line| (line.to_owned().into(), false)));
        }
        Ok(())
    }

    /// Whether a file is left out. One that stands on the command line also fits by what
    /// follows a slash.
    pub(super) fn skip_file(&self, name: &str, operand: bool) -> bool {
        let fitting = self.files.iter().rev().find(|(glob, _)| fits(glob, name, operand));
        match (fitting, self.files.first()) {
            (Some((_, includes)), _) => !includes,
            (None, Some((_, includes))) => *includes,
            (None, None) => false,
        }
    }

    /// As [`Globs::skip_file`] of a directory.
    pub(super) fn skip_dir(&self, name: &str, operand: bool) -> bool {
        self.dirs.iter().any(|glob| fits(glob, name, operand))
    }
}

fn fits(glob: &str, name: &str, operand: bool) -> bool {
    glob::matches(glob, name)
        || (operand && name.match_indices('/').any(|(at, _)| glob::matches(glob, &name[at + 1..])))
}

/// A walk below one directory, without recursion of its own.
pub(super) struct Walk {
    /// Directories that are open, with what is left of them, last first.
    open: Vec<Dir>,
}

struct Dir {
    /// As it is shown, and where it is.
    shown: String,
    path: String,
    ino: u64,
    rest: std::vec::IntoIter<(crate::fs::Name, Stat)>,
}

/// What a walk comes to.
pub(super) enum Found {
    /// As it is shown, and its number.
    File(String, u64),
    /// A link that is followed to a file: as it is shown, and where it is.
    Link(String, String),
    /// A file that only the interpreter has.
    Lent(String),
    /// A directory that cannot be read, or leads back to one above it.
    Failed(String, Errno),
    Loop(String),
}

impl Walk {
    /// Begins in `path`, which is shown as `shown`; if that is empty, so that names stand alone.
    pub(super) fn new(call: &Call<'_>, shown: &str, path: &str) -> Result<Self, Errno> {
        let lent = call.lent.get(shown).map(|lent| lent.stat);
        let ino = lent.map_or_else(|| call.files.stat(path, true), Ok)?.ino;
        let mut walk = Self { open: Vec::new() };
        walk.enter(call, shown.to_owned(), path.to_owned(), ino)?;
        Ok(walk)
    }

    fn enter(&mut self, call: &Call<'_>, shown: String, path: String, ino: u64) -> Result<(), Errno> {
        let rest = match call.lent.get(&shown) {
            Some(lent) => lent.entries.clone(),
            None => call.files.read_dir(&path)?,
        }
        .into_iter();
        self.open.push(Dir { shown, path, ino, rest });
        Ok(())
    }

    /// The next file. Links are passed over unless they are followed.
    pub(super) fn next(&mut self, call: &Call<'_>, globs: &Globs<'_>, follow: bool) -> Option<Found> {
        loop {
            let dir = self.open.last_mut()?;
            let Some((name, mut stat)) = dir.rest.next() else {
                self.open.pop();
                continue;
            };
            let shown = if dir.shown.is_empty() { name.to_string() } else { join(&dir.shown, &name) };
            let linked = stat.kind == Kind::Symlink;
            if linked {
                if !follow {
                    continue;
                }
                match call.files.stat(&join(&dir.path, &name), true) {
                    Ok(target) => stat = target,
                    Err(errno) => return Some(Found::Failed(shown, errno)),
                }
            }
            match stat.kind {
                Kind::Dir if globs.skip_dir(&name, false) => {}
                Kind::Dir => {
                    let path = join(&dir.path, &name);
                    if linked && self.open.iter().any(|above| above.ino == stat.ino) {
                        return Some(Found::Loop(shown));
                    }
                    // What the interpreter invents has no number; it is searched if it is named.
                    if (stat.ino != 0 || call.lent.contains_key(&shown))
                        && let Err(errno) = self.enter(call, shown.clone(), path, stat.ino)
                    {
                        return Some(Found::Failed(shown, errno));
                    }
                }
                Kind::File | Kind::Symlink if globs.skip_file(&name, false) => {}
                Kind::File | Kind::Symlink if stat.ino == 0 => {
                    if call.lent.contains_key(&shown) {
                        return Some(Found::Lent(shown));
                    }
                }
                Kind::File | Kind::Symlink if linked => {
                    return Some(Found::Link(shown, join(&dir.path, &name)));
                }
                Kind::File | Kind::Symlink => return Some(Found::File(shown, stat.ino)),
            }
        }
    }
}
