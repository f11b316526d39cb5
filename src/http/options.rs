//! Options of exec requests, from JSON or from a query.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, header};

use super::error::{ApiError, ApiResult};
use super::extract;
use super::json::Fields;
use super::text::Encoding;
use crate::session::{ExecMode, ExecRequest, Expect};

/// Fields of an exec.
pub const EXEC_FIELDS: &[&str] = &[
    "script",
    "cwd",
    "env",
    "stdin",
    "args",
    "timeoutMs",
    "readOnly",
    "snapshot",
    "rollbackOnError",
    "dryRun",
    "ifVersion",
    "encoding",
    "debug",
    "retryOn5xx",
];

/// At most one effect for each: on exec and exec-sync.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Bytes of a key.
pub const LONGEST_KEY: usize = 255;
const DEFAULT_TIMEOUT_MS: i64 = 30_000;
/// The range of every timeout, milliseconds.
pub const TIMEOUT_MS: std::ops::RangeInclusive<i64> = 1..=300_000;

/// Reads the fields of an exec.
pub fn exec_request(mut fields: Fields, headers: &HeaderMap) -> ApiResult<(ExecRequest, Encoding)> {
    let script = fields.clean_text("script")?.ok_or_else(|| fields.missing("script"))?;
    if script.is_empty() {
        return Err(ApiError::invalid("script: must not be empty"));
    }
    let cwd = fields.text("cwd")?.map(|cwd| absolute_cwd(&cwd)).transpose()?;
    let read_only = fields.flag("readOnly")?.unwrap_or(false);
    let snapshot = fields.flag("snapshot")?.unwrap_or(false);
    if snapshot && !read_only {
        return Err(ApiError::invalid("snapshot: only together with readOnly"));
    }
    let encoding = Encoding::of(&mut fields)?;
    // A hint that the published client sends to itself.
    fields.flag("retryOn5xx")?;
    let request = ExecRequest {
        script,
        cwd,
        env: env_field(&mut fields)?.unwrap_or_default(),
        stdin: fields.text("stdin")?.map(String::into_bytes),
        args: fields.texts("args")?.unwrap_or_default(),
        timeout: millis_field(&mut fields, "timeoutMs")?
            .unwrap_or(Duration::from_millis(DEFAULT_TIMEOUT_MS as u64)),
        mode: if read_only { ExecMode::Read { snapshot } } else { ExecMode::Write },
        rollback_on_error: fields.flag("rollbackOnError")?.unwrap_or(false),
        dry_run: fields.flag("dryRun")?.unwrap_or(false),
        expect: expect(&mut fields, headers)?,
        debug: fields.flag("debug")?.unwrap_or(false),
        key: idempotency_key(headers)?,
    };
    Ok((request, encoding))
}

/// The request's `Idempotency-Key`.
fn idempotency_key(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = value.to_str().ok().filter(|_| values.next().is_none());
    let fits =
        |key: &&str| (1..=LONGEST_KEY).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic());
    key.filter(fits).map(|key| Some(key.to_owned())).ok_or_else(|| {
        ApiError::invalid(format!(
            "Idempotency-Key: expected one key of 1 to {LONGEST_KEY} visible characters of ASCII"
        ))
    })
}

/// Refuses a key where nothing is kept under it: a client that counts on it must know.
pub fn no_idempotency_key(headers: &HeaderMap) -> ApiResult<()> {
    if headers.contains_key(IDEMPOTENCY_KEY) {
        return Err(ApiError::invalid(
            "Idempotency-Key: only exec and exec-sync take one; here it would not keep a second request from \
             having an effect",
        ));
    }
    Ok(())
}

/// A timeout field.
pub fn millis_field(fields: &mut Fields, name: &str) -> ApiResult<Option<Duration>> {
    Ok(fields.integer(name, TIMEOUT_MS)?.map(|ms| Duration::from_millis(ms as u64)))
}

/// The field `env`, names and values checked.
pub fn env_field(fields: &mut Fields) -> ApiResult<Option<BTreeMap<String, String>>> {
    let Some(env) = fields.text_map("env")? else { return Ok(None) };
    for (name, value) in &env {
        let mut bytes = name.bytes();
        let begins = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        if !begins || !bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(ApiError::invalid(format!(
                "env: {:?} is no variable name; expected letters, digits and _, not beginning with a digit",
                name.chars().take(64).collect::<String>()
            )));
        }
        if value.contains('\0') {
            return Err(ApiError::invalid(format!("env[{name:?}]: holds a NUL")));
        }
    }
    Ok(Some(env))
}

/// `..` is fine here: the script's `cd` understands it.
fn absolute_cwd(cwd: &str) -> ApiResult<String> {
    if cwd.contains("..") && cwd.starts_with('/') && !cwd.contains('\0') {
        return Ok(cwd.to_owned());
    }
    extract::absolute("cwd", cwd)
}

