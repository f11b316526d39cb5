//! Each tool does its work, and says why when it does not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;

use super::rig::Mcp;
use crate::support::{Server, TestStore, on_each_store};

on_each_store![each_tool_does_its_work, refusals_name_code_and_cause, what_is_somebody_elses_does_not_exist];

async fn each_tool_does_its_work(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let mcp = Mcp::connect(&api).await;
    let wanted =
        json!({"name": "box", "unique": true, "env": {"WHO": "me"}, "files": {"/home/user/a": "one\n"}});
    let made = mcp.ok("sandbox_create", wanted.clone()).await;
    let id = made["id"].as_str().expect("an id").to_owned();
    assert_eq!((&made["name"], &made["created"]), (&json!("box"), &json!(true)));
    let mut again = wanted;
    again["ifExists"] = json!("return");
    let again = mcp.ok("sandbox_create", again).await;
    assert_eq!((&again["id"], &again["created"]), (&json!(id), &json!(false)));

    let programs = "python3 -c 'print(6 * 7)'; node -e 'console.log(7 * 6)'";
    let both = mcp.ok("sandbox_create", json!({"python": true, "javascript": true})).await;
    let run = mcp.ok("bash_exec", json!({"id": both["id"], "script": programs})).await;
    assert_eq!((&run["stdout"], &both["python"]), (&json!("42\n42\n"), &json!(true)), "{run}");
    let run = mcp.ok("bash_exec", json!({"id": id, "script": programs})).await;
    assert_eq!((&run["stdout"], &run["exitCode"]), (&json!(""), &json!(127)), "{run}");
    mcp.ok("sandbox_delete", json!({"id": both["id"]})).await;

    let other = mcp.create().await;
    let page = mcp.ok("sandbox_list", json!({"limit": 1})).await;
    assert_eq!(page["sandboxes"][0]["id"], other);
    let page = mcp.ok("sandbox_list", json!({"cursor": page["nextCursor"]})).await;
    assert_eq!((&page["sandboxes"][0]["id"], page.get("nextCursor")), (&json!(id), None));
    assert_eq!(mcp.ok("sandbox_list", json!({"name": "box"})).await["sandboxes"][0]["id"], json!(id));

    let script = "cat a; echo $WHO $MORE >&2; mkdir d; cd d; pwd; exit 3";
    let run = mcp.call("bash_exec", json!({"id": id, "script": script, "env": {"MORE": "x"}})).await;
    let data = &run["structuredContent"];
    assert_eq!(
        (&data["stdout"], &data["stderr"], &data["exitCode"], &data["committed"], &run["isError"]),
        (&json!("one\n/home/user/d\n"), &json!("me x\n"), &json!(3), &json!(true), &json!(false))
    );
    let version = data["version"].as_u64().expect("a version");
    assert_eq!(
        run["content"][0]["text"],
        format!("one\n/home/user/d\n[stderr]\nme x\n[exit 3; files changed, version {version}]")
    );
    let here = mcp.ok("bash_exec", json!({"id": id, "script": "pwd", "readOnly": true})).await;
    assert_eq!((&here["stdout"], &here["committed"]), (&json!("/home/user/d\n"), &json!(false)));
    let there = mcp.ok("bash_exec", json!({"id": id, "script": "pwd", "cwd": "/tmp", "timeout": 5})).await;
    assert_eq!(there["stdout"], "/tmp\n");

    let scripts = json!([{"id": "1", "script": "echo x > f"}, {"id": "2", "script": "cat f"}]);
    let batch = mcp.ok("bash_exec_batch", json!({"id": id, "scripts": scripts, "timeout": 20})).await;
    assert_eq!((&batch["results"][1]["id"], &batch["results"][1]["stdout"]), (&json!("2"), &json!("x\n")));
    let scripts = json!([{"id": "1", "script": "echo y > f"}, {"id": "2", "script": "false"}]);
    let undone = mcp
        .ok("bash_exec_batch", json!({"id": id, "scripts": scripts, "atomic": true, "perScriptTimeout": 9}));
    assert_eq!(undone.await["results"][0]["committed"], false);
    assert_eq!(api.file(&id, "/home/user/d/f").await.text(), "x\n");

    let files = json!({"sub/b": BASE64.encode(b"\0\xff"), "t.txt": {"text": "äöü"}});
    let wrote = mcp.ok("fs_ingest", json!({"id": id, "basePath": "/home/user/in", "files": files})).await;
    assert_eq!(wrote, json!({"status": "ok", "fileCount": 2, "basePath": "/home/user/in"}));
    assert_eq!(&api.file(&id, "/home/user/in/sub/b").await.body[..], b"\0\xff");
    assert_eq!(api.file(&id, "/home/user/in/t.txt").await.text(), "äöü");
    mcp.ok("fs_ingest", json!({"id": id, "files": {"c": ""}})).await;
    assert_eq!(api.file(&id, "/home/user/c").await.expect(200).text(), "");

    let wrote = mcp.ok("file_write", json!({"id": id, "path": "/home/user/new/f", "content": "a b\n"})).await;
    assert_eq!((&wrote["size"], &wrote["path"]), (&json!(4), &json!("/home/user/new/f")));
    let record = api.sandbox(&id).await;
    assert_eq!(wrote["version"], record["version"]);
    let edit = json!({"id": id, "path": "/home/user/new/f", "oldString": "b", "newString": "cc"});
    let edited = mcp.ok("file_edit", edit).await;
    assert_eq!(edited, json!({"path": "/home/user/new/f", "replacements": 1, "size": 5}));
    let read = mcp.call("file_read", json!({"id": id, "path": "/home/user/new/f"})).await;
    assert_eq!(
        (&read["content"][0]["text"], &read["structuredContent"]["content"]),
        (&json!("a cc\n"), &json!("a cc\n"))
    );

    let export = mcp.call("fs_export", json!({"id": id, "basePath": "/home/user/in"})).await;
    let resource = &export["content"][1]["resource"];
    assert_eq!(
        (&export["content"][1]["type"], &resource["mimeType"]),
        (&json!("resource"), &json!("application/gzip"))
    );
    let archive = BASE64.decode(resource["blob"].as_str().expect("a blob")).expect("base64");
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(&archive[..]));
    let mut names: Vec<String> = tar
        .entries()
        .expect("a tar")
        .map(|entry| entry.expect("an entry").path().expect("a path").display().to_string())
        .collect();
    names.sort();
    assert_eq!(names, ["sub/", "sub/b", "t.txt"]);

    assert_eq!(mcp.ok("sandbox_delete", json!({"id": id})).await, json!({"id": id, "deleted": true}));
    assert_eq!(mcp.failed("sandbox_delete", json!({"id": id})).await["code"], "SANDBOX_NOT_FOUND");
}

