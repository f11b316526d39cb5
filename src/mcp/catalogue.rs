//! The tools: names, what they promise, and their arguments. The schema is the only list
//! of a tool's arguments: what it does not name is refused.

use std::sync::{Arc, LazyLock};

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// A tool.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// As `tools/list` shows it.
    pub tool: Tool,
    /// Names of its arguments.
    pub known: Vec<String>,
}

/// All tools, in the order in which they are shown.
#[must_use]
pub fn all() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| tools().into_iter().map(Spec::build).collect());
    &ALL
}

/// A tool by its name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    all().iter().find(|entry| entry.name == name)
}

/// What a tool does to the sandbox, as hints for clients.
enum Does {
    Reads,
    Adds,
    Changes,
}

struct Spec {
    name: &'static str,
    does: Does,
    about: &'static str,
    required: &'static [&'static str],
    properties: Value,
}

impl Spec {
    fn build(self) -> Entry {
        let properties = self.properties.as_object().cloned().unwrap_or_default();
        let known = properties.keys().cloned().collect();
        let mut schema = Map::new();
        schema.insert("type".into(), json!("object"));
        schema.insert("properties".into(), Value::Object(properties));
        schema.insert("required".into(), json!(self.required));
        schema.insert("additionalProperties".into(), json!(false));
        let (reads, destroys) = match self.does {
            Does::Reads => (true, false),
            Does::Adds => (false, false),
            Does::Changes => (false, true),
        };
        let hints = ToolAnnotations::from_raw(None, Some(reads), Some(destroys), None, Some(false));
        let tool = Tool::new(self.name, self.about, Arc::new(schema)).with_annotations(hints);
        Entry { name: self.name, tool, known }
    }
}

fn id() -> Value {
    json!({"type": "string", "description": "The sandbox's id, as sandbox_create or sandbox_list gave it."})
}

fn path() -> Value {
    json!({"type": "string", "description": "Absolute path in the sandbox, such as /home/user/a.txt."})
}

fn base() -> Value {
    json!({"type": "string", "default": "/home/user", "description": "Absolute path of a directory in the sandbox."})
}

fn text_map(about: &str) -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}, "description": about})
}

fn flag(about: &str) -> Value {
    json!({"type": "boolean", "default": false, "description": about})
}

fn number(about: &str, least: u64, most: u64, default: u64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most, "default": default, "description": about})
}

