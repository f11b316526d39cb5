//! Places for programs of the languages: so many run at once, others wait, fairly and not for
//! ever, and a place comes back however its program ended.

use serde_json::json;

use crate::support::programs::with;
use crate::support::{Server, TestStore};

/// A language, and the programs that these tests need.
struct Language {
    /// Of a sandbox.
    field: &'static str,
    /// Settings: places, and length and time of the queue.
    settings: [&'static str; 3],
    /// Prints when it began and ended, in milliseconds, as JSON, after 40 ms.
    times: &'static str,
    /// Ends only when it is told to.
    endless: &'static str,
    /// Prints 1.
    one: &'static str,
}

const LANGUAGES: [Language; 2] = [
    Language {
        field: "javascript",
        settings: ["MAX_CONCURRENT_JS", "MAX_JS_QUEUE", "JS_QUEUE_TIMEOUT_MS"],
        times: "node -e 'const a = Date.now(); setTimeout(() => console.log(JSON.stringify([a, Date.now()])), 500)'",
        endless: "node -e 'setInterval(() => {}, 1000)'",
        one: "node -p 1",
    },
    Language {
        field: "python",
        settings: ["MAX_CONCURRENT_PYTHON", "MAX_PYTHON_QUEUE", "PYTHON_QUEUE_TIMEOUT_MS"],
        times: "python3 -c 'import time; a = time.time(); time.sleep(0.5); print([a * 1e3, time.time() * 1e3])'",
        endless: "python3 -c 'while True: pass'",
        one: "python3 -c 'print(1)'",
    },
];

/// Most of the times `[from, to]` that hold one moment in common.
fn overlap(times: &[[f64; 2]]) -> usize {
    let at = |moment: f64| times.iter().filter(|[from, to]| *from <= moment && moment < *to).count();
    times.iter().map(|[from, _]| at(*from)).max().unwrap_or(0)
}

#[tokio::test]
async fn twenty_programs_stay_within_their_places() {
    for language in &LANGUAGES {
        let server = Server::start_with(TestStore::sqlite(), &[(language.settings[0], "3")]).await;
        let api = server.api().await;
        let mut running = Vec::new();
        for _ in 0..20 {
            let (api, id) = (api.clone(), with(&api, language.field).await);
            running.push(tokio::spawn(async move { api.stdout(&id, language.times).await }));
        }
        let mut times = Vec::new();
        for task in running {
            let out = task.await.expect("an exec");
            times.push(serde_json::from_str::<[f64; 2]>(&out).expect("two times"));
        }
        assert_eq!(overlap(&times), 3, "{}: {times:?}", language.field);
    }
}

#[tokio::test]
async fn a_full_queue_is_runtime_busy_and_nothing_is_applied() {
    for language in &LANGUAGES {
        for interpreter in ["process", "thread"] {
            for (queue, timeout, says) in
                [("0", "60000", "wait already"), ("9", "30", "could be started within")]
            {
                full_queue(language, interpreter, queue, timeout, says).await;
            }
        }
    }
}

async fn full_queue(language: &'static Language, interpreter: &str, queue: &str, timeout: &str, says: &str) {
    let [places, waiting, time] = language.settings;
    let env = [(places, "1"), (waiting, queue), (time, timeout), ("INTERPRETER", interpreter)];
    let server = Server::start_with(TestStore::sqlite(), &env).await;
    let api = server.api().await;
    let (one, two) = (with(&api, language.field).await, with(&api, language.field).await);
    let holder = {
        let api = api.clone();
        tokio::spawn(async move {
            let body = json!({"script": language.endless, "timeoutMs": 20_000});
            // It may come when a program of the other holds the place.
            while api.try_exec(&one, &body).await.status == 503 {}
        })
    };
    let script = format!("echo >> n; {} || touch m", language.one);
    let body = json!({"script": script, "timeoutMs": 20_000});
    let try_two = || api.try_exec(&two, &body);
    let mut reply = try_two().await;
    while reply.status == 200 {
        assert!(!holder.is_finished(), "both ran at once");
        reply = try_two().await;
    }
    let body = reply.error(503, "RUNTIME_BUSY");
    assert!(body["error"].as_str().unwrap().contains(says), "{body}");
    assert_eq!((&body["applied"], &body["retryable"]), (&json!("no"), &json!(true)), "{body}");
    assert!(!reply.header("retry-after").is_empty());
    assert_eq!(api.stdout(&two, "cat n | wc -l; ls m 2>/dev/null || true").await.lines().count(), 1);
    // The client of the first leaves: its place is free again.
    holder.abort();
    let mut reply = try_two().await;
    while reply.status == 503 {
        reply = try_two().await;
    }
    assert_eq!(reply.json()["stdout"], "1\n");
}
