//! Limits, latches and devices of the working copy: what ends an exec, what only fails
//! a call, and what is asked before anything is allocated.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use sqlfs::fs::node::Name;
use sqlfs::fs::{
    ContentSource, ContentUnavailable, Device, Errno, Fatal, Kind, Mode, Quota, Tree, WorkingCopy,
};
use sqlfs::ids::Sha256;

use crate::support::fs_ops::{Blobs, ROOMY, clock};

fn over(base: &Tree, mode: Mode, quota: Quota) -> WorkingCopy {
    WorkingCopy::new(base.clone(), 1000, mode, quota, Arc::new(Blobs::default()), clock)
}

fn fresh(quota: Quota) -> WorkingCopy {
    over(&Tree::first(1).0, Mode::ReadWrite, quota)
}

/// Counts how often the hook is called and with what.
fn watch(fs: &WorkingCopy) -> Arc<Mutex<Vec<Fatal>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    fs.on_fatal(Box::new(move |fatal| log.lock().expect("no panic").push(fatal.clone())));
    seen
}

#[test]
fn one_name_too_many_is_enospc_and_ends_the_exec() {
    // The first tree has four inodes.
    let quota = Quota { entries: 7, ..ROOMY };
    let fs = fresh(quota);
    let seen = watch(&fs);
    fs.mkdir("/tmp/d").expect("the fifth");
    fs.write("/tmp/f", b"").expect("the sixth");
    fs.link("/tmp/f", "/tmp/f2").expect("the seventh name");
    let fatal = Fatal::Entries { limit: 7 };
    assert_eq!(fs.fatal(), None);
    assert_eq!(fs.link("/tmp/f", "/tmp/g"), Err(Errno::ENOSPC), "names count, not inodes");
    assert_eq!(fs.fatal(), Some(fatal.clone()));
    for refused in [
        fs.write("/tmp/g", b""),
        fs.append("/tmp/g", b"x"),
        fs.write_new("/tmp/g", b"", 0o600),
        fs.write_flushed("/tmp/g", None, 0),
        fs.mkdir("/tmp/g"),
        fs.mkdir_all("/tmp/g/h"),
        fs.symlink("f", "/tmp/g"),
    ] {
        assert_eq!(refused, Err(Errno::ENOSPC));
    }
    fs.rename("/tmp/f", "/tmp/g").expect("a move needs no room");
    assert_eq!(fs.finish().expect_err("nothing is applied"), Errno::ENOSPC);
    assert_eq!(*seen.lock().expect("no panic"), [fatal], "called once");
}

#[test]
fn bytes_over_the_quota_are_enospc_and_end_the_exec() {
    let fs = fresh(Quota { bytes: 100, ..ROOMY });
    fs.write("/tmp/a", &[1; 60]).expect("60 of 100");
    fs.write("/tmp/a", &[2; 100]).expect("its own bytes do not count twice");
    fs.truncate("/tmp/a", 90).expect("90 of 100");
    fs.link("/tmp/a", "/tmp/b").expect("a second name has no bytes");
    fs.append("/tmp/b", &[3; 10]).expect("100 of 100");
    assert_eq!(fs.fatal(), None);
    assert_eq!(fs.symlink("x", "/tmp/l"), Err(Errno::ENOSPC), "a link's target counts");
    assert_eq!(fs.fatal(), Some(Fatal::Bytes { limit: 100 }));
    for refused in [
        fs.append("/tmp/a", b"x"),
        fs.write_at("/tmp/a", 100, b"x"),
        fs.write("/tmp/c", b"x"),
        fs.truncate("/tmp/a", 101),
        fs.write_flushed("/tmp/c", Some(Sha256([1; 32])), 1),
    ] {
        assert_eq!(refused, Err(Errno::ENOSPC));
    }
    assert_eq!(fs.stat("/tmp/a", true).expect("there").size, 100, "refused writes change nothing");
}

