//! Finds the repository of a directory, reads its settings, tells who commits.

use super::config::Config;
use super::failed::{Done, at, fatal};
use super::ident::{Ident, When};
use super::oid::Oid;
use super::pathspec::{below, plain};
use super::repo::Repo;
use super::{Git, absolute, join};
use crate::fs::Kind;

/// Where the user's own settings stand.
pub(super) fn global_path(home: &str) -> String {
    join(home, ".gitconfig")
}

impl<'a> Git<'a> {
    /// The settings that hold in a repository, or without one.
    pub(super) fn config_of(&self, dir: Option<&str>) -> Done<Config> {
        let mut config = Config::default();
        let own = [join(self.home(), ".config/git/config"), global_path(self.home())];
        for path in own.into_iter().chain(dir.map(|dir| join(dir, "config"))) {
            if let Ok(data) = self.call.files.read(&path) {
                config.add(&String::from_utf8_lossy(&data), &path)?;
            }
        }
        for (key, value) in &self.settings {
            config.push(key, value)?;
        }
        Ok(config)
    }

    /// Whether a directory is a repository's own.
    pub(super) fn is_repo(&self, dir: &str) -> bool {
        let is_dir = |name: &str| {
            self.call.files.stat(&join(dir, name), true).is_ok_and(|stat| stat.kind == Kind::Dir)
        };
        is_dir("objects") && is_dir("refs") && self.call.files.stat(&join(dir, "HEAD"), false).is_ok()
    }

