//! Files of the work tree beside the index: what changed, what is not known.

use super::failed::{Done, at};
use super::ignore::Rules;
use super::index::{Index, Seen, Staged};
use super::join;
use super::object::{FILE, Kind as ObjectKind, LINK, MODULE, PROGRAM};
use super::oid::Oid;
use super::pathspec::Pathspec;
use super::repo::Repo;
use super::trees::Change;
use crate::fs::{Errno, Kind, Stat};

impl Repo<'_> {
    /// The root of the work tree. Commands that need one have asked for it before.
    pub(super) fn root(&self) -> &str {
        self.work.as_deref().unwrap_or("/")
    }

    /// A file of the work tree by its path from the root.
    pub(super) fn full(&self, path: &str) -> String {
        join(self.root(), path)
    }

    /// What is at a path, without following a link there or on the way.
    pub(super) fn look_at(&self, path: &str) -> Done<Option<Stat>> {
        for (end, _) in path.match_indices('/') {
            match self.call.files.stat(&self.full(&path[..end]), false) {
                Ok(stat) if stat.kind == Kind::Dir => {}
                _ => return Ok(None),
            }
        }
        match self.call.files.stat(&self.full(path), false) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(None),
            Err(errno) => Err(at(path)(errno)),
        }
    }

    /// The mode that a file has in trees; `None` of a directory.
    pub(super) fn mode_of(stat: &Stat) -> Option<u32> {
        match stat.kind {
            Kind::File if stat.mode & 0o100 != 0 => Some(PROGRAM),
            Kind::File => Some(FILE),
            Kind::Symlink => Some(LINK),
            Kind::Dir => None,
        }
    }

    /// What git keeps of a file: its bytes, or where a link leads.
    pub(super) fn content(&self, path: &str, stat: &Stat) -> Done<Vec<u8>> {
        let full = self.full(path);
        match stat.kind {
            Kind::Symlink => {
                self.call.files.read_link(&full).map(|target| target.as_bytes().to_vec()).map_err(at(path))
            }
            _ => self.call.files.read(&full).map(|data| data.to_vec()).map_err(at(path)),
        }
    }

    /// A file as the index would hold it now; its content is not stored.
    pub(super) fn staged(&self, path: &str, stat: &Stat, store: bool) -> Done<Option<Staged>> {
        let Some(mode) = Self::mode_of(stat) else { return Ok(None) };
        let content = self.content(path, stat)?;
        let oid =
            if store { self.write(ObjectKind::Blob, &content)? } else { Oid::of(ObjectKind::Blob, &content) };
        Ok(Some(Staged { mode, oid, seen: Seen::of(stat), intent: false }))
    }

    /// How files differ from the index. What is the same after all is noted in it, and the
    /// answer says whether there was such.
    pub(super) fn unstaged(&self, index: &mut Index, spec: &Pathspec) -> Done<(Vec<Change>, bool)> {
        let modes = self.config.is("core.filemode") != Some(false);
        let (mut changes, mut fresh) = (Vec::new(), Vec::new());
        for ((path, stage), entry) in &index.entries {
            if *stage != 0 || !spec.matches(path) {
                continue;
            }
            self.go_on()?;
            let old = Some((entry.mode, entry.oid)).filter(|_| !entry.intent);
            let change = |new| Change { path: path.clone(), from: None, old, new };
            let Some(stat) = self.look_at(path)? else {
                if !entry.intent {
                    changes.push(change(None));
                }
                continue;
            };
            if entry.mode == MODULE {
                if stat.kind != Kind::Dir {
                    changes.push(change(None));
                }
                continue;
            }
            let mode = Self::mode_of(&stat);
            if mode == Some(entry.mode) && index.is_same(entry, &stat) && !entry.intent {
                continue;
            }
            let Some(mut now) = self.staged(path, &stat, false)? else {
                changes.push(change(None));
                continue;
            };
            if !modes && now.mode != LINK && entry.mode != LINK {
                now.mode = entry.mode;
            }
            if (now.mode, now.oid) == (entry.mode, entry.oid) && !entry.intent {
                if now.seen != entry.seen {
                    fresh.push((path.clone(), now));
                }
            } else {
                changes.push(change(Some((now.mode, now.oid))));
            }
        }
        let any = !fresh.is_empty();
        for (path, entry) in fresh {
            index.entries.insert((path, 0), entry);
        }
        Ok((changes, any))
    }

    /// Files that are not in the index, in order; directories of nothing else as one, with
    /// a slash at its end, unless `each`. With `ignored` those that are ignored.
    pub(super) fn untracked(
        &self,
        index: &Index,
        spec: &Pathspec,
        home: &str,
        each: bool,
        ignored: bool,
    ) -> Done<Vec<String>> {
        let mut walk = Walk {
            repo: self,
            index,
            spec,
            rules: Rules::new(self, home)?,
            each,
            ignored,
            found: Vec::new(),
        };
        walk.dir("", false)?;
        walk.found.sort();
        Ok(walk.found)
    }
}

