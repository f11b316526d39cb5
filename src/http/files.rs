//! Single files: read, write whole, delete.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::HttpState;
use super::body::{self, Cap};
use super::content::{Content, stage};
use super::error::{ApiError, ApiResult};
use super::extract::{FilePath, Query, Target, parent};
use super::range::{Part, part};
use super::sandboxes::check_file_size;
use super::types::rfc3339_exact;
use super::wire::FileStat;
use crate::fs::{Errno, Kind, Node, NodeBody, WorkingCopy};
use crate::ids::{Sha256, Version};
use crate::session::{Edit, ReadView, SessionError};

const X_FS_STAT: HeaderName = HeaderName::from_static("x-fs-stat");

/// Bytes that are read from the store and held at once.
const PIECE: u64 = 1 << 20;

/// Characters that stand for themselves in `filename*` (RFC 8187).
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// `GET …/files/{path}`.
pub async fn get(
    State(state): State<HttpState>,
    target: Target,
    FilePath(path): FilePath,
    query: Query,
    method: Method,
    headers: HeaderMap,
) -> ApiResult<Response> {
    query.none()?;
    let view = state.service.read(&target.caller, target.sandbox).await?;
    let node = view.tree.resolve(&path, true).map_err(|errno| ApiError::fs(errno, &path))?.1.clone();
    let NodeBody::File { size, sha256 } = node.body else {
        return Err(ApiError::fs(Errno::EISDIR, &path));
    };
    let etag = etag(sha256);
    let described = describe(&node, &path, &etag);
    if header_list(&headers, header::IF_NONE_MATCH).is_some_and(|list| list.matches(&etag)) {
        return Ok((StatusCode::NOT_MODIFIED, described).into_response());
    }
    let still_the_same = headers.get(header::IF_RANGE).is_none_or(|v| v.as_bytes() == etag.as_bytes());
    let wanted = headers.get(header::RANGE).filter(|_| still_the_same).and_then(|v| v.to_str().ok());
    let (status, start, len) = match part(wanted, size) {
        Part::Whole => (StatusCode::OK, 0, size),
        Part::Range { start, len } => (StatusCode::PARTIAL_CONTENT, start, len),
        Part::Outside => return Err(ApiError::range_not_satisfiable(size)),
    };
    let body = if method == Method::HEAD { Body::empty() } else { content(view, node, start, len).await? };
    let mut response = (status, described, body).into_response();
    response.headers_mut().insert(header::CONTENT_LENGTH, len.into());
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {start}-{}/{size}", start + len - 1);
        response.headers_mut().insert(header::CONTENT_RANGE, ascii(&range));
    }
    Ok(response)
}

/// Part of a file as a body; the first piece is read before there is a status.
async fn content(view: ReadView, node: Node, start: u64, len: u64) -> ApiResult<Body> {
    let end = start + len;
    let first = piece(&view, &node, start, end).await?;
    if first.len() as u64 == len {
        return Ok(first.into());
    }
    let next = start + first.len() as u64;
    let rest = stream::try_unfold((view, node, next), move |(view, node, at)| async move {
        if at == end {
            return Ok(None);
        }
        // The client sees a body that breaks off, which is what happened.
        let data = piece(&view, &node, at, end).await.map_err(std::io::Error::other)?;
        let next = at + data.len() as u64;
        Ok::<_, std::io::Error>(Some((data, (view, node, next))))
    });
    let all = futures_util::StreamExt::chain(stream::iter([Ok(first)]), rest);
    Ok(Body::from_stream(all))
}

async fn piece(view: &ReadView, node: &Node, at: u64, end: u64) -> ApiResult<Bytes> {
    if at == end {
        return Ok(Bytes::new());
    }
    let data = view.content(node, at, PIECE.min(end - at)).await?;
    if data.is_empty() {
        return Err(SessionError::Internal(format!("a content ends at {at}, before its size")).into());
    }
    Ok(data)
}

/// Headers of a file. Whatever it holds, no browser will run or show it.
fn describe(node: &Node, path: &str, etag: &str) -> HeaderMap {
    let stat = json!(FileStat {
        kind: node.kind().into(),
        mode: node.mode,
        size: node.size(),
        mtime: rfc3339_exact(node.mtime_ns),
    });
    let name = utf8_percent_encode(path.rsplit('/').next().unwrap_or_default(), PLAIN);
    HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_DISPOSITION, ascii(&format!("attachment; filename*=UTF-8''{name}"))),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (header::ETAG, ascii(etag)),
        (X_FS_STAT, ascii(&stat.to_string())),
    ])
}

