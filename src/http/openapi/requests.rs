//! Request bodies as types, for the document alone: requests are read field by field,
//! strictly, by `json.rs` and `options.rs`. `tests/it/openapi.rs` holds the two together.
//! No field takes null but where it says so.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, Type};

/// Text without NUL.
const NO_NUL: &str = "^[^\\u0000]*$";
/// An absolute path without NUL and without `..`.
pub const ABSOLUTE: &str = "^/(?!(.*/)?\\.\\.(/|$))[^\\u0000]*$";
/// The same, relative and not empty.
pub const RELATIVE: &str = "^(?!(.*/)?\\.\\.(/|$))[^/\\u0000][^\\u0000]*$";
/// Base64 with padding and without bits that are not used.
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";

/// What fields may not be together; a schema each, and what must not match it.
#[must_use]
pub fn exclusions() -> [(&'static str, Value); 5] {
    let truthy = json!({"const": true});
    [
        ("CreateSandbox", json!({"required": ["unique"], "properties": {"unique": truthy, "name": false}})),
        (
            "PatchSandbox",
            json!({"required": ["unique", "name"], "properties": {"unique": truthy, "name": {"type": "null"}}}),
        ),
        (
            "Revoke",
            json!({"anyOf": [
                {"required": ["jti", "sub"]},
                {"not": {"anyOf": [{"required": ["jti"]}, {"required": ["sub"]}]}},
            ]}),
        ),
        (
            "Exec",
            json!({"required": ["snapshot"], "properties": {"snapshot": truthy, "readOnly": {"const": false}}}),
        ),
        (
            "ExecBatch",
            json!({"required": ["atomic", "readOnly"], "properties": {"atomic": truthy, "readOnly": truthy}}),
        ),
    ]
}

fn text(pattern: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).build()
}

fn map(names: &str, values: Object, about: &str, most: Option<usize>) -> Schema {
    let map = ObjectBuilder::new().schema_type(Type::Object).property_names(Some(text(names)));
    let map = map.additional_properties(Some(Schema::from(values))).max_properties(most);
    map.description(Some(about)).build().into()
}

fn environment() -> Schema {
    map("^[A-Za-z_][A-Za-z0-9_]*$", text(NO_NUL), "Variables: name to value.", None)
}

fn text_files() -> Schema {
    let any = ObjectBuilder::new().schema_type(Type::String).build();
    map(ABSOLUTE, any, "Absolute path to text. At most MAX_BULK_WRITE_FILES.", Some(1000))
}

fn base64_files() -> Schema {
    map(
        RELATIVE,
        text(BASE64),
        "Path relative to basePath, to base64. At most MAX_INGEST_FILES.",
        Some(10_000),
    )
}

fn arguments() -> Schema {
    let list = utoipa::openapi::schema::ArrayBuilder::new().items(text(NO_NUL));
    list.description(Some("Arguments, as $1 and so on.")).build().into()
}

fn name_or_null() -> Schema {
    let types = utoipa::openapi::schema::SchemaType::from_iter([Type::String, Type::Null]);
    let name = ObjectBuilder::new().schema_type(types).pattern(Some(NAME));
    name.max_length(Some(255))
        .description(Some("Another name, or null: none any more. At most 255 bytes."))
        .build()
        .into()
}

/// No control characters.
const NAME: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$";

/// Who the token is for.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IssueToken {
    /// The owner. At most 256 bytes, no control characters.
    #[schema(pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", max_length = 256)]
    pub sub: String,
    /// The tenant.
    #[schema(required = false, pattern = "^[A-Za-z0-9_-]{1,64}$", default = "default")]
    pub tenant: String,
    /// How long it is valid.
    #[schema(required = false, default = "30d")]
    pub expires_in: Lifetime,
}

/// Which tokens to revoke: one of `jti` and `sub`.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Revoke {
    /// The token of this id.
    #[schema(required = false, pattern = "^[^\\u0000]+$")]
    pub jti: String,
    /// All tokens of this owner that were made until now.
    #[schema(required = false, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", max_length = 256)]
    pub sub: String,
    /// The tenant.
    #[schema(required = false, pattern = "^[A-Za-z0-9_-]{1,64}$", default = "default")]
    pub tenant: String,
}

/// How long a token is valid.
#[derive(ToSchema)]
pub enum Lifetime {
    /// A day.
    #[serde(rename = "24h")]
    Day,
    /// 30 days.
    #[serde(rename = "30d")]
    Month,
    /// 365 days.
    #[serde(rename = "1y")]
    Year,
    /// Without end.
    #[serde(rename = "never")]
    Never,
}

/// Network permission: a switch, or the URL prefixes that are allowed.
#[derive(ToSchema)]
#[serde(untagged)]
pub enum Network {
    /// All or nothing.
    Switch(bool),
    /// Some.
    Allow(Allow),
}

/// URL prefixes that are allowed.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Allow {
    /// Each begins with http:// or https://.
    #[schema(value_type = Vec<UrlPrefix>)]
    pub allow: Vec<String>,
}

/// The beginning of a URL.
#[derive(ToSchema)]
#[schema(
    pattern = "^https?://([a-z0-9]+(-[a-z0-9]+)*\\.)*[a-z][a-z0-9]*(-[a-z0-9]+)*(:[1-9][0-9]{0,3})?(/[A-Za-z0-9_~-]+)*/?$"
)]
pub struct UrlPrefix(pub String);