struct Walk<'w, 'a> {
    repo: &'w Repo<'a>,
    index: &'w Index,
    spec: &'w Pathspec,
    rules: Rules,
    each: bool,
    ignored: bool,
    found: Vec<String>,
}

impl Walk<'_, '_> {
    /// `within`: an ignored directory. Whether there is a file that is not ignored.
    fn dir(&mut self, dir: &str, within: bool) -> Done<bool> {
        self.repo.go_on()?;
        let before = self.rules.enter(self.repo, self.repo.root(), dir)?;
        let mut plain = false;
        for (name, stat) in self.repo.call.files.read_dir(&self.repo.full(dir)).map_err(at(dir))? {
            let path = if dir.is_empty() { name.to_string() } else { format!("{dir}/{name}") };
            let full = self.repo.full(&path);
            // `/dev` is the interpreter's invention, and no file of a repository.
            if &*name == ".git" || full == self.repo.dir || full == "/dev" {
                continue;
            }
            let is_dir = stat.kind == Kind::Dir;
            let ignored = within || self.rules.ignores(&path, is_dir);
            if is_dir {
                plain |= self.spec.reaches(&path) && self.inner_dir(path, &full, ignored)?;
                continue;
            }
            plain |= !ignored;
            if ignored == self.ignored && !self.index.has(&path) && self.spec.matches(&path) {
                self.found.push(path);
            }
        }
        self.rules.leave(before);
        Ok(plain)
    }

    fn inner_dir(&mut self, path: String, full: &str, ignored: bool) -> Done<bool> {
        let tracked = self.index.has_below(&path);
        if ignored && !tracked {
            if self.ignored && self.spec.matches(&path) && self.has_file(&path)? {
                if self.each {
                    self.dir(&path, true)?;
                } else {
                    self.found.push(format!("{path}/"));
                }
            }
            return Ok(false);
        }
        if self.index.has(&path) {
            return Ok(true);
        }
        let foreign = self.repo.call.files.exists(&join(full, ".git/HEAD")).unwrap_or(false);
        if foreign && !tracked {
            if !self.ignored && self.spec.matches(&path) {
                self.found.push(format!("{path}/"));
            }
            return Ok(true);
        }
        let count = self.found.len();
        let plain = self.dir(&path, ignored)?;
        // As one: a directory of unknown files, or of ignored ones alone.
        let alone = !tracked && !self.each && self.spec.matches(&path) && !(self.ignored && plain);
        if alone && self.found.len() > count {
            self.found.truncate(count);
            self.found.push(format!("{path}/"));
        }
        Ok(plain || tracked)
    }

    fn has_file(&self, dir: &str) -> Done<bool> {
        for (name, stat) in self.repo.call.files.read_dir(&self.repo.full(dir)).map_err(at(dir))? {
            if stat.kind != Kind::Dir || self.has_file(&format!("{dir}/{name}"))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
