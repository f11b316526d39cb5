//! Commands of our own, where the interpreter's differ from GNU's or lack what agents
//! use. They work on the working copy directly and know nothing of the interpreter;
//! `exec/bash/commands.rs` makes builtins of them. One is dropped again when the
//! interpreter's own does the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::fs::{Errno, Kind, Name, Stat, WorkingCopy};

mod cat;
mod chmod;
mod cmp;
mod column;
mod comm;
mod counts;
mod csplit;
pub(crate) mod curl;
mod cut;
pub(crate) mod date;
mod diff;
mod directories;
mod du;
pub(crate) mod fetch;
pub(crate) mod filter;
pub(crate) mod find;
mod fmt;
pub(crate) mod git;
mod glob;
mod grep;
mod gzip;
mod head;
mod human;
mod iconv;
mod input;
mod join;
mod ln;
mod look;
mod ls;
pub(crate) mod mode;
mod more;
pub(crate) mod node;
mod options;
mod paste;
mod patch;
mod posix_regex;
mod quote;
mod refusal;
mod rev;
mod rm;
mod sed;
mod seq;
mod sort;
mod split;
mod sqlite3;
mod stat;
mod tac;
mod tail;
mod tar;
mod transfer;
mod uniq;
mod unzip;
mod versions;
mod walk;
mod wc;
pub(crate) mod wget;
pub(crate) mod xargs;
mod xz;
pub(crate) mod yes;
mod zip;

/// One call of a command.
pub(crate) struct Call<'a> {
    /// The sandbox's files.
    pub(crate) files: &'a Arc<WorkingCopy>,
    /// Operands that name something outside the working copy, as `/dev/fd/63` of a
    /// process substitution: operand as written → what is there.
    pub(crate) lent: &'a BTreeMap<String, Lent>,
    /// Arguments without the command's name.
    pub(crate) args: &'a [String],
    /// Absolute.
    pub(crate) cwd: &'a str,
    /// All of standard input.
    pub(crate) stdin: &'a [u8],
    /// Wall time, nanoseconds since the epoch.
    pub(crate) now_ns: i64,
}

/// A file that the interpreter invents.
pub(crate) struct Lent {
    /// What stat tells of it.
    pub(crate) stat: Stat,
    /// Its bytes.
    pub(crate) data: Bytes,
    /// What is in it, if it is a directory.
    pub(crate) entries: Vec<(Name, Stat)>,
}

/// What a command did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Standard output.
    pub(crate) stdout: Vec<u8>,
    /// Standard error.
    pub(crate) stderr: Vec<u8>,
    /// Exit status.
    pub(crate) exit: u8,
}

