//! A private, writable view of a tree: all that one script sees and does.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::fs::devices::Device;
use crate::fs::local_content::LocalContents;
use crate::fs::node::{Kind, Name, Node};
use crate::fs::resolve::View;
use crate::fs::{Errno, Tree};
use crate::ids::{Ino, Sha256};

mod contents;
mod finish;
mod limits;
mod look;
mod names;
mod remove;
mod rename;
mod sight;

pub(crate) use sight::Sight;

/// Where contents come from. May block the calling thread, so working copies are
/// used on interpreter threads and blocking threads only.
pub trait ContentSource: Send + Sync {
    /// The content of `sha256`, `size` bytes long, checked against its hash.
    /// `Err` when it cannot be had now (store away, content missing).
    fn read(&self, sha256: &Sha256, size: u64) -> Result<Bytes, ContentUnavailable>;

    /// The content if it can be had without blocking.
    fn at_hand(&self, _sha256: &Sha256) -> Option<Bytes> {
        None
    }
}

/// A content cannot be fetched; the exec is ended and nothing is applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a file's content cannot be fetched")]
pub struct ContentUnavailable;

/// What the script may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Anything.
    ReadWrite,
    /// Any mutating call fails with EROFS and is latched as [`Fatal::ReadOnly`].
    ReadOnly,
}

/// Limits of one sandbox and one exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Names in the tree, the root included (MAX_SANDBOX_ENTRIES). Every inode has one,
    /// a file with hard links several.
    pub entries: u64,
    /// Sum of file sizes and lengths of link targets (MAX_SANDBOX_BYTES).
    pub bytes: u64,
    /// Size of one file: larger is EFBIG, which is not fatal.
    pub file_bytes: u64,
    /// New content that one exec may hold in memory (EXEC_MEMORY_BYTES).
    pub memory: u64,
}

/// The first cause for which the exec must end. Commands print an error and go on, so
/// the caller looks here and not at the exit code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fatal {
    /// A mutating call in a read-only exec, with the first path.
    ReadOnly {
        /// Absolute path.
        path: String,
    },
    /// The sandbox would hold more inodes than allowed.
    Entries {
        /// The limit.
        limit: u64,
    },
    /// The sandbox would hold more bytes than allowed.
    Bytes {
        /// The limit.
        limit: u64,
    },
    /// The exec would hold more new content in memory than allowed.
    Memory {
        /// The limit.
        limit: u64,
    },
    /// A content could not be fetched.
    ContentUnavailable,
    /// [`WorkingCopy::revoke`] was called.
    Revoked,
}

/// What stat(2) tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Inode number; 0 for the virtual devices.
    pub ino: Ino,
    /// Kind; devices say `File`.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Bytes, as [`super::Node::size`].
    pub size: u64,
    /// Nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Link count.
    pub nlink: u32,
}

/// A working copy. Its calls take absolute paths, never block except for
/// [`ContentSource::read`], and cost nanoseconds to microseconds. Shared by all
/// commands of one script (`&self` everywhere).
///
/// Results are those of Linux for the superuser on a file system without owners, with
/// umask 022 until [`WorkingCopy::set_umask`]. A virtual `/dev` with `null`, `zero`, `random`, `urandom`, `stdin`,
/// `stdout` and `stderr` lies over the tree: nothing in it can be made, removed or
/// changed (EPERM), its devices may be written to in a read-only exec too, and no
/// change set shows it.
///
/// In a read-only exec a call that would fail anyway fails as it would; one that would
/// change something is EROFS and latched.
pub struct WorkingCopy {
    base: Tree,
    /// Next free inode number of the base.
    first_ino: Ino,
    mode: Mode,
    quota: Quota,
    content: Arc<dyn ContentSource>,
    now: fn() -> i64,
    state: Mutex<State>,
    revoked: AtomicBool,
    umask: AtomicU32,
    latch: Mutex<Latch>,
    device_hook: Mutex<Option<Arc<DeviceHook>>>,
}

/// Takes what the script writes to `/dev/stdout` and `/dev/stderr`.
pub type DeviceHook = dyn Fn(Device, &[u8]) + Send + Sync;

type FatalHook = Box<dyn Fn(&Fatal) + Send + Sync>;

/// What the script sees now. A file in `local` has no hash in `tree` until somebody
/// asks for one; otherwise `tree` is a whole tree after every call.
struct State {
    tree: Tree,
    next_ino: Ino,
    local: LocalContents,
    finished: bool,
}

#[derive(Default)]
struct Latch {
    fatal: Option<Fatal>,
    hook: Option<FatalHook>,
}

/// Why a call failed: by itself, or because the exec must end.
#[derive(Debug)]
enum Fail {
    Errno(Errno),
    Fatal(Fatal),
}

impl From<Errno> for Fail {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<Fatal> for Fail {
    fn from(fatal: Fatal) -> Self {
        Self::Fatal(fatal)
    }
}

impl From<ContentUnavailable> for Fail {
    fn from(_: ContentUnavailable) -> Self {
        Self::Fatal(Fatal::ContentUnavailable)
    }
}

impl Fatal {
    /// What the call that met it returns.
    #[must_use]
    pub fn errno(&self) -> Errno {
        match self {
            Self::ReadOnly { .. } => Errno::EROFS,
            Self::Entries { .. } | Self::Bytes { .. } => Errno::ENOSPC,
            Self::Memory { .. } => Errno::ENOMEM,
            Self::ContentUnavailable | Self::Revoked => Errno::EIO,
        }
    }
}

impl std::fmt::Debug for WorkingCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkingCopy")
            .field("mode", &self.mode)
            .field("fatal", &self.fatal())
            .finish_non_exhaustive()
    }
}

