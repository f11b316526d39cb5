//! A working copy in the shape of the engine's file system.
//!
//! The engine layers its own views over this one: `/etc`, `/proc` and `/usr/bin` that
//! it invents, symbolic links that lead there, open descriptors. Its lower layers have
//! an `lstat` where it says `stat`, so that is what `stat` is here.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bashkit::{
    DirEntry, Error, FileSystem, FileSystemExt, FileType, FsLimits, FsUsage, Metadata, Result, async_trait,
};

use super::engine::Stage;
use super::library::{self, Found};
use crate::exec::stop::Cause;
use crate::fs::{Errno, Kind, Quota, Stat, WorkingCopy};

/// What one read of a device without end gives. The engine knows whole reads only; the
/// zeros cost nothing until they are used.
const ZEROS: u64 = 64 << 20;
const RANDOM: u64 = 1 << 20;

/// Before a file of this size is read the engine's output is let out: what works on it
/// may compute for long without yielding.
const LARGE: usize = 256 << 10;

/// The files of the script that the stage is opened for.
pub(super) struct SandboxFs {
    stage: Stage,
    quota: Quota,
}

impl SandboxFs {
    pub(super) fn new(stage: Stage, quota: Quota) -> Self {
        Self { stage, quota }
    }

    fn files(&self) -> &WorkingCopy {
        &self.stage.scene().files
    }

    /// What lies there for Python alone.
    fn library(&self, path: &Path) -> Option<Found> {
        if self.stage.opened()?.permissions.python { library::find(path.to_str()?) } else { None }
    }
}

fn kind_of(errno: Errno) -> io::ErrorKind {
    match errno {
        Errno::ENOENT => io::ErrorKind::NotFound,
        Errno::EEXIST => io::ErrorKind::AlreadyExists,
        Errno::ENOTDIR => io::ErrorKind::NotADirectory,
        Errno::EISDIR => io::ErrorKind::IsADirectory,
        Errno::ENOTEMPTY => io::ErrorKind::DirectoryNotEmpty,
        Errno::EINVAL | Errno::EILSEQ => io::ErrorKind::InvalidInput,
        Errno::ENAMETOOLONG => io::ErrorKind::InvalidFilename,
        Errno::EFBIG => io::ErrorKind::FileTooLarge,
        Errno::ENOSPC => io::ErrorKind::StorageFull,
        Errno::EROFS => io::ErrorKind::ReadOnlyFilesystem,
        Errno::EPERM => io::ErrorKind::PermissionDenied,
        Errno::EMLINK => io::ErrorKind::TooManyLinks,
        Errno::EBUSY => io::ErrorKind::ResourceBusy,
        Errno::ENOMEM => io::ErrorKind::OutOfMemory,
        Errno::ELOOP | Errno::EIO => io::ErrorKind::Other,
    }
}

/// The commands print the error's own text: it is bash's.
fn error(errno: Errno) -> Error {
    Error::Io(io::Error::new(kind_of(errno), errno))
}

/// The engine's strings are UTF-8: bytes that are not have become replacement
/// characters on the way, and two such names would fall together.
fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| error(Errno::EILSEQ))
}

/// A path to a name that is about to be made.
fn new_name(path: &Path) -> Result<&str> {
    let path = text(path)?;
    if path.contains(char::REPLACEMENT_CHARACTER) { Err(error(Errno::EILSEQ)) } else { Ok(path) }
}

fn metadata(stat: Stat) -> Metadata {
    let since_epoch = Duration::from_nanos(stat.mtime_ns.unsigned_abs());
    let modified = if stat.mtime_ns < 0 {
        UNIX_EPOCH.checked_sub(since_epoch)
    } else {
        UNIX_EPOCH.checked_add(since_epoch)
    }
    .unwrap_or(UNIX_EPOCH);
    Metadata {
        file_type: match stat.kind {
            Kind::File => FileType::File,
            Kind::Dir => FileType::Directory,
            Kind::Symlink => FileType::Symlink,
        },
        size: stat.size,
        mode: stat.mode,
        modified,
        created: modified,
    }
}

/// Nanoseconds since the epoch, cut to what fits.
pub(super) fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

impl SandboxFs {
    fn read(&self, path: &str) -> std::result::Result<Vec<u8>, Errno> {
        match self.files().read(path) {
            // Only devices without end refuse to be read whole.
            Err(Errno::EINVAL) => {
                let len = if self.files().canonical(path)? == "/dev/zero" { ZEROS } else { RANDOM };
                self.files().read_at(path, 0, len).map(Vec::from)
            }
            Ok(data) => {
                let executable = || self.files().stat(path, true).is_ok_and(|stat| stat.mode & 0o111 != 0);
                if let Err(refused) = self.stage.scene().seen.check_content(path, &data, executable) {
                    self.stage.scene().stop.stop(Cause::Limit(refused.name, refused.message));
                    return Err(Errno::EFBIG);
                }
                Ok(Vec::from(data))
            }
            Err(errno) => Err(errno),
        }
    }

