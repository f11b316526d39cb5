//! The operations on files.

use serde_json::{Value, json};

use super::operation::{Access, COMMIT, Operation, READ_PATH, TURN, WRITE_PATH};
use super::requests::{ABSOLUTE, EditFile, IngestFiles, MakeDirectory, WriteFiles};
use crate::http::wire;

/// The operations.
pub fn operations() -> Vec<Operation> {
    let mut all = single();
    all.extend(many());
    all
}

fn new(method: &'static str, path: &'static str, id: &str, summary: &str, about: &str) -> Operation {
    Operation::new(Access::Token, method, path, ("files", id, summary), about)
}

/// An operation that changes files.
fn write(method: &'static str, path: &'static str, id: &str, summary: &str, about: &str) -> Operation {
    let writes = [TURN, COMMIT, READ_PATH, WRITE_PATH].concat();
    new(method, path, id, summary, about).codes(&writes)
}

fn bytes() -> Value {
    json!({"type": "string", "format": "binary"})
}

fn base_path() -> Value {
    json!({"type": "string", "pattern": ABSOLUTE, "default": "/home/user"})
}

/// The headers that describe a file.
fn described() -> Value {
    json!({
        "X-FS-Stat": {"$ref": "#/components/headers/X-FS-Stat"},
        "ETag": {"$ref": "#/components/headers/ETag"},
    })
}

fn single() -> Vec<Operation> {
    let path = "/v1/sandboxes/{id}/files/{path}";
    let tags = r#"^(\*|"[!#-~]*"( *, *"[!#-~]*")*)$"#;
    let tags = json!({"type": "string", "minLength": 1, "pattern": tags});
    let mut ranged = described();
    ranged["Content-Range"] = json!({"$ref": "#/components/headers/Content-Range"});
    let mut get = new("get", path, "readFile", "Read a file", "Symbolic links are followed. HEAD works too.");
    let stat = get.reference::<wire::FileStat>();
    vec![
        get.extension("x-fs-stat", stat)
            .header("Range", json!({"type": "string"}), "One range of bytes; others are ignored.")
            .header("If-Range", json!({"type": "string"}), "Apply Range only if the file is still this one.")
            .header("If-None-Match", json!({"type": "string"}), "304 if the file is one of these.")
            .answer(200, "The file.", Some(("application/octet-stream", bytes())), described())
            .answer(206, "The range of it.", Some(("application/octet-stream", bytes())), ranged)
            .answer(304, "It is one of those named.", None, described())
            .codes(READ_PATH)
            .codes(&["EISDIR", "RANGE_NOT_SATISFIABLE"]),
        write(
            "put",
            path,
            "writeFile",
            "Write a file",
            "Whole, up to MAX_FILE_WRITE_BYTES, with its parents. The mode of a file that is there stays. Any \
             Content-Type.",
        )
        .header("If-Match", tags, "Only if the file is one of these; `*`: if it is there.")
        .header("If-None-Match", json!({"type": "string", "enum": ["*"]}), "Only if it is not there.")
        .body("application/octet-stream", bytes())
        .answer(204, "It was written.", None, json!({}))
        .codes(&["ETAG_MISMATCH"]),
        write("patch", path, "editFile", "Replace text in a file", "Nothing but the match is touched.")
            .json::<EditFile>(true, json!({"oldString": "hello", "newString": "good morning"}))
            .reply::<wire::Edited>(200, "It was replaced.")
            .codes(&["EDIT_NO_MATCH", "EDIT_NOT_UNIQUE", "EDIT_BINARY"]),
        write("delete", path, "deleteFile", "Delete a file or directory", "A symbolic link itself, not its target.")
            .query("recursive", json!({"type": "boolean", "default": false}), "With all that is below it.")
            .answer(204, "It is gone.", None, json!({}))
            .codes(&["ENOTEMPTY"]),
    ]
}

fn many() -> Vec<Operation> {
    let truncated = json!({"X-Truncated": {"$ref": "#/components/headers/X-Truncated"}});
    vec![
        write("post", "/v1/sandboxes/{id}/writeFiles", "writeFiles", "Write text files", "All or none, parents made.")
            .json::<WriteFiles>(true, json!({"files": {"/home/user/b.txt": "text\n"}}))
            .answer(204, "They were written.", None, json!({})),
        write("post", "/v1/sandboxes/{id}/mkdir", "makeDirectory", "Make a directory", "")
            .json::<MakeDirectory>(true, json!({"path": "/home/user/src/lib", "recursive": true}))
            .answer(204, "It was made.", None, json!({})),
        new(
            "get",
            "/v1/sandboxes/{id}/tree",
            "tree",
            "List files",
            "`prefix` itself and what is below it, sorted by path. Cut at MAX_TREE_ENTRIES.",
        )
        .query("prefix", json!({"type": "string", "pattern": ABSOLUTE, "default": "/"}), "Where to begin.")
        .query("depth", json!({"type": "integer", "minimum": 0, "maximum": 2048}), "Levels below prefix; all by default.")
        .codes(READ_PATH)
        .entries(truncated),
        write(
            "post",
            "/v1/sandboxes/{id}/ingest-files",
            "ingestFiles",
            "Write binary files",
            "All or none, parents made. Up to MAX_INGEST_FILES and MAX_INGEST_BYTES.",
        )
        .json::<IngestFiles>(true, json!({"basePath": "/home/user/in", "files": {"a.bin": "AAEC"}}))
        .reply::<wire::Ingested>(200, "They were written."),
        write(
            "post",
            "/v1/sandboxes/{id}/ingest",
            "ingest",
            "Unpack an archive",
            "tar, or gzip of it, streamed. Modes, links and times are kept; what leads out of basePath is refused. \
             All or nothing.",
        )
        .query("basePath", base_path(), "Where to unpack.")
        .body("application/x-tar", bytes())
        .body("application/gzip", bytes())
        .reply::<wire::Ingested>(200, "It was unpacked."),
        new(
            "get",
            "/v1/sandboxes/{id}/export",
            "export",
            "Pack a directory",
            "tar.gz of one version, streamed; names are relative to basePath.",
        )
        .query("basePath", base_path(), "What to pack.")
        .answer(200, "The archive.", Some(("application/gzip", bytes())), json!({}))
        .codes(READ_PATH),
    ]
}

impl Operation {
    /// The reply of the tree route: a list of entries.
    fn entries(mut self, headers: Value) -> Self {
        let entry = self.reference::<wire::TreeEntry<'static>>();
        let list = json!({"type": "array", "items": entry});
        self.answer(200, "The entries.", Some(("application/json", list)), headers)
    }
}
