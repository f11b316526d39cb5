//! The working copy against a real directory of this machine, and the laws of change
//! sets, on random operation sequences.
//!
//! What is not compared with the machine, and why: sizes of directories (the file
//! system's own business), link counts of directories where the machine does not count
//! subdirectories, permission checks (a working copy is the superuser's; operations
//! never take the owner's bits away), setuid and setgid (cleared for anybody but root),
//! the exact time of a change (two clocks; but whether something got the time of a
//! change or kept the one that was set is compared), and paths at the length limits
//! (the harness splits paths; see `fs_limits`).

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use sqlfs::fs::change_set::Delta;
use sqlfs::fs::{Kind, NodeBody, PathChange, PathOp, Tree};

use crate::support::fs_ops::{self, Blobs, FsOp, clock, execs, root_only, working_copy};

/// 400 cases, more by PROPTEST_CASES. A failure prints the smallest operations that
/// show it, and its seed goes to `tests/proptest-regressions`, from where it is run
/// first the next time.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(400), max_shrink_iters: 20_000, ..default }
}

proptest! {
    #![proptest_config(config())]

    /// Same result, same errno, same tree, whatever is done; also when the tree was
    /// committed and loaded between two of the operations.
    #[test]
    #[cfg(target_os = "linux")]
    fn behaves_as_a_directory_of_this_machine(execs in execs()) {
        let real = crate::support::real_dir::RealDir::new();
        let blobs = Arc::new(Blobs::default());
        let (mut base, mut next_ino) = (root_only(), 2);
        for (number, ops) in execs.iter().enumerate() {
            let fs = working_copy(&base, next_ino, &blobs);
            for (step, op) in ops.iter().enumerate() {
                let (mine, theirs) = (comparable(fs_ops::run(op, &fs), &real), real.run(op));
                prop_assert_eq!(mine, theirs, "exec {}, step {}: {:?}", number, step, op);
            }
            let mut mine = fs_ops::snapshot(&fs);
            for entry in mine.values_mut().filter(|_| !real.counts_subdirs()) {
                entry.meta.nlink = entry.meta.nlink.filter(|_| entry.meta.kind != Kind::Dir);
            }
            prop_assert_eq!(mine, real.snapshot(), "after exec {}", number);
            let changes = fs.finish().expect("nothing fatal");
            blobs.absorb(&changes);
            base = base.apply(&changes.delta).expect("a change set fits its base");
            next_ino = changes.next_ino;
        }
    }
}

#[cfg(target_os = "linux")]
fn comparable(outcome: fs_ops::Outcome, real: &crate::support::real_dir::RealDir) -> fs_ops::Outcome {
    outcome.map(|answer| match answer {
        fs_ops::Answer::Stat(mut meta) if meta.kind == Kind::Dir && !real.counts_subdirs() => {
            meta.nlink = None;
            fs_ops::Answer::Stat(meta)
        }
        other => other,
    })
}

proptest! {
    #![proptest_config(config())]

    /// `base.apply(finish().delta)` is the tree that the script saw; the change set
    /// holds what the commit needs and nothing that did not change.
    #[test]
    fn a_change_set_is_the_difference(execs in execs()) {
        let blobs = Arc::new(Blobs::default());
        let (mut base, mut next_ino) = (root_only(), 2);
        for ops in &execs {
            let fs = working_copy(&base, next_ino, &blobs);
            run_all(ops, &fs);
            let seen = fs.tree().expect("alive");
            let changes = fs.finish().expect("nothing fatal");
            blobs.absorb(&changes);

            let after = base.apply(&changes.delta).expect("a change set fits its base");
            prop_assert_eq!(&after, &seen);
            prop_assert_eq!((changes.entries, changes.bytes), (after.entries(), after.bytes()));
            prop_assert_eq!(changes.delta.is_empty(), changes.changed == 0 && base == after);
            prop_assert!(changes.next_ino >= next_ino);
            let highest = after.walk("/", None).expect("root").map(|(_, ino, _)| ino).max();
            prop_assert!(highest < Some(changes.next_ino));
            prop_assert!(changes.blobs.is_sorted_by(|a, b| a.sha256 < b.sha256), "sorted, each once");
            for row in &changes.delta.inodes {
                let live = base.node(row.ino).and_then(sqlfs::fs::Node::sha256);
                let named = changes.blobs.iter().any(|blob| Some(blob.sha256) == row.sha256);
                prop_assert!(row.sha256.is_none() || live == row.sha256 || named, "every new hash is named");
            }

            // All rows make the same tree again, in any order.
            let whole = after.whole(changes.next_ino, Vec::new());
            prop_assert!(whole.delta.ended_inodes.is_empty() && whole.delta.ended_dirents.is_empty());
            let Delta { mut inodes, mut dirents, .. } = whole.delta;
            inodes.reverse();
            dirents.reverse();
            prop_assert_eq!(&Tree::from_rows(inodes, dirents).expect("rows of a tree"), &after);

            let untouched = working_copy(&after, changes.next_ino, &blobs).finish().expect("nothing fatal");
            prop_assert!(untouched.delta.is_empty() && untouched.blobs.is_empty());
            prop_assert_eq!((untouched.changed, untouched.next_ino), (0, changes.next_ino));

            prop_assert_eq!(base.path_changes(&after), path_changes_by_comparing_all(&base, &after));
            (base, next_ino) = (after, changes.next_ino);
        }
    }
}

