//! What a script may ask of the server beyond its files. A worker process has no network
//! and no view of what else runs: its questions go to the server and are answered there.

use serde::{Deserialize, Serialize};

/// A language that a script may run programs of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Runtime {
    /// `python3`.
    Python,
    /// `node`.
    JavaScript,
}

impl Runtime {
    /// For people, and as a label of metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
        }
    }
}

/// What the sandbox was made to allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// `python3` is there.
    pub python: bool,
    /// `node` is there.
    pub javascript: bool,
    /// Some addresses may be reached; which, the server knows.
    pub network: bool,
}

/// What a script asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// A place to run a program in. It is the exec's until [`Question::Done`], or until the
    /// exec ends.
    Start(Runtime),
    /// The place is free again.
    Done(Runtime),
    /// An HTTP request. A redirect is an answer: who follows it asks again.
    Fetch(Box<Fetch>),
}

/// What the server says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// So it is.
    Done,
    /// No, and why: one sentence for people.
    Refused(String),
    /// Not now: all places are taken. The exec cannot go on; one sentence for people.
    Busy(String),
    /// What came back.
    Fetched(Box<Fetched>),
    /// Nothing came back.
    NotFetched(NotFetched),
}

/// An HTTP request that a script wants made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetch {
    /// `GET`, …
    pub method: String,
    /// As the script wrote it.
    pub url: String,
    /// In order; names as the script wrote them.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Bin,
    /// Milliseconds for all of it.
    pub timeout_ms: u64,
    /// Milliseconds until a connection stands.
    pub connect_timeout_ms: u64,
    /// Bytes of a body that is taken.
    pub longest: u64,
}

/// An HTTP reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// Status code.
    pub status: u16,
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub version: String,
    /// What the server calls the status.
    pub reason: String,
    /// The URL in its normal form.
    pub url: String,
    /// In order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Bin,
}

/// Why a request was not made, or not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotFetched {
    /// curl's exit code for it, such as 6, 7, 28, 47 or 63.
    pub exit: u8,
    /// One sentence for people, without the address of anything.
    pub message: String,
}

/// Bytes, as they are on the wire between server and worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bin(pub Vec<u8>);

impl Serialize for Bin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bin {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Bin;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bin, E> {
                Ok(Bin(bytes.to_vec()))
            }
            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Bin, E> {
                Ok(Bin(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Bytes)
    }
}

/// Answers the questions of one exec. What it gave away is taken back when it is dropped.
#[async_trait::async_trait]
pub trait Host: Send + Sync {
    /// May take long. Asked by one command at a time. Dropping the future takes the
    /// question back.
    async fn ask(&self, question: Question) -> Reply;
}