impl WorkingCopy {
    /// Over `base`, whose next free inode number is `next_ino`. `now` gives wall ns.
    #[must_use]
    pub fn new(
        base: Tree,
        next_ino: Ino,
        mode: Mode,
        quota: Quota,
        content: Arc<dyn ContentSource>,
        now: fn() -> i64,
    ) -> Self {
        let state = State { tree: base.clone(), next_ino, local: LocalContents::default(), finished: false };
        Self {
            base,
            first_ino: next_ino,
            mode,
            quota,
            content,
            now,
            state: Mutex::new(state),
            revoked: AtomicBool::new(false),
            umask: AtomicU32::new(0o022),
            latch: Mutex::default(),
            device_hook: Mutex::new(None),
        }
    }

    /// Called once, on the first fatal cause, from the thread that met it; at once if
    /// there is one already.
    pub fn on_fatal(&self, call: Box<dyn Fn(&Fatal) + Send + Sync>) {
        let met = {
            let mut latch = self.lock_latch();
            if latch.fatal.is_none() {
                latch.hook = Some(call);
                return;
            }
            latch.fatal.clone()
        };
        if let Some(fatal) = met {
            call(&fatal);
        }
    }

    /// Called with what is written to `/dev/stdout` and `/dev/stderr`. Without it such
    /// writes are EINVAL.
    pub fn on_device(&self, call: Box<DeviceHook>) {
        *self.device_hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::from(call));
    }

    /// The first fatal cause, if any.
    #[must_use]
    pub fn fatal(&self) -> Option<Fatal> {
        self.lock_latch().fatal.clone()
    }

    /// Permission bits that files and directories made from now on do not get.
    pub fn set_umask(&self, mask: u32) {
        self.umask.store(mask & 0o777, Ordering::Relaxed);
    }

    /// See [`WorkingCopy::set_umask`].
    #[must_use]
    pub fn umask(&self) -> u32 {
        self.umask.load(Ordering::Relaxed)
    }

    /// Makes every later call fail with EIO and `finish` return nothing. Thread-safe,
    /// at any time, returns at once.
    pub fn revoke(&self) {
        self.revoked.store(true, Ordering::SeqCst);
        self.latch(&Fatal::Revoked);
    }

    /// Latches the first fatal cause; the hook is called with no lock held.
    fn latch(&self, fatal: &Fatal) {
        let hook = {
            let mut latch = self.lock_latch();
            if latch.fatal.is_some() {
                return;
            }
            latch.fatal = Some(fatal.clone());
            latch.hook.take()
        };
        if let Some(call) = hook {
            call(fatal);
        }
    }

    fn lock_latch(&self) -> MutexGuard<'_, Latch> {
        // Two plain assignments are all that happens under this lock.
        self.latch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one call: refuses it after `revoke` and `finish`, latches what is fatal.
    fn call<T>(&self, body: impl FnOnce(&mut State) -> Result<T, Fail>) -> Result<T, Errno> {
        let result = {
            if self.revoked.load(Ordering::SeqCst) {
                return Err(Errno::EIO);
            }
            // A call that panicked may have left half of its change: nothing may use it.
            let mut state = self.state.lock().map_err(|_| Errno::EIO)?;
            if state.finished {
                return Err(Errno::EIO);
            }
            body(&mut state)
        };
        result.map_err(|fail| match fail {
            Fail::Errno(errno) => errno,
            Fail::Fatal(fatal) => {
                let errno = fatal.errno();
                self.latch(&fatal);
                errno
            }
        })
    }
}

impl State {
    fn view(&self) -> View<'_> {
        View { tree: &self.tree, devices: true }
    }

    /// The node of a number that resolution gave and that is not virtual.
    fn node(&self, ino: Ino) -> Result<&Node, Errno> {
        self.tree.node(ino).ok_or(Errno::EIO)
    }

    /// Makes a node and names it; the quota was asked before.
    fn create(&mut self, dir: Ino, name: Name, node: Node) -> Ino {
        let ino = self.next_ino;
        self.next_ino += 1;
        let mtime_ns = node.mtime_ns;
        let subdir = node.kind() == Kind::Dir;
        self.tree.insert(ino, node);
        self.tree.add_name(dir, name, ino);
        self.entry_changed(dir, mtime_ns, i32::from(subdir));
        ino
    }

    /// An entry of `dir` came, went or was re-pointed: its time and, by the number of
    /// subdirectories gained, its link count.
    fn entry_changed(&mut self, dir: Ino, now_ns: i64, subdirs: i32) {
        self.tree.edit(dir, |node| {
            node.mtime_ns = now_ns;
            node.nlink = node.nlink.saturating_add_signed(subdirs);
        });
    }

    /// One name of a file or link went. The last one takes the inode with it.
    fn drop_link(&mut self, ino: Ino) {
        let left = self.tree.edit(ino, |node| {
            node.nlink -= 1;
            node.nlink
        });
        if left == Some(0) {
            self.tree.remove(ino);
            self.local.remove(ino);
        }
    }
}
