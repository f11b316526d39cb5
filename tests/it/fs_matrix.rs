//! Every call on every kind of path, and every pair of paths for the calls that take
//! two, against a real directory of this machine: the corners that random sequences
//! meet too seldom.
#![cfg(target_os = "linux")]

use std::sync::Arc;

use sqlfs::fs::{Kind, WorkingCopy};

use crate::support::fs_ops::{self, Answer, Blobs, FsOp, Meta, root_only, working_copy};
use crate::support::real_dir::RealDir;

/// Both sides start from this.
fn fixture() -> Vec<FsOp> {
    let link = |target: &str, link: &str| FsOp::Symlink { target: target.into(), link: link.into() };
    vec![
        FsOp::Mkdir("/d".into()),
        FsOp::MkdirAll("/e/g/h".into()),
        FsOp::Write("/f".into(), b"f".to_vec()),
        FsOp::Write("/e/f".into(), b"e/f".to_vec()),
        FsOp::Link("/f".into(), "/e/hard".into()),
        link("d", "/ld"),
        link("/e", "/abs"),
        link("f", "/lf"),
        link("f/", "/lfs"),
        link("none", "/dang"),
        link("none/", "/dangs"),
        link("none/x", "/deep"),
        link("loop", "/loop"),
        link("/", "/e/root"),
        link("..", "/e/up"),
        link(".", "/e/here"),
    ]
}

fn paths() -> Vec<String> {
    let plain = [
        "/d",
        "/e",
        "/e/g",
        "/f",
        "/e/hard",
        "/ld",
        "/abs",
        "/lf",
        "/lfs",
        "/dang",
        "/dangs",
        "/deep",
        "/loop",
        "/e/root",
        "/e/up",
        "/e/here",
        "/none",
        "/ld/new",
        "/abs/f",
        "/f/x",
        "/none/x",
        "/dang/x",
        "/loop/x",
        "/e/g/h/up",
        "/d/../f",
        "/e/up/f",
        "/e/root/e/g",
        "/.",
        "/..",
        "/e/.",
        "/e/..",
        "/none/.",
        "/f/..",
    ];
    let long = format!("/{}", "n".repeat(256));
    let mut all: Vec<String> = plain.iter().map(|path| (*path).to_owned()).collect();
    all.extend(plain.iter().map(|path| format!("{path}/")));
    all.extend([long.clone(), format!("/none/{long}"), format!("/f{long}"), "/e//g".to_owned()]);
    all
}

/// The working copy and the directory of the machine, side by side.
struct Pair {
    mine: WorkingCopy,
    real: RealDir,
}

impl Pair {
    fn new() -> Self {
        let mine = working_copy(&root_only(), 2, &Arc::new(Blobs::default()));
        let pair = Self { mine, real: RealDir::new() };
        for step in fixture() {
            assert_eq!(fs_ops::run(&step, &pair.mine), Ok(Answer::Done), "{step:?}");
            assert_eq!(pair.real.run(&step), Ok(Answer::Done), "{step:?}");
        }
        pair
    }

    fn hide(&self, meta: &mut Meta) {
        if meta.kind == Kind::Dir && !self.real.counts_subdirs() {
            meta.nlink = None;
        }
    }

    fn compare_trees(&self, after: &str) {
        let mut seen = fs_ops::snapshot(&self.mine);
        for entry in seen.values_mut() {
            self.hide(&mut entry.meta);
        }
        assert_eq!(seen, self.real.snapshot(), "after {after}");
    }

    /// Whether `op` succeeded, which it does on both sides or on neither.
    fn run(&self, op: &FsOp) -> bool {
        let mut outcome = fs_ops::run(op, &self.mine);
        if let Ok(Answer::Stat(meta)) = &mut outcome {
            self.hide(meta);
        }
        assert_eq!(outcome, self.real.run(op), "{op:?}");
        outcome.is_ok()
    }
}

/// Each operation on its own. Those that fail leave no trace, so that the fixture is
/// made anew only after one that did not.
fn check(ops: impl IntoIterator<Item = FsOp>) {
    let mut pair = Pair::new();
    for op in ops {
        if pair.run(&op) {
            pair.compare_trees(&format!("{op:?}"));
            pair = Pair::new();
        }
    }
    pair.compare_trees("operations that all failed");
}

#[test]
fn every_call_on_every_kind_of_path() {
    for path in paths() {
        let p = || path.clone();
        let ops = [
            FsOp::Write(p(), b"new".to_vec()),
            FsOp::WriteNew(p(), b"new".to_vec(), 0o600),
            FsOp::WriteAt(p(), 2, b"new".to_vec()),
            FsOp::Append(p(), b"new".to_vec()),
            FsOp::Append(p(), Vec::new()),
            FsOp::Truncate(p(), 0),
            FsOp::Truncate(p(), 2),
            FsOp::Mkdir(p()),
            FsOp::MkdirAll(p()),
            FsOp::Unlink(p()),
            FsOp::Rmdir(p()),
            FsOp::RemoveAll(p()),
            FsOp::Chmod(p(), 0o700),
            FsOp::SetMtime { path: p(), mtime_ns: 5, follow: true },
            FsOp::SetMtime { path: p(), mtime_ns: 5, follow: false },
            FsOp::Read(p()),
            FsOp::ReadLink(p()),
            FsOp::ReadDir(p()),
            FsOp::Stat { path: p(), follow: true },
            FsOp::Stat { path: p(), follow: false },
            FsOp::Canonical(p()),
            FsOp::Symlink { target: "x".into(), link: p() },
        ];
        check(ops);
    }
}

#[test]
fn every_pair_of_paths_renamed() {
    for from in paths() {
        check(paths().into_iter().map(|to| FsOp::Rename(from.clone(), to)));
    }
}

#[test]
fn every_pair_of_paths_linked() {
    for from in paths() {
        check(paths().into_iter().map(|to| FsOp::Link(from.clone(), to)));
    }
}
