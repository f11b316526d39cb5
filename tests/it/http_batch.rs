//! `POST …/exec-sync-batch`.

use serde_json::{Value, json};

use crate::support::{Api, Reply, Server, TestStore, on_each_store};

on_each_store![
    scripts_run_in_order_each_in_the_cwd_before,
    an_atomic_batch_is_one_version_or_nothing,
    read_only_batches_share_one_version,
    the_budget_bounds_all,
    bad_batches_are_refused,
];

async fn batch(api: &Api, id: &str, body: &Value) -> Reply {
    api.post(&format!("/v1/sandboxes/{id}/exec-sync-batch"), body).await
}

async fn results(api: &Api, id: &str, body: &Value) -> Vec<Value> {
    let reply = batch(api, id, body).await.expect(200).json();
    reply["results"].as_array().expect("results").clone()
}

fn scripts(scripts: &[&str]) -> Value {
    scripts.iter().enumerate().map(|(n, script)| json!({"id": format!("s{n}"), "script": script})).collect()
}

async fn scripts_run_in_order_each_in_the_cwd_before(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let body = json!({"scripts": scripts(&["mkdir d; cd d; echo 1 > f", "pwd; cat f; exit 3", "echo 2 >> f; cat f"])});
    let results = results(&api, &id, &body).await;
    let fields = |field: &str| results.iter().map(|r| r[field].clone()).collect::<Vec<_>>();
    assert_eq!(fields("id"), ["s0", "s1", "s2"]);
    assert_eq!(fields("stdout"), ["", "/home/user/d\n1\n", "1\n2\n"]);
    assert_eq!(fields("exitCode"), [0, 3, 0]);
    assert_eq!(fields("committed"), [true, false, true]);
    assert_eq!(fields("version"), [1, 1, 2]);
    assert!(results.iter().all(|r| r["durationMs"].is_u64()), "{results:?}");
    assert_eq!(api.stdout(&id, "pwd").await, "/home/user/d\n");
}

async fn an_atomic_batch_is_one_version_or_nothing(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let body = |list: &[&str]| json!({"atomic": true, "scripts": scripts(list)});
    let failed = results(&api, &id, &body(&["echo 1 > a", "cat a; exit 1", "echo 3 > c"])).await;
    assert!(failed.iter().all(|r| r["committed"] == false), "{failed:?}");
    assert_eq!(failed[1]["stdout"], "1\n", "the second saw the first: {failed:?}");
    assert_eq!((&failed[2]["exitCode"], &failed[2]["error"]), (&json!(-1), &json!("skipped")));
    assert_eq!(api.sandbox(&id).await["version"], 0);
    assert_eq!(api.stdout(&id, "ls").await, "");

    let cut = json!({"atomic": true, "perScriptTimeoutMs": 200, "scripts": scripts(&["echo 1 > a", "sleep 60", "echo 3 > c"])});
    let cut = results(&api, &id, &cut).await;
    assert!(cut.iter().all(|r| r["committed"] == false), "{cut:?}");
    assert_eq!(cut[1]["code"], "EXEC_TIMEOUT", "{cut:?}");
    assert_eq!(cut[2]["error"], "skipped", "{cut:?}");
    assert_eq!(api.stdout(&id, "ls").await, "");

    let done = results(&api, &id, &body(&["echo 1 > a", "echo 2 > b", "cat a b"])).await;
    assert_eq!(done[2]["stdout"], "1\n2\n");
    assert_eq!(api.sandbox(&id).await["version"], 1, "one version for all");
}

async fn read_only_batches_share_one_version(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, "echo x > f").await;
    let list: Vec<String> = (0..50).map(|n| format!("sleep 0.1; cat f; echo {n}")).collect();
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let start = tokio::time::Instant::now();
    let done = results(&api, &id, &json!({"readOnly": true, "scripts": scripts(&list)})).await;
    let took = start.elapsed();
    for (n, result) in done.iter().enumerate() {
        assert_eq!(result["id"], format!("s{n}"));
        assert_eq!(result["stdout"], format!("x\n{n}\n"));
        assert_eq!((&result["version"], &result["committed"]), (&json!(1), &json!(false)));
    }
    assert!(took < std::time::Duration::from_secs(5), "one after another: {took:?}");
    let body = json!({"readOnly": true, "scripts": scripts(&["cat f", "echo y > f"])});
    batch(&api, &id, &body).await.refused(422, "EREADONLY_VIOLATION");
    assert_eq!(api.sandbox(&id).await["version"], 1);
}

async fn the_budget_bounds_all(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let body =
        json!({"timeoutMs": 700, "scripts": scripts(&["echo 1 > a", "echo 2 > b; sleep 60", "echo 3 > c"])});
    let done = results(&api, &id, &body).await;
    assert_eq!((&done[0]["committed"], &done[0]["applied"]), (&json!(true), &json!("yes")), "{done:?}");
    assert_eq!((&done[1]["committed"], &done[1]["applied"]), (&json!(false), &json!("no")), "{done:?}");
    assert_eq!(done[1]["code"], "EXEC_TIMEOUT", "{done:?}");
    assert_eq!((&done[2]["exitCode"], &done[2]["error"]), (&json!(-1), &json!("timeout")), "{done:?}");
    assert_eq!(api.stdout(&id, "ls").await, "a\n");
}

async fn bad_batches_are_refused(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let many: Vec<&str> = vec!["true"; 51];
    for body in [
        json!({}),
        json!({"scripts": []}),
        json!({"scripts": scripts(&many)}),
        json!({"scripts": [{"script": "true"}]}),
        json!({"scripts": [{"id": "a", "script": ""}]}),
        json!({"scripts": scripts(&["true"]), "timeoutMs": 300_001}),
        json!({"scripts": scripts(&["true"]), "perScriptTimeoutMs": 0}),
    ] {
        batch(&api, &id, &body).await.refused(400, "INVALID_INPUT");
    }
    let typo = json!({"scripts": [{"id": "a", "scrpit": "true"}]});
    let body = batch(&api, &id, &typo).await.refused(400, "UNKNOWN_FIELD");
    assert!(body["error"].as_str().expect("error").contains("script"), "{body}");
}
