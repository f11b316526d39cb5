//! What a commit has to write: rows only for what changed, whatever the size of the
//! tree; and rows that do not make a tree are refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use sqlfs::fs::change_set::{Delta, DirentRow, InodeRow};
use sqlfs::fs::{ChangeSet, Kind, Mode, PathOp, Tree, WorkingCopy};
use sqlfs::ids::{Ino, Sha256};

use crate::support::fs_ops::{Blobs, ROOMY};

/// A committed tree that further execs work on.
struct Committed {
    tree: Tree,
    next_ino: Ino,
    blobs: Arc<Blobs>,
}

impl Committed {
    fn first() -> Self {
        let (tree, next_ino) = Tree::first(1);
        Self { tree, next_ino, blobs: Arc::new(Blobs::default()) }
    }

    fn exec(&mut self, script: impl FnOnce(&WorkingCopy)) -> ChangeSet {
        let (base, blobs) = (self.tree.clone(), self.blobs.clone());
        let fs = WorkingCopy::new(base, self.next_ino, Mode::ReadWrite, ROOMY, blobs, tick);
        script(&fs);
        let changes = fs.finish().expect("nothing fatal");
        self.blobs.absorb(&changes);
        self.tree = self.tree.apply(&changes.delta).expect("a change set fits its base");
        self.next_ino = changes.next_ino;
        changes
    }
}

/// A clock that shows every change: one nanosecond later at each look.
fn tick() -> i64 {
    static NOW: AtomicI64 = AtomicI64::new(1_000);
    NOW.fetch_add(1, Ordering::Relaxed)
}

/// Inodes begun and ended, names begun and ended.
fn rows(changes: &ChangeSet) -> [usize; 4] {
    let Delta { inodes, ended_inodes, dirents, ended_dirents } = &changes.delta;
    [inodes.len(), ended_inodes.len(), dirents.len(), ended_dirents.len()]
}

#[test]
fn moving_a_directory_is_one_name_however_much_is_below() {
    let mut sandbox = Committed::first();
    sandbox.exec(|fs| {
        fs.mkdir("/tmp/d").expect("room");
        for n in 0..2000 {
            fs.write(&format!("/tmp/d/{n}"), b"x").expect("room");
        }
    });
    let changes = sandbox.exec(|fs| fs.rename("/tmp/d", "/home/user/e").expect("a move"));
    // Both parents have a new time and link count; the directory itself has no new row.
    assert_eq!(rows(&changes), [2, 2, 1, 1]);
    assert_eq!((changes.changed, changes.blobs.len()), (2, 0));
    assert_eq!(sandbox.tree.resolve("/home/user/e/1999", true).expect("moved along").1.size(), 1);
}

#[test]
fn one_file_costs_the_same_rows_in_a_large_sandbox() {
    let mut sandbox = Committed::first();
    sandbox.exec(|fs| {
        for n in 0..30_000 {
            fs.write(&format!("/tmp/{n:05}"), b"x").expect("room");
        }
    });
    let changes = sandbox.exec(|fs| fs.append("/tmp/15000", b"y").expect("room"));
    assert_eq!(rows(&changes), [1, 1, 0, 0]);
    assert_eq!((changes.changed, changes.blobs.len()), (1, 1));
    let changes = sandbox.exec(|fs| fs.write("/tmp/15000a", b"y").expect("room"));
    assert_eq!(rows(&changes), [2, 1, 1, 0]);
    assert_eq!(changes.changed, 1);
}

#[test]
fn ten_thousand_appends_are_one_row_and_one_content() {
    let mut sandbox = Committed::first();
    let changes = sandbox.exec(|fs| {
        for n in 0..10_000 {
            fs.append("/tmp/log", format!("{n:04}\n").as_bytes()).expect("room");
        }
    });
    assert_eq!(rows(&changes), [2, 1, 1, 0]);
    assert_eq!((changes.changed, changes.bytes), (1, 50_000));
    let [blob] = &changes.blobs[..] else { panic!("one content") };
    assert!(blob.data.as_ref().is_some_and(|data| data.ends_with(b"9998\n9999\n")));
}

