//! Replicas, a load on them, and the history that it leaves.

use std::time::Duration;

use serde_json::{Value, json};
use sqlfs::ids::TenantId;
use sqlfs::lease::keys::LeaseKey;

use super::traces::Traces;
use crate::support::http::Events;
use crate::support::postgres::Database;
use crate::support::proxy::Proxy;
use crate::support::redis::connect;
use crate::support::{Api, Server, TestStore, eventually};

pub type Env<'a> = (&'a str, &'a str);

/// Both ways in which leases live.
pub const MODES: [Env<'static>; 2] = [("LEASE_MODE", "lease"), ("LEASE_MODE", "preemptible")];

/// The default times: no lease is lost because the machine is busy.
pub const CALM: &[Env<'static>] = &[];

/// Short leases, for tests that wait for the end of one.
pub const QUICK: &[Env<'static>] = &[
    ("REDIS_EXEC_LOCK_LEASE_MS", "2000"),
    ("REDIS_EXEC_LOCK_RENEW_MS", "400"),
    ("REDIS_EXEC_LOCK_MARGIN_MS", "400"),
];

/// The lease time of [`QUICK`].
pub const LEASE: Duration = Duration::from_secs(2);

/// A count of rounds, ten times as large in a long run.
pub fn bounded(count: usize) -> usize {
    let long = std::env::var_os("SQLFS_TEST_LONG").is_some();
    if long { count * 10 } else { count }
}

/// Servers on one database, each with a proxy of its own before Redis.
pub struct Fleet {
    replicas: Vec<Server>,
    proxies: Vec<Proxy>,
    store_proxies: Vec<Proxy>,
    apis: Vec<Api>,
    redis: String,
    pub traces: Traces,
}

impl Fleet {
    pub async fn start(count: usize, redis: &str, times: &[Env<'_>], more: &[Env<'_>]) -> Self {
        Self::begin(count, redis, times, more, false).await
    }

    /// As [`Fleet::start`], each with a proxy before Postgres too.
    pub async fn start_proxied(count: usize, redis: &str, times: &[Env<'_>], more: &[Env<'_>]) -> Self {
        Self::begin(count, redis, times, more, true).await
    }

    async fn begin(
        count: usize,
        redis: &str,
        times: &[Env<'_>],
        more: &[Env<'_>],
        proxied_store: bool,
    ) -> Self {
        let mut fleet = Self {
            replicas: vec![],
            proxies: vec![],
            store_proxies: vec![],
            apis: vec![],
            redis: redis.to_owned(),
            traces: Traces::begin(),
        };
        let mut first = Some(TestStore::postgres().await);
        let url = first.as_ref().and_then(TestStore::postgres_url).expect("Postgres");
        for _ in 0..count {
            let proxy = Proxy::before(redis).await;
            let through = proxy.url(redis);
            let mut store_url = url.clone();
            if proxied_store {
                let proxy = Proxy::before(&url).await;
                store_url = proxy.url(&url);
                fleet.store_proxies.push(proxy);
            }
            let mut env = vec![("DATABASE_URL", store_url.as_str()), ("REDIS_URL", through.as_str())];
            env.push(fleet.traces.env());
            env.extend(times.iter().chain(more));
            let store = first.take().unwrap_or_else(TestStore::sqlite);
            let server = Server::start_with(store, &env).await;
            fleet.apis.push(server.api().await);
            fleet.replicas.push(server);
            fleet.proxies.push(proxy);
        }
        fleet
    }

    pub fn api(&self, replica: usize) -> &Api {
        &self.apis[replica]
    }

    pub fn apis(&self) -> Vec<Api> {
        self.apis.clone()
    }

    pub fn replica(&self, replica: usize) -> &Server {
        &self.replicas[replica]
    }

    pub fn replica_mut(&mut self, replica: usize) -> &mut Server {
        &mut self.replicas[replica]
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.replicas.len()
    }

    /// The proxy of one replica before Redis.
    pub fn redis_proxy(&self, replica: usize) -> &Proxy {
        &self.proxies[replica]
    }

    /// The proxy of one replica before Postgres; the fleet was started with them.
    pub fn store_proxy(&self, replica: usize) -> &Proxy {
        &self.store_proxies[replica]
    }

    /// The database that all share.
    pub fn database(&self) -> &Database {
        self.replicas[0].store().database().expect("Postgres")
    }

    /// Cuts one replica off from Redis.
    pub fn cut_off(&self, replica: usize) {
        self.proxies[replica].refuse(true);
        self.proxies[replica].cut_all();
    }

    /// The connection of the tests' own, past the proxies.
    pub async fn redis(&self) -> redis::aio::MultiplexedConnection {
        connect(&self.redis).await
    }

    /// Waits until somebody holds the lease of a sandbox.
    pub async fn until_leased(&self, id: &str) {
        let (redis, lock) = (self.redis().await, key(id).lock());
        eventually("somebody holds the lease", Duration::from_secs(20), || async {
            let held: bool =
                redis::cmd("EXISTS").arg(&lock).query_async(&mut redis.clone()).await.expect("Redis");
            held.then_some(())
        })
        .await;
    }

    /// Waits until so many replicas wait for the lease of a sandbox.
    pub async fn until_waiting(&self, id: &str, replicas: usize, within: Duration) {
        let (redis, marks) = (self.redis().await, key(id).wait());
        eventually(&format!("{replicas} wait in Redis"), within, || async {
            let count: usize =
                redis::cmd("HLEN").arg(&marks).query_async(&mut redis.clone()).await.expect("Redis");
            (count == replicas).then_some(())
        })
        .await;
    }
}

/// The lease's keys of a sandbox.
pub fn key(id: &str) -> LeaseKey {
    LeaseKey { tenant: TenantId("default".into()), sandbox: id.parse().expect("an id") }
}

/// A script that has begun, has written `half` and would go on for a minute (or `more`).
pub async fn begun(api: &Api, id: &str, more: &str) -> Events {
    let script = format!("echo x > half; echo go; {more}");
    let mut live = api.live(id, &json!({"script": script, "timeoutMs": 60_000})).await;
    assert_eq!(live.next().await.expect("an event").data["data"], "go\n");
    live
}

/// The error that ends a live exec; it must say that nothing was applied.
pub async fn refusal(live: Events) -> Value {
    let all = tokio::time::timeout(Duration::from_secs(20), live.all());
    let events = all.await.expect("the script is ended");
    let error = events.iter().find(|event| event.name == "error");
    let error = error.unwrap_or_else(|| panic!("no error: {events:?}")).data.clone();
    assert_eq!(error["applied"], "no", "{error}");
    error
}

/// An exec that must answer in time, and with this output.
pub async fn exec_within(api: &Api, id: &str, script: &str, within: Duration, output: &str) -> Duration {
    let start = tokio::time::Instant::now();
    assert_eq!(api.stdout(id, script).await, output, "{script}");
    assert!(start.elapsed() <= within, "{script}: {:?}, allowed {within:?}", start.elapsed());
    start.elapsed()
}

/// What became of one append.
#[derive(Debug)]
enum Outcome {
    /// Acknowledged as this version.
    Done(u64),
    /// Answered with this code, applied no.
    Refused(String),
    /// The connection broke.
    Unknown,
}

/// All appends of a load.
#[derive(Debug, Default)]
pub struct History(Vec<(String, Outcome)>);

/// Counts and appends a line with the fencing token, in one script.
async fn append(api: &Api, id: &str, token: &str) -> Outcome {
    let script = format!(
        "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; echo {token} ${{SQLFS_FENCING_TOKEN:-none}} >> log"
    );
    let path = format!("/v1/sandboxes/{id}/exec-sync");
    let request = api.request(reqwest::Method::POST, &path).json(&json!({"script": script}));
    let Ok(reply) = request.send().await else { return Outcome::Unknown };
    let status = reply.status();
    let Ok(body) = reply.json::<Value>().await else { return Outcome::Unknown };
    if status == 200 {
        assert_eq!((&body["exitCode"], &body["committed"]), (&json!(0), &json!(true)), "{body}");
        return Outcome::Done(body["version"].as_u64().expect("a version"));
    }
    assert_eq!((&body["applied"], &body["retryable"]), (&json!("no"), &json!(true)), "{body}");
    Outcome::Refused(body["code"].as_str().expect("a code").to_owned())
}

/// `writers` on each replica, each with `count` appends one after the other. A writer whose
/// replica is gone stops.
pub async fn load(apis: &[Api], id: &str, writers: usize, count: usize) -> History {
    let mut tasks = tokio::task::JoinSet::new();
    for (replica, api) in apis.iter().enumerate() {
        for writer in 0..writers {
            let (api, id) = (api.clone(), id.to_owned());
            tasks.spawn(async move {
                let mut done = Vec::new();
                for n in 0..count {
                    let token = format!("{}-{replica}-{writer}-{n}", uuid::Uuid::new_v4().simple());
                    let outcome = append(&api, &id, &token).await;
                    let gone = matches!(outcome, Outcome::Unknown);
                    done.push((token, outcome));
                    if gone {
                        break;
                    }
                }
                done
            });
        }
    }
    let mut history = History::default();
    while let Some(done) = tasks.join_next().await {
        history.0.extend(done.expect("a writer"));
    }
    history
}

impl History {
    /// Codes of the refusals.
    pub fn refused<'a>(&'a self) -> Vec<&'a str> {
        let code = |(_, outcome): &'a (String, Outcome)| match outcome {
            Outcome::Refused(code) => Some(code.as_str()),
            Outcome::Done(_) | Outcome::Unknown => None,
        };
        self.0.iter().filter_map(code).collect()
    }

    /// How many were acknowledged.
    pub fn done(&self) -> usize {
        self.0.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Done(_))).count()
    }

    /// How many got no answer.
    pub fn unknown(&self) -> usize {
        self.0.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Unknown)).count()
    }

    /// Adds a later load on the same sandbox.
    pub fn and(mut self, later: Self) -> Self {
        self.0.extend(later.0);
        self
    }

    /// The sandbox holds each acknowledged append exactly once, in the order of their
    /// versions, nothing that was refused, and counts right; fencing tokens never fall.
    /// How many appends had a token.
    pub async fn check(&self, api: &Api, id: &str) -> usize {
        let seen = api.stdout(id, "cat n log").await;
        let (count, log) = seen.split_once('\n').expect("a count");
        let log: Vec<(&str, &str)> = log.lines().map(|line| line.split_once(' ').expect("a line")).collect();
        assert_eq!(count, log.len().to_string(), "the counter and the log disagree");
        let mut expected: Vec<(u64, &str)> = Vec::new();
        let mut may_be = Vec::new();
        for (token, outcome) in &self.0 {
            match outcome {
                Outcome::Done(version) => expected.push((*version, token)),
                Outcome::Unknown => may_be.push(token.as_str()),
                Outcome::Refused(code) => {
                    assert!(log.iter().all(|(line, _)| line != token), "answered {code}, and is there");
                }
            }
        }
        expected.sort_unstable();
        let expected: Vec<&str> = expected.into_iter().map(|(_, token)| token).collect();
        let there: Vec<&str> =
            log.iter().map(|(token, _)| *token).filter(|token| !may_be.contains(token)).collect();
        assert_eq!(there, expected, "each acknowledged append once, in the order of versions");
        let fences: Vec<u64> = log.iter().filter_map(|(_, fence)| fence.parse().ok()).collect();
        assert!(fences.windows(2).all(|pair| pair[0] <= pair[1]), "a fencing token fell: {fences:?}");
        fences.len()
    }
}
