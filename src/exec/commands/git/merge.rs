//! `git merge`.

use super::apply::For;
use super::blobs::Blobs;
use super::diffstat::Stats;
use super::failed::{Done, Failed, fatal};
use super::given;
use super::index::Index;
use super::merge_files;
use super::object::{Commit, Kind};
use super::oid::Oid;
use super::refs::{Head, short_name};
use super::repo::Repo;
use super::trees::{Flat, compare, flatten_commit};
use super::walk::merge_bases;
use super::{Git, left_out, patch, revision};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing};

const SPECS: &[Spec] = &[
    ('m', "", Argument),
    ('F', "file", Argument),
    ('q', "quiet", Nothing),
    ('n', "no-stat", Nothing),
    ('\u{3}', "ff", Nothing),
    ('\u{4}', "ff-only", Nothing),
    ('\u{5}', "no-ff", Nothing),
    ('\u{6}', "no-edit", Nothing),
    ('\u{6}', "stat", Nothing),
    ('\u{6}', "commit", Nothing),
    ('\u{7}', "abort", Nothing),
    ('\u{8}', "no-commit", Nothing),
    ('\u{8}', "squash", Nothing),
];

/// How a merge may come out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ff {
    /// Without a commit of its own where that is enough.
    #[default]
    May,
    Must,
    Never,
}

/// How a merge is told.
#[derive(Default)]
pub(super) struct Told {
    pub(super) quiet: bool,
    pub(super) stat: bool,
}

