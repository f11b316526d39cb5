//! `git checkout`, `git switch`, `git restore`.

use super::apply::For;
use super::branch::no_branch;
use super::failed::{Done, error, fatal};
use super::given::{self, misused};
use super::index::Index;
use super::object::Kind;
use super::oid::Oid;
use super::pathspec::Pathspec;
use super::refs::{Head, short_name};
use super::repo::Repo;
use super::revision;
use super::status::tracking;
use super::trees::{Flat, compare, flatten, flatten_commit};
use super::{Git, left_out};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing, Optional};

const CHECKOUT: &[Spec] = &[
    ('b', "", Argument),
    ('B', "", Argument),
    ('f', "force", Nothing),
    ('q', "quiet", Nothing),
    ('\u{3}', "detach", Nothing),
    ('\u{4}', "orphan", Argument),
    ('t', "track", Optional),
    ('\u{5}', "no-track", Nothing),
    ('\u{6}', "progress", Nothing),
    ('\u{6}', "no-progress", Nothing),
    ('p', "patch", Nothing),
    ('m', "merge", Nothing),
];

const SWITCH: &[Spec] = &[
    ('c', "create", Argument),
    ('C', "force-create", Argument),
    ('f', "force", Nothing),
    ('f', "discard-changes", Nothing),
    ('q', "quiet", Nothing),
    ('d', "detach", Nothing),
    ('\u{4}', "orphan", Argument),
    ('t', "track", Optional),
    ('\u{5}', "no-track", Nothing),
];

const RESTORE: &[Spec] = &[
    ('s', "source", Argument),
    ('S', "staged", Nothing),
    ('W', "worktree", Nothing),
    ('q', "quiet", Nothing),
    ('p', "patch", Nothing),
];

/// Where to go.
#[derive(Default)]
struct Move<'m> {
    create: Option<&'m str>,
    /// The branch is made even if it is there.
    again: bool,
    force: bool,
    quiet: bool,
    detach: bool,
    alone: bool,
}

