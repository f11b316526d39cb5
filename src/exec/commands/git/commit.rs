//! `git commit`.

use super::blobs::Blobs;
use super::diffstat::Stats;
use super::failed::{Done, Failed, error, fatal};
use super::given::{self, misused};
use super::ident::{Ident, When};
use super::index::Index;
use super::object::{Commit, Kind};
use super::oid::Oid;
use super::pathspec::Pathspec;
use super::refs::{Head, short_name};
use super::repo::Repo;
use super::trees::{compare_trees, flatten_commit};
use super::{Git, absolute, patch};
use crate::exec::commands::options::Takes::{Argument, Nothing};
use crate::exec::commands::options::{Given, Spec};

const SPECS: &[Spec] = &[
    ('m', "message", Argument),
    ('F', "file", Argument),
    ('a', "all", Nothing),
    ('q', "quiet", Nothing),
    ('s', "signoff", Nothing),
    ('n', "no-verify", Nothing),
    ('C', "reuse-message", Argument),
    ('\u{3}', "amend", Nothing),
    ('\u{4}', "no-edit", Nothing),
    ('\u{5}', "allow-empty", Nothing),
    ('\u{6}', "allow-empty-message", Nothing),
    ('\u{7}', "author", Argument),
    ('\u{8}', "date", Argument),
    ('\u{e}', "reset-author", Nothing),
    ('\u{f}', "no-gpg-sign", Nothing),
];

/// Blanks at ends of lines, and empty lines at both ends and beside others, go.
pub(super) fn cleaned(text: &str) -> String {
    let mut out = String::new();
    let mut empty = false;
    for line in text.lines() {
        let line = line.trim_end();
        if line.is_empty() {
            empty = !out.is_empty();
            continue;
        }
        if empty {
            out.push('\n');
            empty = false;
        }
        out += line;
        out.push('\n');
    }
    out
}

