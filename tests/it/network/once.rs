//! A script that used the network is not run a second time.

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::sandbox;
use crate::support::web::Web;
use crate::support::{Server, TestStore};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_race_after_a_network_call_is_told_and_not_repeated() {
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let (arrived, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
    let open = gate.clone();
    let web = Web::raw(move |mut stream| {
        let (open, arrived) = (open.clone(), arrived.clone());
        async move {
            let _ = arrived.send(());
            open.acquire().await.expect("open").forget();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await
        }
    })
    .await;
    let private = web.addr.to_string();
    let store = TestStore::postgres().await;
    let url = store.postgres_url().expect("Postgres");
    let first = Server::start_with(store, &[("NETWORK_ALLOW_PRIVATE", &private)]).await;
    let second = Server::start_with(TestStore::sqlite(), &[("DATABASE_URL", &url)]).await;
    let (api, other) = (first.api().await, second.api().await);
    let id = sandbox(&api, json!(true)).await;
    let curl = format!("curl -s {}/", web.url());
    let requests = [
        ("exec-sync", json!({"script": format!("{curl}; echo mine >> f")})),
        ("exec-sync-batch", json!({"scripts": [{"id": "a", "script": format!("{curl}; echo mine >> f")}]})),
        (
            "exec-sync-batch",
            json!({"atomic": true, "scripts": [{"id": "a", "script": format!("{curl}; echo mine >> f")}]}),
        ),
    ];
    for (number, (route, body)) in requests.into_iter().enumerate() {
        let (mine, path) = (api.clone(), format!("/v1/sandboxes/{id}/{route}"));
        let running = tokio::spawn(async move { mine.post(&path, &body).await });
        arrivals.recv().await.expect("the request");
        // While it waits for its answer, another replica commits.
        other.exec(&id, "echo theirs >> f").await;
        gate.add_permits(1);
        let reply = tokio::select! {
            reply = running => reply.expect("a reply"),
            _ = arrivals.recv() => panic!("{route}: it ran a second time"),
        };
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        // Items of a batch that is not atomic do not say whether to retry.
        let retryable = if number == 1 { "\"code\"" } else { "\"retryable\":false" };
        for part in ["\"CONFLICT\"", retryable, "\"applied\":\"no\"", "had used the network"] {
            assert!(text.contains(part), "{route}: {part} in {text}");
        }
        assert_eq!(web.connections(), number + 1, "{route}: it ran twice");
        assert_eq!(api.stdout(&id, "cat f").await, "theirs\n".repeat(number + 1));
    }
}
