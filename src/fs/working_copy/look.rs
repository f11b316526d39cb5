//! Calls that change nothing.

use std::sync::Arc;

use bytes::Bytes;

use super::{Fail, Stat, State, WorkingCopy};
use crate::fs::devices::{self, Device};
use crate::fs::node::{Kind, Name, NodeBody, ROOT};
use crate::fs::resolve::Final;
use crate::fs::{Errno, Tree};
use crate::ids::{Ino, Sha256};

/// What a path leads to for reading.
enum Readable {
    Device(Device),
    Held(Bytes),
    Stored(Sha256, u64),
}

impl WorkingCopy {
    /// stat(2), or lstat(2) without `follow`.
    pub fn stat(&self, path: &str, follow: bool) -> Result<Stat, Errno> {
        self.call(|state| {
            let ino = state.existing(path, follow)?;
            Ok(stat_of(&state.tree, ino)?)
        })
    }

    /// Whether stat(2) would succeed: a dangling link does not exist.
    pub fn exists(&self, path: &str) -> Result<bool, Errno> {
        match self.stat(path, true) {
            Ok(_) => Ok(true),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Names of a directory with their lstat, sorted by bytes.
    pub fn read_dir(&self, path: &str) -> Result<Vec<(Name, Stat)>, Errno> {
        self.call(|state| {
            let dir = state.existing(path, true)?;
            if dir == devices::DEV_DIR {
                return Ok(devices::ALL
                    .iter()
                    .map(|(name, d)| ((*name).into(), devices::stat(d.ino())))
                    .collect());
            }
            let entries = state.tree.entries_of(dir).ok_or(Errno::ENOTDIR)?;
            let mut listed = Vec::with_capacity(entries.len() + 1);
            for (name, &ino) in entries {
                listed.push((name.clone(), stat_of(&state.tree, ino)?));
            }
            if dir == ROOT && !entries.contains_key("dev") {
                let at = listed.partition_point(|(name, _)| name.as_ref() < "dev");
                listed.insert(at, ("dev".into(), devices::stat(devices::DEV_DIR)));
            }
            Ok(listed)
        })
    }

    /// Whole content, links followed. `/dev/null` is empty; the other devices are
    /// EINVAL here (see [`Self::read_at`]).
    pub fn read(&self, path: &str) -> Result<Bytes, Errno> {
        let readable = self.readable(path)?;
        self.content(readable)
    }

    fn content(&self, readable: Readable) -> Result<Bytes, Errno> {
        match readable {
            Readable::Device(device) => Ok(device.read(None)?.into()),
            Readable::Held(data) => Ok(data),
            Readable::Stored(hash, size) => self.call_unlocked(|| self.fetch(&hash, size)),
        }
    }

    /// Whole content of a file by its number, as [`Self::read_dir`] told it: for who goes
    /// through a directory and has no wish to look up each name again.
    pub fn read_file(&self, ino: Ino) -> Result<Bytes, Errno> {
        let readable = self.call(|state| match Device::from_ino(ino) {
            Some(device) => Ok(Readable::Device(device)),
            None => Ok(state.readable(ino)?),
        })?;
        self.content(readable)
    }

    /// Up to `len` bytes from `offset`, fewer at the end of a file. Of `/dev/zero`,
    /// `/dev/random` and `/dev/urandom` exactly `len`, which may not be more than the
    /// exec may hold in memory (ENOMEM).
    pub fn read_at(&self, path: &str, offset: u64, len: u64) -> Result<Bytes, Errno> {
        let data = match self.readable(path)? {
            Readable::Device(_) if len > self.quota.memory => return Err(Errno::ENOMEM),
            Readable::Device(device) => return Ok(device.read(Some(len))?.into()),
            Readable::Held(data) => data,
            Readable::Stored(hash, size) => self.call_unlocked(|| self.fetch(&hash, size))?,
        };
        let size = data.len() as u64;
        let (start, end) = (offset.min(size), offset.saturating_add(len).min(size));
        Ok(data.slice(start as usize..end as usize))
    }

    /// readlink(2).
    pub fn read_link(&self, path: &str) -> Result<Arc<str>, Errno> {
        self.call(|state| {
            let ino = state.existing(path, false)?;
            match state.tree.node(ino).map(|node| &node.body) {
                Some(NodeBody::Symlink { target }) => Ok(target.clone()),
                Some(NodeBody::File { .. } | NodeBody::Dir { .. }) | None => Err(Errno::EINVAL.into()),
            }
        })
    }

    /// The absolute path without links, `.` and `..` (realpath(3)).
    pub fn canonical(&self, path: &str) -> Result<String, Errno> {
        self.call(|state| {
            let view = state.view();
            let found = view.lookup(path, Final::Follow)?;
            found.existing(view)?;
            Ok(found.canonical())
        })
    }

    fn readable(&self, path: &str) -> Result<Readable, Errno> {
        self.call(|state| {
            let ino = state.existing(path, true)?;
            if let Some(device) = Device::from_ino(ino) {
                return Ok(Readable::Device(device));
            }
            if ino == devices::DEV_DIR {
                return Err(Errno::EISDIR.into());
            }
            Ok(state.readable(ino)?)
        })
    }

    /// A content from outside; one of the wrong length is as good as none.
    pub(super) fn fetch(&self, hash: &Sha256, size: u64) -> Result<Bytes, Fail> {
        let data = self.content.read(hash, size)?;
        if data.len() as u64 == size { Ok(data) } else { Err(super::ContentUnavailable.into()) }
    }

    /// As `call`, for a part that may take long: other calls go on meanwhile.
    fn call_unlocked<T>(&self, body: impl FnOnce() -> Result<T, Fail>) -> Result<T, Errno> {
        let result = body();
        self.call(|_| result)
    }
}

impl State {
    fn readable(&mut self, ino: Ino) -> Result<Readable, Errno> {
        if let Some(data) = self.local.get(ino) {
            return Ok(Readable::Held(data));
        }
        match self.node(ino)?.body {
            NodeBody::File { size, sha256: Some(hash) } => Ok(Readable::Stored(hash, size)),
            NodeBody::File { sha256: None, .. } => Ok(Readable::Held(Bytes::new())),
            NodeBody::Dir { .. } => Err(Errno::EISDIR),
            // Following ends at something else or at ELOOP.
            NodeBody::Symlink { .. } => Err(Errno::ELOOP),
        }
    }

    pub(super) fn existing(&self, path: &str, follow: bool) -> Result<Ino, Errno> {
        let view = self.view();
        view.lookup(path, if follow { Final::Follow } else { Final::NoFollow })?.existing(view)
    }
}

pub(super) fn stat_of(tree: &Tree, ino: Ino) -> Result<Stat, Errno> {
    if devices::is_virtual(ino) {
        return Ok(devices::stat(ino));
    }
    // A name without a node cannot be in a tree: from_rows and apply refuse it.
    let node = tree.node(ino).ok_or(Errno::EIO)?;
    let kind: Kind = node.kind();
    Ok(Stat { ino, kind, mode: node.mode, size: node.size(), mtime_ns: node.mtime_ns, nlink: node.nlink })
}