impl Git<'_> {
    /// `git merge`.
    pub(super) fn merge(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("merge", args, SPECS)?;
        let repo = self.work_repo()?;
        let mut ff = match repo.config.get("merge.ff") {
            Some("only") => Ff::Must,
            Some("false" | "no") => Ff::Never,
            _ => Ff::May,
        };
        let (mut message, mut told) = (None::<String>, Told { quiet: false, stat: true });
        for &(letter, value) in &given.options {
            match letter {
                'm' => {
                    let text = value.unwrap_or_default();
                    message =
                        Some(message.map_or_else(|| text.to_owned(), |before| format!("{before}\n\n{text}")));
                }
                'F' => message = Some(self.message_file(value.unwrap_or_default())?),
                'q' => told.quiet = true,
                'n' => told.stat = false,
                '\u{3}' => ff = Ff::May,
                '\u{4}' => ff = Ff::Must,
                '\u{5}' => ff = Ff::Never,
                '\u{7}' => return Err(fatal("There is no merge to abort (MERGE_HEAD missing).")),
                '\u{8}' => return Err(left_out("a merge without a commit", "git merge is")),
                _ => {}
            }
        }
        let names = [given.operands, behind.unwrap_or_default()].concat();
        let name = match names[..] {
            [name] => name.to_owned(),
            [] => {
                let Head::Branch(full) = repo.head()? else {
                    return Err(fatal("No commit specified and merge.defaultToUpstream not set."));
                };
                let upstream = revision::upstream(&repo, short_name(&full));
                short_name(&upstream.ok_or_else(|| fatal("No remote for the current branch."))?).to_owned()
            }
            _ => return Err(left_out("a merge of several branches at once", "one after the other is")),
        };
        let Some(oid) = revision::find(&repo, &name)? else {
            return Err(Failed { exit: 1, message: format!("merge: {name} - not something we can merge") });
        };
        let oid = repo.peel(&oid, Some(Kind::Commit))?;
        let what = match revision::full_name(&repo, &name)? {
            Some(full) if full.starts_with("refs/heads/") => format!("branch '{name}'"),
            Some(full) if full.starts_with("refs/tags/") => format!("tag '{name}'"),
            Some(full) if full.starts_with("refs/remotes/") => format!("remote-tracking branch '{name}'"),
            _ => format!("commit '{name}'"),
        };
        let message = match message {
            Some(text) => super::commit::cleaned(&text),
            None => format!("Merge {what}{}\n", into(&repo)?),
        };
        self.merge_with(&repo, &oid, &message, ff, &told)
    }

    /// Merges a commit into HEAD.
    pub(super) fn merge_with(
        &mut self,
        repo: &Repo<'_>,
        oid: &Oid,
        message: &str,
        ff: Ff,
        told: &Told,
    ) -> Done<u8> {
        let mut index = Index::read(repo)?;
        if !index.unmerged().is_empty() {
            return Err(Failed {
                exit: 128,
                message: "error: Merging is not possible because you have unmerged files.\nfatal: Exiting because of an unresolved conflict.".into(),
            });
        }
        let theirs = flatten_commit(repo, Some(oid))?;
        let Some(head) = repo.head_commit()? else {
            self.bring(repo, &mut index, &Flat::new(), &theirs)?;
            repo.update("HEAD", oid)?;
            return Ok(0);
        };
        let bases = merge_bases(repo, &head, oid)?;
        if bases.first() == Some(oid) {
            if !told.quiet {
                self.say("Already up to date.");
            }
            return Ok(0);
        }
        let ours = flatten_commit(repo, Some(&head))?;
        if bases.first() == Some(&head) && ff != Ff::Never {
            if !told.quiet {
                self.say(&format!("Updating {}..{}", repo.short(&head)?, repo.short(oid)?));
            }
            self.bring(repo, &mut index, &ours, &theirs)?;
            Self::note_start(repo, &head)?;
            repo.update("HEAD", oid)?;
            if !told.quiet {
                self.say("Fast-forward");
                self.show_stat(repo, &ours, &theirs, told)?;
            }
            return Ok(0);
        }
        if ff == Ff::Must {
            return Err(Failed {
                exit: 128,
                message: "hint: Diverging branches can't be fast-forwarded, you need to either:\nhint:\nhint: \tgit merge --no-ff\nhint:\nhint: or:\nhint:\nhint: \tgit rebase\nhint:\nhint: Disable this message with \"git config advice.diverging false\"\nfatal: Not possible to fast-forward, aborting.".into(),
            });
        }
        let Some(base) = bases.first() else { return Err(fatal("refusing to merge unrelated histories")) };
        if bases.len() > 1 {
            return Err(left_out(
                "a merge of branches that were merged crosswise before",
                "nothing was changed",
            ));
        }
        let (author, committer) = (self.ident(repo, "AUTHOR")?, self.ident(repo, "COMMITTER")?);
        let staged: Vec<String> =
            compare(&ours, &index.flat()).into_iter().map(|change| change.path).collect();
        if !staged.is_empty() {
            let list: Vec<String> = staged.iter().map(|path| format!("  {path}")).collect();
            return Err(Failed {
                exit: 2,
                message: format!(
                    "error: Your local changes to the following files would be overwritten by merge:\n{}\nMerge with strategy ort failed.",
                    list.join("\n")
                ),
            });
        }
        let merged = merge_files::merge(repo, &flatten_commit(repo, Some(base))?, &ours, &theirs)?;
        if !merged.conflicts.is_empty() {
            let list: Vec<String> =
                merged.conflicts.iter().map(|(path, why)| format!("CONFLICT ({why}): {path}")).collect();
            return Err(Failed {
                exit: 1,
                message: format!(
                    "{}\nerror: both sides changed these; conflicts are not resolved here, and nothing was changed",
                    list.join("\n")
                ),
            });
        }
        self.bring(repo, &mut index, &ours, &merged.files)?;
        let tree = index.write_tree(repo)?;
        let commit =
            Commit { tree, parents: vec![head, *oid], author, committer, message: message.to_owned() };
        let made = repo.write(Kind::Commit, &commit.write())?;
        Self::note_start(repo, &head)?;
        repo.update("HEAD", &made)?;
        if !told.quiet {
            merged.mixed.iter().for_each(|path| self.say(&format!("Auto-merging {path}")));
            self.say("Merge made by the 'ort' strategy.");
            self.show_stat(repo, &ours, &merged.files, told)?;
        }
        Ok(0)
    }

    fn bring(&self, repo: &Repo<'_>, index: &mut Index, from: &Flat, to: &Flat) -> Done {
        repo.switch(index, from, to, self.home(), For::Merge)?;
        index.write(repo)
    }

    fn show_stat(&mut self, repo: &Repo<'_>, old: &Flat, new: &Flat, told: &Told) -> Done {
        let blobs = Blobs::new(repo);
        let changes = blobs.find_moved(compare(old, new))?;
        if told.stat && !changes.is_empty() {
            let stats = Stats::of(&blobs, &changes)?;
            stats.graph(repo, 80, &mut self.answer.stdout);
            self.answer.stdout.extend_from_slice(stats.sum().as_bytes());
            self.answer.stdout.extend_from_slice(patch::summary(&blobs, &changes).as_bytes());
        }
        Ok(())
    }
}

/// ` into x`, but for `master`.
pub(super) fn into(repo: &Repo<'_>) -> Done<String> {
    Ok(match repo.head()? {
        Head::Branch(full) if full == "refs/heads/master" => String::new(),
        Head::Branch(full) => format!(" into {}", short_name(&full)),
        Head::Detached(_) => " into HEAD".to_owned(),
    })
}
