//! The codes of error replies: each with its one status and what it means. Errors that
//! are not in this table cannot be made (`error.rs` checks), and all of them are
//! documented by `/openapi.json`.

/// A code of error replies.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// As it stands in `code`.
    pub name: &'static str,
    /// HTTP status that it comes with.
    pub status: u16,
    /// Meaning.
    pub about: &'static str,
}

const fn code(status: u16, name: &'static str, about: &'static str) -> Code {
    Code { name, status, about }
}

/// All codes, by status.
pub const CODES: &[Code] = &[
    code(400, "INVALID_INPUT", "something is not as it must be; the text names it and what is allowed"),
    code(
        400,
        "UNKNOWN_FIELD",
        "a field or query parameter that the route does not have; `details` lists those it has",
    ),
    code(400, "EINVAL", "the file system cannot do that with this path or name"),
    code(400, "EISDIR", "the path is a directory"),
    code(400, "ENOTDIR", "a part of the path is no directory"),
    code(400, "ELOOP", "too many symbolic links on the path"),
    code(400, "ENAMETOOLONG", "a name over 255 bytes or a path over 4096"),
    code(400, "EDIT_BINARY", "the file is not UTF-8 text"),
    code(401, "AUTH_REQUIRED", "no token was sent"),
    code(401, "AUTH_INVALID", "the token is not one of this server, or has expired"),
    code(401, "AUTH_UNKNOWN_TENANT", "there is no such tenant"),
    code(403, "FORBIDDEN", "the secret is missing or wrong"),
    code(403, "NOT_PERMITTED", "this server does not let sandboxes have that; the text says what it does"),
    code(403, "EPERM", "no call may do that to this path, such as removing the root"),
    code(404, "SANDBOX_NOT_FOUND", "no such sandbox, or another owner's"),
    code(404, "ENOENT", "no such file or directory"),
    code(404, "NOT_FOUND", "no such route"),
    code(405, "METHOD_NOT_ALLOWED", "the route has no such method; `Allow` names those it has"),
    code(
        408,
        "EXEC_TIMEOUT",
        "the script was cut off at its timeout; the body also has `timedOut`, `durationMs`, `stdout`, `stderr`",
    ),
    code(409, "EEXIST", "the path exists"),
    code(409, "ENOTEMPTY", "the directory is not empty"),
    code(409, "NAME_TAKEN", "the unique name is held; `holderId` says by which sandbox"),
    code(409, "EDIT_NO_MATCH", "oldString does not occur"),
    code(409, "EDIT_NOT_UNIQUE", "oldString occurs more than once; `count` says how often"),
    code(409, "CONFLICT", "another replica committed first, and again after the automatic retry"),
    code(
        412,
        "VERSION_MISMATCH",
        "the sandbox is not in the state asked for; the body has `version` and `head`",
    ),
    code(412, "ETAG_MISMATCH", "the file is not in the state asked for"),
    code(413, "PAYLOAD_TOO_LARGE", "over a limit; `limit` names it"),
    code(413, "EFBIG", "a file over MAX_FILE_WRITE_BYTES"),
    code(415, "UNSUPPORTED_MEDIA_TYPE", "a Content-Type or Content-Encoding that the route does not take"),
    code(416, "RANGE_NOT_SATISFIABLE", "the range lies outside of the file"),
    code(422, "IDEMPOTENCY_KEY_REUSED", "the `Idempotency-Key` came with another request before"),
    code(422, "EREADONLY_VIOLATION", "a read-only script tried to write; `path` names the first path"),
    code(429, "RATE_LIMITED", "too many requests of this address; `Retry-After` says when again"),
    code(429, "QUEUE_FULL", "too many requests wait already; `limit` says how many may"),
    code(431, "HEADERS_TOO_LARGE", "the head is over 32 KiB"),
    code(500, "INTERNAL", "a fault of the server; its log has it under the request id"),
    code(503, "LEASE_TIMEOUT", "its turn did not come in time; nothing was run"),
    code(503, "LEASE_LOST", "the lease was lost; the script was ended and left no trace"),
    code(503, "RUNTIME_BUSY", "no place for a program of `node` or `python3`; the script left no trace"),
    code(503, "SHUTTING_DOWN", "the server is shutting down; nothing was applied"),
    code(503, "STORE_UNAVAILABLE", "the database cannot be reached"),
    code(503, "COORDINATION_UNAVAILABLE", "the lease server cannot be reached; nothing was run"),
    code(503, "OUTCOME_UNKNOWN", "whether it was applied cannot be told while the database is away"),
    code(507, "MEMORY_LIMIT", "the script or the write needs more memory than it may have"),
    code(507, "ENOSPC", "the sandbox or the tenant is full; `limit` says of what"),
];

/// A code by its name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Code> {
    CODES.iter().find(|code| code.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The words in quotes that look like codes.
    fn codes_in(source: &str) -> BTreeSet<&str> {
        let code = |w: &&str| w.len() > 3 && w.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        source.split('"').skip(1).step_by(2).filter(code).filter(|w| !w.starts_with("MAX_")).collect()
    }

    #[test]
    fn the_table_has_what_the_source_makes_and_nothing_else() {
        let made = codes_in(include_str!("error.rs"));
        let auth = codes_in(include_str!("auth.rs"));
        let made: BTreeSet<_> = made.union(&auth).copied().collect();
        let table: BTreeSet<_> = CODES.iter().map(|code| code.name).collect();
        assert_eq!(table.len(), CODES.len(), "a code occurs twice");
        assert_eq!(made, table);
    }
}
