//! Reply bodies as types: what handlers serialize is what `/openapi.json` documents.
//! A doc comment here is the description that clients read there.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::types::rfc3339;
use crate::session::SandboxRow;

pub mod exec;

/// A sandbox.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    /// Made by the server, never used again.
    #[schema(format = "uuid")]
    pub id: String,
    /// A label; with `unique` a name that is held alone.
    #[schema(required = true)]
    pub name: Option<String>,
    /// Whether the name is held alone among the owner's sandboxes.
    pub unique: bool,
    /// The `sub` of the token that made it.
    pub owner: String,
    /// RFC 3339.
    #[schema(format = "date-time")]
    pub created_at: String,
    /// RFC 3339.
    #[schema(format = "date-time")]
    pub last_used_at: String,
    /// Environment of every script.
    pub env: BTreeMap<String, String>,
    /// As asked for at creation.
    pub python: bool,
    /// As asked for at creation.
    pub javascript: bool,
    /// Network permission: a switch, or the URL prefixes that are allowed.
    #[schema(value_type = super::openapi::requests::Network)]
    pub network: Value,
    /// Counts the commits; 0 is the first tree.
    #[schema(minimum = 0)]
    pub version: i64,
    /// Identity of the committed state; new at each commit.
    #[schema(format = "uuid")]
    pub head: String,
    /// Files, directories and links.
    pub file_count: u64,
    /// Sum of the file sizes.
    pub total_bytes: u64,
}

impl Sandbox {
    /// As the store has it.
    #[must_use]
    pub fn of(row: &SandboxRow) -> Self {
        let network = row.network.as_deref().and_then(|text| serde_json::from_str(text).ok());
        Self {
            id: row.id.to_string(),
            name: row.name.clone(),
            unique: row.unique,
            owner: row.owner.to_string(),
            created_at: rfc3339(row.created_at_ns),
            last_used_at: rfc3339(row.last_used_at_ns),
            env: row.env.clone(),
            python: row.python,
            javascript: row.javascript,
            network: network.unwrap_or(Value::Bool(false)),
            version: row.version,
            head: row.head.to_string(),
            file_count: row.entries,
            total_bytes: row.bytes,
        }
    }
}

/// One page of the caller's sandboxes, newest first.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPage {
    /// The sandboxes.
    pub sandboxes: Vec<Sandbox>,
    /// There are more: send it as `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next_cursor: Option<String>,
}

/// A token that was issued.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// For `Authorization: Bearer`.
    pub token: String,
    /// Whom it stands for.
    pub sub: String,
    /// Within which tenant.
    pub tenant: String,
    /// Its end, RFC 3339; null: it has none.
    #[schema(required = true, format = "date-time")]
    pub expires_at: Option<String>,
}

/// Tokens that were revoked.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revoked {
    /// The one of this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jti: Option<String>,
    /// Those of this owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// Within which tenant.
    pub tenant: String,
    /// Seconds until every replica refuses them.
    pub effective_within_seconds: u32,
}

/// What is a file, a directory or a symbolic link.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
}

impl From<crate::fs::Kind> for Kind {
    fn from(kind: crate::fs::Kind) -> Self {
        match kind {
            crate::fs::Kind::File => Self::File,
            crate::fs::Kind::Dir => Self::Dir,
            crate::fs::Kind::Symlink => Self::Symlink,
        }
    }
}

/// The header `X-FS-Stat` of a file, as JSON.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FileStat {
    /// Of a file that is served: `file`.
    pub kind: Kind,
    /// Permission bits, as a decimal number (0644 is 420).
    pub mode: u32,
    /// Bytes.
    pub size: u64,
    /// RFC 3339, as exact as it is kept.
    #[schema(format = "date-time")]
    pub mtime: String,
}

/// One entry of a tree.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TreeEntry<'a> {
    /// Absolute.
    pub path: &'a str,
    /// What it is.
    pub kind: Kind,
    /// Bytes; of a directory 4096.
    pub size: u64,
    /// Permission bits, as a decimal number.
    pub mode: u32,
    /// RFC 3339, as exact as it is kept.
    #[schema(format = "date-time")]
    pub mtime: String,
    /// Of a symbolic link: where it points.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub target: Option<&'a str>,
}

/// What an edit did.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Edited {
    /// The file.
    pub path: String,
    /// How many places were replaced.
    pub replacements: usize,
    /// Bytes of the file now.
    pub size: usize,
}

/// What an ingest did.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ingested {
    /// Always `ok`.
    pub status: &'static str,
    /// Files and links that were written.
    pub file_count: usize,
}

/// The process answers.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Live {
    /// Always `ok`.
    pub status: &'static str,
}

/// The server can work.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Ready {
    /// Always `ok`.
    pub status: &'static str,
    /// What is away without being needed, such as `redis`.
    pub degraded: Vec<String>,
}
