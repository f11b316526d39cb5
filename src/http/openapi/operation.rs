//! One operation of the document, put together step by step.

use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, schema::Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::http::codes::{self, Code};

/// Named schemas of the document.
pub type Schemas = Vec<(String, RefOr<Schema>)>;

/// Who may call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Open,
    /// Who has a token.
    Token,
    /// Who has the secret of that security scheme.
    Secret(&'static str),
}

/// An operation under construction.
#[must_use]
pub struct Operation {
    /// Path as the document has it.
    pub path: &'static str,
    /// Lower case.
    pub method: &'static str,
    access: Access,
    value: Map<String, Value>,
    parameters: Vec<Value>,
    content: Map<String, Value>,
    body_required: bool,
    replies: Map<String, Value>,
    codes: Vec<&'static str>,
    schemas: Schemas,
}

/// Every request may meet these.
const EVERYWHERE: &[&str] = &["INVALID_INPUT", "HEADERS_TOO_LARGE", "INTERNAL"];
/// Every request that needs a token.
const WITH_TOKEN: &[&str] =
    &["UNKNOWN_FIELD", "AUTH_REQUIRED", "AUTH_INVALID", "AUTH_UNKNOWN_TENANT", "STORE_UNAVAILABLE"];
/// Every request to a sandbox.
const WITH_SANDBOX: &[&str] = &["SANDBOX_NOT_FOUND", "SHUTTING_DOWN"];
/// Every request with a body.
const WITH_BODY: &[&str] = &["UNKNOWN_FIELD", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"];

/// What may end a wait for a turn.
pub const TURN: &[&str] = &["QUEUE_FULL", "LEASE_TIMEOUT", "LEASE_LOST", "COORDINATION_UNAVAILABLE"];
/// What may end a commit.
pub const COMMIT: &[&str] = &["CONFLICT", "OUTCOME_UNKNOWN", "ENOSPC", "MEMORY_LIMIT"];
/// What may be wrong with a path that is read.
pub const READ_PATH: &[&str] = &["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "EINVAL"];
/// What may be wrong with a path that is written.
pub const WRITE_PATH: &[&str] = &["EEXIST", "EISDIR", "EPERM", "EFBIG"];

#[expect(clippy::needless_pass_by_value, reason = "callers write the JSON in place")]
impl Operation {
    /// An operation; `id` is its name in generated clients, `about` may be longer.
    pub fn new(
        access: Access,
        method: &'static str,
        path: &'static str,
        (tag, id, summary): (&str, &str, &str),
        about: &str,
    ) -> Self {
        let mut value = Map::new();
        value.insert("tags".into(), json!([tag]));
        value.insert("operationId".into(), json!(id));
        value.insert("summary".into(), json!(summary));
        if !about.is_empty() {
            value.insert("description".into(), json!(about));
        }
        let security = match access {
            Access::Open => json!([]),
            Access::Token => json!([{"token": []}]),
            Access::Secret(scheme) => json!([{scheme: []}]),
        };
        value.insert("security".into(), security);
        let mut operation = Self {
            path,
            method,
            access,
            value,
            parameters: vec![json!({"$ref": "#/components/parameters/X-Request-Id"})],
            content: Map::new(),
            body_required: false,
            replies: Map::new(),
            codes: EVERYWHERE.to_vec(),
            schemas: Vec::new(),
        };
        if access == Access::Token {
            operation.codes.extend(WITH_TOKEN);
        }
        if path.contains("{id}") {
            operation.codes.extend(WITH_SANDBOX);
            operation.parameters.push(json!({"$ref": "#/components/parameters/id"}));
        }
        if path.contains("{path}") {
            operation.parameters.push(json!({"$ref": "#/components/parameters/path"}));
        }
        operation
    }

    /// A query parameter that may be left out.
    pub fn query(self, name: &str, schema: Value, about: &str) -> Self {
        self.parameter("query", name, schema, about)
    }

    /// A header that may be left out.
    pub fn header(self, name: &str, schema: Value, about: &str) -> Self {
        self.parameter("header", name, schema, about)
    }

    fn parameter(mut self, place: &str, name: &str, schema: Value, about: &str) -> Self {
        self.parameters.push(
            json!({"in": place, "name": name, "required": false, "schema": schema, "description": about}),
        );
        self
    }

    /// A parameter that is JSON within the query's text.
    pub fn query_json(mut self, name: &str, schema: Value, about: &str) -> Self {
        let content = json!({"application/json": {"schema": schema}});
        self.parameters.push(
            json!({"in": "query", "name": name, "required": false, "content": content, "description": about}),
        );
        self
    }

    /// A JSON body; one that may be left out counts as `{}`.
    pub fn json<T: ToSchema>(mut self, required: bool, example: Value) -> Self {
        let schema = self.reference::<T>();
        self.content.insert("application/json".into(), json!({"schema": schema, "example": example}));
        self.body_required = required;
        self.codes.extend(WITH_BODY);
        self
    }

    /// A body of another kind.
    pub fn body(mut self, media: &str, schema: Value) -> Self {
        self.content.insert(media.into(), json!({ "schema": schema }));
        self.body_required = true;
        self.codes.extend(WITH_BODY);
        self
    }

    /// A reply with a JSON body.
    pub fn reply<T: ToSchema>(mut self, status: u16, about: &str) -> Self {
        let schema = self.reference::<T>();
        self.answer(status, about, Some(("application/json", schema)), json!({}))
    }

    /// A reply with another body, or none, and headers of its own.
    pub fn answer(mut self, status: u16, about: &str, body: Option<(&str, Value)>, headers: Value) -> Self {
        let mut headers = headers.as_object().cloned().unwrap_or_default();
        headers.insert("X-Request-Id".into(), json!({"$ref": "#/components/headers/X-Request-Id"}));
        let mut reply = json!({"description": about, "headers": headers});
        if let Some((media, schema)) = body {
            reply["content"] = json!({media: {"schema": schema}});
        }
        self.replies.insert(status.to_string(), reply);
        self
    }

    /// Error codes beyond those that its kind has anyway.
    pub fn codes(mut self, codes: &[&'static str]) -> Self {
        self.codes.extend(codes);
        self
    }

    /// A member of the operation that OpenAPI leaves to us (`x-…`).
    pub fn extension(mut self, name: &str, value: Value) -> Self {
        self.value.insert(name.into(), value);
        self
    }

    /// How to go on with the sandbox of a reply.
    pub fn links(mut self, status: u16, operations: &[&str]) -> Self {
        let link = |id: &&str| {
            ((*id).to_owned(), json!({"operationId": id, "parameters": {"id": "$response.body#/id"}}))
        };
        self.replies[&status.to_string()]["links"] =
            operations.iter().map(link).collect::<Map<_, _>>().into();
        self
    }

    /// A reference to a type's schema, which then is in the document.
    pub fn reference<T: ToSchema>(&mut self) -> Value {
        self.schemas.push((T::name().into_owned(), <T as PartialSchema>::schema()));
        T::schemas(&mut self.schemas);
        json!({"$ref": format!("#/components/schemas/{}", T::name())})
    }

    /// The operation, and the schemas that it refers to.
    pub fn finish(mut self) -> (Value, Schemas) {
        let codes: Vec<&Code> = codes::CODES.iter().filter(|code| self.codes.contains(&code.name)).collect();
        let mut statuses: Vec<u16> = codes.iter().map(|code| code.status).collect();
        statuses.dedup();
        for status in statuses {
            let here: Vec<&&Code> = codes.iter().filter(|code| code.status == status).collect();
            self.replies.insert(status.to_string(), error(status, &here));
        }
        if !self.content.is_empty() {
            let body = json!({"required": self.body_required, "content": self.content});
            self.value.insert("requestBody".into(), body);
        }
        if matches!(self.access, Access::Secret(_)) {
            self.value.insert("x-audited".into(), json!(true));
        }
        self.value.insert("parameters".into(), self.parameters.into());
        self.value.insert("responses".into(), self.replies.into());
        (self.value.into(), self.schemas)
    }
}

/// An error reply: its codes, and the headers that come with its status.
fn error(status: u16, codes: &[&&Code]) -> Value {
    let lines: Vec<_> = codes.iter().map(|code| format!("`{}`: {}.", code.name, code.about)).collect();
    let names: Vec<_> = codes.iter().map(|code| code.name).collect();
    let mut headers = json!({"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}});
    let more = match status {
        401 => Some("WWW-Authenticate"),
        405 => Some("Allow"),
        416 => Some("Content-Range"),
        429 | 503 => Some("Retry-After"),
        _ => None,
    };
    if let Some(name) = more {
        headers[name] = json!({"$ref": format!("#/components/headers/{name}")});
    }
    let schema = json!({"allOf": [
        {"$ref": "#/components/schemas/Error"},
        {"properties": {"code": {"enum": names}}},
    ]});
    json!({
        "description": lines.join("\n"),
        "headers": headers,
        "content": {"application/json": {"schema": schema}},
    })
}
