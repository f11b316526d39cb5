//! Options of commands that show differences and commits, and one commit with its
//! difference.

use std::collections::BTreeSet;

use super::blobs::Blobs;
use super::failed::{Done, fatal};
use super::given::number;
use super::object::Commit;
use super::oid::Oid;
use super::patch::{self, Style};
use super::pathspec::Pathspec;
use super::pretty::{self, Form, Look, Names};
use super::repo::Repo;
use super::trees::compare_trees;
use super::{Git, left_out};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing, Optional};

/// Letters of options without a short form.
const PLAIN: char = '\u{b0}';

/// Options of differences.
pub(super) const DIFF: &[Spec] = &[
    ('p', "patch", Nothing),
    ('u', "", Nothing),
    ('s', "no-patch", Nothing),
    ('U', "unified", Argument),
    ('M', "find-renames", Optional),
    ('R', "", Nothing),
    ('z', "", Nothing),
    ('a', "text", Nothing),
    ('\u{80}', "stat", Optional),
    ('\u{81}', "shortstat", Nothing),
    ('\u{82}', "numstat", Nothing),
    ('\u{83}', "summary", Nothing),
    ('\u{84}', "name-only", Nothing),
    ('\u{85}', "name-status", Nothing),
    ('\u{86}', "raw", Nothing),
    ('\u{87}', "no-renames", Nothing),
    ('\u{88}', "no-prefix", Nothing),
    ('\u{89}', "full-index", Nothing),
    ('\u{8a}', "exit-code", Nothing),
    ('\u{8b}', "quiet", Nothing),
    ('\u{8c}', "diff-filter", Argument),
    (PLAIN, "no-color", Nothing),
    (PLAIN, "color", Optional),
    (PLAIN, "no-ext-diff", Nothing),
    (PLAIN, "no-textconv", Nothing),
    (PLAIN, "minimal", Nothing),
];

/// Options of how commits are shown.
pub(super) const LOOK: &[Spec] = &[
    ('\u{90}', "oneline", Nothing),
    ('\u{91}', "format", Argument),
    ('\u{91}', "pretty", Optional),
    ('\u{92}', "abbrev-commit", Nothing),
    ('\u{93}', "no-abbrev-commit", Nothing),
    ('\u{94}', "date", Argument),
    ('\u{95}', "decorate", Optional),
    ('\u{96}', "no-decorate", Nothing),
];

