//! `POST …/exec-sync`: fields of the reply and what stays of a script.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::send;
use crate::support::{Server, TestStore, on_each_store};

on_each_store![
    reply_holds_the_state_after_the_script,
    a_script_commits_whatever_its_exit_code,
    cwd_is_kept_and_a_given_one_is_not,
    env_stdin_and_args_reach_the_script,
    a_timeout_leaves_no_trace,
    read_only_scripts_read_and_are_refused_to_write,
    dry_run_names_changes_and_keeps_none,
    rollback_on_error_undoes,
    a_stale_precondition_is_412,
    a_raw_body_takes_options_from_the_query,
    output_is_text_or_base64,
    output_past_the_limit_is_cut_and_said_so,
    state_survives_a_restart,
    increments_at_once_are_all_counted,
];

async fn reply_holds_the_state_after_the_script(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let created = api.create_with(&json!({})).await;
    let id = created["id"].as_str().expect("an id");
    assert_eq!(created["version"], 0);

    let reply = api.exec(id, "echo out; echo err >&2; echo x > f; exit 3").await;
    for (field, value) in [
        ("stdout", json!("out\n")),
        ("stderr", json!("err\n")),
        ("exitCode", json!(3)),
        ("exitSignal", Value::Null),
        ("timedOut", json!(false)),
        ("version", json!(1)),
        ("committed", json!(true)),
        ("changed", json!(1)),
        ("stdoutTruncated", json!(false)),
        ("stderrTruncated", json!(false)),
        ("warnings", json!([])),
    ] {
        assert_eq!(reply[field], value, "{field} in {reply}");
    }
    assert!(reply["durationMs"].is_u64(), "{reply}");
    let record = api.sandbox(id).await;
    assert_eq!((&record["version"], &record["head"]), (&reply["version"], &reply["head"]));

    let second = api.exec(id, "cat f").await;
    assert_eq!(second["stdout"], "x\n");
    assert_eq!((&second["committed"], &second["changed"]), (&json!(false), &json!(0)));
    assert_eq!((&second["version"], &second["head"]), (&reply["version"], &reply["head"]));
}

async fn a_script_commits_whatever_its_exit_code(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    for (script, code) in [
        ("echo a >> log; false", 1),
        ("echo b >> log; set -e; cat missing; echo never >> log", 1),
        ("echo c >> log; exit 7", 7),
    ] {
        assert_eq!(api.exec(&id, script).await["exitCode"], code, "{script}");
    }
    assert_eq!(api.stdout(&id, "cat log").await, "a\nb\nc\n");

    // A script that cannot be parsed runs nothing, as bash does with a whole file.
    let broken = api.exec(&id, "if true; then echo x > half").await;
    assert_eq!((&broken["exitCode"], &broken["committed"]), (&json!(2), &json!(false)), "{broken}");
    assert!(broken["stderr"].as_str().expect("stderr").contains("syntax error"), "{broken}");
    api.file(&id, "/home/user/half").await.error(404, "ENOENT");
}

async fn cwd_is_kept_and_a_given_one_is_not(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    assert_eq!(api.stdout(&id, "pwd").await, "/home/user\n");
    assert_eq!(api.stdout(&id, "mkdir -p a/b; cd a/b; pwd").await, "/home/user/a/b\n");
    assert_eq!(api.stdout(&id, "pwd").await, "/home/user/a/b\n");
    // A move alone makes no version, and is kept all the same.
    let moved = api.exec(&id, "cd ..").await;
    assert_eq!((&moved["committed"], &moved["version"]), (&json!(false), &json!(1)), "{moved}");
    assert_eq!(api.stdout(&id, "pwd").await, "/home/user/a\n");

    let given = api.exec_with(&id, &json!({"script": "pwd; cd /", "cwd": "/tmp"})).await;
    assert_eq!(given["stdout"], "/tmp\n");
    for not_kept in [
        json!({"script": "cd /", "readOnly": true}),
        json!({"script": "cd /", "dryRun": true}),
        json!({"script": "cd /; echo x > /tmp/x; false", "rollbackOnError": true}),
    ] {
        api.exec_with(&id, &not_kept).await;
        assert_eq!(api.stdout(&id, "pwd").await, "/home/user/a\n", "after {not_kept}");
    }

    // A kept directory that is gone: home, and a warning.
    api.exec(&id, "cd /; mkdir gone; cd gone").await;
    api.exec_with(&id, &json!({"script": "rm -r /gone", "cwd": "/"})).await;
    let reply = api.exec(&id, "pwd").await;
    assert_eq!(reply["stdout"], "/home/user\n");
    assert_ne!(reply["warnings"], json!([]), "{reply}");
}

