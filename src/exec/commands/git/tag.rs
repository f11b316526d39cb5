//! `git tag`, and refs as `--format` shows them.

use super::failed::{Done, error, fatal};
use super::given::{self, misused};
use super::object::{Commit, Kind, Tag};
use super::oid::Oid;
use super::refs::{is_valid, short_name};
use super::repo::Repo;
use super::{Git, revision};
use crate::exec::commands::glob;
use crate::exec::commands::options::Takes::{Argument, Nothing, Optional};
use crate::exec::commands::options::{Given, Spec};

const SPECS: &[Spec] = &[
    ('a', "annotate", Nothing),
    ('m', "message", Argument),
    ('F', "file", Argument),
    ('d', "delete", Nothing),
    ('f', "force", Nothing),
    ('l', "list", Nothing),
    ('n', "", Optional),
    ('\u{3}', "points-at", Argument),
    ('\u{4}', "contains", Optional),
    ('\u{5}', "merged", Optional),
    ('\u{6}', "format", Argument),
    ('\u{7}', "sort", Argument),
];

impl Git<'_> {
    /// `git tag`.
    pub(super) fn tag(&mut self, args: &[String]) -> Done<u8> {
        let args = given::joined(args, &["--contains", "--merged"]);
        let (given, behind) = given::read("tag", &args, SPECS)?;
        let names = [given.operands.clone(), behind.unwrap_or_default()].concat();
        let repo = self.repo()?;
        if given.has('d') {
            let mut exit = 0;
            for name in names {
                let full = format!("refs/tags/{name}");
                match repo.resolve(&full)? {
                    Some(oid) => {
                        repo.delete(&full)?;
                        self.say(&format!("Deleted tag '{name}' (was {})", repo.short(&oid)?));
                    }
                    None => {
                        self.say_error(&format!("error: tag '{name}' not found."));
                        exit = 1;
                    }
                }
            }
            return Ok(exit);
        }
        let lists =
            ['l', 'n', '\u{3}', '\u{4}', '\u{5}', '\u{6}'].into_iter().any(|letter| given.has(letter));
        if names.is_empty() || lists {
            return self.list_tags(&repo, &names, &given);
        }
        let (name, target) = match names[..] {
            [name] => (name, "HEAD"),
            [name, target] => (name, target),
            _ => return Err(misused("tag", "too many arguments", SPECS)),
        };
        let full = format!("refs/tags/{name}");
        if !is_valid(&full) || name.starts_with('-') || name == "HEAD" {
            return Err(fatal(format!("'{name}' is not a valid tag name.")));
        }
        let object = revision::find(&repo, target)?
            .ok_or_else(|| fatal(format!("Failed to resolve '{target}' as a valid ref.")))?;
        let old = repo.resolve(&full)?;
        if old.is_some() && !given.has('f') {
            return Err(fatal(format!("tag '{name}' already exists")));
        }
        let parts: Vec<&str> = given.values('m').collect();
        let message = match (parts.is_empty(), given.value('F')) {
            (false, _) => Some(parts.join("\n\n")),
            (true, Some(file)) => Some(self.message_file(file)?),
            (true, None) if given.has('a') => {
                return Err(error("there is no editor here: give the message with -m or -F"));
            }
            (true, None) => None,
        };
        let oid = match message {
            Some(message) => {
                let tagger = Some(self.ident(&repo, "COMMITTER")?);
                let kind = repo.read(&object)?.kind;
                let tag = Tag {
                    object,
                    kind,
                    name: name.to_owned(),
                    tagger,
                    message: super::commit::cleaned(&message),
                };
                repo.write(Kind::Tag, &tag.write())?
            }
            None => object,
        };
        repo.update(&full, &oid)?;
        if let Some(old) = old.filter(|old| *old != oid) {
            self.say(&format!("Updated tag '{name}' (was {})", repo.short(&old)?));
        }
        Ok(0)
    }

    fn list_tags(&mut self, repo: &Repo<'_>, patterns: &[&str], given: &Given<'_>) -> Done<u8> {
        let asked = |letter: char| {
            let commit = || revision::commit(repo, given.value(letter).unwrap_or("HEAD"));
            given.has(letter).then(commit).transpose()
        };
        let (at, contains, merged) = (asked('\u{3}')?, asked('\u{4}')?, asked('\u{5}')?);
        let mut found: Vec<(String, Oid)> = repo.refs("refs/tags/")?.into_iter().collect();
        sort(repo, &mut found, given.value('\u{7}'))?;
        for (full, oid) in found {
            let name = short_name(&full);
            if !patterns.is_empty() && !patterns.iter().any(|pattern| glob::matches(pattern, name)) {
                continue;
            }
            let commit = repo.peel(&oid, Some(Kind::Commit)).ok();
            let fits = at.is_none_or(|at| commit == Some(at) || oid == at)
                && contains.map_or(Ok(true), |what| {
                    commit.map_or(Ok(false), |commit| super::walk::is_behind(repo, &what, &commit))
                })?
                && merged.map_or(Ok(true), |into| {
                    commit.map_or(Ok(false), |commit| super::walk::is_behind(repo, &commit, &into))
                })?;
            if !fits {
                continue;
            }
            let line = match given.value('\u{6}') {
                Some(format) => ref_format(repo, format, &full, &oid, false)?,
                None if given.has('n') => {
                    let subject = ref_format(repo, "%(subject)", &full, &oid, false)?;
                    format!("{name:<15} {subject}")
                }
                None => name.to_owned(),
            };
            self.say(&line);
        }
        Ok(0)
    }

    /// `git for-each-ref`.
    pub(super) fn for_each_ref(&mut self, args: &[String]) -> Done<u8> {
        let specs =
            [('\u{6}', "format", Argument), ('\u{7}', "sort", Argument), ('\u{8}', "count", Argument)];
        let (given, _) = given::read("for-each-ref", args, &specs)?;
        let repo = self.repo()?;
        let format = given.value('\u{6}').unwrap_or("%(objectname) %(objecttype)\t%(refname)");
        let most = given.value('\u{8}').map_or(Ok(usize::MAX), given::number)?;
        let head = repo.symbolic("HEAD")?;
        let fits = |name: &str| {
            let below = |pattern: &str| {
                name.strip_prefix(pattern.trim_end_matches('/'))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            given.operands.is_empty()
                || given.operands.iter().any(|pattern| below(pattern) || glob::matches(pattern, name))
        };
        let mut found: Vec<(String, Oid)> =
            repo.refs("refs/")?.into_iter().filter(|(name, _)| fits(name)).collect();
        sort(&repo, &mut found, given.value('\u{7}'))?;
        for (name, oid) in found.into_iter().take(most) {
            let line = ref_format(&repo, format, &name, &oid, head.as_ref() == Some(&name))?;
            self.say(&line);
        }
        Ok(0)
    }
}

