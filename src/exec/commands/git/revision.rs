//! Names of objects as people write them: `HEAD~2`, `v1^{tree}`, `a1b2c3`, `main:src/x`.

use super::failed::{Done, Failed, fatal};
use super::index::Index;
use super::object::Kind;
use super::oid::Oid;
use super::repo::Repo;

/// Where a short name is looked for, in this order.
const PLACES: [(&str, &str); 6] = [
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];

/// The full name of the ref that a short name means.
pub(super) fn full_name(repo: &Repo<'_>, name: &str) -> Done<Option<String>> {
    for (before, behind) in PLACES {
        let full = format!("{before}{name}{behind}");
        if repo.resolve(&full)?.is_some() {
            return Ok(Some(full));
        }
    }
    Ok(None)
}

/// The branch that a branch follows, as a full name.
pub(super) fn upstream(repo: &Repo<'_>, branch: &str) -> Option<String> {
    let remote = repo.config.get(&format!("branch.{branch}.remote"))?;
    let merge = repo.config.get(&format!("branch.{branch}.merge"))?;
    if remote == "." {
        return Some(merge.to_owned());
    }
    Some(format!("refs/remotes/{remote}/{}", merge.strip_prefix("refs/heads/")?))
}

/// A path after a colon: from the root, unless it begins with a dot.
fn from_root(repo: &Repo<'_>, path: &str) -> String {
    if !path.starts_with("./") && !path.starts_with("../") {
        return path.to_owned();
    }
    super::pathspec::plain(&format!("{}/{path}", repo.prefix)).trim_start_matches('/').to_owned()
}

/// The object that `text` names; `None` if there is none.
pub(super) fn find(repo: &Repo<'_>, text: &str) -> Done<Option<Oid>> {
    if let Some(rest) = text.strip_prefix(':') {
        let path = rest.strip_prefix("0:").unwrap_or(rest);
        return Ok(Index::read(repo)?.get(&from_root(repo, path)).map(|entry| entry.oid));
    }
    let colon = text.find(':').filter(|&at| !text[..at].contains('{') || text[..at].contains('}'));
    if let Some(at) = colon {
        let Some(mut oid) = find(repo, &text[..at])? else { return Ok(None) };
        oid = repo.peel(&oid, Some(Kind::Tree))?;
        for name in
            from_root(repo, &text[at + 1..]).split('/').filter(|name| !name.is_empty() && *name != ".")
        {
            let found =
                repo.read_as(&oid, Kind::Tree).ok().and_then(|data| super::object::parse_tree(&data).ok());
            let Some(entry) = found.unwrap_or_default().into_iter().find(|entry| entry.name == name) else {
                return Ok(None);
            };
            oid = entry.oid;
        }
        return Ok(Some(oid));
    }
    let end = text.find(['^', '~']).unwrap_or(text.len());
    let Some(mut oid) = base(repo, &text[..end])? else { return Ok(None) };
    let mut rest = &text[end..];
    while let Some(sign) = rest.chars().next() {
        rest = &rest[1..];
        if let Some(inner) = rest.strip_prefix('{').filter(|_| sign == '^') {
            let Some((kind, behind)) = inner.split_once('}') else { return Ok(None) };
            oid = match kind {
                "" => repo.peel(&oid, None)?,
                "object" => oid,
                kind => match Kind::parse(kind) {
                    Some(kind) => repo.peel(&oid, Some(kind))?,
                    None => return Ok(None),
                },
            };
            rest = behind;
            continue;
        }
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let count: usize = if digits == 0 { 1 } else { rest[..digits].parse().unwrap_or(usize::MAX) };
        rest = &rest[digits..];
        oid = repo.peel(&oid, Some(Kind::Commit))?;
        match sign {
            '^' if count > 0 => match repo.commit(&oid)?.parents.get(count - 1) {
                Some(parent) => oid = *parent,
                None => return Ok(None),
            },
            '^' => {}
            '~' => {
                for _ in 0..count {
                    match repo.commit(&oid)?.parents.first() {
                        Some(parent) => oid = *parent,
                        None => return Ok(None),
                    }
                }
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(oid))
}

fn base(repo: &Repo<'_>, name: &str) -> Done<Option<Oid>> {
    let name = if name == "@" { "HEAD" } else { name };
    if name.len() == 40
        && let Some(oid) = Oid::parse(name)
    {
        return Ok(Some(oid));
    }
    let lower = name.to_ascii_lowercase();
    if let Some(branch) = lower.strip_suffix("@{u}").or_else(|| lower.strip_suffix("@{upstream}")) {
        let branch = match &name[..branch.len()] {
            "" | "HEAD" => match repo.head()? {
                super::refs::Head::Branch(full) => super::refs::short_name(&full).to_owned(),
                super::refs::Head::Detached(_) => return Err(fatal("HEAD does not point to a branch")),
            },
            branch => branch.to_owned(),
        };
        let followed = upstream(repo, &branch)
            .ok_or_else(|| fatal(format!("no upstream configured for branch '{branch}'")))?;
        return repo.resolve(&followed);
    }
    if let Some(oid) = super::stash::find(repo, name)? {
        return Ok(Some(oid));
    }
    if name.contains("@{") {
        return Err(fatal(format!("{name}: there are no reflogs here")));
    }
    if let Some(full) = full_name(repo, name)? {
        return repo.resolve(&full);
    }
    let is_hex = (4..40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex {
        return Ok(None);
    }
    match repo.with_prefix(&lower)?[..] {
        [] => Ok(None),
        [oid] => Ok(Some(oid)),
        _ => Err(fatal(format!("ambiguous argument '{name}': short object ID {name} is ambiguous"))),
    }
}

/// The object that `text` names, in an argument that might have been a path.
pub(super) fn resolve(repo: &Repo<'_>, text: &str) -> Done<Oid> {
    find(repo, text)?.ok_or_else(|| unknown(text))
}

/// The commit that `text` names.
pub(super) fn commit(repo: &Repo<'_>, text: &str) -> Done<Oid> {
    repo.peel(&resolve(repo, text)?, Some(Kind::Commit))
}

/// It is neither.
pub(super) fn unknown(text: &str) -> Failed {
    fatal(format!(
        "ambiguous argument '{text}': unknown revision or path not in the working tree.\nUse '--' to separate paths from revisions, like this:\n'git <command> [<revision>...] -- [<file>...]'"
    ))
}
