//! Rows and requests of the store.

use std::collections::BTreeMap;

use crate::fs::change_set::ChangeSet;
use crate::ids::{ExecId, Head, Owner, SandboxId, Sha256, Version};

/// Network permission of a sandbox, as asked for at its creation.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Network {
    /// None at all.
    #[default]
    #[serde(skip)]
    Off,
    /// `true` or `false`.
    All(bool),
    /// URL prefixes.
    Allow {
        /// Prefixes.
        allow: Vec<String>,
    },
}

/// What the caller wants a new sandbox to be. The tree comes beside it.
#[derive(Clone, Debug)]
pub struct NewSandbox {
    /// Its id, made by the caller.
    pub id: SandboxId,
    /// Its owner.
    pub owner: Owner,
    /// Label or, with `unique`, a name held alone.
    pub name: Option<String>,
    /// Whether `name` is held alone among the owner's live sandboxes.
    pub unique: bool,
    /// Environment of every exec.
    pub env: BTreeMap<String, String>,
    /// Runtime flags.
    pub python: bool,
    /// Runtime flags.
    pub javascript: bool,
    /// Network permission, as JSON text.
    pub network: Option<String>,
    /// First working directory.
    pub cwd: String,
    /// The head of version 0.
    pub head: Head,
    /// Wall ns.
    pub created_at_ns: i64,
    /// Request that made it, for the log.
    pub request_id: String,
    /// Exec id of the log row of version 0.
    pub exec: ExecId,
}

/// Answer of [`super::Store::create`].
#[derive(Clone, Debug, PartialEq)]
pub enum Created {
    /// It is there.
    Done(Box<SandboxRow>),
    /// The unique name is held by this live sandbox.
    NameTaken(Box<SandboxRow>),
}

/// The row of a live sandbox.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxRow {
    /// Its id.
    pub id: SandboxId,
    /// Its owner.
    pub owner: Owner,
    /// Label or unique name.
    pub name: Option<String>,
    /// Whether the name is held alone.
    pub unique: bool,
    /// Commits so far.
    pub version: Version,
    /// Identity of the state.
    pub head: Head,
    /// Highest fencing token that committed.
    pub fence: i64,
    /// Oldest version whose rows are all kept.
    pub history_from: Version,
    /// Next free inode number.
    pub next_ino: u64,
    /// Inodes, the root included.
    pub entries: u64,
    /// Sum of file sizes.
    pub bytes: u64,
    /// Kept working directory.
    pub cwd: String,
    /// Environment of every exec.
    pub env: BTreeMap<String, String>,
    /// Runtime flag.
    pub python: bool,
    /// Runtime flag.
    pub javascript: bool,
    /// Network permission as JSON text.
    pub network: Option<String>,
    /// Wall ns.
    pub created_at_ns: i64,
    /// Wall ns.
    pub last_used_at_ns: i64,
}

/// One commit.
#[derive(Debug)]
pub struct Commit<'a> {
    /// Which sandbox.
    pub sandbox: SandboxId,
    /// Head that the tree was loaded at; anything else in the row is a lost race.
    pub seen: Head,
    /// Head after the commit.
    pub new_head: Head,
    /// Fencing token of the lease; a row with a higher one is a lost race.
    pub fence: i64,
    /// Working directory to keep, if it is to be kept.
    pub cwd: Option<&'a str>,
    /// The rows and contents.
    pub changes: &'a ChangeSet,
    /// Log: the exec.
    pub exec: ExecId,
    /// Log: the request.
    pub request_id: &'a str,
    /// Log: the owner who asked.
    pub actor: &'a str,
    /// Log: wall ns when the script started.
    pub started_at_ns: i64,
    /// Log: how long it ran.
    pub duration_ms: i64,
    /// Log: hash of the script text; `None` for write routes.
    pub script_sha256: Option<Sha256>,
    /// The reply to keep with it. A key that has one makes it [`CommitOutcome::Stale`].
    pub keep: Option<Keep<'a>>,
}