async fn env_stdin_and_args_reach_the_script(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create_with(&json!({"env": {"A": "of the sandbox", "B": "too"}})).await;
    let id = id["id"].as_str().expect("an id");
    let reply = api
        .exec_with(
            id,
            &json!({
                "script": "echo \"$A|$B|$1|$2|$#\"; bash -c 'echo \"$A\"'; cat",
                "env": {"A": "of the exec"},
                "args": ["one", "two words"],
                "stdin": "line 1\nline 2",
            }),
        )
        .await;
    assert_eq!(reply["stdout"], "of the exec|too|one|two words|2\nof the exec\nline 1\nline 2", "{reply}");
    // Only for this exec.
    assert_eq!(api.stdout(id, "export C=x; f() { :; }; echo \"$A\"").await, "of the sandbox\n");
    assert_eq!(
        api.stdout(id, "echo \"${C-unset}\"; type f >/dev/null 2>&1 || echo no f").await,
        "unset\nno f\n"
    );

    let traced = api.exec_with(id, &json!({"script": "echo hi", "debug": true})).await;
    assert!(traced["stderr"].as_str().expect("stderr").contains("+ echo hi"), "{traced}");
    api.exec_with(id, &json!({"script": "true", "retryOn5xx": true})).await;
}

async fn a_timeout_leaves_no_trace(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, "echo before > f").await;
    let before = api.sandbox(&id).await["head"].clone();
    for script in
        ["echo half > f; echo said; sleep 60; echo never", "echo half > f; echo said; while :; do :; done"]
    {
        let start = tokio::time::Instant::now();
        let reply = api.try_exec(&id, &json!({"script": script, "timeoutMs": 300})).await;
        let body = reply.refused(408, "EXEC_TIMEOUT");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}: {script}", start.elapsed());
        assert_eq!((&body["timedOut"], &body["stdout"]), (&json!(true), &json!("said\n")), "{body}");
        assert!(body["durationMs"].as_u64().expect("durationMs") >= 300, "{body}");
        assert!(body["stderr"].is_string(), "{body}");
        assert_eq!(api.stdout(&id, "cat f").await, "before\n");
        assert_eq!(api.sandbox(&id).await["head"], before);
    }
}

async fn read_only_scripts_read_and_are_refused_to_write(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, "echo x > f").await;
    let before = api.sandbox(&id).await;
    let body = json!({"script": "cat f; echo y >/dev/null; echo z >/dev/stdout", "readOnly": true});
    let read = api.exec_with(&id, &body).await;
    assert_eq!((&read["stdout"], &read["exitCode"]), (&json!("x\nz\n"), &json!(0)), "{read}");
    for (script, path) in [
        ("echo y > f", "/home/user/f"),
        ("mkdir -p /tmp/d; true", "/tmp/d"),
        ("rm -f f || true; echo go on", "/home/user/f"),
        ("chmod 600 f", "/home/user/f"),
        ("touch g 2>/dev/null", "/home/user/g"),
    ] {
        let reply = api.try_exec(&id, &json!({"script": script, "readOnly": true})).await;
        let body = reply.refused(422, "EREADONLY_VIOLATION");
        assert!(body["error"].as_str().expect("error").contains(path), "{script}: {body}");
        assert_eq!(body["retryable"], false);
    }
    let after = api.sandbox(&id).await;
    assert_eq!((&after["version"], &after["head"]), (&before["version"], &before["head"]));
    api.exec_with(&id, &json!({"script": "cat f", "readOnly": true, "snapshot": true})).await;
    api.try_exec(&id, &json!({"script": "cat f", "snapshot": true})).await.refused(400, "INVALID_INPUT");
}

