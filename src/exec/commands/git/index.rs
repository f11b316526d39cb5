//! The index: what the next commit holds, and what files looked like when they were added.

use std::collections::BTreeMap;

use super::failed::{Done, fatal};
use super::object::{DIR, FILE, Kind, LINK, MODULE, PROGRAM, check_name};
use super::oid::{Oid, sha1};
use super::repo::Repo;
use super::trees::Flat;
use crate::fs::Stat;
use crate::fs::path::PATH_MAX;

/// What stat told of a file. If it tells the same again, the file is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    seconds: u32,
    nanoseconds: u32,
    ino: u32,
    size: u32,
}

impl Seen {
    /// From a file as it is.
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            seconds: stat.mtime_ns.div_euclid(1_000_000_000) as u32,
            nanoseconds: stat.mtime_ns.rem_euclid(1_000_000_000) as u32,
            ino: stat.ino as u32,
            size: stat.size as u32,
        }
    }

    fn time(self) -> (u32, u32) {
        (self.seconds, self.nanoseconds)
    }
}

/// A file in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Staged {
    pub(super) mode: u32,
    pub(super) oid: Oid,
    pub(super) seen: Seen,
    /// To be added later (`git add -N`): no content yet.
    pub(super) intent: bool,
}

/// The index.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// By path, then by side of a conflict; 0 is no conflict.
    pub(super) entries: BTreeMap<(String, u8), Staged>,
    /// When it was written; files that changed since may look the same.
    written: (u32, u32),
}

/// Refuses paths that lead out of the work tree or into `.git`.
pub(super) fn check_path(path: &str) -> Done {
    if path.len() >= PATH_MAX {
        return Err(fatal("a path that is too long"));
    }
    path.split('/').try_for_each(check_name)
}

impl Index {
    /// The index of a repository; of a new one it is empty.
    pub(super) fn read(repo: &Repo<'_>) -> Done<Self> {
        let path = repo.path("index");
        let Some(data) = repo.file(&path)? else { return Ok(Self::default()) };
        let mut index = Self::parse(&data)?;
        if let Ok(stat) = repo.call.files.stat(&path, true) {
            index.written = Seen::of(&stat).time();
        }
        Ok(index)
    }

    fn parse(data: &[u8]) -> Done<Self> {
        let bad = |what: &str| fatal(format!("index file corrupt: {what}"));
        if data.len() < 32 || !data.starts_with(b"DIRC") {
            return Err(bad("it does not begin as one"));
        }
        let (body, sum) = data.split_at(data.len() - 20);
        // git leaves it out when told so (index.skipHash).
        if sum != [0; 20] && sha1(body) != sum {
            return Err(bad("its checksum is another"));
        }
        let word = |at: usize| {
            body.get(at..at + 4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
        };
        let (version, count) = (word(4).unwrap_or(0), word(8).unwrap_or(0));
        if !(2..=4).contains(&version) {
            return Err(bad("an unknown version"));
        }
        let (mut index, mut at, mut before) = (Self::default(), 12, String::new());
        for _ in 0..count {
            let start = at;
            let field = |number: usize| word(start + number * 4).ok_or_else(|| bad("it ends early"));
            let seen = Seen { seconds: field(2)?, nanoseconds: field(3)?, ino: field(5)?, size: field(9)? };
            let mode = field(6)?;
            let oid = body
                .get(start + 40..start + 60)
                .and_then(Oid::from_bytes)
                .ok_or_else(|| bad("it ends early"))?;
            let flags = body.get(start + 60..start + 62).ok_or_else(|| bad("it ends early"))?;
            let stage = flags[0] >> 4 & 3;
            at += 62;
            let mut intent = false;
            if flags[0] & 0x40 != 0 {
                let more = body.get(at).copied().ok_or_else(|| bad("it ends early"))?;
                intent = more & 0x20 != 0;
                at += 2;
            }
            let mut path = String::new();
            if version == 4 {
                let cut = strip_length(body, &mut at).filter(|&cut| cut <= before.len());
                let kept = cut.map(|cut| before.len() - cut).filter(|&kept| before.is_char_boundary(kept));
                path.push_str(&before[..kept.ok_or_else(|| bad("a path"))?]);
            }
            let rest = body.get(at..).unwrap_or_default();
            let end = rest.iter().position(|&byte| byte == 0).ok_or_else(|| bad("it ends early"))?;
            let name = std::str::from_utf8(&rest[..end]).map_err(|_| {
                fatal("the index has a path that is not UTF-8; such paths are not supported here")
            })?;
            path.push_str(name);
            at += end;
            // Entries end with one to eight zeros, up to a multiple of eight.
            at += if version == 4 { 1 } else { 8 - (at - start) % 8 };
            check_path(&path)?;
            if !matches!(mode, FILE | PROGRAM | LINK | MODULE | DIR) {
                return Err(bad("a mode"));
            }
            if mode == DIR {
                return Err(fatal("a sparse index is not supported here"));
            }
            before.clone_from(&path);
            index.entries.insert((path, stage), Staged { mode, oid, seen, intent });
        }
        while at + 8 <= body.len() {
            // Small letters: it cannot be understood without.
            if !body[at].is_ascii_uppercase() {
                return Err(bad("an extension that is not supported here"));
            }
            at = at.saturating_add(8).saturating_add(word(at + 4).unwrap_or(0) as usize);
        }
        Ok(index)
    }

    /// Stores it.
    pub(super) fn write(&self, repo: &Repo<'_>) -> Done {
        let extended = self.entries.values().any(|entry| entry.intent);
        let mut out = b"DIRC\0\0\0".to_vec();
        out.push(if extended { 3 } else { 2 });
        out.extend_from_slice(&(self.entries.len() as u32).to_be_bytes());
        for ((path, stage), entry) in &self.entries {
            let start = out.len();
            let seen = entry.seen;
            let fields = [
                seen.seconds,
                seen.nanoseconds,
                seen.seconds,
                seen.nanoseconds,
                0,
                seen.ino,
                entry.mode,
                0,
                0,
                seen.size,
            ];
            fields.iter().for_each(|field| out.extend_from_slice(&field.to_be_bytes()));
            out.extend_from_slice(&entry.oid.0);
            let flags =
                u16::from(*stage) << 12 | path.len().min(0xfff) as u16 | u16::from(entry.intent) << 14;
            out.extend_from_slice(&flags.to_be_bytes());
            if entry.intent {
                out.extend_from_slice(&0x2000u16.to_be_bytes());
            }
            out.extend_from_slice(path.as_bytes());
            let zeros = 8 - (out.len() - start) % 8;
            out.extend(std::iter::repeat_n(0, zeros));
        }
        let sum = sha1(&out);
        out.extend_from_slice(&sum);
        repo.put(&repo.path("index"), &out)
    }

    /// A file that is in no conflict.
    pub(super) fn get(&self, path: &str) -> Option<&Staged> {
        self.entries.get(&(path.to_owned(), 0))
    }

    /// Whether a file or a conflict about it is there.
    pub(super) fn has(&self, path: &str) -> bool {
        self.entries.range((path.to_owned(), 0)..=(path.to_owned(), 3)).next().is_some()
    }

    /// Whether anything is below a directory.
    pub(super) fn has_below(&self, dir: &str) -> bool {
        let prefix = format!("{dir}/");
        let next = self.entries.range((prefix.clone(), 0)..).next();
        next.is_some_and(|((path, _), _)| path.starts_with(&prefix))
    }

    /// Puts a file in; what stood in its place, as a file or as a directory, goes.
    pub(super) fn put(&mut self, path: &str, entry: Staged) {
        self.remove(path);
        for (at, _) in path.match_indices('/') {
            self.remove(&path[..at]);
        }
        let prefix = format!("{path}/");
        let below: Vec<(String, u8)> = self
            .entries
            .range((prefix.clone(), 0)..)
            .take_while(|((own, _), _)| own.starts_with(&prefix))
            .map(|(key, _)| key.clone())
            .collect();
        for key in below {
            self.entries.remove(&key);
        }
        self.entries.insert((path.to_owned(), 0), entry);
    }

    /// Takes a file out, and conflicts about it.
    pub(super) fn remove(&mut self, path: &str) -> bool {
        let mut any = false;
        for stage in 0..4 {
            any |= self.entries.remove(&(path.to_owned(), stage)).is_some();
        }
        any
    }

    /// All paths, each once.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.entries.keys().map(|(path, _)| path.clone()).collect();
        paths.dedup();
        paths
    }

