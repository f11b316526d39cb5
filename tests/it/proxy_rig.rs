//! The proxy of the fault tests does what its name says; else those tests prove nothing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::eventually;
use crate::support::proxy::{Action, Proxy};
use crate::support::weather::{Flow, Weather};

const LONG: Duration = Duration::from_secs(10);

/// A server that answers each piece with `ok` and remembers all it saw.
async fn server() -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("postgres://u:p@{}/db", listener.local_addr().expect("an address"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let keep = keep.clone();
            tokio::spawn(async move {
                let mut piece = [0; 1024];
                while let Ok(n @ 1..) = socket.read(&mut piece).await {
                    keep.lock().expect("seen").extend_from_slice(&piece[..n]);
                    let _ = socket.write_all(b"ok").await;
                }
            });
        }
    });
    (url, seen)
}

async fn connect(proxy: &Proxy, url: &str) -> TcpStream {
    let url = proxy.url(url);
    let host =
        url.strip_prefix("postgres://u:p@").and_then(|rest| rest.strip_suffix("/db")).expect("the URL");
    TcpStream::connect(host).await.expect("the proxy listens")
}

/// The answer, or empty when the connection was cut.
async fn ask(socket: &mut TcpStream, text: &str) -> Vec<u8> {
    socket.write_all(text.as_bytes()).await.expect("sent");
    let mut answer = vec![0; 2];
    let read = tokio::time::timeout(LONG, socket.read_exact(&mut answer)).await.expect("an answer or a cut");
    if read.is_ok() { answer } else { Vec::new() }
}

#[tokio::test]
async fn cut_before_means_that_the_server_never_saw_it() {
    let (url, seen) = server().await;
    let proxy = Proxy::before(&url).await;
    let mut socket = connect(&proxy, &url).await;
    assert_eq!(ask(&mut socket, "first").await, b"ok");
    proxy.trap(b"COMMIT", Action::CutBefore);
    assert_eq!(ask(&mut socket, "COMMIT").await, b"");
    assert_eq!(*seen.lock().expect("seen"), b"first");
}

#[tokio::test]
async fn cut_after_means_that_the_server_saw_it_and_the_client_no_answer() {
    let (url, seen) = server().await;
    let proxy = Proxy::before(&url).await;
    let mut socket = connect(&proxy, &url).await;
    let trap = proxy.trap(b"COMMIT", Action::CutAfter);
    assert_eq!(ask(&mut socket, "xx COMMIT yy").await, b"");
    assert_eq!(*seen.lock().expect("seen"), b"xx COMMIT yy");
    assert!(trap.sprung_on().is_some());
    // It springs once.
    let mut socket = connect(&proxy, &url).await;
    assert_eq!(ask(&mut socket, "COMMIT").await, b"ok");
}

#[tokio::test]
async fn held_bytes_reach_the_server_after_the_client_is_gone() {
    let (url, seen) = server().await;
    let proxy = Proxy::before(&url).await;
    let mut socket = connect(&proxy, &url).await;
    let trap = proxy.trap(b"COMMIT", Action::Hold);
    socket.write_all(b"COMMIT").await.expect("sent");
    trap.sprung(LONG).await;
    trap.cut_client();
    assert_eq!(socket.read(&mut [0; 8]).await.unwrap_or(0), 0, "the client sees the cut");
    assert_eq!(*seen.lock().expect("seen"), b"");
    trap.release(LONG).await;
    assert_eq!(*seen.lock().expect("seen"), b"COMMIT");
}

#[tokio::test]
async fn a_pattern_across_two_pieces_is_found() {
    let (url, seen) = server().await;
    let proxy = Proxy::before(&url).await;
    let mut socket = connect(&proxy, &url).await;
    proxy.trap(b"COMMIT", Action::CutBefore);
    assert_eq!(ask(&mut socket, "COM").await, b"ok");
    assert_eq!(ask(&mut socket, "MIT").await, b"");
    assert_eq!(*seen.lock().expect("seen"), b"COM");
}