async fn refusals_name_code_and_cause(store: TestStore) {
    let env = [("MAX_FILE_WRITE_BYTES", "9000000"), ("MAX_INGEST_FILES", "3")];
    let server = Server::start_with(store, &env).await;
    let api = server.api().await;
    let mcp = Mcp::connect(&api).await;
    let id = mcp.create().await;
    mcp.ok("bash_exec", json!({"id": id, "script": "echo aa > f; printf '\\xff\\xfe' > bin; mkdir d; for i in 1 2 3 4 5 6; do head -c 1000000 /dev/urandom >> big; done"})).await;
    let before = api.sandbox(&id).await["head"].clone();
    let path = "/home/user/f";
    for (tool, arguments, code, says) in [
        (
            "bash_exec",
            json!({"id": id, "script": "ls", "redOnly": true}),
            "UNKNOWN_FIELD",
            "did you mean readOnly?",
        ),
        (
            "bash_exec",
            json!({"id": id, "script": "ls", "timeoutMs": 5}),
            "UNKNOWN_FIELD",
            "did you mean timeout?",
        ),
        ("bash_exec", json!({"id": id}), "INVALID_INPUT", "script is required"),
        ("bash_exec", json!({"script": "ls"}), "INVALID_INPUT", "id is required"),
        ("bash_exec", json!({"id": "1", "script": "ls"}), "INVALID_INPUT", "expected a UUID"),
        ("bash_exec", json!([]), "INVALID_INPUT", "arguments: expected an object"),
        (
            "bash_exec",
            json!({"id": id, "script": "ls", "timeout": 30_000}),
            "INVALID_INPUT",
            "from 1 to 300, got 30000 (seconds)",
        ),
        (
            "bash_exec",
            json!({"id": id, "script": "ls", "cwd": "x"}),
            "INVALID_INPUT",
            "cwd: expected an absolute path",
        ),
        (
            "bash_exec",
            json!({"id": id, "script": "ls", "env": {"A=": "1"}}),
            "INVALID_INPUT",
            "no variable name",
        ),
        (
            "bash_exec",
            json!({"id": id, "script": "echo out; sleep 9; echo x > g", "timeout": 1}),
            "EXEC_TIMEOUT",
            "left no trace",
        ),
        (
            "bash_exec",
            json!({"id": id, "script": "echo x > g", "readOnly": true}),
            "EREADONLY_VIOLATION",
            "/home/user/g",
        ),
        ("bash_exec_batch", json!({"id": id, "scripts": []}), "INVALID_INPUT", "scripts: expected an array"),
        (
            "bash_exec_batch",
            json!({"id": id, "scripts": [{"id": "1", "scrip": "x"}]}),
            "UNKNOWN_FIELD",
            "scripts[0].script",
        ),
        (
            "bash_exec_batch",
            json!({"id": id, "scripts": [{"id": "1", "script": "x"}], "perScriptTimeout": 0}),
            "INVALID_INPUT",
            "(seconds)",
        ),
        ("fs_ingest", json!({"id": id, "files": {"a": "no base64!"}}), "INVALID_INPUT", "plain text goes as"),
        ("fs_ingest", json!({"id": id, "files": {"a": {"txt": "x"}}}), "UNKNOWN_FIELD", "text"),
        ("fs_ingest", json!({"id": id, "files": {"a": 1}}), "INVALID_INPUT", "expected base64, or"),
        ("fs_ingest", json!({"id": id, "files": {"../a": ""}}), "INVALID_INPUT", ".. is not allowed"),
        ("fs_ingest", json!({"id": id, "files": {"f/x": ""}}), "ENOTDIR", "/home/user/f"),
        (
            "fs_ingest",
            json!({"id": id, "files": {"1": "", "2": "", "3": "", "4": ""}}),
            "PAYLOAD_TOO_LARGE",
            "limit of 3 files",
        ),
        ("file_read", json!({"id": id, "path": "/home/user/none"}), "ENOENT", "/home/user/none"),
        ("file_read", json!({"id": id, "path": "/home/user/d"}), "EISDIR", "/home/user/d"),
        ("file_read", json!({"id": id, "path": "/home/user/bin"}), "INVALID_INPUT", "not a UTF-8 text file"),
        (
            "file_read",
            json!({"id": id, "path": path, "offset": 2}),
            "INVALID_INPUT",
            "the file has 1 lines, got 2",
        ),
        (
            "file_read",
            json!({"id": id, "path": path, "offset": 0}),
            "INVALID_INPUT",
            "offset: expected a whole number",
        ),
        (
            "file_read",
            json!({"id": id, "path": path, "column": 4}),
            "INVALID_INPUT",
            "line 1 ends before byte 4",
        ),
        ("file_read", json!({"id": id, "path": path, "lines": 4}), "UNKNOWN_FIELD", "unknown field lines"),
        ("file_read", json!({"id": id, "path": "f"}), "INVALID_INPUT", "path: expected an absolute path"),
        ("file_write", json!({"id": id, "path": "/home/user/d", "content": ""}), "EISDIR", "/home/user/d"),
        (
            "file_write",
            json!({"id": id, "path": "/home/user/l", "content": "x".repeat(9_000_001)}),
            "EFBIG",
            "9000000",
        ),
        ("file_write", json!({"id": id, "path": path}), "INVALID_INPUT", "content is required"),
        (
            "file_edit",
            json!({"id": id, "path": path, "oldString": "a", "newString": "b"}),
            "EDIT_NOT_UNIQUE",
            "2 times",
        ),
        (
            "file_edit",
            json!({"id": id, "path": path, "oldString": "x", "newString": "b"}),
            "EDIT_NO_MATCH",
            "does not occur",
        ),
        (
            "file_edit",
            json!({"id": id, "path": "/home/user/bin", "oldString": "x", "newString": "b"}),
            "EDIT_BINARY",
            "bin",
        ),
        (
            "file_edit",
            json!({"id": id, "path": path, "oldString": "", "newString": "b"}),
            "INVALID_INPUT",
            "must not be empty",
        ),
        ("fs_export", json!({"id": id, "basePath": "/home/user/f"}), "ENOTDIR", "/home/user/f"),
        (
            "fs_export",
            json!({"id": id}),
            "PAYLOAD_TOO_LARGE",
            "the archive is over the limit of 4194304 bytes",
        ),
        ("sandbox_create", json!({"name": ""}), "INVALID_INPUT", "name: expected"),
        ("sandbox_create", json!({"unique": true}), "INVALID_INPUT", "needs a name"),
        ("sandbox_create", json!({"ifExists": "fail"}), "INVALID_INPUT", "ifExists: expected return"),
        ("sandbox_list", json!({"limit": 101}), "INVALID_INPUT", "from 1 to 100"),
        ("sandbox_list", json!({"cursor": "x"}), "INVALID_INPUT", "cursor: expected"),
        ("sandbox_delete", json!({"id": id, "force": "yes"}), "INVALID_INPUT", "force: expected boolean"),
    ] {
        let error = mcp.failed(tool, arguments.clone()).await;
        let shown: String = arguments.to_string().chars().take(200).collect();
        assert_eq!(
            (&error["code"], &error["applied"]),
            (&json!(code), &json!("no")),
            "{tool} {shown}: {error}"
        );
        assert!(error["message"].as_str().expect("text").contains(says), "{tool} {shown}: {error}");
    }
    assert_eq!(api.sandbox(&id).await["head"], before, "nothing was applied");
    let late = mcp.failed("bash_exec", json!({"id": id, "script": "echo out; sleep 9", "timeout": 1})).await;
    assert_eq!((&late["stdout"], &late["timedOut"]), (&json!("out\n"), &json!(true)));
}

