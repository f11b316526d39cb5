//! What the size of a sandbox costs: the first exec on a replica that does not know it,
//! warm execs, reloads after another replica's commits; as ratios within one run.
//!
//! Floors of a cold start: the read of the snapshot from Redis alone, and the load from
//! Postgres alone, from a process that is warm. `tests/run --bench` starts a throw-away
//! Postgres and Redis and calls this. SQLFS_BENCH_SIZES (entries, with commas) for others
//! than 1,000, 10,000 and 100,000; SQLFS_BENCH_ROUNDS for fewer rounds.

use std::fmt::Write;
use std::time::Duration;

use sqlfs::clock;
use sqlfs::ids::{Head, SandboxId, Sha256, TenantId};
use sqlfs::session::snapshots::SMALLEST;
use sqlfs::store;

#[path = "../tests/it/support/postgres.rs"]
#[expect(dead_code, reason = "the bench needs a part of it")]
mod postgres;
#[path = "support/rig.rs"]
#[allow(dead_code, reason = "each bench needs another part of it")]
mod rig;

use rig::{Client, Server, quantile};

/// Files of one directory.
const WIDTH: usize = 100;
/// Requests of one kind in a round, where they are cheap.
const REQUESTS: usize = 20;

fn main() {
    rustls::crypto::ring::default_provider().install_default().expect("the first provider");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let database = runtime.block_on(postgres::Database::new());
    let sizes = variable("SQLFS_BENCH_SIZES").unwrap_or_else(|| "1000,10000,100000".into());
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.trim().parse().expect("a size")).collect();
    let rounds = variable("SQLFS_BENCH_ROUNDS").map_or(7, |rounds| rounds.parse().expect("a number"));
    let redis = variable("SQLFS_TEST_REDIS").expect("tests/run --bench starts a Redis");
    let place = Place { url: database.app_url(), redis, runtime };
    let mut table = Table::default();
    for size in &sizes {
        place.measure(*size, rounds, &mut table);
    }
    table.print(&sizes);
    table.judge(&sizes);
}

#[expect(clippy::disallowed_methods, reason = "the sizes of a run come from the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Where replicas work.
struct Place {
    url: String,
    redis: String,
    runtime: tokio::runtime::Runtime,
}

impl Place {
    /// A replica with scripts on threads; with path snapshots or without.
    fn replica(&self, snapshots: bool) -> Server {
        let enabled = if snapshots { "true" } else { "false" };
        Server::product(&[
            ("DATABASE_URL", &self.url),
            ("INTERPRETER", "thread"),
            ("REDIS_CACHE_URL", &self.redis),
            ("REDIS_CACHE_TIMEOUT_MS", "1000"),
            ("REDIS_PATH_SNAPSHOT_ENABLED", enabled),
        ])
    }

    fn measure(&self, size: usize, rounds: usize, table: &mut Table) {
        let writer = self.replica(true);
        let mut client = writer.client(None);
        let sandbox = client.create();
        let exec = format!("/v1/sandboxes/{sandbox}/exec-sync");
        let dirs = size.div_ceil(WIDTH + 1);
        // In pieces, each within the time of a script.
        for first in (0..dirs).step_by(50) {
            let last = (first + 50).min(dirs);
            let script = format!(
                "for ((d={first}; d<{last}; d++)); do mkdir -p t/$d; \
                 for ((f=0; f<{WIDTH}; f++)); do echo $d $f > t/$d/$f; done; done"
            );
            client.exec(&exec, &script, false);
        }
        let id: SandboxId = sandbox.parse().expect("an id");
        self.until_kept(id, size);
        for round in 0..rounds {
            let mut kinds = [("cold, snapshot", true), ("cold, Postgres", false)];
            // Each is first as often as the other.
            kinds.rotate_left(round % 2);
            for (name, snapshots) in kinds {
                let replica = self.replica(snapshots);
                let mut cold = replica.client(None);
                // The replica itself is warm: its engine, its connections, its other code.
                let other = format!("/v1/sandboxes/{}/exec-sync", cold.create());
                (0..3).for_each(|_| cold.exec(&other, "cat f || echo x > f", false));
                // No content: it would wait for the head start that the same load began.
                table.lap(size, name, 1, &mut || cold.exec(&exec, "ls t/0 | wc -l", true));
                table.lap(size, "ls, warm", REQUESTS, &mut || cold.exec(&exec, "ls t/0 | wc -l", true));
            }
            self.floors(id, size, table);
        }
        // The connection from before was idle for too long.
        self.warm(&mut writer.client(None), id, &exec, size, rounds, table);
    }

