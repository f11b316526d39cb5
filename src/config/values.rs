//! How a setting's text becomes a value. Each says what is allowed when it cannot; none
//! repeats the text, which may be a secret.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::{Interpreter, LeaseMode, LogFormat, MAX_BYTES, RedisDown, Secret, VersionCheck};

pub(super) fn number<T, const MIN: u64, const MAX: u64>(text: &str) -> Result<T, String>
where
    T: TryFrom<u64>,
{
    let value = text.parse::<u64>().ok().filter(|n| (MIN..=MAX).contains(n));
    value
        .and_then(|n| T::try_from(n).ok())
        .ok_or_else(|| format!("must be a whole number from {MIN} to {MAX}"))
}

pub(super) fn optional_number(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() { Ok(None) } else { number::<u64, 0, MAX_BYTES>(text).map(Some) }
}

pub(super) fn millis<const MIN: u64, const MAX: u64>(text: &str) -> Result<Duration, String> {
    number::<u64, MIN, MAX>(text).map(Duration::from_millis)
}

pub(super) fn seconds<const MIN: u64, const MAX: u64>(text: &str) -> Result<Duration, String> {
    number::<u64, MIN, MAX>(text).map(Duration::from_secs)
}

pub(super) fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "must be an IP address, such as 127.0.0.1 or 0.0.0.0".into())
}

pub(super) fn http_url(text: &str) -> Result<Option<String>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let fine = text.starts_with("http://") || text.starts_with("https://");
    if fine { Ok(Some(text.to_owned())) } else { Err("must be an http:// or https:// URL".into()) }
}

pub(super) fn flag(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("must be true or false".into()),
    }
}

pub(super) fn optional_flag(text: &str) -> Result<Option<bool>, String> {
    if text.is_empty() { Ok(None) } else { flag(text).map(Some) }
}

#[expect(clippy::unnecessary_wraps, reason = "all parsers have one shape")]
pub(super) fn text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

#[expect(clippy::unnecessary_wraps, reason = "all parsers have one shape")]
pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    Ok(PathBuf::from(text))
}

#[expect(clippy::unnecessary_wraps, reason = "all parsers have one shape")]
pub(super) fn optional_path(text: &str) -> Result<Option<PathBuf>, String> {
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

#[expect(clippy::unnecessary_wraps, reason = "all parsers have one shape")]
pub(super) fn secret(text: &str) -> Result<Option<Secret>, String> {
    Ok((!text.is_empty()).then(|| Secret(text.to_owned())))
}

/// A secret that comes as a Bearer: anything else would never be equal to what was sent.
pub(super) fn key(text: &str) -> Result<Option<Secret>, String> {
    if text.bytes().all(|b| b.is_ascii_graphic()) {
        return secret(text);
    }
    Err("must be visible ASCII without spaces or line ends, as it stands in a header".into())
}

pub(super) fn header_name(text: &str) -> Result<String, String> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let name = text.to_ascii_lowercase();
    // Those that the request itself needs for other things.
    let taken = [
        "accept",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "mcp-protocol-version",
        "mcp-session-id",
        "origin",
        "transfer-encoding",
        "x-request-id",
    ];
    let taken = taken.contains(&&*name);
    if name.bytes().all(token) && !taken {
        Ok(name)
    } else {
        Err("must be the name of a header of its own".into())
    }
}

pub(super) fn owner(text: &str) -> Result<Option<String>, String> {
    match text {
        "" => Ok(None),
        // As in the header: it would make one owner of all users.
        _ if text.contains("{{") => Err("must not be a placeholder that nobody filled in".into()),
        _ if text.len() <= 256 && !text.chars().any(char::is_control) => Ok(Some(text.to_owned())),
        _ => Err("must be 1 to 256 bytes without control characters".into()),
    }
}

pub(super) fn tenant(text: &str) -> Result<String, String> {
    match check_tenant(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(_) => Err("must be 1 to 64 letters, digits, - or _".into()),
    }
}

pub(super) fn postgres(text: &str) -> Result<Option<Secret>, String> {
    if text.is_empty() || text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return secret(text);
    }
    Err("must start with postgres:// or postgresql://".into())
}

pub(super) fn database(text: &str) -> Result<Option<Secret>, String> {
    postgres(text).map_err(|why| format!("{why}; for SQLite unset it and set SQLFS_DATA_DIR"))
}

pub(super) fn tenants(text: &str) -> Result<BTreeMap<String, Secret>, String> {
    if text.is_empty() {
        return Ok(BTreeMap::new());
    }
    // The JSON is not repeated in errors: it holds passwords.
    let shape = || "must be a JSON object of texts, as in {\"acme\": \"postgres://…\"}".to_owned();
    let parsed: BTreeMap<String, String> = serde_json::from_str(text).map_err(|_| shape())?;
    let check = |(tenant, url): (String, String)| {
        check_tenant(&tenant)?;
        match postgres(&url).map_err(|why| format!("{tenant}: {why}"))? {
            Some(url) => Ok((tenant, url)),
            None => Err(format!("{tenant}: must start with postgres:// or postgresql://")),
        }
    };
    parsed.into_iter().map(check).collect()
}

/// A tenant's name: 1 to 64 of letters, digits, `-`, `_`.
pub fn check_tenant(tenant: &str) -> Result<(), String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let fine = (1..=64).contains(&tenant.len()) && tenant.bytes().all(allowed);
    if fine { Ok(()) } else { Err("tenant: expected 1 to 64 letters, digits, - or _".into()) }
}

pub(super) fn redis(text: &str) -> Result<Option<Secret>, String> {
    if text.is_empty() || text.starts_with("redis://") || text.starts_with("rediss://") {
        return secret(text);
    }
    Err("must start with redis:// or rediss://".into())
}

/// Processes where they can be, unless it is said otherwise.
pub(super) fn interpreter(text: &str) -> Result<Interpreter, String> {
    match text {
        #[cfg(target_os = "linux")]
        "" | "process" => Ok(Interpreter::Process),
        #[cfg(not(target_os = "linux"))]
        "" => Ok(Interpreter::Thread),
        "thread" => Ok(Interpreter::Thread),
        _ if cfg!(target_os = "linux") => Err("must be process or thread".into()),
        _ => Err("must be thread; worker processes need Linux".into()),
    }
}

pub(super) fn redis_down(text: &str) -> Result<RedisDown, String> {
    match text {
        "degrade" => Ok(RedisDown::Degrade),
        "refuse" => Ok(RedisDown::Refuse),
        _ => Err("must be degrade or refuse".into()),
    }
}

pub(super) fn lease_mode(text: &str) -> Result<LeaseMode, String> {
    match text {
        "lease" => Ok(LeaseMode::Lease),
        "preemptible" => Ok(LeaseMode::Preemptible),
        _ => Err("must be lease or preemptible".into()),
    }
}

pub(super) fn version_check(text: &str) -> Result<VersionCheck, String> {
    match text {
        "postgres" => Ok(VersionCheck::Postgres),
        "redis" => Ok(VersionCheck::Redis),
        _ => Err("must be postgres or redis".into()),
    }
}

pub(super) fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("must be text or json".into()),
    }
}