#[test]
fn what_is_undone_within_the_exec_leaves_no_row() {
    let mut sandbox = Committed::first();
    sandbox.exec(|fs| {
        fs.write("/tmp/f", b"data").expect("room");
        fs.set_mtime("/tmp/f", 7, true).expect("there");
        fs.set_mtime("/tmp", 7, true).expect("there");
    });
    let next_ino = sandbox.next_ino;
    let changes = sandbox.exec(|fs| {
        for n in 0..100 {
            fs.write(&format!("/tmp/t{n}"), b"temporary").expect("room");
            fs.rename(&format!("/tmp/t{n}"), "/tmp/t").expect("a move");
        }
        fs.unlink("/tmp/t").expect("there");
        fs.write("/tmp/f", b"other").expect("room");
        fs.write("/tmp/f", b"data").expect("room");
        fs.chmod("/tmp/f", 0o600).expect("there");
        fs.chmod("/tmp/f", 0o644).expect("there");
        fs.set_mtime("/tmp/f", 7, true).expect("there");
        fs.set_mtime("/tmp", 7, true).expect("there");
    });
    assert!(changes.delta.is_empty(), "{:?}", changes.delta);
    assert_eq!((changes.changed, changes.blobs.len(), changes.next_ino), (0, 0, next_ino));
}

#[test]
fn a_directory_of_the_same_time_and_links_makes_no_row_for_its_names() {
    let mut sandbox = Committed::first();
    sandbox.exec(|fs| {
        fs.write("/tmp/a", b"1").expect("room");
        fs.set_mtime("/tmp", 7, true).expect("there");
    });
    let changes = sandbox.exec(|fs| {
        fs.rename("/tmp/a", "/tmp/b").expect("there");
        fs.set_mtime("/tmp", 7, true).expect("there");
    });
    assert_eq!(rows(&changes), [0, 0, 1, 1]);
}

#[test]
fn every_new_hash_is_named_even_if_another_file_of_the_base_has_it() {
    let mut sandbox = Committed::first();
    let data = b"the same bytes";
    sandbox.exec(|fs| fs.write("/tmp/a", data).expect("room"));
    // Another replica may have removed /tmp/a by the time this commits elsewhere; within
    // one base it is only the same inode that surely keeps its content alive.
    let changes = sandbox.exec(|fs| {
        fs.write("/tmp/b", data).expect("room");
        fs.write("/tmp/c", data).expect("room");
    });
    assert_eq!(changes.blobs.iter().map(|blob| blob.sha256).collect::<Vec<_>>(), [Sha256::of(data)]);
    let changes = sandbox.exec(|fs| fs.write("/tmp/a", data).expect("room"));
    assert_eq!((rows(&changes), changes.blobs.len()), ([1, 1, 0, 0], 0), "only the time is new");
}

#[test]
fn a_flushed_content_is_named_without_its_bytes() {
    let mut sandbox = Committed::first();
    let hash = sandbox.blobs.insert(b"large".as_slice().into());
    let changes = sandbox.exec(|fs| {
        fs.write_flushed("/tmp/big", Some(hash), 5).expect("room");
        assert_eq!(fs.read("/tmp/big").expect("from the store"), &b"large"[..]);
        fs.write_flushed("/tmp/empty", None, 0).expect("room");
    });
    let [blob] = &changes.blobs[..] else { panic!("one content") };
    assert_eq!((blob.sha256, blob.size, blob.data.is_none()), (hash, 5, true));
    let changes = sandbox.exec(|fs| {
        fs.write_flushed("/tmp/twin", Some(hash), 5).expect("room");
        fs.write("/tmp/twin2", b"large").expect("room");
    });
    let [blob] = &changes.blobs[..] else { panic!("one content") };
    assert!(blob.data.is_some(), "bytes that are at hand are kept");
}

#[test]
fn both_names_of_a_file_see_a_write_through_either() {
    let mut sandbox = Committed::first();
    sandbox.exec(|fs| {
        fs.write("/tmp/a", b"old").expect("room");
        fs.link("/tmp/a", "/home/user/b").expect("room");
    });
    sandbox.exec(|fs| fs.write("/home/user/b", b"new").expect("room"));
    let changes = sandbox.exec(|fs| {
        assert_eq!(fs.read("/tmp/a").expect("there"), &b"new"[..]);
        assert_eq!(fs.stat("/tmp/a", true).expect("there").nlink, 2);
        fs.append("/tmp/a", b"er").expect("room");
        fs.unlink("/tmp/a").expect("there");
        assert_eq!(fs.read("/home/user/b").expect("there"), &b"newer"[..]);
        assert_eq!(fs.stat("/home/user/b", true).expect("there").nlink, 1);
    });
    assert_eq!(changes.changed, 2, "one name gone, one with a new content");
    let gone = sandbox.exec(|fs| fs.unlink("/home/user/b").expect("there"));
    assert_eq!(rows(&gone), [1, 2, 0, 1], "the last name takes the inode with it");
}

