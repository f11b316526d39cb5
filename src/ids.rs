//! Names that travel through every layer. Each is its own type, so that a head
//! can never be passed where a sandbox id is meant.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A fresh random id (UUID version 4).
            #[must_use]
            pub fn random() -> Self {
                Self(crate::random::uuid())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                // Only the hyphenated form: braces and urn: prefixes are no ids of ours.
                if text.len() == 36 { Uuid::try_parse(text).map(Self) } else { Uuid::try_parse("").map(Self) }
            }
        }
    };
}

uuid_id!(
    /// A sandbox: one durable file system. Made by the server, never used again.
    SandboxId
);
uuid_id!(
    /// Identity of one committed state of a sandbox, new at each commit.
    /// Equality of heads, never of versions, means equality of content.
    Head
);
uuid_id!(
    /// One exec (or one write route call) as it stands in the exec log.
    ExecId
);

/// Counts the commits of a sandbox; the first tree is version 0.
pub type Version = i64;

/// Number of an inode, unique within its sandbox and given by the writer.
pub type Ino = u64;

/// A tenant: one database. `default` when nothing else is configured.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenantId(pub Arc<str>);

/// The owner of sandboxes within a tenant: the `sub` of the caller's token.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(pub Arc<str>);

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TenantId {
    /// The name as it stands in keys of Redis, between others: what ends a part there, or opens
    /// a hash tag, is written as `%xx`.
    pub fn in_keys(&self) -> impl fmt::Display + '_ {
        use fmt::Write;
        fmt::from_fn(move |f| {
            self.0.chars().try_for_each(|c| match c {
                '{' | '}' | ':' | '%' => write!(f, "%{:02x}", c as u32),
                plain => f.write_char(plain),
            })
        })
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who asks: decided by the token alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The tenant whose database holds the caller's sandboxes.
    pub tenant: TenantId,
    /// The owner within it.
    pub owner: Owner,
}

/// SHA-256 of a file's content: its address in the blob table and in every cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// Hashes `data`.
    #[must_use]
    pub fn of(data: &[u8]) -> Self {
        use sha2::Digest;
        Self(sha2::Sha256::digest(data).into())
    }

    /// From the 32 bytes of a database row; `None` for any other length.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// As its 32 bytes: for messages between processes.
impl Serialize for Sha256 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Sha256;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("32 bytes")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Sha256, E> {
                Sha256::from_slice(bytes).ok_or_else(|| E::invalid_length(bytes.len(), &self))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
