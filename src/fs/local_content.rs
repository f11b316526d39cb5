//! Contents that one exec wrote: a growable buffer for each file, not hashed until
//! somebody asks.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};

use crate::ids::Ino;

/// New contents of one working copy, by inode.
#[derive(Default)]
pub(crate) struct LocalContents {
    files: HashMap<Ino, Buffer>,
    held: u64,
}

/// Reading freezes a buffer into shared bytes; the next append thaws it without a
/// copy unless a reader still holds them. So a loop that appends costs O(data), and
/// one that reads and appends in turn costs no more than its reading.
enum Buffer {
    Growing(BytesMut),
    Frozen(Bytes),
}

impl LocalContents {
    /// Sum of the lengths.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Bytes held for this file, if any.
    pub fn len(&self, ino: Ino) -> Option<u64> {
        self.files.get(&ino).map(|buffer| buffer.len() as u64)
    }

    /// The whole content. O(1).
    pub fn get(&mut self, ino: Ino) -> Option<Bytes> {
        self.files.get_mut(&ino).map(Buffer::freeze)
    }

    /// Replaces the content.
    pub fn put(&mut self, ino: Ino, data: Bytes) {
        self.remove(ino);
        self.held += data.len() as u64;
        self.files.insert(ino, Buffer::Frozen(data));
    }

    pub fn remove(&mut self, ino: Ino) {
        self.held -= self.len(ino).unwrap_or(0);
        self.files.remove(&ino);
    }

    /// Changes the content of a file that is held, with `extra` bytes of growth in
    /// sight.
    pub fn edit(&mut self, ino: Ino, extra: usize, edit: impl FnOnce(&mut BytesMut)) {
        if let Some(buffer) = self.files.get_mut(&ino) {
            let bytes = buffer.thaw(extra);
            let before = bytes.len() as u64;
            edit(bytes);
            self.held = self.held - before + bytes.len() as u64;
        }
    }

    /// Files that are held.
    pub fn inos(&self) -> Vec<Ino> {
        self.files.keys().copied().collect()
    }
}

impl Buffer {
    fn len(&self) -> usize {
        match self {
            Self::Growing(bytes) => bytes.len(),
            Self::Frozen(bytes) => bytes.len(),
        }
    }

    fn freeze(&mut self) -> Bytes {
        match self {
            Self::Frozen(bytes) => bytes.clone(),
            Self::Growing(bytes) => {
                let frozen = std::mem::take(bytes).freeze();
                *self = Self::Frozen(frozen.clone());
                frozen
            }
        }
    }

    fn thaw(&mut self, extra: usize) -> &mut BytesMut {
        if let Self::Frozen(bytes) = self {
            let growing = std::mem::take(bytes).try_into_mut().unwrap_or_else(|shared| {
                let mut copy = BytesMut::with_capacity(shared.len() + extra);
                copy.extend_from_slice(&shared);
                copy
            });
            *self = Self::Growing(growing);
        }
        match self {
            Self::Growing(bytes) => bytes,
            Self::Frozen(_) => unreachable!("thawed above"),
        }
    }
}