impl Git<'_> {
    /// `git checkout`.
    pub(super) fn checkout(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("checkout", args, CHECKOUT)?;
        let mut to = Move::default();
        for &(letter, value) in &given.options {
            match letter {
                'b' => to.create = value,
                'B' => (to.create, to.again) = (value, true),
                'f' => to.force = true,
                'q' => to.quiet = true,
                '\u{3}' => to.detach = true,
                '\u{4}' => return self.orphan(value.unwrap_or_default()),
                '\u{5}' => to.alone = true,
                'p' => return Err(left_out("checkout -p", "git checkout -- PATHS is")),
                'm' => return Err(left_out("checkout -m", "commit first")),
                _ => {}
            }
        }
        let repo = self.work_repo()?;
        let (first, rest) = match given.operands.split_first() {
            Some((first, rest)) => (Some(*first), rest),
            None => (None, &[][..]),
        };
        // A commit first, or paths alone.
        let found = match first {
            Some(text) => self.destination(&repo, text)?,
            None => None,
        };
        let mut paths = behind.clone().unwrap_or_default();
        let has_paths = behind.is_some() || !rest.is_empty() || found.is_none() && first.is_some();
        if to.create.is_none() && has_paths {
            if found.is_some() || first.is_none() {
                paths.splice(0..0, rest.iter().copied());
            } else {
                paths.splice(0..0, given.operands.iter().copied());
            }
            if found.is_none() && paths.len() == 1 && behind.is_none() {
                let guess = self.remote_branch(&repo, paths[0])?;
                if let Some(full) = guess {
                    let name = paths[0].to_owned();
                    let to = Move { create: Some(&name), ..to };
                    return self.go(&repo, &to, short_name(&full));
                }
            }
            let tree = match (&found, first) {
                (Some(_), Some(text)) => Some(self.previous(&repo, text)?),
                _ => None,
            };
            let source = tree.as_ref().map(|text| revision::resolve(&repo, text)).transpose()?;
            let count = self.take_paths(&repo, &paths, source.as_ref(), (source.is_some(), true, false))?;
            if !to.quiet {
                let what = match source {
                    Some(oid) => repo.short(&repo.peel(&oid, None)?)?,
                    None => "the index".to_owned(),
                };
                self.say_error(&format!(
                    "Updated {count} path{} from {what}",
                    if count == 1 { "" } else { "s" }
                ));
            }
            return Ok(0);
        }
        if to.create.is_some()
            && (rest.len() > usize::from(first.is_none()) || behind.is_some_and(|paths| !paths.is_empty()))
        {
            return Err(fatal("Cannot update paths and switch to branch at the same time."));
        }
        let start =
            first.map(|text| self.previous(&repo, text)).transpose()?.unwrap_or_else(|| "HEAD".to_owned());
        self.go(&repo, &to, &start)
    }

    /// `git switch`.
    pub(super) fn switch(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("switch", args, SWITCH)?;
        let mut to = Move::default();
        for &(letter, value) in &given.options {
            match letter {
                'c' => to.create = value,
                'C' => (to.create, to.again) = (value, true),
                'f' => to.force = true,
                'q' => to.quiet = true,
                'd' => to.detach = true,
                '\u{4}' => return self.orphan(value.unwrap_or_default()),
                '\u{5}' => to.alone = true,
                _ => {}
            }
        }
        let repo = self.work_repo()?;
        let operands = [given.operands, behind.unwrap_or_default()].concat();
        let start = match operands[..] {
            [] if to.create.is_some() || to.detach => "HEAD".to_owned(),
            [start] => self.previous(&repo, start)?,
            [] => return Err(fatal("missing branch or commit argument")),
            _ => return Err(fatal("only one reference expected")),
        };
        if to.create.is_none() && !to.detach {
            if repo.resolve(&format!("refs/heads/{start}"))?.is_none() {
                if let Some(full) = self.remote_branch(&repo, &start)? {
                    let to = Move { create: Some(&start), ..to };
                    return self.go(&repo, &to, short_name(&full));
                }
                return Err(match revision::find(&repo, &start)? {
                    Some(_) => fatal(format!(
                        "a branch is expected, got commit '{start}'\nhint: If you want to detach HEAD at the commit, try again with the --detach option."
                    )),
                    None => fatal(format!("invalid reference: {start}")),
                });
            }
        } else if revision::find(&repo, &start)?.is_none() && start != "HEAD" {
            return Err(fatal(format!("invalid reference: {start}")));
        }
        self.go(&repo, &to, &start)
    }

    /// `-` is where HEAD was before.
    fn previous(&self, repo: &Repo<'_>, text: &str) -> Done<String> {
        if text != "-" && text != "@{-1}" {
            return Ok(text.to_owned());
        }
        let last = self.moves(repo)?.pop();
        last.map(|(_, from, _)| from).ok_or_else(|| fatal("invalid reference: -"))
    }

    fn destination(&self, repo: &Repo<'_>, text: &str) -> Done<Option<Oid>> {
        revision::find(repo, &self.previous(repo, text)?)
    }

    /// The one branch of a remote that has this name.
    fn remote_branch(&self, repo: &Repo<'_>, name: &str) -> Done<Option<String>> {
        let mut found = Vec::new();
        for remote in repo.config.subsections("remote") {
            let full = format!("refs/remotes/{remote}/{name}");
            if repo.resolve(&full)?.is_some() {
                found.push(full);
            }
        }
        Ok(if found.len() == 1 { found.pop() } else { None })
    }

    /// A branch without commits; files and index stay.
    fn orphan(&mut self, name: &str) -> Done<u8> {
        let repo = self.work_repo()?;
        let full = super::branch::full_branch(name)?;
        if repo.resolve(&full)?.is_some() {
            return Err(fatal(format!("a branch named '{name}' already exists")));
        }
        repo.point("HEAD", &full)?;
        self.say_error(&format!("Switched to a new branch '{name}'"));
        Ok(0)
    }

    /// Goes to a branch or a commit, and makes the branch if that is wanted.
    fn go(&mut self, repo: &Repo<'_>, to: &Move<'_>, start: &str) -> Done<u8> {
        let old_head = repo.head()?;
        let old = repo.head_commit()?;
        let branch = format!("refs/heads/{start}");
        let is_branch = to.create.is_none() && !to.detach && repo.resolve(&branch)?.is_some();
        let oid = match revision::find(repo, start)? {
            Some(oid) => repo.peel(&oid, Some(Kind::Commit))?,
            None if to.create.is_some() && start == "HEAD" => {
                // Nothing is committed yet: HEAD alone moves.
                let name = to.create.unwrap_or_default();
                repo.point("HEAD", &super::branch::full_branch(name)?)?;
                self.say_error(&format!("Switched to a new branch '{name}'"));
                return Ok(0);
            }
            None => return Err(no_branch(start)),
        };
        if let Some(name) = to.create {
            let full = super::branch::full_branch(name)?;
            if !to.again && repo.resolve(&full)?.is_some() {
                return Err(fatal(format!("a branch named '{name}' already exists")));
            }
        }
        let mut index = Index::read(repo)?;
        let target = flatten_commit(repo, Some(&oid))?;
        if to.force {
            repo.force(&mut index, &target)?;
        } else {
            let from = flatten_commit(repo, old.as_ref())?;
            let home = self.home().to_owned();
            repo.switch(&mut index, &from, &target, &home, For::Checkout)?;
        }
        index.write(repo)?;
        if !to.quiet && !to.force {
            self.list_kept(repo, &mut index, &target)?;
        }
        let new_head = if let Some(name) = to.create {
            let full = super::branch::full_branch(name)?;
            let was = repo.resolve(&full)?.is_some();
            // The branch that stands here already may move under HEAD.
            repo.update(&full, &oid)?;
            repo.point("HEAD", &full)?;
            if !to.quiet {
                self.say_error(&match (was, old_head == Head::Branch(full.clone())) {
                    (true, true) => format!("Reset branch '{name}'"),
                    (true, false) => format!("Switched to and reset branch '{name}'"),
                    _ => format!("Switched to a new branch '{name}'"),
                });
            }
            let followed = revision::full_name(repo, start)?.filter(|full| full.starts_with("refs/remotes/"));
            if let Some(from) = followed.filter(|_| !to.alone)
                && super::branch::follow(repo, name, &from)?
                && !to.quiet
            {
                self.say(&format!("branch '{name}' set up to track '{}'.", short_name(&from)));
            }
            name.to_owned()
        } else if is_branch {
            repo.point("HEAD", &branch)?;
            if !to.quiet {
                let same = old_head == Head::Branch(branch);
                self.say_error(&format!(
                    "{} '{start}'",
                    if same { "Already on" } else { "Switched to branch" }
                ));
                if let Some(text) = tracking(repo, start)? {
                    self.say(text.trim_end());
                }
            }
            start.to_owned()
        } else {
            repo.detach(&oid)?;
            if !to.quiet {
                self.say_error(&format!(
                    "HEAD is now at {} {}",
                    repo.short(&oid)?,
                    repo.commit(&oid)?.subject()
                ));
            }
            start.to_owned()
        };
        let from = match &old_head {
            Head::Branch(full) => short_name(full).to_owned(),
            Head::Detached(oid) => oid.to_string(),
        };
        self.note_move(repo, old.unwrap_or(Oid::NULL), oid, &from, &new_head)?;
        Ok(0)
    }

    /// Changes that went along.
    fn list_kept(&mut self, repo: &Repo<'_>, index: &mut Index, target: &Flat) -> Done {
        let mut lines: Vec<(String, char)> = compare(target, &index.flat())
            .into_iter()
            .map(|change| (change.path.clone(), change.letter()))
            .collect();
        for change in repo.unstaged(index, &Pathspec::default())?.0 {
            if !lines.iter().any(|(path, _)| *path == change.path) {
                lines.push((change.path.clone(), change.letter()));
            }
        }
        lines.sort();
        lines.iter().for_each(|(path, letter)| self.say(&format!("{letter}\t{path}")));
        Ok(())
    }

    /// `git restore`.
    pub(super) fn restore(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("restore", args, RESTORE)?;
        let (mut source, mut staged, mut files) = (None, false, false);
        for &(letter, value) in &given.options {
            match letter {
                's' => source = value,
                'S' => staged = true,
                'W' => files = true,
                'p' => return Err(left_out("restore -p", "git restore PATHS is")),
                _ => {}
            }
        }
        let paths = [given.operands, behind.unwrap_or_default()].concat();
        let repo = self.work_repo()?;
        if paths.is_empty() {
            return Err(fatal("you must specify path(s) to restore"));
        }
        let files = files || !staged;
        let source = match source {
            Some(text) => {
                Some(revision::find(&repo, text)?.ok_or_else(|| fatal(format!("could not resolve {text}")))?)
            }
            None if staged => repo.head_commit()?,
            None => None,
        };
        if staged && source.is_none() {
            // Before the first commit: nothing is staged then.
            let spec = Pathspec::new(&repo, &self.cwd, &paths)?;
            let mut index = Index::read(&repo)?;
            for path in Repo::meant(&index, &spec) {
                index.remove(&path);
            }
            index.write(&repo)?;
            return Ok(0);
        }
        self.take_paths(&repo, &paths, source.as_ref(), (staged, files, true))?;
        Ok(0)
    }

    /// Takes files from a tree, or from the index, into the index and the work tree. Gives
    /// how many files were written. `whole`: what is not there goes.
    fn take_paths(
        &mut self,
        repo: &Repo<'_>,
        paths: &[&str],
        source: Option<&Oid>,
        (staged, files, whole): (bool, bool, bool),
    ) -> Done<usize> {
        if paths.is_empty() {
            return Err(misused("checkout", "no paths are given", CHECKOUT));
        }
        let spec = Pathspec::new(repo, &self.cwd, paths)?;
        let mut index = Index::read(repo)?;
        let from = match source {
            Some(oid) => flatten(repo, &repo.peel(oid, Some(Kind::Tree))?)?,
            None => index.flat(),
        };
        let known = index.paths();
        let all = from.keys().chain(known.iter()).map(String::as_str);
        if let Some(missing) = spec.unmatched(all) {
            return Err(error(format!("pathspec '{missing}' did not match any file(s) known to git")));
        }
        if let Some(path) = index.unmerged().iter().find(|path| source.is_none() && spec.matches(path)) {
            return Err(error(format!("path '{path}' is unmerged")));
        }
        let mut count = 0;
        for (path, &side) in from.iter().filter(|(path, _)| spec.matches(path)) {
            repo.go_on()?;
            let held = index.get(path).cloned();
            if files {
                let there = match (&held, repo.look_at(path)?) {
                    (Some(entry), Some(stat)) if (entry.mode, entry.oid) == side => {
                        index.is_same(entry, &stat)
                            || repo.staged(path, &stat, false)?.is_some_and(|now| (now.mode, now.oid) == side)
                    }
                    _ => false,
                };
                if !there {
                    let entry = repo.put_file(path, side)?;
                    count += 1;
                    if staged || held.as_ref().is_some_and(|held| (held.mode, held.oid) == side) {
                        index.put(path, entry);
                    }
                }
            } else if held.as_ref().is_none_or(|held| (held.mode, held.oid) != side) {
                let (mode, oid) = side;
                index.put(
                    path,
                    super::index::Staged { mode, oid, seen: super::index::Seen::default(), intent: false },
                );
            }
        }
        // What the source does not have goes; `git checkout TREE PATH` leaves it.
        if source.is_some() && whole {
            for path in known.iter().filter(|path| spec.matches(path) && !from.contains_key(*path)) {
                if staged {
                    index.remove(path);
                }
                if files {
                    repo.remove_file(path, Some(&self.cwd))?;
                }
            }
        }
        if staged && !files {
            repo.unstaged(&mut index, &spec)?;
        }
        index.write(repo)?;
        Ok(count)
    }

    /// Where HEAD moved: to which commit, from, to; the last one last.
    fn moves(&self, repo: &Repo<'_>) -> Done<Vec<(Option<Oid>, String, String)>> {
        let data = repo.file(&repo.path("logs/HEAD"))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&data);
        let moves = text.lines().filter_map(|line| {
            let (head, names) = line.split_once("\tcheckout: moving from ")?;
            let (from, to) = names.split_once(" to ")?;
            Some((head.split(' ').nth(1).and_then(Oid::parse), from.to_owned(), to.to_owned()))
        });
        Ok(moves.collect())
    }

    /// Where a HEAD without a branch was put, as it was named, and whether it is there still.
    pub(super) fn detached_at(&self, repo: &Repo<'_>) -> Done<Option<(String, bool)>> {
        let (Head::Detached(head), Some((Some(oid), _, name))) = (repo.head()?, self.moves(repo)?.pop())
        else {
            return Ok(None);
        };
        let full = revision::full_name(repo, &name)?.filter(|full| full != "HEAD");
        let stands = match full.map(|full| repo.resolve(&full)).transpose()?.flatten() {
            Some(named) => repo.peel(&named, Some(Kind::Commit)).ok(),
            None => None,
        };
        let name = if stands == Some(oid) { name } else { repo.short(&oid)? };
        Ok(Some((name, oid == head)))
    }

    /// Notes a move of HEAD where git does, for `checkout -`.
    fn note_move(&self, repo: &Repo<'_>, old: Oid, new: Oid, from: &str, to: &str) -> Done {
        let who = self.ident(repo, "COMMITTER").unwrap_or_else(|_| super::ident::Ident {
            name: "user".into(),
            mail: "user@sandbox".into(),
            when: super::ident::When { seconds: self.now(), east: 0 },
        });
        let path = repo.path("logs/HEAD");
        let mut text = repo.file(&path)?.unwrap_or_default().to_vec();
        text.extend_from_slice(
            format!("{old} {new} {who}\tcheckout: moving from {from} to {to}\n").as_bytes(),
        );
        repo.put(&path, &text)
    }
}
