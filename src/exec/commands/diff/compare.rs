//! Pairs of files and of directories.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::Options;
use super::format::Report;
use super::lines::{self, Lines, MAX_LINES};
use crate::exec::commands::{Answer, Call, base_name, glob, quote, stat};
use crate::fs::{Errno, Kind};
use crate::ids::Ino;

/// A file with a NUL among its first bytes is not text.
const LOOKED_AT: usize = 4096;

struct Walk<'a, 'c> {
    call: &'a Call<'c>,
    options: &'a Options<'a>,
    answer: &'a mut Answer,
    /// The directories that are being compared, outermost first.
    above: Vec<[Option<Ino>; 2]>,
}

/// One side of a comparison.
struct Side {
    name: String,
    what: What,
    mtime_ns: i64,
}

#[derive(Clone)]
enum What {
    Missing,
    Dir(Ino),
    /// Without its content, that is read when needed.
    File {
        size: u64,
    },
    /// Content that is no file of the working copy.
    Held(Bytes),
    Link(String),
}

/// Compares the operands `a` and `b`.
pub(super) fn run(call: &Call<'_>, options: &Options<'_>, a: &str, b: &str, answer: &mut Answer) {
    let mut walk = Walk { call, options, answer, above: Vec::new() };
    let (mut old, mut new) = (walk.look(a), walk.look(b));
    let is_dir = |side: &Result<Side, Errno>| matches!(side, Ok(Side { what: What::Dir(_), .. }));
    if is_dir(&old) != is_dir(&new) && (a == "-" || b == "-") {
        walk.answer.complain(2, "diff: cannot compare '-' to a directory");
        return;
    }
    // A directory and a file: the file of that name in the directory is meant.
    let (mut a, mut b) = (a.to_owned(), b.to_owned());
    match (&old, &new) {
        (Ok(dir), Ok(file)) if is_dir(&old) && !matches!(file.what, What::Dir(_)) => {
            a = join(&dir.name, base_name(&b));
            old = walk.look(&a);
        }
        (Ok(file), Ok(dir)) if is_dir(&new) && !matches!(file.what, What::Dir(_)) => {
            b = join(&dir.name, base_name(&a));
            new = walk.look(&b);
        }
        _ => {}
    }
    let both_missing = old.is_err() && new.is_err();
    let mut sides = Vec::new();
    for (side, name) in [(old, &a), (new, &b)] {
        match side {
            Ok(side) => sides.push(side),
            Err(Errno::ENOENT) if options.new_file && !both_missing => sides.push(missing(name)),
            Err(errno) => walk.answer.complain(2, format!("diff: {name}: {errno}")),
        }
    }
    if let [old, new] = &sides[..] {
        walk.pair(old, new, false);
    }
}

fn missing(name: &str) -> Side {
    Side { name: name.to_owned(), what: What::Missing, mtime_ns: 0 }
}

fn join(dir: &str, name: &str) -> String {
    if dir.ends_with('/') { format!("{dir}{name}") } else { format!("{dir}/{name}") }
}

impl Walk<'_, '_> {
    fn look(&self, name: &str) -> Result<Side, Errno> {
        let (what, mtime_ns) = if name == "-" || name == "/dev/stdin" {
            (What::Held(Bytes::copy_from_slice(self.call.stdin)), self.call.now_ns)
        } else {
            let path = self.call.path(name);
            match self.call.files.stat(&path, !self.options.no_dereference) {
                Ok(stat) => {
                    let what = match stat.kind {
                        Kind::Dir => What::Dir(stat.ino),
                        Kind::File => What::File { size: stat.size },
                        Kind::Symlink => What::Link(self.call.files.read_link(&path)?.to_string()),
                    };
                    (what, stat.mtime_ns)
                }
                Err(errno) => match self.call.lent.get(name) {
                    Some(lent) => (What::Held(lent.data.clone()), lent.stat.mtime_ns),
                    None => return Err(errno),
                },
            }
        };
        Ok(Side { name: name.to_owned(), what, mtime_ns })
    }

