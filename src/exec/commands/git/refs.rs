//! Names of commits: HEAD, branches, tags; each a file of its own or a line of packed-refs.

use std::collections::BTreeMap;

use super::failed::{Done, at, fatal};
use super::join;
use super::oid::Oid;
use super::repo::Repo;
use crate::fs::{Errno, Kind};

/// Refs that name refs.
const DEEPEST: usize = 5;

/// Where HEAD stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// On a branch, by its full name; it may not exist yet.
    Branch(String),
    /// On a commit.
    Detached(Oid),
}

/// Whether a name may be a ref's, as of `git check-ref-format`.
pub(super) fn is_valid(name: &str) -> bool {
    !name.is_empty()
        && !name.contains("..")
        && !name.contains("@{")
        && name != "@"
        && !name.ends_with(['.', '/'])
        && !name.contains(|c: char| c.is_control() || " ~^:?*[\\".contains(c))
        && name.split('/').all(|part| {
            let lock = part.to_ascii_lowercase().ends_with(".lock");
            !part.is_empty() && !part.starts_with('.') && !lock
        })
}

/// Whether it may be read as a file in `.git`: a ref, or a name in capitals.
fn is_place(name: &str) -> bool {
    let capitals = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    is_valid(name) && (name.starts_with("refs/") || capitals)
}

