//! `git clone`.

use super::branch::set_config;
use super::failed::{Done, Failed, fatal};
use super::fetch::{Tags, Wish, depth};
use super::given::{self, misused};
use super::http::{Place, place};
use super::index::Index;
use super::object::Kind;
use super::pathspec::plain;
use super::refs::short_name;
use super::trees::flatten_commit;
use super::{Git, absolute, config, join};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing};

const SPECS: &[Spec] = &[
    ('q', "quiet", Nothing),
    ('b', "branch", Argument),
    ('o', "origin", Argument),
    ('n', "no-checkout", Nothing),
    ('\u{3}', "depth", Argument),
    ('\u{4}', "single-branch", Nothing),
    ('\u{5}', "no-single-branch", Nothing),
    ('\u{6}', "no-tags", Nothing),
    ('\u{7}', "bare", Nothing),
    ('\u{8}', "no-local", Nothing),
];

/// The name of a folder for a clone.
fn folder(url: &str) -> Option<String> {
    let path = url.trim_end_matches('/');
    let path = path.strip_suffix("/.git").unwrap_or(path);
    let name = path.rsplit(['/', ':']).next()?;
    let name = name.strip_suffix(".git").unwrap_or(name);
    (!name.is_empty() && name != "." && name != "..").then(|| name.to_owned())
}

impl<'a> Git<'a> {
    /// `git clone`.
    pub(super) async fn clone_repo(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("clone", args, SPECS)?;
        let operands = [given.operands.clone(), behind.unwrap_or_default()].concat();
        let (url, dir) = match operands[..] {
            [url] => (url, None),
            [url, dir] => (url, Some(dir.to_owned())),
            [] => return Err(misused("clone", "You must specify a repository to clone.", SPECS)),
            _ => return Err(misused("clone", "Too many arguments.", SPECS)),
        };
        let url = match place(self, url)? {
            Place::Http(url) => url,
            Place::Path(path) => path,
        };
        let bare = given.has('\u{7}');
        let name = match dir {
            Some(dir) => dir,
            None => {
                let name = folder(&url).ok_or_else(|| {
                    fatal(format!("could not guess a folder's name from '{url}'; please give one"))
                })?;
                if bare { format!("{name}.git") } else { name }
            }
        };
        let path = plain(&absolute(&self.cwd, &name));
        let files = &self.call.files;
        let there = files.stat(&path, true);
        if there.is_ok() && !files.read_dir(&path).is_ok_and(|list| list.is_empty()) {
            return Err(fatal(format!(
                "destination path '{name}' already exists and is not an empty directory."
            )));
        }
        if !given.has('q') {
            let what = if bare { "bare repository " } else { "" };
            self.say_error(&format!("Cloning into {what}'{name}'..."));
        }
        let remote = given.value('o').unwrap_or("origin");
        let wish = Wish {
            tags: if given.has('\u{6}') { Tags::None } else { Tags::Fitting },
            quiet: true,
            depth: given.value('\u{3}').map(depth).transpose()?,
            ..Wish::default()
        };
        let single = (given.has('\u{4}') || wish.depth.is_some()) && !given.has('\u{5}');
        let made =
            self.clone_to(&path, &url, remote, given.value('b'), bare, single, given.has('n'), wish).await;
        if made.is_err() {
            // Nothing half made stays; a folder that was there does.
            if there.is_ok() {
                for (name, _) in self.call.files.read_dir(&path).unwrap_or_default() {
                    let _ = self.call.files.remove_all(&join(&path, &name));
                }
            } else {
                let _ = self.call.files.remove_all(&path);
            }
        }
        made
    }

