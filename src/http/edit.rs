//! Replacing text within a file.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;

use super::HttpState;
use super::body::{self, Cap};
use super::error::{ApiError, ApiResult};
use super::extract::{FilePath, Query, Target};
use super::files::fs_error;
use super::json::Fields;
use super::options::no_idempotency_key;
use super::wire::Edited;
use crate::fs::Errno;
use crate::session::{Edit, SessionError};

/// `PATCH …/files/{path}`. Mode and byte order mark stay, since nothing but the match
/// is touched.
pub async fn patch(
    State(state): State<HttpState>,
    target: Target,
    FilePath(path): FilePath,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<Edited>> {
    query.none()?;
    no_idempotency_key(&headers)?;
    let cap = Cap { bytes: state.config.max_request_body_bytes, name: "MAX_REQUEST_BODY_BYTES" };
    let fields =
        Fields::of(body::json(&headers, body, cap).await?, &["oldString", "newString", "replaceAll"])?;
    edit(&state, target, path, fields).await.map(Json)
}

/// Replaces text in a file as the fields say.
pub async fn edit(state: &HttpState, target: Target, path: String, mut fields: Fields) -> ApiResult<Edited> {
    let old = fields.required_text("oldString")?;
    let new = fields.required_text("newString")?;
    let all = fields.flag("replaceAll")?.unwrap_or(false);
    if old.is_empty() {
        return Err(ApiError::invalid("oldString: must not be empty"));
    }
    if old == new {
        return Err(ApiError::invalid("newString: is the same as oldString"));
    }
    let limit = state.config.max_file_write_bytes;
    let named = path.clone();
    let edit: Edit<(usize, usize)> = Arc::new(move |copy| {
        let before = copy.read(&path).map_err(|errno| fs_error(errno, &path))?;
        let (after, replacements) = replace(&path, &before, &old, &new, all, limit)?;
        copy.write(&path, after.as_bytes()).map_err(|errno| fs_error(errno, &path))?;
        Ok((replacements, after.len()))
    });
    let Target { caller, request_id, sandbox } = target;
    let ((replacements, size), ..) = state.service.write(&caller, &request_id, sandbox, None, edit).await?;
    Ok(Edited { path: named, replacements, size })
}

fn replace(
    path: &str,
    before: &[u8],
    old: &str,
    new: &str,
    all: bool,
    limit: u64,
) -> Result<(String, usize), SessionError> {
    let named = || path.to_owned();
    let text = std::str::from_utf8(before)
        .ok()
        .filter(|text| !text.contains('\0'))
        .ok_or_else(|| SessionError::EditBinary { path: named() })?;
    let Some(first) = text.find(old) else { return Err(SessionError::EditNoMatch { path: named() }) };
    let count = text.matches(old).count();
    if !all {
        // "aa" occurs twice in "aaa": which one is meant cannot be told.
        let step = old.chars().next().map_or(1, char::len_utf8);
        let again = text[first + step..].contains(old);
        if again {
            return Err(SessionError::EditNotUnique { path: named(), count: count.max(2) });
        }
    }
    // Known before it is built: a short match in a large file may grow it a lot.
    let size = text.len() as u64 - (count * old.len()) as u64 + count as u64 * new.len() as u64;
    if size > limit {
        return Err(fs_error(Errno::EFBIG, path));
    }
    Ok((text.replace(old, new), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(before: &str, old: &str, new: &str, all: bool) -> Result<(String, usize), SessionError> {
        replace("/f", before.as_bytes(), old, new, all, 1000)
    }

    #[test]
    fn replaces_what_is_unique_or_all() {
        assert_eq!(run("a b c", "b", "x", false).unwrap(), ("a x c".into(), 1));
        assert_eq!(run("b b b", "b", "xx", true).unwrap(), ("xx xx xx".into(), 3));
        assert_eq!(run("aaa", "aa", "b", true).unwrap(), ("ba".into(), 1));
        let marked = run("\u{feff}a\r\nb", "b", "c", false).unwrap().0;
        assert_eq!(marked, "\u{feff}a\r\nc");
        assert_eq!(run("a", "a", "", false).unwrap(), (String::new(), 1));
    }

    #[test]
    fn refuses_what_is_not_clear() {
        assert!(matches!(run("a", "b", "c", false), Err(SessionError::EditNoMatch { .. })));
        assert!(matches!(run("b b", "b", "c", false), Err(SessionError::EditNotUnique { count: 2, .. })));
        assert!(matches!(run("aaa", "aa", "c", false), Err(SessionError::EditNotUnique { count: 2, .. })));
        assert!(matches!(run("ééé", "éé", "c", false), Err(SessionError::EditNotUnique { .. })));
        let binary = |bytes: &[u8]| replace("/f", bytes, "a", "b", false, 1000);
        assert!(matches!(binary(b"a\xff"), Err(SessionError::EditBinary { .. })));
        assert!(matches!(binary(b"a\0"), Err(SessionError::EditBinary { .. })));
        let grown = replace("/f", "a".repeat(100).as_bytes(), "a", &"b".repeat(11), true, 1000);
        assert!(matches!(grown, Err(SessionError::Fs { errno: Errno::EFBIG, .. })));
    }
}