/// What the new sandbox should be.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateSandbox {
    /// A label. At most 255 bytes, no control characters.
    #[schema(required = false, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", max_length = 255)]
    pub name: String,
    /// Hold the name alone among your sandboxes; needs `name`.
    #[schema(required = false, default = false)]
    pub unique: bool,
    /// Environment of every script.
    #[schema(required = false, schema_with = environment)]
    pub env: BTreeMap<String, String>,
    /// First files.
    #[schema(required = false, schema_with = text_files)]
    pub files: BTreeMap<String, String>,
    /// Scripts may run `python3`.
    #[schema(required = false, default = false)]
    pub python: bool,
    /// Scripts may run `node`.
    #[schema(required = false, default = false)]
    pub javascript: bool,
    /// Network permission.
    #[schema(required = false)]
    pub network: Network,
}

/// What should change.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchSandbox {
    /// Another name, or null.
    #[schema(required = false, schema_with = name_or_null)]
    pub name: String,
    /// Hold the name alone, or no longer.
    #[schema(required = false)]
    pub unique: bool,
    /// Takes the place of the whole environment.
    #[schema(required = false, schema_with = environment)]
    pub env: BTreeMap<String, String>,
}

/// A script and how to run it.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exec {
    /// bash.
    #[schema(min_length = 1, pattern = "^[^\\u0000]*$")]
    pub script: String,
    /// Start here, an absolute path, instead of where the last script ended.
    #[schema(required = false, pattern = "^/[^\\u0000]*$")]
    pub cwd: String,
    /// Exported, for this script only.
    #[schema(required = false, schema_with = environment)]
    pub env: BTreeMap<String, String>,
    /// Standard input.
    #[schema(required = false)]
    pub stdin: String,
    /// Arguments.
    #[schema(required = false, schema_with = arguments)]
    pub args: Vec<String>,
    /// Milliseconds, from the start of the script.
    #[schema(required = false, minimum = 1, maximum = 300_000, default = 30_000)]
    pub timeout_ms: u32,
    /// Refuse every write; other readers are not waited for.
    #[schema(required = false, default = false)]
    pub read_only: bool,
    /// With `readOnly`: do not wait for a running writer, run on the newest committed state.
    #[schema(required = false, default = false)]
    pub snapshot: bool,
    /// A non-zero exit leaves no trace.
    #[schema(required = false, default = false)]
    pub rollback_on_error: bool,
    /// Run for real, commit nothing, say what would have changed.
    #[schema(required = false, default = false)]
    pub dry_run: bool,
    /// Run only if the sandbox is at this version; not together with If-Match.
    #[schema(required = false, minimum = 0)]
    pub if_version: i64,
    /// Of stdout and stderr. In utf8, bytes that are none are replaced, and `warnings` says so.
    #[schema(required = false, default = "utf8")]
    pub encoding: Encoding,
    /// Print commands as they run (set -x).
    #[schema(required = false, default = false)]
    pub debug: bool,
    /// Accepted and ignored: a note that a client sends to itself.
    #[serde(rename = "retryOn5xx")]
    #[schema(required = false, default = false)]
    pub retry_on_5xx: bool,
}

/// How bytes become text.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// As they are.
    Utf8,
    /// As base64.
    Base64,
}

/// Scripts, in order.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecBatch {
    /// 1 to 50.
    #[schema(min_items = 1, max_items = 50)]
    pub scripts: Vec<BatchScript>,
    /// Milliseconds for all together.
    #[schema(required = false, minimum = 1, maximum = 300_000, default = 300_000)]
    pub timeout_ms: u32,
    /// Milliseconds for each.
    #[schema(required = false, minimum = 1, maximum = 300_000)]
    pub per_script_timeout_ms: u32,
    /// Run in parallel on one version, refusing every write.
    #[schema(required = false, default = false)]
    pub read_only: bool,
    /// One transaction: the first that fails undoes all. Not together with `readOnly`.
    #[schema(required = false, default = false)]
    pub atomic: bool,
    /// Accepted and ignored: a note that a client sends to itself.
    #[serde(rename = "retryOn5xx")]
    #[schema(required = false, default = false)]
    pub retry_on_5xx: bool,
}

/// One script of a batch.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchScript {
    /// Comes back with the result.
    pub id: String,
    /// bash.
    #[schema(min_length = 1, pattern = "^[^\\u0000]*$")]
    pub script: String,
}

/// What to replace.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditFile {
    /// What is there; it must occur exactly once.
    #[schema(min_length = 1)]
    pub old_string: String,
    /// What takes its place; something else than `oldString`.
    pub new_string: String,
    /// Replace every occurrence.
    #[schema(required = false, default = false)]
    pub replace_all: bool,
}

/// Files to write, all or none.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFiles {
    /// Files.
    #[schema(schema_with = text_files)]
    pub files: BTreeMap<String, String>,
}

/// A directory to make.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MakeDirectory {
    /// Absolute.
    #[schema(pattern = "^/(?!(.*/)?\\.\\.(/|$))[^\\u0000]*$")]
    pub path: String,
    /// Make its parents too, and do not mind if it is there.
    #[schema(required = false, default = false)]
    pub recursive: bool,
}

/// Files to write below a directory, all or none.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngestFiles {
    /// Absolute.
    #[schema(pattern = "^/(?!(.*/)?\\.\\.(/|$))[^\\u0000]*$")]
    pub base_path: String,
    /// Files.
    #[schema(schema_with = base64_files)]
    pub files: BTreeMap<String, String>,
}
