//! The connection loop: who leaves ends their request; an orderly end; limits of the
//! head; the layer around every request.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::middleware::from_fn;
use axum::routing::{get, post};
use futures_util::{StreamExt, stream};
use sqlfs::http::observe::observe;
use sqlfs::http::serve;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Bound of every wait here; reached only when something is broken.
const LONG: Duration = Duration::from_secs(10);

struct Server {
    address: std::net::SocketAddr,
    stop: CancellationToken,
    done: tokio::task::JoinHandle<std::io::Result<()>>,
}

async fn start(router: Router) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let router = router.layer(from_fn(observe));
    let done = tokio::spawn(serve(listener, router, stop.clone().cancelled_owned()));
    Server { address, stop, done }
}

impl Server {
    async fn send(&self, request: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request).await.unwrap();
        stream
    }

    /// Sends one request and reads until the server closes.
    async fn ask(&self, request: &str) -> String {
        let mut stream = self.send(request.as_bytes()).await;
        let mut reply = Vec::new();
        // A reset after the reply is the server closing over unread input.
        let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut reply)).await.expect("an answer");
        String::from_utf8(reply).unwrap()
    }
}

/// Says over the channel when it is dropped.
struct Alive(mpsc::UnboundedSender<&'static str>);

impl Drop for Alive {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

async fn told(from: &mut mpsc::UnboundedReceiver<&'static str>) -> Option<&'static str> {
    tokio::time::timeout(LONG, from.recv()).await.expect("in time")
}

const POST: &[u8] = b"POST /work HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody";

#[tokio::test]
async fn a_client_that_leaves_a_buffered_request_drops_the_handler() {
    let (to, mut from) = mpsc::unbounded_channel();
    let work = move |_: Bytes| {
        let alive = Alive(to.clone());
        async move {
            let _ = alive.0.send("running");
            std::future::pending::<()>().await;
        }
    };
    let server = start(Router::new().route("/work", post(work))).await;
    let client = server.send(POST).await;
    assert_eq!(told(&mut from).await, Some("running"));
    assert!(from.try_recv().is_err(), "the handler runs as long as the client waits");
    drop(client);
    assert_eq!(told(&mut from).await, Some("dropped"));
}

#[tokio::test]
async fn a_client_that_leaves_a_streamed_reply_drops_the_body() {
    let (to, mut from) = mpsc::unbounded_channel();
    let work = move |_: Bytes| {
        let alive = Alive(to.clone());
        async move {
            let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"first"))]);
            let rest = stream::once(async move {
                let _alive = alive;
                std::future::pending().await
            });
            Body::from_stream(first.chain(rest))
        }
    };
    let server = start(Router::new().route("/work", post(work))).await;
    let mut client = server.send(POST).await;
    let mut seen = Vec::new();
    while !seen.windows(5).any(|w| w == b"first") {
        assert_ne!(client.read_buf(&mut seen).await.unwrap(), 0);
    }
    assert!(from.try_recv().is_err(), "the body lives as long as the client reads");
    drop(client);
    assert_eq!(told(&mut from).await, Some("dropped"));
}

#[tokio::test]
async fn an_orderly_end_lets_requests_finish_and_takes_no_more() {
    let (to, mut from) = mpsc::unbounded_channel();
    let (finish, gate) = oneshot::channel::<()>();
    let gate = std::sync::Arc::new(tokio::sync::Mutex::new(Some(gate)));
    let work = move |_: Bytes| {
        let (to, gate) = (to.clone(), gate.clone());
        async move {
            let _ = to.send("running");
            gate.lock().await.take().unwrap().await.unwrap();
            "finished"
        }
    };
    let server = start(Router::new().route("/work", post(work))).await;
    let idle = TcpStream::connect(server.address).await.unwrap();
    let mut client = server.send(POST).await;
    assert_eq!(told(&mut from).await, Some("running"));
    server.stop.cancel();
    let refused = async { while TcpStream::connect(server.address).await.is_ok() {} };
    tokio::time::timeout(LONG, refused).await.expect("no more connections");
    assert!(!server.done.is_finished(), "a request is in flight");
    finish.send(()).unwrap();
    let mut reply = String::new();
    client.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200") && reply.ends_with("finished"), "{reply}");
    tokio::time::timeout(LONG, server.done).await.expect("returns").unwrap().unwrap();
    drop(idle);
}

fn quick() -> Router {
    let panics = async || -> &'static str { panic!("on purpose") };
    Router::new().route("/ok", get(async || "fine")).route("/panic", get(panics))
}

fn get_with(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n")
}

#[tokio::test]
async fn heads_are_limited() {
    let server = start(quick()).await;
    assert!(server.ask(&get_with("/ok", "")).await.starts_with("HTTP/1.1 200"), "the positive control");
    let large = format!("X-Large: {}\r\n", "a".repeat(40 << 10));
    let reply = server.ask(&get_with("/ok", &large)).await;
    assert!(reply.starts_with("HTTP/1.1 431") && reply.contains("\"code\":\"HEADERS_TOO_LARGE\""), "{reply}");
    let huge = format!("X-Huge: {}\r\n", "a".repeat(1 << 20));
    assert!(server.ask(&get_with("/ok", &huge)).await.starts_with("HTTP/1.1 431"));
    let many = "X-Many: a\r\n".repeat(10_000);
    assert!(server.ask(&get_with("/ok", &many)).await.starts_with("HTTP/1.1 431"));
}

#[tokio::test]
async fn smuggled_lengths_are_refused() {
    let server = start(quick()).await;
    for length in ["Content-Length: -1", "Content-Length: +5", "Content-Length: 1\r\nContent-Length: 2"] {
        let reply = server.ask(&get_with("/ok", &format!("{length}\r\n"))).await;
        assert!(reply.starts_with("HTTP/1.1 400"), "{length}: {reply}");
    }
}

#[tokio::test]
async fn every_reply_has_the_request_id_and_panics_are_errors() {
    let server = start(quick()).await;
    let reply = server.ask(&get_with("/ok", "X-Request-Id: mine-1\r\n")).await;
    assert!(reply.contains("x-request-id: mine-1\r\n"), "{reply}");
    let reply = server.ask(&get_with("/panic", "X-Request-Id: mine-2\r\n")).await;
    assert!(reply.starts_with("HTTP/1.1 500") && reply.contains("x-request-id: mine-2\r\n"), "{reply}");
    assert!(reply.contains("\"requestId\":\"mine-2\"") && !reply.contains("on purpose"), "{reply}");
    let reply = server.ask(&get_with("/ok", &format!("X-Request-Id: {}\r\n", "a".repeat(129)))).await;
    assert!(
        reply.starts_with("HTTP/1.1 400") && reply.contains("X-Request-Id: expected 1 to 128"),
        "{reply}"
    );
}
