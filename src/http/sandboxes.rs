//! Making, finding, naming and deleting sandboxes.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as CURSOR;
use serde_json::Value;

use super::HttpState;
use super::body::{self, Cap, SMALL_BODY_BYTES};
use super::error::{ApiError, ApiResult};
use super::extract::{self, Auth, Query, RequestId, Target};
use super::json::Fields;
use super::options::{env_field, no_idempotency_key};
use super::wire::{Sandbox, SandboxPage};
use crate::ids::{Caller, SandboxId};
use crate::session::{Create, Network, NetworkPrefix, Page, Patch, SandboxRow, SessionError};

const LONGEST_NAME: usize = 255;
const LARGEST_PAGE: i64 = 1000;
const PAGE: i64 = 100;

/// `POST /v1/sandboxes`.
pub async fn create(
    State(state): State<HttpState>,
    Auth(caller): Auth,
    RequestId(request_id): RequestId,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<(StatusCode, Json<Sandbox>)> {
    let mut params = query.fields(&["ifExists"])?;
    let return_holder = returns_holder(&mut params)?;
    no_idempotency_key(&headers)?;
    let cap = Cap { bytes: state.config.max_request_body_bytes, name: "MAX_REQUEST_BODY_BYTES" };
    let known = &["name", "unique", "env", "files", "python", "javascript", "network"];
    let fields = Fields::of(body::json(&headers, body, cap).await?, known)?;
    let (made, record) = create_from(&state, &caller, &request_id, fields, return_holder).await?;
    Ok((if made { StatusCode::CREATED } else { StatusCode::OK }, Json(record)))
}

/// Whether `ifExists` asks for the holder of a unique name instead of a refusal.
pub fn returns_holder(fields: &mut Fields) -> ApiResult<bool> {
    match fields.text("ifExists")?.as_deref() {
        None => Ok(false),
        Some("return") => Ok(true),
        Some(other) => Err(ApiError::invalid(format!("ifExists: expected return, got {other:?}"))),
    }
}

/// Makes a sandbox as the fields say. The flag is false when the name was taken and its
/// holder is given instead.
pub async fn create_from(
    state: &HttpState,
    caller: &Caller,
    request_id: &str,
    mut fields: Fields,
    return_holder: bool,
) -> ApiResult<(bool, Sandbox)> {
    let create = Create {
        name: name_field(&mut fields)?,
        unique: fields.flag("unique")?.unwrap_or(false),
        env: env_field(&mut fields)?.unwrap_or_default(),
        files: files_field(state, &mut fields)?,
        python: fields.flag("python")?.unwrap_or(false),
        javascript: fields.flag("javascript")?.unwrap_or(false),
        network: network_field(&mut fields)?,
    };
    if create.unique && create.name.is_none() {
        return Err(ApiError::invalid("unique: needs a name to hold"));
    }
    match state.service.create(caller, request_id, create).await {
        Ok(row) => Ok((true, Sandbox::of(&row))),
        Err(SessionError::NameTaken(row)) if return_holder => Ok((false, Sandbox::of(&row))),
        Err(error) => Err(error.into()),
    }
}

/// `GET /v1/sandboxes`.
pub async fn list(
    State(state): State<HttpState>,
    Auth(caller): Auth,
    query: Query,
) -> ApiResult<Json<SandboxPage>> {
    page(&state, &caller, query.fields(PAGE_FIELDS)?).await.map(Json)
}

/// What a page of sandboxes is asked for with.
pub const PAGE_FIELDS: &[&str] = &["limit", "cursor", "name"];

/// One page of the caller's sandboxes.
pub async fn page(state: &HttpState, caller: &Caller, mut params: Fields) -> ApiResult<SandboxPage> {
    let (mut page, limit) = page_of(&mut params)?;
    page.name = params.clean_text("name")?;
    let rows = state.service.list(caller, &page).await?;
    Ok(page_reply(rows, limit))
}

/// Reads `limit` and `cursor`; gives what to ask for, and how many to show of it.
pub(super) fn page_of(params: &mut Fields) -> ApiResult<(Page, usize)> {
    let limit = params.integer("limit", 1..=LARGEST_PAGE)?.unwrap_or(PAGE) as usize;
    let after = match params.text("cursor")? {
        None => None,
        Some(text) => Some(
            read_cursor(&text)
                .ok_or_else(|| ApiError::invalid("cursor: expected a nextCursor of an earlier reply"))?,
        ),
    };
    // One more than asked for tells whether there is a next page.
    Ok((Page { limit: limit as u32 + 1, after, name: None }, limit))
}

/// A page of sandboxes, with the cursor of the next one if there is one.
pub(super) fn page_reply(mut rows: Vec<SandboxRow>, limit: usize) -> SandboxPage {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = rows.last().filter(|_| more).map(cursor);
    SandboxPage { sandboxes: rows.iter().map(Sandbox::of).collect(), next_cursor }
}

/// `GET /v1/sandboxes/{id}`.
pub async fn get(State(state): State<HttpState>, target: Target, query: Query) -> ApiResult<Json<Sandbox>> {
    query.none()?;
    Ok(Json(Sandbox::of(&state.service.get(&target.caller, target.sandbox).await?)))
}

/// `PATCH /v1/sandboxes/{id}`.
pub async fn patch(
    State(state): State<HttpState>,
    target: Target,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<Sandbox>> {
    query.none()?;
    let cap = Cap { bytes: SMALL_BODY_BYTES.max(1 << 20), name: "1 MiB" };
    let mut fields = Fields::of(body::json(&headers, body, cap).await?, &["name", "unique", "env"])?;
    let name = match fields.take("name") {
        None => None,
        Some(Value::Null) => Some(None),
        Some(other) => {
            fields.set("name", other);
            name_field(&mut fields)?.map(Some)
        }
    };
    let patch = Patch { name, unique: fields.flag("unique")?, env: env_field(&mut fields)? };
    if patch.name == Some(None) && patch.unique == Some(true) {
        return Err(ApiError::invalid("unique: needs a name to hold, and name is null"));
    }
    Ok(Json(Sandbox::of(&state.service.patch(&target.caller, target.sandbox, patch).await?)))
}

/// `DELETE /v1/sandboxes/{id}`.
pub async fn delete(State(state): State<HttpState>, target: Target, query: Query) -> ApiResult<StatusCode> {
    let force = query.fields(&["force"])?.flag("force")?.unwrap_or(false);
    state.service.delete(&target.caller, target.sandbox, force).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn name_field(fields: &mut Fields) -> ApiResult<Option<String>> {
    let name = fields.text("name")?;
    let fine = |n: &String| (1..=LONGEST_NAME).contains(&n.len()) && !n.chars().any(char::is_control);
    match name {
        Some(name) if !fine(&name) => Err(ApiError::invalid(format!(
            "name: expected 1 to {LONGEST_NAME} bytes without control characters"
        ))),
        other => Ok(other),
    }
}

fn files_field(state: &HttpState, fields: &mut Fields) -> ApiResult<BTreeMap<String, String>> {
    let files = fields.text_map("files")?.unwrap_or_default();
    check_bulk(state, files.len())?;
    let mut plain = BTreeMap::new();
    for (path, text) in files {
        let path = extract::absolute("files", &path)?;
        check_file_size(state, &path, text.len() as u64)?;
        if plain.insert(path.clone(), text).is_some() {
            return Err(ApiError::invalid(format!("files: {path} occurs twice in different spellings")));
        }
    }
    Ok(plain)
}

/// The limit of files of one call.
pub fn check_bulk(state: &HttpState, files: usize) -> ApiResult<()> {
    let limit = state.config.max_bulk_write_files;
    if files <= limit {
        return Ok(());
    }
    Err(ApiError::too_large(&format!("{files} files are"), limit as u64, "files", "MAX_BULK_WRITE_FILES"))
}

/// The limit of one file.
pub fn check_file_size(state: &HttpState, path: &str, size: u64) -> ApiResult<()> {
    let limit = state.config.max_file_write_bytes;
    if size <= limit { Ok(()) } else { Err(ApiError::file_too_large(path, limit)) }
}

fn network_field(fields: &mut Fields) -> ApiResult<Network> {
    match fields.take("network") {
        None | Some(Value::Bool(false)) => Ok(Network::Off),
        Some(Value::Bool(true)) => Ok(Network::All(true)),
        Some(value @ Value::Object(_)) => {
            let mut inner = Fields::at(value, &["allow"], "network.")?;
            let allow = inner.texts("allow")?.ok_or_else(|| inner.missing("allow"))?;
            let bad = allow.iter().find_map(|u| NetworkPrefix::parse(u).err().map(|why| (u, why)));
            match bad {
                Some((bad, why)) => Err(ApiError::invalid(format!(
                    "network.allow: expected http:// or https:// prefixes, got {bad:?}: {why}"
                ))),
                None => Ok(Network::Allow { allow }),
            }
        }
        Some(_) => Err(ApiError::invalid("network: expected a boolean or {\"allow\": [URL prefixes]}")),
    }
}

fn cursor(row: &SandboxRow) -> String {
    CURSOR.encode(format!("{} {}", row.created_at_ns, row.id))
}

fn read_cursor(text: &str) -> Option<(i64, SandboxId)> {
    let plain = String::from_utf8(CURSOR.decode(text).ok()?).ok()?;
    let (created, id) = plain.split_once(' ')?;
    Some((created.parse().ok()?, id.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn network_is_a_switch_or_a_list() {
        let network =
            |value: Value| network_field(&mut Fields::of(json!({"network": value}), &["network"]).unwrap());
        assert_eq!(network(json!(false)).unwrap(), Network::Off);
        assert_eq!(network(json!(true)).unwrap(), Network::All(true));
        let allow = vec!["https://a.example/".to_owned()];
        assert_eq!(network(json!({"allow": allow})).unwrap(), Network::Allow { allow });
        for bad in [json!("yes"), json!({}), json!({"allow": ["ftp://a"]}), json!({"allow": [], "deny": []})]
        {
            assert_eq!(network(bad).unwrap_err().status(), 400);
        }
    }

    #[test]
    fn cursors_round_trip_and_junk_is_refused() {
        let id = SandboxId::random();
        assert_eq!(read_cursor(&CURSOR.encode(format!("-5 {id}"))), Some((-5, id)));
        for junk in ["", "x", "!!", &CURSOR.encode("1"), &CURSOR.encode("1 2")] {
            assert_eq!(read_cursor(junk), None);
        }
    }
}
