//! A real directory of this machine behind the operations of [`super::fs_ops`].
//!
//! Paths are resolved by the kernel with `openat2(RESOLVE_IN_ROOT)`: absolute links and
//! `..` stay inside the directory as under chroot(2), but without being root, without
//! user namespaces (often switched off) and without changing the test process. Needs
//! Linux 5.6. Calls that mean a name get the parent from `openat2` and the last
//! component, slashes included, as it is.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Once;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps, UTIME_OMIT, ftruncate, linkat,
    mkdirat, openat, openat2, readlinkat, renameat, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::{pread, pwrite, read, write};
use sqlfs::fs::{Errno, Kind};
use tempfile::TempDir;

use super::fs_ops::{Answer, Entry, FsOp, Meta, Mtime, Outcome, Snapshot};

type Sys<T> = Result<T, rustix::io::Errno>;

pub struct RealDir {
    _dir: TempDir,
    root: OwnedFd,
    /// The directory's own path, as the kernel shows it.
    prefix: PathBuf,
    /// Whether directories count their subdirectories as links (ext4, xfs, tmpfs do,
    /// btrfs does not).
    counts_subdirs: bool,
}

impl RealDir {
    pub fn new() -> Self {
        set_umask();
        // Memory where there is some: the disk may be busy with other tests' fsyncs.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let dir = dir.expect("a temporary directory");
        let probe = dir.path().join("probe");
        std::fs::create_dir_all(probe.join("sub")).expect("probe");
        let counts_subdirs = statat(CWD, &probe, AtFlags::empty()).expect("probe").st_nlink == 3;
        std::fs::remove_dir_all(&probe).expect("probe");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, dir.path(), flags, Mode::empty()).expect("the directory opens");
        rustix::fs::fchmod(&root, Mode::from_raw_mode(0o755)).expect("own directory");
        let prefix = std::fs::read_link(proc_path(&root)).expect("/proc is mounted");
        Self { _dir: dir, root, prefix, counts_subdirs }
    }

    /// Whether link counts of directories can be compared.
    pub fn counts_subdirs(&self) -> bool {
        self.counts_subdirs
    }

    pub fn run(&self, op: &FsOp) -> Outcome {
        self.sys(op).map_err(errno)
    }

    fn sys(&self, op: &FsOp) -> Sys<Answer> {
        let done = |()| Answer::Done;
        let create = OFlags::WRONLY | OFlags::CREATE;
        match op {
            FsOp::Write(path, data) => {
                write_all(&self.open(path, create | OFlags::TRUNC, 0o644)?, data).map(done)
            }
            FsOp::WriteNew(path, data, mode) => {
                write_all(&self.open(path, create | OFlags::EXCL, *mode)?, data).map(done)
            }
            FsOp::WriteAt(path, offset, data) => {
                let file = self.open(path, create, 0o644)?;
                assert_eq!(pwrite(&file, data, *offset)?, data.len());
                Ok(Answer::Done)
            }
            FsOp::Append(path, data) => {
                write_all(&self.open(path, create | OFlags::APPEND, 0o644)?, data).map(done)
            }
            FsOp::Truncate(path, len) => ftruncate(self.open(path, OFlags::WRONLY, 0)?, *len).map(done),
            FsOp::Mkdir(path) => {
                let (parent, name) = self.parent(path)?;
                mkdirat(parent, name, Mode::from_raw_mode(0o755)).map(done)
            }
            FsOp::MkdirAll(path) => self.mkdir_all(path).map(done),
            FsOp::Unlink(path) => {
                let (parent, name) = self.parent(path)?;
                unlinkat(parent, name, AtFlags::empty()).map(done)
            }
            FsOp::Rmdir(path) => {
                let (parent, name) = self.parent(path)?;
                unlinkat(parent, name, AtFlags::REMOVEDIR).map(done)
            }
            FsOp::RemoveAll(path) => {
                let (parent, name) = self.parent(path)?;
                let trimmed = name.trim_end_matches('/');
                if trimmed == "." || trimmed == ".." {
                    return Err(rustix::io::Errno::INVAL);
                }
                let is_dir = file_type(&parent, trimmed)? == FileType::Directory;
                if name != trimmed && !is_dir {
                    return Err(rustix::io::Errno::NOTDIR);
                }
                remove_all(&parent, trimmed).map(done)
            }
            FsOp::Rename(from, to) => {
                let (from_dir, from_name) = self.parent(from)?;
                let (to_dir, to_name) = self.parent(to)?;
                renameat(from_dir, from_name, to_dir, to_name).map(done)
            }
            FsOp::Link(from, to) => {
                let from = self.open(from, OFlags::PATH | OFlags::NOFOLLOW, 0)?;
                let (parent, name) = self.parent(to)?;
                linkat(CWD, proc_path(&from), parent, name, AtFlags::SYMLINK_FOLLOW).map(done)
            }
            FsOp::Symlink { target, link } => {
                let (parent, name) = self.parent(link)?;
                symlinkat(target.as_str(), parent, name).map(done)
            }
            FsOp::Chmod(path, mode) => {
                let file = self.open(path, OFlags::PATH, 0)?;
                rustix::fs::chmodat(CWD, proc_path(&file), Mode::from_raw_mode(*mode), AtFlags::empty())
                    .map(done)
            }
            FsOp::SetMtime { path, mtime_ns, follow } => self.set_mtime(path, *mtime_ns, *follow).map(done),
            FsOp::Read(path) => Ok(Answer::Data(read_all(&self.open(path, OFlags::RDONLY, 0)?)?)),
            FsOp::ReadAt(path, offset, len) => {
                let file = self.open(path, OFlags::RDONLY, 0)?;
                let mut data = vec![0; *len as usize + 1];
                let got = pread(&file, &mut data, *offset)?;
                data.truncate(got.min(*len as usize));
                Ok(Answer::Data(data))
            }
            FsOp::ReadLink(path) => {
                let link = self.open(path, OFlags::PATH | OFlags::NOFOLLOW, 0)?;
                if type_of(&link)? != FileType::Symlink {
                    return Err(rustix::io::Errno::INVAL);
                }
                Ok(Answer::Text(target_of(&link)?))
            }
            FsOp::ReadDir(path) => {
                let dir = self.open(path, OFlags::RDONLY | OFlags::DIRECTORY, 0)?;
                Ok(Answer::Names(names_in(&dir)?))
            }
            FsOp::Stat { path, follow } => {
                let nofollow = if *follow { OFlags::empty() } else { OFlags::NOFOLLOW };
                self.meta(&self.open(path, OFlags::PATH | nofollow, 0)?).map(Answer::Stat)
            }
            FsOp::Canonical(path) => {
                let shown = std::fs::read_link(proc_path(&self.open(path, OFlags::PATH, 0)?));
                let shown = shown.expect("an open file has a path");
                let inner = shown.strip_prefix(&self.prefix).expect("it is inside");
                Ok(Answer::Text(format!("/{}", inner.display())))
            }
        }
    }

    fn open(&self, path: &str, flags: OFlags, mode: u32) -> Sys<OwnedFd> {
        loop {
            let mode = Mode::from_raw_mode(mode);
            match openat2(&self.root, path, flags | OFlags::CLOEXEC, mode, ResolveFlags::IN_ROOT) {
                // Something on this machine was moved during a `..`: the documented cure.
                Err(rustix::io::Errno::AGAIN) => {}
                other => return other,
            }
        }
    }

    /// The directory of the last component, and that with the slashes after it.
    fn parent<'p>(&self, path: &'p str) -> Sys<(OwnedFd, &'p str)> {
        let end = path.trim_end_matches('/').len();
        let start = path[..end].rfind('/').map_or(0, |slash| slash + 1);
        let name = &path[start..];
        assert!(!name.starts_with('/') && !name.is_empty(), "{path:?} would name the machine's own root");
        Ok((self.open(&path[..start], OFlags::PATH | OFlags::DIRECTORY, 0)?, name))
    }

    /// As `mkdir -p` does it: make each, take an existing directory.
    fn mkdir_all(&self, path: &str) -> Sys<()> {
        let trimmed = path.trim_end_matches('/');
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0 && *at < trimmed.len());
        for end in ends.chain([trimmed.len()]) {
            let prefix = path[..end].trim_end_matches('/');
            let name = &prefix[prefix.rfind('/').map_or(0, |slash| slash + 1)..];
            if name == "." || name == ".." {
                self.open(prefix, OFlags::PATH | OFlags::DIRECTORY, 0)?;
                continue;
            }
            let (parent, name) = self.parent(prefix)?;
            match mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
                Err(rustix::io::Errno::EXIST) => match self.open(prefix, OFlags::PATH, 0) {
                    Ok(there) if type_of(&there)? == FileType::Directory => {}
                    Ok(_) if end < trimmed.len() => return Err(rustix::io::Errno::NOTDIR),
                    Ok(_) | Err(rustix::io::Errno::NOENT) => return Err(rustix::io::Errno::EXIST),
                    Err(other) => return Err(other),
                },
                other => other?,
            }
        }
        Ok(())
    }

    fn set_mtime(&self, path: &str, mtime_ns: i64, follow: bool) -> Sys<()> {
        let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let mtime = Timespec { tv_sec: mtime_ns / 1_000_000_000, tv_nsec: mtime_ns % 1_000_000_000 };
        let times = Timestamps { last_access: omit, last_modification: mtime };
        let nofollow = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let file = self.open(path, OFlags::PATH | nofollow, 0)?;
        if type_of(&file)? == FileType::Symlink {
            let (parent, name) = self.parent(path)?;
            utimensat(parent, name, &times, AtFlags::SYMLINK_NOFOLLOW)
        } else {
            utimensat(CWD, proc_path(&file), &times, AtFlags::empty())
        }
    }

    fn meta(&self, file: &impl AsFd) -> Sys<Meta> {
        let stat = rustix::fs::fstat(file)?;
        let kind = kind(FileType::from_raw_mode(stat.st_mode));
        let is_dir = kind == Kind::Dir;
        let nlink = u32::try_from(stat.st_nlink).expect("few links");
        let mtime_ns = stat.st_mtime * 1_000_000_000 + i64::try_from(stat.st_mtime_nsec).expect("in range");
        Ok(Meta {
            kind,
            mode: stat.st_mode & 0o7777,
            size: (!is_dir).then(|| u64::try_from(stat.st_size).expect("not negative")),
            nlink: (!is_dir || self.counts_subdirs).then_some(nlink),
            mtime: Mtime::of(mtime_ns),
        })
    }

    /// All that the directory holds.
    pub fn snapshot(&self) -> Snapshot {
        let mut out = Snapshot::new();
        let mut open = vec!["/".to_owned()];
        while let Some(path) = open.pop() {
            let file = self.open(&path, OFlags::PATH | OFlags::NOFOLLOW, 0).expect("it was listed");
            let meta = self.meta(&file).expect("stat");
            let data = match meta.kind {
                Kind::File => read_all(&self.open(&path, OFlags::RDONLY, 0).expect("open")).expect("read"),
                Kind::Symlink => target_of(&file).expect("readlink").into_bytes(),
                Kind::Dir => {
                    let dir = self.open(&path, OFlags::RDONLY | OFlags::DIRECTORY, 0).expect("open");
                    let prefix = path.trim_end_matches('/');
                    open.extend(names_in(&dir).expect("list").iter().map(|name| format!("{prefix}/{name}")));
                    Vec::new()
                }
            };
            let ino = rustix::fs::fstat(&file).expect("stat").st_ino;
            out.insert(path, Entry { meta, data, same_as: ino.to_string() });
        }
        let mut first_paths = HashMap::new();
        for (path, entry) in &mut out {
            let first = first_paths.entry(entry.same_as.clone()).or_insert_with(|| path.clone());
            entry.same_as.clone_from(first);
        }
        out
    }
}

