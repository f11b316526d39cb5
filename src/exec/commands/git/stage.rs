//! `git add`, `git rm`, `git mv`: the index and the files.

use super::failed::{Done, Failed, at, error, fatal};
use super::given::{self, misused};
use super::ignore::Rules;
use super::index::{Index, Seen, Staged};
use super::object::{FILE, Kind as ObjectKind};
use super::oid::Oid;
use super::pathspec::{Pathspec, below, plain};
use super::repo::Repo;
use super::shown::quoted;
use super::trees::flatten_commit;
use super::{Git, absolute};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::Nothing;
use crate::fs::Kind;

const ADD: &[Spec] = &[
    ('A', "all", Nothing),
    ('u', "update", Nothing),
    ('f', "force", Nothing),
    ('n', "dry-run", Nothing),
    ('v', "verbose", Nothing),
    ('N', "intent-to-add", Nothing),
];

const RM: &[Spec] = &[
    ('r', "", Nothing),
    ('f', "force", Nothing),
    ('q', "quiet", Nothing),
    ('n', "dry-run", Nothing),
    ('\u{3}', "cached", Nothing),
    ('\u{4}', "ignore-unmatch", Nothing),
];

const MV: &[Spec] =
    &[('f', "force", Nothing), ('n', "dry-run", Nothing), ('v', "verbose", Nothing), ('k', "", Nothing)];

