//! What one tenant at full load costs another: p99 of small warm execs of a tenant beside the
//! load, as a ratio to its p99 alone, in one run. `tests/run --bench` calls this.
//!
//! Loads that need no processor (scripts that sleep) show what admission does: the loud
//! tenant has all the run slots that it may have, and as many requests wait. Scripts that
//! compute fight for the processor too, most of all when all end and begin in the same moment;
//! the same number of busy threads in a process of their own, with the loud tenant silent,
//! shows how much of it is that. SQLFS_BENCH_LOADS (numbers of `LOADS`, with commas) for some of
//! them only, SQLFS_BENCH_ROUNDS for other than three rounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sqlfs::clock;

#[path = "../tests/it/support/postgres.rs"]
#[expect(dead_code, reason = "the bench needs a part of it")]
mod postgres;
#[path = "support/rig.rs"]
#[allow(dead_code, reason = "each bench needs another part of it")]
mod rig;

use rig::{Client, Server, quantile};

/// Time of one measurement.
const SPAN: Duration = Duration::from_secs(4);
/// Owners of the loud tenant, and clients of each: twice what may run of the tenant.
const OWNERS: usize = 6;
const CLIENTS: usize = 16;
/// Scripts of one tenant that run at a time (the default of MAX_EXECS_PER_TENANT).
const RUNNING: usize = 48;
const TARGET: f64 = 1.5;

const SLEEPER: &str = "sleep 0.5";
const SPINNER: &str = "for ((i=0;i<20000000;i++)); do :; done";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Load {
    Nothing,
    Sleepers,
    BusyThreads,
    Spinners,
    SpinnersInStep,
}

const LOADS: [(Load, &str); 5] = [
    (Load::Nothing, "alone"),
    (Load::Sleepers, "beside scripts that sleep"),
    (Load::BusyThreads, "beside as many busy threads of another process"),
    (Load::Spinners, "beside scripts that compute"),
    (Load::SpinnersInStep, "beside scripts that compute, all in step"),
];

/// Milliseconds of each request, by what it was.
#[derive(Default)]
struct Times {
    write: Vec<f64>,
    read: Vec<f64>,
    livez: Vec<f64>,
}

fn main() {
    rustls::crypto::ring::default_provider().install_default().expect("the first provider");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (loud, calm) =
        runtime.block_on(async { (postgres::Database::new().await, postgres::Database::new().await) });
    let tenants = serde_json::json!({"loud": loud.app_url(), "calm": calm.app_url()}).to_string();
    let server = Arc::new(Server::product(&[("TENANT_DATABASES", &tenants)]));
    let mut client = server.client(Some(("calm", "owner")));
    let sandbox = client.create();
    let path = format!("/v1/sandboxes/{sandbox}/exec-sync");
    client.exec(&path, "echo hello > f", false);

    let wanted = wanted();
    let rounds = variable("SQLFS_BENCH_ROUNDS").map_or(3, |rounds| rounds.parse().expect("a number"));
    let mut all: Vec<Times> = LOADS.iter().map(|_| Times::default()).collect();
    let mut refused = 0;
    for _ in 0..rounds {
        for ((load, _), times) in LOADS.iter().zip(&mut all).filter(|((load, _), _)| wanted.contains(load)) {
            let noise = Noise::start(*load, &server);
            measure(&mut client, &path, times);
            refused += noise.stop();
        }
    }
    println!(
        "{:48} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  requests",
        "ms", "write p50", "p99", "read p50", "p99", "livez p50", "p99"
    );
    for ((_, name), times) in LOADS.iter().zip(&all).filter(|((load, _), _)| wanted.contains(load)) {
        let of = |times: &[f64], part: f64| quantile(times, part);
        println!(
            "{name:48} {:9.2} {:9.2} {:9.2} {:9.2} {:9.2} {:9.2}  {}",
            of(&times.write, 0.5),
            of(&times.write, 0.99),
            of(&times.read, 0.5),
            of(&times.read, 0.99),
            of(&times.livez, 0.5),
            of(&times.livez, 0.99),
            times.write.len()
        );
    }
    println!("{refused} requests of the loud tenant were refused\n");
    let ratio = |at: usize, of: fn(&Times) -> &[f64], to: usize| {
        quantile(of(&all[at]), 0.99) / quantile(of(&all[to]), 0.99)
    };
    for (at, what, to) in [
        (1, "scripts that sleep / alone", 0),
        (3, "scripts that compute / alone", 0),
        (3, "scripts that compute / busy threads", 2),
        (4, "scripts that compute in step / alone", 0),
    ] {
        if ![at, to].iter().all(|at| wanted.contains(&LOADS[*at].0)) {
            continue;
        }
        for (kind, of) in [("write", (|t| &t.write[..]) as fn(&Times) -> &[f64]), ("read", |t| &t.read[..])] {
            let ratio = ratio(at, of, to);
            let verdict = if ratio < TARGET { "met" } else { "MISSED" };
            println!("p99 of a {kind:5} beside {what:40} = {ratio:6.2}   target < {TARGET}: {verdict}");
        }
    }
}

