//! Creation, listing, names and deletion of sandboxes.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::send;
use crate::support::{Api, Server, TestStore, on_each_store};

on_each_store![
    a_new_sandbox_is_all_there,
    a_listing_is_paged_newest_first,
    unique_names_are_held_alone,
    patch_changes_the_row,
    a_deleted_sandbox_is_gone,
    force_ends_a_running_script,
    another_owners_sandbox_does_not_exist,
    malformed_requests_make_nothing,
];

async fn count(api: &Api) -> usize {
    api.get("/v1/sandboxes").await.expect(200).json()["sandboxes"].as_array().expect("a list").len()
}

async fn a_new_sandbox_is_all_there(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let body = json!({
        "name": "work",
        "env": {"GREETING": "hello"},
        "files": {"/home/user/a/b": "content", "/etc/motd": "m"},
        "network": false,
    });
    let made = api.create_with(&body).await;
    let id = made["id"].as_str().expect("an id");
    uuid::Uuid::parse_str(id).expect("a UUID");
    assert_eq!(
        (&made["name"], &made["owner"], &made["version"]),
        (&json!("work"), &json!("tester"), &json!(0))
    );
    chrono::DateTime::parse_from_rfc3339(made["createdAt"].as_str().expect("createdAt")).expect("RFC 3339");
    assert_eq!(api.stdout(id, "cat a/b /etc/motd; echo \" $GREETING\"").await, "contentm hello\n");
    let record = api.sandbox(id).await;
    for field in ["id", "name", "owner", "createdAt"] {
        assert_eq!(record[field], made[field], "{field}");
    }
    assert!(record["head"].is_string() && record["lastUsedAt"].is_string(), "{record}");
    // Nothing at all, an empty body and an empty object are the same wish.
    for request in [
        api.request(Method::POST, "/v1/sandboxes"),
        api.request(Method::POST, "/v1/sandboxes").header("content-type", "application/json").body(""),
        api.request(Method::POST, "/v1/sandboxes").json(&json!({})),
    ] {
        let made = send(request).await.expect(201).json();
        assert_eq!(made["name"], Value::Null, "{made}");
        let first = "stat -c '%n %a' / /home /home/user /tmp; echo $HOME; pwd";
        let id = made["id"].as_str().expect("an id");
        assert_eq!(
            api.stdout(id, first).await,
            "/ 755\n/home 755\n/home/user 755\n/tmp 1777\n/home/user\n/home/user\n"
        );
    }
}

