//! What a server and its worker say to each other, and how it lies on the socket.
//!
//! A frame is its length (u32, little-endian, of all that follows), one byte of kind, and
//! the payload. Bytes of files and of output are payloads as they are; everything else is
//! MessagePack. The server trusts nothing that comes back: lengths are bounded before
//! anything is kept, and `check.rs` rebuilds the change set from what was said.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::guards::Closed;
use crate::exec::End;
use crate::exec::host::Permissions;
use crate::fs::{Delta, Fatal, Mode, Quota};
use crate::ids::{Ino, Sha256};

/// Kinds of frames. Those before `Ready` go to the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// [`Prepare`], once, before anything else.
    Prepare = 1,
    /// Standard input of the script that follows. Optional.
    Stdin,
    /// [`Run`].
    Run,
    /// The answer to an [`Ask`]: one byte, 1 if the content is there, then the content.
    Content,
    /// The answer to a [`Kind::Question`]: [`crate::exec::host::Reply`].
    Reply,
    /// [`Ready`].
    Ready,
    /// Bytes of standard output.
    Stdout,
    /// Bytes of standard error.
    Stderr,
    /// [`Ask`].
    Ask,
    /// [`crate::exec::host::Question`].
    Question,
    /// [`Ending`]: the script is about to be cut off by itself, for this reason.
    Latched,
    /// A new content: 32 bytes of hash, then its bytes.
    Blob,
    /// [`Ended`].
    Ended,
}

const KINDS: [Kind; 13] = [
    Kind::Prepare,
    Kind::Stdin,
    Kind::Run,
    Kind::Content,
    Kind::Reply,
    Kind::Ready,
    Kind::Stdout,
    Kind::Stderr,
    Kind::Ask,
    Kind::Question,
    Kind::Latched,
    Kind::Blob,
    Kind::Ended,
];

/// What a worker is for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Prepare {
    /// Limits that scripts mostly have; an engine is made ahead for them.
    pub(super) quota: Quota,
    /// Bytes of anonymous memory that the process may hold.
    pub(super) memory: u64,
}

/// The worker can take scripts.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ready {
    /// Guards that hold.
    pub(super) closed: Closed,
    /// The kernel's number of the thread that scripts run on.
    pub(super) thread: i32,
    /// Processor time that this thread has used.
    pub(super) used: Duration,
}

/// How to come to the tree that the script sees.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum TreeUpdate {
    /// It is these rows and no others.
    Whole(Delta),
    /// It is the tree of the last script with these changes.
    Changes(Delta),
}

/// A script, as [`crate::exec::Job`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Run {
    /// Counts the scripts of this worker.
    pub(super) number: u64,
    pub(super) tree: TreeUpdate,
    /// Whether output is sent on at once.
    pub(super) live: bool,
    pub(super) script: Script,
}

/// What a script is given, beside its tree.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Script {
    pub(super) text: String,
    pub(super) next_ino: Ino,
    pub(super) debug: bool,
    pub(super) cwd: String,
    pub(super) env: BTreeMap<String, String>,
    pub(super) args: Vec<String>,
    pub(super) mode: Mode,
    pub(super) quota: Quota,
    pub(super) permissions: Permissions,
    /// Bytes a stream after which output is dropped.
    pub(super) output_limit: u64,
}

/// The worker needs a content.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ask {
    /// A file of the tree that has it.
    pub(super) ino: Ino,
    pub(super) sha256: Sha256,
}

/// [`End`] on the wire. Time and cancellation are the server's to say.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Ending {
    Exited(i32),
    Told,
    Fs(Fatal),
    Limit(String, String),
    Failed(String),
}

/// The script has ended. New contents came before, as [`Kind::Blob`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) ending: Ending,
    pub(super) cwd: String,
    pub(super) duration_us: u64,
    /// Processor time that the thread has used since it started.
    pub(super) used: Duration,
    pub(super) warnings: Vec<String>,
    pub(super) delta: Delta,
    /// Contents that the tree has under another number: hash, and a file that has it.
    pub(super) known: Vec<(Sha256, Ino)>,
    /// Whether the worker is not worth keeping: its memory or its stack has grown.
    pub(super) worn: bool,
}

/// Names of limits that a worker may report.
const LIMITS: [&str; 17] = [
    "commands",
    "exec_calls",
    "file_descriptors",
    "function_depth",
    "jobs",
    "loop_iterations",
    "memory",
    "nesting",
    "parser_steps",
    "prompt_depth",
    "runtime_busy",
    "script_size",
    "stack",
    "subshell_depth",
    "substitution_depth",
    "trap_depth",
    "work",
];

impl From<End> for Ending {
    fn from(end: End) -> Self {
        match end {
            End::Exited(code) => Self::Exited(code),
            End::TimedOut | End::Cancelled => Self::Told,
            End::Fs(fatal) => Self::Fs(fatal),
            End::Limit { name, message } => {
                debug_assert!(LIMITS.contains(&name), "the limit {name} is not in the list");
                Self::Limit(name.to_owned(), message)
            }
            End::Failed(text) => Self::Failed(text),
        }
    }
}

impl Ending {
    /// As the server uses it; `told`: the end that the server itself has asked for.
    pub(super) fn end(self, told: impl FnOnce() -> End) -> End {
        match self {
            Self::Exited(code) => End::Exited(code & 0xff),
            Self::Told => told(),
            Self::Fs(fatal) => End::Fs(fatal),
            Self::Limit(name, message) => {
                let name = LIMITS.iter().find(|known| **known == name).copied().unwrap_or("work");
                End::Limit { name, message: short(message) }
            }
            Self::Failed(text) => End::Failed(short(text)),
        }
    }
}

/// Longest sentence of a worker that is passed on, in bytes.
const SENTENCE: usize = 2000;

