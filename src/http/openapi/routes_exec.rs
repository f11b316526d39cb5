//! The operations that run scripts.

use serde_json::{Value, json};
use utoipa::PartialSchema;
use utoipa::openapi::{RefOr, schema::Schema};

use super::operation::{Access, COMMIT, Operation, TURN};
use super::requests::{Exec, ExecBatch};
use crate::http::options::LONGEST_KEY;
use crate::http::wire::exec::{BatchReply, ErrorEvent, ExecResult, ExitEvent, FailedExitEvent, OutputEvent};

const OUTCOMES: &[&str] = &[
    "RUNTIME_BUSY",
    "EXEC_TIMEOUT",
    "EREADONLY_VIOLATION",
    "VERSION_MISMATCH",
    "ENOENT",
    "ENOTDIR",
    "ELOOP",
    "ENAMETOOLONG",
];

/// The operations.
pub fn operations() -> Vec<Operation> {
    let batch = Operation::new(
        Access::Token,
        "post",
        "/v1/sandboxes/{id}/exec-sync-batch",
        ("scripts", "execBatch", "Run several scripts"),
        "In order, each in the directory where the one before ended. The status is 200 unless the first had \
         not begun; each result has its own outcome.",
    )
    .json::<ExecBatch>(
        true,
        json!({"scripts": [{"id": "a", "script": "date"}, {"id": "b", "script": "pwd"}]}),
    )
    .reply::<BatchReply>(200, "How each ended.")
    .codes(TURN)
    .codes(COMMIT)
    .codes(OUTCOMES);
    vec![
        exec(
            "/v1/sandboxes/{id}/exec-sync",
            ("scripts", "execSync", "Run a script, get everything at its end"),
            "The whole script is one transaction: it commits when the script ends by itself, whatever its exit \
             status, and leaves no trace when it is cut off. A body of text is the script; its options are then \
             the query parameters.",
        )
        .reply::<ExecResult>(200, "The script ended by itself."),
        live(),
        batch,
    ]
}

fn exec(path: &'static str, names: (&str, &str, &str), about: &str) -> Operation {
    let text = json!({"type": "string", "minLength": 1, "pattern": "^[^\\u0000]*$"});
    let operation = Operation::new(Access::Token, "post", path, names, about)
        .json::<Exec>(true, json!({"script": "echo hello > a.txt; wc -c a.txt", "timeoutMs": 10_000}))
        .body("text/plain", text.clone())
        .body("text/x-shellscript", text)
        .header(
            "If-Match",
            json!({"type": "string", "minLength": 38, "pattern": "^\"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\"$"}),
            "Run only if the sandbox is at this `head`, in double quotes.",
        )
        .header(
            "Idempotency-Key",
            json!({"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[!-~]+$"}),
            "At most one effect for each key of a sandbox. For 24 h a second request with it gets the first one's \
             reply, with up to 1 MiB a stream of its output; `exec-sync` then says `Idempotent-Replayed: true`. \
             Errors are not kept: they left no trace. Without effect on a `readOnly` script.",
        )
        .codes(TURN)
        .codes(COMMIT)
        .codes(&["IDEMPOTENCY_KEY_REUSED"])
        .codes(OUTCOMES);
    raw_options().into_iter().fold(operation, |operation, (name, schema)| {
        let about = "Only with a body of text; as the field of that name of the JSON body.";
        // Text stands for itself, flags and numbers too; what has parts is JSON.
        match schema["type"].as_str() {
            Some("object" | "array") => operation.query_json(&name, schema, about),
            _ => operation.query(&name, schema, about),
        }
    })
}

/// The fields of the JSON form, but for the script, as parameters.
fn raw_options() -> Vec<(String, Value)> {
    let RefOr::T(Schema::Object(fields)) = Exec::schema() else { return Vec::new() };
    let plain = fields.properties.into_iter().filter(|(name, _)| name != "script");
    plain
        .map(|(name, schema)| {
            let schema = serde_json::to_value(schema).unwrap_or_default();
            (name, schema)
        })
        .collect()
}

fn live() -> Operation {
    let mut operation = exec(
        "/v1/sandboxes/{id}/exec",
        ("scripts", "exec", "Run a script, get events while it runs"),
        "Server-sent events, each with an `id` and JSON as `data`: `stdout` and `stderr` while the script runs, \
         then exactly one `exit`, after the commit. If the script is cut off, `error` and then `exit` with -1. A \
         comment every 15 s keeps the connection. What fails before the script starts is a plain error reply. \
         `x-events` names the schema of each event's data.",
    );
    let output = operation.reference::<OutputEvent<'static>>();
    let error = operation.reference::<ErrorEvent>();
    let exit = json!({"oneOf": [
        operation.reference::<ExitEvent>(),
        operation.reference::<FailedExitEvent>(),
    ]});
    let events = [("stdout", &output), ("stderr", &output), ("error", &error), ("exit", &exit)];
    let event = |(name, data): (&str, &Value)| {
        json!({
            "type": "object",
            "required": ["id", "event", "data"],
            "properties": {
                "id": {"type": "string", "description": "Counts the events."},
                "event": {"const": name},
                "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": data},
            },
        })
    };
    // In OpenAPI 3.1 the schema of a stream of events describes each of them.
    let each = json!({"oneOf": events.map(event)});
    let named: serde_json::Map<String, Value> =
        events.into_iter().map(|(name, data)| (name.to_owned(), data.clone())).collect();
    operation
        .answer(200, "The script has started.", Some(("text/event-stream", each)), json!({}))
        .extension("x-events", named.into())
}
