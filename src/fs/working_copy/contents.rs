//! Calls that change the content of files.

use bytes::Bytes;

use super::{Fail, State, WorkingCopy};
use crate::fs::Errno;
use crate::fs::devices::{self, Device};
use crate::fs::node::{Kind, Name, Node, NodeBody};
use crate::fs::resolve::{Final, Last};
use crate::ids::{Ino, Sha256};

/// What a path leads to for writing.
enum Target {
    Device(Device),
    Place(Place),
}

/// Where a content goes.
enum Place {
    File(Ino),
    /// Nothing yet: a name to make in a directory.
    New(Ino, Name),
}

/// What an open for append or pwrite came to.
enum Opened {
    Device(Device),
    File(Ino),
    /// No data, so nothing more to do.
    Done,
}

/// A whole new content.
enum Content {
    Local(Bytes),
    /// Flushed to the store before.
    Stored {
        sha256: Option<Sha256>,
        size: u64,
    },
}

impl Content {
    fn size(&self) -> u64 {
        match self {
            Self::Local(data) => data.len() as u64,
            Self::Stored { size, .. } => *size,
        }
    }
}

impl WorkingCopy {
    /// Creates (0666 less the umask) or rewrites a file, links followed, mode kept. All or nothing: a
    /// file that would become too large (EFBIG) stays as it was.
    pub fn write(&self, path: &str, data: &[u8]) -> Result<(), Errno> {
        let device = self.call(|state| {
            let place = match state.write_target(path)? {
                Target::Device(device) => return Ok(Some(device)),
                Target::Place(place) => place,
            };
            self.room_for_write(state, &place, data.len() as u64)?;
            self.writable(path)?;
            self.rewrite(state, place, Content::Local(Bytes::copy_from_slice(data)));
            Ok(None)
        })?;
        self.write_device(device, data)
    }

    /// As `write`, with a content that was flushed to the store before.
    pub fn write_flushed(&self, path: &str, sha256: Option<Sha256>, size: u64) -> Result<(), Errno> {
        if sha256.is_some() != (size > 0) {
            return Err(Errno::EINVAL);
        }
        self.call(|state| {
            let place = match state.write_target(path)? {
                Target::Device(Device::Null | Device::Zero) => return Ok(()),
                Target::Device(_) => return Err(Errno::EPERM.into()),
                Target::Place(place) => place,
            };
            let old = match &place {
                Place::File(ino) => state.node(*ino)?.file_size(),
                Place::New(..) => {
                    self.room_for_name(state)?;
                    0
                }
            };
            self.room_for_bytes(state, old, size)?;
            self.writable(path)?;
            self.rewrite(state, place, Content::Stored { sha256, size });
            Ok(())
        })
    }

    /// Creates a file that must not exist (EEXIST, also for a dangling link), with
    /// these permission bits: open(2) with O_EXCL, for temporary files.
    pub fn write_new(&self, path: &str, data: &[u8], mode: u32) -> Result<(), Errno> {
        self.call(|state| {
            let found = state.view().lookup(path, Final::Entry)?;
            let (name, there) = found.entry(Errno::EEXIST)?;
            if found.slash {
                return Err(Errno::EISDIR.into());
            }
            if there.is_some() {
                return Err(Errno::EEXIST.into());
            }
            let dir = found.dirs.top();
            if devices::is_virtual(dir) {
                return Err(Errno::EPERM.into());
            }
            let place = Place::New(dir, name.into());
            self.room_for_write(state, &place, data.len() as u64)?;
            self.writable(path)?;
            let ino = self.rewrite(state, place, Content::Local(Bytes::copy_from_slice(data)));
            state.tree.edit(ino, |node| node.mode = mode & 0o7777);
            Ok(())
        })
    }

    /// Appends; creates if absent. Amortised O(data).
    pub fn append(&self, path: &str, data: &[u8]) -> Result<(), Errno> {
        let device = self.call(|state| {
            let (ino, old) = match self.open(state, path, data.is_empty())? {
                Opened::Device(device) => return Ok(Some(device)),
                Opened::Done => return Ok(None),
                Opened::File(ino) => (ino, state.node(ino)?.file_size()),
            };
            let size = old + data.len() as u64;
            self.change(state, path, ino, size, |bytes| bytes.extend_from_slice(data))?;
            Ok(None)
        })?;
        self.write_device(device, data)
    }

    /// Writes at an offset, filling a gap with zeros; creates if absent, cuts nothing
    /// off (pwrite(2)).
    pub fn write_at(&self, path: &str, offset: u64, data: &[u8]) -> Result<(), Errno> {
        let device = self.call(|state| {
            let (ino, old) = match self.open(state, path, data.is_empty())? {
                Opened::Device(device) => return Ok(Some(device)),
                Opened::Done => return Ok(None),
                Opened::File(ino) => (ino, state.node(ino)?.file_size()),
            };
            let end = offset.checked_add(data.len() as u64).ok_or(Errno::EFBIG)?;
            self.change(state, path, ino, end.max(old), |bytes| {
                let (start, end) = (offset as usize, end as usize);
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[start..end].copy_from_slice(data);
            })?;
            Ok(None)
        })?;
        self.write_device(device, data)
    }

