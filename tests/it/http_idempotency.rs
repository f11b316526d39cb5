//! `Idempotency-Key`: at most one effect for each key of a sandbox, and the same reply.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::send;
use crate::support::{Api, Reply, Server, TestStore, on_each_store};

on_each_store![
    a_key_has_its_effect_once_and_the_same_reply,
    what_left_no_trace_may_be_sent_again,
    a_script_that_moves_moves_once,
    live_replies_are_kept_too,
    keys_that_are_none_are_refused,
    a_server_that_is_killed_keeps_its_word,
];

async fn keyed(api: &Api, id: &str, route: &str, key: &str, body: &Value) -> Reply {
    let request = api.request(Method::POST, &format!("/v1/sandboxes/{id}/{route}"));
    send(request.header("idempotency-key", key).json(body)).await
}

async fn sync(api: &Api, id: &str, key: &str, script: &str) -> Reply {
    keyed(api, id, "exec-sync", key, &json!({"script": script})).await
}

#[track_caller]
fn replayed(reply: &Reply) -> bool {
    match reply.header("idempotent-replayed") {
        "true" => true,
        "" => false,
        other => panic!("idempotent-replayed: {other}"),
    }
}

async fn a_key_has_its_effect_once_and_the_same_reply(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let (id, other) = (api.create().await, api.create().await);
    let script = "echo x >> log; cat log; printf '\\xff' >&2; exit 3";
    let first = sync(&api, &id, "k", script).await.expect(200);
    assert!(!replayed(&first));
    api.exec(&id, "echo between >> log").await;
    let again = sync(&api, &id, "k", script).await.expect(200);
    assert!(replayed(&again));
    assert_eq!(again.json(), first.json());
    assert_eq!((&again.json()["exitCode"], &again.json()["version"]), (&json!(3), &json!(1)));
    assert_eq!(api.stdout(&id, "cat log").await, "x\nbetween\n");
    // Another request under the key, whatever differs.
    for body in [json!({"script": "true"}), json!({"script": script, "stdin": ""})] {
        let refused = keyed(&api, &id, "exec-sync", "k", &body).await.refused(422, "IDEMPOTENCY_KEY_REUSED");
        assert_eq!(refused["retryable"], false);
    }
    // How the reply is written is no part of the request.
    let base64 = json!({"script": script, "encoding": "base64"});
    assert_eq!(keyed(&api, &id, "exec-sync", "k", &base64).await.expect(200).json()["stdout"], "eAo=");
    // Other keys and other sandboxes are their own.
    assert!(!replayed(&sync(&api, &id, "K", script).await.expect(200)));
    assert!(!replayed(&sync(&api, &other, "k", script).await.expect(200)));
    assert_eq!(api.stdout(&id, "cat log").await, "x\nbetween\nx\n");
    // The first precondition was met; that it no longer is makes no other request of it.
    let version = api.sandbox(&id).await["version"].clone();
    let expecting = json!({"script": "echo y >> log", "ifVersion": version});
    for _ in 0..2 {
        keyed(&api, &id, "exec-sync", "v", &expecting).await.expect(200);
    }
    // Long output is kept up to a limit, and says so.
    let long = "head -c 3000000 /dev/zero | tr '\\0' a; echo z > long";
    let whole = sync(&api, &id, "long", long).await.expect(200).json();
    let kept = sync(&api, &id, "long", long).await.expect(200).json();
    assert_eq!((&whole["stdoutTruncated"], &kept["stdoutTruncated"]), (&json!(false), &json!(true)));
    assert_eq!(kept["stdout"].as_str().expect("text").len(), 1 << 20);
    assert_eq!((&whole["head"], &whole["committed"]), (&kept["head"], &kept["committed"]));
    // A read has no effect to repeat.
    let read = json!({"script": "wc -l < log", "readOnly": true});
    assert_eq!(keyed(&api, &id, "exec-sync", "r", &read).await.expect(200).json()["stdout"], "4\n");
    api.exec(&id, "echo more >> log").await;
    assert_eq!(keyed(&api, &id, "exec-sync", "r", &read).await.expect(200).json()["stdout"], "5\n");
}

async fn what_left_no_trace_may_be_sent_again(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, "echo 5 > seconds").await;
    let body = json!({"script": "echo x >> log; sleep \"$(cat seconds)\"", "timeoutMs": 500});
    keyed(&api, &id, "exec-sync", "k", &body).await.refused(408, "EXEC_TIMEOUT");
    api.exec(&id, "echo 0 > seconds").await;
    assert!(!replayed(&keyed(&api, &id, "exec-sync", "k", &body).await.expect(200)));
    assert!(replayed(&keyed(&api, &id, "exec-sync", "k", &body).await.expect(200)));
    assert_eq!(api.stdout(&id, "cat log").await, "x\n");
    for option in ["dryRun", "rollbackOnError"] {
        let body = json!({"script": "echo x >> log; exit 1", option: true});
        for _ in 0..2 {
            let reply = keyed(&api, &id, "exec-sync", option, &body).await.expect(200);
            assert!(!replayed(&reply) && reply.json()["committed"] == false, "{option}");
        }
    }
    let late = json!({"script": "true", "ifVersion": 0});
    keyed(&api, &id, "exec-sync", "late", &late).await.refused(412, "VERSION_MISMATCH");
    assert_eq!(api.stdout(&id, "cat log").await, "x\n");
}

