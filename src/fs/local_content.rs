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

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that growing moved, at most: a buffer that got another address or size was
    /// copied whole.
    struct Copied {
        place: (usize, usize),
        bytes: u64,
    }

    impl Copied {
        fn watch(&mut self, buffer: &BytesMut) {
            let place = (buffer.as_ptr() as usize, buffer.capacity());
            if place != self.place {
                self.bytes += buffer.len() as u64;
                self.place = place;
            }
        }
    }

    fn append(contents: &mut LocalContents, copied: &mut Copied, data: &[u8]) {
        contents.edit(1, data.len(), |buffer| {
            buffer.extend_from_slice(data);
            copied.watch(buffer);
        });
    }

    #[test]
    fn appending_in_a_loop_copies_each_byte_a_bounded_number_of_times() {
        for read_between in [false, true] {
            let mut contents = LocalContents::default();
            let mut copied = Copied { place: (0, 0), bytes: 0 };
            contents.put(1, Bytes::new());
            for _ in 0..10_000 {
                append(&mut contents, &mut copied, b"0123456789");
                if read_between {
                    // A reader that lets go before the next append.
                    assert!(contents.get(1).is_some_and(|data| data.ends_with(b"789")));
                }
            }
            assert_eq!(contents.held(), 100_000);
            assert!(copied.bytes <= 3 * 100_000, "copied {} bytes, reading: {read_between}", copied.bytes);
        }
    }

    #[test]
    fn a_reader_keeps_what_it_read() {
        let mut contents = LocalContents::default();
        contents.put(1, Bytes::from_static(b"old"));
        let before = contents.get(1).unwrap();
        contents.edit(1, 4, |buffer| buffer.extend_from_slice(b" new"));
        let after = contents.get(1).unwrap();
        contents.edit(1, 0, |buffer| buffer[0] = b'O');
        assert_eq!((&before[..], &after[..]), (&b"old"[..], &b"old new"[..]));
        assert_eq!(contents.get(1).unwrap(), &b"Old new"[..]);
        contents.remove(1);
        assert_eq!((contents.held(), contents.get(1)), (0, None));
    }
}