async fn dry_run_names_changes_and_keeps_none(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, "echo old > keep; echo gone > gone").await;
    let before = api.sandbox(&id).await["head"].clone();
    let script = "printf longer > keep; rm gone; mkdir d; echo new > d/new; ln -s keep link";
    let reply = api.exec_with(&id, &json!({"script": script, "dryRun": true})).await;
    let row = |path: &str, op: &str, kind: &str, before: Option<u64>, after: Option<u64>| {
        let mut row = json!({"path": format!("/home/user/{path}"), "op": op, "kind": kind});
        if let Some(before) = before {
            row["sizeBefore"] = json!(before);
        }
        if let Some(after) = after {
            row["sizeAfter"] = json!(after);
        }
        row
    };
    let changes: Vec<Value> = reply["changes"].as_array().expect("changes").clone();
    let file_rows: Vec<&Value> = changes.iter().filter(|c| c["kind"] == "file").collect();
    assert_eq!(
        file_rows,
        [
            &row("d/new", "added", "file", None, Some(4)),
            &row("gone", "removed", "file", Some(5), None),
            &row("keep", "modified", "file", Some(4), Some(6)),
        ],
        "{reply}"
    );
    let ops = |path: &str| {
        changes.iter().find(|c| c["path"] == format!("/home/user/{path}")).map(|c| (&c["op"], &c["kind"]))
    };
    assert_eq!(ops("d"), Some((&json!("added"), &json!("dir"))), "{reply}");
    assert_eq!(ops("link"), Some((&json!("added"), &json!("symlink"))), "{reply}");
    let paths: Vec<&str> = changes.iter().map(|c| c["path"].as_str().expect("a path")).collect();
    assert!(paths.is_sorted(), "{paths:?}");

    assert_eq!((&reply["committed"], &reply["head"]), (&json!(false), &before), "{reply}");
    assert_eq!(api.stdout(&id, "cat keep gone; ls").await, "old\ngone\ngone\nkeep\n");
}

async fn rollback_on_error_undoes(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let body = |script: &str| json!({"script": script, "rollbackOnError": true});
    let failed = api.exec_with(&id, &body("echo x > f; exit 4")).await;
    assert_eq!((&failed["exitCode"], &failed["committed"]), (&json!(4), &json!(false)), "{failed}");
    assert_eq!(failed["version"], 0);
    api.file(&id, "/home/user/f").await.error(404, "ENOENT");
    let kept = api.exec_with(&id, &body("echo x > f")).await;
    assert_eq!((&kept["committed"], &kept["version"]), (&json!(true), &json!(1)), "{kept}");
    assert_eq!(api.file(&id, "/home/user/f").await.expect(200).text(), "x\n");
}

async fn a_stale_precondition_is_412(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let first = api.exec(&id, "echo 1 > f").await;
    let body = |version: i64| json!({"script": "echo 2 > f", "ifVersion": version});
    let stale = api.try_exec(&id, &body(0)).await.refused(412, "VERSION_MISMATCH");
    assert_eq!((&stale["version"], &stale["head"]), (&first["version"], &first["head"]), "{stale}");
    api.exec_with(&id, &body(1)).await;

    let path = format!("/v1/sandboxes/{id}/exec-sync");
    let if_match = |head: &str| {
        let request = api.request(Method::POST, &path).header("if-match", format!("\"{head}\""));
        send(request.json(&json!({"script": "echo 3 > f"})))
    };
    if_match(first["head"].as_str().expect("a head")).await.refused(412, "VERSION_MISMATCH");
    let now = api.sandbox(&id).await["head"].as_str().expect("a head").to_owned();
    if_match(&now).await.expect(200);
    assert_eq!(api.stdout(&id, "cat f").await, "3\n");
}

async fn a_raw_body_takes_options_from_the_query(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let path = format!("/v1/sandboxes/{id}/exec-sync");
    for kind in ["text/plain", "text/x-shellscript", "text/plain; charset=utf-8"] {
        let request = api.request(Method::POST, &path).header("content-type", kind);
        let request = request.query(&[("cwd", "/tmp"), ("readOnly", "true"), ("timeoutMs", "5000")]);
        let reply = send(request.body("pwd; echo \"it's $((1+1))\"\n")).await.expect(200).json();
        assert_eq!(reply["stdout"], "/tmp\nit's 2\n", "{kind}: {reply}");
    }
    let request = api.request(Method::POST, &path).header("content-type", "text/plain");
    let reply = send(request.query(&[("timeoutms", "5000")]).body("true")).await;
    let body = reply.refused(400, "UNKNOWN_FIELD");
    assert!(body["error"].as_str().expect("error").contains("timeoutMs"), "names the nearest: {body}");
    let request =
        api.request(Method::POST, &path).header("content-type", "application/x-www-form-urlencoded");
    send(request.body("script=true")).await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
}

