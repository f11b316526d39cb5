//! Walks of `find` and `du`: from starting points down, one entry after the other, by numbers
//! and not by paths. Names come sorted by bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::absolute;
use crate::fs::{Errno, Kind, Name, Sight, Stat, WorkingCopy};
use crate::ids::Ino;

/// Which symbolic links stand for what they lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    Never,
    Starts,
    Always,
}

/// What is walked, and how.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) cwd: String,
    pub(super) starts: Vec<String>,
    pub(super) follow: Follow,
    pub(super) min: usize,
    pub(super) max: usize,
    /// What is in a directory comes before it.
    pub(super) inside_first: bool,
    /// What only the engine has: absolute path → stat.
    pub(super) over: BTreeMap<String, Stat>,
}

/// What is being looked at. Its path is [`Walk::path`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    path: usize,
    name: usize,
    /// Length of the starting point that it is below.
    pub(super) start: usize,
    pub(super) level: usize,
    /// Links followed as asked for.
    pub(super) ino: Ino,
    pub(super) stat: Stat,
    /// Of the link itself, if it was followed.
    pub(super) link: Option<Ino>,
}

struct Frame {
    dir: Entry,
    entries: std::vec::IntoIter<(Name, Ino, Stat)>,
    /// Which look they are of.
    look: u64,
}

pub(super) struct Walk {
    files: Arc<WorkingCopy>,
    sight: Sight,
    /// Counts what [`Walk::refresh`] has looked.
    look: u64,
    plan: Plan,
    starts: std::vec::IntoIter<String>,
    /// Of the current entry; longer while what is below was visited.
    path: String,
    frames: Vec<Frame>,
    /// The directory that was just shown, to be entered.
    ahead: Option<Entry>,
    skips: Option<Box<Skips>>,
    /// What could not be seen.
    pub(super) trouble: Vec<Trouble>,
}

/// Says of a path what is left out with all that is below it.
type Skips = dyn FnMut(&str, &Entry) -> bool + Send;

/// Why something is not shown.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It cannot be looked at.
    Errno(String, Errno),
    /// It leads back to a directory above it, which is named second.
    Loop(String, String),
}

impl Walk {
    pub(super) fn new(files: Arc<WorkingCopy>, mut plan: Plan) -> Result<Self, Errno> {
        let mut sight = files.sight()?;
        sight.lay_over(&plan.over);
        let starts = std::mem::take(&mut plan.starts).into_iter();
        Ok(Self {
            files,
            sight,
            look: 0,
            plan,
            starts,
            path: String::new(),
            frames: Vec::new(),
            ahead: None,
            skips: None,
            trouble: Vec::new(),
        })
    }

    /// Leaves out what `skips` says.
    pub(super) fn skipping(self, skips: impl FnMut(&str, &Entry) -> bool + Send + 'static) -> Self {
        Self { skips: Some(Box::new(skips)), ..self }
    }

