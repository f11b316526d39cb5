//! `git pull`.

use super::failed::{Done, Failed};
use super::fetch::{Tags, Wish, default_remote};
use super::http::shown;
use super::merge::{Ff, Told, into};
use super::refs::{Head, short_name};
use super::walk::is_behind;
use super::{Git, given};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::Nothing;

const SPECS: &[Spec] = &[
    ('q', "quiet", Nothing),
    ('t', "tags", Nothing),
    ('\u{6}', "ff", Nothing),
    ('\u{7}', "ff-only", Nothing),
    ('\u{8}', "no-ff", Nothing),
    ('\u{e}', "no-rebase", Nothing),
    ('r', "rebase", Nothing),
    ('\u{f}', "no-edit", Nothing),
];

impl Git<'_> {
    /// `git pull`.
    pub(super) async fn pull(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("pull", args, SPECS)?;
        let mut repo = self.work_repo()?;
        let (mut ff, mut told, mut wish) = (Ff::May, Told { quiet: false, stat: true }, Wish::default());
        let set = repo.config.get("pull.ff").map(str::to_owned);
        let mut decided = set.is_some() || repo.config.get("pull.rebase").is_some();
        if set.as_deref() == Some("only") {
            ff = Ff::Must;
        }
        for &(letter, _) in &given.options {
            match letter {
                'q' => (told.quiet, wish.quiet) = (true, true),
                't' => wish.tags = Tags::All,
                '\u{6}' | '\u{e}' => decided = true,
                '\u{7}' => ff = Ff::Must,
                '\u{8}' => (ff, decided) = (Ff::Never, true),
                'r' => return Err(super::left_out("pull --rebase", "--ff-only and --no-rebase are")),
                _ => {}
            }
        }
        let mut operands =
            [given.operands, behind.unwrap_or_default()].concat().into_iter().map(str::to_owned);
        let named = operands.next();
        let remote = named.clone().unwrap_or_else(|| default_remote(&repo));
        wish.specs = operands.collect();
        let branch = match repo.head()? {
            Head::Branch(full) => short_name(&full).to_owned(),
            Head::Detached(_) => String::new(),
        };
        let followed = repo.config.get(&format!("branch.{branch}.merge")).map(str::to_owned);
        let own = repo.config.get(&format!("branch.{branch}.remote")) == Some(&*remote);
        let came = self.fetch_into(&mut repo, &remote, &wish).await?;
        let wanted = if wish.specs.is_empty() {
            followed.filter(|_| own)
        } else {
            came.first().map(|(name, _)| name.clone())
        };
        let Some((theirs, oid)) =
            wanted.and_then(|wanted| came.into_iter().find(|(name, _)| *name == wanted))
        else {
            return Err(Failed {
                exit: 1,
                message: format!(
                    "There is no tracking information for the current branch.\nPlease specify which branch you want to merge with.\nSee git-pull(1) for details.\n\n    git pull <remote> <branch>\n\nIf you wish to set tracking information for this branch you can do so with:\n\n    git branch --set-upstream-to={remote}/<branch> {branch}\n"
                ),
            });
        };
        if let (Some(head), Ff::May, false) = (repo.head_commit()?, ff, decided)
            && !is_behind(&repo, &head, &oid)?
            && !is_behind(&repo, &oid, &head)?
        {
            return Err(Failed {
                exit: 128,
                message: "hint: You have divergent branches and need to specify how to reconcile them.\nhint: Here there is:\nhint:\nhint:   git pull --no-rebase   # merge\nhint:   git pull --ff-only     # fast-forward only\nfatal: Need to specify how to reconcile divergent branches.".into(),
            });
        }
        let url = shown(&Self::url_of(&repo, &remote));
        let message = format!("Merge branch '{}' of {url}{}\n", short_name(&theirs), into(&repo)?);
        self.merge_with(&repo, &oid, &message, ff, &told)
    }
}
