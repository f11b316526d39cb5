//! `git diff`.

use super::blobs::Blobs;
use super::failed::{Done, fatal};
use super::given;
use super::index::Index;
use super::look::{DIFF, diff_option};
use super::object::Kind;
use super::patch::{self, Style};
use super::pathspec::Pathspec;
use super::revision;
use super::trees::{Change, compare, compare_trees, flatten_commit};
use super::walk::merge_bases;
use super::{Git, left_out};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::Nothing;

const SPECS: &[Spec] = &[
    ('\u{a0}', "cached", Nothing),
    ('\u{a0}', "staged", Nothing),
    ('\u{a1}', "no-index", Nothing),
    ('\u{a2}', "merge-base", Nothing),
];

impl Git<'_> {
    /// `git diff`.
    pub(super) fn diff(&mut self, args: &[String]) -> Done<u8> {
        let specs = [DIFF, SPECS].concat();
        let (given, behind) = given::read("diff", args, &specs)?;
        let (mut style, mut cached) = (Style::default(), false);
        for &(letter, value) in &given.options {
            if !diff_option(&mut style, letter, value)? {
                match letter {
                    '\u{a0}' => cached = true,
                    '\u{a1}' => return Err(left_out("--no-index", "diff -u compares other files")),
                    _ => return Err(left_out("--merge-base", "A...B is")),
                }
            }
        }
        if !style.is_chosen() {
            style.patch = true;
        }
        let repo = self.repo()?;
        let (mut trees, mut paths) = (Vec::new(), Vec::<&str>::new());
        let tree = |text: &str| -> Done<Option<super::oid::Oid>> {
            let text = if text.is_empty() { "HEAD" } else { text };
            Ok(revision::find(&repo, text)?.filter(|oid| repo.peel(oid, Some(Kind::Tree)).is_ok()))
        };
        for (number, text) in given.operands.iter().enumerate() {
            let (dots, split) = match text.split_once("...") {
                Some(pair) => (3, Some(pair)),
                None => (2, text.split_once("..").filter(|_| *text != "..")),
            };
            if let Some((a, b)) = split
                && let (Some(a), Some(b)) = (tree(a)?, tree(b)?)
            {
                let a = if dots == 3 {
                    let [a, b] = [a, b].map(|oid| repo.peel(&oid, Some(Kind::Commit)));
                    *merge_bases(&repo, &a?, &b?)?
                        .first()
                        .ok_or_else(|| fatal(format!("{text}: no merge base")))?
                } else {
                    a
                };
                trees.extend([a, b]);
            } else if let Some(oid) = tree(text)? {
                trees.push(oid);
            } else if behind.is_none() && self.is_path(text) {
                paths.extend(&given.operands[number..]);
                break;
            } else {
                return Err(revision::unknown(text));
            }
        }
        if let Some(missing) = paths.iter().find(|path| !self.is_path(path)) {
            return Err(revision::unknown(missing));
        }
        paths.extend(behind.unwrap_or_default());
        let spec = Pathspec::new(&repo, &self.cwd, &paths)?;
        let roots: Done<Vec<_>> = trees.iter().map(|oid| repo.peel(oid, Some(Kind::Tree))).collect();
        let changes = match roots?[..] {
            [ref old, ref new] if !cached => {
                let changes = compare_trees(&repo, Some(old), Some(new))?;
                return self.differences(&Blobs::new(&repo), &style, changes, &spec);
            }
            ref trees if cached && trees.len() < 2 => {
                let old = match trees {
                    [tree] => super::trees::flatten(&repo, tree)?,
                    _ => flatten_commit(&repo, repo.head_commit()?.as_ref())?,
                };
                let changes = compare(&old, &Index::read(&repo)?.flat());
                return self.differences(&Blobs::new(&repo), &style, changes, &spec);
            }
            ref trees if trees.len() < 2 => {
                let repo = self.work_repo()?;
                let mut index = Index::read(&repo)?;
                let (unstaged, _) = repo.unstaged(&mut index, &spec)?;
                match trees {
                    [tree] => {
                        // The files as they are: the index, and what differs from it.
                        let mut now = index.flat();
                        for change in &unstaged {
                            now.remove(&change.path);
                            if let Some(side) = change.new {
                                now.insert(change.path.clone(), side);
                            }
                        }
                        let changes = compare(&super::trees::flatten(&repo, tree)?, &now);
                        let files: Vec<Change> = unstaged;
                        return self.differences(&Blobs::with_files(&repo, &files), &style, changes, &spec);
                    }
                    _ => unstaged,
                }
            }
            _ => return Err(given::misused("diff", "more trees than can be compared", &specs)),
        };
        self.differences(&Blobs::with_files(&repo, &changes), &style, changes.clone(), &spec)
    }

    fn differences(
        &mut self,
        blobs: &Blobs<'_, '_>,
        style: &Style,
        mut changes: Vec<Change>,
        spec: &Pathspec,
    ) -> Done<u8> {
        changes.retain(|change| spec.matches(&change.path));
        let changes = patch::prepared(blobs, style, changes)?;
        patch::write(blobs, style, &changes, &mut self.answer.stdout)?;
        Ok(u8::from(style.exit_code && !changes.is_empty()))
    }
}
