//! `git status`, in its long, its short and its branch forms.

use super::blobs::Blobs;
use super::failed::Done;
use super::given;
use super::index::Index;
use super::pathspec::Pathspec;
use super::refs::{Head, short_name};
use super::repo::Repo;
use super::revision::upstream;
use super::shown::{quoted, relative};
use super::trees::{Change, compare, flatten_commit};
use super::walk::apart;
use super::{Git, left_out};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Nothing, Optional};

const SPECS: &[Spec] = &[
    ('s', "short", Nothing),
    ('b', "branch", Nothing),
    ('\u{3}', "porcelain", Optional),
    ('\u{4}', "long", Nothing),
    ('u', "untracked-files", Optional),
    ('\u{5}', "ignored", Optional),
    ('z', "", Nothing),
    ('\u{6}', "no-renames", Nothing),
    ('\u{7}', "ahead-behind", Nothing),
];

/// What differs from HEAD and from the index.
pub(super) struct Status {
    pub(super) staged: Vec<Change>,
    pub(super) unstaged: Vec<Change>,
    pub(super) unmerged: Vec<(String, [bool; 3])>,
    pub(super) untracked: Vec<String>,
    pub(super) ignored: Vec<String>,
}

impl Git<'_> {
    /// Compares. What was found to be the same is noted in the index.
    pub(super) fn compared(
        &self,
        repo: &Repo<'_>,
        index: &mut Index,
        spec: &Pathspec,
        unknown: &str,
    ) -> Done<Status> {
        let head = flatten_commit(repo, repo.head_commit()?.as_ref())?;
        let mut staged = compare(&head, &index.flat());
        let mut unmerged: Vec<(String, [bool; 3])> = Vec::new();
        for (path, stage) in index.entries.keys().filter(|(_, stage)| *stage > 0) {
            if unmerged.last().is_none_or(|(last, _)| last != path) {
                unmerged.push((path.clone(), [false; 3]));
            }
            if let Some((_, sides)) = unmerged.last_mut() {
                sides[usize::from(*stage) - 1] = true;
            }
        }
        staged.retain(|change| {
            spec.matches(&change.path) && !unmerged.iter().any(|(path, _)| *path == change.path)
        });
        let staged = Blobs::new(repo).find_moved(staged)?;
        let (unstaged, _) = repo.unstaged(index, spec)?;
        let untracked = if unknown == "no" {
            Vec::new()
        } else {
            repo.untracked(index, spec, self.home(), unknown == "all", false)?
        };
        Ok(Status { staged, unstaged, unmerged, untracked, ignored: Vec::new() })
    }

    /// `git status`.
    pub(super) fn status(&mut self, args: &[String]) -> Done<u8> {
        let (given, rest) = given::read("status", args, SPECS)?;
        let repo = self.work_repo()?;
        let (mut short, mut porcelain, mut branch, mut zero, mut ignored) =
            (false, false, false, false, false);
        let mut unknown = repo.config.get("status.showuntrackedfiles").unwrap_or("normal").to_owned();
        for (letter, value) in &given.options {
            match letter {
                's' => short = true,
                'b' => branch = true,
                '\u{3}' => match value {
                    None | Some("v1" | "1") => porcelain = true,
                    Some(_) => return Err(left_out("this version of --porcelain", "--porcelain=v1 is")),
                },
                '\u{4}' => (short, porcelain) = (false, false),
                'u' => value.unwrap_or("all").clone_into(&mut unknown),
                '\u{5}' => ignored = true,
                'z' => zero = true,
                _ => {}
            }
        }
        let paths = [given.operands, rest.unwrap_or_default()].concat();
        let spec = Pathspec::new(&repo, &self.cwd, &paths)?;
        let mut index = Index::read(&repo)?;
        let mut status = self.compared(&repo, &mut index, &spec, &unknown)?;
        if ignored {
            status.ignored = repo.untracked(&index, &spec, self.home(), false, true)?;
        }
        if short || porcelain || zero {
            let dir = if porcelain || zero { String::new() } else { self.dir_in(&repo) };
            let text = short_form(&repo, &status, &dir, branch, zero)?;
            self.answer.stdout.extend_from_slice(text.as_bytes());
        } else {
            let text = self.long_form(&repo, &status, unknown == "no")?;
            self.answer.stdout.extend_from_slice(text.as_bytes());
        }
        Ok(0)
    }

    /// The long form.
    pub(super) fn long_form(&self, repo: &Repo<'_>, status: &Status, hidden: bool) -> Done<String> {
        let dir = self.dir_in(repo);
        let name = |path: &str| quoted(repo, &relative(path, &dir));
        let head = repo.head()?;
        let born = repo.head_commit()?.is_some();
        let mut text = match &head {
            Head::Branch(full) => format!("On branch {}\n", short_name(full)),
            Head::Detached(oid) => match self.detached_at(repo)? {
                Some((at, true)) => format!("HEAD detached at {at}\n"),
                Some((at, false)) => format!("HEAD detached from {at}\n"),
                None => format!("HEAD detached at {}\n", repo.short(oid)?),
            },
        };
        if let Head::Branch(full) = &head {
            text += &tracking(repo, short_name(full))?.map(|text| text + "\n").unwrap_or_default();
        }
        if !born {
            text += "\nNo commits yet\n\n";
        }
        let list = |changes: &[Change]| -> String {
            let line = |change: &Change| {
                let (label, path) = match (change.letter(), &change.from) {
                    ('A', _) => ("new file:", name(&change.path)),
                    ('D', _) => ("deleted:", name(&change.path)),
                    ('T', _) => ("typechange:", name(&change.path)),
                    (_, Some((from, _))) => ("renamed:", format!("{} -> {}", name(from), name(&change.path))),
                    _ => ("modified:", name(&change.path)),
                };
                format!("\t{label:<12}{path}\n")
            };
            changes.iter().map(line).collect()
        };
        let unstage = if born { "git restore --staged <file>..." } else { "git rm --cached <file>..." };
        if !status.staged.is_empty() {
            text += &format!(
                "Changes to be committed:\n  (use \"{unstage}\" to unstage)\n{}\n",
                list(&status.staged)
            );
        }
        if !status.unmerged.is_empty() {
            text += &format!(
                "Unmerged paths:\n  (use \"{unstage}\" to unstage)\n  (use \"git add <file>...\" to mark resolution)\n"
            );
            for (path, sides) in &status.unmerged {
                let label = match sides {
                    [true, true, true] => "both modified:",
                    [false, true, true] => "both added:",
                    [true, true, false] => "deleted by them:",
                    [true, false, true] => "deleted by us:",
                    [true, false, false] => "both deleted:",
                    [_, true, _] => "added by us:",
                    _ => "added by them:",
                };
                text += &format!("\t{label:<17}{}\n", name(path));
            }
            text += "\n";
        }
        if !status.unstaged.is_empty() {
            let gone = status.unstaged.iter().any(|change| change.new.is_none());
            let add = if gone { "git add/rm <file>..." } else { "git add <file>..." };
            text += &format!(
                "Changes not staged for commit:\n  (use \"{add}\" to update what will be committed)\n  (use \"git restore <file>...\" to discard changes in working directory)\n{}\n",
                list(&status.unstaged)
            );
        }
        for (paths, what, add) in
            [(&status.untracked, "Untracked", "git add"), (&status.ignored, "Ignored", "git add -f")]
        {
            if !paths.is_empty() {
                let lines: String = paths.iter().map(|path| format!("\t{}\n", name(path))).collect();
                text += &format!(
                    "{what} files:\n  (use \"{add} <file>...\" to include in what will be committed)\n{lines}\n"
                );
            }
        }
        if hidden {
            text += if status.staged.is_empty() && status.unstaged.is_empty() {
                "nothing to commit (use -u to show untracked files)\n"
            } else {
                "Untracked files not listed (use -u option to show untracked files)\n"
            };
            if status.staged.is_empty() && !status.unstaged.is_empty() {
                text += "no changes added to commit (use \"git add\" and/or \"git commit -a\")\n";
            }
        } else if status.staged.is_empty() {
            text += if !status.unstaged.is_empty() || !status.unmerged.is_empty() {
                "no changes added to commit (use \"git add\" and/or \"git commit -a\")\n"
            } else if !status.untracked.is_empty() {
                "nothing added to commit but untracked files present (use \"git add\" to track)\n"
            } else if born {
                "nothing to commit, working tree clean\n"
            } else {
                "nothing to commit (create/copy files and use \"git add\" to track)\n"
            };
        }
        Ok(text)
    }
}

