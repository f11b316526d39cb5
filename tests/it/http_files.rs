//! Files and tree over HTTP.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::{file_path, send};
use crate::support::{Api, Reply, Server, TestStore, on_each_store};

on_each_store![
    a_file_goes_in_and_comes_out,
    ranges_and_etags,
    preconditions_of_put,
    patch_edits_text,
    delete_is_honest,
    write_files_is_all_or_nothing,
    mkdir_makes_directories,
    tree_lists_what_is_there,
    odd_names_work,
    wrong_kinds_and_paths_are_refused,
    reads_do_not_wait_for_a_writer,
];

async fn new(store: TestStore) -> (Server, Api, String) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    (server, api, id)
}

async fn get_with(api: &Api, id: &str, path: &str, header: &str, value: &str) -> Reply {
    send(api.request(Method::GET, &file_path(id, path)).header(header, value)).await
}

async fn a_file_goes_in_and_comes_out(store: TestStore) {
    let (_server, api, id) = new(store).await;
    let data: Vec<u8> = (0..3_000_000u32).map(|n| (n * 31 / 7 % 256) as u8).collect();
    api.put(&id, "/home/user/a/b/c.bin", data.clone()).await.expect(204);
    let got = api.file(&id, "/home/user/a/b/c.bin").await.expect(200);
    assert!(got.body == data, "{} bytes", got.body.len());
    let stat: Value = serde_json::from_str(got.header("x-fs-stat")).expect("JSON");
    assert_eq!(
        (&stat["kind"], &stat["mode"], &stat["size"]),
        (&json!("file"), &json!(0o644), &json!(3_000_000))
    );
    chrono::DateTime::parse_from_rfc3339(stat["mtime"].as_str().expect("mtime")).expect("RFC 3339");
    assert_eq!(got.header("x-content-type-options"), "nosniff");
    assert!(got.header("content-disposition").starts_with("attachment"), "{:?}", got.headers);
    assert!(got.header("content-security-policy").contains("default-src 'none'"), "{:?}", got.headers);
    assert!(got.header("etag").starts_with('"'), "{:?}", got.headers);

    // The mode of a file that was there stays; one version for each write.
    api.exec(&id, "chmod 755 a/b/c.bin").await;
    api.put(&id, "/home/user/a/b/c.bin", "short").await.expect(204);
    assert_eq!(api.stdout(&id, "stat -c %a a/b/c.bin; cat a/b/c.bin").await, "755\nshort");
    assert_eq!(api.sandbox(&id).await["version"], 3);
    api.put(&id, "/home/user/empty", "").await.expect(204);
    assert_eq!(api.file(&id, "/home/user/empty").await.expect(200).body.len(), 0);
}

async fn ranges_and_etags(store: TestStore) {
    let (_server, api, id) = new(store).await;
    let path = "/home/user/f";
    api.put(&id, path, "0123456789").await.expect(204);
    let etag = api.file(&id, path).await.expect(200).header("etag").to_owned();
    for (range, status, body, content_range) in [
        ("bytes=0-3", 206, "0123", "bytes 0-3/10"),
        ("bytes=7-", 206, "789", "bytes 7-9/10"),
        ("bytes=-2", 206, "89", "bytes 8-9/10"),
        ("bytes=5-99", 206, "56789", "bytes 5-9/10"),
    ] {
        let got = get_with(&api, &id, path, "range", range).await.expect(status);
        assert_eq!((got.text(), got.header("content-range")), (body, content_range), "{range}");
    }
    let past = get_with(&api, &id, path, "range", "bytes=10-").await;
    past.error(416, "RANGE_NOT_SATISFIABLE");
    assert_eq!(past.header("content-range"), "bytes */10");
    assert_eq!(get_with(&api, &id, path, "if-none-match", &etag).await.expect(304).body.len(), 0);
    get_with(&api, &id, path, "if-none-match", "\"other\"").await.expect(200);
    // The tag is one of content: the same bytes again have it again.
    api.put(&id, path, "other").await.expect(204);
    assert_ne!(api.file(&id, path).await.header("etag"), etag);
    api.put(&id, path, "0123456789").await.expect(204);
    assert_eq!(api.file(&id, path).await.header("etag"), etag);
}

