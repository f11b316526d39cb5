//! The connection loop: HTTP/1 with limits, and an orderly end.
//!
//! A client that leaves ends its request: hyper reads on while a handler works, sees
//! the end of the stream, and drops the handler's future (and the body of a streamed
//! reply), which ends the script behind it.

use std::future::Future;
use std::io;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::rate::Peer;

/// A request's head must arrive within this time; an idle connection is closed after it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// hyper refuses larger heads by itself (431, no body), and more than 100 headers.
/// Between this and `observe::HEAD_BYTES` the refusal has a body.
const HARD_HEAD_BYTES: usize = 128 << 10;

/// Pause after a failed accept: the cause is mostly a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `shutdown` resolves; then takes no more connections, lets requests in
/// flight finish, and returns. How long that may take is the caller's to bound.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let stop = CancellationToken::new();
    let connections = TaskTracker::new();
    tokio::pin!(shutdown);
    loop {
        let (stream, peer) = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        connections.spawn(connection(stream, Peer(peer.ip()), router.clone(), stop.clone()));
    }
    drop(listener);
    stop.cancel();
    connections.close();
    connections.wait().await;
    Ok(())
}

async fn connection(stream: TcpStream, peer: Peer, router: Router, stop: CancellationToken) {
    // Events and small replies go out at once. It fails only if the peer has gone.
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        router.call(request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_header_size(HARD_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
