//! Names of objects: SHA-1 over a header and the content.

use std::fmt;

use sha1::{Digest as _, Sha1};

use super::object::Kind;

/// The name of an object.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Oid(pub(super) [u8; 20]);

impl Oid {
    /// No object: as an old or new value of a ref.
    pub(super) const NULL: Self = Self([0; 20]);

    /// The name that `data` has as an object of `kind`.
    pub(super) fn of(kind: Kind, data: &[u8]) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("{} {}\0", kind.name(), data.len()));
        hash.update(data);
        Self(hash.finalize().into())
    }

    /// From 20 bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }

    /// From 40 digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return None;
        }
        let mut oid = [0; 20];
        for (byte, pair) in oid.iter_mut().zip(digits.chunks_exact(2)) {
            let value = |digit: u8| char::from(digit).to_digit(16);
            *byte = (value(pair[0])? * 16 + value(pair[1])?) as u8;
        }
        Some(Self(oid))
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// SHA-1 of bytes as they are.
pub(super) fn sha1(data: &[u8]) -> [u8; 20] {
    Sha1::digest(data).into()
}