    /// Waits for the snapshot of the newest state: who wrote it makes one once all is quiet. A
    /// small sandbox has none.
    fn until_kept(&self, id: SandboxId, size: usize) {
        let begun = clock::now();
        while size >= usize::try_from(SMALLEST).expect("small") && self.snapshot(id).is_none() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{size}: there is no snapshot");
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
        }
    }

    fn head(&self, id: SandboxId) -> Head {
        self.runtime.block_on(async {
            let store = store::open(&self.url, &store::Options::default()).await.expect("a store");
            store.probe(id).await.expect("a row").expect("a sandbox").head
        })
    }

    fn snapshot(&self, id: SandboxId) -> Option<Vec<u8>> {
        let key = sqlfs::cache::snapshot_key(&TenantId("default".into()), id, self.head(id));
        self.runtime.block_on(async {
            let mut redis = connect(&self.redis).await;
            redis::cmd("GET").arg(key).query_async::<Option<Vec<u8>>>(&mut redis).await.expect("Redis")
        })
    }

    /// The least that a cold start has to fetch.
    fn floors(&self, id: SandboxId, size: usize, table: &mut Table) {
        let key = sqlfs::cache::snapshot_key(&TenantId("default".into()), id, self.head(id));
        self.runtime.block_on(async {
            let store = store::open(&self.url, &store::Options::default()).await.expect("a store");
            store.probe(id).await.expect("a row");
            let mut redis = connect(&self.redis).await;
            for _ in 0..3 {
                let begun = clock::now();
                let found: Option<Vec<u8>> =
                    redis::cmd("GET").arg(&key).query_async(&mut redis).await.expect("Redis");
                table.note(size, "floor: Redis GET", begun.elapsed());
                table.bytes(size, found.map_or(0, |bytes| bytes.len()));
                let begun = clock::now();
                store.load(id, None).await.expect("a load").expect("a sandbox");
                table.note(size, "floor: the load", begun.elapsed());
            }
            // One content, for REDIS_BLOB_CACHE_ENABLED.
            let content = "0 0\n";
            let hash = Sha256::of(content.as_bytes());
            redis::cmd("SET").arg("bench:blob").arg(content).exec_async(&mut redis).await.expect("Redis");
            for _ in 0..REQUESTS {
                let begun = clock::now();
                let found: String =
                    redis::cmd("GET").arg("bench:blob").query_async(&mut redis).await.expect("Redis");
                table.note(size, "a content, Redis", begun.elapsed());
                assert_eq!(found, content);
                let begun = clock::now();
                let found = store.blobs(&[hash]).await.expect("a read");
                table.note(size, "a content, Postgres", begun.elapsed());
                assert_eq!(found.len(), 1);
            }
            store.close().await;
        });
    }

    /// What the size costs a replica that knows the sandbox, and another that reloads.
    fn warm(
        &self,
        client: &mut Client,
        id: SandboxId,
        exec: &str,
        size: usize,
        rounds: usize,
        table: &mut Table,
    ) {
        let other = self.replica(true);
        let mut reader = other.client(None);
        reader.exec(exec, "true", true);
        let hundred = "for ((i=0; i<100; i++)); do echo $RANDOM$RANDOM > t/0/$i; done";
        for round in 0..rounds {
            // The snapshot of the last round's state is made beside: not what is measured here.
            self.until_kept(id, size);
            table.lap(size, "true, warm", REQUESTS, &mut || client.exec(exec, "true", true));
            table.lap(size, "cat, warm", REQUESTS, &mut || client.exec(exec, "cat t/0/0", true));
            table.lap(size, "commit of one file", REQUESTS / 4, &mut || {
                client.exec(exec, "echo $RANDOM$RANDOM > t/0/0", false);
            });
            let (from, to) = if round % 2 == 0 { ("t", "u") } else { ("u", "t") };
            table.lap(size, "rename of the top", 1, &mut || {
                client.exec(exec, &format!("mv {from} {to}"), false);
            });
            client.exec(exec, &format!("[ -d t ] || mv {to} {from}"), false);
            table.lap(size, "ls -R | wc -l", 1, &mut || client.exec(exec, "ls -R | wc -l", true));
            reader.exec(exec, "true", true);
            client.exec(exec, "echo $RANDOM$RANDOM > t/0/0", false);
            table.lap(size, "reload, 1 change", 1, &mut || reader.exec(exec, "true", true));
            client.exec(exec, hundred, false);
            table.lap(size, "reload, 100 changes", 1, &mut || reader.exec(exec, "true", true));
        }
    }
}