impl Git<'_> {
    /// The bytes behind `-F`.
    pub(super) fn message_file(&self, name: &str) -> Done<String> {
        let data = match name {
            "-" => self.call.stdin.to_vec(),
            name => match self.call.files.read(&absolute(&self.cwd, name)) {
                Ok(data) => data.to_vec(),
                Err(errno) => return Err(fatal(format!("could not read log file '{name}': {errno}"))),
            },
        };
        String::from_utf8(data).map_err(|_| fatal("a message that is not UTF-8 is not supported here"))
    }

    /// `git commit`.
    pub(super) fn commit(&mut self, args: &[String]) -> Done<u8> {
        let (given, rest) = given::read("commit", args, SPECS)?;
        let repo = self.work_repo()?;
        let amend = given.has('\u{3}');
        let head = repo.head_commit()?;
        let old = match head {
            Some(oid) => Some(repo.whole_commit(&oid)?),
            None if amend => return Err(fatal("You have nothing to amend.")),
            None => None,
        };
        let mut index = Index::read(&repo)?;
        let paths = [given.operands.clone(), rest.unwrap_or_default()].concat();
        if given.has('a') && !paths.is_empty() {
            return Err(fatal(format!("paths '{} ...' with -a does not make sense", paths[0])));
        }
        if let Some(path) = index.unmerged().first()
            && !given.has('a')
        {
            return Err(Failed {
                exit: 128,
                message: format!(
                    "error: Committing is not possible because you have unmerged files.\nfatal: Exiting because of an unresolved conflict: {path}"
                ),
            });
        }
        let spec = Pathspec::new(&repo, &self.cwd, &paths)?;
        let mut next = index.clone();
        if given.has('a') || !paths.is_empty() {
            if let Some(missing) = spec.unmatched(index.paths().iter().map(String::as_str)) {
                return Err(error(format!("pathspec '{missing}' did not match any file(s) known to git")));
            }
            if !paths.is_empty() {
                // Only these paths: the rest is as in HEAD.
                next = Index::default();
                for (path, (mode, oid)) in flatten_commit(&repo, head.as_ref())? {
                    let entry = super::index::Staged {
                        mode,
                        oid,
                        seen: super::index::Seen::default(),
                        intent: false,
                    };
                    next.put(&path, entry);
                }
            }
            for path in Repo::meant(&index, &spec) {
                let entry = match repo.look_at(&path)? {
                    Some(stat) => repo.staged(&path, &stat, true)?,
                    None => None,
                };
                for index in [&mut index, &mut next] {
                    index.remove(&path);
                    if let Some(entry) = &entry {
                        index.put(&path, entry.clone());
                    }
                }
            }
        }
        // Asked before anything is stored, as git does.
        let author = self.author(&repo, amend.then_some(old.as_ref()).flatten(), &given)?;
        let committer = self.ident(&repo, "COMMITTER")?;
        let tree = next.write_tree(&repo)?;
        let (parents, before) = match &old {
            Some(old) if amend => {
                let before =
                    old.parents.first().map(|oid| repo.commit(oid)).transpose()?.map(|commit| commit.tree);
                (old.parents.clone(), before)
            }
            Some(old) => (head.into_iter().collect(), Some(old.tree)),
            None => (Vec::new(), None),
        };
        let empty = before.map_or_else(|| next.flat().is_empty(), |before| before == tree);
        if empty
            && !given.has('\u{5}')
            && parents.len() < 2
            && !(amend && old.as_ref().is_some_and(|old| old.tree == tree))
        {
            let status = self.compared(&repo, &mut index, &Pathspec::default(), "normal")?;
            let text = self.long_form(&repo, &status, false)?;
            self.answer.stdout.extend_from_slice(text.as_bytes());
            return Ok(1);
        }
        let mut message = self.message(&repo, &given, old.as_ref().filter(|_| amend))?;
        if given.has('s') {
            let line = format!("Signed-off-by: {} <{}>", committer.name, committer.mail);
            if !message.lines().any(|own| own == line) {
                let gap = if message.trim_end().lines().last().is_some_and(|last| last.contains("-by: ")) {
                    ""
                } else {
                    "\n"
                };
                message += &format!("{gap}{line}\n");
            }
        }
        if message.is_empty() && !given.has('\u{6}') {
            return Err(Failed { exit: 1, message: "Aborting commit due to empty commit message.".into() });
        }
        let commit = Commit { tree, parents, author, committer, message };
        let oid = repo.write(Kind::Commit, &commit.write())?;
        repo.update("HEAD", &oid)?;
        index.write(&repo)?;
        if !given.has('q') {
            let dated = amend || given.value('\u{8}').is_some();
            self.summarize(&repo, &oid, &commit, dated)?;
        }
        Ok(0)
    }

    fn author(&self, repo: &Repo<'_>, amended: Option<&Commit>, given: &Given<'_>) -> Done<Ident> {
        let mut author = match (amended, given.value('\u{7}')) {
            (Some(old), _) if !given.has('\u{e}') => old.author.clone(),
            (_, Some(_)) => Ident { when: self.ident(repo, "COMMITTER")?.when, ..Ident::default() },
            _ => self.ident(repo, "AUTHOR")?,
        };
        if let Some(text) = given.value('\u{7}') {
            let parsed = Ident::parse(text);
            if !text.contains('<') || parsed.name.is_empty() {
                return Err(fatal(format!(
                    "--author '{text}' is not 'Name <email>' and matches no existing author"
                )));
            }
            if amended.is_none()
                && let Some(date) = self.env.get("GIT_AUTHOR_DATE")
            {
                author.when = When::read(date, self.now())?;
            }
            (author.name, author.mail) = (parsed.name, parsed.mail);
        }
        if let Some(date) = given.value('\u{8}') {
            author.when = When::read(date, self.now())?;
        }
        Ok(author)
    }

    fn message(&self, repo: &Repo<'_>, given: &Given<'_>, amended: Option<&Commit>) -> Done<String> {
        let parts: Vec<&str> = given.values('m').collect();
        if !parts.is_empty() && given.value('F').is_some() {
            return Err(misused("commit", "options '-m' and '-F' cannot be used together", SPECS));
        }
        if !parts.is_empty() {
            return Ok(cleaned(&parts.join("\n\n")));
        }
        if let Some(file) = given.value('F') {
            return Ok(cleaned(&self.message_file(file)?));
        }
        if let Some(name) = given.value('C') {
            return Ok(repo.commit(&super::revision::commit(repo, name)?)?.message);
        }
        match amended {
            Some(old) => Ok(old.message.clone()),
            None => Err(error("there is no editor here: give the message with -m or -F")),
        }
    }

    /// `[main 1234567] Subject`, and what changed.
    pub(super) fn summarize(&mut self, repo: &Repo<'_>, oid: &Oid, commit: &Commit, dated: bool) -> Done {
        let place = match repo.head()? {
            Head::Branch(full) => short_name(&full).to_owned(),
            Head::Detached(_) => "detached HEAD".to_owned(),
        };
        let root = if commit.parents.is_empty() { " (root-commit)" } else { "" };
        let mut text = format!("[{place}{root} {}] {}\n", repo.short(oid)?, commit.subject());
        let who = |ident: &Ident| format!("{} <{}>", ident.name, ident.mail);
        if who(&commit.author) != who(&commit.committer) {
            text += &format!(" Author: {}\n", who(&commit.author));
        }
        if dated {
            text += &format!(" Date: {}\n", commit.author.when.show("", self.now()));
        }
        if commit.parents.len() < 2 {
            let before =
                commit.parents.first().map(|oid| repo.commit(oid)).transpose()?.map(|commit| commit.tree);
            let blobs = Blobs::new(repo);
            let changes = blobs.find_moved(compare_trees(repo, before.as_ref(), Some(&commit.tree))?)?;
            if !changes.is_empty() {
                text += &Stats::of(&blobs, &changes)?.sum();
                text += &patch::summary(&blobs, &changes);
            }
        }
        self.answer.stdout.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
