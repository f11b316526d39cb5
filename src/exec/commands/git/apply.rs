//! Brings the work tree and the index from one state to another, and refuses to lose what
//! was not committed.

use std::collections::BTreeSet;

use super::failed::{Done, Failed, at, fatal};
use super::ignore::Rules;
use super::index::{Index, Seen, Staged, check_path};
use super::object::{LINK, MODULE, PROGRAM};
use super::pathspec::Pathspec;
use super::repo::Repo;
use super::trees::{Flat, Side};
use crate::fs::Kind;

/// What wants the change, as refusals name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    Checkout,
    Merge,
}

impl Repo<'_> {
    /// Writes a file of the work tree. Nothing is written through a link.
    pub(super) fn put_file(&self, path: &str, (mode, oid): (u32, super::oid::Oid)) -> Done<Staged> {
        check_path(path)?;
        let (files, full) = (&self.call.files, self.full(path));
        for (end, _) in path.match_indices('/') {
            let dir = self.full(&path[..end]);
            match files.stat(&dir, false) {
                Ok(stat) if stat.kind == Kind::Dir => continue,
                Ok(_) => files.unlink(&dir).map_err(at(path))?,
                Err(_) => {}
            }
            files.mkdir(&dir).map_err(at(path))?;
        }
        if mode == MODULE {
            if files.stat(&full, false).is_err() {
                files.mkdir(&full).map_err(at(path))?;
            }
            return Ok(Staged { mode, oid, seen: Seen::default(), intent: false });
        }
        let data = self.blob(&oid)?;
        match files.stat(&full, false) {
            Ok(stat) if stat.kind == Kind::Dir => files.remove_all(&full).map_err(at(path))?,
            Ok(_) => files.unlink(&full).map_err(at(path))?,
            Err(_) => {}
        }
        if mode == LINK {
            let target = std::str::from_utf8(&data).map_err(|_| {
                fatal(format!("{path}: a link whose target is not UTF-8 is not supported here"))
            })?;
            files.symlink(target, &full).map_err(at(path))?;
        } else {
            let wanted = if mode == PROGRAM { 0o777 } else { 0o666 };
            files.write_new(&full, &data, wanted & !files.umask()).map_err(at(path))?;
        }
        let stat = files.stat(&full, false).map_err(at(path))?;
        Ok(Staged { mode, oid, seen: Seen::of(&stat), intent: false })
    }

    /// Removes a file of the work tree, and directories that became empty.
    pub(super) fn remove_file(&self, path: &str, keep: Option<&str>) -> Done {
        check_path(path)?;
        let Some(stat) = self.look_at(path)? else { return Ok(()) };
        let full = self.full(path);
        if stat.kind == Kind::Dir {
            let _ = self.call.files.rmdir(&full);
        } else {
            self.call.files.unlink(&full).map_err(at(path))?;
        }
        let mut above = path;
        while let Some((dir, _)) = above.rsplit_once('/') {
            if keep == Some(&self.full(dir)) || self.call.files.rmdir(&self.full(dir)).is_err() {
                break;
            }
            above = dir;
        }
        Ok(())
    }

    /// Whether the work tree has something else in a file's place than the index says.
    fn is_dirty(&self, index: &Index, path: &str) -> Done<bool> {
        let Some(entry) = index.get(path) else { return Ok(false) };
        let Some(stat) = self.look_at(path)? else { return Ok(false) };
        if entry.mode == MODULE || Self::mode_of(&stat) == Some(entry.mode) && index.is_same(entry, &stat) {
            return Ok(false);
        }
        let now = self.staged(path, &stat, false)?;
        Ok(now.is_none_or(|now| (now.mode, now.oid) != (entry.mode, entry.oid)))
    }

    /// Goes from `from` to `to`. Files that neither changes keep what they have.
    pub(super) fn switch(&self, index: &mut Index, from: &Flat, to: &Flat, home: &str, why: For) -> Done {
        let (mut local, mut unknown) = (Vec::new(), BTreeSet::new());
        let rules = Rules::new(self, home)?;
        let paths: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
        let mut steps: Vec<(&String, Side)> = Vec::new();
        for path in paths {
            let (old, new) = (from.get(path).copied(), to.get(path).copied());
            if old == new {
                continue;
            }
            self.go_on()?;
            check_path(path)?;
            let held: Side = index.get(path).map(|entry| (entry.mode, entry.oid));
            if held == new && held.is_some() || held == new && old.is_some() {
                continue;
            }
            if held != old && (held.is_some() || old.is_some()) || self.is_dirty(index, path)? {
                local.push(path.clone());
                continue;
            }
            if held.is_none() && new.is_some() {
                unknown.extend(self.in_the_way(index, &rules, path)?);
            }
            if new.is_some_and(|(mode, _)| mode != MODULE) && self.has_unknown(index, path)? {
                unknown.insert(path.clone());
            }
            steps.push((path, new));
        }
        if !index.unmerged().is_empty() {
            return Err(Failed {
                exit: 1,
                message: "error: you need to resolve your current index first".into(),
            });
        }
        refuse(&local, &unknown.into_iter().collect::<Vec<_>>(), why)?;
        self.carry_out(index, &steps)
    }

    /// Whether a directory stands where a file goes, with files in it that nobody knows.
    fn has_unknown(&self, index: &Index, path: &str) -> Done<bool> {
        if !self.look_at(path)?.is_some_and(|stat| stat.kind == Kind::Dir) {
            return Ok(false);
        }
        for (name, stat) in self.call.files.read_dir(&self.full(path)).map_err(at(path))? {
            let inner = format!("{path}/{name}");
            let unknown =
                if stat.kind == Kind::Dir { self.has_unknown(index, &inner)? } else { !index.has(&inner) };
            if unknown {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Files that nobody knows and that would be overwritten.
    fn in_the_way(&self, index: &Index, rules: &Rules, path: &str) -> Done<Option<String>> {
        let mut ends: Vec<usize> = path.match_indices('/').map(|(end, _)| end).collect();
        ends.push(path.len());
        for end in ends {
            let part = &path[..end];
            let Ok(stat) = self.call.files.stat(&self.full(part), false) else { return Ok(None) };
            let is_dir = stat.kind == Kind::Dir;
            if is_dir && end < path.len() {
                continue;
            }
            if index.has(part) || index.has_below(part) || rules.ignores(part, is_dir) {
                return Ok(None);
            }
            let empty =
                is_dir && self.call.files.read_dir(&self.full(part)).is_ok_and(|list| list.is_empty());
            return Ok((!empty).then(|| part.to_owned()));
        }
        Ok(None)
    }

    /// Everything becomes as `to` says, whatever was there.
    pub(super) fn force(&self, index: &mut Index, to: &Flat) -> Done {
        let mut steps: Vec<(&String, Side)> = Vec::new();
        let known = index.paths();
        steps.extend(known.iter().filter(|path| !to.contains_key(*path)).map(|path| (path, None)));
        for (path, &side) in to {
            self.go_on()?;
            check_path(path)?;
            let held = index.get(path).is_some_and(|entry| (entry.mode, entry.oid) == side && !entry.intent);
            let there = self.look_at(path)?.is_some();
            if !held || !there || self.is_dirty(index, path)? {
                steps.push((path, Some(side)));
            }
        }
        self.carry_out(index, &steps)
    }

    fn carry_out(&self, index: &mut Index, steps: &[(&String, Side)]) -> Done {
        for (path, _) in steps.iter().filter(|(_, new)| new.is_none()) {
            self.remove_file(path, None)?;
            index.remove(path);
        }
        for (path, new) in steps {
            self.go_on()?;
            if let Some(side) = *new {
                let entry = self.put_file(path, side)?;
                index.put(path, entry);
            }
        }
        Ok(())
    }

    /// Paths of the index that are meant.
    pub(super) fn meant(index: &Index, spec: &Pathspec) -> Vec<String> {
        index.paths().into_iter().filter(|path| spec.matches(path)).collect()
    }
}

fn refuse(local: &[String], unknown: &[String], why: For) -> Done {
    let mut message = String::new();
    let (by, before) = match why {
        For::Checkout => ("checkout", "switch branches"),
        For::Merge => ("merge", "merge"),
    };
    let list = |paths: &[String]| paths.iter().map(|path| format!("\t{path}\n")).collect::<String>();
    if !local.is_empty() {
        message += &format!(
            "error: Your local changes to the following files would be overwritten by {by}:\n{}Please commit your changes or stash them before you {before}.\n",
            list(local)
        );
    }
    if !unknown.is_empty() {
        message += &format!(
            "error: The following untracked working tree files would be overwritten by {by}:\n{}Please move or remove them before you {before}.\n",
            list(unknown)
        );
    }
    if message.is_empty() { Ok(()) } else { Err(Failed { exit: 1, message: message + "Aborting" }) }
}