    pub(super) fn sight(&self) -> &Sight {
        &self.sight
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Something was changed: looks anew.
    pub(super) fn refresh(&mut self) {
        if let Ok(mut sight) = self.files.sight() {
            sight.lay_over(&self.plan.over);
            self.sight = sight;
            self.look += 1;
        }
    }

    /// The path of an entry, as it is printed.
    pub(super) fn path(&self, entry: &Entry) -> &str {
        &self.path[..entry.path]
    }

    /// Its last component, without slashes at its end.
    pub(super) fn name(&self, entry: &Entry) -> &str {
        let name = self.path[entry.name..entry.path].trim_end_matches('/');
        if name.is_empty() { "/" } else { name }
    }

    /// What the path says before its last component.
    pub(super) fn above(&self, entry: &Entry) -> &str {
        &self.path[..entry.name]
    }

    /// Its path for the calls of a working copy.
    pub(super) fn absolute(&self, entry: &Entry) -> String {
        absolute(&self.plan.cwd, self.path(entry))
    }

    /// What is below the current entry is not shown.
    pub(super) fn prune(&mut self) {
        self.ahead = None;
    }

    /// The next one. A directory that is not pruned before the next call is entered.
    pub(super) fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some(dir) = self.ahead.take() {
                self.enter(dir);
            }
            let Some(frame) = self.frames.last_mut() else {
                let start = self.starts.next()?;
                if let Some(entry) = self.start(&start)
                    && let Some(entry) = self.meet(entry)
                {
                    return Some(entry);
                }
                continue;
            };
            let dir = frame.dir;
            let look = frame.look;
            let Some((name, ino, stat)) = frame.entries.next() else {
                self.frames.pop();
                self.path.truncate(dir.path);
                if self.plan.inside_first && dir.level >= self.plan.min {
                    let stat = self.sight.stat(dir.ino).unwrap_or(dir.stat);
                    return Some(Entry { stat, ..dir });
                }
                continue;
            };
            self.path.truncate(dir.path);
            if !self.path.ends_with('/') {
                self.path.push('/');
            }
            let at = self.path.len();
            self.path.push_str(&name);
            // One that a command has taken away since is shown as it was.
            let now = if look == self.look { None } else { self.sight.stat(ino) };
            let stat = now.unwrap_or(stat);
            let entry = Entry {
                path: self.path.len(),
                name: at,
                start: dir.start,
                level: dir.level + 1,
                ino,
                stat,
                link: None,
            };
            let followed = self.plan.follow == Follow::Always && stat.kind == Kind::Symlink;
            let entry = if followed { self.followed(entry) } else { Some(entry) };
            if let Some(entry) = entry
                && let Some(entry) = self.meet(entry)
            {
                return Some(entry);
            }
        }
    }

    fn start(&mut self, start: &str) -> Option<Entry> {
        start.clone_into(&mut self.path);
        let path = absolute(&self.plan.cwd, start);
        let found = if start.is_empty() { Err(Errno::ENOENT) } else { self.sight.find(&path, false) };
        let ino = match found {
            Ok(ino) => ino,
            Err(errno) => {
                self.cannot(errno);
                return None;
            }
        };
        let name = start.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
        let entry = Entry {
            path: start.len(),
            name,
            start: start.len(),
            level: 0,
            ino,
            stat: self.sight.stat(ino)?,
            link: None,
        };
        let followed = self.plan.follow != Follow::Never && entry.stat.kind == Kind::Symlink;
        if followed { self.followed(entry) } else { Some(entry) }
    }

    /// What a link leads to; the link itself if that is nowhere.
    fn followed(&mut self, entry: Entry) -> Option<Entry> {
        match self.sight.find(&self.absolute(&entry), true) {
            Ok(ino) => {
                let stat = self.sight.stat(ino).unwrap_or(entry.stat);
                Some(Entry { ino, stat, link: Some(entry.ino), ..entry })
            }
            Err(Errno::ENOENT | Errno::ENOTDIR) => Some(entry),
            Err(errno) => {
                self.cannot(errno);
                None
            }
        }
    }

    /// The entry, if it is to be shown now.
    fn meet(&mut self, entry: Entry) -> Option<Entry> {
        if let Some(skips) = &mut self.skips
            && skips(&self.path[..entry.path], &entry)
        {
            return None;
        }
        let mut opens = entry.stat.kind == Kind::Dir && entry.level < self.plan.max;
        if opens
            && entry.link.is_some()
            && let Some(above) = self.frames.iter().find(|frame| frame.dir.ino == entry.ino)
        {
            let above = self.path(&above.dir).to_owned();
            self.trouble.push(Trouble::Loop(self.path(&entry).to_owned(), above));
            return None;
        }
        if opens && self.plan.inside_first {
            self.enter(entry);
            return None;
        }
        opens &= self.ahead.is_none();
        if opens {
            self.ahead = Some(entry);
        }
        (entry.level >= self.plan.min).then_some(entry)
    }

    fn enter(&mut self, dir: Entry) {
        if self.sight.stat(dir.ino).is_none() {
            self.path.truncate(dir.path);
            self.cannot(Errno::ENOENT);
            return;
        }
        self.frames.push(Frame { dir, entries: self.sight.entries(dir.ino).into_iter(), look: self.look });
    }

    fn cannot(&mut self, errno: Errno) {
        self.trouble.push(Trouble::Errno(self.path.clone(), errno));
    }
}
