//! Ten thousand sandboxes on one replica: what each holds of its memory, what they cost a warm
//! exec, and whether the replica stays within MEMORY_BUDGET_BYTES; and what one more replica
//! costs that has nothing to do. `tests/run --bench` starts a throw-away Postgres and Redis and
//! calls this. SQLFS_BENCH_SANDBOXES for another number of sandboxes.

use std::time::Duration;

use sqlfs::clock;

#[path = "../tests/it/support/postgres.rs"]
#[expect(dead_code, reason = "the bench needs a part of it")]
mod postgres;
#[path = "support/rig.rs"]
#[allow(dead_code, reason = "each bench needs another part of it")]
mod rig;

use rig::{Client, Server, quantile};

/// Files of each sandbox, a few bytes each.
const FILES: usize = 100;
/// Sandboxes that warm execs are measured on, and execs on each.
const SAMPLE: usize = 50;
const LAPS: usize = 10;
/// A budget that the sandboxes do not fit in.
const SMALL_BUDGET: u64 = 64 << 20;
/// How long an idle replica is watched.
const IDLE: Duration = Duration::from_secs(30);

fn main() {
    rustls::crypto::ring::default_provider().install_default().expect("the first provider");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let database = runtime.block_on(postgres::Database::new());
    let (url, redis) =
        (database.app_url(), variable("SQLFS_TEST_REDIS").expect("tests/run --bench starts one"));
    let count = variable("SQLFS_BENCH_SANDBOXES").map_or(10_000, |count| count.parse().expect("a number"));
    let sandboxes = made(&url, count);

    let roomy = Server::product(&[("DATABASE_URL", &url)]);
    let start = roomy.resident();
    let few = warm(&mut roomy.client(None), &sandboxes[..SAMPLE]);
    let visit = visited(&roomy, &sandboxes);
    let held = roomy.resident();
    let many = warm(&mut roomy.client(None), &sandboxes[..SAMPLE]);
    println!("{count} sandboxes of {} entries, each visited once on one replica", FILES + 3);
    println!("first exec of each            {:>9.2} ms (median)", quantile(&visit, 0.5));
    println!("memory at the start           {:>9} KiB", start >> 10);
    println!("memory with all of them       {:>9} KiB", held >> 10);
    println!("a sandbox                     {:>9} bytes", held.saturating_sub(start) / count as u64);
    println!("warm cat, {SAMPLE} sandboxes known {:>9.3} ms (median)", quantile(&few, 0.5));
    println!("warm cat, all known           {:>9.3} ms (median)", quantile(&many, 0.5));
    println!("warm cat, all / {SAMPLE} = {:.2}\n", quantile(&many, 0.5) / quantile(&few, 0.5));
    drop(roomy);

    let budget = SMALL_BUDGET.to_string();
    let tight = Server::product(&[("DATABASE_URL", &url), ("MEMORY_BUDGET_BYTES", &budget)]);
    let start = tight.resident();
    visited(&tight, &sandboxes);
    // The budget is looked at every two seconds.
    std::thread::sleep(Duration::from_secs(5));
    let held = tight.resident();
    let over = held.saturating_sub(start);
    println!("MEMORY_BUDGET_BYTES={SMALL_BUDGET}: {} KiB above the start after the same visits", over >> 10);
    println!("held / budget = {:.2}\n", over as f64 / SMALL_BUDGET as f64);
    drop(tight);

    idle(&runtime, &database, &redis);
}

#[expect(clippy::disallowed_methods, reason = "the size of a run comes from the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Sandboxes with files, made by a replica of their own.
fn made(url: &str, count: usize) -> Vec<String> {
    let server = Server::product(&[("DATABASE_URL", url)]);
    let mut client = server.client(None);
    let script = format!("mkdir d; for ((i=0; i<{FILES}; i++)); do echo $i > d/$i; done");
    (0..count)
        .map(|_| {
            let sandbox = client.create();
            client.exec(&path(&sandbox), &script, false);
            sandbox
        })
        .collect()
}

fn path(sandbox: &str) -> String {
    format!("/v1/sandboxes/{sandbox}/exec-sync")
}

/// Milliseconds of one exec on each.
fn visited(server: &Server, sandboxes: &[String]) -> Vec<f64> {
    let mut client = server.client(None);
    sandboxes.iter().map(|sandbox| cat(&mut client, sandbox)).collect()
}

fn warm(client: &mut Client, sandboxes: &[String]) -> Vec<f64> {
    for sandbox in sandboxes {
        cat(client, sandbox);
    }
    (0..LAPS).flat_map(|_| sandboxes.iter().map(|sandbox| cat(client, sandbox)).collect::<Vec<_>>()).collect()
}

fn cat(client: &mut Client, sandbox: &str) -> f64 {
    let begun = clock::now();
    client.exec(&path(sandbox), "cat d/7", false);
    begun.elapsed().as_secs_f64() * 1e3
}

/// What a replica costs that nobody asks for anything.
fn idle(runtime: &tokio::runtime::Runtime, database: &postgres::Database, redis: &str) {
    let (connections, transactions) = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()",
    );
    let ask = |sql: &str| runtime.block_on(database.number(sql));
    // Postgres counts late what the servers before this one did.
    let mut seen = ask(transactions);
    loop {
        std::thread::sleep(Duration::from_secs(3));
        // The question itself is one.
        let now = ask(transactions);
        if now - std::mem::replace(&mut seen, now) <= 2 {
            break;
        }
    }
    let before = ask(connections);
    let replica = Server::product(&[("DATABASE_URL", &database.app_url()), ("REDIS_URL", redis)]);
    // One request, so that all is open that a replica opens.
    let mut client = replica.client(None);
    let sandbox = client.create();
    client.exec(&path(&sandbox), "true", false);
    let (sent, called, used) = (ask(transactions), calls(runtime, redis), replica.processor());
    std::thread::sleep(IDLE);
    let (processor, workers) = (replica.processor() - used, replica.workers());
    println!("one more replica that nobody asks for anything, over {} s", IDLE.as_secs());
    println!("memory                        {:>9} KiB", replica.resident() >> 10);
    println!("memory of its {workers} workers       {:>9} KiB", replica.resident_workers() >> 10);
    println!("processor                     {:>9.1} ms", processor.as_secs_f64() * 1e3);
    println!("connections to Postgres       {:>9}", ask(connections) - before);
    // Each of these questions is one as well.
    println!(
        "transactions in Postgres      {:>9}, a first round of maintenance among them",
        ask(transactions) - sent
    );
    println!("calls to Redis                {:>9}", calls(runtime, redis) - called);
}

/// Commands that a Redis has carried out.
fn calls(runtime: &tokio::runtime::Runtime, redis: &str) -> u64 {
    let info: String = runtime.block_on(async {
        let client = redis::Client::open(redis).expect("a Redis URL");
        let mut redis = client.get_multiplexed_async_connection().await.expect("Redis answers");
        redis::cmd("INFO").arg("stats").query_async(&mut redis).await.expect("figures")
    });
    let figure = info.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
    figure.and_then(|figure| figure.trim().parse().ok()).expect("a number")
}