impl Repo<'_> {
    fn packed(&self) -> Done<BTreeMap<String, Oid>> {
        let data = self.file(&self.path("packed-refs"))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&data);
        let lines = text.lines().filter(|line| !line.starts_with(['#', '^']) && !line.is_empty());
        lines
            .map(|line| {
                let pair =
                    line.split_once(' ').and_then(|(oid, name)| Some((name.to_owned(), Oid::parse(oid)?)));
                pair.ok_or_else(|| fatal(format!("unexpected line in .git/packed-refs: {line}")))
            })
            .collect()
    }

    /// What stands in a ref: `Ok` the object, `Err` the ref that it names.
    fn look(&self, name: &str) -> Done<Option<Result<Oid, String>>> {
        if !is_place(name) {
            return Ok(None);
        }
        if let Some(data) = self.file(&self.path(name))? {
            let text = String::from_utf8_lossy(&data);
            let text = text.trim_end();
            if let Some(other) = text.strip_prefix("ref:") {
                return Ok(Some(Err(other.trim().to_owned())));
            }
            let word = text.split_whitespace().next().unwrap_or_default();
            return match Oid::parse(word) {
                Some(oid) => Ok(Some(Ok(oid))),
                None => Err(fatal(format!("bad ref {name}: it names no object"))),
            };
        }
        Ok(if name.starts_with("refs/") { self.packed()?.get(name).copied().map(Ok) } else { None })
    }

    /// The object of a ref by its full name.
    pub(super) fn resolve(&self, name: &str) -> Done<Option<Oid>> {
        let mut name = name.to_owned();
        for _ in 0..DEEPEST {
            match self.look(&name)? {
                None => return Ok(None),
                Some(Ok(oid)) => return Ok(Some(oid)),
                Some(Err(other)) => name = other,
            }
        }
        Err(fatal(format!("bad ref {name}: refs that name refs without an end")))
    }

    /// What a symbolic ref names.
    pub(super) fn symbolic(&self, name: &str) -> Done<Option<String>> {
        Ok(self.look(name)?.and_then(Result::err))
    }

    /// Where HEAD stands.
    pub(super) fn head(&self) -> Done<Head> {
        match self.look("HEAD")? {
            Some(Ok(oid)) => Ok(Head::Detached(oid)),
            Some(Err(name)) => Ok(Head::Branch(name)),
            None => Err(fatal("not a git repository: it has no HEAD")),
        }
    }

    /// The commit that HEAD stands on, if there is one.
    pub(super) fn head_commit(&self) -> Done<Option<Oid>> {
        self.resolve("HEAD")
    }

    /// All refs whose names begin so, in order.
    pub(super) fn refs(&self, prefix: &str) -> Done<BTreeMap<String, Oid>> {
        let mut found = self.packed()?;
        let mut names = Vec::new();
        self.collect("refs", &mut names)?;
        for name in names.into_iter().filter(|name| name.starts_with(prefix)) {
            found.remove(&name);
            if let Some(oid) = self.resolve(&name)? {
                found.insert(name, oid);
            }
        }
        found.retain(|name, _| name.starts_with(prefix) && is_place(name));
        Ok(found)
    }

    fn collect(&self, dir: &str, names: &mut Vec<String>) -> Done {
        for (name, stat) in self.call.files.read_dir(&self.path(dir)).unwrap_or_default() {
            let name = join(dir, &name);
            match stat.kind {
                Kind::Dir => self.collect(&name, names)?,
                Kind::File if is_place(&name) => names.push(name),
                Kind::File | Kind::Symlink => {}
            }
        }
        Ok(())
    }

    /// Writes a ref. `HEAD` on a branch writes the branch.
    pub(super) fn update(&self, name: &str, oid: &Oid) -> Done {
        let mut name = name.to_owned();
        for _ in 0..DEEPEST {
            match self.symbolic(&name)? {
                Some(other) => name = other,
                None => break,
            }
        }
        if !is_place(&name) {
            return Err(fatal(format!("'{name}' is not a valid ref name")));
        }
        if let Some(rest) = name.strip_prefix("refs/") {
            let taken = |other: &str| {
                fatal(format!("cannot lock ref '{name}': '{other}' exists; cannot create '{name}'"))
            };
            for (at, _) in rest.match_indices('/') {
                let above = format!("refs/{}", &rest[..at]);
                if self.look(&above)?.is_some() {
                    return Err(taken(&above));
                }
            }
            if let Some(below) = self.refs(&format!("{name}/"))?.keys().next() {
                return Err(taken(below));
            }
            // A directory that is empty is in the way of a file.
            self.prune(&name);
        }
        self.put(&self.path(&name), format!("{oid}\n").as_bytes())
    }

    fn prune(&self, dir: &str) {
        let path = self.path(dir);
        for (name, stat) in self.call.files.read_dir(&path).unwrap_or_default() {
            if stat.kind == Kind::Dir {
                self.prune(&join(dir, &name));
            }
        }
        let _ = self.call.files.rmdir(&path);
    }

    /// Lets a ref name another.
    pub(super) fn point(&self, name: &str, to: &str) -> Done {
        self.put(&self.path(name), format!("ref: {to}\n").as_bytes())
    }

    /// Puts HEAD on a commit.
    pub(super) fn detach(&self, oid: &Oid) -> Done {
        self.put(&self.path("HEAD"), format!("{oid}\n").as_bytes())
    }

    /// Removes a ref, wherever it is written.
    pub(super) fn delete(&self, name: &str) -> Done {
        let packed = self.path("packed-refs");
        if self.packed()?.contains_key(name) {
            let data = self.file(&packed)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&data).into_owned();
            let (mut out, mut gone) = (String::new(), false);
            for line in text.split_inclusive('\n') {
                // A line with ^ belongs to the one before.
                if !line.starts_with('^') {
                    gone = line.trim_end().split_once(' ').is_some_and(|(_, own)| own == name);
                }
                if !gone {
                    out += line;
                }
            }
            self.put(&packed, out.as_bytes())?;
        }
        if !is_place(name) {
            return Ok(());
        }
        match self.call.files.unlink(&self.path(name)) {
            Ok(()) | Err(Errno::ENOENT | Errno::ENOTDIR) => {}
            Err(errno) => return Err(at(name)(errno)),
        }
        // Directories that became empty, but not those that git makes.
        let mut above = name;
        while let Some((dir, _)) = above.rsplit_once('/').filter(|(dir, _)| dir.matches('/').count() > 1) {
            if self.call.files.rmdir(&self.path(dir)).is_err() {
                break;
            }
            above = dir;
        }
        Ok(())
    }
}

/// A ref as people name it.
pub(super) fn short_name(name: &str) -> &str {
    ["refs/heads/", "refs/tags/", "refs/remotes/", "refs/"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}
