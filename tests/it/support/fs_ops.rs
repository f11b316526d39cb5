//! Random file-system operations: a strategy that makes them ([`ops`]), a runner for a
//! working copy ([`run`]), and what two file systems must agree on ([`Outcome`],
//! [`Snapshot`]). Names come from a small alphabet so that operations collide.
//!
//! To check anything that commits and loads trees: start from [`root_only`], run some
//! operations on a [`WorkingCopy`] over the loaded tree, compare [`Snapshot`]s.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sqlfs::fs::change_set::InodeRow;
use sqlfs::fs::node::ROOT;
use sqlfs::fs::{
    ChangeSet, ContentSource, ContentUnavailable, Errno, Kind, Mode, NodeBody, Quota, Stat, Tree, WorkingCopy,
};
use sqlfs::ids::Sha256;

/// One call with its arguments.
#[derive(Clone, Debug)]
pub enum FsOp {
    Write(String, Vec<u8>),
    WriteNew(String, Vec<u8>, u32),
    WriteAt(String, u64, Vec<u8>),
    Append(String, Vec<u8>),
    Truncate(String, u64),
    Mkdir(String),
    MkdirAll(String),
    Unlink(String),
    Rmdir(String),
    RemoveAll(String),
    Rename(String, String),
    Link(String, String),
    Symlink { target: String, link: String },
    Chmod(String, u32),
    SetMtime { path: String, mtime_ns: i64, follow: bool },
    Read(String),
    ReadAt(String, u64, u64),
    ReadLink(String),
    ReadDir(String),
    Stat { path: String, follow: bool },
    Canonical(String),
}

/// What a call answers when it succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Data(Vec<u8>),
    Text(String),
    Names(Vec<String>),
    Stat(Meta),
}

/// What a call comes to.
pub type Outcome = Result<Answer, Errno>;

/// The part of stat(2) that does not depend on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    pub kind: Kind,
    pub mode: u32,
    /// `None` for directories: their size is the file system's own business.
    pub size: Option<u64>,
    /// `None` for directories on file systems that do not count subdirectories.
    pub nlink: Option<u32>,
    pub mtime: Mtime,
}

/// A time as far as two clocks can agree on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mtime {
    /// Set by [`FsOp::SetMtime`]: nanoseconds.
    Set(i64),
    /// The clock's, when something was changed.
    Clock,
}

impl Mtime {
    /// Operations set times of 1970, clocks do not show them.
    pub fn of(mtime_ns: i64) -> Self {
        if mtime_ns < 1_000_000_000_000_000_000 { Self::Set(mtime_ns) } else { Self::Clock }
    }
}

/// Everything in a tree by path.
pub type Snapshot = BTreeMap<String, Entry>;

/// One path of a [`Snapshot`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub meta: Meta,
    /// Content of a file, target of a link.
    pub data: Vec<u8>,
    /// The first path of the same inode: hard links.
    pub same_as: String,
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![20 => select(&["a", "b", "c"][..]), 1 => Just("."), 1 => Just("..")]
}

fn joined(names: &[&str], absolute: bool, slash: bool, double: bool) -> String {
    let separator = if double { "//" } else { "/" };
    format!("{}{}{}", if absolute { "/" } else { "" }, names.join(separator), if slash { "/" } else { "" })
}

/// An absolute path of one to four components, mostly short ones.
pub fn path() -> impl Strategy<Value = String> {
    let names = prop_oneof![4 => vec(name(), 1..2), 5 => vec(name(), 2..3), 2 => vec(name(), 3..5)];
    (names, prop::bool::weighted(0.07), prop::bool::weighted(0.05))
        .prop_map(|(names, slash, double)| joined(&names, true, slash, double))
}

fn target() -> impl Strategy<Value = String> {
    (vec(name(), 1..4), any::<bool>(), prop::bool::weighted(0.1))
        .prop_map(|(names, absolute, slash)| joined(&names, absolute, slash, false))
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![1 => Just(Vec::new()), 4 => vec(any::<u8>(), 1..40), 1 => Just(b"same bytes".to_vec())]
}

/// Bits that leave the owner in and that no kernel takes away again from a plain user:
/// setuid and setgid are cleared by writes of anybody but root, so they have unit tests
/// instead.
fn mode() -> impl Strategy<Value = u32> {
    select(&[0o700, 0o711, 0o755, 0o750, 0o777, 0o1777, 0o1755][..])
}