/// A command.
pub(crate) type Command = fn(&Call<'_>) -> Answer;

/// All of them by name, but for those that reach the network. Only those of [`reads_lent`]
/// look at [`Call::lent`].
pub(crate) const ALL: &[(&str, Command)] = &[
    ("chmod", chmod::run),
    ("cmp", cmp::run),
    ("column", column::run),
    ("comm", comm::run),
    ("cp", transfer::cp),
    ("csplit", csplit::run),
    ("cut", cut::run),
    ("diff", diff::run),
    ("du", du::run),
    ("fmt", fmt::run),
    ("gunzip", gzip::gunzip),
    ("gzip", gzip::gzip),
    ("iconv", iconv::run),
    ("join", join::run),
    ("ln", ln::run),
    ("look", look::run),
    ("ls", ls::run),
    ("mkdir", directories::mkdir),
    ("more", more::run),
    ("mv", transfer::mv),
    ("paste", paste::run),
    ("patch", patch::run),
    ("rev", rev::run),
    ("rm", rm::run),
    ("rmdir", directories::rmdir),
    ("sed", sed::run),
    ("seq", seq::run),
    ("sort", sort::run),
    ("split", split::run),
    ("sqlite3", sqlite3::run),
    ("stat", stat::run),
    ("tac", tac::run),
    ("tail", tail::run),
    ("tar", tar::run),
    ("uniq", uniq::run),
    ("unxz", xz::unxz),
    ("unzip", unzip::run),
    ("wc", wc::run),
    ("xz", xz::xz),
    ("xzcat", xz::xzcat),
    ("zcat", gzip::zcat),
    ("zip", zip::run),
];

/// Those that work while standard input comes. All of them look at [`Call::lent`].
pub(crate) const FILTERS: &[(&str, filter::Begin)] = &[
    ("cat", cat::begin),
    ("egrep", grep::egrep),
    ("fgrep", grep::fgrep),
    ("grep", grep::grep),
    ("head", head::begin),
];

/// Whether a command of [`ALL`] reads files that are outside the working copy.
pub(crate) fn reads_lent(name: &str) -> bool {
    matches!(
        name,
        "cmp"
            | "column"
            | "comm"
            | "cp"
            | "csplit"
            | "cut"
            | "diff"
            | "du"
            | "fmt"
            | "gunzip"
            | "gzip"
            | "iconv"
            | "join"
            | "look"
            | "ls"
            | "more"
            | "paste"
            | "patch"
            | "rev"
            | "sed"
            | "sort"
            | "split"
            | "stat"
            | "tac"
            | "tail"
            | "tar"
            | "uniq"
            | "unxz"
            | "wc"
            | "xz"
            | "xzcat"
            | "zcat"
    )
}

impl Call<'_> {
    /// An operand as an absolute path.
    fn path(&self, operand: &str) -> String {
        absolute(self.cwd, operand)
    }

    /// What an operand names, `-` being standard input.
    fn read(&self, operand: &str) -> Result<Bytes, Errno> {
        match (operand, self.lent.get(operand)) {
            ("-", _) => Ok(self.stdin.to_vec().into()),
            (_, Some(lent)) if lent.stat.kind == Kind::Dir => Err(Errno::EISDIR),
            (_, Some(lent)) => Ok(lent.data.clone()),
            (_, None) => self.files.read(&self.path(operand)),
        }
    }

    /// Writes what a file was packed or unpacked to, with its mode and time. The file goes,
    /// unless it is to be kept.
    fn replace(&self, path: &str, stat: &Stat, target: &str, data: &[u8], keep: bool) -> Result<(), Errno> {
        self.files.write(new_name(target)?, data)?;
        self.files.chmod(target, stat.mode)?;
        self.files.set_mtime(target, stat.mtime_ns, true)?;
        if keep { Ok(()) } else { self.files.unlink(path) }
    }

    /// Whether the exec is being ended: long work stops then, what it prints is lost.
    pub(crate) fn is_over(&self) -> bool {
        self.files.fatal().is_some()
    }
}

/// An operand as messages name it.
pub(crate) fn quoted(operand: &str) -> String {
    quote::when_needed(operand)
}

/// `operand` as an absolute path. An empty one stays empty, and so no file's name.
pub(crate) fn absolute(cwd: &str, operand: &str) -> String {
    if operand.is_empty() || operand.starts_with('/') {
        operand.to_owned()
    } else {
        format!("{}/{operand}", cwd.trim_end_matches('/'))
    }
}

/// `name` in `dir`, as it is written.
pub(crate) fn join(dir: &str, name: &str) -> String {
    if dir.ends_with('/') { format!("{dir}{name}") } else { format!("{dir}/{name}") }
}

/// The interpreter's strings are UTF-8: bytes that are not have become replacement
/// characters, and a name made of them would be another than the one that was meant.
fn new_name(name: &str) -> Result<&str, Errno> {
    if name.contains(char::REPLACEMENT_CHARACTER) { Err(Errno::EILSEQ) } else { Ok(name) }
}

/// The last component of a path, slashes at its end left out; `/` of the root.
fn base_name(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit('/').next() {
        Some("") | None if !path.is_empty() => "/",
        Some(name) => name,
        None => "",
    }
}

impl Answer {
    /// One line on stderr, and the status that goes with it.
    fn complain(&mut self, exit: u8, line: impl AsRef<str>) {
        self.stderr.extend_from_slice(line.as_ref().as_bytes());
        self.stderr.push(b'\n');
        self.exit = self.exit.max(exit);
    }

    /// Wrong usage of `name`: what is wrong, and where it is told how it is right.
    fn misused(&mut self, exit: u8, name: &str, message: &str) {
        self.complain(exit, format!("{name}: {message}"));
        self.complain(exit, format!("Try '{name} --help' for more information."));
    }
}

/// Asks a question on stderr; the answer is the next line of standard input.
fn agreed(command: &str, question: &str, stdin: &mut &[u8], answer: &mut Answer) -> bool {
    answer.stderr.extend_from_slice(format!("{command}: {question} ").as_bytes());
    let end = stdin.iter().position(|&byte| byte == b'\n').map_or(stdin.len(), |at| at + 1);
    let (line, rest) = stdin.split_at(end);
    *stdin = rest;
    matches!(line.first(), Some(b'y' | b'Y'))
}