async fn a_script_that_moves_moves_once(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let first = sync(&api, &id, "up", "cd ..; pwd").await.expect(200);
    assert_eq!((&first.json()["stdout"], &first.json()["committed"]), (&json!("/home\n"), &json!(false)));
    let again = sync(&api, &id, "up", "cd ..; pwd").await.expect(200);
    assert!(replayed(&again));
    assert_eq!(again.json(), first.json());
    assert_eq!(api.stdout(&id, "pwd").await, "/home\n");
}

async fn live_replies_are_kept_too(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let body = json!({"script": "echo x >> log; cat log; echo oops >&2; exit 4"});
    let events = |reply: &Reply| {
        let data = reply.text().lines().filter_map(|line| line.strip_prefix("data: "));
        let data: Vec<Value> = data.map(|data| serde_json::from_str(data).expect("JSON")).collect();
        let text = |n: usize| data[n]["data"].as_str().map(str::to_owned);
        let exit = data.last().expect("exit");
        (text(0), text(1), exit["exitCode"].clone(), exit["version"].clone(), data.len())
    };
    let first = keyed(&api, &id, "exec", "k", &body).await.expect(200);
    let again = keyed(&api, &id, "exec", "k", &body).await.expect(200);
    assert_eq!(events(&first), events(&again));
    assert_eq!(events(&again).2, 4);
    // One key, whichever way it is asked.
    let sync = keyed(&api, &id, "exec-sync", "k", &body).await.expect(200);
    assert!(replayed(&sync));
    assert_eq!((&sync.json()["stdout"], &sync.json()["stderr"]), (&json!("x\n"), &json!("oops\n")));
    keyed(&api, &id, "exec", "k", &json!({"script": "true"})).await.refused(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(api.stdout(&id, "cat log").await, "x\n");
}

async fn keys_that_are_none_are_refused(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    for bad in ["k".repeat(1024), "k".repeat(256), "a b".into(), "\u{fc}".into(), String::new()] {
        let refused = sync(&api, &id, &bad, "echo x > f").await.refused(400, "INVALID_INPUT");
        assert!(refused["error"].as_str().expect("text").starts_with("Idempotency-Key: expected one key"));
    }
    sync(&api, &id, &"k".repeat(255), "true").await.expect(200);
    // Where nothing is kept, nobody is left in the belief that it is.
    let base = format!("/v1/sandboxes/{id}");
    for (method, path, body) in [
        (Method::POST, "/v1/sandboxes".to_owned(), json!({})),
        (
            Method::POST,
            format!("{base}/exec-sync-batch"),
            json!({"scripts": [{"id": "a", "script": "echo x > f"}]}),
        ),
        (Method::PATCH, format!("{base}/files/home/user/f"), json!({"oldString": "a", "newString": "b"})),
    ] {
        let request = api.request(method, &path).header("idempotency-key", "k").json(&body);
        let refused = send(request).await.refused(400, "INVALID_INPUT");
        assert!(
            refused["error"].as_str().expect("text").contains("only exec and exec-sync take one"),
            "{path}"
        );
    }
    assert_eq!(api.sandbox(&id).await["version"], 0);
}

async fn a_server_that_is_killed_keeps_its_word(store: TestStore) {
    let mut server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let first = sync(&api, &id, "k", "echo x >> log; cat log").await.expect(200);
    server.kill();
    server.start_again().await;
    let again = sync(&api.at(&server.url()), &id, "k", "echo x >> log; cat log").await.expect(200);
    assert!(replayed(&again));
    assert_eq!(again.json(), first.json());
}

/// Without Redis nothing keeps two replicas from running the same script at once: the
/// database alone decides.
#[tokio::test]
async fn of_the_same_request_to_two_replicas_one_has_an_effect() {
    let store = TestStore::postgres().await;
    let url = store.postgres_url().expect("Postgres");
    let env = [("DATABASE_URL", url.as_str())];
    let first = Server::start_with(store, &env).await;
    let second = Server::start_with(TestStore::sqlite(), &env).await;
    let api = first.api().await;
    let (one, two) = (api.at(&first.url()), api.at(&second.url()));
    let id = api.create().await;
    let mut at_once = 0;
    for round in 0..20 {
        // What changes a file, and what only moves.
        let script = if round % 2 == 0 { "echo x >> log; wc -l < log" } else { "cd ..; pwd; cd ~" };
        let key = format!("round-{round}");
        let both = tokio::join!(
            sync(&one, &id, &key, script),
            sync(&two, &id, &key, script),
            sync(&one, &id, &key, script)
        );
        let replies = [both.0, both.1, both.2];
        let mut told = Vec::new();
        for reply in &replies {
            match reply.status {
                200 => told.push((reply.json(), replayed(reply))),
                // It lost twice, to others than its own; the client sends it again.
                _ => drop(reply.refused(409, "CONFLICT")),
            }
        }
        let (first, _) = told.first().expect("one is answered").clone();
        assert!(told.iter().all(|(body, _)| *body == first), "{told:?}");
        assert_eq!(told.iter().filter(|(_, replayed)| !replayed).count(), 1, "{told:?}");
        at_once += told.len();
    }
    assert!(at_once >= 40, "too few were answered: {at_once}");
    assert_eq!(api.stdout(&id, "wc -l < log").await, "10\n");
}
