//! `git clean`.

use super::Git;
use super::failed::{Done, at, fatal};
use super::given;
use super::index::Index;
use super::pathspec::Pathspec;
use super::shown::{quoted, relative};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::Nothing;

const SPECS: &[Spec] = &[
    ('f', "force", Nothing),
    ('n', "dry-run", Nothing),
    ('d', "", Nothing),
    ('x', "", Nothing),
    ('X', "", Nothing),
    ('q', "quiet", Nothing),
];

impl Git<'_> {
    /// `git clean`.
    pub(super) fn clean(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("clean", args, SPECS)?;
        let has = |letter: char| given.options.iter().any(|(own, _)| *own == letter);
        let repo = self.work_repo()?;
        if !has('f') && !has('n') && repo.config.is("clean.requireforce") != Some(false) {
            return Err(fatal("clean.requireForce is true and -f not given: refusing to clean"));
        }
        let dir = self.dir_in(&repo);
        let paths = [given.operands.clone(), behind.unwrap_or_default()].concat();
        let wanted = if paths.is_empty() { vec!["."] } else { paths };
        let spec = Pathspec::new(&repo, &self.cwd, &wanted)?;
        let index = Index::read(&repo)?;
        let home = self.home().to_owned();
        let ignored = repo.untracked(&index, &spec, &home, true, true)?;
        let mut doomed = Vec::new();
        if !has('X') {
            for path in repo.untracked(&index, &spec, &home, false, false)? {
                let Some(folder) = path.strip_suffix('/') else {
                    doomed.push(path);
                    continue;
                };
                if !has('d') {
                    continue;
                }
                // What is ignored stays, and so do the directories above it.
                let keeps = !has('x') && ignored.iter().any(|file| file.starts_with(&path));
                let foreign = self.call.files.exists(&repo.full(&format!("{folder}/.git"))).unwrap_or(false);
                if foreign {
                    self.say(&format!("Skipping repository {path}"));
                } else if keeps {
                    let all = repo.untracked(&index, &spec, &home, true, false)?;
                    doomed.extend(all.into_iter().filter(|file| file.starts_with(&path)));
                } else {
                    doomed.push(path);
                }
            }
        }
        if has('x') || has('X') {
            let all = repo.untracked(&index, &spec, &home, false, true)?;
            let free = |path: &String| has('d') || !path.ends_with('/');
            doomed.extend(all.into_iter().filter(free));
        }
        doomed.sort();
        doomed.dedup();
        let word = if has('n') { "Would remove" } else { "Removing" };
        for path in doomed {
            if !has('q') {
                self.say(&format!("{word} {}", quoted(&repo, &relative(&path, &dir))));
            }
            if !has('n') {
                let full = repo.full(path.trim_end_matches('/'));
                self.call.files.remove_all(&full).map_err(at(&path))?;
            }
        }
        Ok(0)
    }
}
