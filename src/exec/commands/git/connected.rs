//! Whether all that refs are to name is there: a server may send a pack with holes in it.
//! Looked at before a ref is written, as by git: from the new tips to what our own refs have.

use std::collections::BTreeSet;

use super::failed::{Done, fatal};
use super::object::{DIR, Kind, MODULE, Tag};
use super::oid::Oid;
use super::repo::Repo;

/// An object that must be there, and what is known of it.
enum Wanted {
    /// Whatever it is.
    Tip(Oid),
    Commit(Oid),
    Tree(Oid),
    /// A file: that it is there is enough, it is read when it is needed.
    Blob(Oid),
}

/// Looks at everything behind `tips` that is not behind a ref of ours. `Err` names the first
/// object that is missing.
pub(super) fn check(repo: &Repo<'_>, tips: &[Oid]) -> Done {
    let own: BTreeSet<Oid> = repo.refs("refs/")?.into_values().chain(repo.head_commit()?).collect();
    let mut open: Vec<Wanted> =
        tips.iter().filter(|tip| !own.contains(tip)).map(|tip| Wanted::Tip(*tip)).collect();
    if open.is_empty() {
        return Ok(());
    }
    let mut seen = behind(repo, own.into_iter().collect())?;
    while let Some(wanted) = open.pop() {
        let (Wanted::Tip(oid) | Wanted::Commit(oid) | Wanted::Tree(oid) | Wanted::Blob(oid)) = wanted;
        if !seen.insert(oid) {
            continue;
        }
        repo.go_on()?;
        let kind = match wanted {
            Wanted::Tip(_) => repo.find(&oid)?.ok_or_else(|| missing("object", &oid))?.kind,
            Wanted::Commit(_) => Kind::Commit,
            Wanted::Tree(_) => Kind::Tree,
            Wanted::Blob(_) => Kind::Blob,
        };
        if !repo.has(&oid)? {
            return Err(missing(kind.name(), &oid));
        }
        match kind {
            Kind::Commit => {
                // Where history is cut off it has no parents.
                let commit = repo.commit(&oid)?;
                open.extend(commit.parents.into_iter().map(Wanted::Commit));
                open.push(Wanted::Tree(commit.tree));
            }
            Kind::Tree => {
                for entry in repo.tree(&oid)?.into_iter().filter(|entry| entry.mode != MODULE) {
                    let wanted =
                        if entry.mode == DIR { Wanted::Tree(entry.oid) } else { Wanted::Blob(entry.oid) };
                    open.push(wanted);
                }
            }
            Kind::Tag => open.push(Wanted::Tip(Tag::parse(&repo.read_as(&oid, Kind::Tag)?)?.object)),
            Kind::Blob => {}
        }
    }
    Ok(())
}

/// All commits behind our own refs. A hole in those is no fault of who sends something now.
fn behind(repo: &Repo<'_>, from: Vec<Oid>) -> Done<BTreeSet<Oid>> {
    let (mut seen, mut open) = (BTreeSet::new(), Vec::new());
    for oid in from {
        open.extend(repo.peel(&oid, Some(Kind::Commit)));
    }
    while let Some(oid) = open.pop() {
        repo.go_on()?;
        if !seen.contains(&oid)
            && let Ok(commit) = repo.commit(&oid)
        {
            seen.insert(oid);
            open.extend(commit.parents);
        }
    }
    Ok(seen)
}

fn missing(kind: &str, oid: &Oid) -> super::failed::Failed {
    fatal(format!("missing {kind} '{oid}'"))
}
