//! `git log`, `git show`, `git rev-list`, `git merge-base`.

use std::collections::BTreeSet;

use super::failed::{Done, error, fatal};
use super::given::{self, number};
use super::ident::{Ident, When};
use super::look::{DIFF, LOOK, Printer, diff_option, look_option};
use super::object::{Commit, Kind, Tag};
use super::oid::Oid;
use super::patch::Style;
use super::pathspec::Pathspec;
use super::repo::Repo;
use super::revision;
use super::walk::{Way, is_behind, merge_bases, walk};
use super::{Git, left_out};
use crate::exec::commands::absolute;
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing, Optional};
use crate::exec::commands::posix_regex::{GivenUp, Options, Regex, Syntax};

const WALK: &[Spec] = &[
    ('n', "max-count", Argument),
    ('\u{a0}', "skip", Argument),
    ('\u{a1}', "reverse", Nothing),
    ('\u{a2}', "author", Argument),
    ('\u{a3}', "grep", Argument),
    ('\u{a4}', "since", Argument),
    ('\u{a4}', "after", Argument),
    ('\u{a5}', "until", Argument),
    ('\u{a5}', "before", Argument),
    ('\u{a6}', "merges", Nothing),
    ('\u{a7}', "no-merges", Nothing),
    ('\u{a8}', "first-parent", Nothing),
    ('\u{a9}', "all", Nothing),
    ('\u{aa}', "branches", Nothing),
    ('\u{ab}', "tags", Nothing),
    ('\u{ac}', "topo-order", Nothing),
    ('\u{ad}', "date-order", Nothing),
    ('\u{ae}', "count", Nothing),
    ('\u{af}', "graph", Nothing),
    ('\u{b1}', "follow", Nothing),
    ('\u{b2}', "remotes", Optional),
    ('i', "regexp-ignore-case", Nothing),
    ('\u{b3}', "committer", Argument),
    ('\u{b4}', "parents", Nothing),
];

/// What is chosen of a walk.
#[derive(Default)]
struct Choice {
    way: Way,
    most: Option<usize>,
    skip: usize,
    reverse: bool,
    authors: Vec<Regex>,
    committers: Vec<Regex>,
    words: Vec<Regex>,
    since: Option<i64>,
    until: Option<i64>,
    merges: Option<bool>,
    count: bool,
    parents: bool,
}

impl Choice {
    fn takes(&self, commit: &Commit) -> Done<bool> {
        let when = commit.committer.when.seconds;
        Ok(self.since.is_none_or(|since| when >= since)
            && self.until.is_none_or(|until| when <= until)
            && self.merges.is_none_or(|merges| (commit.parents.len() > 1) == merges)
            && by(&commit.author, &self.authors)?
            && by(&commit.committer, &self.committers)?
            && any(&self.words, commit.message.lines())?)
    }

    /// All commits that are meant, in the order in which they are shown.
    fn found(&self, repo: &Repo<'_>, spec: &Pathspec) -> Done<Vec<(Oid, Commit)>> {
        let (mut found, mut skip) = (Vec::new(), self.skip);
        let most = self.most.unwrap_or(usize::MAX);
        if most > 0 {
            walk(repo, &self.way, spec, &mut |oid, commit| {
                if self.takes(commit)? {
                    if skip > 0 {
                        skip -= 1;
                    } else {
                        found.push((*oid, commit.clone()));
                    }
                }
                Ok(found.len() < most)
            })?;
        }
        if self.reverse {
            found.reverse();
        }
        Ok(found)
    }
}

/// As `--grep` and `--author` take it.
fn pattern(text: &str, ignore_case: bool) -> Done<Regex> {
    let options = Options { ignore_case, ..Options::new(Syntax::BASIC) };
    Regex::new(text.as_bytes(), &options).map_err(|what| fatal(format!("command line, '{text}': {what}")))
}

fn by(ident: &Ident, patterns: &[Regex]) -> Done<bool> {
    any(patterns, [format!("{} <{}>", ident.name, ident.mail).as_str()])
}