    fn say(&mut self, text: &str) {
        self.answer.stdout.extend_from_slice(text.as_bytes());
        self.answer.stdout.push(b'\n');
    }

    fn differ(&mut self) {
        self.answer.exit = self.answer.exit.max(1);
    }

    fn trouble(&mut self, name: &str, errno: Errno) {
        self.answer.complain(2, format!("diff: {name}: {errno}"));
    }

    /// `within`: the pair was met in two directories, not given as operands.
    fn pair(&mut self, old: &Side, new: &Side, within: bool) {
        if self.call.is_over() {
            return;
        }
        match (&old.what, &new.what) {
            // A missing one is here only with -N.
            (What::Dir(_), What::Dir(_) | What::Missing) | (What::Missing, What::Dir(_)) => {
                if within && !self.options.recursive {
                    self.say(&format!("Common subdirectories: {} and {}", old.name, new.name));
                } else {
                    self.directories(old, new);
                }
            }
            (What::Link(a), What::Link(b)) => {
                if a != b {
                    let (old, new) = self.names(old, new);
                    self.say(&format!("Symbolic links {old} and {new} differ"));
                    self.differ();
                } else if self.options.report_same {
                    self.same(old, new);
                }
            }
            (What::Dir(_) | What::Link(_), _) | (_, What::Dir(_) | What::Link(_)) => {
                let types = (kind(&old.what), kind(&new.what));
                let (old, new) = self.names(old, new);
                self.say(&format!("File {old} is a {} while file {new} is a {}", types.0, types.1));
                self.differ();
            }
            (
                What::Missing | What::File { .. } | What::Held(_),
                What::Missing | What::File { .. } | What::Held(_),
            ) => self.contents(old, new, within),
        }
    }

    fn names(&self, old: &Side, new: &Side) -> (String, String) {
        (self.options.shown(0, &old.name).into_owned(), self.options.shown(1, &new.name).into_owned())
    }

    fn same(&mut self, old: &Side, new: &Side) {
        let (old, new) = self.names(old, new);
        self.say(&format!("Files {old} and {new} are identical"));
    }

    fn directories(&mut self, old: &Side, new: &Side) {
        let ino = |side: &Side| match side.what {
            What::Dir(ino) => Some(ino),
            What::Missing | What::File { .. } | What::Held(_) | What::Link(_) => None,
        };
        let here = [ino(old), ino(new)];
        let loops =
            |side: usize| here[side].is_none() || self.above.iter().any(|above| above[side] == here[side]);
        if loops(0) && loops(1) {
            let name = if here[0].is_some() { &old.name } else { &new.name };
            self.answer.complain(2, format!("diff: {name}: recursive directory loop"));
            return;
        }
        let mut names: BTreeMap<String, [bool; 2]> = BTreeMap::new();
        for (at, side) in [old, new].into_iter().enumerate() {
            if here[at].is_none() {
                continue;
            }
            match self.call.files.read_dir(&self.call.path(&side.name)) {
                Ok(listed) => {
                    for (name, _) in listed {
                        if !self.options.exclude.iter().any(|pattern| glob::matches(pattern, &name)) {
                            names.entry(name.as_ref().to_owned()).or_default()[at] = true;
                        }
                    }
                }
                Err(errno) => return self.trouble(&side.name, errno),
            }
        }
        self.above.push(here);
        let dirs = [old.name.as_str(), new.name.as_str()];
        for (name, there) in &names {
            if there != &[true, true] && !self.options.new_file {
                let dir = dirs[usize::from(!there[0])];
                self.say(&format!("Only in {dir}: {name}"));
                self.differ();
                continue;
            }
            let mut sides = Vec::new();
            for (dir, there) in dirs.into_iter().zip(there) {
                let path = join(dir, name);
                match if *there { self.look(&path) } else { Ok(missing(&path)) } {
                    Ok(side) => sides.push(side),
                    // A link that leads nowhere.
                    Err(errno) => self.trouble(&path, errno),
                }
            }
            if let [old, new] = &sides[..] {
                self.pair(old, new, true);
            }
            if self.call.is_over() {
                break;
            }
        }
        self.above.pop();
    }

