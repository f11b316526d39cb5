//! Many files at once: a list in JSON, or a tar archive, streamed.

use std::io::Read;
use std::sync::{Arc, OnceLock};

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::io::{StreamReader, SyncIoBridge};

use super::HttpState;
use super::apply::apply;
use super::archive::{self, Entry, Limits, What};
use super::body::{self, Cap, off_workers};
use super::content::{Batch, Budget, Content, stage};
use super::error::{ApiError, ApiResult};
use super::extract::{self, Query, Target};
use super::json::Fields;
use super::sandboxes::check_file_size;
use super::wire::Ingested;
use crate::session::Edit;

/// Where files go, and come from, unless the request says otherwise.
pub const DEFAULT_BASE: &str = "/home/user";

/// Batches of one ingest that are flushed while the next one is read.
const FLUSHES: usize = 2;

/// `POST …/ingest-files`.
pub async fn ingest_files(
    State(state): State<HttpState>,
    target: Target,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<Ingested>> {
    query.none()?;
    let cap = Cap { bytes: state.config.max_request_body_bytes, name: "MAX_REQUEST_BODY_BYTES" };
    let mut fields = Fields::of(body::json(&headers, body, cap).await?, &["basePath", "files"])?;
    let base = extract::absolute("basePath", &fields.required_text("basePath")?)?;
    let encoded = fields.text_map("files")?.ok_or_else(|| fields.missing("files"))?;
    check_number(&state, encoded.len())?;
    let mut files = Vec::with_capacity(encoded.len());
    for (name, encoded) in encoded {
        let data = decode(&name, encoded).await?;
        files.push((name, data));
    }
    ingest_list(&state, target, base, files).await.map(Json)
}

/// The limit of files of one ingest.
pub fn check_number(state: &HttpState, files: usize) -> ApiResult<()> {
    let limit = state.config.max_ingest_files;
    if files <= limit {
        return Ok(());
    }
    Err(ApiError::too_large("the files are", limit as u64, "files", "MAX_INGEST_FILES"))
}

/// Writes files, named by paths relative to `base`, all or none.
pub async fn ingest_list(
    state: &HttpState,
    target: Target,
    base: String,
    files: Vec<(String, Bytes)>,
) -> ApiResult<Ingested> {
    let limits = limits(state);
    let mut bytes = 0;
    let (mut paths, mut contents) = (Vec::with_capacity(files.len()), Vec::with_capacity(files.len()));
    for (name, data) in files {
        let path = extract::relative("files", &name)?;
        check_file_size(state, &path, data.len() as u64)?;
        bytes += data.len() as u64;
        if bytes > limits.bytes {
            return Err(ApiError::too_large("the files are", limits.bytes, "bytes", "MAX_INGEST_BYTES"));
        }
        paths.push(path);
        contents.push(data);
    }
    let contents = stage(state, &target, contents).await?;
    let entry = |(path, content)| Entry { path, what: What::File(content), mode: None, mtime_ns: None };
    let entries = paths.into_iter().zip(contents).map(entry).collect();
    write(state, target, base, entries).await
}

/// The bytes of a file that travels as base64.
pub async fn decode(name: &str, encoded: String) -> ApiResult<Bytes> {
    const ELSEWHERE: usize = 256 << 10;
    let decoded = if encoded.len() < ELSEWHERE {
        BASE64.decode(encoded)
    } else {
        off_workers(move || BASE64.decode(encoded)).await?
    };
    decoded
        .map(Bytes::from)
        .map_err(|error| ApiError::invalid(format!("files[{name:?}]: not base64: {error}")))
}

/// `POST …/ingest?basePath=`.
pub async fn ingest(
    State(state): State<HttpState>,
    target: Target,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<Ingested>> {
    let mut params = query.fields(&["basePath"])?;
    let base = params.text("basePath")?.unwrap_or_else(|| DEFAULT_BASE.into());
    let base = extract::absolute("basePath", &base)?;
    check_types(&headers)?;
    // Refused before the body is read, not after.
    state.service.get(&target.caller, target.sandbox).await?;
    let cap = Cap { bytes: state.config.max_request_body_bytes, name: "MAX_REQUEST_BODY_BYTES" };
    let pieces = body::pieces(&headers, body, cap)?;
    // What ended the body, if something did: tar and gzip only see a read that failed.
    let cause: Arc<OnceLock<ApiError>> = Arc::default();
    let noted = cause.clone();
    let pieces = pieces.map_err(move |error| {
        let message = error.to_string();
        let _ = noted.set(error);
        std::io::Error::other(message)
    });
    let reader = SyncIoBridge::new(StreamReader::new(pieces.boxed()));
    let entries = {
        let (state, target) = (state.clone(), target.clone());
        let handle = Handle::current();
        off_workers(move || unpack(reader, &state, &target, &handle)).await?
    };
    let entries = entries.map_err(|error| cause.get().cloned().unwrap_or(error))?;
    write(&state, target, base, entries).await.map(Json)
}

fn limits(state: &HttpState) -> Limits {
    let config = &state.config;
    Limits {
        bytes: config.max_ingest_bytes,
        files: config.max_ingest_files,
        file_bytes: config.max_file_write_bytes,
    }
}

fn check_types(headers: &HeaderMap) -> ApiResult<()> {
    const TYPES: [&str; 6] = [
        "application/x-tar",
        "application/tar",
        "application/gzip",
        "application/x-gzip",
        "application/x-tgz",
        "application/octet-stream",
    ];
    if let Some(other) = body::media_type(headers).filter(|t| !TYPES.contains(&t.as_str())) {
        let allowed = "send application/x-tar, or application/gzip of it";
        return Err(ApiError::unsupported_media_type(format!(
            "Content-Type {other} is not accepted here; {allowed}"
        )));
    }
    match headers.get(header::CONTENT_ENCODING).map(axum::http::HeaderValue::as_bytes) {
        // Seen in the bytes themselves.
        None | Some(b"gzip" | b"x-gzip" | b"identity") => Ok(()),
        Some(other) => {
            let other = String::from_utf8_lossy(other);
            Err(ApiError::unsupported_media_type(format!(
                "Content-Encoding {other} is not accepted here; gzip is"
            )))
        }
    }
}

/// Reads the archive and flushes contents as they come. On a blocking thread.
fn unpack(mut body: impl Read, state: &HttpState, target: &Target, handle: &Handle) -> ApiResult<Vec<Entry>> {
    let mut magic = Vec::with_capacity(2);
    Read::take(&mut body, 2).read_to_end(&mut magic).map_err(|_| ApiError::invalid("the body broke off"))?;
    let zipped = magic == [0x1f, 0x8b];
    let whole = std::io::Cursor::new(magic).chain(body);
    let mut flushes = Flushes { state, target, handle, batch: Batch::default(), running: JoinSet::new() };
    let mut budget = Budget::new(state);
    let stage = |data: Bytes| {
        if budget.take(data.len() as u64) { Ok(Content::Inline(data)) } else { flushes.add(data) }
    };
    let entries = if zipped {
        archive::read(flate2::read::MultiGzDecoder::new(whole), limits(state), stage)?
    } else {
        archive::read(whole, limits(state), stage)?
    };
    flushes.begin()?;
    flushes.wait(0)?;
    Ok(entries)
}

/// Flushes that are under way; dropped, they end.
struct Flushes<'a> {
    state: &'a HttpState,
    target: &'a Target,
    handle: &'a Handle,
    batch: Batch,
    running: JoinSet<ApiResult<()>>,
}

impl Flushes<'_> {
    fn add(&mut self, data: Bytes) -> ApiResult<Content> {
        let content = self.batch.add(data);
        if self.batch.is_full() {
            self.begin()?;
        }
        Ok(content)
    }

    fn begin(&mut self) -> ApiResult<()> {
        self.wait(FLUSHES - 1)?;
        let (batch, service, target) = (self.batch.take(), self.state.service.clone(), self.target.clone());
        self.running.spawn_on(async move { batch.flush(&service, &target).await }, self.handle);
        Ok(())
    }

    /// Waits until at most `left` are under way.
    fn wait(&mut self, left: usize) -> ApiResult<()> {
        while self.running.len() > left {
            let Some(ended) = self.handle.block_on(self.running.join_next()) else { return Ok(()) };
            ended.map_err(|error| {
                tracing::error!(%error, "a flush failed");
                ApiError::internal()
            })??;
        }
        Ok(())
    }
}