fn wanted() -> Vec<Load> {
    let load = |number: &str| LOADS[number.parse::<usize>().expect("a number")].0;
    match variable("SQLFS_BENCH_LOADS") {
        Some(numbers) => numbers.split(',').map(load).collect(),
        None => LOADS.map(|(load, _)| load).into(),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn measure(client: &mut Client, path: &str, times: &mut Times) {
    let began = clock::now();
    while began.elapsed() < SPAN {
        let lap = |into: &mut Vec<f64>, call: &mut dyn FnMut()| {
            let began = clock::now();
            call();
            into.push(began.elapsed().as_secs_f64() * 1e3);
        };
        lap(&mut times.write, &mut || client.exec(path, "echo $RANDOM > f", false));
        lap(&mut times.read, &mut || client.exec(path, "cat f", true));
        lap(&mut times.livez, &mut || client.send("GET", "/livez", "", "").assert_ok());
    }
}

/// A load that is under way.
struct Noise {
    stop: Arc<AtomicBool>,
    refused: Arc<AtomicU64>,
    threads: Vec<std::thread::JoinHandle<()>>,
    busy: Option<std::process::Child>,
}

impl Noise {
    /// Returns when all run slots of the loud tenant are taken, and as many requests wait.
    fn start(load: Load, server: &Arc<Server>) -> Self {
        let mut noise =
            Self { stop: Arc::default(), refused: Arc::default(), threads: Vec::new(), busy: None };
        let script = match load {
            Load::Nothing => return noise,
            Load::BusyThreads => {
                // A shell with children: processes that compute and do nothing else.
                let spin = format!("for i in $(seq {RUNNING}); do (while :; do :; done) & done; wait");
                let mut command = std::process::Command::new("bash");
                std::os::unix::process::CommandExt::process_group(&mut command, 0);
                noise.busy = Some(command.args(["-c", &spin]).spawn().expect("bash"));
                std::thread::park_timeout(Duration::from_millis(500));
                return noise;
            }
            Load::Sleepers => SLEEPER,
            Load::Spinners | Load::SpinnersInStep => SPINNER,
        };
        for owner in 0..OWNERS {
            for client in 0..CLIENTS {
                let number = owner * CLIENTS + client;
                let (server, stop, refused) = (server.clone(), noise.stop.clone(), noise.refused.clone());
                noise.threads.push(std::thread::spawn(move || {
                    let mut client = server.client(Some(("loud", &format!("owner-{owner}"))));
                    let sandbox = client.create();
                    let path = format!("/v1/sandboxes/{sandbox}/exec-sync");
                    // A script that computes is cut off after a second, or about a second: else all
                    // begin together and end together for ever.
                    let spread = (number * 37) % (OWNERS * CLIENTS) * 600 / (OWNERS * CLIENTS);
                    let time = if load == Load::Spinners { 700 + spread } else { 1000 };
                    let body = serde_json::json!({ "script": script, "timeoutMs": time }).to_string();
                    while !stop.load(Ordering::Relaxed) {
                        let status = client.post(&path, &body).status;
                        refused.fetch_add(u64::from(status == 429), Ordering::Relaxed);
                    }
                }));
            }
        }
        // All have a token and a sandbox, and the first scripts have run.
        std::thread::park_timeout(Duration::from_secs(3));
        noise
    }

    /// How many were refused.
    fn stop(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("a client");
        }
        self.refused.load(Ordering::Relaxed)
    }
}

/// Also when a measurement fails: what it has started would go on for ever.
impl Drop for Noise {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(mut busy) = self.busy.take() {
            let group = format!("-{}", busy.id());
            let _ = std::process::Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ = busy.wait();
        }
    }
}
