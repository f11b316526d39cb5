//! `git describe`: a commit by the nearest tag behind it.

use super::failed::{Done, Failed, fatal};
use super::given::{self, number};
use super::index::Index;
use super::object::Kind;
use super::oid::Oid;
use super::pathspec::Pathspec;
use super::refs::short_name;
use super::trees::{compare, flatten_commit};
use super::walk::{Way, ancestors, walk};
use super::{Git, revision};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing, Optional};

const SPECS: &[Spec] = &[
    ('\u{3}', "tags", Nothing),
    ('\u{4}', "always", Nothing),
    ('\u{5}', "long", Nothing),
    ('\u{6}', "abbrev", Argument),
    ('\u{7}', "exact-match", Nothing),
    ('\u{8}', "dirty", Optional),
];

/// Tags that are compared, as git does.
const CANDIDATES: usize = 10;

impl Git<'_> {
    /// `git describe`.
    pub(super) fn describe(&mut self, args: &[String]) -> Done<u8> {
        let (given, _) = given::read("describe", args, SPECS)?;
        let repo = self.repo()?;
        let commit = revision::commit(&repo, given.operands.first().copied().unwrap_or("HEAD"))?;
        let least = given.value('\u{6}').map(number).transpose()?;
        let short = |oid: &Oid| match least {
            Some(least) => repo.short_of(oid, least),
            None => repo.short(oid),
        };
        let mut tags: Vec<(Oid, bool, String)> = Vec::new();
        for (full, oid) in repo.refs("refs/tags/")? {
            let heavy = repo.read(&oid)?.kind == Kind::Tag;
            if let (Ok(of), true) = (repo.peel(&oid, Some(Kind::Commit)), heavy || given.has('\u{3}')) {
                tags.push((of, heavy, short_name(&full).to_owned()));
            }
        }
        let mut found: Vec<(Oid, String)> = Vec::new();
        let way = Way { from: vec![commit], ..Way::default() };
        walk(&repo, &way, &Pathspec::default(), &mut |oid, _| {
            // Of several at one commit one with words is taken first, and the last by name.
            let here = tags.iter().filter(|(of, ..)| of == oid).max_by_key(|(_, heavy, _)| *heavy);
            found.extend(here.map(|(_, _, name)| (*oid, name.clone())));
            Ok(found.len() < CANDIDATES)
        })?;
        let all = ancestors(&repo, &[commit])?;
        let mut best: Option<(usize, Oid, String)> = None;
        for (oid, name) in found {
            let behind = ancestors(&repo, &[oid])?;
            let apart = all.difference(&behind).count();
            if best.as_ref().is_none_or(|(least, ..)| apart < *least) {
                best = Some((apart, oid, name));
            }
        }
        let mut text = match best {
            Some((0, _, name)) if !given.has('\u{5}') => name,
            Some((apart, _, name)) if !given.has('\u{7}') || apart == 0 => match least {
                Some(0) => name,
                _ => format!("{name}-{apart}-g{}", short(&commit)?),
            },
            Some(_) => return Err(fatal(format!("no tag exactly matches '{commit}'"))),
            None if given.has('\u{4}') => short(&commit)?,
            None => {
                return Err(Failed {
                    exit: 128,
                    message: "fatal: No names found, cannot describe anything.".into(),
                });
            }
        };
        if given.has('\u{8}') {
            let mut index = Index::read(&repo)?;
            let head = flatten_commit(&repo, repo.head_commit()?.as_ref())?;
            let (changed, _) = repo.unstaged(&mut index, &Pathspec::default())?;
            if !changed.is_empty() || !compare(&head, &index.flat()).is_empty() {
                text += given.value('\u{8}').unwrap_or("-dirty");
            }
        }
        self.say(&text);
        Ok(0)
    }
}