/// A reply that is to be kept under a key of a sandbox.
#[derive(Clone, Copy, Debug)]
pub struct Keep<'a> {
    /// 1 to 255 bytes.
    pub key: &'a str,
    /// Hash of what was asked for.
    pub request: Sha256,
    /// The reply, without the state after it.
    pub reply: &'a [u8],
}

/// A reply that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Hash of what was asked for.
    pub request: Sha256,
    /// The state after it.
    pub version: Version,
    /// The state after it.
    pub head: Head,
    /// The reply.
    pub reply: Vec<u8>,
}

/// Answer of [`super::Store::commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// Applied as this version.
    Done {
        /// The new version.
        version: Version,
    },
    /// Another commit came first (or a higher fence): nothing applied.
    Stale,
    /// The sandbox was deleted: nothing applied.
    Gone,
}

/// Answer of [`super::Store::resolve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The commit happened.
    Applied {
        /// As this version.
        version: Version,
        /// With this head.
        head: Head,
    },
    /// It did not happen and never will.
    NotApplied,
    /// It did not happen and the sandbox is deleted.
    Gone,
}

/// A page of a listing.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Most rows to return.
    pub limit: u32,
    /// Rows strictly after this `(created_at_ns, id)` in listing order.
    pub after: Option<(i64, SandboxId)>,
    /// Only sandboxes of exactly this name.
    pub name: Option<String>,
}

/// Changes to a sandbox's row; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    /// `Some(None)` frees the name (and with it `unique`).
    pub name: Option<Option<String>>,
    /// Held alone or a label.
    pub unique: Option<bool>,
    /// Replaces the environment.
    pub env: Option<BTreeMap<String, String>>,
}

/// Answer of [`super::Store::patch`].
#[derive(Clone, Debug, PartialEq)]
pub enum Patched {
    /// The row after the change.
    Done(Box<SandboxRow>),
    /// The name is held by this live sandbox.
    NameTaken(Box<SandboxRow>),
    /// `unique` without a name.
    NameMissing,
    /// No such live sandbox of this owner.
    NotFound,
}

/// How much history is kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// At most this many versions before the present one.
    pub versions: u64,
    /// Nothing older than this.
    pub older_than_ns: i64,
    /// Nothing younger than this is ever dropped.
    pub younger_than_ns: i64,
    /// At most this many bytes of contents held by history alone.
    pub bytes: u64,
    /// Exec log rows older than this go (never one that `history_from` needs).
    pub log_older_than_ns: i64,
}

/// What one collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Contents looked at.
    pub candidates: u64,
    /// Contents deleted.
    pub deleted: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Contents that a writer took up again in the meantime.
    pub spared: u64,
}

/// One check of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// How it stands.
    pub verdict: Verdict,
    /// One line: what was found and, if bad, what to do.
    pub detail: String,
}

/// Verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Works, but see the detail.
    Warn,
    /// `serve` refuses to start.
    Refuse,
}

/// Tokens that are no longer accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Revoked {
    /// The one of this id.
    Jti(String),
    /// Those of this owner that were made up to the moment of the revocation.
    Sub(Owner),
}

impl Revoked {
    /// As (kind, value) of a row.
    #[must_use]
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Jti(id) => ("jti", id),
            Self::Sub(owner) => ("sub", &owner.0),
        }
    }

    /// From a row; `None` for a kind that is not known.
    #[must_use]
    pub fn from_parts(kind: &str, value: String) -> Option<Self> {
        match kind {
            "jti" => Some(Self::Jti(value)),
            "sub" => Some(Self::Sub(Owner(value.into()))),
            _ => None,
        }
    }
}

/// One entry of the list of revoked tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// Which tokens.
    pub what: Revoked,
    /// When; wall ns.
    pub at_ns: i64,
}

/// What the live sandboxes of a tenant hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many there are.
    pub sandboxes: u64,
    /// Their inodes.
    pub entries: u64,
    /// Sum of their file sizes; a content that several name counts each time.
    pub bytes: u64,
}