async fn preconditions_of_put(store: TestStore) {
    let (_server, api, id) = new(store).await;
    let path = "/home/user/f";
    let put = async |header: &str, value: &str, data: &str| {
        let request = api.request(Method::PUT, &file_path(&id, path)).header(header, value);
        send(request.body(data.to_owned())).await
    };
    put("if-none-match", "*", "first").await.expect(204);
    put("if-none-match", "*", "second").await.refused(412, "ETAG_MISMATCH");
    let etag = api.file(&id, path).await.header("etag").to_owned();
    put("if-match", &etag, "second").await.expect(204);
    put("if-match", &etag, "third").await.refused(412, "ETAG_MISMATCH");
    assert_eq!(api.file(&id, path).await.text(), "second");

    // Of many that start from the same state, one wins.
    let etag = api.file(&id, path).await.header("etag").to_owned();
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..8 {
        let request = api.request(Method::PUT, &file_path(&id, path)).header("if-match", &etag);
        writers.spawn(send(request.body(format!("writer {n}"))));
    }
    let mut won = 0;
    while let Some(reply) = writers.join_next().await {
        let reply = reply.expect("a writer");
        if reply.status == 204 {
            won += 1;
        } else {
            reply.refused(412, "ETAG_MISMATCH");
        }
    }
    assert_eq!(won, 1);
}

async fn patch_edits_text(store: TestStore) {
    let (_server, api, id) = new(store).await;
    let edit = async |path: &str, body: Value| api.patch(&file_path(&id, path), &body).await;
    api.put(&id, "/home/user/f", "\u{feff}one two\r\ntwo\n").await.expect(204);
    api.exec(&id, "chmod 700 f").await;
    let swap = |old: &str, new: &str| json!({"oldString": old, "newString": new});
    let done = edit("/home/user/f", swap("one", "1")).await.expect(200).json();
    assert_eq!(done, json!({"path": "/home/user/f", "replacements": 1, "size": 14}));
    edit("/home/user/f", swap("three", "3")).await.refused(409, "EDIT_NO_MATCH");
    edit("/home/user/f", swap("two", "2")).await.refused(409, "EDIT_NOT_UNIQUE");
    let all = json!({"oldString": "two", "newString": "2", "replaceAll": true});
    assert_eq!(edit("/home/user/f", all).await.expect(200).json()["replacements"], 2);
    assert_eq!(api.file(&id, "/home/user/f").await.text(), "\u{feff}1 2\r\n2\n");
    assert_eq!(api.stdout(&id, "stat -c %a f").await, "700\n");
    edit("/home/user/f", swap("", "x")).await.refused(400, "INVALID_INPUT");
    edit("/home/user/none", swap("a", "b")).await.refused(404, "ENOENT");
    edit("/home/user", swap("a", "b")).await.refused(400, "EISDIR");
    api.put(&id, "/home/user/bin", vec![0xff, 0xfe, b'a']).await.expect(204);
    edit("/home/user/bin", swap("a", "b")).await.refused(400, "EDIT_BINARY");
}

async fn delete_is_honest(store: TestStore) {
    let (_server, api, id) = new(store).await;
    api.exec(&id, "mkdir -p d/e empty; touch d/f d/e/g; ln -s d link").await;
    let del = async |path: &str, query: &str| api.delete(&format!("{}{query}", file_path(&id, path))).await;
    del("/home/user/d/f", "").await.expect(204);
    del("/home/user/d/f", "").await.refused(404, "ENOENT");
    del("/home/user/d", "").await.refused(409, "ENOTEMPTY");
    del("/home/user/empty", "").await.expect(204);
    // The link goes, not what it points to.
    del("/home/user/link", "?recursive=true").await.expect(204);
    assert_eq!(api.stdout(&id, "ls d").await, "e\n");
    del("/home/user/d", "?recursive=true").await.expect(204);
    assert_eq!(api.stdout(&id, "ls").await, "");
    let root = del("/", "?recursive=true").await;
    assert!((400..500).contains(&root.status), "{root:?}");
    assert_eq!(api.stdout(&id, "ls -d /home/user").await, "/home/user\n");
}

