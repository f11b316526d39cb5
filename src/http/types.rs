//! Shapes of replies that several routes share.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use crate::fs::Kind;
use crate::session::SandboxRow;

/// RFC 3339 in UTC with milliseconds, of nanoseconds since the Unix epoch.
#[must_use]
pub fn rfc3339(ns: i64) -> String {
    DateTime::<Utc>::from_timestamp_nanos(ns).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// RFC 3339 in UTC with as many digits (0, 3, 6 or 9) as the time has.
#[must_use]
pub fn rfc3339_exact(ns: i64) -> String {
    DateTime::<Utc>::from_timestamp_nanos(ns).to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// The kind as it stands in replies.
#[must_use]
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Dir => "dir",
        Kind::Symlink => "symlink",
    }
}

/// A sandbox's record. `fileCount` counts files, directories and links.
#[must_use]
pub fn record(row: &SandboxRow) -> Value {
    let network = row.network.as_deref().and_then(|text| serde_json::from_str(text).ok());
    json!({
        "id": row.id,
        "name": row.name,
        "unique": row.unique,
        "owner": &*row.owner.0,
        "createdAt": rfc3339(row.created_at_ns),
        "lastUsedAt": rfc3339(row.last_used_at_ns),
        "env": row.env,
        "python": row.python,
        "javascript": row.javascript,
        "network": network.unwrap_or(Value::Bool(false)),
        "version": row.version,
        "head": row.head,
        "fileCount": row.entries,
        "totalBytes": row.bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(rfc3339(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123Z");
        assert_eq!(rfc3339_exact(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123456789Z");
        assert_eq!(rfc3339_exact(-1_000_000_000), "1969-12-31T23:59:59Z");
    }
}
