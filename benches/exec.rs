//! What an exec costs above what it cannot avoid, as ratios within one run.
//!
//! Floors: a bare axum server that sends the same Postgres statements as the product
//! (a probe; a probe and a one-file commit) and does nothing else, in a process of its
//! own like the product. Rounds of both alternate; medians of single requests are
//! compared. `tests/run --bench` starts a throw-away Postgres and calls this.

use std::process::Command;
use std::sync::Arc;

use sqlfs::clock;
use sqlfs::fs::change_set::{ChangeSet, InodeRow};
use sqlfs::fs::{Delta, Kind, Tree};
use sqlfs::ids::{SandboxId, Sha256};
use sqlfs::store::{self, Store};

#[path = "support/floor.rs"]
mod floor;
#[path = "../tests/it/support/postgres.rs"]
#[expect(dead_code, reason = "the bench needs a part of it")]
mod postgres;
#[path = "support/rig.rs"]
#[allow(dead_code, reason = "each bench needs another part of it")]
mod rig;

use rig::{Client, Server, quantile};

/// Requests of one kind in a round, and rounds.
const REQUESTS: usize = 400;
const ROUNDS: usize = 7;

fn main() {
    rustls::crypto::ring::default_provider().install_default().expect("the first provider");
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("floor-server") {
        floor_server(&args.next().expect("a database URL"));
    } else {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let database = runtime.block_on(postgres::Database::new());
        run(&database.app_url());
    }
}

fn run(url: &str) {
    let floor = floor_process(url);
    // The targets are for scripts on threads; those in worker processes stand beside.
    let product = Server::product(&[("DATABASE_URL", url), ("INTERPRETER", "thread")]);
    let processes = Server::product(&[("DATABASE_URL", url), ("INTERPRETER", "process")]);
    let mut floor_client = Client::connect(floor.port, "");
    let mut client = product.client(None);
    let sandbox = client.create();
    let exec = format!("/v1/sandboxes/{sandbox}/exec-sync");
    let record = format!("/v1/sandboxes/{sandbox}");
    client.exec(&exec, "echo hello > f; mkdir d", false);
    let mut worker = processes.client(None);
    let apart = format!("/v1/sandboxes/{}/exec-sync", worker.create());
    worker.exec(&apart, "echo hello > f; mkdir d", false);

    let mut table = Table::default();
    let mut lap =
        |name: &'static str, per_round: usize, call: &mut dyn FnMut()| table.lap(name, per_round, call);
    for _ in 0..ROUNDS {
        lap("floor: probe", REQUESTS, &mut || floor_client.post("/probe", "").assert_ok());
        lap("GET /livez", REQUESTS, &mut || client.send("GET", "/livez", "", "").assert_ok());
        lap("GET sandbox", REQUESTS, &mut || client.send("GET", &record, "", "").assert_ok());
        lap("true", REQUESTS, &mut || client.exec(&exec, "true", false));
        lap("echo hello", REQUESTS, &mut || client.exec(&exec, "echo hello", false));
        lap("echo hello, in a process", REQUESTS, &mut || worker.exec(&apart, "echo hello", false));
        lap("cat f, in a process", REQUESTS, &mut || worker.exec(&apart, "cat f", false));
        lap("cat f", REQUESTS, &mut || client.exec(&exec, "cat f", false));
        lap("cat f, readOnly", REQUESTS, &mut || client.exec(&exec, "cat f", true));
        lap("floor: probe and commit", REQUESTS, &mut || floor_client.post("/commit", "").assert_ok());
        lap("echo > f, in a process", REQUESTS, &mut || {
            worker.exec(&apart, "echo $RANDOM$RANDOM > f", false);
        });
        lap("echo > f", REQUESTS, &mut || client.exec(&exec, "echo $RANDOM$RANDOM > f", false));
        lap("100 writes to one file", 40, &mut || {
            client.exec(&exec, "for i in {1..100}; do echo $i$RANDOM > f; done", false);
        });
        lap("100 writes to 100 files", 40, &mut || {
            client.exec(&exec, "for i in {1..100}; do echo $i$RANDOM > d/$i; done", false);
        });
        for (name, count) in [("2,500 appends", 2500), ("5,000 appends", 5000), ("10,000 appends", 10_000)] {
            lap(name, 1, &mut || {
                client.exec(
                    &exec,
                    &format!(": > a; for ((i=0;i<{count};i++)); do echo line $i >> a; done"),
                    false,
                );
            });
        }
    }
    table.print();
    println!();
    table.ratio("cat f", "floor: probe", 2.5);
    table.ratio("cat f, readOnly", "floor: probe", 2.5);
    table.ratio("echo > f", "floor: probe and commit", 2.0);
    table.ratio("100 writes to one file", "echo > f", 3.0);
    table.ratio("100 writes to 100 files", "echo > f", 15.0);
    table.ratio("5,000 appends", "2,500 appends", 2.2);
    table.ratio("10,000 appends", "5,000 appends", 2.2);
    for script in ["echo hello", "cat f", "echo > f"] {
        table.difference(&format!("{script}, in a process"), script, 300.0);
    }
}