/// Whether a pattern matches one of the lines; without patterns, all do.
fn any<'a>(patterns: &[Regex], lines: impl IntoIterator<Item = &'a str>) -> Done<bool> {
    let mut found = patterns.is_empty();
    for line in lines {
        for pattern in patterns {
            let matches = pattern.is_match(line.as_bytes());
            found |=
                matches.map_err(|GivenUp| fatal("a pattern takes too many steps on a line".to_owned()))?;
        }
    }
    Ok(found)
}

/// `-5` is `-n5`.
fn with_counts(args: &[String]) -> Vec<String> {
    let count = |arg: &String| match arg.strip_prefix('-') {
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("-n{digits}")
        }
        _ => arg.clone(),
    };
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    args[..end].iter().map(count).chain(args[end..].iter().cloned()).collect()
}

impl Git<'_> {
    /// Whether something is there that an argument could mean as a path.
    pub(super) fn is_path(&self, text: &str) -> bool {
        text == "." || self.call.files.stat(&absolute(&self.cwd, text), false).is_ok() || text.contains('*')
    }

    fn chosen(&self, repo: &Repo<'_>, options: &[(char, Option<&str>)]) -> Done<Choice> {
        let mut choice = Choice::default();
        let ignore_case = options.iter().any(|(letter, _)| *letter == 'i');
        for &(letter, value) in options {
            let text = value.unwrap_or_default();
            let when = || When::read(text, self.now()).map(|when| when.seconds);
            match letter {
                'n' => choice.most = if text.starts_with('-') { None } else { Some(number(text)?) },
                '\u{a0}' => choice.skip = number(text)?,
                '\u{a1}' => choice.reverse = true,
                '\u{a2}' => choice.authors.push(pattern(text, ignore_case)?),
                '\u{b3}' => choice.committers.push(pattern(text, ignore_case)?),
                '\u{a3}' => choice.words.push(pattern(text, ignore_case)?),
                '\u{a4}' => choice.since = Some(when()?),
                '\u{a5}' => choice.until = Some(when()?),
                '\u{a6}' => choice.merges = Some(true),
                '\u{a7}' => choice.merges = Some(false),
                '\u{a8}' => choice.way.first_parent = true,
                '\u{a9}' | '\u{aa}' | '\u{ab}' | '\u{b2}' => {
                    let prefix = match letter {
                        '\u{aa}' => "refs/heads/",
                        '\u{ab}' => "refs/tags/",
                        '\u{b2}' => "refs/remotes/",
                        _ => "refs/",
                    };
                    for oid in repo.refs(prefix)?.values() {
                        choice.way.from.extend(repo.peel(oid, Some(Kind::Commit)).ok());
                    }
                    if letter == '\u{a9}' {
                        choice.way.from.extend(repo.head_commit()?);
                    }
                }
                '\u{ac}' | '\u{ad}' => choice.way.topological = true,
                '\u{ae}' => choice.count = true,
                '\u{b4}' => choice.parents = true,
                '\u{af}' => return Err(left_out("--graph", "the log without it is")),
                '\u{b1}' => return Err(left_out("--follow", "give each name that the file had")),
                _ => {}
            }
        }
        Ok(choice)
    }

    /// Splits operands into commits and paths; commits go into `way`.
    fn starts(
        &self,
        repo: &Repo<'_>,
        operands: &[&str],
        behind: Option<&[&str]>,
        way: &mut Way,
        head: bool,
    ) -> Done<Pathspec> {
        let mut paths: Vec<&str> = Vec::new();
        let mut any = !way.from.is_empty();
        for (number, text) in operands.iter().enumerate() {
            if self.start_of(repo, text, way)? {
                any = true;
                continue;
            }
            if behind.is_some() || !self.is_path(text) {
                return Err(match behind {
                    Some(_) => fatal(format!("bad revision '{text}'")),
                    None => revision::unknown(text),
                });
            }
            paths.extend(&operands[number..]);
            if let Some(missing) = paths.iter().find(|path| !self.is_path(path)) {
                return Err(revision::unknown(missing));
            }
            break;
        }
        if !any && head {
            match repo.head_commit()? {
                Some(oid) => way.from.push(oid),
                None => {
                    let branch = match repo.head()? {
                        super::refs::Head::Branch(full) => super::refs::short_name(&full).to_owned(),
                        super::refs::Head::Detached(oid) => oid.to_string(),
                    };
                    return Err(fatal(format!(
                        "your current branch '{branch}' does not have any commits yet"
                    )));
                }
            }
        }
        paths.extend(behind.unwrap_or_default());
        Pathspec::new(repo, &self.cwd, &paths)
    }

    /// One operand: `a`, `^a`, `a..b`, `a...b`. `false`: it names no commit.
    fn start_of(&self, repo: &Repo<'_>, text: &str, way: &mut Way) -> Done<bool> {
        let find = |text: &str| -> Done<Option<Oid>> {
            let text = if text.is_empty() { "HEAD" } else { text };
            revision::find(repo, text)?.map(|oid| repo.peel(&oid, Some(Kind::Commit))).transpose()
        };
        if let Some((a, b)) = text.split_once("...") {
            let (Some(a), Some(b)) = (find(a)?, find(b)?) else { return Ok(false) };
            way.without.extend(merge_bases(repo, &a, &b)?);
            way.from.extend([a, b]);
            return Ok(true);
        }
        if let Some((a, b)) = text.split_once("..")
            && text != ".."
        {
            let (Some(a), Some(b)) = (find(a)?, find(b)?) else { return Ok(false) };
            way.without.push(a);
            way.from.push(b);
            return Ok(true);
        }
        if let Some(text) = text.strip_prefix('^') {
            let Some(oid) = find(text)? else { return Ok(false) };
            way.without.push(oid);
            return Ok(true);
        }
        let Some(oid) = find(text)? else { return Ok(false) };
        way.from.push(oid);
        Ok(true)
    }

    /// `git log`.
    pub(super) fn log(&mut self, args: &[String]) -> Done<u8> {
        let specs = [DIFF, LOOK, WALK].concat();
        let args = with_counts(args);
        let (given, behind) = given::read("log", &args, &specs)?;
        let repo = self.repo()?;
        let (mut look, mut style) = (self.look(&repo)?, Style::default());
        for &(letter, value) in &given.options {
            let _ = diff_option(&mut style, letter, value)? || look_option(&mut look, letter, value)?;
        }
        let mut choice = self.chosen(&repo, &given.options)?;
        let spec = self.starts(&repo, &given.operands, behind.as_deref(), &mut choice.way, true)?;
        let found = choice.found(&repo, &spec)?;
        let mut printer = Printer::new(&repo, look, style, spec)?;
        for (oid, commit) in &found {
            repo.go_on()?;
            printer.print(oid, commit, choice.way.first_parent, &mut self.answer.stdout)?;
        }
        printer.finish(&mut self.answer.stdout);
        Ok(0)
    }

    /// `git rev-list`.
    pub(super) fn rev_list(&mut self, args: &[String]) -> Done<u8> {
        let args = with_counts(args);
        let (given, behind) = given::read("rev-list", &args, WALK)?;
        let repo = self.repo()?;
        let mut choice = self.chosen(&repo, &given.options)?;
        let spec = self.starts(&repo, &given.operands, behind.as_deref(), &mut choice.way, false)?;
        if choice.way.from.is_empty() {
            return Err(given::misused("rev-list", "no commit is given", WALK));
        }
        let found = choice.found(&repo, &spec)?;
        if choice.count {
            self.say(&found.len().to_string());
            return Ok(0);
        }
        for (oid, commit) in found {
            let mut line = oid.to_string();
            if choice.parents {
                commit.parents.iter().for_each(|parent| line += &format!(" {parent}"));
            }
            self.say(&line);
        }
        Ok(0)
    }

    /// `git show`.
    pub(super) fn show(&mut self, args: &[String]) -> Done<u8> {
        let specs = [DIFF, LOOK].concat();
        let (given, behind) = given::read("show", args, &specs)?;
        let repo = self.repo()?;
        let (mut look, mut style) = (self.look(&repo)?, Style::default());
        for &(letter, value) in &given.options {
            let _ = diff_option(&mut style, letter, value)? || look_option(&mut look, letter, value)?;
        }
        if !style.is_chosen() {
            style.patch = true;
        }
        let mut objects = Vec::new();
        let mut paths = Vec::new();
        for (number, text) in given.operands.iter().enumerate() {
            match revision::find(&repo, text)? {
                Some(oid) => objects.push((*text, oid)),
                None if behind.is_none() && self.is_path(text) => {
                    paths.extend(&given.operands[number..]);
                    break;
                }
                None => return Err(revision::unknown(text)),
            }
        }
        if objects.is_empty() {
            objects.push(("HEAD", self.head_of(&repo)?));
        }
        paths.extend(behind.unwrap_or_default());
        let spec = Pathspec::new(&repo, &self.cwd, &paths)?;
        let mut printer = Printer::new(&repo, look, style, spec)?;
        for (text, oid) in objects {
            // Tags of tags have an end, or this fails.
            repo.peel(&oid, None)?;
            self.show_object(&repo, &mut printer, text, &oid)?;
        }
        printer.finish(&mut self.answer.stdout);
        Ok(0)
    }

    fn show_object(&mut self, repo: &Repo<'_>, printer: &mut Printer<'_, '_>, text: &str, oid: &Oid) -> Done {
        let object = repo.read(oid)?;
        match object.kind {
            Kind::Blob => self.answer.stdout.extend_from_slice(&object.data),
            Kind::Tree => {
                printer.separate(&mut self.answer.stdout);
                self.say(&format!("tree {text}\n"));
                for entry in repo.tree(oid)? {
                    let slash = if entry.mode == super::object::DIR { "/" } else { "" };
                    self.say(&format!("{}{slash}", entry.name));
                }
            }
            Kind::Tag => {
                printer.separate(&mut self.answer.stdout);
                let tag = Tag::parse(&object.data)?;
                self.say(&format!("tag {}", tag.name));
                if let Some(who) = &tag.tagger {
                    let date = who.when.show(&printer.look.date, printer.look.now);
                    self.say(&format!("Tagger: {} <{}>\nDate:   {date}", who.name, who.mail));
                }
                self.say(&format!("\n{}", tag.message.trim_end_matches('\n')));
                return self.show_object(repo, printer, text, &tag.object);
            }
            Kind::Commit => {
                let commit = repo.commit(oid)?;
                let merge = commit.parents.len() > 1 && !printer.style.quiet;
                // Statistics of a merge are those against its first parent, lists of names
                // those against all.
                let own = if merge { Self::own_files(repo, &commit)? } else { BTreeSet::new() };
                if merge && (printer.style.names || printer.style.letters) {
                    printer.only = Some(own.clone());
                }
                printer.print(oid, &commit, !printer.style.patch, &mut self.answer.stdout)?;
                printer.only = None;
                if merge && printer.style.patch {
                    self.answer.stdout.push(b'\n');
                    if !own.is_empty() {
                        self.say_error("warning: the patch of a merge is not shown here; compare with git diff HEAD^1 HEAD");
                    }
                }
            }
        }
        Ok(())
    }

    /// The files of a merge that are as in none of its parents.
    fn own_files(repo: &Repo<'_>, commit: &Commit) -> Done<BTreeSet<String>> {
        let own = super::trees::flatten(repo, &commit.tree)?;
        let mut parents = Vec::new();
        for parent in &commit.parents {
            parents.push(super::trees::flatten_commit(repo, Some(parent))?);
        }
        let differs = |path: &str| parents.iter().all(|parent| parent.get(path) != own.get(path));
        Ok(own.keys().filter(|path| differs(path)).cloned().collect())
    }

    /// `git merge-base`.
    pub(super) fn merge_base(&mut self, args: &[String]) -> Done<u8> {
        let specs = [('a', "all", Nothing), ('\u{3}', "is-ancestor", Nothing)];
        let (given, _) = given::read("merge-base", args, &specs)?;
        let repo = self.repo()?;
        let [a, b] = given.operands[..] else { return Err(error("two commits are needed")) };
        let (a, b) = (revision::commit(&repo, a)?, revision::commit(&repo, b)?);
        if given.has('\u{3}') {
            return Ok(u8::from(!is_behind(&repo, &a, &b)?));
        }
        let bases = merge_bases(&repo, &a, &b)?;
        for base in bases.iter().take(if given.has('a') { usize::MAX } else { 1 }) {
            self.say(&base.to_string());
        }
        Ok(u8::from(bases.is_empty()))
    }
}
