//! A directory of one version as a tar.gz, streamed.

use std::collections::HashMap;
use std::io::{self, BufWriter, Read, Write};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::{Buf, Bytes};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use tar::{Builder, EntryType, Header};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::HttpState;
use super::error::{ApiError, ApiResult};
use super::extract::{self, Query, Target};
use super::ingest::DEFAULT_BASE;
use crate::fs::{Errno, Kind, Node, NodeBody};
use crate::ids::Ino;
use crate::session::ReadView;

/// Compressed pieces between the thread that packs and the client.
const PIECES: usize = 8;
const PIECE: usize = 64 << 10;
/// Bytes of a file that are read at once.
const READ: u64 = 1 << 20;
/// A client that takes nothing for this long is given up, so that it holds no thread.
const STALL: Duration = Duration::from_mins(1);

/// `GET …/export?basePath=`.
pub async fn export(State(state): State<HttpState>, target: Target, query: Query) -> ApiResult<Response> {
    let mut params = query.fields(&["basePath"])?;
    let base = params.text("basePath")?.unwrap_or_else(|| DEFAULT_BASE.into());
    let base = extract::absolute("basePath", &base)?;
    let from = packed(&state, &target, base).await?;
    let body = Body::from_stream(stream::unfold(from, async |mut from| Some((from.recv().await?, from))));
    let mut response = body.into_response();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/gzip"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"export.tar.gz\""),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// The tar.gz of a directory, piece by piece. Dropping the receiver ends the work; an
/// archive that breaks off ends with an error.
pub async fn packed(
    state: &HttpState,
    target: &Target,
    base: String,
) -> ApiResult<mpsc::Receiver<io::Result<Bytes>>> {
    let view = state.service.read(&target.caller, target.sandbox).await?;
    let (_, node) = view.tree.resolve(&base, true).map_err(|errno| ApiError::fs(errno, &base))?;
    if node.kind() != Kind::Dir {
        return Err(ApiError::fs(Errno::ENOTDIR, &base));
    }
    let (to, from) = mpsc::channel::<io::Result<Bytes>>(PIECES);
    let handle = Handle::current();
    tokio::task::spawn_blocking(move || {
        let pipe = Pipe { to: to.clone(), handle: handle.clone() };
        if let Err(error) = pack(&view, &base, pipe, &handle) {
            tracing::debug!(%error, "an export ended early");
            // The client sees a body that breaks off; if it has left, nobody does.
            let _ = to.try_send(Err(error));
        }
    });
    Ok(from)
}

/// Sends compressed pieces to the client's body.
struct Pipe {
    to: mpsc::Sender<io::Result<Bytes>>,
    handle: Handle,
}

impl Write for Pipe {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let sending = self.to.send(Ok(Bytes::copy_from_slice(data)));
        match self.handle.block_on(async { tokio::time::timeout(STALL, sending).await }) {
            Ok(Ok(())) => Ok(data.len()),
            Ok(Err(_)) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client left")),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file's content, read piece by piece.
struct Content<'a> {
    view: &'a ReadView,
    node: &'a Node,
    handle: &'a Handle,
    at: u64,
    held: Bytes,
}

impl Read for Content<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.held.is_empty() && self.at < self.node.size() {
            let len = READ.min(self.node.size() - self.at);
            let piece = self.handle.block_on(self.view.content(self.node, self.at, len));
            self.held = piece.map_err(io::Error::other)?;
            self.at += self.held.len() as u64;
        }
        let n = into.len().min(self.held.len());
        self.held.copy_to_slice(&mut into[..n]);
        Ok(n)
    }
}

fn pack(view: &ReadView, base: &str, pipe: Pipe, handle: &Handle) -> io::Result<()> {
    let zip = GzEncoder::new(BufWriter::with_capacity(PIECE, pipe), Compression::fast());
    let mut tar = Builder::new(zip);
    let mut named: HashMap<Ino, String> = HashMap::new();
    let base = real(view, base)?;
    for (path, ino, node) in view.tree.walk(&base, None).map_err(io::Error::other)? {
        let name = path.strip_prefix(&base).unwrap_or(&path).trim_start_matches('/');
        if name.is_empty() {
            continue;
        }
        let mut header = head(node);
        let shared = node.nlink > 1 && node.kind() != Kind::Dir;
        if let Some(first) = named.get(&ino).filter(|_| shared) {
            header.set_entry_type(EntryType::Link);
            tar.append_link(&mut header, name, first)?;
            continue;
        }
        if let Some(exact) = exact_time(node.mtime_ns) {
            tar.append_pax_extensions([("mtime", exact.as_bytes())])?;
        }
        match &node.body {
            NodeBody::Dir { .. } => {
                header.set_entry_type(EntryType::Directory);
                tar.append_data(&mut header, format!("{name}/"), io::empty())?;
            }
            NodeBody::Symlink { target } => {
                header.set_entry_type(EntryType::Symlink);
                tar.append_link(&mut header, name, &**target)?;
            }
            NodeBody::File { size, .. } => {
                header.set_entry_type(EntryType::Regular);
                header.set_size(*size);
                let content = Content { view, node, handle, at: 0, held: Bytes::new() };
                tar.append_data(&mut header, name, content)?;
            }
        }
        if shared {
            named.insert(ino, name.to_owned());
        }
    }
    tar.into_inner()?.finish()?.flush()
}

/// The base without links, since walking does not follow them.
fn real(view: &ReadView, base: &str) -> io::Result<String> {
    let (ino, node) = view.tree.resolve(base, false).map_err(io::Error::other)?;
    if node.kind() == Kind::Dir {
        return Ok(base.to_owned());
    }
    let (wanted, _) = view.tree.resolve(base, true).map_err(io::Error::other)?;
    debug_assert_ne!(ino, wanted);
    // A link as the base is rare: looking for the directory itself is cheap enough.
    let mut all = view.tree.walk("/", None).map_err(io::Error::other)?;
    all.find(|(_, ino, _)| *ino == wanted)
        .map(|(path, ..)| path)
        .ok_or_else(|| io::Error::other("the directory has no path"))
}

fn head(node: &Node) -> Header {
    let mut header = Header::new_gnu();
    header.set_mode(node.mode);
    header.set_mtime(u64::try_from(node.mtime_ns.div_euclid(1_000_000_000)).unwrap_or(0));
    header.set_uid(1000);
    header.set_gid(1000);
    header.set_size(0);
    header
}

/// The time as PAX has it, when whole seconds since the epoch cannot hold it.
fn exact_time(mtime_ns: i64) -> Option<String> {
    let (seconds, part) = (mtime_ns.div_euclid(1_000_000_000), mtime_ns.rem_euclid(1_000_000_000));
    if part == 0 && seconds >= 0 {
        return None;
    }
    if seconds >= 0 {
        return Some(format!("{seconds}.{part:09}"));
    }
    let before = mtime_ns.unsigned_abs();
    Some(format!("-{}.{:09}", before / 1_000_000_000, before % 1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_exactly() {
        assert_eq!(exact_time(5_000_000_000), None);
        assert_eq!(exact_time(5_000_000_001).as_deref(), Some("5.000000001"));
        assert_eq!(exact_time(-1_500_000_000).as_deref(), Some("-1.500000000"));
    }
}