async fn write(state: &HttpState, target: Target, base: String, entries: Vec<Entry>) -> ApiResult<Ingested> {
    let files = entries.iter().filter(|entry| !matches!(entry.what, What::Dir)).count();
    let edit: Edit<()> = Arc::new(move |copy| apply(copy, &base, &entries));
    let Target { caller, request_id, sandbox } = target;
    state.service.write(&caller, &request_id, sandbox, None, edit).await?;
    Ok(Ingested { status: "ok", file_count: files })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn base64_is_strict_and_large_ones_work() {
        assert_eq!(decode("a", "aGk=".into()).await.unwrap(), "hi");
        assert_eq!(decode("a", BASE64.encode(vec![7; 8 << 20])).await.unwrap().len(), 8 << 20);
        for bad in ["aGk", "a GK=", "?", "aGk=\n"] {
            let error = decode("a.txt", bad.into()).await.unwrap_err();
            assert!(error.message().starts_with("files[\"a.txt\"]: not base64"), "{bad}");
        }
    }

    #[test]
    fn media_types() {
        let with = |name, value: &str| HeaderMap::from_iter([(name, value.parse().unwrap())]);
        assert!(check_types(&HeaderMap::new()).is_ok());
        assert!(check_types(&with(header::CONTENT_TYPE, "application/x-tar")).is_ok());
        assert!(check_types(&with(header::CONTENT_ENCODING, "gzip")).is_ok());
        assert_eq!(check_types(&with(header::CONTENT_TYPE, "application/zip")).unwrap_err().status(), 415);
        assert_eq!(check_types(&with(header::CONTENT_ENCODING, "br")).unwrap_err().status(), 415);
    }
}