#[test]
fn a_sandbox_over_its_quota_can_shrink() {
    let full = fresh(ROOMY);
    full.write("/tmp/a", &[1; 200]).expect("room");
    let fs = over(&full.tree().expect("alive"), Mode::ReadWrite, Quota { bytes: 100, entries: 3, ..ROOMY });
    fs.write("/tmp/a", &[1; 150]).expect("less than before");
    fs.truncate("/tmp/a", 120).expect("less than before");
    fs.unlink("/tmp/a").expect("less than before");
    assert_eq!(fs.fatal(), None);
}

#[test]
fn a_file_over_its_limit_is_efbig_and_the_exec_goes_on() {
    let fs = fresh(Quota { file_bytes: 10, ..ROOMY });
    fs.write("/tmp/a", b"0123456789").expect("10 of 10");
    // Sizes that could never be allocated: the answer comes before the attempt.
    for refused in [
        fs.write("/tmp/a", &[0; 11]),
        fs.append("/tmp/a", b"x"),
        fs.truncate("/tmp/a", 8 << 60),
        fs.write_at("/tmp/a", u64::MAX, b"x"),
        fs.write_at("/tmp/a", 8 << 60, b"x"),
        fs.write_flushed("/tmp/a", Some(Sha256([1; 32])), 8 << 60),
    ] {
        assert_eq!(refused, Err(Errno::EFBIG));
    }
    assert_eq!(fs.read("/tmp/a").expect("there"), &b"0123456789"[..]);
    assert_eq!(fs.fatal(), None);
    fs.finish().expect("nothing fatal");
}

#[test]
fn new_content_over_the_memory_of_an_exec_is_enomem_and_ends_it() {
    let fs = fresh(Quota { memory: 100, ..ROOMY });
    fs.write("/tmp/a", &[1; 100]).expect("100 of 100");
    fs.write("/tmp/a", &[1; 50]).expect("what is overwritten is given back");
    fs.write("/tmp/b", &[1; 50]).expect("100 of 100");
    fs.unlink("/tmp/b").expect("given back");
    fs.write_flushed("/tmp/c", Some(Sha256([1; 32])), 1 << 20).expect("not held in memory");
    fs.append("/tmp/a", &[1; 50]).expect("100 of 100");
    assert_eq!(fs.fatal(), None);
    assert_eq!(fs.append("/tmp/c", b"x"), Err(Errno::ENOMEM), "appending loads the file");
    assert_eq!(fs.fatal(), Some(Fatal::Memory { limit: 100 }));
    assert_eq!(fs.truncate("/tmp/b", 1), Err(Errno::ENOENT));
    assert_eq!(fs.truncate("/tmp/a", 1 << 29), Err(Errno::ENOMEM));
}

