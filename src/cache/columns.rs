//! A tree as columns of bytes in MessagePack, and rows from them. Numbers are
//! little-endian; those of one column lie together, so that they compress well.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fs::change_set::{DirentRow, InodeRow};
use crate::fs::{Kind, Tree};
use crate::ids::{Ino, Sha256};

/// The columns. Inodes come in ascending order, names by directory.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Columns<'a> {
    /// u64 each: its distance to the one before.
    #[serde(borrow)]
    ino: Column<'a>,
    /// One byte each: 1 file, 2 directory, 3 link.
    kind: Column<'a>,
    /// u16 each.
    mode: Column<'a>,
    /// i64 each, ns.
    mtime: Column<'a>,
    /// u32 each.
    nlink: Column<'a>,
    /// u64 each file, bytes.
    size: Column<'a>,
    /// 32 bytes each file that is not empty.
    sha256: Column<'a>,
    /// u16 each link: length of its target.
    target_len: Column<'a>,
    /// Targets, one after another.
    targets: Column<'a>,
    /// u64 each name: its directory's distance to that of the name before.
    parent: Column<'a>,
    /// u64 each name: what it names, as a distance (wrapping) to that of the name before.
    child: Column<'a>,
    /// One byte each name: its length.
    name_len: Column<'a>,
    /// Names, one after another.
    names: Column<'a>,
}

/// Bytes that are written to their end and read from their beginning.
#[derive(Debug, Default)]
struct Column<'a>(Cow<'a, [u8]>);

impl Serialize for Column<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Column<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Column<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Column<'de>, E> {
                Ok(Column(Cow::Borrowed(bytes)))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl<'a> Column<'a> {
    fn add(&mut self, bytes: &[u8]) {
        self.0.to_mut().extend_from_slice(bytes);
    }

    fn rest(&self) -> &'a [u8] {
        match &self.0 {
            Cow::Borrowed(bytes) => bytes,
            // Columns that were read are borrowed.
            Cow::Owned(_) => &[],
        }
    }
}

/// All rows of a tree; `None` for one that no commit can have made.
pub(super) fn write(tree: &Tree) -> Option<Vec<u8>> {
    let (mut to, rows) = (Columns::default(), tree.rows());
    let mut before: Ino = 0;
    for row in &rows.inodes {
        to.ino.add(&row.ino.wrapping_sub(before).to_le_bytes());
        before = row.ino;
        to.kind.add(&[row.kind as u8]);
        to.mode.add(&u16::try_from(row.mode).ok()?.to_le_bytes());
        to.mtime.add(&row.mtime_ns.to_le_bytes());
        to.nlink.add(&row.nlink.to_le_bytes());
        if row.kind == Kind::File {
            to.size.add(&row.size.to_le_bytes());
        }
        if let Some(hash) = &row.sha256 {
            to.sha256.add(&hash.0);
        }
        if let Some(target) = &row.symlink_target {
            to.target_len.add(&u16::try_from(target.len()).ok()?.to_le_bytes());
            to.targets.add(target.as_bytes());
        }
    }
    let (mut parent, mut child): (Ino, Ino) = (0, 0);
    for row in &rows.dirents {
        to.parent.add(&row.parent.wrapping_sub(parent).to_le_bytes());
        to.child.add(&row.ino.wrapping_sub(child).to_le_bytes());
        (parent, child) = (row.parent, row.ino);
        to.name_len.add(&[u8::try_from(row.name.len()).ok()?]);
        to.names.add(row.name.as_bytes());
    }
    rmp_serde::to_vec(&to).ok()
}

/// The rows; `None` when the columns do not fit together.
pub(super) fn read(bytes: &[u8]) -> Option<(Vec<InodeRow>, Vec<DirentRow>)> {
    let columns: Columns<'_> = rmp_serde::from_slice(bytes).ok()?;
    let (mut inos, mut kinds, mut modes) = (columns.ino.rest(), columns.kind.rest(), columns.mode.rest());
    let (mut mtimes, mut nlinks, mut sizes) =
        (columns.mtime.rest(), columns.nlink.rest(), columns.size.rest());
    let (mut hashes, mut target_lens, mut targets) =
        (columns.sha256.rest(), columns.target_len.rest(), columns.targets.rest());
    let mut inodes = Vec::with_capacity(kinds.len());
    let mut ino: Ino = 0;
    while let Some(kind) = take::<1>(&mut kinds) {
        let kind = match kind {
            [1] => Kind::File,
            [2] => Kind::Dir,
            [3] => Kind::Symlink,
            _ => return None,
        };
        ino = ino.wrapping_add(u64::from_le_bytes(take(&mut inos)?));
        let size = if kind == Kind::File { u64::from_le_bytes(take(&mut sizes)?) } else { 0 };
        let sha256 = if size > 0 { Some(Sha256(take(&mut hashes)?)) } else { None };
        let symlink_target = if kind == Kind::Symlink {
            let len = u16::from_le_bytes(take(&mut target_lens)?);
            Some(text(&mut targets, len.into())?.to_owned())
        } else {
            None
        };
        inodes.push(InodeRow {
            ino,
            kind,
            mode: u16::from_le_bytes(take(&mut modes)?).into(),
            size,
            mtime_ns: i64::from_le_bytes(take(&mut mtimes)?),
            nlink: u32::from_le_bytes(take(&mut nlinks)?),
            sha256,
            symlink_target,
        });
    }
    let (mut parents, mut children) = (columns.parent.rest(), columns.child.rest());
    let (mut name_lens, mut names) = (columns.name_len.rest(), columns.names.rest());
    let mut dirents = Vec::with_capacity(name_lens.len());
    let (mut parent, mut child): (Ino, Ino) = (0, 0);
    while let Some([len]) = take(&mut name_lens) {
        parent = parent.wrapping_add(u64::from_le_bytes(take(&mut parents)?));
        child = child.wrapping_add(u64::from_le_bytes(take(&mut children)?));
        dirents.push(DirentRow { parent, name: text(&mut names, len.into())?.into(), ino: child });
    }
    let left = [inos, modes, mtimes, nlinks, sizes, hashes, target_lens, targets, parents, children, names];
    left.iter().all(|column| column.is_empty()).then_some((inodes, dirents))
}

fn take<const N: usize>(column: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = column.split_first_chunk::<N>()?;
    *column = rest;
    Some(*first)
}

fn text<'a>(column: &mut &'a [u8], len: usize) -> Option<&'a str> {
    let (first, rest) = column.split_at_checked(len)?;
    *column = rest;
    std::str::from_utf8(first).ok()
}