    fn read(&mut self, side: &Side) -> Option<Bytes> {
        match &side.what {
            What::Held(data) => Some(data.clone()),
            What::File { .. } => match self.call.files.read(&self.call.path(&side.name)) {
                Ok(data) => Some(data),
                Err(errno) => {
                    self.trouble(&side.name, errno);
                    None
                }
            },
            What::Missing | What::Dir(_) | What::Link(_) => Some(Bytes::new()),
        }
    }

    fn contents(&mut self, old: &Side, new: &Side, header: bool) {
        let options = self.options;
        // Reading may fetch from afar: two files of other sizes need not be read for -q.
        if options.brief
            && options.is_exact()
            && let (What::File { size: a }, What::File { size: b }) = (&old.what, &new.what)
            && a != b
        {
            return self.brief(old, new);
        }
        let (Some(a), Some(b)) = (self.read(old), self.read(new)) else { return };
        if a == b {
            if options.report_same {
                self.same(old, new);
            }
            return;
        }
        let binary = |data: &[u8]| data[..data.len().min(LOOKED_AT)].contains(&0);
        if options.brief && options.is_exact() {
            return self.brief(old, new);
        }
        if !options.text && (binary(&a) || binary(&b)) {
            if options.brief {
                return self.brief(old, new);
            }
            let (old, new) = self.names(old, new);
            self.say(&format!("Binary files {old} and {new} differ"));
            return self.differ();
        }
        let (a, b) = if options.strip_cr { (without_cr(&a), without_cr(&b)) } else { (a, b) };
        // The limit is met before anything is kept for each line.
        let lines = [&a, &b].into_iter().flat_map(|data| data.split(|&byte| byte == b'\n'));
        if lines.take(MAX_LINES + 1).count() > MAX_LINES {
            let (old, new) = (&old.name, &new.name);
            let message =
                format!("diff: {old}, {new}: more than {MAX_LINES} lines in both: memory exhausted");
            return self.answer.complain(2, message);
        }
        let (a, b) = (Lines::of(&a), Lines::of(&b));
        let changes = lines::changes(&a, &b, options);
        if changes.iter().all(|change| change.ignored) {
            if options.report_same {
                self.same(old, new);
            }
            return;
        }
        if options.brief {
            return self.brief(old, new);
        }
        self.differ();
        if header {
            let (old, new) = self.names(old, new);
            self.say(&format!("diff{} {} {}", options.words, quote::c_string(&old), quote::c_string(&new)));
        }
        let headers = [(0, old), (1, new)].map(|(at, side)| match options.labels.get(at) {
            Some(&label) => label.to_owned(),
            None => format!("{}\t{}", quote::c_string(&side.name), stat::time(side.mtime_ns)),
        });
        let report =
            Report { old: &a, new: &b, changes: &changes, context: options.context, headers, parts: false };
        report.write(options.style, &mut self.answer.stdout);
    }

    fn brief(&mut self, old: &Side, new: &Side) {
        let (old, new) = self.names(old, new);
        self.say(&format!("Files {old} and {new} differ"));
        self.differ();
    }
}

fn kind(what: &What) -> &'static str {
    match what {
        What::Dir(_) => "directory",
        What::Link(_) => "symbolic link",
        What::File { size: 0 } | What::Missing => "regular empty file",
        What::File { .. } => "regular file",
        What::Held(_) => "fifo",
    }
}

fn without_cr(data: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(data.len());
    let mut rest = data;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"\r\n") {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\n');
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest);
    out.into()
}
