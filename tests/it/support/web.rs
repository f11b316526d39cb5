//! A web server of a test's own, on loopback. It counts who comes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Response, StatusCode, header};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A running server; ends with the test.
pub struct Web {
    /// Where it listens.
    pub addr: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<Value>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Web {
    /// Answers by the path; see `answer`.
    pub async fn start() -> Self {
        Self::at("127.0.0.1:0").await
    }

    /// The same on another address.
    pub async fn at(address: &str) -> Self {
        Self::on(TcpListener::bind(address).await.expect("a free port"))
    }

    /// The same on a listener that is there.
    pub fn on(listener: TcpListener) -> Self {
        let requests = Arc::<Mutex<Vec<Value>>>::default();
        let seen = requests.clone();
        let router =
            Router::new().fallback(move |request: Request| async move { answer(request, &seen).await });
        Self::serve(listener, requests, move |stream| {
            let router = router.clone();
            async move {
                let service = hyper_util::service::TowerToHyperService::new(router);
                let io = hyper_util::rt::TokioIo::new(stream);
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
            }
        })
    }

    /// Reads the head of a request, then does with the connection what `speak` says.
    pub async fn raw<F, Fut>(speak: F) -> Self
    where
        F: Fn(TcpStream) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = std::io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        Self::serve(listener, Arc::default(), move |mut stream| {
            let speak = speak.clone();
            async move {
                let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
                while !head.windows(4).any(|four| four == b"\r\n\r\n") {
                    match stream.read(&mut buffer).await {
                        Ok(read) if read > 0 => head.extend_from_slice(&buffer[..read]),
                        _ => return,
                    }
                }
                let _ = speak(stream).await;
            }
        })
    }

    /// Says `text` and closes.
    pub async fn says(text: impl Into<Vec<u8>>) -> Self {
        let text: Arc<[u8]> = text.into().into();
        Self::raw(move |mut stream| {
            let text = text.clone();
            async move {
                stream.write_all(&text).await?;
                stream.shutdown().await
            }
        })
        .await
    }

    fn serve<F, Fut>(listener: TcpListener, requests: Arc<Mutex<Vec<Value>>>, serve: F) -> Self
    where
        F: Fn(TcpStream) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let addr = listener.local_addr().expect("an address");
        let connections = Arc::<AtomicUsize>::default();
        let count = connections.clone();
        let task = tokio::spawn(async move {
            let mut tasks = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tasks.spawn(serve(stream));
            }
        });
        Self { addr, connections, requests, task }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Requests so far, as `/echo` shows them.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().expect("requests").clone()
    }
}

async fn answer(request: Request, seen: &Mutex<Vec<Value>>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 64 << 20).await.unwrap_or_default();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let mut headers = Map::new();
    for (name, value) in &parts.headers {
        headers.insert(name.to_string(), json!(String::from_utf8_lossy(value.as_bytes())));
    }
    let echo = json!({
        "method": parts.method.as_str(),
        "path": parts.uri.path(),
        "query": query,
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
        "length": body.len(),
    });
    seen.lock().expect("requests").push(echo.clone());
    let reply = Response::builder();
    let path: Vec<&str> = parts.uri.path().split('/').skip(1).collect();
    let made = match path[..] {
        ["text"] => reply.header(header::CONTENT_TYPE, "text/plain").body("hello\n".into()),
        ["bytes", count] => reply.body(vec![0xff; count.parse().unwrap_or(0)].into()),
        ["status", status] => {
            reply.status(status.parse::<u16>().unwrap_or(500)).body(format!("status {status}\n").into())
        }
        // The query is where it leads.
        ["redirect", status] => reply
            .status(status.parse::<u16>().unwrap_or(500))
            .header(header::LOCATION, query)
            .body("moved\n".into()),
        ["loop"] => reply.status(302).header(header::LOCATION, "/loop").body(Body::empty()),
        ["cookie", name, value] => {
            reply.header(header::SET_COOKIE, format!("{name}={value}; Path=/")).body(Body::empty())
        }
        ["login"] => reply
            .status(302)
            .header(header::SET_COOKIE, "session=abc; Path=/")
            .header(header::LOCATION, "/header/cookie")
            .body(Body::empty()),
        ["header", name] => {
            let value = echo["headers"][name].as_str().unwrap_or("none").to_owned();
            reply.body(format!("{value}\n").into())
        }
        ["method"] => reply.body(format!("{} {}\n", parts.method, body.len()).into()),
        ["body"] => reply.body(body.into()),
        ["gzip"] => reply.header(header::CONTENT_ENCODING, "gzip").body(gzip(b"unpacked\n").into()),
        ["bomb"] => reply.header(header::CONTENT_ENCODING, "gzip").body(gzip(&vec![0; 80 << 20]).into()),
        _ => reply.header(header::CONTENT_TYPE, "application/json").body(echo.to_string().into()),
    };
    made.unwrap_or_else(|_| {
        let mut wrong = Response::new(Body::empty());
        *wrong.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        wrong
    })
}

fn gzip(data: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(data).expect("in memory");
    packed.finish().expect("in memory")
}