/// By the key of `--sort`; by name without one.
fn sort(repo: &Repo<'_>, found: &mut [(String, Oid)], key: Option<&str>) -> Done {
    let Some(key) = key else { return Ok(()) };
    let (key, back) = key.strip_prefix('-').map_or((key, false), |key| (key, true));
    match key {
        "refname" => {}
        "version:refname" | "v:refname" => found.sort_by_cached_key(|(name, _)| by_version(name)),
        "creatordate" | "committerdate" | "taggerdate" | "authordate" => {
            let mut dates = std::collections::BTreeMap::new();
            for (name, oid) in found.iter() {
                let date = ref_format(repo, &format!("%({key}:unix)"), name, oid, false)?;
                dates.insert(name.clone(), date.parse::<i64>().unwrap_or(0));
            }
            found.sort_by_key(|(name, _)| dates.get(name).copied());
        }
        other => return Err(fatal(format!("unknown field name: {other}"))),
    }
    if back {
        found.reverse();
    }
    Ok(())
}

/// Digits as numbers, other signs as they are.
fn by_version(name: &str) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = vec![(String::new(), 0)];
    for c in name.chars() {
        let digit = c.to_digit(10);
        let Some((text, number)) = parts.last_mut() else { break };
        match digit {
            Some(digit) => *number = number.saturating_mul(10).saturating_add(digit.into()),
            None if *number > 0 || name.is_empty() => parts.push((c.to_string(), 0)),
            None => text.push(c),
        }
    }
    parts
}

/// `%(refname:short)` and its like replaced.
pub(super) fn ref_format(repo: &Repo<'_>, format: &str, name: &str, oid: &Oid, here: bool) -> Done<String> {
    let object = repo.read(oid)?;
    let (mut who, mut committer, mut text) = (None, None, String::new());
    match object.kind {
        Kind::Commit => {
            let commit = Commit::parse(&object.data)?;
            text.clone_from(&commit.message);
            (who, committer) = (Some(commit.author), Some(commit.committer));
        }
        Kind::Tag => {
            let tag = Tag::parse(&object.data)?;
            text.clone_from(&tag.message);
            committer = tag.tagger;
        }
        Kind::Tree | Kind::Blob => {}
    }
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        let Some((field, behind)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) else {
            out.push('%');
            continue;
        };
        rest = behind;
        let date = |who: &Option<super::ident::Ident>, format: &str| {
            who.as_ref().map(|who| who.when.show(format, 0)).unwrap_or_default()
        };
        let part = |who: &Option<super::ident::Ident>, mail: bool| {
            let text =
                |who: &super::ident::Ident| if mail { format!("<{}>", who.mail) } else { who.name.clone() };
            who.as_ref().map(text).unwrap_or_default()
        };
        let (main, how) = field.split_once(':').unwrap_or((field, ""));
        out += &match (main, how) {
            ("refname", "short") => short_name(name).to_owned(),
            ("refname", _) => name.to_owned(),
            ("objectname", "short") => repo.short(oid)?,
            ("objectname", _) => oid.to_string(),
            ("objecttype", _) => object.kind.name().to_owned(),
            ("HEAD", _) => if here { "*" } else { " " }.to_owned(),
            ("subject" | "contents", "" | "subject") => {
                text.trim_start().lines().next().unwrap_or_default().to_owned()
            }
            ("authorname", _) => part(&who, false),
            ("authoremail", _) => part(&who, true),
            ("committername" | "taggername", _) => part(&committer, false),
            ("committeremail" | "taggeremail", _) => part(&committer, true),
            ("authordate", how) => date(&who, how),
            ("committerdate" | "taggerdate" | "creatordate", how) => date(&committer, how),
            ("upstream", how) => {
                let followed =
                    name.strip_prefix("refs/heads/").and_then(|branch| revision::upstream(repo, branch));
                followed
                    .map(|full| if how == "short" { short_name(&full).to_owned() } else { full })
                    .unwrap_or_default()
            }
            _ => return Err(fatal(format!("unknown field name: {field}"))),
        };
    }
    Ok(out + rest)
}