/// How a branch stands to the one that it follows; lines that end with a newline.
pub(super) fn tracking(repo: &Repo<'_>, branch: &str) -> Done<Option<String>> {
    let Some(full) = upstream(repo, branch) else { return Ok(None) };
    let name = short_name(&full);
    let Some(other) = repo.resolve(&full)? else {
        return Ok(Some(format!(
            "Your branch is based on '{name}', but the upstream is gone.\n  (use \"git branch --unset-upstream\" to fixup)\n"
        )));
    };
    let Some(own) = repo.resolve(&format!("refs/heads/{branch}"))? else { return Ok(None) };
    let commits = |count: usize| format!("{count} commit{}", if count == 1 { "" } else { "s" });
    Ok(Some(match apart(repo, &own, &other)? {
        (0, 0) => format!("Your branch is up to date with '{name}'.\n"),
        (ahead, 0) => format!(
            "Your branch is ahead of '{name}' by {}.\n  (use \"git push\" to publish your local commits)\n",
            commits(ahead)
        ),
        (0, behind) => format!(
            "Your branch is behind '{name}' by {}, and can be fast-forwarded.\n  (use \"git pull\" to update your local branch)\n",
            commits(behind)
        ),
        (ahead, behind) => format!(
            "Your branch and '{name}' have diverged,\nand have {ahead} and {behind} different commits each, respectively.\n  (use \"git pull\" if you want to integrate the remote branch with yours)\n"
        ),
    }))
}