fn tools() -> Vec<Spec> {
    let read_only = || {
        flag("Forbid every change of files. Runs beside other readers, without waiting its turn to write.")
    };
    vec![
        Spec {
            name: "sandbox_create",
            does: Does::Adds,
            about: "Make a sandbox: a durable file system with bash. Gives its id. It lasts until sandbox_delete. \
                With a unique name, the name is held like a lock; ifExists=return then gives the one that holds it.",
            required: &[],
            properties: json!({
                "name": {"type": "string", "minLength": 1, "maxLength": 255, "description": "A label, to find it again with sandbox_list."},
                "unique": flag("Hold the name alone among your sandboxes."),
                "ifExists": {"type": "string", "enum": ["return"], "description": "When the unique name is taken: give its holder instead of failing."},
                "env": text_map("Environment of every script in it."),
                "files": text_map("First files: absolute path to text. Parents are made."),
                "python": flag("Scripts may run Python 3 as python3; its standard library is there."),
                "javascript": flag("Scripts may run JavaScript and TypeScript as node."),
                "network": {
                    "description": "Network permission of scripts: none, all, or URL prefixes.",
                    "anyOf": [
                        {"type": "boolean"},
                        {
                            "type": "object",
                            "properties": {"allow": {"type": "array", "items": {"type": "string"}}},
                            "required": ["allow"],
                            "additionalProperties": false,
                        },
                    ],
                },
            }),
        },
        Spec {
            name: "sandbox_list",
            does: Does::Reads,
            about: "List your sandboxes, newest first. When there are more, the reply has nextCursor.",
            required: &[],
            properties: json!({
                "limit": number("Sandboxes of one reply.", 1, 100, 20),
                "cursor": {"type": "string", "description": "nextCursor of the reply before."},
                "name": {"type": "string", "description": "Only those of exactly this name."},
            }),
        },
        Spec {
            name: "sandbox_delete",
            does: Does::Changes,
            about: "Delete a sandbox and all of its files, for good.",
            required: &["id"],
            properties: json!({"id": id(), "force": flag("End a running script instead of waiting for it.")}),
        },
        Spec {
            name: "bash_exec",
            does: Does::Changes,
            about: "Run a bash script in a sandbox. One script is one transaction: read, compute and write in one \
                script, and nothing slips in between. All of its file changes become visible together when it \
                ends, whatever its exit code; when it is cut off (timeout, cancelled, a limit) none of them do. \
                Two scripts are two transactions: others may write between them. The working directory is kept \
                from script to script; variables, functions and background jobs are not. There are the usual \
                commands (grep, sed, awk, jq, find, sort, diff, tar …), but no compilers, package managers or \
                programs of your own. Long output is cut in the middle, and says so.",
            required: &["id", "script"],
            properties: json!({
                "id": id(),
                "script": {"type": "string", "minLength": 1, "description": "bash source; may have many lines."},
                "timeout": number("Seconds that the script may run.", 1, 300, 30),
                "readOnly": read_only(),
                "cwd": {"type": "string", "description": "Absolute path to start in. Unset: where the last script ended."},
                "env": text_map("Variables, exported for this script only."),
            }),
        },
        Spec {
            name: "bash_exec_batch",
            does: Does::Changes,
            about: "Run up to 50 bash scripts, one after another, each starting in the directory that the one \
                before left. Each is a transaction of its own, unless atomic: then all are one, and the first that \
                exits non-zero or is cut off undoes all, and those after it do not run. Scripts that need one \
                another's results are simpler as one bash_exec. readOnly scripts run side by side, on one state.",
            required: &["id", "scripts"],
            properties: json!({
                "id": id(),
                "scripts": {
                    "type": "array", "minItems": 1, "maxItems": 50,
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string", "description": "Your name for it; stands in its result."},
                            "script": {"type": "string", "minLength": 1},
                        },
                        "required": ["id", "script"],
                        "additionalProperties": false,
                    },
                },
                "timeout": number("Seconds for all of them together.", 1, 300, 300),
                "perScriptTimeout": {"type": "integer", "minimum": 1, "maximum": 300, "description": "Seconds for each. Unset: those of all."},
                "readOnly": read_only(),
                "atomic": flag("All of them or nothing."),
            }),
        },
        Spec {
            name: "fs_ingest",
            does: Does::Changes,
            about: "Write many files at once, all or none. Parents are made; files of the same path are replaced.",
            required: &["id", "files"],
            properties: json!({
                "id": id(),
                "basePath": base(),
                "files": {
                    "type": "object",
                    "description": "Path relative to basePath, to its content: a string is base64; plain text goes as {\"text\": \"...\"}.",
                    "additionalProperties": {
                        "anyOf": [
                            {"type": "string", "contentEncoding": "base64"},
                            {
                                "type": "object",
                                "properties": {"text": {"type": "string"}},
                                "required": ["text"],
                                "additionalProperties": false,
                            },
                        ],
                    },
                },
            }),
        },
        Spec {
            name: "file_read",
            does: Does::Reads,
            about: "Read a text file, or some lines of it, exactly as it is. A long file comes in pages: the reply \
                then has nextOffset (and nextColumn within a very long line) to go on with. Binary files are \
                refused; look at those with xxd or base64 in bash_exec.",
            required: &["id", "path"],
            properties: json!({
                "id": id(),
                "path": path(),
                "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "First line, from 1."},
                "limit": number("Most lines of one reply; fewer come when they are long.", 1, 10_000, 2000),
                "column": {"type": "integer", "minimum": 1, "default": 1, "description": "First byte of the first line, from 1; nextColumn of the reply before."},
            }),
        },
        Spec {
            name: "file_write",
            does: Does::Changes,
            about: "Write a whole text file, in one transaction. Parents are made; the mode of an existing file is \
                kept. To change a file by what is in it, use file_edit, or read and write in one bash_exec.",
            required: &["id", "path", "content"],
            properties: json!({
                "id": id(),
                "path": path(),
                "content": {"type": "string", "description": "The whole new content."},
            }),
        },
        Spec {
            name: "file_edit",
            does: Does::Changes,
            about: "Replace text in a file, in one transaction: finding and replacing are one step, nothing slips \
                in between. oldString must occur exactly once, unless replaceAll.",
            required: &["id", "path", "oldString", "newString"],
            properties: json!({
                "id": id(),
                "path": path(),
                "oldString": {"type": "string", "minLength": 1, "description": "What is there, exactly, with spaces and line ends."},
                "newString": {"type": "string", "description": "What is to be there."},
                "replaceAll": flag("Replace every occurrence."),
            }),
        },
        Spec {
            name: "fs_export",
            does: Does::Reads,
            about: "Get a directory as a tar.gz, of one moment, as a resource in base64: at most 4 MiB. Larger ones \
                go over HTTP: GET /v1/sandboxes/{id}/export?basePath=.",
            required: &["id"],
            properties: json!({"id": id(), "basePath": base()}),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_strict_and_name_what_they_require() {
        for entry in all() {
            let schema = Value::Object((*entry.tool.input_schema).clone());
            assert_eq!(schema["additionalProperties"], false, "{}", entry.name);
            for required in schema["required"].as_array().unwrap() {
                assert!(entry.known.iter().any(|name| required == name), "{}: {required}", entry.name);
            }
        }
    }
}
