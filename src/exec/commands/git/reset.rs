//! `git reset`.

use super::failed::{Done, fatal};
use super::given;
use super::index::{Index, Seen, Staged};
use super::object::Kind;
use super::oid::Oid;
use super::pathspec::Pathspec;
use super::repo::Repo;
use super::revision;
use super::trees::{Flat, flatten, flatten_commit};
use super::{Git, left_out};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::Nothing;

const SPECS: &[Spec] = &[
    ('\u{3}', "soft", Nothing),
    ('\u{4}', "mixed", Nothing),
    ('\u{5}', "hard", Nothing),
    ('\u{6}', "merge", Nothing),
    ('\u{6}', "keep", Nothing),
    ('q', "quiet", Nothing),
    ('p', "patch", Nothing),
];

/// The index becomes as a tree says; what it knows of files that are the same stays.
pub(super) fn reset_index(index: &mut Index, to: &Flat, spec: &Pathspec) {
    for path in index.paths() {
        if spec.matches(&path) && !to.contains_key(&path) {
            index.remove(&path);
        }
    }
    for (path, &(mode, oid)) in to.iter().filter(|(path, _)| spec.matches(path)) {
        if index.get(path).is_none_or(|held| (held.mode, held.oid) != (mode, oid) || held.intent) {
            index.put(path, Staged { mode, oid, seen: Seen::default(), intent: false });
        }
    }
}

impl Git<'_> {
    /// `git reset`.
    pub(super) fn reset(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("reset", args, SPECS)?;
        let (mut mode, mut quiet) = (None, false);
        for (letter, _) in &given.options {
            match letter {
                'q' => quiet = true,
                'p' => return Err(left_out("reset -p", "git reset -- PATHS is")),
                '\u{6}' => return Err(left_out("this kind of reset", "--soft, --mixed and --hard are")),
                letter => mode = Some(*letter),
            }
        }
        let repo = if mode == Some('\u{3}') { self.repo()? } else { self.work_repo()? };
        let (mut target, mut paths) = (None, Vec::new());
        if let Some((first, rest)) = given.operands.split_first() {
            match revision::find(&repo, first)? {
                Some(oid) => {
                    target = Some((*first, oid));
                    paths.extend(rest);
                }
                None if behind.is_none()
                    && (self.is_path(first)
                        || Index::read(&repo)?.has(&super::stage::plain_in(&repo, &self.cwd, first))) =>
                {
                    paths.clone_from(&given.operands);
                }
                None => return Err(revision::unknown(first)),
            }
        }
        let by_path = !paths.is_empty() || behind.as_ref().is_some_and(|paths| !paths.is_empty());
        paths.extend(behind.unwrap_or_default());
        let head = repo.head_commit()?;
        if by_path {
            if let Some(mode) = mode.filter(|mode| *mode != '\u{4}') {
                let name = if mode == '\u{5}' { "hard" } else { "soft" };
                return Err(fatal(format!("Cannot do {name} reset with paths.")));
            }
            let tree = target.map(|(_, oid)| oid).or(head);
            let to = tree
                .map_or_else(|| Ok(Flat::new()), |oid| flatten(&repo, &repo.peel(&oid, Some(Kind::Tree))?))?;
            let spec = Pathspec::new(&repo, &self.cwd, &paths)?;
            let mut index = Index::read(&repo)?;
            reset_index(&mut index, &to, &spec);
            return self.refresh(&repo, index, quiet);
        }
        let new = match target {
            Some((_, oid)) => Some(repo.peel(&oid, Some(Kind::Commit))?),
            None => head,
        };
        let to = flatten_commit(&repo, new.as_ref())?;
        let mut index = Index::read(&repo)?;
        if let (Some(new), Some(old)) = (new, head) {
            repo.update("ORIG_HEAD", &old)?;
            repo.update("HEAD", &new)?;
        }
        match mode {
            Some('\u{3}') => Ok(0),
            Some('\u{5}') => {
                repo.force(&mut index, &to)?;
                index.write(&repo)?;
                if let Some(oid) = new.filter(|_| !quiet) {
                    self.say(&format!(
                        "HEAD is now at {} {}",
                        repo.short(&oid)?,
                        repo.commit(&oid)?.subject()
                    ));
                }
                Ok(0)
            }
            _ => {
                reset_index(&mut index, &to, &Pathspec::default());
                self.refresh(&repo, index, quiet)
            }
        }
    }

    /// Compares with the files, and tells which differ now.
    fn refresh(&mut self, repo: &Repo<'_>, mut index: Index, quiet: bool) -> Done<u8> {
        let (unstaged, _) = repo.unstaged(&mut index, &Pathspec::default())?;
        index.write(repo)?;
        if !quiet && !unstaged.is_empty() {
            self.say("Unstaged changes after reset:");
            unstaged.iter().for_each(|change| self.say(&format!("{}\t{}", change.letter(), change.path)));
        }
        Ok(0)
    }

    /// The commit that a merge or a pull began at.
    pub(super) fn note_start(repo: &Repo<'_>, oid: &Oid) -> Done {
        repo.update("ORIG_HEAD", oid)
    }
}
