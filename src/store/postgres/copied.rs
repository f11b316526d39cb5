//! Rows as `COPY (SELECT …) TO STDOUT (FORMAT binary)` sends them: a whole tree takes half the time
//! that it takes as the rows of a statement, each of which the driver makes an object of.
//! The format is told with the command `COPY` in Postgres' manual.

use super::error::Failure;
use super::rows::{Inode, unsigned};
use crate::fs::change_set::{DirentRow, InodeRow};

/// What it begins with.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// What is left of the bytes.
struct Copied<'a>(&'a [u8]);

/// A column: `None` is NULL.
type Field<'a> = Option<&'a [u8]>;

impl<'a> Copied<'a> {
    fn new(data: &'a [u8]) -> Option<Self> {
        let mut copied = Self(data.strip_prefix(SIGNATURE)?);
        // Flags: none that changes how rows are read. Then an extension, to be skipped.
        (copied.number()? & 0xffff_0000_u32.cast_signed() == 0).then_some(())?;
        let extension = copied.number()?;
        copied.take(extension)?;
        Some(copied)
    }

    fn take(&mut self, len: i32) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<i32> {
        self.take(4)?.try_into().ok().map(i32::from_be_bytes)
    }

    /// The columns of the next row; `Some(None)` at the end, `None` if the bytes are broken.
    fn row<const COLUMNS: usize>(&mut self) -> Option<Option<[Field<'a>; COLUMNS]>> {
        let count = i16::from_be_bytes(self.take(2)?.try_into().ok()?);
        if count == -1 {
            return self.0.is_empty().then_some(None);
        }
        (usize::try_from(count) == Ok(COLUMNS)).then_some(())?;
        let mut row = [None; COLUMNS];
        for field in &mut row {
            let len = self.number()?;
            if len != -1 {
                *field = Some(self.take(len)?);
            }
        }
        Some(Some(row))
    }
}

/// Rows of `inode_columns!()`.
pub(super) fn inodes(data: &[u8]) -> Result<Vec<InodeRow>, Failure> {
    all(data, |[ino, kind, mode, size, mtime_ns, nlink, sha256, target]| {
        let inode = Inode {
            ino: i64::from_be_bytes(fixed(ino)?),
            kind: i16::from_be_bytes(fixed(kind)?),
            mode: i32::from_be_bytes(fixed(mode)?),
            size: i64::from_be_bytes(fixed(size)?),
            mtime_ns: i64::from_be_bytes(fixed(mtime_ns)?),
            nlink: i32::from_be_bytes(fixed(nlink)?),
            sha256,
            symlink_target: if target.is_some() { Some(text(target)?) } else { None },
        };
        inode.row()
    })
}

/// Rows of `parent_ino, name, ino`.
pub(super) fn dirents(data: &[u8]) -> Result<Vec<DirentRow>, Failure> {
    all(data, |[parent, name, ino]| {
        Ok(DirentRow {
            parent: unsigned(i64::from_be_bytes(fixed(parent)?), "parent_ino")?,
            name: text(name)?.into(),
            ino: unsigned(i64::from_be_bytes(fixed(ino)?), "ino")?,
        })
    })
}

fn broken() -> Failure {
    Failure::Inconsistent("a copy of rows is cut, or of another format".to_owned())
}

fn fixed<const BYTES: usize>(field: Field<'_>) -> Result<[u8; BYTES], Failure> {
    field.and_then(|field| field.try_into().ok()).ok_or_else(broken)
}

fn text(field: Field<'_>) -> Result<&str, Failure> {
    field.and_then(|field| std::str::from_utf8(field).ok()).ok_or_else(broken)
}

fn all<const COLUMNS: usize, T>(
    data: &[u8],
    read: impl Fn([Field<'_>; COLUMNS]) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut copied = Copied::new(data).ok_or_else(broken)?;
    let mut rows = Vec::new();
    while let Some(row) = copied.row().ok_or_else(broken)? {
        rows.push(read(row)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(rows: &[&[Field<'_>]]) -> Vec<u8> {
        let mut data = SIGNATURE.to_vec();
        // An extension that nobody knows is skipped.
        data.extend([0, 0, 0, 0, 0, 0, 0, 2, 7, 7]);
        for row in rows {
            data.extend((row.len() as i16).to_be_bytes());
            for field in *row {
                data.extend(field.map_or(-1, |field| field.len() as i32).to_be_bytes());
                data.extend(field.unwrap_or_default());
            }
        }
        data.extend([0xff, 0xff]);
        data
    }

    #[test]
    fn rows_come_out_and_what_is_cut_or_wrong_does_not() {
        let (one, two) = (1_i64.to_be_bytes(), 2_i64.to_be_bytes());
        let row: &[Field<'_>] = &[Some(&one), Some("ä".as_bytes()), Some(&two)];
        let data = copy(&[row, row]);
        let expected = DirentRow { parent: 1, name: "ä".into(), ino: 2 };
        assert_eq!(dirents(&data).expect("whole"), [expected.clone(), expected]);
        assert_eq!(dirents(&copy(&[])).expect("empty"), []);
        for at in 0..data.len() {
            assert!(dirents(&data[..at]).is_err(), "cut at {at}");
        }
        assert!(dirents(&[&data[..], b"x"].concat()).is_err());
        assert!(inodes(&data).is_err());
        let minus = (-1_i64).to_be_bytes();
        for wrong in [
            [None, Some(&b"a"[..]), Some(&two[..])],
            [Some(&one), None, Some(&two)],
            [Some(&one), Some(b"\xff"), Some(&two)],
            [Some(&one), Some(b"a"), Some(&two[..4])],
            [Some(&minus), Some(b"a"), Some(&two)],
        ] {
            assert!(dirents(&copy(&[&wrong])).is_err(), "{wrong:?}");
        }
        // A flag that changes how rows are read.
        let mut flagged = data;
        flagged[SIGNATURE.len() + 1] = 1;
        assert!(dirents(&flagged).is_err());
    }
}