async fn what_is_somebody_elses_does_not_exist(store: TestStore) {
    let server = Server::start(store).await;
    let mcp = Mcp::connect(&server.api_as("ann").await).await;
    let stranger = Mcp::connect(&server.api_as("bob").await).await;
    let id = mcp.create().await;
    mcp.ok("file_write", json!({"id": id, "path": "/home/user/f", "content": "x"})).await;
    let path = "/home/user/f";
    for (tool, arguments) in [
        ("sandbox_delete", json!({"id": id})),
        ("bash_exec", json!({"id": id, "script": "true"})),
        ("bash_exec_batch", json!({"id": id, "scripts": [{"id": "1", "script": "true"}]})),
        ("fs_ingest", json!({"id": id, "files": {}})),
        ("file_read", json!({"id": id, "path": path})),
        ("file_write", json!({"id": id, "path": path, "content": "y"})),
        ("file_edit", json!({"id": id, "path": path, "oldString": "x", "newString": "y"})),
        ("fs_export", json!({"id": id})),
    ] {
        let error = stranger.failed(tool, arguments).await;
        assert_eq!(
            (&error["code"], &error["retryable"]),
            (&json!("SANDBOX_NOT_FOUND"), &json!(false)),
            "{tool}"
        );
    }
    assert_eq!(stranger.ok("sandbox_list", json!({})).await["sandboxes"], json!([]));
    assert_eq!(mcp.ok("file_read", json!({"id": id, "path": path})).await["content"], "x");
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_says_so() {
    let server = Server::start(TestStore::sqlite()).await;
    let mcp = Mcp::connect(&server.api().await).await;
    let id = mcp.create().await;
    let run = mcp.call("bash_exec", json!({"id": id, "script": "for i in 1 2 3 4 5 6 7 8 9; do seq 1 100000; done; seq 1 100000 >&2"})).await;
    assert!(run.to_string().len() < 200_000, "{}", run.to_string().len());
    let data = &run["structuredContent"];
    let stdout = data["stdout"].as_str().expect("stdout");
    assert!(stdout.starts_with("1\n2\n3\n") && stdout.ends_with("\n99999\n100000\n"), "both ends are there");
    assert!(stdout.contains("of 5300055 bytes are left out here"), "{}", &stdout[20_000..30_000]);
    assert_eq!((&data["stdoutTruncated"], &data["stderrTruncated"]), (&json!(true), &json!(true)));
    let scripts: Vec<_> = (0..50).map(|n| json!({"id": n.to_string(), "script": "seq 1 100000"})).collect();
    let batch = mcp.call("bash_exec_batch", json!({"id": id, "scripts": scripts})).await;
    assert_eq!(batch["structuredContent"]["results"][49]["stdoutTruncated"], true);
    assert!(batch.to_string().len() < 300_000, "{}", batch.to_string().len());
}