#[test]
fn a_read_only_exec_latches_the_first_path_that_it_would_change() {
    let full = fresh(ROOMY);
    full.write("/tmp/f", b"data").expect("room");
    full.symlink("/dev/null", "/tmp/null").expect("room");
    let fs = over(&full.tree().expect("alive"), Mode::ReadOnly, ROOMY);
    let seen = watch(&fs);

    // What would fail or change nothing anyway is answered as always.
    assert_eq!(fs.mkdir("/tmp"), Err(Errno::EEXIST));
    fs.mkdir_all("/home/user").expect("it exists");
    assert_eq!(fs.unlink("/none"), Err(Errno::ENOENT));
    fs.rename("/tmp/f", "/tmp/f").expect("the same file");
    for null in ["/dev/null", "/tmp/null"] {
        fs.write(null, b"gone").expect("devices stay writable");
        fs.append(null, b"gone").expect("devices stay writable");
        assert!(fs.read(null).expect("readable").is_empty());
    }
    assert_eq!(fs.fatal(), None);

    let violations = [
        ("/tmp/f", fs.write("/tmp/f", b"x")),
        ("/tmp/g", fs.write("/tmp/g", b"x")),
        ("/tmp/f", fs.append("/tmp/f", b"")),
        ("/tmp/f", fs.truncate("/tmp/f", 0)),
        ("/tmp/f", fs.truncate("/tmp/f", 9)),
        ("/tmp/f", fs.write_at("/tmp/f", 0, b"x")),
        ("/tmp/g", fs.write_new("/tmp/g", b"", 0o600)),
        ("/tmp/g", fs.write_flushed("/tmp/g", None, 0)),
        ("/tmp/d", fs.mkdir("/tmp/d")),
        ("/tmp/d/e", fs.mkdir_all("/tmp/d/e")),
        ("/tmp/f", fs.unlink("/tmp/f")),
        ("/home/user", fs.rmdir("/home/user")),
        ("/home", fs.remove_all("/home")),
        ("/tmp/f", fs.rename("/tmp/f", "/tmp/g")),
        ("/tmp/g", fs.link("/tmp/f", "/tmp/g")),
        ("/tmp/g", fs.symlink("f", "/tmp/g")),
        ("/tmp/f", fs.chmod("/tmp/f", 0o600)),
        ("/tmp/f", fs.set_mtime("/tmp/f", 1, true)),
    ];
    for (path, result) in violations {
        assert_eq!(result, Err(Errno::EROFS), "{path}");
    }
    let fatal = Fatal::ReadOnly { path: "/tmp/f".to_owned() };
    assert_eq!(fs.fatal(), Some(fatal.clone()));
    for (log, when) in [(seen, "called once"), (watch(&fs), "a late hook is called at once")] {
        assert_eq!(*log.lock().expect("no panic"), std::slice::from_ref(&fatal), "{when}");
    }
    assert_eq!(fs.stat("/tmp/f", true).expect("untouched").size, 4);
    assert_eq!(fs.finish().expect_err("no change set"), Errno::EROFS);
}

#[test]
fn each_kind_of_violation_is_latched_with_its_own_path() {
    type Call = fn(&WorkingCopy) -> Result<(), Errno>;
    let full = fresh(ROOMY);
    full.write("/tmp/f", b"data").expect("room");
    let base = full.tree().expect("alive");
    let calls: [(&str, Call); 6] = [
        ("/tmp/g", |fs| fs.write("/tmp/g", b"x")),
        ("/tmp/d", |fs| fs.mkdir("/tmp/d")),
        ("/tmp/f", |fs| fs.chmod("/tmp/f", 0o600)),
        ("/tmp/f", |fs| fs.rename("/tmp/f", "/tmp/g")),
        ("/home", |fs| fs.remove_all("/home")),
        ("/tmp/l", |fs| fs.symlink("f", "/tmp/l")),
    ];
    for (path, call) in calls {
        let fs = over(&base, Mode::ReadOnly, ROOMY);
        assert_eq!(call(&fs), Err(Errno::EROFS));
        assert_eq!(fs.fatal(), Some(Fatal::ReadOnly { path: path.to_owned() }));
    }
}

/// A store that is away.
struct Away;

impl ContentSource for Away {
    fn read(&self, _sha256: &Sha256, _size: u64) -> Result<Bytes, ContentUnavailable> {
        Err(ContentUnavailable)
    }
}

/// A store that lies about lengths.
struct Short;

impl ContentSource for Short {
    fn read(&self, _sha256: &Sha256, _size: u64) -> Result<Bytes, ContentUnavailable> {
        Ok(Bytes::new())
    }
}