async fn a_listing_is_paged_newest_first(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let mut made = Vec::new();
    for n in 0..7 {
        let body = json!({"name": if n % 2 == 0 { "even" } else { "odd" }});
        made.push(api.create_with(&body).await["id"].as_str().expect("an id").to_owned());
    }
    server.api_as("somebody else").await.create().await;
    made.reverse();
    let mut got = Vec::new();
    let mut path = "/v1/sandboxes?limit=3".to_owned();
    let mut pages = 0;
    loop {
        let page = api.get(&path).await.expect(200).json();
        let rows = page["sandboxes"].as_array().expect("a list").clone();
        assert!(rows.len() <= 3);
        got.extend(rows.iter().map(|r| r["id"].as_str().expect("an id").to_owned()));
        pages += 1;
        match page["nextCursor"].as_str() {
            Some(next) => path = format!("/v1/sandboxes?limit=3&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((got, pages), (made, 3));
    let even = api.get("/v1/sandboxes?name=even").await.expect(200).json();
    assert_eq!(even["sandboxes"].as_array().expect("a list").len(), 4);
    for bad in ["?cursor=nonsense", "?limit=0", "?limit=-1", "?limit=x", "?limit=100000000"] {
        api.get(&format!("/v1/sandboxes{bad}")).await.refused(400, "INVALID_INPUT");
    }
    api.get("/v1/sandboxes?limt=1").await.refused(400, "UNKNOWN_FIELD");
}

async fn unique_names_are_held_alone(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let unique = json!({"name": "main", "unique": true});
    // Of many at once, one gets it; the others are told who.
    let mut tries = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (api, unique) = (api.clone(), unique.clone());
        tries.spawn(async move { api.post("/v1/sandboxes", &unique).await });
    }
    let (mut holder, mut told) = (None, Vec::new());
    while let Some(reply) = tries.join_next().await {
        let reply = reply.expect("a try");
        if reply.status == 201 {
            assert!(holder.replace(reply.json()["id"].clone()).is_none(), "two hold it");
        } else {
            told.push(reply.refused(409, "NAME_TAKEN")["holderId"].clone());
        }
    }
    let holder = holder.expect("one holds it");
    assert_eq!(told, vec![holder.clone(); 7]);
    let got = api.post("/v1/sandboxes?ifExists=return", &unique).await.expect(200).json();
    assert_eq!(got["id"], holder);
    // A label may be there many times; another owner has names of its own.
    api.create_with(&json!({"name": "main"})).await;
    server.api_as("other").await.create_with(&unique).await;
    let id = holder.as_str().expect("an id");
    api.delete(&format!("/v1/sandboxes/{id}")).await.expect(204);
    let next = api.create_with(&unique).await;
    assert_ne!(next["id"], holder);
    api.post("/v1/sandboxes", &json!({"unique": true})).await.refused(400, "INVALID_INPUT");
}

async fn patch_changes_the_row(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let holder = api.create_with(&json!({"name": "held", "unique": true})).await;
    let id = api.create().await;
    let path = format!("/v1/sandboxes/{id}");
    let taken = api.patch(&path, &json!({"name": "held", "unique": true})).await.refused(409, "NAME_TAKEN");
    assert_eq!(taken["holderId"], holder["id"]);
    let named = api.patch(&path, &json!({"name": "mine", "env": {"A": "1"}})).await.expect(200).json();
    assert_eq!((&named["name"], &named["version"]), (&json!("mine"), &json!(0)), "no version of its own");
    assert_eq!(api.stdout(&id, "echo $A").await, "1\n");
    let free = format!("/v1/sandboxes/{}", holder["id"].as_str().expect("an id"));
    api.patch(&free, &json!({"name": null})).await.expect(200);
    api.patch(&path, &json!({"name": "held", "unique": true})).await.expect(200);
    assert_eq!(api.sandbox(&id).await["name"], "held");
    let typo = api.patch(&path, &json!({"nmae": "x"})).await.refused(400, "UNKNOWN_FIELD");
    assert!(typo["error"].as_str().expect("error").contains("name"), "{typo}");
}

async fn a_deleted_sandbox_is_gone(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    for warm in [false, true] {
        let id = api.create().await;
        if warm {
            api.exec(&id, "echo x > f").await;
        }
        let path = format!("/v1/sandboxes/{id}");
        api.delete(&path).await.expect(204);
        api.delete(&path).await.refused(404, "SANDBOX_NOT_FOUND");
        api.get(&path).await.refused(404, "SANDBOX_NOT_FOUND");
        api.try_exec(&id, &json!({"script": "true"})).await.refused(404, "SANDBOX_NOT_FOUND");
        let read = json!({"script": "true", "readOnly": true, "snapshot": true});
        api.try_exec(&id, &read).await.refused(404, "SANDBOX_NOT_FOUND");
        api.file(&id, "/home/user/f").await.refused(404, "SANDBOX_NOT_FOUND");
        api.put(&id, "/home/user/f", "x").await.refused(404, "SANDBOX_NOT_FOUND");
    }
    assert_eq!(count(&api).await, 0);
}

async fn force_ends_a_running_script(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let mut live = api.live(&id, &json!({"script": "echo x > f; echo go; sleep 60"})).await;
    assert_eq!(live.next().await.expect("an event").data["data"], "go\n");
    let start = tokio::time::Instant::now();
    api.delete(&format!("/v1/sandboxes/{id}?force=true")).await.expect(204);
    let events = live.all().await;
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
    let error = events.iter().find(|e| e.name == "error").expect("an error event");
    assert_eq!((&error.data["code"], &error.data["applied"]), (&json!("SANDBOX_NOT_FOUND"), &json!("no")));
    // Without force it waits for the script's end.
    let id = api.create().await;
    let mut live = api.live(&id, &json!({"script": "echo x > f; echo go; sleep 1"})).await;
    assert_eq!(live.next().await.expect("an event").data["data"], "go\n");
    api.delete(&format!("/v1/sandboxes/{id}")).await.expect(204);
    let exit = live.all().await.pop().expect("an exit");
    assert_eq!((&exit.data["exitCode"], &exit.data["committed"]), (&json!(0), &json!(true)));
}

async fn another_owners_sandbox_does_not_exist(store: TestStore) {
    let server = Server::start(store).await;
    let (api, other) = (server.api().await, server.api_as("other").await);
    let id = api.create().await;
    api.exec(&id, "echo secret > f").await;
    let random = uuid::Uuid::new_v4().to_string();
    let strip = |mut body: Value, id: &str| {
        body["requestId"] = json!("");
        body.to_string().replace(id, "ID")
    };
    let routes: [(Method, &str, Option<Value>); 14] = [
        (Method::GET, "", None),
        (Method::PATCH, "", Some(json!({"name": "x"}))),
        (Method::DELETE, "", None),
        (Method::DELETE, "?force=true", None),
        (Method::POST, "/exec-sync", Some(json!({"script": "cat f"}))),
        (Method::POST, "/exec", Some(json!({"script": "cat f"}))),
        (Method::POST, "/exec-sync", Some(json!({"script": "cat f", "readOnly": true}))),
        (Method::POST, "/exec-sync-batch", Some(json!({"scripts": [{"id": "a", "script": "cat f"}]}))),
        (Method::GET, "/files/home/user/f", None),
        (Method::DELETE, "/files/home/user/f", None),
        (Method::POST, "/writeFiles", Some(json!({"files": {"/x": "y"}}))),
        (Method::POST, "/mkdir", Some(json!({"path": "/x"}))),
        (Method::GET, "/tree", None),
        (Method::GET, "/export", None),
    ];
    for (method, rest, body) in routes {
        let ask = async |id: &str| {
            let request = other.request(method.clone(), &format!("/v1/sandboxes/{id}{rest}"));
            let request = if let Some(body) = &body { request.json(body) } else { request };
            let reply = send(request).await;
            (strip(reply.error(404, "SANDBOX_NOT_FOUND"), id), reply.headers.len())
        };
        assert_eq!(ask(&id).await, ask(&random).await, "{method} {rest}");
    }
    other.put(&id, "/home/user/f", "x").await.error(404, "SANDBOX_NOT_FOUND");
    other.ingest(&id, "/home/user", "application/x-tar", vec![0; 1024]).await.error(404, "SANDBOX_NOT_FOUND");
    assert_eq!((count(&other).await, count(&api).await), (0, 1));
    assert_eq!(api.stdout(&id, "cat f").await, "secret\n");
}

async fn malformed_requests_make_nothing(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    for (body, code) in [
        ("{\"name\":", "INVALID_INPUT"),
        ("[]", "INVALID_INPUT"),
        ("null", "INVALID_INPUT"),
        ("{\"name\": 1}", "INVALID_INPUT"),
        ("{\"nam\": \"x\"}", "UNKNOWN_FIELD"),
        ("{\"files\": {\"relative\": \"x\"}}", "INVALID_INPUT"),
        ("{\"env\": {\"A=B\": \"x\"}}", "INVALID_INPUT"),
        ("{\"name\": \"a\", \"name\": \"b\"}", "INVALID_INPUT"),
    ] {
        let request = api.request(Method::POST, "/v1/sandboxes").header("content-type", "application/json");
        send(request.body(body)).await.refused(400, code);
    }
    // A file below a file: the sandbox is not there by half.
    let half = json!({"files": {"/home/user/a": "x", "/home/user/a/b": "y"}});
    api.post("/v1/sandboxes", &half).await.refused(400, "ENOTDIR");
    api.post("/v1/sandboxes?ifexists=return", &json!({})).await.refused(400, "UNKNOWN_FIELD");
    assert_eq!(count(&api).await, 0);
}
