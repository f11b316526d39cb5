//! `git remote` and `git ls-remote`.

use super::branch::set_config;
use super::failed::{Done, Failed, fatal};
use super::fetch::{Wish, default_remote};
use super::given::{self, misused};
use super::repo::Repo;
use super::{Git, config, left_out};
use crate::exec::commands::glob;
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::Nothing;

const SPECS: &[Spec] = &[
    ('v', "verbose", Nothing),
    ('f', "fetch", Nothing),
    ('\u{3}', "push", Nothing),
    ('\u{4}', "add", Nothing),
];

fn none(name: &str) -> Failed {
    Failed { exit: 2, message: format!("error: No such remote '{name}'") }
}

impl Git<'_> {
    /// `git remote`.
    pub(super) async fn remote(&mut self, args: &[String]) -> Done<u8> {
        let (given, _) = given::read("remote", args, SPECS)?;
        let mut repo = self.repo()?;
        let url = |name: &str| repo.config.get(&format!("remote.{name}.url")).map(str::to_owned);
        match given.operands[..] {
            [] => {
                let mut names: Vec<String> =
                    repo.config.subsections("remote").into_iter().map(str::to_owned).collect();
                names.sort();
                for name in names {
                    let Some(url) = url(&name).filter(|_| given.has('v')) else {
                        self.say(&name);
                        continue;
                    };
                    let push = repo.config.get(&format!("remote.{name}.pushurl")).unwrap_or(&url).to_owned();
                    self.say(&format!("{name}\t{url} (fetch)\n{name}\t{push} (push)"));
                }
            }
            ["add", name, to] => {
                if url(name).is_some() {
                    return Err(Failed { exit: 3, message: format!("error: remote {name} already exists.") });
                }
                if !super::refs::is_valid(&format!("refs/remotes/{name}/x")) {
                    return Err(fatal(format!("'{name}' is not a valid remote name")));
                }
                set_config(&repo, &format!("remote.{name}.url"), to)?;
                set_config(
                    &repo,
                    &format!("remote.{name}.fetch"),
                    &format!("+refs/heads/*:refs/remotes/{name}/*"),
                )?;
                if given.has('f') {
                    repo = self.repo()?;
                    self.fetch_into(&mut repo, name, &Wish::default()).await?;
                }
            }
            ["remove" | "rm", name] => {
                url(name).ok_or_else(|| none(name))?;
                edit(&repo, |text| {
                    Ok(config::remove_section(&text, &format!("remote.{name}"))?.unwrap_or(text))
                })?;
                for branch in repo.config.subsections("branch") {
                    if repo.config.get(&format!("branch.{branch}.remote")) == Some(name) {
                        for key in ["remote", "merge"] {
                            edit(&repo, |text| {
                                Ok(config::unset(&text, &format!("branch.{branch}.{key}"))?.unwrap_or(text))
                            })?;
                        }
                    }
                }
                for full in repo.refs(&format!("refs/remotes/{name}/"))?.keys() {
                    repo.delete(full)?;
                }
            }
            ["rename" | "mv", old, new] => {
                let to = url(old).ok_or_else(|| none(old))?;
                if url(new).is_some() {
                    return Err(Failed { exit: 3, message: format!("error: remote {new} already exists.") });
                }
                edit(&repo, |text| {
                    Ok(config::remove_section(&text, &format!("remote.{old}"))?.unwrap_or(text))
                })?;
                set_config(&repo, &format!("remote.{new}.url"), &to)?;
                set_config(
                    &repo,
                    &format!("remote.{new}.fetch"),
                    &format!("+refs/heads/*:refs/remotes/{new}/*"),
                )?;
                for branch in repo.config.subsections("branch") {
                    if repo.config.get(&format!("branch.{branch}.remote")) == Some(old) {
                        set_config(&repo, &format!("branch.{branch}.remote"), new)?;
                    }
                }
                let prefix = format!("refs/remotes/{old}/");
                for (full, oid) in repo.refs(&prefix)? {
                    let moved = format!("refs/remotes/{new}/{}", &full[prefix.len()..]);
                    match repo.symbolic(&full)? {
                        Some(to) => {
                            repo.point(&moved, &to.replacen(&prefix, &format!("refs/remotes/{new}/"), 1))?
                        }
                        None => repo.update(&moved, &oid)?,
                    }
                    repo.delete(&full)?;
                }
            }
            ["get-url", name] => {
                let url = url(name).ok_or_else(|| none(name))?;
                let push = repo.config.get(&format!("remote.{name}.pushurl")).filter(|_| given.has('\u{3}'));
                let shown = push.unwrap_or(&url).to_owned();
                self.say(&shown);
            }
            ["set-url", name, to] => {
                url(name).ok_or_else(|| none(name))?;
                let key = if given.has('\u{3}') { "pushurl" } else { "url" };
                set_config(&repo, &format!("remote.{name}.{key}"), to)?;
            }
            ["prune", name] => {
                url(name).ok_or_else(|| none(name))?;
                self.fetch_into(&mut repo, name, &Wish { prune: true, ..Wish::default() }).await?;
            }
            ["update"] => {
                let name = default_remote(&repo);
                self.fetch_into(&mut repo, &name, &Wish::default()).await?;
            }
            [verb @ ("add" | "remove" | "rm" | "rename" | "get-url" | "set-url"), ..] => {
                return Err(misused("remote", &format!("wrong number of arguments of {verb}"), SPECS));
            }
            [verb, ..] => {
                return Err(left_out(
                    &format!("remote {verb}"),
                    "add, remove, rename, get-url, set-url, prune and update are",
                ));
            }
        }
        Ok(0)
    }

    /// `git ls-remote`.
    pub(super) async fn ls_remote(&mut self, args: &[String]) -> Done<u8> {
        let specs = [
            ('h', "heads", Nothing),
            ('h', "branches", Nothing),
            ('t', "tags", Nothing),
            ('q', "quiet", Nothing),
            ('\u{3}', "refs", Nothing),
            ('\u{4}', "exit-code", Nothing),
            ('\u{5}', "symref", Nothing),
        ];
        let (given, behind) = given::read("ls-remote", args, &specs)?;
        let words = [given.operands.clone(), behind.unwrap_or_default()].concat();
        let repo = self.repo().ok();
        let url = match (words.first(), &repo) {
            (Some(name), Some(repo)) => Self::url_of(repo, name),
            (Some(name), None) => (*name).to_owned(),
            (None, Some(repo)) => Self::url_of(repo, &default_remote(repo)),
            (None, None) => return Err(fatal("No remote configured to list refs from.")),
        };
        let offer = self.offer(repo.as_ref(), &url, "git-upload-pack").await?;
        let mut any = false;
        if let Some(head) = offer.head.as_ref().filter(|_| given.has('\u{5}')) {
            self.say(&format!("ref: {head}\tHEAD"));
        }
        for (name, oid) in &offer.refs {
            let kind = !(given.has('h') || given.has('t'))
                || given.has('h') && name.starts_with("refs/heads/")
                || given.has('t') && name.starts_with("refs/tags/");
            let fits = words.len() < 2
                || words[1..]
                    .iter()
                    .any(|pattern| glob::matches(pattern, name) || name.ends_with(&format!("/{pattern}")));
            if !kind || !fits || given.has('\u{3}') && name == "HEAD" {
                continue;
            }
            any = true;
            self.say(&format!("{oid}\t{name}"));
            if let Some(peeled) = offer.peeled.get(name).filter(|_| !given.has('\u{3}')) {
                self.say(&format!("{peeled}\t{name}^{{}}"));
            }
        }
        Ok(if given.has('\u{4}') && !any { 2 } else { 0 })
    }
}

fn edit(repo: &Repo<'_>, change: impl FnOnce(String) -> Done<String>) -> Done {
    let path = repo.path("config");
    let text = String::from_utf8_lossy(&repo.file(&path)?.unwrap_or_default()).into_owned();
    repo.put(&path, change(text)?.as_bytes())
}
