//! Tools that bring files in and out: the file routes' own work.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{ContentBlock, ResourceContents};
use serde_json::{Value, json};

use super::reply::{self, Done};
use crate::http::HttpState;
use crate::http::body::off_workers;
use crate::http::error::{ApiError, ApiResult};
use crate::http::export::packed;
use crate::http::extract::{self, Target};
use crate::http::files::{Precondition, write_whole};
use crate::http::ingest::{DEFAULT_BASE, check_number, decode, ingest_list};
use crate::http::json::Fields;
use crate::session::SessionError;

/// Largest archive that comes as a resource. It passes through the client's memory in
/// base64, and many clients put all that they get before their model.
const EXPORT_BYTES: u64 = 4 << 20;

/// Characters of a path that stand for themselves in a URI.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// `fs_ingest`.
pub async fn ingest(state: &HttpState, target: Target, mut fields: Fields) -> ApiResult<Done> {
    let base = base_field(&mut fields)?;
    let members = match fields.take("files") {
        None => return Err(fields.missing("files")),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(ApiError::invalid("files: expected an object of paths and contents")),
    };
    check_number(state, members.len())?;
    let mut files = Vec::with_capacity(members.len());
    for (name, content) in members {
        let data = match content {
            Value::String(encoded) => decode(&name, encoded).await.map_err(|error| {
                ApiError::invalid(format!("{} (plain text goes as {{\"text\": \"...\"}})", error.message()))
            })?,
            Value::Object(_) => {
                let mut inner = Fields::at(content, &["text"], &format!("files[{name:?}]."))?;
                Bytes::from(inner.required_text("text")?)
            }
            _ => {
                return Err(ApiError::invalid(format!(
                    "files[{name:?}]: expected base64, or {{\"text\": \"...\"}}"
                )));
            }
        };
        files.push((name, data));
    }
    let mut data = reply::data(&ingest_list(state, target, base.clone(), files).await?);
    let text = format!("Wrote {} files below {base}", data["fileCount"]);
    data["basePath"] = json!(base);
    Ok(Done::new(text, data))
}

/// `file_write`.
pub async fn write(state: &HttpState, target: Target, mut fields: Fields) -> ApiResult<Done> {
    let path = path_field(&mut fields)?;
    let data = Bytes::from(fields.required_text("content")?);
    let size = data.len();
    let version = write_whole(state, target, path.clone(), Precondition::default(), data).await?;
    let text = format!("Wrote {path}, {size} bytes");
    Ok(Done::new(text, json!({"path": path, "size": size, "version": version})))
}

/// `file_edit`.
pub async fn edit(state: &HttpState, target: Target, mut fields: Fields) -> ApiResult<Done> {
    let path = path_field(&mut fields)?;
    let data = reply::data(&crate::http::edit::edit(state, target, path.clone(), fields).await?);
    let text = format!("Replaced {} in {path}, now {} bytes", data["replacements"], data["size"]);
    Ok(Done::new(text, data))
}

/// `fs_export`.
pub async fn export(state: &HttpState, target: Target, mut fields: Fields) -> ApiResult<Done> {
    let base = base_field(&mut fields)?;
    let mut pieces = packed(state, &target, base.clone()).await?;
    let mut archive = Vec::new();
    while let Some(piece) = pieces.recv().await {
        archive.extend_from_slice(&piece.map_err(broken)?);
        if archive.len() as u64 > EXPORT_BYTES {
            return Err(ApiError::too_large("the archive is", EXPORT_BYTES, "bytes", "4 MiB"));
        }
    }
    let size = archive.len();
    let blob = off_workers(move || BASE64.encode(archive)).await?;
    let uri =
        format!("sqlfs://sandboxes/{}/export?basePath={}", target.sandbox, utf8_percent_encode(&base, PLAIN));
    let resource = ResourceContents::blob(blob, uri.clone()).with_mime_type("application/gzip");
    let data = json!({"basePath": base, "uri": uri, "mimeType": "application/gzip", "size": size});
    let mut done = Done::new(format!("{base} as tar.gz, {size} bytes, in the resource"), data);
    done.blob = Some(ContentBlock::resource(resource));
    Ok(done)
}

/// What broke an archive off: the session's error, if it was one.
fn broken(error: std::io::Error) -> ApiError {
    let what = error.to_string();
    error.downcast::<SessionError>().map_or_else(
        |_| {
            tracing::error!(error = what, "an export broke off");
            ApiError::internal()
        },
        ApiError::from,
    )
}

/// The argument `path`.
pub fn path_field(fields: &mut Fields) -> ApiResult<String> {
    extract::absolute("path", &fields.required_text("path")?)
}

fn base_field(fields: &mut Fields) -> ApiResult<String> {
    extract::absolute("basePath", &fields.text("basePath")?.unwrap_or_else(|| DEFAULT_BASE.into()))
}