/// Takes in an option of [`DIFF`]. `false`: it is none.
pub(super) fn diff_option(style: &mut Style, letter: char, value: Option<&str>) -> Done<bool> {
    match letter {
        'p' | 'u' => style.patch = true,
        's' => (style.patch, style.stat, style.quiet) = (false, false, true),
        'U' => {
            style.patch = true;
            style.context = number(value.unwrap_or("3"))?.min(1 << 40);
        }
        'M' => style.renames = true,
        'R' => style.reverse = true,
        'z' => style.zero = true,
        'a' => style.text = true,
        '\u{80}' => {
            style.stat = true;
            if let Some(width) = value {
                style.width = number(width.split(',').next().unwrap_or(width))?.clamp(26, 10_000);
            }
        }
        '\u{81}' => style.shortstat = true,
        '\u{82}' => style.numstat = true,
        '\u{83}' => style.summary = true,
        '\u{84}' => style.names = true,
        '\u{85}' => style.letters = true,
        '\u{86}' => style.raw = true,
        '\u{87}' => style.renames = false,
        '\u{88}' => style.prefixes = false,
        '\u{89}' => style.full_index = true,
        '\u{8a}' => style.exit_code = true,
        '\u{8b}' => (style.quiet, style.exit_code) = (true, true),
        '\u{8c}' => value.unwrap_or_default().clone_into(&mut style.filter),
        PLAIN => {
            if value == Some("always") {
                return Err(left_out("--color=always", "there are no colours"));
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Takes in an option of [`LOOK`]. `false`: it is none.
pub(super) fn look_option(look: &mut Look, letter: char, value: Option<&str>) -> Done<bool> {
    match letter {
        '\u{90}' => (look.form, look.short) = (Form::Oneline, true),
        '\u{91}' => look.form = Form::parse(value.unwrap_or("medium"))?,
        '\u{92}' => look.short = true,
        '\u{93}' => look.short = false,
        '\u{94}' => {
            let value = value.unwrap_or_default();
            let known = [
                "raw",
                "unix",
                "short",
                "iso",
                "iso8601",
                "iso-strict",
                "iso8601-strict",
                "rfc",
                "rfc2822",
                "relative",
                "default",
                "format:…",
            ];
            if !known.contains(&value) && !value.starts_with("format:") {
                return Err(fatal(format!(
                    "date format '{value}' is not supported here; there are: {}",
                    known.join(", ")
                )));
            }
            value.clone_into(&mut look.date);
        }
        '\u{95}' => {
            look.decorate = match value {
                None | Some("short") => Some(false),
                Some("full") => Some(true),
                _ => None,
            }
        }
        '\u{96}' => look.decorate = None,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Commits one after the other, with what stands between them.
pub(super) struct Printer<'r, 'a> {
    pub(super) repo: &'r Repo<'a>,
    pub(super) look: Look,
    pub(super) style: Style,
    pub(super) spec: Pathspec,
    /// If set, no other files.
    pub(super) only: Option<BTreeSet<String>>,
    names: Names,
    any: bool,
}

impl<'r, 'a> Printer<'r, 'a> {
    /// Loads what it needs to know of refs.
    pub(super) fn new(repo: &'r Repo<'a>, look: Look, style: Style, spec: Pathspec) -> Done<Self> {
        let wants =
            matches!(&look.form, Form::Own(format, _) if format.contains("%d") || format.contains("%D"));
        let names = if look.decorate.is_some() || wants {
            pretty::names(repo, look.decorate == Some(true))?
        } else {
            Names::new()
        };
        Ok(Self { repo, look, style, spec, only: None, names, any: false })
    }

    /// What stands between two.
    pub(super) fn separate(&mut self, out: &mut Vec<u8>) {
        let ends = matches!(self.look.form, Form::Oneline | Form::Own(_, true));
        if self.any && !ends {
            out.push(b'\n');
        }
        self.any = true;
    }

    /// A commit, and its difference to its first parent. Of a merge no difference is shown,
    /// unless only the first parent counts.
    pub(super) fn print(
        &mut self,
        oid: &Oid,
        commit: &Commit,
        first_parent: bool,
        out: &mut Vec<u8>,
    ) -> Done {
        self.separate(out);
        let mut text = String::new();
        pretty::commit(self.repo, &self.look, &self.names, oid, commit, &mut text)?;
        out.extend_from_slice(text.as_bytes());
        if !self.style.is_chosen() || self.style.quiet || commit.parents.len() > 1 && !first_parent {
            return Ok(());
        }
        let before =
            commit.parents.first().map(|oid| self.repo.commit(oid)).transpose()?.map(|commit| commit.tree);
        let blobs = Blobs::new(self.repo);
        let mut changes = compare_trees(self.repo, before.as_ref(), Some(&commit.tree))?;
        let meant = |path: &String| self.only.as_ref().is_none_or(|only| only.contains(path));
        changes.retain(|change| self.spec.matches(&change.path) && meant(&change.path));
        let changes = patch::prepared(&blobs, &self.style, changes)?;
        if changes.is_empty() {
            return Ok(());
        }
        match &self.look.form {
            Form::Oneline => {}
            Form::Own(format, ends) => {
                if !ends {
                    out.push(b'\n');
                }
                if !format.is_empty() {
                    out.extend_from_slice(if self.style.stat && self.style.patch { b"---\n" } else { b"\n" });
                }
            }
            _ => out.extend_from_slice(if self.style.stat && self.style.patch { b"---\n" } else { b"\n" }),
        }
        patch::write(&blobs, &self.style, &changes, out)
    }

    /// After the last one: the newline that a form without one lacks.
    pub(super) fn finish(&self, out: &mut Vec<u8>) {
        if self.any && matches!(self.look.form, Form::Own(_, false)) && !out.ends_with(b"\n") {
            out.push(b'\n');
        }
    }
}

impl Git<'_> {
    /// How commits are shown unless it is said.
    pub(super) fn look(&self, repo: &Repo<'_>) -> Done<Look> {
        let form = repo.config.get("format.pretty").map_or(Ok(Form::Medium), Form::parse)?;
        let date = repo.config.get("log.date").unwrap_or("default").to_owned();
        Ok(Look { form, short: false, date, decorate: None, now: self.now() })
    }
}