async fn output_is_text_or_base64(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    api.put(&id, "/home/user/bytes", vec![0xff, 0x00, b'a', 0xe2, 0x82]).await.expect(204);
    let text = api.exec(&id, "cat bytes; echo ü >&2").await;
    assert_eq!((&text["stdout"], &text["stderr"]), (&json!("\u{fffd}\0a\u{fffd}"), &json!("ü\n")), "{text}");
    assert_ne!(text["warnings"], json!([]), "the replacement is said: {text}");
    let bytes = api.exec_with(&id, &json!({"script": "cat bytes; echo ü >&2", "encoding": "base64"})).await;
    let decoded = STANDARD.decode(bytes["stdout"].as_str().expect("stdout")).expect("base64");
    assert_eq!(decoded, [0xff, 0x00, b'a', 0xe2, 0x82]);
    let decoded = STANDARD.decode(bytes["stderr"].as_str().expect("stderr")).expect("base64");
    assert_eq!(decoded, "ü\n".as_bytes());
    assert_eq!(bytes["warnings"], json!([]));
}

async fn output_past_the_limit_is_cut_and_said_so(store: TestStore) {
    const LIMIT: usize = 16 * 1024 * 1024;
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    api.put(&id, "/home/user/big", vec![b'x'; LIMIT / 2]).await.expect(204);
    let reply = api.exec(&id, "cat big big big; echo end >&2; echo after > after").await;
    assert_eq!(reply["stdout"].as_str().expect("stdout").len(), LIMIT);
    assert_eq!((&reply["stdoutTruncated"], &reply["stderrTruncated"]), (&json!(true), &json!(false)));
    // The script went on, and what it did is kept.
    assert_eq!((&reply["stderr"], &reply["exitCode"]), (&json!("end\n"), &json!(0)));
    assert_eq!(api.stdout(&id, "cat after").await, "after\n");
    let exact = api.exec(&id, "cat big big").await;
    assert_eq!(exact["stdoutTruncated"], false);
}

async fn state_survives_a_restart(store: TestStore) {
    let mut server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create_with(&json!({"name": "kept", "env": {"A": "b"}})).await;
    let id = id["id"].as_str().expect("an id");
    api.exec(
        id,
        "mkdir d; cd d; echo x > f; chmod 750 f; ln f g; ln -s f h; touch -d 2001-02-03T04:05:06Z f",
    )
    .await;
    let look = "pwd; echo $A; stat -c '%n %a %h %Y %s' f g; readlink h; cat f";
    let before = api.stdout(id, look).await;
    let (record, tree) = (api.sandbox(id).await, api.tree(id, "/").await);
    server.kill();
    server.start_again().await;
    let api = server.api().await;
    assert_eq!(api.stdout(id, look).await, before);
    assert_eq!(api.tree(id, "/").await, tree);
    let after = api.sandbox(id).await;
    for field in ["name", "owner", "createdAt", "version", "head", "fileCount", "totalBytes"] {
        assert_eq!(after[field], record[field], "{field}");
    }
}

async fn increments_at_once_are_all_counted(store: TestStore) {
    const CLIENTS: usize = 20;
    const EACH: usize = 10;
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, "echo 0 > n").await;
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let (api, id) = (api.clone(), id.clone());
        clients.spawn(async move {
            for _ in 0..EACH {
                api.stdout(&id, "n=$(cat n); echo $((n+1)) > n").await;
            }
        });
    }
    while let Some(done) = clients.join_next().await {
        done.expect("a client");
    }
    assert_eq!(api.stdout(&id, "cat n").await, format!("{}\n", CLIENTS * EACH));
    assert_eq!(api.sandbox(&id).await["version"], 1 + CLIENTS * EACH);
}