fn short_form(repo: &Repo<'_>, status: &Status, dir: &str, branch: bool, zero: bool) -> Done<String> {
    let mut text = String::new();
    let end = if zero { '\0' } else { '\n' };
    if branch {
        text += "## ";
        text += &match repo.head()? {
            Head::Detached(_) => "HEAD (no branch)".to_owned(),
            Head::Branch(full) => {
                let name = short_name(&full);
                let line = format!("{name}{}", followed(repo, name)?);
                if repo.head_commit()?.is_none() { format!("No commits yet on {line}") } else { line }
            }
        };
        text.push(end);
    }
    let name = |path: &str| {
        if zero {
            return path.to_owned();
        }
        let shown = quoted(repo, &relative(path, dir));
        if shown.contains(' ') && !shown.starts_with('"') { format!("\"{shown}\"") } else { shown }
    };
    let mut lines: std::collections::BTreeMap<&str, (char, char, Option<&str>)> =
        std::collections::BTreeMap::new();
    for change in &status.staged {
        let from = change.from.as_ref().map(|(from, _)| from.as_str());
        lines.insert(&change.path, (change.letter(), ' ', from));
    }
    for change in &status.unstaged {
        lines.entry(&change.path).or_insert((' ', ' ', None)).1 = change.letter();
    }
    for (path, sides) in &status.unmerged {
        let letters = match sides {
            [true, false, false] => ('D', 'D'),
            [false, true, false] => ('A', 'U'),
            [true, true, false] => ('U', 'D'),
            [false, false, _] => ('U', 'A'),
            [true, false, true] => ('D', 'U'),
            [false, true, true] => ('A', 'A'),
            _ => ('U', 'U'),
        };
        lines.insert(path, (letters.0, letters.1, None));
    }
    for (path, (x, y, from)) in lines {
        text += &match from {
            Some(from) if zero => format!("{x}{y} {}\0{}\0", name(path), name(from)),
            Some(from) => format!("{x}{y} {} -> {}\n", name(from), name(path)),
            None => format!("{x}{y} {}{end}", name(path)),
        };
    }
    for (paths, letters) in [(&status.untracked, "??"), (&status.ignored, "!!")] {
        paths.iter().for_each(|path| text += &format!("{letters} {}{end}", name(path)));
    }
    Ok(text)
}

/// `...origin/main [ahead 1]`.
fn followed(repo: &Repo<'_>, branch: &str) -> Done<String> {
    let Some(full) = upstream(repo, branch) else { return Ok(String::new()) };
    let name = short_name(&full);
    let (own, other) = (repo.resolve(&format!("refs/heads/{branch}"))?, repo.resolve(&full)?);
    let (Some(own), Some(other)) = (own, other) else { return Ok(format!("...{name} [gone]")) };
    Ok(match apart(repo, &own, &other)? {
        (0, 0) => format!("...{name}"),
        (ahead, 0) => format!("...{name} [ahead {ahead}]"),
        (0, behind) => format!("...{name} [behind {behind}]"),
        (ahead, behind) => format!("...{name} [ahead {ahead}, behind {behind}]"),
    })
}