impl Git<'_> {
    /// `git add`.
    pub(super) fn add(&mut self, args: &[String]) -> Done<u8> {
        let (given, rest) = given::read("add", args, ADD)?;
        let paths = [given.operands.clone(), rest.unwrap_or_default()].concat();
        let (dry, tell) = (given.has('n'), given.has('v') || given.has('n'));
        let repo = self.work_repo()?;
        if paths.is_empty() && !given.has('A') && !given.has('u') {
            self.say_error("Nothing specified, nothing added.\nhint: Maybe you wanted to say 'git add .'?\nhint: Disable this message with \"git config advice.addEmptyPathspec false\"");
            return Ok(0);
        }
        let spec = Pathspec::new(&repo, &self.cwd, &paths)?;
        let mut index = Index::read(&repo)?;
        let (known, _) = repo.unstaged(&mut index, &spec)?;
        let home = self.home().to_owned();
        let mut new =
            if given.has('u') { Vec::new() } else { repo.untracked(&index, &spec, &home, true, false)? };
        let dirs: Vec<String> = new.extract_if(.., |path| path.ends_with('/')).collect();
        if let Some(dir) = dirs.first() {
            return Err(error(format!(
                "'{dir}' is a repository of its own; submodules are not supported here"
            )));
        }
        let tracked = index.paths();
        let all = || tracked.iter().chain(&new).map(String::as_str);
        let mut ignored = Vec::new();
        if let Some(missing) = spec.unmatched(all()) {
            let found = repo.untracked(&index, &spec, &home, true, true)?;
            let dir = repo
                .look_at(&plain_in(&repo, &self.cwd, missing))?
                .is_some_and(|stat| stat.kind == Kind::Dir);
            if let Some(missing) = spec.unmatched(all().chain(found.iter().map(String::as_str)))
                && !dir
            {
                return Err(fatal(format!("pathspec '{missing}' did not match any files")));
            }
            ignored = found;
        } else if given.has('f') {
            ignored = repo.untracked(&index, &spec, &home, true, true)?;
        }
        if given.has('f') {
            new.append(&mut ignored);
        }
        ignored.retain(|path| spec.names(path) || !tracked.contains(path));
        for change in &known {
            match change.new {
                None => {
                    if tell {
                        self.say(&format!("remove '{}'", change.path));
                    }
                    index.remove(&change.path);
                }
                Some(_) => self.stage(&repo, &mut index, &change.path, tell, dry)?,
            }
        }
        for path in index.unmerged().into_iter().filter(|path| spec.matches(path)) {
            if repo.look_at(&path)?.is_none() {
                index.remove(&path);
            } else {
                self.stage(&repo, &mut index, &path, tell, dry)?;
            }
        }
        for path in &new {
            if given.has('N') {
                let oid = Oid::of(ObjectKind::Blob, b"");
                index.put(path, Staged { mode: FILE, oid, seen: Seen::default(), intent: true });
            } else {
                self.stage(&repo, &mut index, path, tell, dry)?;
            }
        }
        if !dry {
            index.write(&repo)?;
        }
        if ignored.is_empty() {
            return Ok(0);
        }
        let named: Vec<&str> =
            paths.iter().copied().filter(|path| is_ignored(&repo, &self.cwd, &home, path)).collect();
        if named.is_empty() {
            return Ok(0);
        }
        Err(Failed {
            exit: 1,
            message: format!(
                "The following paths are ignored by one of your .gitignore files:\n{}\nhint: Use -f if you really want to add them.\nhint: Disable this message with \"git config advice.addIgnoredFile false\"",
                named.join("\n")
            ),
        })
    }

    fn stage(&mut self, repo: &Repo<'_>, index: &mut Index, path: &str, tell: bool, dry: bool) -> Done {
        repo.go_on()?;
        let Some(stat) = repo.look_at(path)? else { return Ok(()) };
        let Some(entry) = repo.staged(path, &stat, !dry)? else {
            return Err(error(format!("'{path}' is a directory in place of a file")));
        };
        if tell {
            self.say(&format!("add '{path}'"));
        }
        index.put(path, entry);
        Ok(())
    }

    /// `git rm`.
    pub(super) fn rm(&mut self, args: &[String]) -> Done<u8> {
        let (given, rest) = given::read("rm", args, RM)?;
        let paths = [given.operands.clone(), rest.unwrap_or_default()].concat();
        let repo = self.work_repo()?;
        if paths.is_empty() {
            return Err(fatal("No pathspec was given. Which files should I remove?"));
        }
        let spec = Pathspec::new(&repo, &self.cwd, &paths)?;
        let mut index = Index::read(&repo)?;
        let meant = Repo::meant(&index, &spec);
        if let Some(missing) = spec.unmatched(meant.iter().map(String::as_str))
            && !given.has('\u{4}')
        {
            return Err(fatal(format!("pathspec '{missing}' did not match any files")));
        }
        if !given.has('r') {
            for path in &paths {
                let own = plain_in(&repo, &self.cwd, path);
                if index.has_below(&own) || own.is_empty() {
                    return Err(fatal(format!("not removing '{path}' recursively without -r")));
                }
            }
        }
        let cached = given.has('\u{3}');
        if !given.has('f') {
            self.check_removal(&repo, &mut index, &meant, cached)?;
        }
        for path in &meant {
            if !given.has('q') {
                self.say(&format!("rm '{}'", quoted(&repo, path)));
            }
            if given.has('n') {
                continue;
            }
            index.remove(path);
            if !cached {
                repo.remove_file(path, Some(&self.cwd))?;
            }
        }
        if !given.has('n') {
            index.write(&repo)?;
        }
        Ok(0)
    }

    fn check_removal(&self, repo: &Repo<'_>, index: &mut Index, meant: &[String], cached: bool) -> Done {
        let head = flatten_commit(repo, repo.head_commit()?.as_ref())?;
        let (changed, _) = repo.unstaged(index, &Pathspec::default())?;
        let (mut both, mut staged, mut local) = (Vec::new(), Vec::new(), Vec::new());
        for path in meant {
            let Some(entry) = index.get(path) else { continue };
            let here = changed.iter().any(|change| change.path == *path && change.new.is_some());
            let other = head.get(path) != Some(&(entry.mode, entry.oid));
            match (here, other) {
                (true, true) => both.push(path),
                (false, true) if !cached && !entry.intent => staged.push(path),
                (true, false) if !cached => local.push(path),
                _ => {}
            }
        }
        let mut message = String::new();
        let mut add = |paths: &[&String], one: &str, many: &str, hint: &str| {
            if !paths.is_empty() {
                let list: String = paths.iter().map(|path| format!("    {path}\n")).collect();
                message += &format!("error: {}:\n{list}{hint}\n", if paths.len() == 1 { one } else { many });
            }
        };
        add(
            &both,
            "the following file has staged content different from both the\nfile and the HEAD",
            "the following files have staged content different from both the\nfile and the HEAD",
            "(use -f to force removal)",
        );
        let hint = "(use --cached to keep the file, or -f to force removal)";
        add(
            &staged,
            "the following file has changes staged in the index",
            "the following files have changes staged in the index",
            hint,
        );
        add(
            &local,
            "the following file has local modifications",
            "the following files have local modifications",
            hint,
        );
        if message.is_empty() {
            Ok(())
        } else {
            Err(Failed { exit: 1, message: message.trim_end().to_owned() })
        }
    }

    /// `git mv`.
    pub(super) fn mv(&mut self, args: &[String]) -> Done<u8> {
        let (given, rest) = given::read("mv", args, MV)?;
        let paths = [given.operands.clone(), rest.unwrap_or_default()].concat();
        let repo = self.work_repo()?;
        let Some((target, sources)) = paths.split_last().filter(|(_, sources)| !sources.is_empty()) else {
            return Err(misused("mv", "a source and a destination are needed", MV));
        };
        let mut index = Index::read(&repo)?;
        let to = plain_in(&repo, &self.cwd, target);
        let into = repo.look_at(&to)?.is_some_and(|stat| stat.kind == Kind::Dir);
        if sources.len() > 1 && !into {
            return Err(fatal(format!("destination '{target}' is not a directory")));
        }
        for source in sources {
            let from = plain_in(&repo, &self.cwd, source);
            let new = match from.rsplit('/').next() {
                Some(name) if into => {
                    if to.is_empty() {
                        name.to_owned()
                    } else {
                        format!("{to}/{name}")
                    }
                }
                _ => to.clone(),
            };
            let bad = |why: &str| {
                if given.has('k') {
                    Ok(())
                } else {
                    Err(fatal(format!("{why}, source={from}, destination={new}")))
                }
            };
            let there = repo.look_at(&from)?;
            let moved: Vec<(String, u8)> = index
                .entries
                .keys()
                .filter(|(path, _)| {
                    *path == from || path.strip_prefix(&from).is_some_and(|rest| rest.starts_with('/'))
                })
                .cloned()
                .collect();
            if there.is_none() {
                bad("bad source")?;
                continue;
            }
            if moved.is_empty() {
                let dir = there.is_some_and(|stat| stat.kind == Kind::Dir);
                bad(if dir { "source directory is empty" } else { "not under version control" })?;
                continue;
            }
            if new == from || new.starts_with(&format!("{from}/")) {
                bad("can not move directory into itself")?;
                continue;
            }
            if repo.look_at(&new)?.is_some() && !given.has('f') {
                bad("destination exists")?;
                continue;
            }
            if given.has('v') || given.has('n') {
                self.say(&format!("Renaming {from} to {new}"));
            }
            if given.has('n') {
                continue;
            }
            super::index::check_path(&new)?;
            self.call.files.rename(&repo.full(&from), &repo.full(&new)).map_err(at(&new))?;
            for key in moved {
                if let Some(entry) = index.entries.remove(&key) {
                    index.put(&format!("{new}{}", &key.0[from.len()..]), entry);
                }
            }
        }
        index.write(&repo)?;
        Ok(0)
    }
}

/// A path from the root of the work tree.
pub(super) fn plain_in(repo: &Repo<'_>, cwd: &str, path: &str) -> String {
    let full = plain(&absolute(cwd, path));
    below(repo.root(), &full).unwrap_or_default().to_owned()
}

/// Whether a path that was named, or a directory above it, is ignored.
pub(super) fn is_ignored(repo: &Repo<'_>, cwd: &str, home: &str, path: &str) -> bool {
    let own = plain_in(repo, cwd, path);
    let Ok(mut rules) = Rules::new(repo, home) else { return false };
    let mut ends: Vec<usize> = own.match_indices('/').map(|(end, _)| end).collect();
    ends.push(own.len());
    let mut dir = "";
    for end in ends {
        if rules.enter(repo, repo.root(), dir).is_err() {
            return false;
        }
        dir = &own[..end];
        let is_dir = repo.look_at(dir).ok().flatten().is_some_and(|stat| stat.kind == Kind::Dir);
        if rules.ignores(dir, is_dir) {
            return true;
        }
    }
    false
}
