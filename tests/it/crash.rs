//! `kill -9` at any moment under a write load: no partial script is ever visible, every
//! acknowledged one is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::support::http::send;
use crate::support::random::{Random, seed};
use crate::support::{Api, Server, TestStore, on_each_store};

on_each_store![no_partial_script_and_no_lost_one];

const ROUNDS: u64 = 50;
const WRITERS: u64 = 4;
const FILES: u64 = 8;

/// What one writer knows about its sandbox.
struct Writer {
    id: String,
    /// Highest number whose exec was acknowledged.
    acknowledged: u64,
    /// Highest number that was sent.
    sent: u64,
}

/// Each exec writes its number into all files, appends it to the log and makes a
/// directory: one number everywhere, or the script is visible in part.
fn script(n: u64) -> String {
    format!(
        "for i in {{1..{FILES}}}; do echo {n} > f$i; done; echo {n} >> log; mkdir -p d; rm -rf d/*; mkdir d/{n}"
    )
}

async fn write(api: Api, mut writer: Writer, acknowledged: Arc<AtomicU64>) -> Writer {
    loop {
        writer.sent += 1;
        let path = format!("/v1/sandboxes/{}/exec-sync", writer.id);
        let request = api.request(reqwest::Method::POST, &path).json(&json!({"script": script(writer.sent)}));
        // The server dies in the middle: any error of the connection ends the round.
        let Ok(reply) = request.send().await else { return writer };
        let status = reply.status();
        let Ok(body) = reply.json::<serde_json::Value>().await else { return writer };
        assert_eq!(
            (status.as_u16(), &body["exitCode"], &body["committed"]),
            (200, &json!(0), &json!(true)),
            "{body}"
        );
        writer.acknowledged = writer.sent;
        acknowledged.fetch_add(1, Ordering::SeqCst);
    }
}

/// Looks at a sandbox after a restart; gives the number that it stands at.
async fn check(api: &Api, writer: &Writer) -> u64 {
    let look = "cat log 2>/dev/null; echo --; cat f* 2>/dev/null | sort | uniq -c; echo --; \
                ls d 2>/dev/null; echo -- $(ls | wc -l)";
    let seen = api.stdout(&writer.id, look).await;
    let parts: Vec<&str> = seen.split("--").collect();
    let log: Vec<u64> = parts[0].lines().map(|line| line.parse().expect("a whole line")).collect();
    let last = log.last().copied().unwrap_or(0);
    let (acknowledged, sent) = (writer.acknowledged, writer.sent);
    assert!(last >= acknowledged, "{acknowledged} was acknowledged, {last} is there:\n{seen}");
    assert!(last <= sent, "{last} was never sent:\n{seen}");
    assert!(log.windows(2).all(|pair| pair[0] < pair[1]), "a script twice or out of order:\n{seen}");
    if last > 0 {
        assert_eq!(
            parts[1].split_whitespace().collect::<Vec<_>>(),
            [FILES.to_string(), last.to_string()],
            "{seen}"
        );
        assert_eq!(parts[2].trim(), last.to_string(), "{seen}");
        assert_eq!(parts[3].trim(), (FILES + 2).to_string(), "{seen}");
    }
    last
}

async fn no_partial_script_and_no_lost_one(store: TestStore) {
    let mut random = Random(seed());
    let mut server = Server::start(store).await;
    let api = server.api().await;
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        writers.push(Writer { id: api.create().await, acknowledged: 0, sent: 0 });
    }
    let acknowledged = Arc::new(AtomicU64::new(0));
    let (mut unknown, mut unknown_applied) = (0, 0);
    for _ in 0..ROUNDS {
        let api = server.api().await;
        let mut tasks = tokio::task::JoinSet::new();
        for writer in writers.drain(..) {
            tasks.spawn(write(api.clone(), writer, acknowledged.clone()));
        }
        // The moment of the kill is the random input of this test.
        tokio::time::sleep(Duration::from_micros(random.below(150_000))).await;
        server.kill();
        while let Some(writer) = tasks.join_next().await {
            writers.push(writer.expect("a writer"));
        }
        server.start_again().await;
        let api = server.api().await;
        for writer in &mut writers {
            let stands = check(&api, writer).await;
            unknown += u64::from(writer.sent > writer.acknowledged);
            unknown_applied += u64::from(stands > writer.acknowledged);
            writer.acknowledged = stands;
            // A number that was lost is never used again, so a late commit would show.
        }
        send(api.bare(reqwest::Method::GET, "/readyz")).await.expect(200);
    }
    let acknowledged = acknowledged.load(Ordering::SeqCst);
    println!(
        "{}: {ROUNDS} kills, {acknowledged} acknowledged, {unknown} in flight, {unknown_applied} of them applied",
        server.store().name()
    );
    assert!(acknowledged > ROUNDS, "the load was too small to prove anything: {acknowledged}");
}