async fn write_files_is_all_or_nothing(store: TestStore) {
    let (_server, api, id) = new(store).await;
    let path = format!("/v1/sandboxes/{id}/writeFiles");
    api.put(&id, "/home/user/file", "x").await.expect(204);
    let ok = json!({"files": {"/home/user/a/1": "one", "/home/user/b/2": "two\n", "/home/user/file": "new"}});
    api.post(&path, &ok).await.expect(204);
    assert_eq!(api.sandbox(&id).await["version"], 2);
    assert_eq!(api.stdout(&id, "cat a/1 b/2 file").await, "onetwo\nnew");
    let half = json!({"files": {"/home/user/c": "never", "/home/user/file/below": "never"}});
    api.post(&path, &half).await.refused(400, "ENOTDIR");
    api.file(&id, "/home/user/c").await.error(404, "ENOENT");
    assert_eq!(api.sandbox(&id).await["version"], 2);
    api.post(&path, &json!({"files": {"relative": "x"}})).await.refused(400, "INVALID_INPUT");
}

async fn mkdir_makes_directories(store: TestStore) {
    let (_server, api, id) = new(store).await;
    let path = format!("/v1/sandboxes/{id}/mkdir");
    let mkdir = async |dir: &str, recursive: bool| {
        api.post(&path, &json!({"path": dir, "recursive": recursive})).await
    };
    mkdir("/home/user/a/b", false).await.refused(404, "ENOENT");
    mkdir("/home/user/a/b", true).await.expect(204);
    mkdir("/home/user/a/b", true).await.expect(204);
    mkdir("/home/user/a", false).await.refused(409, "EEXIST");
    api.put(&id, "/home/user/f", "x").await.expect(204);
    mkdir("/home/user/f/d", true).await.refused(400, "ENOTDIR");
    assert_eq!(api.stdout(&id, "stat -c '%F %a' a/b").await, "directory 755\n");
}