#[tokio::test]
async fn refused_and_cut_connections_are_gone() {
    let (url, _) = server().await;
    let proxy = Proxy::before(&url).await;
    let mut socket = connect(&proxy, &url).await;
    assert_eq!(ask(&mut socket, "first").await, b"ok");
    proxy.refuse(true);
    assert_eq!(connect(&proxy, &url).await.read(&mut [0; 8]).await.unwrap_or(0), 0);
    proxy.cut_all();
    assert_eq!(socket.read(&mut [0; 8]).await.unwrap_or(0), 0);
    proxy.refuse(false);
    assert_eq!(ask(&mut connect(&proxy, &url).await, "again").await, b"ok");
    let first = proxy.connections().remove(0);
    eventually("the connection is closed", LONG, || async {
        (!first.open.load(std::sync::atomic::Ordering::SeqCst)).then_some(())
    })
    .await;
    assert_eq!(first.up.load(std::sync::atomic::Ordering::SeqCst), 5);
}

#[tokio::test]
async fn a_held_answer_reaches_the_client_when_it_is_let_go_and_not_before() {
    let (url, seen) = server().await;
    let proxy = Proxy::before(&url).await;
    for cut in [false, true] {
        let mut socket = connect(&proxy, &url).await;
        let trap = proxy.trap(b"COMMIT", Action::HoldAnswer);
        socket.write_all(b"COMMIT").await.expect("sent");
        trap.answered(LONG).await;
        assert_eq!(*seen.lock().expect("seen"), b"COMMIT".repeat(1 + usize::from(cut)));
        let mut answer = [0; 2];
        assert_eq!(socket.try_read(&mut answer).map_err(|e| e.kind()), Err(std::io::ErrorKind::WouldBlock));
        if cut {
            trap.cut();
        } else {
            trap.let_go();
        }
        let read = tokio::time::timeout(LONG, socket.read(&mut answer)).await.expect("an end");
        assert_eq!(read.unwrap_or(0), if cut { 0 } else { 2 });
    }
}

#[tokio::test]
async fn a_passing_answer_is_told() {
    let (url, _) = server().await;
    let proxy = Proxy::before(&url).await;
    let mut socket = connect(&proxy, &url).await;
    let trap = proxy.trap(b"COMMIT", Action::TellAnswer);
    assert_eq!(ask(&mut socket, "COMMIT").await, b"ok");
    trap.answered(LONG).await;
    assert_eq!(ask(&mut socket, "more").await, b"ok");
}

#[tokio::test]
async fn what_the_weather_holds_comes_later_and_what_it_swallows_never() {
    let (url, seen) = server().await;
    let proxy = Proxy::before(&url).await;
    let mut socket = connect(&proxy, &url).await;
    assert_eq!((ask(&mut socket, "a").await, proxy.felt()), (b"ok".to_vec(), 0));
    let felt = |count| {
        let proxy = &proxy;
        eventually("the weather is felt", LONG, move || async move { (proxy.felt() >= count).then_some(()) })
    };

    proxy.weather(Weather { up: Flow::Hold, ..Weather::default() });
    socket.write_all(b"b").await.expect("sent");
    felt(1).await;
    assert_eq!(*seen.lock().expect("seen"), b"a");
    proxy.weather(Weather::default());
    let mut answer = [0; 2];
    tokio::time::timeout(LONG, socket.read_exact(&mut answer)).await.expect("in time").expect("an answer");
    assert_eq!((&answer, seen.lock().expect("seen").as_slice()), (b"ok", b"ab".as_slice()));

    let late = Duration::from_millis(50);
    proxy.weather(Weather { latency: late, ..Weather::default() });
    let start = tokio::time::Instant::now();
    assert_eq!(ask(&mut socket, "c").await, b"ok");
    assert!(start.elapsed() >= 2 * late, "once on each way: {:?}", start.elapsed());

    for (weather, reaches) in [
        (Weather { down: Flow::Swallow, ..Weather::default() }, b"abcd".as_slice()),
        (Weather { up: Flow::Swallow, ..Weather::default() }, b"abcd"),
    ] {
        let before = (proxy.felt(), proxy.broken());
        proxy.weather(weather);
        socket.write_all(b"d").await.expect("sent");
        felt(before.0 + 1).await;
        assert_eq!(*seen.lock().expect("seen"), reaches);
        proxy.weather(Weather::default());
        assert_eq!(proxy.broken(), before.1 + 1, "the torn connection is cut");
        assert_eq!(socket.read(&mut [0; 8]).await.unwrap_or(0), 0);
        socket = connect(&proxy, &url).await;
    }
}
