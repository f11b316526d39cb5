//! Server processes and the plainest of clients, for benchmarks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server process of this run; ended with it.
pub struct Server {
    child: Child,
    /// Where it listens, on 127.0.0.1.
    pub port: u16,
    _data: Option<tempfile::TempDir>,
}

impl Server {
    /// The product, with more environment variables.
    pub fn product(env: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sqlfs"));
        command
            .env("SQLFS_DATA_DIR", data.path())
            .env("AUTH_SECRET", SECRET)
            .env("PORT", "0")
            .env("ADMIN_PORT", "0")
            .env("BOOTSTRAP_RATE_LIMIT_MAX", "1000000")
            .env("RUST_LOG", "warn")
            .envs(env.iter().copied());
        Self::start(command, Some(data))
    }

    /// Any program that prints its address as the product does.
    pub fn start(mut command: Command, data: Option<tempfile::TempDir>) -> Self {
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

    /// A client with a token for `bench`, or for an owner of a tenant.
    pub fn client(&self, of: Option<(&str, &str)>) -> Client {
        let mut client = Client::connect(self.port, "");
        let body = match of {
            None => serde_json::json!({"sub": "bench"}),
            Some((tenant, owner)) => serde_json::json!({"sub": owner, "tenant": tenant}),
        };
        let reply = client.send(
            "POST",
            "/v1/auth/bootstrap",
            &body.to_string(),
            &format!("X-Auth-Secret: {SECRET}\r\n"),
        );
        let token = reply.json()["token"].as_str().expect("a token").to_owned();
        Client::connect(self.port, &format!("Authorization: Bearer {token}\r\n"))
    }
}

impl Server {
    /// Bytes of memory that its process holds, without its workers.
    pub fn resident(&self) -> u64 {
        resident(self.child.id())
    }

    /// The same of its worker processes together.
    pub fn resident_workers(&self) -> u64 {
        children(self.child.id()).into_iter().map(resident).sum()
    }

    /// Worker processes that it has.
    pub fn workers(&self) -> usize {
        children(self.child.id()).len()
    }

    /// Processor time that its process has used, in ticks of 10 ms (proc(5)).
    pub fn processor(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("a process");
        let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
        let ticks = |at: usize| fields[at].parse::<u64>().expect("a number");
        Duration::from_millis((ticks(11) + ticks(12)) * 10)
    }
}

/// Anonymous memory: that of the program and its libraries is shared.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const SECRET: &str = "a secret of the benchmark, long enough to be one";

/// One kept-alive connection: as little client as there can be.
pub struct Client {
    stream: BufReader<TcpStream>,
    headers: String,
}

pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// All of it.
    pub body: Vec<u8>,
}

impl Reply {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub fn assert_ok(&self) {
        assert!(self.status < 300, "{}: {}", self.status, String::from_utf8_lossy(&self.body));
    }
}

impl Client {
    pub fn connect(port: u16, headers: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        Self { stream: BufReader::new(stream), headers: headers.to_owned() }
    }

    pub fn post(&mut self, path: &str, body: &str) -> Reply {
        self.send("POST", path, body, "")
    }

    pub fn send(&mut self, method: &str, path: &str, body: &str, more: &str) -> Reply {
        let more = format!("Content-Type: application/json\r\n{more}");
        self.request(method, path, body.as_bytes(), &more)
    }

    /// A POST of another type than JSON, or of many bytes.
    pub fn send_as(&mut self, kind: &str, path: &str, body: &[u8]) -> Reply {
        self.request("POST", path, body, &format!("Content-Type: {kind}\r\n"))
    }

    fn request(&mut self, method: &str, path: &str, body: &[u8], more: &str) -> Reply {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{}{more}Content-Length: {}\r\n\r\n",
            self.headers,
            body.len()
        );
        // In one piece: a small one is one packet.
        let request = [head.as_bytes(), body].concat();
        self.stream.get_mut().write_all(&request).expect("a request sent");
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

    pub fn create(&mut self) -> String {
        let reply = self.post("/v1/sandboxes", "{}");
        reply.assert_ok();
        reply.json()["id"].as_str().expect("an id").to_owned()
    }

    pub fn exec(&mut self, path: &str, script: &str, read_only: bool) {
        let body = serde_json::json!({ "script": script, "readOnly": read_only }).to_string();
        let reply = self.post(path, &body);
        reply.assert_ok();
    }
}

/// What a part of some measurements (0 to 1; 0.5: half of them) does not exceed.
#[expect(clippy::cast_precision_loss, reason = "counts of requests are small")]
pub fn quantile(times: &[f64], part: f64) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * part).round() as usize]
}