#[test]
fn a_content_that_cannot_be_had_is_never_taken_for_an_empty_one() {
    let full = fresh(ROOMY);
    full.write("/tmp/f", b"data").expect("room");
    let base = full.tree().expect("alive");
    let sources: [Arc<dyn ContentSource>; 2] = [Arc::new(Away), Arc::new(Short)];
    for source in sources {
        type Call = fn(&WorkingCopy) -> Result<(), Errno>;
        let calls: [Call; 4] = [
            |fs| fs.read("/tmp/f").map(drop),
            |fs| fs.read_at("/tmp/f", 0, 1).map(drop),
            |fs| fs.append("/tmp/f", b"more"),
            |fs| fs.truncate("/tmp/f", 2),
        ];
        for call in calls {
            let fs = WorkingCopy::new(base.clone(), 1000, Mode::ReadWrite, ROOMY, source.clone(), clock);
            assert_eq!(call(&fs), Err(Errno::EIO));
            assert_eq!(fs.fatal(), Some(Fatal::ContentUnavailable));
            assert_eq!(fs.finish().expect_err("nothing is applied"), Errno::EIO);
        }
    }
    let fs = WorkingCopy::new(base, 1000, Mode::ReadWrite, ROOMY, Arc::new(Away), clock);
    fs.write("/tmp/f", b"new").expect("a rewrite needs no old content");
    fs.truncate("/tmp/f", 0).expect("nor does cutting it to nothing");
    fs.finish().expect("nothing fatal");
}

#[test]
fn after_a_revoke_from_another_thread_nothing_works() {
    let fs = Arc::new(fresh(ROOMY));
    fs.write("/tmp/f", b"data").expect("room");
    let seen = watch(&fs);
    let other = fs.clone();
    std::thread::spawn(move || other.revoke()).join().expect("no panic");
    assert_eq!(fs.stat("/", true), Err(Errno::EIO));
    assert_eq!(fs.read("/tmp/f"), Err(Errno::EIO));
    assert_eq!(fs.write("/tmp/f", b"x"), Err(Errno::EIO));
    assert_eq!(fs.write("/dev/null", b"x"), Err(Errno::EIO));
    assert_eq!(fs.tree().expect_err("revoked"), Errno::EIO);
    assert_eq!(fs.finish().expect_err("revoked"), Errno::EIO);
    fs.revoke();
    assert_eq!(*seen.lock().expect("no panic"), [Fatal::Revoked], "called once");
}