fn ascii(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("made of visible ASCII only")
}

/// The entity tag of a content; that of empty content is the hash of nothing.
fn etag(sha256: Option<Sha256>) -> String {
    format!("\"{}\"", sha256.unwrap_or_else(|| Sha256::of(b"")))
}

/// `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tags {
    Any,
    These(Vec<String>),
}

impl Tags {
    fn matches(&self, etag: &str) -> bool {
        match self {
            Self::Any => true,
            Self::These(tags) => tags.iter().any(|tag| tag.trim_start_matches("W/") == etag),
        }
    }
}

fn header_list(headers: &HeaderMap, name: HeaderName) -> Option<Tags> {
    // What is no text must not count as absent: it becomes a tag that nothing has.
    let lines: Vec<_> =
        headers.get_all(name).iter().map(|line| line.to_str().unwrap_or("?").trim()).collect();
    match lines[..] {
        [] => None,
        ["*"] => Some(Tags::Any),
        _ => Some(Tags::These(lines.iter().flat_map(|line| split_tags(line)).collect())),
    }
}

/// The tags of one line. A comma within quotes belongs to its tag.
fn split_tags(line: &str) -> Vec<String> {
    let mut within = false;
    let at_comma = |c: char| {
        within ^= c == '"';
        c == ',' && !within
    };
    line.split(at_comma).map(|tag| tag.trim().to_owned()).collect()
}

/// What a PUT asks of the file that is there.
#[derive(Clone, Debug, Default)]
pub struct Precondition {
    matches: Option<Tags>,
    absent: bool,
}

impl Precondition {
    fn of(headers: &HeaderMap) -> ApiResult<Self> {
        let malformed =
            |name| ApiError::invalid(format!("{name}: expected * or entity tags in double quotes"));
        let matches = header_list(headers, header::IF_MATCH);
        let quoted = |tag: &String| {
            let inside = tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            inside.is_some_and(|inside| inside.bytes().all(|b| b.is_ascii_graphic() && b != b'"'))
        };
        if let Some(Tags::These(tags)) = &matches
            && !tags.iter().all(quoted)
        {
            return Err(malformed("If-Match"));
        }
        match header_list(headers, header::IF_NONE_MATCH) {
            None => Ok(Self { matches, absent: false }),
            Some(Tags::Any) => Ok(Self { matches, absent: true }),
            Some(Tags::These(_)) => {
                Err(ApiError::invalid("If-None-Match: only * is understood when writing"))
            }
        }
    }

    fn check(&self, copy: &WorkingCopy, path: &str) -> Result<(), SessionError> {
        if self.matches.is_none() && !self.absent {
            return Ok(());
        }
        let tree = copy.tree().map_err(|errno| fs_error(errno, path))?;
        let present = match tree.resolve(path, true) {
            Ok((_, node)) => match &node.body {
                NodeBody::File { sha256, .. } => Some(etag(*sha256)),
                NodeBody::Dir { .. } | NodeBody::Symlink { .. } => Some(String::new()),
            },
            Err(_) => None,
        };
        let fine = match (&self.matches, &present) {
            (None, _) => true,
            (Some(tags), Some(etag)) => tags.matches(etag),
            (Some(_), None) => false,
        };
        if fine && !(self.absent && present.is_some()) {
            return Ok(());
        }
        Err(SessionError::EtagMismatch { path: path.to_owned() })
    }
}

/// A failed call on a path.
#[must_use]
pub fn fs_error(errno: Errno, path: &str) -> SessionError {
    SessionError::Fs { errno, path: path.to_owned() }
}

