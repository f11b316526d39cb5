//! The machine's `git http-backend` on loopback, as a web server would run it.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::Response;

/// What is asked for below `/private/`.
pub const SECRET: &str = "Bearer canary-secret";

/// A running server; ends with the test.
pub struct Backend {
    pub addr: SocketAddr,
    /// Where the repositories are.
    pub root: tempfile::TempDir,
    /// Method, path and `Authorization` of each request.
    pub seen: Arc<Mutex<Vec<(String, String, Option<String>)>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Backend {
    /// Serves repositories below `/repos/`, with [`SECRET`] below `/private/`, and sends
    /// `/moved/` to `/repos/`.
    pub async fn start() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("an address");
        let seen = Arc::<Mutex<Vec<_>>>::default();
        let (folder, log) = (root.path().to_path_buf(), seen.clone());
        let router = Router::new().fallback(move |request: Request| {
            let (folder, log) = (folder.clone(), log.clone());
            async move { answer(request, folder, &log).await }
        });
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a server");
        });
        Self { addr, root, seen, task }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// An empty repository that takes pushes.
    pub fn bare(&self, name: &str) -> PathBuf {
        let path = self.root.path().join(name);
        super::real(self.root.path(), &["init", "-q", "--bare", "-b", "main", name]);
        super::real(&path, &["config", "http.receivepack", "true"]);
        path
    }
}

fn plain(status: u16, text: &str) -> Response<Body> {
    Response::builder().status(status).body(Body::from(text.to_owned())).expect("a reply")
}

async fn answer(
    request: Request,
    root: PathBuf,
    log: &Mutex<Vec<(String, String, Option<String>)>>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let header = |name: &str| {
        parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    };
    let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().unwrap_or_default().to_owned());
    let auth = parts.headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    log.lock().expect("the log").push((parts.method.to_string(), path.clone(), auth.clone()));
    if let Some(rest) = path.strip_prefix("/moved/") {
        let to = format!("/repos/{rest}?{query}");
        return Response::builder().status(301).header("location", to).body(Body::empty()).expect("a reply");
    }
    let rest = match (path.strip_prefix("/repos/"), path.strip_prefix("/private/")) {
        (Some(rest), _) => rest,
        (None, Some(rest)) if auth.as_deref() == Some(SECRET) => rest,
        (None, Some(_)) => return plain(401, "who are you?"),
        _ => return plain(404, "nothing here"),
    };
    let body = to_bytes(body, 64 << 20).await.unwrap_or_default();
    let (method, kind) = (parts.method.to_string(), header("content-type"));
    let rest = rest.to_owned();
    let out = tokio::task::spawn_blocking(move || run(&root, &rest, &query, &method, &kind, &body)).await;
    reply(&out.expect("git http-backend"))
}

fn run(root: &Path, path: &str, query: &str, method: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let mut command = super::command(root, "git");
    command.arg("http-backend").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", format!("/{path}"));
    command.env("QUERY_STRING", query).env("REQUEST_METHOD", method).env("CONTENT_TYPE", kind);
    command.env("CONTENT_LENGTH", body.len().to_string()).env("REMOTE_ADDR", "127.0.0.1");
    let mut child = command.spawn().expect("git http-backend");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(body));
        child.wait_with_output().expect("git http-backend").stdout
    })
}

/// What a CGI program said, as a reply.
fn reply(out: &[u8]) -> Response<Body> {
    let end = out.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let mut reply = Response::builder();
    for line in String::from_utf8_lossy(&out[..end]).lines() {
        let (name, value) = line.split_once(": ").expect("a header");
        reply = match name {
            "Status" => reply.status(value[..3].parse::<u16>().expect("a status")),
            _ => reply.header(name, value),
        };
    }
    reply.body(Body::from(out[end + 4..].to_vec())).expect("a reply")
}
