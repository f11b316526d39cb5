//! `git branch`.

use super::failed::{Done, error, fatal};
use super::given::{self, misused};
use super::refs::{Head, is_valid, short_name};
use super::repo::Repo;
use super::revision::{self, upstream};
use super::walk::{apart, is_behind};
use super::{Git, config};
use crate::exec::commands::glob;
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing, Optional};

const SPECS: &[Spec] = &[
    ('a', "all", Nothing),
    ('r', "remotes", Nothing),
    ('d', "delete", Nothing),
    ('D', "", Nothing),
    ('m', "move", Nothing),
    ('M', "", Nothing),
    ('f', "force", Nothing),
    ('v', "verbose", Nothing),
    ('l', "list", Nothing),
    ('q', "quiet", Nothing),
    ('u', "set-upstream-to", Argument),
    ('\u{3}', "unset-upstream", Nothing),
    ('\u{4}', "show-current", Nothing),
    ('\u{5}', "merged", Optional),
    ('\u{6}', "no-merged", Optional),
    ('\u{7}', "contains", Optional),
    ('\u{8}', "format", Argument),
    ('t', "track", Optional),
    ('\u{e}', "no-track", Nothing),
    ('\u{f}', "no-color", Nothing),
    ('\u{10}', "sort", Argument),
];

/// The full name of a new branch, or why it cannot be one.
pub(super) fn full_branch(name: &str) -> Done<String> {
    let full = format!("refs/heads/{name}");
    if name.starts_with('-') || name == "HEAD" || !is_valid(&full) {
        return Err(fatal(format!(
            "'{name}' is not a valid branch name\nhint: See `man git check-ref-format`\nhint: Disable this message with \"git config advice.refSyntax false\""
        )));
    }
    Ok(full)
}

/// Writes a setting of the repository.
pub(super) fn set_config(repo: &Repo<'_>, key: &str, value: &str) -> Done {
    let path = repo.path("config");
    let text = String::from_utf8_lossy(&repo.file(&path)?.unwrap_or_default()).into_owned();
    repo.put(&path, config::set(&text, key, value, false)?.as_bytes())
}

/// Lets a branch follow another, as `refs/remotes/origin/x` or `refs/heads/x`.
pub(super) fn follow(repo: &Repo<'_>, branch: &str, full: &str) -> Done<bool> {
    let (remote, merge) = if full.starts_with("refs/heads/") {
        (".".to_owned(), full.to_owned())
    } else {
        let Some(rest) = full.strip_prefix("refs/remotes/") else { return Ok(false) };
        let remotes = repo.config.subsections("remote");
        let Some(remote) = remotes.iter().find(|name| rest.starts_with(&format!("{name}/"))) else {
            return Ok(false);
        };
        ((*remote).to_owned(), format!("refs/heads/{}", &rest[remote.len() + 1..]))
    };
    set_config(repo, &format!("branch.{branch}.remote"), &remote)?;
    set_config(repo, &format!("branch.{branch}.merge"), &merge)?;
    Ok(true)
}

