//! `git rev-parse`: names of objects, and where the repository is.

use super::failed::{Done, fatal};
use super::given;
use super::refs::{Head, short_name};
use super::repo::Repo;
use super::{Git, revision};

impl Git<'_> {
    /// `git rev-parse`.
    pub(super) fn rev_parse(&mut self, args: &[String]) -> Done<u8> {
        let (mut short, mut abbreviated, mut full, mut verify, mut quiet) =
            (None, false, false, false, false);
        let mut any = false;
        for arg in args {
            match arg.as_str() {
                "--verify" => verify = true,
                "-q" | "--quiet" => quiet = true,
                "--abbrev-ref" => abbreviated = true,
                "--symbolic-full-name" => full = true,
                "--short" => short = Some(None),
                "--" => {}
                arg if arg.starts_with("--short=") => short = Some(Some(given::number(&arg[8..])?)),
                arg if arg.starts_with("--") => {
                    let text = self.about(arg)?;
                    self.say(&text);
                    any = true;
                }
                text => {
                    any = true;
                    let repo = self.repo()?;
                    if abbreviated || full {
                        let name = match text {
                            "HEAD" | "@" => match repo.head()? {
                                Head::Branch(full) if repo.head_commit()?.is_some() => Some(full),
                                Head::Branch(_) => return Err(revision::unknown(text)),
                                Head::Detached(_) => Some("HEAD".to_owned()),
                            },
                            text if text.ends_with("@{u}") || text.ends_with("@{upstream}") => {
                                revision::find(&repo, text)?;
                                let branch = text.split('@').next().unwrap_or_default().to_owned();
                                let own = repo.head()?;
                                let branch = match (branch.as_str(), &own) {
                                    ("" | "HEAD", Head::Branch(full)) => short_name(full).to_owned(),
                                    _ => branch,
                                };
                                revision::upstream(&repo, &branch)
                            }
                            text => revision::full_name(&repo, text)?,
                        };
                        if let Some(name) = name {
                            self.say(if full { &name } else { short_name(&name) });
                            continue;
                        }
                    }
                    self.parse_one(&repo, text, short, verify, quiet)?;
                    if self.answer.exit != 0 {
                        return Ok(self.answer.exit);
                    }
                }
            }
        }
        if verify && !any {
            return if quiet { Ok(1) } else { Err(fatal("Needed a single revision")) };
        }
        Ok(0)
    }

    fn parse_one(
        &mut self,
        repo: &Repo<'_>,
        text: &str,
        short: Option<Option<usize>>,
        verify: bool,
        quiet: bool,
    ) -> Done {
        let ends: Vec<(&str, &str)> = match text.split_once("..").filter(|(_, b)| !b.starts_with('.')) {
            Some((a, b)) if text != ".." => vec![("", b), ("^", a)],
            _ => vec![text.strip_prefix('^').map_or(("", text), |rest| ("^", rest))],
        };
        for (sign, name) in ends {
            let name = if name.is_empty() { "HEAD" } else { name };
            match revision::find(repo, name)? {
                Some(oid) => {
                    let shown = match short {
                        Some(Some(least)) => repo.short_of(&oid, least)?,
                        Some(None) => repo.short(&oid)?,
                        None => oid.to_string(),
                    };
                    self.say(&format!("{sign}{shown}"));
                }
                None if quiet && verify => self.answer.exit = 1,
                None if verify || short.is_some() => return Err(fatal("Needed a single revision")),
                None if self.is_path(name) => self.say(name),
                None => {
                    self.say(name);
                    return Err(revision::unknown(name));
                }
            }
        }
        Ok(())
    }

    /// What `rev-parse` tells of the repository.
    fn about(&self, option: &str) -> Done<String> {
        let repo = self.repo()?;
        let inside = super::pathspec::below(&repo.dir, &self.cwd).is_some();
        let dir = self.dir_in(&repo);
        Ok(match option {
            "--show-toplevel" => match &repo.work {
                Some(work) if !inside => work.clone(),
                _ => return Err(fatal("this operation must be run in a work tree")),
            },
            "--git-dir" | "--git-common-dir" if self.cwd == repo.root() && repo.work.is_some() => {
                ".git".to_owned()
            }
            "--git-dir" | "--git-common-dir" if self.cwd == repo.dir => ".".to_owned(),
            "--git-dir" | "--git-common-dir" | "--absolute-git-dir" => repo.dir.clone(),
            "--is-inside-work-tree" => (repo.work.is_some() && !inside).to_string(),
            "--is-inside-git-dir" => inside.to_string(),
            "--is-bare-repository" => repo.work.is_none().to_string(),
            "--is-shallow-repository" => "false".to_owned(),
            "--show-object-format" => "sha1".to_owned(),
            "--show-prefix" => {
                if dir.is_empty() {
                    dir
                } else {
                    dir + "/"
                }
            }
            "--show-cdup" => "../".repeat(if dir.is_empty() { 0 } else { dir.split('/').count() }),
            other => {
                return Err(super::left_out(
                    &format!("rev-parse {other}"),
                    "there are --verify, --short, --abbrev-ref, --symbolic-full-name, --show-toplevel, --show-prefix, --show-cdup, --git-dir, --absolute-git-dir, --is-inside-work-tree, --is-bare-repository",
                ));
            }
        })
    }
}