    /// The repository at a path, as remotes name it.
    pub(super) fn repo_at(&self, path: &str) -> Done<Option<Repo<'a>>> {
        let path = plain(path);
        for (dir, work) in [(join(&path, ".git"), Some(path.clone())), (path, None)] {
            if self.is_repo(&dir) {
                return self.opened(dir, work).map(Some);
            }
        }
        Ok(None)
    }

    /// The repository that the command is about.
    pub(super) fn repo(&self) -> Done<Repo<'a>> {
        if let Some(dir) = &self.places[0] {
            let dir = plain(&absolute(&self.cwd, dir));
            if !self.is_repo(&dir) {
                return Err(fatal(format!("not a git repository: '{dir}'")));
            }
            let work = self.places[1]
                .as_ref()
                .map_or_else(|| self.cwd.clone(), |work| plain(&absolute(&self.cwd, work)));
            return self.opened(dir, Some(work));
        }
        let mut here = self.cwd.clone();
        loop {
            let dot = join(&here, ".git");
            if self.is_repo(&dot) {
                return self.opened(dot, Some(here));
            }
            if let Ok(data) = self.call.files.read(&dot)
                && let Some(to) = String::from_utf8_lossy(&data).trim_end().strip_prefix("gitdir: ")
            {
                let dir = plain(&absolute(&here, to));
                if !self.is_repo(&dir) {
                    return Err(fatal(format!("not a git repository: {to}")));
                }
                return self.opened(dir, Some(here));
            }
            if self.is_repo(&here) {
                return self.opened(here, None);
            }
            match here.rsplit_once('/') {
                Some((above, _)) if here != "/" => {
                    here = if above.is_empty() { "/".into() } else { above.into() }
                }
                _ => return Err(fatal("not a git repository (or any of the parent directories): .git")),
            }
        }
    }

    fn opened(&self, dir: String, work: Option<String>) -> Done<Repo<'a>> {
        let config = self.config_of(Some(&dir))?;
        let version = config.get("core.repositoryformatversion").unwrap_or("0");
        if !matches!(version, "0" | "1") {
            return Err(fatal(format!("Expected git repo version <= 1, found {version}")));
        }
        for (key, value) in config.pairs() {
            let known = matches!(
                (key.as_str(), value.as_str()),
                ("extensions.objectformat", "sha1")
                    | ("extensions.refstorage", "files")
                    | ("extensions.noop", _)
            );
            if version == "1" && key.starts_with("extensions.") && !known {
                return Err(fatal(format!("repositories with {key} = {value} are not supported here")));
            }
        }
        if self.call.files.exists(&join(&dir, "objects/info/alternates")).unwrap_or(false) {
            return Err(fatal(
                "repositories that borrow objects (objects/info/alternates) are not supported here",
            ));
        }
        let work = work.filter(|_| config.is("core.bare") != Some(true));
        let mut repo = Repo::new(self.call, dir, work, config);
        repo.prefix = self.dir_in(&repo);
        Ok(repo)
    }

    /// The repository, with a work tree.
    pub(super) fn work_repo(&self) -> Done<Repo<'a>> {
        let repo = self.repo()?;
        let inside = below(&repo.dir, &self.cwd).is_some();
        if repo.work.is_none() || inside {
            Err(fatal("this operation must be run in a work tree"))
        } else {
            Ok(repo)
        }
    }

    /// Where the command runs, from the root of the work tree.
    pub(super) fn dir_in(&self, repo: &Repo<'_>) -> String {
        below(repo.root(), &self.cwd).unwrap_or_default().to_owned()
    }

    /// `git init`.
    pub(super) fn init(&mut self, args: &[String]) -> Done<u8> {
        use crate::exec::commands::options::Takes::{Argument, Nothing};
        let specs = [('q', "quiet", Nothing), ('b', "initial-branch", Argument), ('\u{3}', "bare", Nothing)];
        let (given, rest) = super::given::read("init", args, &specs)?;
        let mut branch = None;
        let (mut quiet, mut bare) = (false, false);
        for (letter, value) in &given.options {
            match letter {
                'q' => quiet = true,
                'b' => branch = value.map(str::to_owned),
                _ => bare = true,
            }
        }
        let operands = [given.operands, rest.unwrap_or_default()].concat();
        let dir = match operands[..] {
            [] => self.cwd.clone(),
            [dir] => plain(&absolute(&self.cwd, dir)),
            _ => return Err(super::given::misused("init", "too many arguments", &specs)),
        };
        let (git_dir, again) = self.make_repo(&dir, bare, branch.as_deref())?;
        if !quiet {
            let what = if again { "Reinitialized existing" } else { "Initialized empty" };
            self.say(&format!("{what} Git repository in {git_dir}/"));
        }
        Ok(0)
    }

    /// Makes a repository. Gives its place, and whether it was there before.
    pub(super) fn make_repo(&mut self, dir: &str, bare: bool, branch: Option<&str>) -> Done<(String, bool)> {
        let files = &self.call.files;
        files.make_dirs(dir).map_err(at(dir))?;
        let dir = files.canonical(dir).map_err(at(dir))?;
        let git_dir = if bare { dir } else { join(&dir, ".git") };
        let again = self.is_repo(&git_dir);
        let global = self.config_of(Some(&git_dir))?;
        let branch = branch.or_else(|| global.get("init.defaultbranch")).unwrap_or("master");
        let full = format!("refs/heads/{branch}");
        if !super::refs::is_valid(&full) {
            return Err(fatal(format!("invalid initial branch name: '{branch}'")));
        }
        for name in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
            let path = join(&git_dir, name);
            files.make_dirs(&path).map_err(at(&path))?;
        }
        if !again {
            let config = format!(
                "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {bare}\n{}",
                if bare { "" } else { "\tlogallrefupdates = true\n" }
            );
            for (name, text) in [
                ("HEAD", format!("ref: {full}\n")),
                ("config", config),
                (
                    "description",
                    "Unnamed repository; edit this file 'description' to name the repository.\n".into(),
                ),
                ("info/exclude", String::new()),
            ] {
                let path = join(&git_dir, name);
                files.write(&path, text.as_bytes()).map_err(at(&path))?;
            }
        }
        Ok((git_dir, again))
    }

    /// Who writes a commit: `AUTHOR` or `COMMITTER`.
    pub(super) fn ident(&self, repo: &Repo<'_>, role: &str) -> Done<Ident> {
        let env = |what: &str| self.env.get(&format!("GIT_{role}_{what}")).filter(|text| !text.is_empty());
        let section = role.to_ascii_lowercase();
        let set = |what: &str| {
            repo.config.get(&format!("{section}.{what}")).or_else(|| repo.config.get(&format!("user.{what}")))
        };
        let name = env("NAME").map(String::as_str).or_else(|| set("name"));
        let mail = env("EMAIL")
            .map(String::as_str)
            .or_else(|| set("email"))
            .or_else(|| self.env.get("EMAIL").map(String::as_str));
        let clean = |text: &str| text.replace(['<', '>', '\n'], "").trim().to_owned();
        let (Some(name), Some(mail)) = (name.map(clean).filter(|name| !name.is_empty()), mail.map(clean))
        else {
            let who = if role == "AUTHOR" { "Author" } else { "Committer" };
            let mut failed = fatal(if mail.is_none() {
                "unable to auto-detect email address (got 'user@sandbox.(none)')"
            } else {
                "empty ident name (for <>) not allowed"
            });
            failed.message = format!(
                "{who} identity unknown\n\n*** Please tell me who you are.\n\nRun\n\n  git config --global user.email \"you@example.com\"\n  git config --global user.name \"Your Name\"\n\nto set your account's default identity.\nOmit --global to set the identity only in this repository.\n\n{}",
                failed.message
            );
            return Err(failed);
        };
        let when = match env("DATE") {
            Some(date) => When::read(date, self.now())?,
            None => When { seconds: self.now(), east: 0 },
        };
        Ok(Ident { name, mail, when })
    }

    /// The commit of HEAD, which must be there.
    pub(super) fn head_of(&self, repo: &Repo<'_>) -> Done<Oid> {
        repo.head_commit()?.ok_or_else(|| fatal("Failed to resolve 'HEAD' as a valid ref."))
    }
}
