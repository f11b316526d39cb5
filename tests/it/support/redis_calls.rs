//! The calls that reach a Redis server, as it sees them itself (MONITOR).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use redis::Script;

use super::eventually;
use super::redis::connect;

/// The lease scripts by name, and their text as the server runs it.
macro_rules! scripts {
    ($($name:literal),+) => {
        [$(($name, concat!(
            include_str!("../../../src/lease/redis/common.lua"),
            "\n",
            include_str!(concat!("../../../src/lease/redis/", $name, ".lua")),
        ))),+]
    };
}
const SCRIPTS: [(&str, &str); 6] = scripts!("acquire", "alive", "heartbeat", "raise", "release", "renew");

/// The hash by which a lease script is called.
pub fn hash(script: &str) -> String {
    let (_, text) = SCRIPTS.iter().find(|(name, _)| *name == script).expect("a lease script");
    Script::new(text).get_hash().to_owned()
}

/// One call of a client; what a script does inside is no call.
#[derive(Clone, Debug)]
pub struct Call {
    /// When, on the server's clock.
    pub at: Duration,
    /// Name of the lease script, or else the command.
    pub name: String,
    /// Of a script: how many keys it was given.
    pub keys: usize,
    /// All words of it. A call that was given up on and is made again has the same.
    pub words: String,
}

/// Sees all calls from its beginning on, those of all clients.
pub struct RedisCalls {
    seen: Arc<Mutex<Vec<Call>>>,
    marker: redis::aio::MultiplexedConnection,
    listening: tokio::task::JoinHandle<()>,
}

impl RedisCalls {
    pub async fn begin(url: &str) -> Self {
        let marker = connect(url).await;
        let client = redis::Client::open(url).expect("a URL");
        let monitor = client.get_async_monitor().await.expect("Redis tells");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = seen.clone();
        let names: BTreeMap<String, &str> = SCRIPTS.iter().map(|(name, _)| (hash(name), *name)).collect();
        let listening = tokio::spawn(async move {
            let mut lines = std::pin::pin!(monitor.into_on_message::<String>());
            while let Some(line) = lines.next().await {
                keep.lock().expect("whole").extend(parse(&line, &names));
            }
        });
        Self { seen, marker, listening }
    }

    /// All calls so far.
    pub async fn all(&self) -> Vec<Call> {
        let marker = format!("marker {}", uuid::Uuid::new_v4());
        let mut echo = redis::cmd("ECHO");
        echo.arg(&marker).exec_async(&mut self.marker.clone()).await.expect("Redis answers");
        let seen = || self.seen.lock().expect("whole").iter().any(|call| call.name == marker);
        eventually("the marker is seen", Duration::from_secs(20), || async { seen().then_some(()) }).await;
        let all = self.seen.lock().expect("whole").clone();
        all.into_iter().filter(|call| !call.name.starts_with("marker ")).collect()
    }

    /// Waits until there were `count` calls of this name; gives all calls so far.
    pub async fn until(&self, name: &str, count: usize, within: Duration) -> Vec<Call> {
        let reached = || self.seen.lock().expect("whole").iter().filter(|call| call.name == name).count();
        eventually(name, within, || async { (reached() >= count).then_some(()) }).await;
        self.all().await
    }
}

impl Drop for RedisCalls {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// How many calls of each name.
pub fn count(calls: &[Call]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.name.as_str()).or_default() += 1;
    }
    counts
}

/// The calls, each once: on a busy machine one may be given up on, and is made again.
pub fn without_repeats(calls: &[Call]) -> Vec<Call> {
    let mut seen = BTreeSet::new();
    calls.iter().filter(|call| seen.insert(&call.words)).cloned().collect()
}

/// `TIME [0 CLIENT] "COMMAND" "ARGUMENT" …`
fn parse(line: &str, names: &BTreeMap<String, &str>) -> Option<Call> {
    let (time, rest) = line.split_once(" [").expect("a time");
    let (client, rest) = rest.split_once("] ").expect("a client");
    if client.ends_with(" lua") {
        return None;
    }
    let at = Duration::from_secs_f64(time.parse().expect("a time"));
    let mut words = rest.split('"').skip(1).step_by(2);
    let command = words.next().expect("a command").to_lowercase();
    let first = words.next().unwrap_or_default();
    let (name, keys) = match command.as_str() {
        "evalsha" => {
            let keys = words.next().and_then(|keys| keys.parse().ok()).expect("a number of keys");
            (names.get(first).map_or("unknown script", |name| name).to_owned(), keys)
        }
        "echo" => (first.to_owned(), 0),
        _ => (command, 0),
    };
    Some(Call { at, name, keys, words: rest.to_owned() })
}
