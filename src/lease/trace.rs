//! What the protocol was told and what it said, step by step, in a file: test builds
//! alone have this. The checker of the integration tests plays a file through the
//! protocol again and looks at those of a whole fleet side by side.
//!
//! One file per process, `INCARNATION.jsonl`, one JSON object a line: a [`Header`],
//! then each [`Step`]. A line is written at once, so that a process that is killed
//! leaves all of its steps, and at most the last of them in part.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::clock;
use crate::lease::keys::LeaseKey;
use crate::lease::protocol::{Config, Effect, Event};
use crate::lease::verbs::{Incarnation, Ms};

/// The first line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Mode and times.
    pub config: Config,
    /// Whose steps these are.
    pub incarnation: Incarnation,
    /// The origin of [`Step::at`] on the machine's monotonic clock, in nanoseconds.
    pub origin_ns: u64,
}

/// One step of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The protocol's time.
    pub at: Ms,
    /// The machine's monotonic clock, in nanoseconds: the same for all processes.
    pub ns: u64,
    /// What happened.
    pub event: Event<LeaseKey>,
    /// What was to be done.
    pub effects: Vec<Effect<LeaseKey>>,
}

/// The file of this process.
pub(super) struct Trace(File);

impl Trace {
    /// Begins the file in `folder`, which must exist.
    pub(super) fn begin(folder: &Path, config: Config, incarnation: Incarnation) -> std::io::Result<Self> {
        let path = folder.join(format!("{incarnation}.jsonl"));
        let mut trace = Self(File::create_new(path)?);
        trace.write(&Header { config, incarnation, origin_ns: clock::monotonic_ns() })?;
        Ok(trace)
    }

    /// Adds a step. A trace with a hole would prove nothing: no second try.
    pub(super) fn add(&mut self, at: Ms, event: Event<LeaseKey>, effects: &[Effect<LeaseKey>]) {
        let step = Step { at, ns: clock::monotonic_ns(), event, effects: effects.to_vec() };
        self.write(&step).expect("the lease trace is written");
    }

    fn write(&mut self, line: &impl Serialize) -> std::io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.0.write_all(&text)
    }
}

impl Serialize for LeaseKey {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_wire())
    }
}

impl<'de> Deserialize<'de> for LeaseKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::from_wire(&text).ok_or_else(|| de::Error::custom("a key is written sandbox/tenant"))
    }
}

impl Serialize for Incarnation {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Incarnation {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let number = u128::from_str_radix(&text, 16);
        number.map(Self).map_err(|_| de::Error::custom("an incarnation is a hexadecimal number"))
    }
}