/// One operation.
pub fn op() -> impl Strategy<Value = FsOp> {
    let set_mtime = (path(), 0_i64..4_000_000_001, any::<bool>())
        .prop_map(|(path, mtime_ns, follow)| FsOp::SetMtime { path, mtime_ns, follow });
    let write_new = (path(), data(), select(&[0o600, 0o644, 0o700, 0o755][..]))
        .prop_map(|(path, data, mode)| FsOp::WriteNew(path, data, mode));
    let change_content = prop_oneof![
        6 => (path(), data()).prop_map(|(p, d)| FsOp::Write(p, d)),
        1 => write_new,
        1 => (path(), 0_u64..60, data()).prop_map(|(p, o, d)| FsOp::WriteAt(p, o, d)),
        3 => (path(), data()).prop_map(|(p, d)| FsOp::Append(p, d)),
        1 => (path(), 0_u64..60).prop_map(|(p, n)| FsOp::Truncate(p, n)),
    ];
    let change_names = prop_oneof![
        3 => path().prop_map(FsOp::Mkdir),
        1 => path().prop_map(FsOp::MkdirAll),
        2 => path().prop_map(FsOp::Unlink),
        1 => path().prop_map(FsOp::Rmdir),
        1 => path().prop_map(FsOp::RemoveAll),
        6 => (path(), path()).prop_map(|(from, to)| FsOp::Rename(from, to)),
        3 => (path(), path()).prop_map(|(from, to)| FsOp::Link(from, to)),
        3 => (target(), path()).prop_map(|(target, link)| FsOp::Symlink { target, link }),
    ];
    let change_meta = prop_oneof![
        1 => (path(), mode()).prop_map(|(p, m)| FsOp::Chmod(p, m)),
        1 => set_mtime,
    ];
    let look = prop_oneof![
        1 => path().prop_map(FsOp::Read),
        1 => (path(), 0_u64..50, 0_u64..50).prop_map(|(p, o, n)| FsOp::ReadAt(p, o, n)),
        1 => path().prop_map(FsOp::ReadLink),
        1 => path().prop_map(FsOp::ReadDir),
        1 => (path(), any::<bool>()).prop_map(|(path, follow)| FsOp::Stat { path, follow }),
        1 => path().prop_map(FsOp::Canonical),
    ];
    prop_oneof![4 => change_content, 6 => change_names, 2 => change_meta, 2 => look]
}

/// A sequence of operations, cut into parts: what one exec does each. The first part
/// makes something for the others to meet.
pub fn execs() -> impl Strategy<Value = Vec<Vec<FsOp>>> {
    let make = prop_oneof![
        3 => path().prop_map(FsOp::MkdirAll),
        5 => (path(), data()).prop_map(|(p, d)| FsOp::Write(p, d)),
        1 => (target(), path()).prop_map(|(target, link)| FsOp::Symlink { target, link }),
    ];
    (vec(make, 0..16), vec(vec(op(), 0..25), 1..5)).prop_map(|(first, rest)| [vec![first], rest].concat())
}

/// Does `op` on a working copy.
pub fn run(op: &FsOp, fs: &WorkingCopy) -> Outcome {
    let done = |()| Answer::Done;
    match op {
        FsOp::Write(path, data) => fs.write(path, data).map(done),
        FsOp::WriteNew(path, data, mode) => fs.write_new(path, data, *mode).map(done),
        FsOp::WriteAt(path, offset, data) => fs.write_at(path, *offset, data).map(done),
        FsOp::Append(path, data) => fs.append(path, data).map(done),
        FsOp::Truncate(path, len) => fs.truncate(path, *len).map(done),
        FsOp::Mkdir(path) => fs.mkdir(path).map(done),
        FsOp::MkdirAll(path) => fs.mkdir_all(path).map(done),
        FsOp::Unlink(path) => fs.unlink(path).map(done),
        FsOp::Rmdir(path) => fs.rmdir(path).map(done),
        FsOp::RemoveAll(path) => fs.remove_all(path).map(done),
        FsOp::Rename(from, to) => fs.rename(from, to).map(done),
        FsOp::Link(from, to) => fs.link(from, to).map(done),
        FsOp::Symlink { target, link } => fs.symlink(target, link).map(done),
        FsOp::Chmod(path, mode) => fs.chmod(path, *mode).map(done),
        FsOp::SetMtime { path, mtime_ns, follow } => fs.set_mtime(path, *mtime_ns, *follow).map(done),
        FsOp::Read(path) => fs.read(path).map(|data| Answer::Data(data.to_vec())),
        FsOp::ReadAt(path, offset, len) => {
            fs.read_at(path, *offset, *len).map(|data| Answer::Data(data.to_vec()))
        }
        FsOp::ReadLink(path) => fs.read_link(path).map(|target| Answer::Text(target.to_string())),
        FsOp::ReadDir(path) => fs.read_dir(path).map(|entries| {
            // The real directory has no devices.
            let real = entries.iter().filter(|(_, stat)| stat.ino != 0);
            Answer::Names(real.map(|(name, _)| name.to_string()).collect())
        }),
        FsOp::Stat { path, follow } => fs.stat(path, *follow).map(|stat| Answer::Stat(meta(&stat))),
        FsOp::Canonical(path) => fs.canonical(path).map(Answer::Text),
    }
}

