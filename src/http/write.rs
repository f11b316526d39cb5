//! Several text files at once, and directories.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};

use super::HttpState;
use super::body::{self, Cap, SMALL_BODY_BYTES};
use super::content::stage;
use super::error::{ApiError, ApiResult};
use super::extract::{self, Query, Target, parent};
use super::files::fs_error;
use super::json::Fields;
use super::sandboxes::{check_bulk, check_file_size};
use crate::session::Edit;

/// `POST …/writeFiles`: all or nothing, parents made.
pub async fn write_files(
    State(state): State<HttpState>,
    target: Target,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<StatusCode> {
    query.none()?;
    let cap = Cap { bytes: state.config.max_request_body_bytes, name: "MAX_REQUEST_BODY_BYTES" };
    let mut fields = Fields::of(body::json(&headers, body, cap).await?, &["files"])?;
    let files = fields.text_map("files")?.ok_or_else(|| fields.missing("files"))?;
    check_bulk(&state, files.len())?;
    let mut texts = BTreeMap::new();
    for (path, text) in files {
        let path = extract::absolute("files", &path)?;
        check_file_size(&state, &path, text.len() as u64)?;
        if texts.insert(path.clone(), text.into()).is_some() {
            return Err(ApiError::invalid(format!("files: {path} occurs twice in different spellings")));
        }
    }
    let (paths, texts): (Vec<_>, Vec<_>) = texts.into_iter().unzip();
    let contents = stage(&state, &target, texts).await?;
    let edit: Edit<()> = Arc::new(move |copy| {
        for (path, content) in paths.iter().zip(&contents) {
            let directory = parent(path);
            copy.make_dirs(directory).map_err(|errno| fs_error(errno, directory))?;
            content.write(copy, path).map_err(|errno| fs_error(errno, path))?;
        }
        Ok(())
    });
    let Target { caller, request_id, sandbox } = target;
    state.service.write(&caller, &request_id, sandbox, None, edit).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST …/mkdir`.
pub async fn mkdir(
    State(state): State<HttpState>,
    target: Target,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<StatusCode> {
    query.none()?;
    let cap = Cap { bytes: SMALL_BODY_BYTES, name: "64 KiB" };
    let mut fields = Fields::of(body::json(&headers, body, cap).await?, &["path", "recursive"])?;
    let path = extract::absolute("path", &fields.required_text("path")?)?;
    let recursive = fields.flag("recursive")?.unwrap_or(false);
    let edit: Edit<()> = Arc::new(move |copy| {
        let made = if recursive { copy.mkdir_all(&path) } else { copy.mkdir(&path) };
        made.map_err(|errno| fs_error(errno, &path))
    });
    let Target { caller, request_id, sandbox } = target;
    state.service.write(&caller, &request_id, sandbox, None, edit).await?;
    Ok(StatusCode::NO_CONTENT)
}
