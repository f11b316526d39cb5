//! `git stash`: changes that are put aside as commits, in git's own form.

use super::apply::For;
use super::failed::{Done, Failed, error};
use super::given::{self, misused};
use super::ident::{Ident, When};
use super::index::{Index, Seen, Staged};
use super::object::{Commit, Kind};
use super::oid::Oid;
use super::pathspec::Pathspec;
use super::refs::{Head, short_name};
use super::repo::Repo;
use super::trees::{compare, flatten, flatten_commit};
use super::{Git, left_out, merge_files};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing};

const PUSH: &[Spec] = &[
    ('m', "message", Argument),
    ('u', "include-untracked", Nothing),
    ('k', "keep-index", Nothing),
    ('q', "quiet", Nothing),
];

/// The ref, and the list of what was put there before.
const NAME: &str = "refs/stash";
const LIST: &str = "logs/refs/stash";

/// What is put aside, the newest first: commit, and its line.
pub(super) fn entries(repo: &Repo<'_>) -> Done<Vec<(Oid, String)>> {
    let data = repo.file(&repo.path(LIST))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&data);
    let entry = |line: &str| Some((Oid::parse(line.split(' ').nth(1)?)?, line.to_owned()));
    Ok(text.lines().rev().filter_map(entry).collect())
}

/// The commit of `stash@{N}`; `None` if the name is no such.
pub(super) fn find(repo: &Repo<'_>, name: &str) -> Done<Option<Oid>> {
    let Some(number) = number_of(name) else { return Ok(None) };
    Ok(entries(repo)?.get(number).map(|(oid, _)| *oid))
}

fn number_of(name: &str) -> Option<usize> {
    let name = name.strip_prefix("refs/").unwrap_or(name);
    name.strip_prefix("stash@{")?.strip_suffix('}')?.parse().ok()
}