/// Medians by name, microseconds.
#[derive(Default)]
struct Table {
    rows: Vec<(&'static str, Vec<f64>)>,
}

impl Table {
    fn lap(&mut self, name: &'static str, times: usize, call: &mut dyn FnMut()) {
        let at = self.rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.rows.push((name, Vec::new()));
            self.rows.len() - 1
        });
        for _ in 0..times {
            let began = clock::now();
            call();
            self.rows[at].1.push(began.elapsed().as_secs_f64() * 1e6);
        }
    }

    fn median(&self, name: &str) -> f64 {
        let (_, times) = self.rows.iter().find(|(known, _)| *known == name).expect("a measured name");
        quantile(times, 0.5)
    }

    fn print(&self) {
        for (name, times) in &self.rows {
            println!("{name:28} {:>10.0} us (median of {})", self.median(name), times.len());
        }
    }

    fn difference(&self, of: &str, to: &str, target: f64) {
        let difference = self.median(of) - self.median(to);
        let verdict = if difference <= target { "met" } else { "MISSED" };
        println!("{of:28} - {to:26} = {difference:5.0} us   target <= {target}: {verdict}");
    }

    fn ratio(&self, of: &str, to: &str, target: f64) {
        let ratio = self.median(of) / self.median(to);
        let verdict = if ratio <= target { "met" } else { "MISSED" };
        println!("{of:28} / {to:26} = {ratio:5.2}   target <= {target}: {verdict}");
    }
}

fn floor_process(url: &str) -> Server {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.arg("floor-server").arg(url);
    Server::start(command, None)
}

/// The floor: axum, and the store's own statements.
fn floor_server(url: &str) {
    use axum::routing::post;

    struct State {
        store: Arc<dyn Store>,
        sandbox: SandboxId,
        row: InodeRow,
        count: tokio::sync::Mutex<u64>,
    }

    async fn probe(axum::extract::State(state): axum::extract::State<Arc<State>>) -> String {
        let row = state.store.probe(state.sandbox).await.expect("a probe").expect("the sandbox");
        format!("{{\"version\":{}}}", row.version)
    }

    async fn commit(axum::extract::State(state): axum::extract::State<Arc<State>>) -> String {
        let mut count = state.count.lock().await;
        *count += 1;
        let row = state.store.probe(state.sandbox).await.expect("a probe").expect("the sandbox");
        let data = bytes::Bytes::from(format!("{count}\n"));
        let sha256 = Sha256::of(&data);
        let size = data.len() as u64;
        let inode = InodeRow { sha256: Some(sha256), size, mtime_ns: clock::wall_ns(), ..state.row.clone() };
        let changes = ChangeSet {
            delta: Delta { ended_inodes: vec![inode.ino], inodes: vec![inode], ..Delta::default() },
            blobs: vec![sqlfs::fs::BlobUse { sha256, size, data: Some(data) }],
            next_ino: row.next_ino,
            entries: row.entries,
            bytes: size,
            changed: 1,
        };
        floor::commit(state.store.as_ref(), &row, &changes).await;
        String::from("{}")
    }

    let runtime = sqlfs::app::runtime().expect("a runtime");
    runtime.block_on(async {
        let store = store::open(url, &store::Options::default()).await.expect("a store");
        let (tree, next_ino) = Tree::first(clock::wall_ns());
        let mut first = tree.whole(next_ino, Vec::new());
        let home = tree.resolve("/home/user", false).expect("the home").0;
        let row = InodeRow {
            ino: next_ino,
            kind: Kind::File,
            mode: 0o644,
            size: 0,
            mtime_ns: clock::wall_ns(),
            nlink: 1,
            sha256: None,
            symlink_target: None,
        };
        first.delta.inodes.push(row.clone());
        first.delta.dirents.push(sqlfs::fs::change_set::DirentRow {
            parent: home,
            name: "f".into(),
            ino: next_ino,
        });
        first.next_ino += 1;
        first.entries += 1;
        let created = floor::sandbox(store.as_ref(), &first).await;
        let state = Arc::new(State { store, sandbox: created.id, row, count: tokio::sync::Mutex::default() });
        let router =
            axum::Router::new().route("/probe", post(probe)).route("/commit", post(commit)).with_state(state);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("listening on http://{}", listener.local_addr().expect("an address"));
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("TCP_NODELAY");
            let service = hyper_util::service::TowerToHyperService::new(router.clone());
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(hyper_util::rt::TokioIo::new(stream), service),
            );
        }
    });
}