impl Git<'_> {
    /// `git branch`.
    pub(super) fn branch(&mut self, args: &[String]) -> Done<u8> {
        let args = given::joined(args, &["--contains", "--merged", "--no-merged"]);
        let (given, rest) = given::read("branch", &args, SPECS)?;
        let names = [given.operands.clone(), rest.unwrap_or_default()].concat();
        let repo = self.repo()?;
        let current = match repo.head()? {
            Head::Branch(full) => Some(short_name(&full).to_owned()),
            Head::Detached(_) => None,
        };
        if given.has('\u{4}') {
            if let Some(name) = current {
                self.say(&name);
            }
            return Ok(0);
        }
        if given.has('d') || given.has('D') {
            return self.delete_branches(
                &repo,
                &names,
                given.has('D') || given.has('f'),
                given.has('r'),
                given.has('q'),
            );
        }
        if given.has('m') || given.has('M') {
            let (old, new) = match (&names[..], &current) {
                ([new], Some(old)) => (old.clone(), *new),
                ([old, new], _) => ((*old).to_owned(), *new),
                _ => return Err(misused("branch", "a new name is needed", SPECS)),
            };
            return self.rename_branch(&repo, &old, new, given.has('M') || given.has('f'));
        }
        if let Some(followed) = given.value('u') {
            let branch = names.first().map(|name| (*name).to_owned()).or(current);
            let branch = branch.ok_or_else(|| {
                fatal("could not set upstream of HEAD when it does not point to any branch")
            })?;
            let full = revision::full_name(&repo, followed)?
                .ok_or_else(|| fatal(format!("the requested upstream branch '{followed}' does not exist")))?;
            if !follow(&repo, &branch, &full)? {
                return Err(fatal(format!(
                    "cannot set up tracking information; starting point '{followed}' is not a branch"
                )));
            }
            self.say(&format!("branch '{branch}' set up to track '{}'.", short_name(&full)));
            return Ok(0);
        }
        if given.has('\u{3}') {
            let branch = names.first().map(|name| (*name).to_owned()).or(current).unwrap_or_default();
            let path = repo.path("config");
            let mut text = String::from_utf8_lossy(&repo.file(&path)?.unwrap_or_default()).into_owned();
            let mut any = false;
            for name in ["remote", "merge"] {
                if let Some(without) = config::unset(&text, &format!("branch.{branch}.{name}"))? {
                    (text, any) = (without, true);
                }
            }
            if !any {
                return Err(fatal(format!("branch '{branch}' has no upstream information")));
            }
            repo.put(&path, text.as_bytes())?;
            return Ok(0);
        }
        let lists = given.has('l')
            || given.has('a')
            || given.has('r')
            || given.has('v')
            || given.has('\u{5}')
            || given.has('\u{6}')
            || given.has('\u{7}')
            || given.has('\u{8}');
        if names.is_empty() || lists {
            let asked = |letter: char| given.has(letter).then(|| given.value(letter).unwrap_or("HEAD"));
            let filters = [asked('\u{5}'), asked('\u{6}'), asked('\u{7}')];
            return self.list_branches(
                &repo,
                &names,
                (given.has('a'), given.has('r'), given.has('v')),
                filters,
                given.value('\u{8}'),
            );
        }
        let start = match names[..] {
            [_] => "HEAD",
            [_, start] => start,
            _ => return Err(misused("branch", "too many arguments", SPECS)),
        };
        self.make_branch(&repo, names[0], start, given.has('f'), given.has('\u{e}'))?;
        Ok(0)
    }

    /// Makes a branch. One that begins at a branch of a remote follows it.
    pub(super) fn make_branch(
        &mut self,
        repo: &Repo<'_>,
        name: &str,
        start: &str,
        force: bool,
        alone: bool,
    ) -> Done<super::oid::Oid> {
        let full = full_branch(name)?;
        let oid = match revision::find(repo, start)? {
            Some(oid) => repo.peel(&oid, Some(super::object::Kind::Commit))?,
            None => {
                return Err(fatal(format!(
                    "not a valid object name: '{}'",
                    if start == "HEAD" { self.unborn(repo)? } else { start.to_owned() }
                )));
            }
        };
        if repo.resolve(&full)?.is_some() {
            if !force {
                return Err(fatal(format!("a branch named '{name}' already exists")));
            }
            if repo.head()? == Head::Branch(full.clone()) {
                return Err(fatal(format!(
                    "cannot force update the branch '{name}' used by worktree at '{}'",
                    repo.root()
                )));
            }
        }
        repo.update(&full, &oid)?;
        if !alone
            && let Some(from) =
                revision::full_name(repo, start)?.filter(|from| from.starts_with("refs/remotes/"))
            && follow(repo, name, &from)?
        {
            self.say(&format!("branch '{name}' set up to track '{}'.", short_name(&from)));
        }
        Ok(oid)
    }

    fn unborn(&self, repo: &Repo<'_>) -> Done<String> {
        Ok(match repo.head()? {
            Head::Branch(full) => short_name(&full).to_owned(),
            Head::Detached(oid) => oid.to_string(),
        })
    }

    fn delete_branches(
        &mut self,
        repo: &Repo<'_>,
        names: &[&str],
        force: bool,
        remote: bool,
        quiet: bool,
    ) -> Done<u8> {
        if names.is_empty() {
            return Err(fatal("branch name required"));
        }
        let mut exit = 0;
        let prefix = if remote { "refs/remotes/" } else { "refs/heads/" };
        for name in names {
            let full = format!("{prefix}{name}");
            let Some(oid) = repo.resolve(&full)? else {
                let kind = if remote { "remote-tracking branch" } else { "branch" };
                self.say_error(&format!("error: {kind} '{name}' not found"));
                exit = 1;
                continue;
            };
            if repo.head()? == Head::Branch(full.clone()) {
                let root = repo.work.clone().unwrap_or_else(|| repo.dir.clone());
                self.say_error(&format!("error: cannot delete branch '{name}' used by worktree at '{root}'"));
                exit = 1;
                continue;
            }
            if !force && !remote {
                let into = match upstream(repo, name).map(|full| repo.resolve(&full)).transpose()?.flatten() {
                    Some(oid) => Some(oid),
                    None => repo.head_commit()?,
                };
                if !into.map(|into| is_behind(repo, &oid, &into)).transpose()?.unwrap_or(false) {
                    self.say_error(&format!("error: the branch '{name}' is not fully merged\nhint: If you are sure you want to delete it, run 'git branch -D {name}'\nhint: Disable this message with \"git config advice.forceDeleteBranch false\""));
                    exit = 1;
                    continue;
                }
            }
            repo.delete(&full)?;
            if !remote {
                let path = repo.path("config");
                let text = String::from_utf8_lossy(&repo.file(&path)?.unwrap_or_default()).into_owned();
                if let Some(text) = config::remove_section(&text, &format!("branch.{name}"))? {
                    repo.put(&path, text.as_bytes())?;
                }
            }
            if !quiet {
                let kind = if remote { "remote-tracking branch" } else { "branch" };
                self.say(&format!("Deleted {kind} {name} (was {}).", repo.short(&oid)?));
            }
        }
        Ok(exit)
    }

    fn rename_branch(&mut self, repo: &Repo<'_>, old: &str, new: &str, force: bool) -> Done<u8> {
        let (from, to) = (format!("refs/heads/{old}"), full_branch(new)?);
        let here = repo.head()? == Head::Branch(from.clone());
        let oid = repo.resolve(&from)?;
        if oid.is_none() && !here {
            return Err(fatal(format!("no branch named '{old}'")));
        }
        if repo.resolve(&to)?.is_some() && !force && from != to {
            return Err(fatal(format!("a branch named '{new}' already exists")));
        }
        if let Some(oid) = oid {
            repo.delete(&from)?;
            repo.update(&to, &oid)?;
        }
        if here {
            repo.point("HEAD", &to)?;
        }
        let path = repo.path("config");
        let mut text = String::from_utf8_lossy(&repo.file(&path)?.unwrap_or_default()).into_owned();
        let prefix = format!("branch.{old}.");
        let moved: Vec<(String, String)> = repo
            .config
            .pairs()
            .iter()
            .filter_map(|(key, value)| {
                Some((format!("branch.{new}.{}", key.strip_prefix(&prefix)?), value.clone()))
            })
            .collect();
        if let Some(without) = config::remove_section(&text, &format!("branch.{old}"))? {
            text = without;
            for (key, value) in moved {
                text = config::set(&text, &key, &value, true)?;
            }
            repo.put(&path, text.as_bytes())?;
        }
        Ok(0)
    }

    fn list_branches(
        &mut self,
        repo: &Repo<'_>,
        patterns: &[&str],
        (all, remote, verbose): (bool, bool, bool),
        [merged, not_merged, contains]: [Option<&str>; 3],
        format: Option<&str>,
    ) -> Done<u8> {
        let mut lines: Vec<(String, String, Option<super::oid::Oid>, bool)> = Vec::new();
        let head = repo.head()?;
        if let (Head::Detached(oid), false, true) = (&head, remote, patterns.is_empty()) {
            let name = match self.detached_at(repo)? {
                Some((name, true)) => format!("(HEAD detached at {name})"),
                Some((name, false)) => format!("(HEAD detached from {name})"),
                None => format!("(HEAD detached at {})", repo.short(oid)?),
            };
            lines.push(("HEAD".to_owned(), name, Some(*oid), true));
        }
        for (prefix, wanted) in [("refs/heads/", !remote), ("refs/remotes/", all || remote)] {
            for (full, oid) in repo.refs(prefix)?.into_iter().filter(|_| wanted) {
                let short = short_name(&full).to_owned();
                if !patterns.is_empty() && !patterns.iter().any(|pattern| glob::matches(pattern, &short)) {
                    continue;
                }
                let mut name =
                    if all && prefix == "refs/remotes/" { format!("remotes/{short}") } else { short };
                if let Some(to) = repo.symbolic(&full)? {
                    name += &format!(" -> {}", short_name(&to));
                }
                let here = head == Head::Branch(full.clone());
                lines.push((full, name, Some(oid), here));
            }
        }
        let into = |text: Option<&str>| text.map(|text| revision::commit(repo, text)).transpose();
        let (merged, not_merged, contains) = (into(merged)?, into(not_merged)?, into(contains)?);
        let mut kept = Vec::new();
        for line in lines {
            let Some(oid) = line.2 else { continue };
            let fits = merged.map_or(Ok(true), |into| is_behind(repo, &oid, &into))?
                && !not_merged.map_or(Ok(false), |into| is_behind(repo, &oid, &into))?
                && contains.map_or(Ok(true), |what| is_behind(repo, &what, &oid))?;
            if fits {
                kept.push(line);
            }
        }
        let width = kept.iter().map(|(_, name, ..)| name.chars().count()).max().unwrap_or(0);
        for (full, name, oid, here) in kept {
            if let Some(format) = format {
                let oid = oid.unwrap_or_default();
                let text = super::tag::ref_format(repo, format, &full, &oid, here)?;
                self.say(&text);
                continue;
            }
            let mut line = format!("{} {name}", if here { '*' } else { ' ' });
            if verbose && let (Some(oid), false) = (oid, name.contains(" -> ")) {
                let pad = " ".repeat(width - name.chars().count());
                let stand =
                    full.strip_prefix("refs/heads/").map(|branch| standing(repo, branch)).transpose()?;
                line += &format!(
                    "{pad} {}{} {}",
                    repo.short(&oid)?,
                    stand.unwrap_or_default(),
                    repo.commit(&oid)?.subject()
                );
            }
            self.say(&line);
        }
        Ok(0)
    }
}

/// ` [ahead 1]`.
fn standing(repo: &Repo<'_>, branch: &str) -> Done<String> {
    let Some(full) = upstream(repo, branch) else { return Ok(String::new()) };
    let (own, other) = (repo.resolve(&format!("refs/heads/{branch}"))?, repo.resolve(&full)?);
    let (Some(own), Some(other)) = (own, other) else { return Ok(" [gone]".to_owned()) };
    Ok(match apart(repo, &own, &other)? {
        (0, 0) => String::new(),
        (ahead, 0) => format!(" [ahead {ahead}]"),
        (0, behind) => format!(" [behind {behind}]"),
        (ahead, behind) => format!(" [ahead {ahead}, behind {behind}]"),
    })
}

/// A name that is no branch.
pub(super) fn no_branch(name: &str) -> super::failed::Failed {
    error(format!("pathspec '{name}' did not match any file(s) known to git"))
}