/// A store whose content arrives only when the test says so.
struct Slow {
    asked: std::sync::mpsc::Sender<()>,
    go: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl ContentSource for Slow {
    fn read(&self, _sha256: &Sha256, _size: u64) -> Result<Bytes, ContentUnavailable> {
        self.asked.send(()).map_err(|_| ContentUnavailable)?;
        self.go.lock().map_err(|_| ContentUnavailable)?.recv().map_err(|_| ContentUnavailable)?;
        Ok(Bytes::from_static(b"data"))
    }
}

#[test]
fn a_revoke_does_not_wait_for_a_content_and_beats_it() {
    let full = fresh(ROOMY);
    full.write("/tmp/f", b"data").expect("room");
    let base = full.tree().expect("alive");
    for append in [false, true] {
        let (asked, was_asked) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel();
        let slow = Arc::new(Slow { asked, go: Mutex::new(wait) });
        let fs = Arc::new(WorkingCopy::new(base.clone(), 1000, Mode::ReadWrite, ROOMY, slow, clock));
        let reader = fs.clone();
        let running = std::thread::spawn(move || {
            if append { reader.append("/tmp/f", b"x") } else { reader.read("/tmp/f").map(drop) }
        });
        was_asked.recv().expect("the content is asked for");
        fs.revoke();
        assert_eq!(fs.fatal(), Some(Fatal::Revoked));
        go.send(()).expect("somebody waits");
        let result = running.join().expect("no panic");
        assert!(append || result == Err(Errno::EIO), "a read that ends after the revoke fails");
        assert_eq!(fs.finish().expect_err("revoked"), Errno::EIO);
    }
}

#[test]
fn a_finished_working_copy_refuses_everything() {
    let fs = fresh(ROOMY);
    fs.write("/tmp/f", b"data").expect("room");
    assert_eq!(fs.finish().expect("nothing fatal").blobs.len(), 1);
    assert_eq!(fs.write("/tmp/f", b"x"), Err(Errno::EIO));
    assert_eq!(fs.finish().expect_err("only once"), Errno::EIO);
}

#[test]
fn devices_answer_and_nothing_in_dev_can_be_changed() {
    let fs = fresh(ROOMY);
    let taken = Arc::new(Mutex::new(Vec::new()));
    let log = taken.clone();
    assert_eq!(fs.write("/dev/stdout", b"x"), Err(Errno::EINVAL), "nobody listens");
    fs.on_device(Box::new(move |device, data| log.lock().expect("no panic").push((device, data.to_vec()))));

    assert_eq!(fs.read("/dev/null").expect("empty"), Bytes::new());
    assert_eq!(fs.read_at("/dev/zero", 7, 5).expect("bounded"), &[0; 5][..]);
    assert_eq!(fs.read_at("/dev/urandom", 0, 64).expect("bounded").len(), 64);
    for endless in ["/dev/zero", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout"] {
        assert_eq!(fs.read(endless), Err(Errno::EINVAL), "{endless}");
    }
    assert_eq!(fs.read_at("/dev/zero", 0, u64::MAX), Err(Errno::ENOMEM));

    fs.write("/dev/stdout", b"out").expect("taken");
    fs.symlink("/dev/stderr", "/tmp/err").expect("a link to a device");
    fs.append("/tmp/err", b"err").expect("taken");
    fs.symlink("../dev", "/tmp/dev").expect("a link to the directory");
    fs.write("/tmp/dev/null", b"gone").expect("dropped");
    assert_eq!(fs.canonical("/tmp/dev/null").expect("there"), "/dev/null");
    let expected = [(Device::Stdout, b"out".to_vec()), (Device::Stderr, b"err".to_vec())];
    assert_eq!(*taken.lock().expect("no panic"), expected);

    let null = fs.stat("/dev/null", true).expect("there");
    assert_eq!((null.ino, null.kind, null.mode, null.size), (0, Kind::File, 0o666, 0));
    assert_eq!(fs.stat("/dev/tty", true), Err(Errno::ENOENT));
    assert_eq!(fs.stat("/dev/null/x", true), Err(Errno::ENOTDIR));
    assert_eq!(fs.stat("/dev/..", true), fs.stat("/", true));
    let names: Vec<Name> = fs.read_dir("/dev").expect("a directory").into_iter().map(|(n, _)| n).collect();
    assert_eq!(names.join(" "), "null random stderr stdin stdout urandom zero");
    let root: Vec<Name> = fs.read_dir("/").expect("a directory").into_iter().map(|(n, _)| n).collect();
    assert_eq!(root.join(" "), "dev home tmp");

    fs.write("/tmp/f", b"").expect("room");
    fs.mkdir("/tmp/d").expect("room");
    for refused in [
        fs.write("/dev/x", b""),
        fs.append("/dev/x", b"y"),
        fs.write_new("/dev/x", b"", 0o600),
        fs.mkdir("/dev/x"),
        fs.mkdir_all("/dev/x/y"),
        fs.symlink("null", "/dev/x"),
        fs.link("/tmp/f", "/dev/x"),
        fs.link("/dev/null", "/tmp/n"),
        fs.rename("/dev/null", "/tmp/n"),
        fs.rename("/tmp/f", "/dev/x"),
        fs.rename("/tmp/f", "/dev/null"),
        fs.rename("/tmp/d", "/dev"),
        fs.rename("/dev", "/tmp/d"),
        fs.unlink("/dev/null"),
        fs.rmdir("/dev"),
        fs.remove_all("/dev"),
        fs.remove_all("/dev/null"),
        fs.chmod("/dev/null", 0o600),
        fs.set_mtime("/dev", 1, true),
    ] {
        assert_eq!(refused, Err(Errno::EPERM));
    }
    assert_eq!(fs.mkdir("/dev"), Err(Errno::EEXIST));
    assert_eq!(fs.write("/dev", b""), Err(Errno::EISDIR));
    assert_eq!(fs.read("/dev"), Err(Errno::EISDIR));
    assert_eq!(fs.rmdir("/dev/null"), Err(Errno::ENOTDIR));
    assert_eq!(fs.unlink("/dev"), Err(Errno::EISDIR));
    assert_eq!(fs.truncate("/dev/null", 1), Err(Errno::EINVAL));

    let tree = fs.tree().expect("alive");
    let shown: Vec<String> = tree.walk("/", None).expect("root").map(|(path, ..)| path).collect();
    assert!(!shown.iter().any(|path| path.starts_with("/dev")), "{shown:?}");
    assert_eq!(tree.resolve("/dev/null", true).expect_err("only the working copy has it"), Errno::ENOENT);
}

#[test]
fn permission_bits_are_kept_and_inherited_as_on_linux() {
    let fs = fresh(ROOMY);
    let mode = |path: &str| fs.stat(path, false).expect("there").mode;
    fs.write("/tmp/f", b"x").expect("room");
    assert_eq!(mode("/tmp/f"), 0o644);
    fs.chmod("/tmp/f", 0o107_777).expect("only the permission bits count");
    assert_eq!(mode("/tmp/f"), 0o7777);
    fs.write("/tmp/f", b"y").expect("rewritten");
    fs.append("/tmp/f", b"z").expect("appended to");
    assert_eq!(mode("/tmp/f"), 0o7777);
    fs.mkdir("/tmp/d").expect("room");
    assert_eq!(mode("/tmp/d"), 0o755);
    fs.chmod("/tmp/d", 0o2770).expect("setgid");
    fs.mkdir("/tmp/d/e").expect("room");
    assert_eq!(mode("/tmp/d/e"), 0o2755, "directories carry setgid on");
    fs.write("/tmp/d/f", b"").expect("room");
    assert_eq!(mode("/tmp/d/f"), 0o644, "files do not");
    fs.symlink("f", "/tmp/l").expect("room");
    assert_eq!(mode("/tmp/l"), 0o777);
}

#[test]
fn a_hook_may_look_at_the_working_copy_that_calls_it() {
    let fs = Arc::new(fresh(Quota { entries: 1, ..ROOMY }));
    let calls = Arc::new(AtomicU32::new(0));
    let (inner, counter) = (fs.clone(), calls.clone());
    fs.on_fatal(Box::new(move |_| {
        inner.stat("/", true).expect("no lock is held");
        inner.revoke();
        counter.fetch_add(1, Ordering::SeqCst);
    }));
    assert_eq!(fs.mkdir("/tmp/d"), Err(Errno::ENOSPC));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(fs.fatal(), Some(Fatal::Entries { limit: 1 }), "the first cause stays");
}

#[test]
fn directories_too_deep_for_any_path_are_not_walked_but_can_be_removed() {
    let fs = fresh(ROOMY);
    let deep = format!("/tmp{}", "/d".repeat(2000));
    fs.mkdir_all(&deep).expect("room");
    fs.mkdir_all(&format!("/home/user{}", "/e".repeat(2000))).expect("room");
    fs.rename("/home/user/e", &format!("{deep}/e")).expect("a move looks at no path below");
    let tree = fs.tree().expect("alive");
    assert_eq!(tree.entries(), 4004);
    let longest = tree.walk("/", None).expect("root").map(|(path, ..)| path.len()).max();
    assert_eq!(longest, Some(4094), "every path that is shown can be named");
    let listed = Tree::first(1).0.path_changes(&tree);
    assert_eq!(listed.iter().map(|change| change.path.len()).max(), Some(4094));
    fs.remove_all("/tmp/d").expect("all of it");
    assert_eq!(fs.tree().expect("alive").entries(), 4);
}
