//! Request bodies: limited before they are read whole, and never waited for without end.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use hyper::body::{Body as _, Frame, SizeHint};
use serde::Serialize;
use serde_json::Value;

use super::error::{ApiError, ApiResult};
use super::json;

/// Cap of the JSON and raw bodies of exec routes.
pub const EXEC_BODY_BYTES: u64 = 16 << 20;

/// Cap of bodies that hold a few words.
pub const SMALL_BODY_BYTES: u64 = 64 << 10;

/// A body that stands still for this long is given up.
const STALL: Duration = Duration::from_mins(1);

/// How long the rest of a refused body is thrown away, so that the client, which may
/// still be sending, gets to read the refusal instead of a reset connection.
const DISCARD: Duration = Duration::from_secs(2);

/// From this size on JSON is parsed and written off the async workers.
const ELSEWHERE: usize = 256 << 10;

/// A limit and the name it has in messages.
#[derive(Clone, Copy, Debug)]
pub struct Cap {
    /// Bytes.
    pub bytes: u64,
    /// Setting, or a name for people.
    pub name: &'static str,
}

impl Cap {
    fn refusal(self) -> ApiError {
        ApiError::too_large("the body is", self.bytes, "bytes", self.name)
    }
}

/// The body in pieces, ended by an error when it is over `cap`, stalls or breaks off.
/// Fails at once when its declared length is over the cap.
pub fn pieces(
    headers: &HeaderMap,
    body: Body,
    cap: Cap,
) -> ApiResult<impl Stream<Item = ApiResult<Bytes>> + use<>> {
    pieces_within(STALL, headers, body, cap)
}

fn pieces_within(
    stall: Duration,
    headers: &HeaderMap,
    body: Body,
    cap: Cap,
) -> ApiResult<impl Stream<Item = ApiResult<Bytes>> + use<>> {
    let data = body.into_data_stream();
    if declared(headers).is_some_and(|length| length > cap.bytes) {
        // Who asks first has sent nothing yet, and reading on would invite it.
        if !headers.contains_key(header::EXPECT) {
            discard(data);
        }
        return Err(cap.refusal());
    }
    Ok(stream::unfold((Rest(Some(data)), 0u64), move |(mut rest, before)| async move {
        let data = rest.0.as_mut()?;
        let refusal = match tokio::time::timeout(stall, data.next()).await {
            Ok(None) => {
                drop(rest.0.take());
                return None;
            }
            Ok(Some(Ok(piece))) => {
                let total = before + piece.len() as u64;
                if total <= cap.bytes {
                    return Some((Ok(piece), (rest, total)));
                }
                cap.refusal()
            }
            Ok(Some(Err(_))) => ApiError::invalid("the body broke off"),
            Err(_) => ApiError::invalid(format!("the body stood still for {} s", stall.as_secs())),
        };
        drop(rest);
        Some((Err(refusal), (Rest(None), before)))
    }))
}

/// A request's body that notes when it was read to its end. A reply that comes earlier
/// has to say that the connection ends with it.
pub struct Watched {
    inner: Body,
    whole: Arc<AtomicBool>,
}