    #[expect(clippy::too_many_arguments, reason = "each is one option of the command")]
    async fn clone_to(
        &mut self,
        path: &str,
        url: &str,
        remote: &str,
        branch: Option<&str>,
        bare: bool,
        single: bool,
        no_checkout: bool,
        mut wish: Wish,
    ) -> Done<u8> {
        let offer = self.offer(None, url, "git-upload-pack").await?;
        let head =
            match (branch, offer.refs.get("HEAD")) {
                (Some(name), _) => {
                    let names = [format!("refs/heads/{name}"), format!("refs/tags/{name}")];
                    let found = names.into_iter().find(|full| offer.refs.contains_key(full));
                    Some(found.ok_or_else(|| {
                        fatal(format!("Remote branch {name} not found in upstream {remote}"))
                    })?)
                }
                (None, Some(oid)) => offer.head.clone().or_else(|| {
                    let same = |(name, own): &(&String, &super::oid::Oid)| {
                        name.starts_with("refs/heads/") && *own == oid
                    };
                    offer.refs.iter().find(same).map(|(name, _)| name.clone())
                }),
                (None, None) => offer.head.clone(),
            };
        let initial = head.as_deref().and_then(|full| full.strip_prefix("refs/heads/"));
        let (git_dir, _) = self.make_repo(path, bare, initial)?;
        let config_path = join(&git_dir, "config");
        let text =
            String::from_utf8_lossy(&self.call.files.read(&config_path).unwrap_or_default()).into_owned();
        let mut text = config::set(&text, &format!("remote.{remote}.url"), url, false)?;
        let spec = match (&head, single, bare) {
            (Some(full), true, _) if full.starts_with("refs/heads/") => {
                format!("+{full}:refs/remotes/{remote}/{}", short_name(full))
            }
            (Some(full), true, _) => format!("+{full}:{full}"),
            (_, _, true) => "+refs/heads/*:refs/heads/*".to_owned(),
            _ => format!("+refs/heads/*:refs/remotes/{remote}/*"),
        };
        if !bare {
            text = config::set(&text, &format!("remote.{remote}.fetch"), &spec, false)?;
        }
        self.call.files.write(&config_path, text.as_bytes()).map_err(super::failed::at(&config_path))?;
        if offer.refs.is_empty() {
            self.say_error("warning: You appear to have cloned an empty repository.");
            if let (Some(full), false) = (&head, bare) {
                let repo = self.reopened(path)?;
                follow_head(&repo, remote, full)?;
            }
            return Ok(0);
        }
        wish.specs = vec![spec];
        wish.cloning = true;
        let mut repo = self.reopened(path)?;
        self.fetch_offered(&mut repo, remote, &offer, &wish).await?;
        let _ = self.call.files.unlink(&repo.path("FETCH_HEAD"));
        let Some(full) = head else {
            // HEAD of the other side is on no branch.
            if let Some(oid) = offer.refs.get("HEAD").filter(|oid| repo.has(oid).unwrap_or(false)) {
                repo.detach(oid)?;
                return self.check_out(&repo, no_checkout);
            }
            return Ok(0);
        };
        let Some(oid) = offer.refs.get(&full) else { return Ok(0) };
        if bare {
            return Ok(0);
        }
        if let Some(name) = full.strip_prefix("refs/heads/") {
            repo.update(&full, oid)?;
            follow_head(&repo, remote, &full)?;
            let tracked = offer.head.as_deref().map_or(name, short_name);
            if repo.resolve(&format!("refs/remotes/{remote}/{tracked}"))?.is_some() {
                repo.point(
                    &format!("refs/remotes/{remote}/HEAD"),
                    &format!("refs/remotes/{remote}/{tracked}"),
                )?;
            }
        } else {
            repo.detach(&repo.peel(oid, Some(Kind::Commit))?)?;
        }
        self.check_out(&repo, no_checkout)
    }

    fn reopened(&self, path: &str) -> Done<super::repo::Repo<'a>> {
        self.repo_at(path)?
            .ok_or_else(|| Failed { exit: 128, message: "fatal: the new repository is gone".into() })
    }

    fn check_out(&self, repo: &super::repo::Repo<'_>, no_checkout: bool) -> Done<u8> {
        if !no_checkout && repo.work.is_some() {
            let mut index = Index::default();
            repo.force(&mut index, &flatten_commit(repo, repo.head_commit()?.as_ref())?)?;
            index.write(repo)?;
        }
        Ok(0)
    }
}

fn follow_head(repo: &super::repo::Repo<'_>, remote: &str, full: &str) -> Done {
    let name = short_name(full);
    set_config(repo, &format!("branch.{name}.remote"), remote)?;
    set_config(repo, &format!("branch.{name}.merge"), full)
}