    /// Paths in conflict.
    pub(super) fn unmerged(&self) -> Vec<String> {
        let mut paths: Vec<String> =
            self.entries.keys().filter(|(_, stage)| *stage > 0).map(|(path, _)| path.clone()).collect();
        paths.dedup();
        paths
    }

    /// As a tree would hold it.
    pub(super) fn flat(&self) -> Flat {
        let whole = self.entries.iter().filter(|((_, stage), entry)| *stage == 0 && !entry.intent);
        whole.map(|((path, _), entry)| (path.clone(), (entry.mode, entry.oid))).collect()
    }

    /// Whether a file is surely as it was when it was added.
    pub(super) fn is_same(&self, entry: &Staged, stat: &Stat) -> bool {
        let seen = Seen::of(stat);
        // Of what was written in the moment of the index nothing is known.
        seen == entry.seen && seen.time() < self.written
    }

    /// Writes its trees, and gives the root's.
    pub(super) fn write_tree(&self, repo: &Repo<'_>) -> Done<Oid> {
        if let Some(path) = self.unmerged().first() {
            return Err(fatal(format!("{path}: unmerged")));
        }
        let flat = self.flat();
        let all: Vec<(&str, u32, Oid)> =
            flat.iter().map(|(path, &(mode, oid))| (path.as_str(), mode, oid)).collect();
        write_trees(repo, &all)
    }
}

/// How much of the path before is cut off, as version 4 writes it.
fn strip_length(body: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0usize;
    loop {
        let byte = *body.get(*at)?;
        *at += 1;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

/// Writes the trees of files that are sorted by path.
fn write_trees(repo: &Repo<'_>, files: &[(&str, u32, Oid)]) -> Done<Oid> {
    let mut entries = Vec::new();
    let mut rest = files;
    while let Some(&(path, mode, oid)) = rest.first() {
        let Some((dir, _)) = path.split_once('/') else {
            entries.push(super::object::Entry { mode, name: path.to_owned(), oid });
            rest = &rest[1..];
            continue;
        };
        let inside = |path: &str| path.strip_prefix(dir).is_some_and(|tail| tail.starts_with('/'));
        let count = rest.iter().take_while(|(path, ..)| inside(path)).count();
        let below: Vec<(&str, u32, Oid)> =
            rest[..count].iter().map(|&(path, mode, oid)| (&path[dir.len() + 1..], mode, oid)).collect();
        let oid = write_trees(repo, &below)?;
        entries.push(super::object::Entry { mode: DIR, name: dir.to_owned(), oid });
        rest = &rest[count..];
    }
    repo.write(Kind::Tree, &super::object::write_tree(&mut entries))
}
