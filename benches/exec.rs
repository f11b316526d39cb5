//! What an exec costs above what it cannot avoid, as ratios within one run.
//!
//! Floors: a bare axum server that sends the same Postgres statements as the product
//! (a probe; a probe and a one-file commit) and does nothing else, in a process of its
//! own like the product. Rounds of both alternate; medians of single requests are
//! compared. `tests/run --bench` starts a throw-away Postgres and calls this.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use sqlfs::clock;
use sqlfs::fs::change_set::{ChangeSet, InodeRow};
use sqlfs::fs::{Delta, Kind, Tree};
use sqlfs::ids::{ExecId, Head, Owner, SandboxId, Sha256};
use sqlfs::store::{self, Commit, CommitOutcome, Created, NewSandbox, Store};

#[path = "../tests/it/support/postgres.rs"]
#[expect(dead_code, reason = "the bench needs a part of it")]
mod postgres;

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
    let floor = Server::floor(url);
    let product = Server::product(url);
    let mut floor_client = Client::connect(floor.port, "");
    let mut client = product.client();
    let sandbox = client.create();
    let exec = format!("/v1/sandboxes/{sandbox}/exec-sync");
    let record = format!("/v1/sandboxes/{sandbox}");
    client.exec(&exec, "echo hello > f; mkdir d", false);

    let mut table = Table::default();
    let mut lap =
        |name: &'static str, per_round: usize, call: &mut dyn FnMut()| table.lap(name, per_round, call);
    for _ in 0..ROUNDS {
        lap("floor: probe", REQUESTS, &mut || floor_client.post("/probe", "").assert_ok());
        lap("GET /livez", REQUESTS, &mut || client.send("GET", "/livez", "", "").assert_ok());
        lap("GET sandbox", REQUESTS, &mut || client.send("GET", &record, "", "").assert_ok());
        lap("true", REQUESTS, &mut || client.exec(&exec, "true", false));
        lap("cat f", REQUESTS, &mut || client.exec(&exec, "cat f", false));
        lap("cat f, readOnly", REQUESTS, &mut || client.exec(&exec, "cat f", true));
        lap("floor: probe and commit", REQUESTS, &mut || floor_client.post("/commit", "").assert_ok());
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
        let mut times = times.clone();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

    fn print(&self) {
        for (name, times) in &self.rows {
            println!("{name:28} {:>10.0} us (median of {})", self.median(name), times.len());
        }
    }

    fn ratio(&self, of: &str, to: &str, target: f64) {
        let ratio = self.median(of) / self.median(to);
        let verdict = if ratio <= target { "met" } else { "MISSED" };
        println!("{of:28} / {to:26} = {ratio:5.2}   target <= {target}: {verdict}");
    }
}

/// A server process of this run; ended with it.
struct Server {
    child: Child,
    port: u16,
    _data: Option<tempfile::TempDir>,
}

impl Server {
    fn floor(url: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.arg("floor-server").arg(url);
        Self::start(command, None)
    }

    fn product(url: &str) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sqlfs"));
        command
            .env("DATABASE_URL", url)
            .env("SQLFS_DATA_DIR", data.path())
            .env("AUTH_SECRET", SECRET)
            .env("PORT", "0")
            .env("ADMIN_PORT", "0")
            .env("RUST_LOG", "warn");
        Self::start(command, Some(data))
    }

    fn start(mut command: Command, data: Option<tempfile::TempDir>) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a server");
        let mut lines = BufReader::new(child.stdout.take().expect("its stdout")).lines();
        let port = loop {
            let line = lines.next().expect("a line with the address").expect("text");
            if let Some((_, port)) = line.rsplit_once("listening on http://127.0.0.1:") {
                break port.trim().parse().expect("a port");
            }
        };
        // What it says later is not of interest, but must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port, _data: data }
    }

    fn client(&self) -> Client {
        let mut client = Client::connect(self.port, "");
        let reply = client.send(
            "POST",
            "/v1/auth/bootstrap",
            r#"{"sub":"bench"}"#,
            &format!("X-Auth-Secret: {SECRET}\r\n"),
        );
        let token = reply.json()["token"].as_str().expect("a token").to_owned();
        Client::connect(self.port, &format!("Authorization: Bearer {token}\r\n"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const SECRET: &str = "a secret of the benchmark, long enough to be one";

/// One kept-alive connection: as little client as there can be.
struct Client {
    stream: BufReader<TcpStream>,
    headers: String,
}

struct Reply {
    status: u16,
    body: Vec<u8>,
}

impl Reply {
    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    fn assert_ok(&self) {
        assert!(self.status < 300, "{}: {}", self.status, String::from_utf8_lossy(&self.body));
    }
}

impl Client {
    fn connect(port: u16, headers: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        Self { stream: BufReader::new(stream), headers: headers.to_owned() }
    }

    fn post(&mut self, path: &str, body: &str) -> Reply {
        self.send("POST", path, body, "")
    }

    fn send(&mut self, method: &str, path: &str, body: &str, more: &str) -> Reply {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{}{more}Content-Length: {}\r\n\r\n{body}",
            self.headers,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("a request sent");
        let (mut status, mut length) = (0, 0);
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("a header line");
            let text = line.trim_end();
            if let Some(rest) = text.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().expect("a status");
            } else if let Some((name, value)) = text.split_once(':') {
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().expect("a length");
                }
            } else if text.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        Reply { status, body }
    }

    fn create(&mut self) -> String {
        let reply = self.post("/v1/sandboxes", "{}");
        reply.assert_ok();
        reply.json()["id"].as_str().expect("an id").to_owned()
    }

    fn exec(&mut self, path: &str, script: &str, read_only: bool) {
        let body = serde_json::json!({ "script": script, "readOnly": read_only }).to_string();
        let reply = self.post(path, &body);
        reply.assert_ok();
    }
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
        let outcome = state
            .store
            .commit(&Commit {
                sandbox: state.sandbox,
                seen: row.head,
                new_head: Head::random(),
                fence: row.fence,
                cwd: None,
                changes: &changes,
                exec: ExecId::random(),
                request_id: "floor",
                actor: "floor",
                started_at_ns: clock::wall_ns(),
                duration_ms: 0,
                script_sha256: Some(sha256),
            })
            .await
            .expect("a commit");
        assert!(matches!(outcome, CommitOutcome::Done { .. }));
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
        let new = NewSandbox {
            id: SandboxId::random(),
            owner: Owner("floor".into()),
            name: None,
            unique: false,
            env: std::collections::BTreeMap::new(),
            python: false,
            javascript: false,
            network: None,
            cwd: "/home/user".into(),
            head: Head::random(),
            created_at_ns: clock::wall_ns(),
            request_id: "floor".into(),
            exec: ExecId::random(),
        };
        let Created::Done(created) = store.create(&new, &first).await.expect("a sandbox") else {
            unreachable!("it has no name")
        };
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
