//! `git clean`.

use super::failed::{Done, at, fatal};
use super::given;
use super::index::Index;
use super::pathspec::Pathspec;
use super::repo::Repo;
use super::shown::{quoted, relative};
use super::{Git, join};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::Nothing;
use crate::fs::Kind;

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
        let repo = self.work_repo()?;
        if !given.has('f') && !given.has('n') && repo.config.is("clean.requireforce") != Some(false) {
            return Err(fatal("clean.requireForce is true and -f not given: refusing to clean"));
        }
        let dir = self.dir_in(&repo);
        let paths = [given.operands.clone(), behind.unwrap_or_default()].concat();
        let wanted = if paths.is_empty() { vec!["."] } else { paths };
        let spec = Pathspec::new(&repo, &self.cwd, &wanted)?;
        let index = Index::read(&repo)?;
        let home = self.home().to_owned();
        let mut clean = Clean {
            unknown: repo.untracked(&index, &spec, &home, true, false)?,
            ignored: repo.untracked(&index, &spec, &home, true, true)?,
            repo: &repo,
            index: &index,
            spec: &spec,
            dirs: given.has('d'),
            // What is meant: unknown files, ignored ones, or both.
            kinds: (!given.has('X'), given.has('x') || given.has('X')),
            doomed: Vec::new(),
        };
        clean.gather("")?;
        let mut doomed = clean.doomed;
        doomed.sort();
        let word = if given.has('n') { "Would remove" } else { "Removing" };
        for path in doomed {
            if !given.has('q') {
                self.say(&format!("{word} {}", quoted(&repo, &relative(&path, &dir))));
            }
            if !given.has('n') {
                let full = repo.full(path.trim_end_matches('/'));
                self.call.files.remove_all(&full).map_err(at(&path))?;
            }
        }
        Ok(0)
    }
}

struct Clean<'c, 'a> {
    repo: &'c Repo<'a>,
    index: &'c Index,
    spec: &'c Pathspec,
    unknown: Vec<String>,
    ignored: Vec<String>,
    dirs: bool,
    kinds: (bool, bool),
    doomed: Vec<String>,
}

impl Clean<'_, '_> {
    fn gather(&mut self, dir: &str) -> Done {
        self.repo.go_on()?;
        for (name, stat) in self.repo.call.files.read_dir(&self.repo.full(dir)).map_err(at(dir))? {
            let path = if dir.is_empty() { name.to_string() } else { format!("{dir}/{name}") };
            if stat.kind != Kind::Dir {
                let meant = |all: &[String], wanted: bool| wanted && all.binary_search(&path).is_ok();
                if meant(&self.unknown, self.kinds.0) || meant(&self.ignored, self.kinds.1) {
                    self.doomed.push(path);
                }
                continue;
            }
            let full = self.repo.full(&path);
            let reached =
                self.spec.reaches(&path) && &*name != ".git" && full != self.repo.dir && full != "/dev";
            if !reached || self.index.has(&path) {
                continue;
            }
            if self.index.has_below(&path) {
                self.gather(&path)?;
                continue;
            }
            let foreign = self.repo.call.files.exists(&join(&full, ".git/HEAD")).unwrap_or(false);
            if !self.dirs || foreign {
                continue;
            }
            let prefix = format!("{path}/");
            let inside = |all: &[String]| all.iter().any(|file| file.starts_with(&prefix));
            let (unknown, ignored) = (inside(&self.unknown), inside(&self.ignored));
            let empty = !unknown && !ignored;
            let stays = unknown && !self.kinds.0 || ignored && !self.kinds.1 || empty && !self.kinds.0;
            if stays || !self.spec.matches(&path) {
                self.gather(&path)?;
            } else {
                self.doomed.push(prefix);
            }
        }
        Ok(())
    }
}