/// The process's umask may be anything; the product's is 022.
fn set_umask() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[expect(unsafe_code, reason = "umask(2) cannot fail and takes no pointer")]
        // SAFETY: sets a number of this process; no other test depends on another value.
        unsafe {
            libc::umask(0o022);
        }
    });
}

fn proc_path(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn write_all(file: &OwnedFd, data: &[u8]) -> Sys<()> {
    assert_eq!(write(file, data)?, data.len(), "small writes are whole");
    Ok(())
}

fn read_all(file: &OwnedFd) -> Sys<Vec<u8>> {
    let (mut data, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        match read(file, &mut chunk)? {
            0 => return Ok(data),
            got => data.extend_from_slice(&chunk[..got]),
        }
    }
}

fn target_of(link: &OwnedFd) -> Sys<String> {
    Ok(readlinkat(link, "", Vec::new())?.into_string().expect("targets are UTF-8"))
}

fn type_of(file: &OwnedFd) -> Sys<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode))
}

fn file_type(parent: &OwnedFd, name: &str) -> Sys<FileType> {
    Ok(FileType::from_raw_mode(statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode))
}

fn names_in(dir: &OwnedFd) -> Sys<Vec<String>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let name = entry?.file_name().to_str().expect("names are UTF-8").to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn remove_all(parent: &OwnedFd, name: &str) -> Sys<()> {
    if file_type(parent, name)? != FileType::Directory {
        return unlinkat(parent, name, AtFlags::empty());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = openat(parent, name, flags, Mode::empty())?;
    for inner in names_in(&dir)? {
        remove_all(&dir, &inner)?;
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

fn kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Symlink,
        other => panic!("no operation makes a {other:?}"),
    }
}

fn errno(error: rustix::io::Errno) -> Errno {
    use rustix::io::Errno as E;
    let known = [
        (E::NOENT, Errno::ENOENT),
        (E::EXIST, Errno::EEXIST),
        (E::NOTDIR, Errno::ENOTDIR),
        (E::ISDIR, Errno::EISDIR),
        (E::NOTEMPTY, Errno::ENOTEMPTY),
        (E::LOOP, Errno::ELOOP),
        (E::INVAL, Errno::EINVAL),
        (E::NAMETOOLONG, Errno::ENAMETOOLONG),
        (E::BUSY, Errno::EBUSY),
        (E::PERM, Errno::EPERM),
        (E::MLINK, Errno::EMLINK),
    ];
    let found = known.iter().find(|(raw, _)| *raw == error);
    found.unwrap_or_else(|| panic!("this machine answers {error:?}")).1
}