    /// truncate(2): cuts or extends with zeros. The file must exist; a device is
    /// EINVAL.
    pub fn truncate(&self, path: &str, len: u64) -> Result<(), Errno> {
        self.call(|state| {
            let ino = state.existing(path, true)?;
            match state.view().kind(ino) {
                Kind::Dir => return Err(Errno::EISDIR.into()),
                Kind::File | Kind::Symlink => {}
            }
            if devices::is_virtual(ino) {
                return Err(Errno::EINVAL.into());
            }
            if len == 0 {
                self.writable(path)?;
                self.rewrite(state, Place::File(ino), Content::Local(Bytes::new()));
                return Ok(());
            }
            self.change(state, path, ino, len, |bytes| bytes.resize(len as usize, 0))
        })
    }

    /// What append and write_at find or make. Without data (`nothing`) an existing
    /// file is left alone, its time too, as by a write(2) of no bytes.
    fn open(&self, state: &mut State, path: &str, nothing: bool) -> Result<Opened, Fail> {
        let ino = match state.write_target(path)? {
            Target::Device(device) => return Ok(Opened::Device(device)),
            Target::Place(Place::File(ino)) => {
                self.writable(path)?;
                ino
            }
            Target::Place(new @ Place::New(..)) => {
                self.room_for_name(state)?;
                self.writable(path)?;
                self.rewrite(state, new, Content::Local(Bytes::new()))
            }
        };
        Ok(if nothing { Opened::Done } else { Opened::File(ino) })
    }

    fn room_for_write(&self, state: &State, place: &Place, size: u64) -> Result<(), Fail> {
        let (old, held) = match place {
            Place::File(ino) => (state.node(*ino)?.file_size(), state.local.len(*ino).unwrap_or(0)),
            Place::New(..) => {
                self.room_for_name(state)?;
                (0, 0)
            }
        };
        self.room_for_bytes(state, old, size)?;
        self.room_in_memory(state, held, size)
    }

    /// Gives a file a whole new content and the time; makes it first if it is new.
    fn rewrite(&self, state: &mut State, place: Place, content: Content) -> Ino {
        let now_ns = (self.now)();
        let body = NodeBody::File {
            size: content.size(),
            sha256: match content {
                Content::Local(_) => None,
                Content::Stored { sha256, .. } => sha256,
            },
        };
        let ino = match place {
            Place::File(ino) => {
                state.tree.edit(ino, |node| (node.body, node.mtime_ns) = (body, now_ns));
                ino
            }
            Place::New(dir, name) => {
                let mode = 0o666 & !self.umask();
                state.create(dir, name, Node { mode, mtime_ns: now_ns, nlink: 1, body })
            }
        };
        match content {
            Content::Local(data) if !data.is_empty() => state.local.put(ino, data),
            Content::Local(_) | Content::Stored { .. } => state.local.remove(ino),
        }
        ino
    }

    /// Changes the content of a file in place, from what it was, to `size` bytes.
    fn change(
        &self,
        state: &mut State,
        path: &str,
        ino: Ino,
        size: u64,
        edit: impl FnOnce(&mut bytes::BytesMut),
    ) -> Result<(), Fail> {
        let node = state.node(ino)?;
        let (old, hash) = (node.file_size(), node.sha256());
        let held = state.local.len(ino);
        self.room_for_bytes(state, old, size)?;
        self.room_in_memory(state, held.unwrap_or(0), size.max(old))?;
        self.writable(path)?;
        if held.is_none() {
            let data = match hash {
                Some(hash) => self.fetch(&hash, old)?,
                None => Bytes::new(),
            };
            state.local.put(ino, data);
        }
        let extra = size.saturating_sub(old) as usize;
        state.local.edit(ino, extra, edit);
        let now_ns = (self.now)();
        state.tree.edit(ino, |node| {
            (node.body, node.mtime_ns) = (NodeBody::File { size, sha256: None }, now_ns);
        });
        Ok(())
    }

    /// The part of a write that goes to a device, with no lock held.
    fn write_device(&self, device: Option<Device>, data: &[u8]) -> Result<(), Errno> {
        match device {
            None | Some(Device::Null | Device::Zero | Device::Random | Device::Urandom) => Ok(()),
            Some(Device::Stdin) => Err(Errno::EINVAL),
            Some(device @ (Device::Stdout | Device::Stderr)) => {
                let hook = self.device_hook.lock().map_err(|_| Errno::EIO)?.clone();
                hook.ok_or(Errno::EINVAL)?(device, data);
                Ok(())
            }
        }
    }
}

impl State {
    /// open(2) with O_CREAT, up to the point where it would create.
    fn write_target(&self, path: &str) -> Result<Target, Errno> {
        let view = self.view();
        let found = view.lookup(path, Final::Create)?;
        let (name, there) = match found.last {
            Last::Root | Last::Dot | Last::DotDot => return Err(Errno::EISDIR),
            Last::Name { name, ino } => (name, ino),
        };
        let Some(ino) = there else {
            let dir = found.dirs.top();
            return if devices::is_virtual(dir) {
                Err(Errno::EPERM)
            } else {
                Ok(Target::Place(Place::New(dir, name.into())))
            };
        };
        match (Device::from_ino(ino), view.kind(ino)) {
            (Some(device), _) => Ok(Target::Device(device)),
            (None, Kind::Dir) => Err(Errno::EISDIR),
            (None, Kind::File) => Ok(Target::Place(Place::File(ino))),
            // Following ends at something else or at ELOOP.
            (None, Kind::Symlink) => Err(Errno::ELOOP),
        }
    }
}
