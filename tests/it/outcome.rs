//! The reply of a COMMIT is lost: the answer is right all the same, and no effect is
//! there twice. Postgres only: SQLite has no connection to lose.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::{Reply, send};
use crate::support::proxy::{Action, Proxy};
use crate::support::{Api, Server, TestStore};

const ROUNDS: usize = 200;
const LONG: Duration = Duration::from_secs(30);

/// A server whose Postgres is behind a proxy.
async fn new() -> (Server, Proxy, Api, String) {
    let store = TestStore::postgres().await;
    let url = store.postgres_url().expect("Postgres");
    let proxy = Proxy::before(&url).await;
    let server = Server::start_with(store, &[("DATABASE_URL", &proxy.url(&url))]).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, "echo start > log").await;
    (server, proxy, api, id)
}

/// Appends a line under a request id, by which the proxy knows the commit.
async fn append(api: &Api, id: &str, request: &str) -> Reply {
    let path = format!("/v1/sandboxes/{id}/exec-sync");
    let body = json!({"script": format!("echo {request} >> log; cat log | wc -l")});
    send(api.request(Method::POST, &path).header("x-request-id", request).json(&body)).await
}

async fn log(api: &Api, id: &str) -> Vec<String> {
    api.stdout(id, "cat log").await.lines().map(str::to_owned).collect()
}

/// Whether the reply says that the files were changed.
fn says_applied(reply: &Reply) -> bool {
    let body: Value = reply.json();
    if reply.status == 200 {
        assert_eq!(body["committed"], true, "{body}");
        return true;
    }
    assert!(["yes", "no"].iter().any(|word| body["applied"] == **word), "no definite answer: {body}");
    assert_ne!(body["code"], "OUTCOME_UNKNOWN", "Postgres could be reached: {body}");
    if body["applied"] == "yes" {
        assert_eq!(body["retryable"], false, "a retry would double it: {body}");
    }
    body["applied"] == "yes"
}

#[tokio::test]
async fn every_answer_is_right_when_a_commit_is_cut() {
    let (_server, proxy, api, id) = new().await;
    let mut expected = vec!["start".to_owned()];
    let (mut applied, mut errors) = ([0, 0], 0);
    for round in 0..ROUNDS {
        let action = if round % 2 == 0 { Action::CutBefore } else { Action::CutAfter };
        let request = format!("cut-{round}-end");
        let trap = proxy.trap(request.as_bytes(), action);
        let reply = append(&api, &id, &request).await;
        assert!(trap.sprung_on().is_some(), "round {round}: the commit did not pass the proxy");
        if says_applied(&reply) {
            expected.push(request.clone());
            applied[round % 2] += 1;
        }
        errors += usize::from(reply.status != 200);
        assert_eq!(log(&api, &id).await, expected, "round {round}, {action:?}: {reply:?}");
    }
    println!(
        "{ROUNDS} cuts: applied {} of {} cut before, {} of {} cut after, {errors} answered with an error",
        applied[0],
        ROUNDS / 2,
        applied[1],
        ROUNDS / 2
    );
    // A commit that the server saw is found; that is the half which guessing gets wrong.
    assert_eq!(applied[1], ROUNDS / 2, "a commit was there and the answer said no");
}

#[tokio::test]
async fn a_late_commit_commits_nothing() {
    let (_server, proxy, api, id) = new().await;
    let mut expected = vec!["start".to_owned()];
    for round in 0..20 {
        let request = format!("late-{round}-end");
        let trap = proxy.trap(request.as_bytes(), Action::Hold);
        let running = {
            let (api, id, request) = (api.clone(), id.clone(), request.clone());
            tokio::spawn(async move { append(&api, &id, &request).await })
        };
        trap.sprung(LONG).await;
        trap.cut_client();
        let reply = running.await.expect("the exec");
        if says_applied(&reply) {
            // It was run again after the first try was voided.
            expected.push(request.clone());
        }
        assert_eq!(log(&api, &id).await, expected, "round {round}, before the release: {reply:?}");
        let version = api.sandbox(&id).await["version"].clone();
        // The backend gets the commit only now, and answers it.
        trap.release(LONG).await;
        assert_eq!(log(&api, &id).await, expected, "round {round}: a commit that was answered with no");
        assert_eq!(api.sandbox(&id).await["version"], version, "round {round}");
    }
    // The sandbox works on.
    assert_eq!(append(&api, &id, "after-all").await.status, 200);
}

#[tokio::test]
async fn without_postgres_the_outcome_is_unknown_or_nothing_was_applied() {
    let (_server, proxy, api, id) = new().await;
    let mut expected = vec!["start".to_owned()];
    for action in [Action::CutBefore, Action::CutAfter] {
        let request = format!("away-{action:?}-end");
        let trap = proxy.trap(request.as_bytes(), action);
        let running = {
            let (api, id, request) = (api.clone(), id.clone(), request.clone());
            tokio::spawn(async move { append(&api, &id, &request).await })
        };
        trap.sprung(LONG).await;
        proxy.refuse(true);
        proxy.cut_all();
        let reply = tokio::time::timeout(LONG, running).await.expect("an answer in time").expect("the exec");
        let body = reply.error(503, "OUTCOME_UNKNOWN");
        assert_eq!((&body["applied"], &body["retryable"]), (&json!("unknown"), &json!(false)), "{body}");
        assert!(!reply.header("retry-after").is_empty(), "{:?}", reply.headers);
        // While it is away: nothing starts, and the answer is quick.
        let start = tokio::time::Instant::now();
        append(&api, &id, "while-away").await.refused(503, "STORE_UNAVAILABLE");
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        proxy.refuse(false);
        let now = crate::support::eventually("the sandbox is back", LONG, || async {
            let reply = api.try_exec(&id, &json!({"script": "cat log"})).await;
            (reply.status == 200).then(|| reply.json()["stdout"].as_str().expect("stdout").to_owned())
        })
        .await;
        if action == Action::CutAfter {
            expected.push(request);
        }
        assert_eq!(now.lines().collect::<Vec<_>>(), expected, "{action:?}");
    }
}

#[tokio::test]
async fn connections_that_die_between_execs_are_not_the_callers_matter() {
    let (_server, proxy, api, id) = new().await;
    for round in 0..10 {
        proxy.cut_all();
        let reply = append(&api, &id, &format!("idle-{round}")).await;
        if reply.status != 200 {
            reply.refused(503, "STORE_UNAVAILABLE");
        }
        let again = api.stdout(&id, "cat log").await;
        assert!(again.starts_with("start\n"), "{again}");
    }
}