#[test]
fn changed_paths_are_counted_as_people_would() {
    type Script = fn(&WorkingCopy);
    let mut sandbox = Committed::first();
    let steps: [(u64, &str, Script); 11] = [
        (1, "a new file, not its directory", |fs| fs.write("/tmp/f", b"1").expect("room")),
        (1, "a new content", |fs| fs.write("/tmp/f", b"2").expect("room")),
        (1, "a second name", |fs| fs.link("/tmp/f", "/tmp/g").expect("room")),
        (1, "one of two names gone", |fs| fs.unlink("/tmp/f").expect("there")),
        (2, "a move", |fs| fs.rename("/tmp/g", "/tmp/h").expect("there")),
        (1, "bits of a directory", |fs| fs.chmod("/tmp", 0o700).expect("there")),
        (1, "time of a directory", |fs| fs.set_mtime("/tmp", 9, true).expect("there")),
        (1, "bits of the root", |fs| fs.chmod("/", 0o700).expect("there")),
        (2, "a new content under an old and a new name", |fs| {
            fs.link("/tmp/h", "/tmp/i").expect("room");
            fs.append("/tmp/h", b"3").expect("room");
        }),
        (2, "one file over another", |fs| {
            fs.write("/tmp/t", b"4").expect("room");
            fs.rename("/tmp/t", "/tmp/h").expect("there");
            fs.chmod("/home", 0o711).expect("there");
        }),
        (0, "nothing", |fs| drop(fs.read_dir("/tmp").expect("there"))),
    ];
    for (expected, what, script) in steps {
        assert_eq!(sandbox.exec(script).changed, expected, "{what}");
    }
}

#[test]
fn a_dry_run_lists_both_ends_of_a_move() {
    let mut sandbox = Committed::first();
    sandbox.exec(|fs| {
        fs.mkdir_all("/tmp/d/sub").expect("room");
        fs.write("/tmp/d/sub/f", b"12").expect("room");
        fs.write("/tmp/keep", b"1").expect("room");
    });
    let before = sandbox.tree.clone();
    sandbox.exec(|fs| {
        fs.rename("/tmp/d", "/tmp/e").expect("a move");
        fs.append("/tmp/e/sub/f", b"345").expect("room");
        fs.write("/tmp/keep", b"123").expect("room");
    });
    let lines: Vec<_> = before
        .path_changes(&sandbox.tree)
        .into_iter()
        .map(|c| (c.path, c.op, c.kind, c.size_before, c.size_after))
        .collect();
    let line = |path: &str, op, kind, before, after| (path.to_owned(), op, kind, before, after);
    let expected = [
        line("/tmp/d", PathOp::Removed, Kind::Dir, Some(4096), None),
        line("/tmp/d/sub", PathOp::Removed, Kind::Dir, Some(4096), None),
        line("/tmp/d/sub/f", PathOp::Removed, Kind::File, Some(2), None),
        line("/tmp/e", PathOp::Added, Kind::Dir, None, Some(4096)),
        line("/tmp/e/sub", PathOp::Added, Kind::Dir, None, Some(4096)),
        line("/tmp/e/sub/f", PathOp::Added, Kind::File, None, Some(5)),
        line("/tmp/keep", PathOp::Modified, Kind::File, Some(1), Some(3)),
    ];
    assert_eq!(lines, expected);
}

/// Rows of a small tree: `/d` with `/d/f` and its second name `/g`, and the link `/l`.
fn sound() -> (Vec<InodeRow>, Vec<DirentRow>) {
    let dir = |ino, nlink| InodeRow {
        ino,
        kind: Kind::Dir,
        mode: 0o755,
        size: 0,
        mtime_ns: 1,
        nlink,
        sha256: None,
        symlink_target: None,
    };
    let file = InodeRow { kind: Kind::File, size: 3, sha256: Some(Sha256([7; 32])), ..dir(3, 2) };
    let link = InodeRow { kind: Kind::Symlink, symlink_target: Some("d".to_owned()), ..dir(4, 1) };
    let name = |parent, name: &str, ino| DirentRow { parent, name: name.into(), ino };
    let names = vec![name(1, "d", 2), name(2, "f", 3), name(1, "g", 3), name(1, "l", 4)];
    (vec![dir(1, 3), dir(2, 2), file, link], names)
}