async fn connect(url: &str) -> redis::aio::MultiplexedConnection {
    let client = redis::Client::open(url).expect("a Redis URL");
    client.get_multiplexed_async_connection().await.expect("Redis answers")
}

/// Medians by name and size, microseconds.
#[derive(Default)]
struct Table {
    rows: Vec<(&'static str, Vec<(usize, Vec<f64>)>)>,
    bytes: Vec<(usize, usize)>,
}

impl Table {
    fn lap(&mut self, size: usize, name: &'static str, times: usize, call: &mut dyn FnMut()) {
        for _ in 0..times {
            let begun = clock::now();
            call();
            self.note(size, name, begun.elapsed());
        }
    }

    fn note(&mut self, size: usize, name: &'static str, time: Duration) {
        let at = self.rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.rows.push((name, Vec::new()));
            self.rows.len() - 1
        });
        let sizes = &mut self.rows[at].1;
        if sizes.last().is_none_or(|(known, _)| *known != size) {
            sizes.push((size, Vec::new()));
        }
        let last = sizes.len() - 1;
        sizes[last].1.push(time.as_secs_f64() * 1e6);
    }

    fn bytes(&mut self, size: usize, bytes: usize) {
        if self.bytes.last().is_none_or(|(known, _)| *known != size) {
            self.bytes.push((size, bytes));
        }
    }

    fn median(&self, name: &str, size: usize) -> f64 {
        let (_, sizes) = self.rows.iter().find(|(known, _)| *known == name).expect("a measured name");
        let (_, times) = sizes.iter().find(|(known, _)| *known == size).expect("a measured size");
        quantile(times, 0.5)
    }

    fn print(&self, sizes: &[usize]) {
        let heads = sizes.iter().fold(String::new(), |mut line, size| {
            let _ = write!(line, " {size:>12}");
            line
        });
        println!("{:22}{heads}   entries", "median, us");
        for (name, _) in &self.rows {
            let line = sizes.iter().fold(String::new(), |mut line, size| {
                let _ = write!(line, " {:>12.0}", self.median(name, *size));
                line
            });
            println!("{name:22}{line}");
        }
        for (size, bytes) in &self.bytes {
            println!("snapshot of {size}: {bytes} bytes");
        }
        println!();
    }

    fn judge(&self, sizes: &[usize]) {
        let first = sizes[0];
        for &size in sizes {
            for (of, to) in [
                ("cold, snapshot", "cold, Postgres"),
                ("cold, snapshot", "floor: Redis GET"),
                ("cold, Postgres", "floor: the load"),
                ("cold, snapshot", "ls, warm"),
                ("a content, Redis", "a content, Postgres"),
            ] {
                let ratio = self.median(of, size) / self.median(to, size);
                println!("{size:>7}: {of:16} / {to:18} = {ratio:6.2}");
            }
        }
        for name in ["true, warm", "cat, warm", "commit of one file", "rename of the top", "reload, 1 change"]
        {
            for &size in &sizes[1..] {
                let ratio = self.median(name, size) / self.median(name, first);
                let target = if name.ends_with("warm") { 1.2 } else { 2.0 };
                let verdict = if ratio <= target { "met" } else { "MISSED" };
                println!("{name:20}: {size:>7} / {first} = {ratio:5.2}   target <= {target}: {verdict}");
            }
        }
    }
}
