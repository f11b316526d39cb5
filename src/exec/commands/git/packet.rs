//! Lines of git's protocol: four digits of length, then the line.

use super::failed::{Done, fatal};

/// The end of a list.
pub(super) const FLUSH: &[u8] = b"0000";

/// Appends a line.
pub(super) fn put(out: &mut Vec<u8>, line: &[u8]) {
    out.extend_from_slice(format!("{:04x}", line.len() + 4).as_bytes());
    out.extend_from_slice(line);
}

/// Reads lines one after the other.
pub(super) struct Packets<'p> {
    rest: &'p [u8],
}

/// A line, or the end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packet<'p> {
    Line(&'p [u8]),
    Flush,
}

impl<'p> Packets<'p> {
    /// Of all that came.
    pub(super) fn new(data: &'p [u8]) -> Self {
        Self { rest: data }
    }

    /// The next; `None` at the end.
    pub(super) fn next(&mut self) -> Done<Option<Packet<'p>>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let bad = || fatal("protocol error: bad line length");
        let digits = self.rest.get(..4).and_then(|four| std::str::from_utf8(four).ok()).ok_or_else(bad)?;
        let length = usize::from_str_radix(digits, 16).map_err(|_| bad())?;
        if length < 4 {
            self.rest = &self.rest[4..];
            return Ok(Some(Packet::Flush));
        }
        let line = self.rest.get(4..length).ok_or_else(bad)?;
        self.rest = &self.rest[length..];
        if let Some(why) = line.strip_prefix(b"ERR ") {
            return Err(fatal(format!("remote error: {}", String::from_utf8_lossy(why).trim_end())));
        }
        Ok(Some(Packet::Line(line)))
    }
}

/// What came in three bands: data, and words for people.
#[derive(Default)]
pub(super) struct Bands {
    pub(super) data: Vec<u8>,
    pub(super) words: String,
}

impl Bands {
    /// Takes in a line.
    pub(super) fn take(&mut self, line: &[u8]) -> Done {
        match line.split_first() {
            Some((1, data)) => self.data.extend_from_slice(data),
            Some((2, words)) => self.words += &String::from_utf8_lossy(words),
            Some((3, why)) => {
                return Err(fatal(format!("remote error: {}", String::from_utf8_lossy(why).trim_end())));
            }
            _ => return Err(fatal("protocol error: bad band")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_written() {
        let mut data = Vec::new();
        put(&mut data, b"a\n");
        data.extend_from_slice(FLUSH);
        let mut packets = Packets::new(&data);
        assert_eq!(packets.next().unwrap(), Some(Packet::Line(b"a\n")));
        assert_eq!(packets.next().unwrap(), Some(Packet::Flush));
        assert_eq!(packets.next().unwrap(), None);
        for bad in [&b"00"[..], b"0009abc", b"zzzz", b"000cERR no!\n"] {
            assert!(Packets::new(bad).next().is_err(), "{bad:?}");
        }
    }
}