impl Git<'_> {
    /// `git stash`.
    pub(super) fn stash(&mut self, args: &[String]) -> Done<u8> {
        let (verb, rest) = match args.split_first() {
            Some((verb, rest)) if !verb.starts_with('-') => (verb.as_str(), rest),
            _ => ("push", args),
        };
        match verb {
            "push" | "save" => self.put_aside(rest, verb == "save"),
            "list" => {
                let repo = self.repo()?;
                for (number, (_, line)) in entries(&repo)?.iter().enumerate() {
                    let message = line.split_once('\t').map_or("", |(_, message)| message);
                    self.say(&format!("stash@{{{number}}}: {message}"));
                }
                Ok(0)
            }
            "pop" | "apply" | "drop" => {
                let (given, _) = given::read("stash", rest, &[('q', "quiet", Nothing)])?;
                let (repo, quiet) = (self.work_repo()?, !given.options.is_empty());
                let (number, oid, named) = self.chosen_entry(&repo, given.operands.first().copied())?;
                if verb != "drop" {
                    self.take_back(&repo, &oid, quiet)?;
                }
                if verb != "apply" {
                    drop_entry(&repo, number)?;
                    if !quiet {
                        self.say(&format!("Dropped {named} ({oid})"));
                    }
                }
                Ok(0)
            }
            "show" => {
                let (given, _) =
                    given::read("stash", rest, &[('p', "patch", Nothing), ('\u{3}', "stat", Nothing)])?;
                let repo = self.repo()?;
                let (_, oid, _) = self.chosen_entry(&repo, given.operands.first().copied())?;
                let form = if given.has('p') { "-p" } else { "--stat" };
                self.diff(&[form.to_owned(), format!("{oid}^1"), oid.to_string()])
            }
            "clear" => {
                let repo = self.repo()?;
                let _ = self.call.files.unlink(&repo.path(LIST));
                repo.delete(NAME)?;
                Ok(0)
            }
            other => {
                Err(left_out(&format!("stash {other}"), "push, list, show, pop, apply, drop and clear are"))
            }
        }
    }

    fn chosen_entry(&self, repo: &Repo<'_>, name: Option<&str>) -> Done<(usize, Oid, String)> {
        let all = entries(repo)?;
        let number = match name {
            None => 0,
            Some(name) => {
                let number = name.parse().ok().or_else(|| number_of(name));
                number.ok_or_else(|| error(format!("'{name}' is not a stash-like commit")))?
            }
        };
        let named =
            name.map_or_else(|| format!("refs/stash@{{{number}}}"), |_| format!("stash@{{{number}}}"));
        match all.get(number) {
            Some((oid, _)) => Ok((number, *oid, named)),
            None if all.is_empty() => Err(Failed { exit: 1, message: "No stash entries found.".into() }),
            None => Err(error(format!("stash@{{{number}}} is not a valid reference"))),
        }
    }

    fn put_aside(&mut self, args: &[String], save: bool) -> Done<u8> {
        let (given, behind) = given::read("stash", args, PUSH)?;
        let mut message = given.value('m').map(str::to_owned);
        let operands = [given.operands.clone(), behind.unwrap_or_default()].concat();
        if save && !operands.is_empty() {
            message = Some(operands.join(" "));
        } else if !operands.is_empty() {
            return Err(misused("stash", "paths are not supported here; all changes are put aside", PUSH));
        }
        let repo = self.work_repo()?;
        let Some(head) = repo.head_commit()? else {
            return Err(Failed { exit: 1, message: "You do not have the initial commit yet".into() });
        };
        let commit = repo.commit(&head)?;
        let mut index = Index::read(&repo)?;
        let all = Pathspec::default();
        let (unstaged, _) = repo.unstaged(&mut index, &all)?;
        let unknown =
            if given.has('u') { repo.untracked(&index, &all, self.home(), true, false)? } else { Vec::new() };
        let unknown: Vec<String> = unknown.into_iter().filter(|path| !path.ends_with('/')).collect();
        let before = flatten(&repo, &commit.tree)?;
        if unstaged.is_empty() && unknown.is_empty() && compare(&before, &index.flat()).is_empty() {
            self.say("No local changes to save");
            return Ok(0);
        }
        let branch = match repo.head()? {
            Head::Branch(full) => short_name(&full).to_owned(),
            Head::Detached(_) => "(no branch)".to_owned(),
        };
        let base = format!("{branch}: {} {}", repo.short(&head)?, commit.subject());
        let who = self.ident(&repo, "COMMITTER").unwrap_or_else(|_| Ident {
            name: "git stash".into(),
            mail: "git@stash".into(),
            when: When { seconds: self.now(), east: 0 },
        });
        let made = |tree: Oid, parents: Vec<Oid>, message: String| {
            let commit = Commit { tree, parents, author: who.clone(), committer: who.clone(), message };
            repo.write(Kind::Commit, &commit.write())
        };
        let staged = made(index.write_tree(&repo)?, vec![head], format!("index on {base}\n"))?;
        let mut parents = vec![head, staged];
        if !unknown.is_empty() {
            let mut others = Index::default();
            add_files(&repo, &mut others, unknown.iter())?;
            parents.push(made(
                others.write_tree(&repo)?,
                Vec::new(),
                format!("untracked files on {base}\n"),
            )?);
        }
        let mut work = index.clone();
        add_files(&repo, &mut work, unstaged.iter().map(|change| &change.path))?;
        let text = match message {
            Some(message) => format!("On {branch}: {message}"),
            None => format!("WIP on {base}"),
        };
        let oid = made(work.write_tree(&repo)?, parents, text.clone())?;
        let old = repo.resolve(NAME)?.unwrap_or(Oid::NULL);
        let path = repo.path(LIST);
        let mut list = repo.file(&path)?.unwrap_or_default().to_vec();
        list.extend_from_slice(format!("{old} {oid} {who}\t{text}\n").as_bytes());
        repo.put(&path, &list)?;
        repo.update(NAME, &oid)?;
        let to = if given.has('k') { index.flat() } else { before };
        repo.force(&mut index, &to)?;
        for path in &unknown {
            repo.remove_file(path, Some(&self.cwd))?;
        }
        index.write(&repo)?;
        if !given.has('q') {
            self.say(&format!("Saved working directory and index state {text}"));
        }
        Ok(0)
    }

    /// Brings changes back into the files. What stands in the way is told, and nothing is
    /// changed.
    fn take_back(&mut self, repo: &Repo<'_>, oid: &Oid, quiet: bool) -> Done {
        let commit = repo.commit(oid)?;
        let Some(base) = commit.parents.first() else {
            return Err(error(format!("'{oid}' is not a stash-like commit")));
        };
        let mut index = Index::read(repo)?;
        let ours = index.flat();
        let theirs = flatten(repo, &commit.tree)?;
        let merged = merge_files::merge(repo, &flatten_commit(repo, Some(base))?, &ours, &theirs)?;
        if !merged.conflicts.is_empty() {
            let list: Vec<String> =
                merged.conflicts.iter().map(|(path, why)| format!("CONFLICT ({why}): {path}")).collect();
            return Err(error(format!(
                "both sides changed these; conflicts are not resolved here, and nothing was changed\n{}",
                list.join("\n")
            )));
        }
        let unknown = match commit.parents.get(2) {
            Some(oid) => flatten_commit(repo, Some(oid))?,
            None => super::trees::Flat::new(),
        };
        for path in unknown.keys() {
            if repo.look_at(path)?.is_some() {
                return Err(error(format!(
                    "{path} already exists, no checkout\nerror: could not restore untracked files from stash"
                )));
            }
        }
        repo.switch(&mut index, &ours, &merged.files, self.home(), For::Merge)?;
        // Only files that are new stay in the index.
        for (path, &(mode, oid)) in &ours {
            if index.get(path).is_none_or(|entry| (entry.mode, entry.oid) != (mode, oid)) {
                index.put(path, Staged { mode, oid, seen: Seen::default(), intent: false });
            }
        }
        index.write(repo)?;
        for (path, &side) in &unknown {
            repo.put_file(path, side)?;
        }
        if !quiet {
            let status = self.compared(repo, &mut index, &Pathspec::default(), "normal")?;
            let text = self.long_form(repo, &status, false)?;
            self.answer.stdout.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }
}

/// Files as they are, or gone.
fn add_files<'p>(repo: &Repo<'_>, index: &mut Index, paths: impl Iterator<Item = &'p String>) -> Done {
    for path in paths {
        index.remove(path);
        if let Some(stat) = repo.look_at(path)?
            && let Some(entry) = repo.staged(path, &stat, true)?
        {
            index.put(path, entry);
        }
    }
    Ok(())
}

fn drop_entry(repo: &Repo<'_>, number: usize) -> Done {
    let mut all = entries(repo)?;
    all.remove(number);
    let Some((newest, _)) = all.first() else {
        let _ = repo.call.files.unlink(&repo.path(LIST));
        return repo.delete(NAME);
    };
    repo.update(NAME, newest)?;
    let (mut text, mut old) = (String::new(), Oid::NULL);
    for (oid, line) in all.iter().rev() {
        // Each line names the one before it.
        text += &format!("{old} {}\n", line.split_once(' ').map_or("", |(_, rest)| rest));
        old = *oid;
    }
    repo.put(&repo.path(LIST), text.as_bytes())
}