fn run_all(ops: &[FsOp], fs: &sqlfs::fs::WorkingCopy) {
    for op in ops {
        // Most random operations fail; what they do is the other test's business.
        let _: fs_ops::Outcome = fs_ops::run(op, fs);
    }
}

/// The slow way: every path of both trees. Of a directory in both, its entries are
/// other paths; its time counts only if it still has the same names for the same
/// inodes, or, where another directory took its place, the same names.
fn path_changes_by_comparing_all(before: &Tree, after: &Tree) -> Vec<PathChange> {
    let all = |tree: &Tree| -> BTreeMap<String, (u64, sqlfs::fs::Node)> {
        tree.walk("/", None).expect("root").map(|(path, ino, node)| (path, (ino, node.clone()))).collect()
    };
    let (old, new) = (all(before), all(after));
    let mut changes = Vec::new();
    for path in old.keys().chain(new.keys().filter(|path| !old.contains_key(*path))) {
        let (was, is) = (old.get(path), new.get(path));
        let (op, kind) = match (was, is) {
            (None, None) => continue,
            (None, Some((_, node))) => (PathOp::Added, node.kind()),
            (Some((_, node)), None) => (PathOp::Removed, node.kind()),
            (Some((old_ino, a)), Some((new_ino, b))) => {
                let differs = match (&a.body, &b.body) {
                    (NodeBody::Dir { entries: before }, NodeBody::Dir { entries: after }) => {
                        let relisted = if old_ino == new_ino {
                            before != after
                        } else {
                            !before.keys().eq(after.keys())
                        };
                        a.mode != b.mode || (a.mtime_ns != b.mtime_ns && !relisted)
                    }
                    (a_body, b_body) => a_body != b_body || a.mode != b.mode || a.mtime_ns != b.mtime_ns,
                };
                if !differs {
                    continue;
                }
                (PathOp::Modified, b.kind())
            }
        };
        let (size_before, size_after) = (was.map(|(_, node)| node.size()), is.map(|(_, node)| node.size()));
        changes.push(PathChange { path: path.clone(), op, kind, size_before, size_after });
    }
    changes.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    changes
}

/// Walks come in the order of path bytes, which is what makes listings stable.
#[test]
fn a_walk_is_sorted_by_path_bytes() {
    let blobs = Arc::new(Blobs::default());
    let fs = working_copy(&root_only(), 2, &blobs);
    for dir in ["/a", "/a/x", "/a-b", "/a-b/y", "/a0", "/a.d", "/a/x/deep", "/z"] {
        fs.mkdir(dir).expect("mkdir");
        fs.write(&format!("{dir}/file"), b"1").expect("write");
    }
    let tree = fs.tree().expect("alive");
    let paths: Vec<String> = tree.walk("/", None).expect("root").map(|(path, ..)| path).collect();
    assert_eq!(paths.len(), 17);
    assert!(paths.is_sorted(), "{paths:?}");
    let near: Vec<String> = tree.walk("/a", Some(1)).expect("there").map(|(path, ..)| path).collect();
    assert_eq!(near, ["/a", "/a/file", "/a/x"]);
    assert_eq!(clock(), tree.resolve("/z", true).expect("there").1.mtime_ns);
}