async fn tree_lists_what_is_there(store: TestStore) {
    let (_server, api, id) = new(store).await;
    api.exec(&id, "mkdir -p d/e; printf abc > d/f; chmod 640 d/f; ln -s ../x d/l; touch -d 2001-02-03T04:05:06.789Z d/f").await;
    let all = api.tree(&id, "/").await;
    let paths: Vec<&str> = all.iter().map(|e| e["path"].as_str().expect("a path")).collect();
    assert!(paths.is_sorted(), "{paths:?}");
    for path in
        ["/home", "/home/user", "/home/user/d", "/home/user/d/e", "/home/user/d/f", "/home/user/d/l", "/tmp"]
    {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
    let at = |path: &str| all.iter().find(|e| e["path"] == path).expect(path);
    let file = at("/home/user/d/f");
    assert_eq!((&file["kind"], &file["size"], &file["mode"]), (&json!("file"), &json!(3), &json!(0o640)));
    let mtime =
        chrono::DateTime::parse_from_rfc3339(file["mtime"].as_str().expect("mtime")).expect("RFC 3339");
    assert_eq!(mtime.timestamp_millis(), 981_173_106_789);
    let link = at("/home/user/d/l");
    assert_eq!((&link["kind"], &link["target"]), (&json!("symlink"), &json!("../x")));
    assert_eq!((&at("/tmp")["kind"], &at("/tmp")["mode"]), (&json!("dir"), &json!(0o1777)));
    let below = api.tree(&id, "/home/user/d").await;
    assert!(
        below.iter().all(|e| e["path"].as_str().expect("a path").starts_with("/home/user/d")),
        "{below:?}"
    );
    assert!(below.iter().any(|e| e["path"] == "/home/user/d/e"), "{below:?}");
    let one = api.get(&format!("/v1/sandboxes/{id}/tree?prefix=/home&depth=1")).await.expect(200).json();
    assert!(!one.to_string().contains("/home/user/d"), "{one}");
    assert!(one.to_string().contains("/home/user"), "{one}");
    api.get(&format!("/v1/sandboxes/{id}/tree?prefix=/none")).await.error(404, "ENOENT");
}

async fn odd_names_work(store: TestStore) {
    let (_server, api, id) = new(store).await;
    let longest = "n".repeat(255);
    let names = [
        "new\nline",
        "tab\t",
        "-rf",
        "*",
        " space ",
        "\u{202e}rtl",
        "é",
        "e\u{301}",
        "'; DROP TABLE inodes;--",
        "%",
        "_",
        "\\",
        "$1",
        "a\"\r\nSet-Cookie: x=1.html",
        "100%25",
        "?q#h",
        longest.as_str(),
    ];
    for name in names {
        let path = format!("/home/user/odd/{name}");
        api.put(&id, &path, name.to_owned()).await.expect(204);
        let got = api.file(&id, &path).await.expect(200);
        assert_eq!(got.text(), name);
        assert!(!got.headers.contains_key("set-cookie"), "{:?}", got.headers);
    }
    let tree = api.tree(&id, "/home/user/odd").await;
    for name in names {
        assert!(tree.iter().any(|e| e["path"] == format!("/home/user/odd/{name}")), "{name:?}");
    }
}

async fn wrong_kinds_and_paths_are_refused(store: TestStore) {
    let (_server, api, id) = new(store).await;
    api.put(&id, "/home/user/f", "x").await.expect(204);
    api.exec(&id, "ln -s loop loop").await;
    api.file(&id, "/home/user/none").await.error(404, "ENOENT");
    api.file(&id, "/home/user").await.error(400, "EISDIR");
    api.file(&id, "/home/user/f/x").await.error(400, "ENOTDIR");
    api.file(&id, "/home/user/loop").await.error(400, "ELOOP");
    api.file(&id, &format!("/home/user/{}", "n".repeat(256))).await.error(400, "ENAMETOOLONG");
    api.put(&id, "/home/user", "x").await.refused(400, "EISDIR");
    api.put(&id, "/home/user/f/x", "x").await.refused(400, "ENOTDIR");
    api.put(&id, &"/d".repeat(2100), "x").await.refused(400, "ENAMETOOLONG");
    let nul = format!("/v1/sandboxes/{id}/files/home/user/a%00b");
    api.get(&nul).await.error(400, "INVALID_INPUT");
    let bytes = format!("/v1/sandboxes/{id}/files/home/user/a%ffb");
    let refused = api.get(&bytes).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    // A route names a path as it is; `..` could only be an attempt to lead elsewhere.
    let out = api.get(&format!("/v1/sandboxes/{id}/files/..%2f..%2f..%2f..%2fetc%2fpasswd")).await;
    out.error(400, "INVALID_INPUT");
    assert_eq!(api.sandbox(&id).await["version"], 2);
}

async fn reads_do_not_wait_for_a_writer(store: TestStore) {
    let (_server, api, id) = new(store).await;
    api.exec(&id, "echo old > f").await;
    let mut live = api.live(&id, &json!({"script": "echo new > f; echo go; sleep 3"})).await;
    assert_eq!(live.next().await.expect("an event").data["data"], "go\n");
    let start = tokio::time::Instant::now();
    assert_eq!(api.file(&id, "/home/user/f").await.expect(200).text(), "old\n");
    api.tree(&id, "/").await;
    api.export(&id, "/home/user").await;
    let body = json!({"script": "cat f", "readOnly": true, "snapshot": true});
    assert_eq!(api.exec_with(&id, &body).await["stdout"], "old\n");
    assert!(start.elapsed() < std::time::Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(live.all().await.last().expect("an exit").data["committed"], true);
    assert_eq!(api.file(&id, "/home/user/f").await.text(), "new\n");
}