/// `PUT …/files/{path}`: the parents are made, the mode of an existing file is kept.
pub async fn put(
    State(state): State<HttpState>,
    target: Target,
    FilePath(path): FilePath,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<StatusCode> {
    query.none()?;
    let precondition = Precondition::of(&headers)?;
    let limit = state.config.max_file_write_bytes;
    let cap = Cap { bytes: limit, name: "MAX_FILE_WRITE_BYTES" };
    let data = body::read(&headers, body, cap).await.map_err(|error| match error.code() {
        "PAYLOAD_TOO_LARGE" => ApiError::file_too_large(&path, limit),
        _ => error,
    })?;
    write_whole(&state, target, path, precondition, data).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes `data` the whole content of a file; with its parents, in one transaction. The
/// version after that.
pub async fn write_whole(
    state: &HttpState,
    target: Target,
    path: String,
    precondition: Precondition,
    data: Bytes,
) -> ApiResult<Version> {
    check_file_size(state, &path, data.len() as u64)?;
    let content: Arc<[Content]> = stage(state, &target, vec![data]).await?.into();
    let edit: Edit<()> = Arc::new(move |copy| {
        precondition.check(copy, &path)?;
        let directory = parent(&path);
        copy.make_dirs(directory).map_err(|errno| fs_error(errno, directory))?;
        content
            .iter()
            .try_for_each(|content| content.write(copy, &path))
            .map_err(|errno| fs_error(errno, &path))
    });
    let Target { caller, request_id, sandbox } = target;
    let ((), version, _) = state.service.write(&caller, &request_id, sandbox, None, edit).await?;
    Ok(version)
}

/// `DELETE …/files/{path}?recursive=`.
pub async fn delete(
    State(state): State<HttpState>,
    target: Target,
    FilePath(path): FilePath,
    query: Query,
) -> ApiResult<StatusCode> {
    let recursive = query.fields(&["recursive"])?.flag("recursive")?.unwrap_or(false);
    let edit: Edit<()> = Arc::new(move |copy| {
        let kind = copy.stat(&path, false).map_err(|errno| fs_error(errno, &path))?.kind;
        let done = match kind {
            Kind::Dir if recursive => copy.remove_all(&path),
            Kind::Dir => copy.rmdir(&path),
            Kind::File | Kind::Symlink => copy.unlink(&path),
        };
        done.map_err(|errno| fs_error(errno, &path))
    });
    let Target { caller, request_id, sandbox } = target;
    state.service.write(&caller, &request_id, sandbox, None, edit).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_the_header() {
        let node = Node {
            mode: 0o644,
            mtime_ns: 1_000_000_001,
            nlink: 1,
            body: NodeBody::File { size: 0, sha256: None },
        };
        let headers = describe(&node, "/a/a\"\r\nSet-Cookie: x=1.html", &etag(None));
        assert_eq!(
            headers[header::CONTENT_DISPOSITION],
            "attachment; filename*=UTF-8''a%22%0D%0ASet-Cookie%3A%20x%3D1.html"
        );
        let stat: serde_json::Value = serde_json::from_slice(headers[X_FS_STAT].as_bytes()).unwrap();
        let expected =
            json!({"kind": "file", "mode": 420, "size": 0, "mtime": "1970-01-01T00:00:01.000000001Z"});
        assert_eq!(stat, expected);
    }

    #[test]
    fn entity_tags() {
        let with = |name, value: &str| HeaderMap::from_iter([(name, value.parse().unwrap())]);
        let tag = etag(Some(Sha256::of(b"x")));
        let none_match =
            |v: &str| header_list(&with(header::IF_NONE_MATCH, v), header::IF_NONE_MATCH).unwrap();
        assert!(none_match(&tag).matches(&tag) && none_match("*").matches(&tag));
        assert!(none_match(&format!("\"a\", W/{tag}")).matches(&tag));
        assert!(!none_match("\"a\"").matches(&tag));
        assert_eq!(none_match("\"a,b\", \"c\""), Tags::These(vec!["\"a,b\"".into(), "\"c\"".into()]));
        for bad in ["abc", "", "\"", "\"a", "\"a\"b\"", "\"a b\"", "\"a\",", "W/\"a\""] {
            assert!(Precondition::of(&with(header::IF_MATCH, bad)).is_err(), "{bad}");
        }
        let bytes = HeaderValue::from_bytes(b"\"\xff\"").unwrap();
        assert!(Precondition::of(&HeaderMap::from_iter([(header::IF_MATCH, bytes)])).is_err());
        let mut two = with(header::IF_MATCH, "\"a\"");
        two.append(header::IF_MATCH, tag.parse().unwrap());
        assert!(Precondition::of(&two).unwrap().matches.unwrap().matches(&tag));
        assert!(Precondition::of(&with(header::IF_NONE_MATCH, "\"a\"")).is_err());
        assert!(Precondition::of(&with(header::IF_NONE_MATCH, "*")).unwrap().absent);
    }
}
