//! `git cherry-pick` and `git revert`: one commit's changes once more, or taken back.

use super::apply::For;
use super::failed::{Done, Failed, error, fatal};
use super::given::{self, misused};
use super::index::Index;
use super::merge_files;
use super::object::{Commit, Kind};
use super::oid::Oid;
use super::repo::Repo;
use super::trees::{Flat, compare, flatten, flatten_commit};
use super::{Git, left_out, revision};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing};

const SPECS: &[Spec] = &[
    ('x', "", Nothing),
    ('m', "mainline", Argument),
    ('n', "no-commit", Nothing),
    ('\u{3}', "no-edit", Nothing),
    ('\u{4}', "allow-empty", Nothing),
    ('\u{5}', "abort", Nothing),
];

impl Git<'_> {
    /// `git cherry-pick`, or `git revert` when `back`.
    pub(super) fn pick(&mut self, args: &[String], back: bool) -> Done<u8> {
        let name = if back { "revert" } else { "cherry-pick" };
        let (given, behind) = given::read(name, args, SPECS)?;
        let mainline = given.value('m').map(given::number);
        let mainline = mainline.transpose()?;
        if given.has('\u{5}') {
            return Err(Failed {
                exit: 128,
                message: format!("error: no cherry-pick or revert in progress\nfatal: {name} failed"),
            });
        }
        let repo = self.work_repo()?;
        let operands = [given.operands.clone(), behind.unwrap_or_default()].concat();
        if operands.is_empty() {
            return Err(misused(name, "a commit is needed", SPECS));
        }
        let mut oids = Vec::new();
        for text in operands {
            if text.contains("..") {
                return Err(left_out(&format!("{name} of a range"), "name each commit"));
            }
            let oid = revision::find(&repo, text)?.ok_or_else(|| fatal(format!("bad revision '{text}'")))?;
            oids.push(repo.peel(&oid, Some(Kind::Commit))?);
        }
        for oid in oids {
            self.pick_one(&repo, &oid, mainline, back, (given.has('x'), given.has('n'), given.has('\u{4}')))?;
        }
        Ok(0)
    }

    fn pick_one(
        &mut self,
        repo: &Repo<'_>,
        oid: &Oid,
        mainline: Option<usize>,
        back: bool,
        (tells, stages, empty): (bool, bool, bool),
    ) -> Done {
        let name = if back { "revert" } else { "cherry-pick" };
        let commit = repo.commit(oid)?;
        let parent = match (commit.parents.len(), mainline) {
            (0 | 1, None) => commit.parents.first(),
            (0 | 1, Some(_)) => {
                return Err(error(format!(
                    "mainline was specified but commit {oid} is not a merge.\nfatal: {name} failed"
                )));
            }
            (_, Some(number)) => Some(commit.parents.get(number.wrapping_sub(1)).ok_or_else(|| {
                error(format!("commit {oid} does not have parent {number}\nfatal: {name} failed"))
            })?),
            (_, None) => {
                let mut failed = error(format!(
                    "commit {oid} is a merge but no -m option was given.\nfatal: {name} failed"
                ));
                failed.exit = 128;
                return Err(failed);
            }
        };
        let head = self.head_of(repo)?;
        let mut index = Index::read(repo)?;
        let ours = flatten_commit(repo, Some(&head))?;
        if !stages && !compare(&ours, &index.flat()).is_empty() {
            return Err(Failed {
                exit: 128,
                message: format!(
                    "error: your local changes would be overwritten by {name}.\nhint: commit your changes or stash them to proceed.\nfatal: {name} failed"
                ),
            });
        }
        let ours = if stages { index.flat() } else { ours };
        let (own, before): (Flat, Flat) = (flatten(repo, &commit.tree)?, flatten_commit(repo, parent)?);
        let (base, theirs) = if back { (own, before) } else { (before, own) };
        let merged = merge_files::merge(repo, &base, &ours, &theirs)?;
        if !merged.conflicts.is_empty() {
            let list: Vec<String> =
                merged.conflicts.iter().map(|(path, why)| format!("CONFLICT ({why}): {path}")).collect();
            return Err(error(format!(
                "could not apply {}... {}; conflicts are not resolved here, and nothing was changed\n{}",
                repo.short(oid)?,
                commit.subject(),
                list.join("\n")
            )));
        }
        let committer = self.ident(repo, "COMMITTER")?;
        repo.switch(&mut index, &ours, &merged.files, self.home(), For::Merge)?;
        index.write(repo)?;
        if stages {
            return Ok(());
        }
        merged.mixed.iter().for_each(|path| self.say(&format!("Auto-merging {path}")));
        let tree = index.write_tree(repo)?;
        if tree == repo.commit(&head)?.tree && !empty {
            let status = self.compared(repo, &mut index, &super::pathspec::Pathspec::default(), "normal")?;
            let text = self.long_form(repo, &status, false)?;
            self.answer.stdout.extend_from_slice(text.as_bytes());
            return Err(Failed {
                exit: 1,
                message: "The previous cherry-pick is now empty; to commit it anyway, use --allow-empty."
                    .into(),
            });
        }
        let subject = commit.subject();
        let (author, message) = if back {
            let title = match subject.strip_prefix("Revert \"").and_then(|rest| rest.strip_suffix('"')) {
                Some(inner) if !inner.starts_with("Revert \"") => format!("Reapply \"{inner}\""),
                _ => format!("Revert \"{subject}\""),
            };
            let tail = match (parent, commit.parents.len()) {
                (Some(parent), 2..) => format!(", reversing\nchanges made to {parent}"),
                _ => String::new(),
            };
            (self.ident(repo, "AUTHOR")?, format!("{title}\n\nThis reverts commit {oid}{tail}.\n"))
        } else {
            let note = if tells { format!("(cherry picked from commit {oid})\n") } else { String::new() };
            let gap = if tells { "\n" } else { "" };
            (commit.author.clone(), format!("{}\n{gap}{note}", commit.message.trim_end()))
        };
        let made = Commit { tree, parents: vec![head], author, committer, message };
        let made_oid = repo.write(Kind::Commit, &made.write())?;
        repo.update("HEAD", &made_oid)?;
        self.summarize(repo, &made_oid, &made, true)
    }
}
