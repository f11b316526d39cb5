//! Packs of what one repository has and another wants, and repositories of the sandbox as
//! remotes.

use std::collections::BTreeSet;

use super::failed::{Done, fatal};
use super::http::Offer;
use super::object::{DIR, Kind, MODULE, Tag, parse_tree};
use super::oid::Oid;
use super::pack::Writer;
use super::refs::Head;
use super::repo::Repo;

/// What a repository of the sandbox offers.
pub(super) fn offer(repo: &Repo<'_>) -> Done<Offer> {
    let mut offer = Offer { refs: repo.refs("refs/")?, ..Offer::default() };
    for (name, oid) in &offer.refs {
        let peeled = repo.peel(oid, None)?;
        if peeled != *oid {
            offer.peeled.insert(name.clone(), peeled);
        }
    }
    match repo.head()? {
        Head::Branch(full) => offer.head = Some(full),
        Head::Detached(_) => {}
    }
    if let Some(oid) = repo.head_commit()? {
        offer.refs.insert("HEAD".into(), oid);
    }
    Ok(offer)
}

/// A pack of all that is behind `wants` and not behind `haves`; how many objects it has.
pub(super) fn pack(repo: &Repo<'_>, wants: &[Oid], haves: &[Oid]) -> Done<(Vec<u8>, u32)> {
    let mut writer = Writer::new(repo.longest());
    let mut seen: BTreeSet<Oid> = BTreeSet::new();
    let mut known = Vec::new();
    for have in haves {
        if repo.has(have)?
            && let Ok(oid) = repo.peel(have, Some(Kind::Commit))
        {
            known.push(oid);
        }
    }
    let behind = super::walk::ancestors(repo, &known)?;
    for oid in &known {
        mark(repo, &repo.commit(oid)?.tree, &mut seen)?;
    }
    let mut open = wants.to_vec();
    while let Some(oid) = open.pop() {
        repo.go_on()?;
        if behind.contains(&oid) || !seen.insert(oid) {
            continue;
        }
        let object = repo.read(&oid)?;
        writer.add(object.kind, &object.data)?;
        match object.kind {
            Kind::Commit => {
                let commit = repo.commit(&oid)?;
                for parent in commit.parents {
                    if behind.contains(&parent) {
                        mark(repo, &repo.commit(&parent)?.tree, &mut seen)?;
                    } else {
                        open.push(parent);
                    }
                }
                open.push(commit.tree);
            }
            Kind::Tree => {
                let entries = parse_tree(&object.data)?;
                open.extend(entries.iter().filter(|entry| entry.mode != MODULE).map(|entry| entry.oid));
            }
            Kind::Tag => open.push(Tag::parse(&object.data)?.object),
            Kind::Blob => {}
        }
    }
    Ok(writer.finish())
}

/// Notes a tree and what is in it as known.
fn mark(repo: &Repo<'_>, tree: &Oid, seen: &mut BTreeSet<Oid>) -> Done {
    let mut open = vec![*tree];
    while let Some(tree) = open.pop() {
        repo.go_on()?;
        if !seen.insert(tree) {
            continue;
        }
        for entry in repo.tree(&tree)? {
            if entry.mode == DIR {
                open.push(entry.oid);
            } else {
                seen.insert(entry.oid);
            }
        }
    }
    Ok(())
}

/// Takes a pack and new values of refs, as a remote does. Gives what was refused, by ref.
pub(super) fn receive(
    repo: &mut Repo<'_>,
    pack: &[u8],
    updates: &[(String, Oid)],
) -> Done<Vec<(String, String)>> {
    if !pack.is_empty() {
        repo.add_pack(pack)?;
    }
    let mut refused = Vec::new();
    for (name, new) in updates {
        let here = repo.work.is_some() && repo.head()? == Head::Branch(name.clone());
        if here {
            refused.push((name.clone(), "branch is currently checked out".to_owned()));
        } else if *new == Oid::NULL {
            repo.delete(name)?;
        } else if !super::refs::is_valid(name) || !name.starts_with("refs/") {
            return Err(fatal(format!("'{name}' is not a valid ref name")));
        } else {
            repo.update(name, new)?;
        }
    }
    Ok(refused)
}