fn expect(fields: &mut Fields, headers: &HeaderMap) -> ApiResult<Option<Expect>> {
    let version = fields.integer("ifVersion", 0..=i64::MAX)?.map(Expect::Version);
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(version) };
    let quoted = value.to_str().ok().and_then(|v| v.trim().strip_prefix('"')?.strip_suffix('"'));
    let head = quoted.and_then(|head| head.parse().ok()).map(Expect::Head);
    match (version, head) {
        (Some(_), _) => Err(ApiError::invalid("ifVersion and If-Match: send one of them")),
        (None, None) => {
            Err(ApiError::invalid("If-Match: expected one head in double quotes, as replies give it"))
        }
        (None, head) => Ok(head),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Head;
    use serde_json::{Value, json};

    fn parse(body: Value) -> ApiResult<(ExecRequest, Encoding)> {
        exec_request(Fields::of(body, EXEC_FIELDS)?, &HeaderMap::new())
    }

    #[test]
    fn defaults() {
        let (request, encoding) = parse(json!({"script": "ls"})).unwrap();
        assert_eq!((request.timeout.as_millis(), request.mode), (30_000, ExecMode::Write));
        assert_eq!((request.cwd, request.stdin, request.expect), (None, None, None));
        assert!(request.args.is_empty() && !request.dry_run && !request.rollback_on_error && !request.debug);
        assert_eq!(encoding, Encoding::Utf8);
    }

    #[test]
    fn refusals_name_the_field() {
        for (body, says) in [
            (json!({}), "script is required"),
            (json!({"script": ""}), "script: must not be empty"),
            (json!({"script": "a\0"}), "script: holds a NUL at byte 1"),
            (json!({"script": "a", "cwd": "x"}), "cwd: expected an absolute path, got \"x\""),
            (json!({"script": "a", "snapshot": true}), "snapshot: only together with readOnly"),
            (json!({"script": "a", "encoding": "hex"}), "encoding: expected utf8 or base64, got \"hex\""),
            (
                json!({"script": "a", "timeoutMs": 0}),
                "timeoutMs: expected a whole number from 1 to 300000, got 0",
            ),
            (json!({"script": "a", "env": {"A=B": "1"}}), "env: \"A=B\" is no variable name"),
            (json!({"script": "a", "env": {"": "1"}}), "env: \"\" is no variable name"),
            (json!({"script": "a", "env": {"PATH\n": "1"}}), "env: \"PATH\\n\" is no variable name"),
            (json!({"script": "a", "env": {"1A": "1"}}), "env: \"1A\" is no variable name"),
            (json!({"script": "a", "env": {"A": "\0"}}), "env[\"A\"]: holds a NUL"),
            (json!({"script": "a", "ifVersion": -1}), "ifVersion: expected a whole number from 0"),
        ] {
            let error = parse(body).unwrap_err();
            assert!(error.message().starts_with(says), "{}", error.message());
            assert_eq!(error.status(), 400);
        }
        let cwd = parse(json!({"script": "a", "cwd": "/a/../b"})).unwrap().0.cwd;
        assert_eq!(cwd.as_deref(), Some("/a/../b"));
    }

    #[test]
    fn keys() {
        let with = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(IDEMPOTENCY_KEY, value.parse().unwrap());
            }
            exec_request(Fields::of(json!({"script": "a"}), EXEC_FIELDS).unwrap(), &headers)
                .map(|(request, _)| request.key)
        };
        assert_eq!(with(&[]).unwrap(), None);
        let longest = "k".repeat(LONGEST_KEY);
        for good in ["a", "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"", &longest] {
            assert_eq!(with(&[good]).unwrap().as_deref(), Some(good));
        }
        for bad in [&[""][..], &["a b"], &["é"], &[&"k".repeat(LONGEST_KEY + 1)], &["a", "a"]] {
            let error = with(bad).unwrap_err();
            assert!(error.message().starts_with("Idempotency-Key: expected one key of 1 to 255"), "{bad:?}");
        }
    }

    #[test]
    fn preconditions() {
        let with = |value: &str, body: Value| {
            let headers = HeaderMap::from_iter([(header::IF_MATCH, value.parse().unwrap())]);
            exec_request(Fields::of(body, EXEC_FIELDS).unwrap(), &headers).map(|(request, _)| request.expect)
        };
        let head = Head::random();
        assert_eq!(with(&format!("\"{head}\""), json!({"script": "a"})).unwrap(), Some(Expect::Head(head)));
        for bad in ["*", "x", "\"x\"", "W/\"x\""] {
            assert_eq!(with(bad, json!({"script": "a"})).unwrap_err().code(), "INVALID_INPUT");
        }
        assert!(with(&format!("\"{head}\""), json!({"script": "a", "ifVersion": 1})).is_err());
        assert_eq!(parse(json!({"script": "a", "ifVersion": 3})).unwrap().0.expect, Some(Expect::Version(3)));
    }
}
