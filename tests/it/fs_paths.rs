//! Names, paths and links at the limits that Linux sets.

use std::sync::Arc;

use sqlfs::fs::{Errno, Mode, Tree, WorkingCopy};

use crate::support::fs_ops::{Blobs, ROOMY, clock};

fn fresh(quota: sqlfs::fs::Quota) -> WorkingCopy {
    WorkingCopy::new(Tree::first(1).0, 1000, Mode::ReadWrite, quota, Arc::new(Blobs::default()), clock)
}

#[test]
fn paths_and_names_have_the_limits_of_linux() {
    let fs = fresh(ROOMY);
    let name = |len: usize| format!("/tmp/{}", "n".repeat(len));
    fs.write(&name(255), b"x").expect("255 bytes are a name");
    let long = name(256);
    for refused in [
        fs.write(&long, b"x"),
        fs.mkdir(&long),
        fs.mkdir_all(&long),
        fs.symlink("x", &long),
        fs.link("/tmp", &long),
        fs.rename("/tmp", &long),
        fs.unlink(&long),
        fs.stat(&long, true).map(drop),
        fs.read(&format!("{long}/x")).map(drop),
    ] {
        assert_eq!(refused, Err(Errno::ENAMETOOLONG));
    }
    let path = |len: usize| format!("/tmp/{}x", "./".repeat(len))[..len].to_owned();
    assert_eq!(fs.stat(&path(4095), true).err(), None, "4095 bytes are a path");
    assert_eq!(fs.stat(&path(4096), true), Err(Errno::ENAMETOOLONG));
    assert_eq!(fs.mkdir_all(&format!("/tmp/{}", "d/".repeat(5000))), Err(Errno::ENAMETOOLONG));
    fs.mkdir_all(&format!("/tmp/{}", "d/".repeat(2045))).expect("4095 bytes");
    assert_eq!(fs.symlink(&"t".repeat(4096), "/tmp/l"), Err(Errno::ENAMETOOLONG));
    fs.symlink(&"t".repeat(4095), "/tmp/l").expect("the longest target");
    assert_eq!(fs.symlink("", "/tmp/l2"), Err(Errno::ENOENT));
    assert_eq!(fs.stat("", true), Err(Errno::ENOENT));
    assert_eq!(fs.write("/tmp/a\0b", b""), Err(Errno::EINVAL));
    assert_eq!(fs.symlink("a\0b", "/tmp/l2"), Err(Errno::EINVAL));
    assert_eq!(fs.stat("tmp", true), Err(Errno::EINVAL), "the working copy has no directory to start from");
    assert_eq!(fs.remove_all("/"), Err(Errno::EBUSY));
    assert_eq!(fs.rmdir("/"), Err(Errno::EBUSY));
    assert_eq!(fs.rename("/", "/tmp/r"), Err(Errno::EBUSY));
    assert_eq!(fs.unlink("/"), Err(Errno::EISDIR));
    assert_eq!(fs.mkdir("/"), Err(Errno::EEXIST));
    assert_eq!(fs.write("/", b""), Err(Errno::EISDIR));
}

#[test]
fn odd_names_come_back_byte_for_byte() {
    let fs = fresh(ROOMY);
    let mut names =
        ["a\nb", "a\tb", "-rf", "*", " lead", "\u{202e}rtl", "caf\u{e9}", "cafe\u{301}", "%", "\\", "'; --"];
    for name in names {
        fs.write(&format!("/tmp/{name}"), name.as_bytes()).expect("a name");
    }
    names.sort_unstable();
    let listed = fs.read_dir("/tmp").expect("a directory");
    assert!(listed.iter().map(|(name, _)| name.as_ref()).eq(names));
    for name in names {
        assert_eq!(fs.read(&format!("/tmp/{name}")).expect("there"), name.as_bytes());
    }
}

#[test]
fn forty_links_are_followed_and_no_more() {
    let fs = fresh(ROOMY);
    fs.write("/tmp/0", b"end").expect("room");
    for n in 1..=41 {
        fs.symlink(&format!("{}", n - 1), &format!("/tmp/{n}")).expect("room");
    }
    assert_eq!(fs.read("/tmp/40").expect("forty links"), &b"end"[..]);
    assert_eq!(fs.read("/tmp/41"), Err(Errno::ELOOP));
    fs.symlink("self", "/tmp/self").expect("room");
    for refused in [
        fs.write("/tmp/self", b"x"),
        fs.stat("/tmp/self/x", false).map(drop),
        fs.mkdir("/tmp/self/x"),
        fs.chmod("/tmp/self", 0o600),
    ] {
        assert_eq!(refused, Err(Errno::ELOOP));
    }
    fs.stat("/tmp/self", false).expect("the link itself");
}