    fn lstat(&self, path: &str) -> std::result::Result<Stat, Errno> {
        self.files().stat(path, false)
    }
}

#[async_trait]
impl FileSystemExt for SandboxFs {
    fn usage(&self) -> FsUsage {
        match self.stage.opened().map(|scene| scene.files.tree()) {
            Some(Ok(tree)) => FsUsage { total_bytes: tree.bytes(), file_count: tree.entries(), dir_count: 0 },
            Some(Err(_)) | None => FsUsage::default(),
        }
    }

    async fn mkfifo(&self, _path: &Path, _mode: u32) -> Result<()> {
        Err(error(Errno::EPERM))
    }

    fn limits(&self) -> FsLimits {
        FsLimits {
            max_total_bytes: self.quota.bytes,
            max_file_size: self.quota.file_bytes,
            max_file_count: self.quota.entries,
            max_dir_count: self.quota.entries,
            // Our own errors have bash's words.
            max_path_depth: 1 << 20,
            max_filename_length: usize::MAX,
            max_path_length: usize::MAX,
        }
    }

    fn backend_kind(&self) -> &'static str {
        "sandbox"
    }
}

#[async_trait]
impl FileSystem for SandboxFs {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        if let Some(Found::File(text)) = self.library(path) {
            return Ok(text.into());
        }
        let data = self.read(text(path)?).map_err(error)?;
        if data.len() >= LARGE {
            tokio::task::yield_now().await;
        }
        Ok(data)
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.files().write(new_name(path)?, content).map_err(error)
    }

    async fn append_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.files().append(new_name(path)?, content).map_err(error)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> Result<()> {
        let path = new_name(path)?;
        let made = if recursive { self.files().mkdir_all(path) } else { self.files().mkdir(path) };
        made.map_err(error)
    }

    async fn remove(&self, path: &Path, recursive: bool) -> Result<()> {
        let path = text(path)?;
        let is_dir = self.lstat(path).map_err(error)?.kind == Kind::Dir;
        let removed = match (is_dir, recursive) {
            (true, true) => self.files().remove_all(path),
            (true, false) => self.files().rmdir(path),
            (false, _) => self.files().unlink(path),
        };
        removed.map_err(error)
    }

    async fn stat(&self, path: &Path) -> Result<Metadata> {
        if let Some(found) = self.library(path) {
            return Ok(found.metadata());
        }
        self.lstat(text(path)?).map(metadata).map_err(error)
    }

    async fn lstat(&self, path: &Path) -> Result<Metadata> {
        FileSystem::stat(self, path).await
    }

    async fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>> {
        if let Some(Found::Folder(entries)) = self.library(path) {
            return Ok(entries);
        }
        let listed = self.files().read_dir(text(path)?).map_err(error)?;
        let entry = |(name, stat): (crate::fs::Name, Stat)| DirEntry {
            name: name.as_ref().to_owned(),
            metadata: metadata(stat),
        };
        Ok(listed.into_iter().map(entry).collect())
    }

    async fn exists(&self, path: &Path) -> Result<bool> {
        if self.library(path).is_some() {
            return Ok(true);
        }
        match self.lstat(text(path)?) {
            Ok(_) => Ok(true),
            Err(Errno::EIO) => Err(error(Errno::EIO)),
            Err(_) => Ok(false),
        }
    }

    async fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.files().rename(text(from)?, new_name(to)?).map_err(error)
    }

    /// One file; the engine walks directories itself. A new file gets the mode of the
    /// old one, an existing one keeps its own, as cp(1) does.
    async fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let (from, to) = (text(from)?, new_name(to)?);
        let copy = || {
            let source = self.files().stat(from, true)?;
            let fresh = matches!(self.files().stat(to, true), Err(Errno::ENOENT));
            self.files().write(to, &self.read(from)?)?;
            let mode = source.mode & 0o777 & !self.files().umask();
            if fresh { self.files().chmod(to, mode) } else { Ok(()) }
        };
        copy().map_err(error)
    }

    async fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        self.files().symlink(new_name(target)?, new_name(link)?).map_err(error)
    }

    async fn read_link(&self, path: &Path) -> Result<PathBuf> {
        self.files().read_link(text(path)?).map(|target| PathBuf::from(target.as_ref())).map_err(error)
    }

    async fn chmod(&self, path: &Path, mode: u32) -> Result<()> {
        self.files().chmod(text(path)?, mode & 0o7777).map_err(error)
    }

    async fn set_modified_time(&self, path: &Path, time: SystemTime) -> Result<()> {
        self.files().set_mtime(text(path)?, nanoseconds(time), true).map_err(error)
    }
}