#[test]
fn rows_that_contradict_each_other_are_no_tree() {
    type Spoil = fn(&mut Vec<InodeRow>, &mut Vec<DirentRow>);
    let name = |parent, name: &str, ino| DirentRow { parent, name: name.into(), ino };
    let spoils: [(&str, Spoil); 21] = [
        ("root", |inodes, names| {
            inodes.clear();
            names.clear();
        }),
        ("no name", |_, names| drop(names.remove(3))),
        ("has no inode 4", |inodes, _| drop(inodes.remove(3))),
        ("has no inode 2", |inodes, _| drop(inodes.remove(1))),
        ("two rows", |inodes, _| inodes.push(inodes[2].clone())),
        ("twice", |_, names| names.push(names[3].clone())),
        ("2 links, its row says 1", |inodes, _| inodes[2].nlink = 1),
        ("3 links, its row says 2", |inodes, _| inodes[0].nlink = 2),
        ("2 names", |inodes, names| {
            inodes[0].nlink = 4;
            names[3].ino = 2;
        }),
        ("no directory", |_, names| names[1].parent = 4),
        ("illegal name", |_, names| names[3].name = "a/b".into()),
        ("illegal name", |_, names| names[3].name = "..".into()),
        ("illegal name", |_, names| names[3].name = "".into()),
        ("illegal name", |_, names| names[3].name = "n".repeat(256).into()),
        ("do not make a File", |inodes, _| inodes[2].sha256 = None),
        ("do not make a File", |inodes, _| inodes[2].size = 0),
        ("do not make a Symlink", |inodes, _| inodes[3].symlink_target = None),
        ("do not make a Symlink", |inodes, _| inodes[3].symlink_target = Some(String::new())),
        ("do not make a Dir", |inodes, _| inodes[1].size = 4096),
        ("permission bits", |inodes, _| inodes[1].mode = 0o40_755),
        ("out of range", |inodes, names| {
            inodes[3].ino = u64::MAX;
            names[3].ino = u64::MAX;
        }),
    ];
    let (inodes, names) = sound();
    Tree::from_rows(inodes, names).expect("sound rows are a tree");
    for (number, (words, spoil)) in spoils.into_iter().enumerate() {
        let (mut inodes, mut names) = sound();
        spoil(&mut inodes, &mut names);
        let broken = Tree::from_rows(inodes, names).expect_err(words).0;
        assert!(broken.contains(words), "spoil {number}: {broken:?} does not say {words:?}");
    }
    // Two directories that hold each other, with right names and counts.
    let (mut inodes, mut names) = sound();
    inodes[0].nlink = 2;
    inodes[1].nlink = 3;
    names.remove(0);
    inodes.push(InodeRow { ino: 9, nlink: 3, ..inodes[1].clone() });
    names.extend([name(2, "x", 9), name(9, "y", 2)]);
    let broken = Tree::from_rows(inodes, names).expect_err("a cycle").0;
    assert!(broken.contains("cannot be reached"), "{broken:?}");
}

#[test]
fn a_delta_that_does_not_fit_is_refused() {
    type Spoil = fn(&mut Delta);
    let (inodes, names) = sound();
    let base = Tree::from_rows(inodes.clone(), names).expect("sound");
    // Removes /g and makes /n, as a working copy would say it.
    let sound = Delta {
        inodes: vec![
            InodeRow { mtime_ns: 2, ..inodes[0].clone() },
            InodeRow { nlink: 1, ..inodes[2].clone() },
            InodeRow { ino: 5, nlink: 1, ..inodes[2].clone() },
        ],
        ended_inodes: vec![1, 3],
        dirents: vec![DirentRow { parent: 1, name: "n".into(), ino: 5 }],
        ended_dirents: vec![(1, "g".into())],
    };
    base.apply(&sound).expect("it fits");
    let spoils: [(&str, Spoil); 14] = [
        ("1 links, its row says 2", |d| d.inodes[1].nlink = 2),
        ("1 links, its row says 3", |d| d.inodes[2].nlink = 3),
        ("3 links, its row says 4", |d| d.inodes[0].nlink = 4),
        ("while its old row lives", |d| d.ended_inodes = vec![1]),
        ("is not there", |d| d.ended_inodes.push(77)),
        ("ends twice", |d| d.ended_inodes.push(3)),
        ("begins twice", |d| d.inodes.push(d.inodes[2].clone())),
        ("is not in directory", |d| d.ended_dirents.push((2, "g".into()))),
        ("while it stands", |d| d.dirents[0].name = "l".into()),
        ("has no inode 6", |d| d.dirents[0].ino = 6),
        ("no directory", |d| d.dirents[0].parent = 5),
        ("turns from File to Dir", |d| {
            d.inodes[1] = InodeRow { kind: Kind::Dir, size: 0, sha256: None, ..d.inodes[1].clone() };
        }),
        ("still has entries", |d| {
            d.ended_inodes.push(2);
            d.ended_dirents.push((1, "d".into()));
        }),
        ("still has 1 names", |d| d.ended_inodes.push(4)),
    ];
    for (number, (words, spoil)) in spoils.into_iter().enumerate() {
        let mut delta = sound.clone();
        spoil(&mut delta);
        let broken = base.apply(&delta).expect_err(words).0;
        assert!(broken.contains(words), "spoil {number}: {broken:?} does not say {words:?}");
    }
    base.apply(&sound).expect("a refused delta left the base alone");
}
