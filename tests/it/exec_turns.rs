//! Scripts that compute take turns: no more processes go on than there are processors. What a
//! caller sees of it is that each ends as it should, and in time.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use sqlfs::clock;

use crate::support::processes::{children_of, state};
use crate::support::watched::Watched;
use crate::support::{Api, Server, TestStore};

/// More than there are processors.
fn many() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) + 4
}

/// Several callers, several scripts of each, whose waiting places are limited.
async fn sandboxes(server: &Server) -> Vec<(Api, String)> {
    let mut all = Vec::new();
    for number in 0..many() {
        let api = server.api_as(&format!("owner-{}", number % 3)).await;
        let id = api.create().await;
        all.push((api, id));
    }
    all
}

/// The state of each worker, as in stat of proc(5).
fn states(server: &Server) -> Vec<char> {
    children_of(&server.pid().to_string()).into_iter().filter_map(state).collect()
}

async fn until_some_stand_still(server: &Server) {
    while !states(server).contains(&'T') {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn all_come_to_their_end() {
    let watched = Watched::start(TestStore::sqlite(), &[]).await;
    let server = &watched.server;
    let begun: Vec<_> = sandboxes(server)
        .await
        .into_iter()
        .map(|(api, id)| {
            // It computes, sleeps, writes, reads what it wrote, and prints while others stand.
            let script = "for ((i=0;i<60000;i++)); do :; done; echo one; sleep 0.1; echo x > f; \
                          for ((i=0;i<60000;i++)); do :; done; cat f; seq 20000 | sort -r | tail -1";
            tokio::spawn(async move { api.stdout(&id, script).await })
        })
        .collect();
    until_some_stand_still(server).await;
    while watched.metrics().await["sqlfs_workers_standing"] == 0.0 {}
    for one in begun {
        assert_eq!(one.await.unwrap(), "one\nx\n1\n");
    }
    // Whoever waits for its next script goes on, to hear of it.
    assert!(!states(server).contains(&'T'));
    assert_eq!(watched.metrics().await["sqlfs_workers_standing"], 0.0);
}

#[tokio::test]
async fn who_stands_still_is_cut_off_in_time_with_what_it_printed() {
    let server = Server::start(TestStore::sqlite()).await;
    let begun: Vec<_> = sandboxes(&server)
        .await
        .into_iter()
        .map(|(api, id)| {
            let body = json!({ "script": "echo begun; while :; do :; done", "timeoutMs": 1500 });
            tokio::spawn(async move {
                let at = clock::now();
                (api.try_exec(&id, &body).await, at.elapsed())
            })
        })
        .collect();
    until_some_stand_still(&server).await;
    for one in begun {
        let (reply, took) = one.await.unwrap();
        let json = reply.json();
        assert_eq!((reply.status, &json["code"]), (408, &json!("EXEC_TIMEOUT")), "{reply:?}");
        assert_eq!(json["stdout"], json!("begun\n"), "{reply:?}");
        assert!(took >= Duration::from_millis(1500));
    }
}

#[tokio::test]
async fn workers_that_stand_still_end_with_their_server() {
    let mut server = Server::start(TestStore::sqlite()).await;
    let begun: Vec<_> = sandboxes(&server)
        .await
        .into_iter()
        .map(|(api, id)| {
            let body = json!({ "script": "while :; do :; done", "timeoutMs": 60000 });
            let path = format!("/v1/sandboxes/{id}/exec-sync");
            tokio::spawn(async move { drop(api.request(Method::POST, &path).json(&body).send().await) })
        })
        .collect();
    until_some_stand_still(&server).await;
    let workers: BTreeSet<u32> = children_of(&server.pid().to_string());
    assert!(workers.len() >= many(), "{workers:?}");
    server.kill();
    let alive = || workers.iter().filter_map(|pid| state(*pid)).filter(|state| *state != 'Z').count();
    let at = clock::now();
    while alive() > 0 {
        assert!(at.elapsed() < Duration::from_secs(20), "{} are left", alive());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for one in begun {
        one.abort();
    }
}