impl Watched {
    /// The body, and whether it has been read whole.
    #[must_use]
    pub fn new(inner: Body) -> (Self, Arc<AtomicBool>) {
        let whole = Arc::new(AtomicBool::new(inner.is_end_stream()));
        (Self { inner, whole: whole.clone() }, whole)
    }
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.inner.is_end_stream() {
            self.whole.store(true, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The part of a body that was not read yet. When it is dropped, a client that still
/// sends can do so for a while: it would not get to read its reply otherwise.
struct Rest(Option<BodyDataStream>);

impl Drop for Rest {
    fn drop(&mut self) {
        if let Some(data) = self.0.take() {
            discard(data);
        }
    }
}

/// The whole body.
pub async fn read(headers: &HeaderMap, body: Body, cap: Cap) -> ApiResult<Bytes> {
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING).filter(|e| e.as_bytes() != b"identity") {
        let encoding = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
        return Err(ApiError::unsupported_media_type(format!(
            "Content-Encoding {encoding} is not accepted here"
        )));
    }
    let pieces = pieces(headers, body, cap)?;
    tokio::pin!(pieces);
    let Some(first) = pieces.next().await.transpose()? else { return Ok(Bytes::new()) };
    let Some(second) = pieces.next().await.transpose()? else { return Ok(first) };
    let expected = declared(headers).unwrap_or_default().min(cap.bytes) as usize;
    let mut whole = BytesMut::with_capacity(expected.max(first.len() + second.len()));
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    while let Some(piece) = pieces.next().await.transpose()? {
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

/// A JSON body; none at all counts as `{}`.
pub async fn json(headers: &HeaderMap, body: Body, cap: Cap) -> ApiResult<Value> {
    match media_type(headers).as_deref() {
        None | Some("application/json") => {}
        Some(other) => {
            return Err(ApiError::unsupported_media_type(format!(
                "Content-Type {other} is not accepted here; send application/json"
            )));
        }
    }
    parse(read(headers, body, cap).await?).await
}

/// Parses JSON bytes, large ones off the async workers.
pub async fn parse(bytes: Bytes) -> ApiResult<Value> {
    if bytes.is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    if bytes.len() < ELSEWHERE {
        return json::parse(&bytes);
    }
    off_workers(move || json::parse(&bytes)).await?
}

/// A JSON reply around about `size` bytes of text; a large one is put together off the
/// async workers.
pub async fn reply<T: Serialize>(
    size: usize,
    build: impl FnOnce() -> T + Send + 'static,
) -> ApiResult<Response> {
    let write = move || serde_json::to_vec(&build());
    let written = if size < ELSEWHERE { write() } else { off_workers(write).await? };
    let text = written.map_err(|error| {
        tracing::error!(%error, "a reply could not be written");
        ApiError::internal()
    })?;
    let mut response = Body::from(text).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Runs blocking or long computing work on a blocking thread.
pub async fn off_workers<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> ApiResult<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "a blocking task of a request failed");
        ApiError::internal()
    })
}

/// The media type without parameters, in lower case.
#[must_use]
pub fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?;
    let text = String::from_utf8_lossy(value.as_bytes());
    Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

fn declared(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn discard(mut rest: BodyDataStream) {
    // At the end of the process there may be no runtime any more, and nobody to answer.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        let all = async move { while let Some(Ok(_)) = rest.next().await {} };
        runtime.spawn(async { tokio::time::timeout(DISCARD, all).await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: Cap = Cap { bytes: 10, name: "TEST" };

    fn chunked(parts: &'static [&'static str]) -> Body {
        Body::from_stream(stream::iter(parts.iter().map(|p| Ok::<_, std::io::Error>(*p))))
    }

    #[tokio::test]
    async fn bodies_are_capped_by_declared_and_by_real_length() {
        let none = HeaderMap::new();
        assert_eq!(read(&none, chunked(&["12345", "67890"]), CAP).await.unwrap(), "1234567890");
        let error = read(&none, chunked(&["12345", "67890", "1"]), CAP).await.unwrap_err();
        assert_eq!((error.status().as_u16(), error.code()), (413, "PAYLOAD_TOO_LARGE"));
        assert_eq!(error.body("")["limit"], "TEST");
        let mut lying = HeaderMap::new();
        lying.insert(header::CONTENT_LENGTH, 11.into());
        assert_eq!(read(&lying, Body::empty(), CAP).await.unwrap_err().status(), 413);
    }

    #[tokio::test]
    async fn a_body_that_stands_still_is_given_up() {
        let body = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let pieces = pieces_within(Duration::from_millis(1), &HeaderMap::new(), body, CAP).unwrap();
        let error = std::pin::pin!(pieces).next().await.unwrap().unwrap_err();
        assert!(error.message().contains("stood still"));
    }

    #[tokio::test]
    async fn media_types() {
        let with = |name, value: &str| HeaderMap::from_iter([(name, value.parse().unwrap())]);
        let typed = |t: &str| with(header::CONTENT_TYPE, t);
        let cap = Cap { bytes: 100, name: "TEST" };
        let ok = json(&typed("Application/JSON; charset=utf-8"), Body::from("{\"a\":1}"), cap).await.unwrap();
        assert_eq!(ok["a"], 1);
        assert_eq!(json(&HeaderMap::new(), Body::empty(), cap).await.unwrap(), serde_json::json!({}));
        let form = json(&typed("application/x-www-form-urlencoded"), Body::from("a=1"), cap).await;
        assert_eq!(form.unwrap_err().code(), "UNSUPPORTED_MEDIA_TYPE");
        let zipped = json(&with(header::CONTENT_ENCODING, "gzip"), Body::from("{}"), cap).await;
        assert_eq!(zipped.unwrap_err().status(), 415);
    }
}