fn meta(stat: &Stat) -> Meta {
    Meta {
        kind: stat.kind,
        mode: stat.mode,
        size: (stat.kind != Kind::Dir).then_some(stat.size),
        nlink: Some(stat.nlink),
        mtime: Mtime::of(stat.mtime_ns),
    }
}

/// All that a working copy shows.
pub fn snapshot(fs: &WorkingCopy) -> Snapshot {
    let tree = fs.tree().expect("the working copy is alive");
    let mut first_paths = HashMap::new();
    let entries = tree.walk("/", None).expect("the root is there");
    entries
        .map(|(path, ino, node)| {
            let data = match &node.body {
                NodeBody::File { .. } => fs.read(&path).expect("a file that is listed can be read").to_vec(),
                NodeBody::Symlink { target } => target.as_bytes().to_vec(),
                NodeBody::Dir { .. } => Vec::new(),
            };
            let meta = meta(&fs.stat(&path, false).expect("what is listed has a stat"));
            let same_as = first_paths.entry(ino).or_insert_with(|| path.clone()).clone();
            (path, Entry { meta, data, same_as })
        })
        .collect()
}

/// A tree of `/` alone, as a fresh directory of the machine is; next inode number 2.
pub fn root_only() -> Tree {
    let root = InodeRow {
        ino: ROOT,
        kind: Kind::Dir,
        mode: 0o755,
        size: 0,
        mtime_ns: clock(),
        nlink: 2,
        sha256: None,
        symlink_target: None,
    };
    Tree::from_rows(vec![root], Vec::new()).expect("one directory is a tree")
}

/// The clock of the tests: always the same second of 2128.
pub fn clock() -> i64 {
    5_000_000_000_000_000_000
}

/// A read-write working copy with room for everything that tests do.
pub fn working_copy(base: &Tree, next_ino: u64, blobs: &Arc<Blobs>) -> WorkingCopy {
    WorkingCopy::new(base.clone(), next_ino, Mode::ReadWrite, ROOMY, blobs.clone(), clock)
}

/// More than any test needs.
pub const ROOMY: Quota = Quota { entries: 1_000_000, bytes: 1 << 40, file_bytes: 1 << 30, memory: 1 << 32 };

/// Contents by hash: what a store would keep.
#[derive(Default)]
pub struct Blobs(Mutex<HashMap<Sha256, Bytes>>);

impl Blobs {
    /// Keeps what a commit would write; every hash must be right.
    pub fn absorb(&self, changes: &ChangeSet) {
        for blob in &changes.blobs {
            if let Some(data) = &blob.data {
                assert_eq!((Sha256::of(data), data.len() as u64), (blob.sha256, blob.size));
                self.insert(data.clone());
            }
        }
    }

    /// Keeps one content, as a flush would.
    pub fn insert(&self, data: Bytes) -> Sha256 {
        let hash = Sha256::of(&data);
        self.0.lock().expect("no test panics while it holds this").insert(hash, data);
        hash
    }
}

impl ContentSource for Blobs {
    fn read(&self, sha256: &Sha256, _size: u64) -> Result<Bytes, ContentUnavailable> {
        let blobs = self.0.lock().map_err(|_| ContentUnavailable)?;
        blobs.get(sha256).cloned().ok_or(ContentUnavailable)
    }
}
