//! The four kinds of objects, as bytes and as what they mean.

use super::failed::{Done, fatal};
use super::ident::Ident;
use super::oid::Oid;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl Kind {
    /// As headers name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    /// The kind of this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Commit, Self::Tree, Self::Blob, Self::Tag].into_iter().find(|kind| kind.name() == name)
    }
}

/// Modes of entries, as trees and the index write them.
pub(super) const FILE: u32 = 0o100_644;
/// A file that may be run.
pub(super) const PROGRAM: u32 = 0o100_755;
/// A symbolic link.
pub(super) const LINK: u32 = 0o120_000;
/// A commit of another repository.
pub(super) const MODULE: u32 = 0o160_000;
/// A tree.
pub(super) const DIR: u32 = 0o040_000;

/// One name in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: u32,
    pub(super) name: String,
    pub(super) oid: Oid,
}

/// Reads a tree. Names that are no names of a file, or none that this file system takes,
/// are refused.
pub(super) fn parse_tree(data: &[u8]) -> Done<Vec<Entry>> {
    let bad = || fatal("corrupt tree object");
    let mut entries = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let space = rest.iter().position(|&byte| byte == b' ').filter(|&at| at <= 7).ok_or_else(bad)?;
        let mode =
            std::str::from_utf8(&rest[..space]).ok().and_then(|text| u32::from_str_radix(text, 8).ok());
        let end = rest.iter().position(|&byte| byte == 0).filter(|&at| at > space).ok_or_else(bad)?;
        let name = std::str::from_utf8(&rest[space + 1..end])
            .map_err(|_| fatal("a tree has a name that is not UTF-8; such names are not supported here"))?;
        let oid = rest.get(end + 1..end + 21).and_then(Oid::from_bytes).ok_or_else(bad)?;
        check_name(name)?;
        // Old writers left the group's bit in.
        let mode = match mode.ok_or_else(bad)? {
            mode if mode & 0o170_000 == 0o100_000 => {
                if mode & 0o100 == 0 {
                    FILE
                } else {
                    PROGRAM
                }
            }
            mode @ (LINK | MODULE | DIR) => mode,
            _ => return Err(bad()),
        };
        entries.push(Entry { mode, name: name.to_owned(), oid });
        rest = &rest[end + 21..];
    }
    Ok(entries)
}

/// Refuses what would lead out of a directory, or into the repository itself.
pub(super) fn check_name(name: &str) -> Done {
    let bad = name.is_empty()
        || name == "."
        || name == ".."
        || name.eq_ignore_ascii_case(".git")
        || name.eq_ignore_ascii_case("git~1")
        || name.contains(['/', '\0']);
    if bad { Err(fatal(format!("invalid path '{}' in a tree", name.escape_debug()))) } else { Ok(()) }
}

/// Writes a tree; its entries are put in order.
pub(super) fn write_tree(entries: &mut [Entry]) -> Vec<u8> {
    let key = |entry: &Entry| {
        let mut key = entry.name.clone().into_bytes();
        if entry.mode == DIR {
            key.push(b'/');
        }
        key
    };
    entries.sort_by_cached_key(key);
    let mut out = Vec::new();
    for entry in entries {
        out.extend_from_slice(format!("{:o} {}\0", entry.mode, entry.name).as_bytes());
        out.extend_from_slice(&entry.oid.0);
    }
    out
}

/// A commit.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) tree: Oid,
    pub(super) parents: Vec<Oid>,
    pub(super) author: Ident,
    pub(super) committer: Ident,
    pub(super) message: String,
}

/// The headers of a commit or a tag, and its message. Lines that go on are left out.
fn headers(data: &[u8]) -> (Vec<(String, String)>, String) {
    let text = String::from_utf8_lossy(data);
    let (head, message) = match text.find("\n\n") {
        Some(at) => (&text[..at], &text[at + 2..]),
        None => (text.trim_end_matches('\n'), ""),
    };
    let lines = head.lines().filter(|line| !line.starts_with(' '));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    (pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(), message.to_owned())
}

impl Commit {
    /// Reads one.
    pub(super) fn parse(data: &[u8]) -> Done<Self> {
        let (headers, message) = headers(data);
        let find = |name: &str| headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
        let bad = || fatal("corrupt commit object");
        let parents: Option<Vec<Oid>> =
            headers.iter().filter(|(name, _)| name == "parent").map(|(_, value)| Oid::parse(value)).collect();
        Ok(Self {
            tree: find("tree").and_then(Oid::parse).ok_or_else(bad)?,
            parents: parents.ok_or_else(bad)?,
            author: Ident::parse(find("author").ok_or_else(bad)?),
            committer: Ident::parse(find("committer").ok_or_else(bad)?),
            message,
        })
    }

    /// Its bytes.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = format!("tree {}\n", self.tree);
        for parent in &self.parents {
            out += &format!("parent {parent}\n");
        }
        out += &format!("author {}\ncommitter {}\n\n{}", self.author, self.committer, self.message);
        out.into_bytes()
    }

    /// The first paragraph, as one line.
    pub(super) fn subject(&self) -> String {
        let text = self.message.trim_start_matches('\n');
        let lines = text.lines().take_while(|line| !line.trim().is_empty());
        lines.map(str::trim_end).collect::<Vec<_>>().join(" ")
    }

    /// What follows the first paragraph.
    pub(super) fn body(&self) -> &str {
        let mut rest = self.message.trim_start_matches('\n');
        while let Some(line) = rest.split_inclusive('\n').next() {
            if line.trim().is_empty() {
                break;
            }
            rest = &rest[line.len()..];
        }
        rest.trim_start_matches('\n')
    }
}

/// A tag with a message.
#[derive(Clone, Debug)]
pub(super) struct Tag {
    pub(super) object: Oid,
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) tagger: Option<Ident>,
    pub(super) message: String,
}

impl Tag {
    /// Reads one.
    pub(super) fn parse(data: &[u8]) -> Done<Self> {
        let (headers, message) = headers(data);
        let find = |name: &str| headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
        let bad = || fatal("corrupt tag object");
        Ok(Self {
            object: find("object").and_then(Oid::parse).ok_or_else(bad)?,
            kind: find("type").and_then(Kind::parse).ok_or_else(bad)?,
            name: find("tag").ok_or_else(bad)?.to_owned(),
            tagger: find("tagger").map(Ident::parse),
            message,
        })
    }

    /// Its bytes.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = format!("object {}\ntype {}\ntag {}\n", self.object, self.kind.name(), self.name);
        if let Some(tagger) = &self.tagger {
            out += &format!("tagger {tagger}\n");
        }
        (out + "\n" + &self.message).into_bytes()
    }
}
