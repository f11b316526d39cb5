//! One call of a tool: its arguments checked against the schema, then the tool's own work.
//! Sandboxes themselves are here; the other tools have files of their own.

use std::fmt::Write;

use serde_json::{Value, json};

use super::catalogue::Entry;
use super::message::Call;
use super::reply::{self, Done};
use super::{exec, files, read};
use crate::http::HttpState;
use crate::http::error::{ApiError, ApiResult};
use crate::http::extract::{Target, sandbox_id};
use crate::http::json::Fields;
use crate::http::sandboxes::{create_from, page, returns_holder};

/// Sandboxes of one page, and at most.
const PAGE: i64 = 20;
const LARGEST_PAGE: i64 = 100;

/// Runs a tool. Dropping the future gives the call up.
pub async fn run(state: &HttpState, call: &Call, tool: &Entry) -> ApiResult<Done> {
    let arguments = call.arguments();
    if !arguments.is_object() {
        return Err(ApiError::invalid("arguments: expected an object"));
    }
    let known: Vec<&str> = tool.known.iter().map(String::as_str).collect();
    let mut fields = Fields::of(arguments, &known)?;
    match tool.name {
        "sandbox_create" => create(state, call, fields).await,
        "sandbox_list" => list(state, call, fields).await,
        name => {
            let sandbox = sandbox_id(&fields.required_text("id")?)?;
            let (caller, request_id) = (call.caller.clone(), call.request_id.clone());
            let target = Target { caller, request_id, sandbox };
            match name {
                "sandbox_delete" => delete(state, target, fields).await,
                "bash_exec" => exec::one(state, target, call.bytes, fields).await,
                "bash_exec_batch" => exec::batch(state, target, call.bytes, fields).await,
                "fs_ingest" => files::ingest(state, target, fields).await,
                "file_read" => read::file(state, target, fields).await,
                "file_write" => files::write(state, target, fields).await,
                "file_edit" => files::edit(state, target, fields).await,
                "fs_export" => files::export(state, target, fields).await,
                other => {
                    tracing::error!(tool = other, "a tool of the catalogue does nothing");
                    Err(ApiError::internal())
                }
            }
        }
    }
}

async fn create(state: &HttpState, call: &Call, mut fields: Fields) -> ApiResult<Done> {
    let return_holder = returns_holder(&mut fields)?;
    let (made, record) = create_from(state, &call.caller, &call.request_id, fields, return_holder).await?;
    let mut data = short(reply::data(&record));
    data["created"] = json!(made);
    let what = if made { "Made" } else { "There is already" };
    Ok(Done::new(format!("{what} sandbox {}", line(&data)), data))
}

async fn list(state: &HttpState, call: &Call, mut fields: Fields) -> ApiResult<Done> {
    let limit = fields.integer("limit", 1..=LARGEST_PAGE)?.unwrap_or(PAGE);
    fields.set("limit", json!(limit));
    let mut data = reply::data(&page(state, &call.caller, fields).await?);
    let rows = match data["sandboxes"].take() {
        Value::Array(rows) => rows.into_iter().map(short).collect(),
        _ => Vec::new(),
    };
    let mut text: String = rows.iter().map(|row| line(row) + "\n").collect();
    if rows.is_empty() {
        text += "no sandboxes\n";
    }
    if let Some(cursor) = data["nextCursor"].as_str() {
        let _ = writeln!(text, "[there are more: cursor {cursor}]");
    }
    data["sandboxes"] = json!(rows);
    Ok(Done::new(text, data))
}

async fn delete(state: &HttpState, target: Target, mut fields: Fields) -> ApiResult<Done> {
    let force = fields.flag("force")?.unwrap_or(false);
    state.service.delete(&target.caller, target.sandbox, force).await?;
    let data = json!({"id": target.sandbox, "deleted": true});
    Ok(Done::new(format!("Deleted sandbox {}", target.sandbox), data))
}

/// A record without its environment, which may be large.
fn short(mut record: Value) -> Value {
    if let Some(members) = record.as_object_mut() {
        members.remove("env");
    }
    record
}

fn line(record: &Value) -> String {
    let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let name = record["name"].as_str().map(|name| format!(" {name:?}")).unwrap_or_default();
    format!("{}{name}, version {}, made {}", text("id"), record["version"], text("createdAt"))
}