/// A sentence of a worker, cut to a length that a reply can bear.
pub(super) fn short(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(SENTENCE));
    text
}

/// Puts one frame at the end of a buffer.
pub(super) fn put(buffer: &mut Vec<u8>, kind: Kind, parts: &[&[u8]]) -> io::Result<()> {
    put_head(buffer, kind, parts)?;
    parts.iter().for_each(|part| buffer.extend_from_slice(part));
    Ok(())
}

/// Puts the head of a frame of these parts.
pub(super) fn put_head(buffer: &mut Vec<u8>, kind: Kind, parts: &[&[u8]]) -> io::Result<()> {
    let length = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    let length = u32::try_from(length).map_err(|_| bad("a message is longer than 4 GiB"))?;
    buffer.extend_from_slice(&length.to_le_bytes());
    buffer.push(kind as u8);
    Ok(())
}

/// Puts one message at the end of a buffer.
pub(super) fn say(buffer: &mut Vec<u8>, kind: Kind, message: &impl Serialize) -> io::Result<()> {
    put(buffer, kind, &[&rmp_serde::to_vec(message).map_err(io::Error::other)?])
}

/// The message of a payload.
pub(super) fn parse<T: DeserializeOwned>(payload: &[u8]) -> io::Result<T> {
    rmp_serde::from_slice(payload).map_err(|error| bad(&format!("a message cannot be read: {error}")))
}

/// A breach of the protocol.
pub(super) fn bad(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

const HEAD: usize = 5;

/// Length of the payload, and its kind, from the first bytes of a frame.
fn head(bytes: &[u8]) -> io::Result<(usize, Kind)> {
    let &[a, b, c, d, kind] = bytes else { return Err(bad("a frame without its head")) };
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let kind = KINDS.iter().find(|known| **known as u8 == kind).copied();
    match (length.checked_sub(1), kind) {
        (Some(length), Some(kind)) => Ok((length, kind)),
        _ => Err(bad("a frame of no known kind")),
    }
}

/// Takes the next whole frame out of what was received, if there is one; `longest` bounds
/// its payload by its kind. `Ok(Err(n))`: `n` more bytes are needed.
pub(super) fn take(
    received: &mut BytesMut,
    longest: impl Fn(Kind) -> usize,
) -> io::Result<Result<(Kind, Bytes), usize>> {
    let Some(first) = received.get(..HEAD) else { return Ok(Err(HEAD - received.len())) };
    let (length, kind) = head(first)?;
    if length > longest(kind) {
        return Err(bad(&format!("a frame {kind:?} of {length} bytes")));
    }
    let whole = HEAD + length;
    if received.len() < whole {
        return Ok(Err(whole - received.len()));
    }
    let mut frame = received.split_to(whole).freeze();
    frame.advance(HEAD);
    Ok(Ok((kind, frame)))
}

/// Waits for the next frame of a server, which is trusted. `None` at the end.
pub(super) fn read(from: &mut impl Read) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let mut first = [0; HEAD];
    let mut filled = 0;
    while filled < HEAD {
        match from.read(&mut first[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let (length, kind) = head(&first)?;
    let mut payload = Vec::with_capacity(length);
    let read = from.by_ref().take(length as u64).read_to_end(&mut payload)?;
    if read < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((kind, payload)))
}

/// Why a running script is to end: one byte on the control socket, and the script's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Order {
    /// Its caller left, or its lease was lost.
    Cancel = 1,
    /// Its time is over.
    Timeout,
    /// It has had its last words.
    Interrupt,
}

/// Bytes of an order.
pub(super) const ORDER: usize = 9;

impl Order {
    pub(super) fn to_bytes(self, number: u64) -> [u8; ORDER] {
        let mut bytes = [self as u8; ORDER];
        bytes[1..].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    pub(super) fn of(bytes: &[u8; ORDER]) -> Option<(Self, u64)> {
        let order =
            [Self::Cancel, Self::Timeout, Self::Interrupt].into_iter().find(|o| *o as u8 == bytes[0])?;
        Some((order, u64::from_le_bytes(bytes[1..].try_into().ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let mut sent = Vec::new();
        put(&mut sent, Kind::Stdout, &[b"ab", b"", b"c"]).unwrap();
        say(&mut sent, Kind::Ask, &Ask { ino: 7, sha256: Sha256::of(b"x") }).unwrap();
        let mut received = BytesMut::new();
        let mut frames = Vec::new();
        for byte in sent {
            received.extend_from_slice(&[byte]);
            frames.extend(take(&mut received, |_| 100).unwrap().ok());
        }
        assert!(received.is_empty());
        assert_eq!(frames[0], (Kind::Stdout, Bytes::from_static(b"abc")));
        let ask: Ask = parse(&frames[1].1).unwrap();
        assert_eq!((frames[1].0, ask.ino, ask.sha256), (Kind::Ask, 7, Sha256::of(b"x")));
    }

    #[test]
    fn what_is_too_long_or_unknown_is_refused_before_it_is_kept() {
        for bytes in [&[255, 255, 255, 255, Kind::Blob as u8], &[1, 0, 0, 0, 99], &[0, 0, 0, 0, 6]] {
            assert!(take(&mut BytesMut::from(&bytes[..]), |_| 1 << 20).is_err(), "{bytes:?}");
        }
        // A list that says that it has four billion entries allocates none of them.
        assert!(parse::<Vec<u64>>(&[0xdd, 255, 255, 255, 255, 1]).is_err());
    }

    #[test]
    fn an_order_names_its_script() {
        let bytes = Order::Timeout.to_bytes(77);
        assert_eq!(Order::of(&bytes), Some((Order::Timeout, 77)));
        assert_eq!(Order::of(&[0; ORDER]), None);
    }
}
