//! A TCP proxy before Postgres or Redis that breaks a connection at a chosen moment, or
//! makes the way bad for all of them (`weather.rs`).
//!
//! "Up" is towards the server. A trap waits for a byte pattern on its way up, on any
//! connection, and springs once. A good pattern is a value that the statement carries,
//! such as the request id: prepared statements are sent by number, not by text.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::weather::{Way, Weather};

/// A running proxy. Ends with its value.
pub struct Proxy {
    addr: SocketAddr,
    shared: Arc<Shared>,
    _end: tokio_util::sync::DropGuard,
}

/// What a trap does with the bytes that hold the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Cuts both directions; the server never sees them.
    CutBefore,
    /// Sends them on and cuts both directions at the first byte of the answer, which the
    /// client never sees.
    CutAfter,
    /// Keeps them and all that follows on this connection until [`Trap::release`].
    Hold,
    /// Sends them on, and keeps the answer until [`Trap::let_go`].
    HoldAnswer,
    /// Sends them on and tells when the answer has passed.
    TellAnswer,
}

/// A trap that was set.
#[derive(Clone)]
pub struct Trap(Arc<TrapState>);

struct TrapState {
    pattern: Vec<u8>,
    action: Action,
    /// The connection on which it sprang.
    sprung: watch::Sender<Option<Arc<Connection>>>,
}

struct Shared {
    target: SocketAddr,
    refuse: AtomicBool,
    weather: watch::Sender<Weather>,
    /// Pieces that the weather held, swallowed or delayed.
    felt: AtomicU64,
    /// Connections that were cut or refused while they were wanted.
    broken: AtomicU64,
    trap: Mutex<Option<Trap>>,
    counted: Mutex<Option<(Vec<u8>, u64)>>,
    connections: Mutex<BTreeMap<u64, Arc<Connection>>>,
    next: AtomicU64,
}

/// One connection and what went through it.
pub struct Connection {
    /// Bytes sent on to the server.
    pub up: AtomicU64,
    /// Bytes sent on to the client.
    pub down: AtomicU64,
    /// Bytes that came from the server after the client was cut off.
    pub orphaned: AtomicU64,
    /// Whether it is still there.
    pub open: AtomicBool,
    on_answer: Mutex<Option<Action>>,
    answered: watch::Sender<bool>,
    /// Whether the weather swallowed something: no more than noise can follow.
    torn: AtomicBool,
    held: watch::Sender<bool>,
    cut_client: CancellationToken,
    cut: CancellationToken,
}

impl Proxy {
    /// Listens on a free loopback port and leads to the host and port of `url`.
    pub async fn before(url: &str) -> Self {
        let target = authority(url).1;
        let target = tokio::net::lookup_host(target).await.expect("a host").next().expect("an address");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            target,
            refuse: AtomicBool::new(false),
            weather: watch::Sender::new(Weather::default()),
            felt: AtomicU64::new(0),
            broken: AtomicU64::new(0),
            trap: Mutex::default(),
            counted: Mutex::default(),
            connections: Mutex::default(),
            next: AtomicU64::new(0),
        });
        let end = CancellationToken::new();
        tokio::spawn(end.clone().run_until_cancelled_owned(accept(listener, shared.clone())));
        Self { addr, shared, _end: end.drop_guard() }
    }

    /// `url` with the proxy in place of its host and port.
    pub fn url(&self, url: &str) -> String {
        let (before, old, after) = authority(url);
        assert!(!old.is_empty(), "a URL with a host: {url}");
        format!("{before}{}{after}", self.addr)
    }

    /// Cuts every connection now, both directions.
    pub fn cut_all(&self) {
        self.cut_where(|_| true);
    }

    fn cut_where(&self, chosen: impl Fn(&Connection) -> bool) {
        for connection in self.shared.connections.lock().expect("connections").values() {
            if connection.open.load(Ordering::SeqCst) && chosen(connection) {
                connection.cut.cancel();
                self.shared.broken.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// How all connections fare from now on. Those out of which something was swallowed
    /// are cut when it changes: what follows would not be the protocol any more.
    pub fn weather(&self, weather: Weather) {
        self.shared.weather.send_replace(weather);
        self.cut_where(|connection| connection.torn.load(Ordering::SeqCst));
    }

    /// How many pieces the weather held, swallowed or delayed so far.
    pub fn felt(&self) -> u64 {
        self.shared.felt.load(Ordering::SeqCst)
    }

    /// How many connections were cut or refused so far.
    pub fn broken(&self) -> u64 {
        self.shared.broken.load(Ordering::SeqCst)
    }

    /// Whether new connections are closed at once.
    pub fn refuse(&self, refuse: bool) {
        self.shared.refuse.store(refuse, Ordering::SeqCst);
    }

    /// Sets the trap; the one before is taken away.
    pub fn trap(&self, pattern: &[u8], action: Action) -> Trap {
        let state = TrapState { pattern: pattern.to_vec(), action, sprung: watch::Sender::new(None) };
        let trap = Trap(Arc::new(state));
        *self.shared.trap.lock().expect("trap") = Some(trap.clone());
        trap
    }

    /// Counts from now on the pieces on their way up that hold the pattern.
    pub fn count(&self, pattern: &[u8]) {
        *self.shared.counted.lock().expect("count") = Some((pattern.to_vec(), 0));
    }

    /// How many came by since [`Proxy::count`].
    pub fn counted(&self) -> u64 {
        self.shared.counted.lock().expect("count").as_ref().map_or(0, |(_, count)| *count)
    }

    /// All connections so far, in the order of their coming.
    pub fn connections(&self) -> Vec<Arc<Connection>> {
        self.shared.connections.lock().expect("connections").values().cloned().collect()
    }
}

impl Trap {
    /// The connection on which it sprang, if it did.
    pub fn sprung_on(&self) -> Option<Arc<Connection>> {
        self.0.sprung.borrow().clone()
    }

    /// Waits until it springs; fails the test after `within`.
    pub async fn sprung(&self, within: Duration) -> Arc<Connection> {
        let mut sprung = self.0.sprung.subscribe();
        let found = tokio::time::timeout(within, sprung.wait_for(Option::is_some)).await;
        found.expect("the pattern came by").expect("the proxy runs").clone().expect("a connection")
    }

    /// Waits until the answer to what it sprang on has come by; fails the test after
    /// `within`. After [`Action::HoldAnswer`] the client has not got it.
    pub async fn answered(&self, within: Duration) {
        let connection = self.sprung(within).await;
        let mut answered = connection.answered.subscribe();
        let found = tokio::time::timeout(within, answered.wait_for(|answered| *answered)).await;
        found.expect("the answer came by").expect("the proxy runs");
    }

    /// After [`Action::Hold`] and [`Action::HoldAnswer`]: lets go what was kept.
    pub fn let_go(&self) {
        self.sprung_on().expect("it sprang").held.send_replace(false);
    }

    /// Cuts the connection on which it sprang; what was kept is gone.
    pub fn cut(&self) {
        self.sprung_on().expect("it sprang").cut.cancel();
    }

    /// After [`Action::Hold`]: the client sees its connection break; the server does not.
    pub fn cut_client(&self) {
        self.sprung_on().expect("it sprang").cut_client.cancel();
    }

    /// After [`Action::Hold`]: lets go what was kept, and waits for the server's answer
    /// (which goes nowhere once the client is cut off).
    pub async fn release(&self, within: Duration) {
        let connection = self.sprung_on().expect("it sprang");
        let before = connection.down.load(Ordering::SeqCst) + connection.orphaned.load(Ordering::SeqCst);
        connection.held.send_replace(false);
        super::eventually("the server answers what was held back", within, || async {
            let now = connection.down.load(Ordering::SeqCst) + connection.orphaned.load(Ordering::SeqCst);
            (now > before).then_some(())
        })
        .await;
    }
}

/// `before`, `host:port`, `after` of a URL.
fn authority(url: &str) -> (&str, &str, &str) {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?']).map_or(url.len(), |at| start + at);
    let start = url[start..end].rfind('@').map_or(start, |at| start + at + 1);
    (&url[..start], &url[start..end], &url[end..])
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this future, and with it every connection.
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        if shared.refuse.load(Ordering::SeqCst) {
            shared.broken.fetch_add(1, Ordering::SeqCst);
            continue;
        }
        tasks.spawn(connection(client, shared.clone()));
        while tasks.try_join_next().is_some() {}
    }
}

async fn connection(client: TcpStream, shared: Arc<Shared>) {
    let Ok(server) = TcpStream::connect(shared.target).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let connection = Arc::new(Connection {
        up: AtomicU64::new(0),
        down: AtomicU64::new(0),
        orphaned: AtomicU64::new(0),
        open: AtomicBool::new(true),
        on_answer: Mutex::default(),
        answered: watch::Sender::new(false),
        torn: AtomicBool::new(false),
        held: watch::Sender::new(false),
        cut_client: CancellationToken::new(),
        cut: CancellationToken::new(),
    });
    let number = shared.next.fetch_add(1, Ordering::SeqCst);
    shared.connections.lock().expect("connections").insert(number, connection.clone());
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = connection.cut.cancelled() => {}
        ((), ()) = async { tokio::join!(
            up(from_client, to_server, &connection, &shared),
            down(from_server, to_client, &connection, &shared),
        ) } => {}
    }
    connection.open.store(false, Ordering::SeqCst);
}

/// Client to server.
async fn up(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, connection: &Arc<Connection>, shared: &Shared) {
    let mut piece = vec![0; 64 * 1024];
    let mut tail = Vec::new();
    let mut held = connection.held.subscribe();
    loop {
        let n = tokio::select! {
            read = from.read(&mut piece) => read.unwrap_or(0),
            () = connection.cut_client.cancelled() => 0,
        };
        if n == 0 {
            // A client that left while its bytes are held does not take them along.
            let _ = held.wait_for(|held| !held).await;
            if !connection.cut_client.is_cancelled() {
                let _ = to.shutdown().await;
            }
            return;
        }
        if let Some((pattern, count)) = &mut *shared.counted.lock().expect("count") {
            *count += u64::from(piece[..n].windows(pattern.len()).any(|window| window == pattern));
        }
        match spring(&mut tail, &piece[..n], connection, shared) {
            Some(Action::CutBefore) => return connection.cut.cancel(),
            Some(action @ (Action::CutAfter | Action::HoldAnswer | Action::TellAnswer)) => {
                *connection.on_answer.lock().expect("answer") = Some(action);
            }
            Some(Action::Hold) => {
                connection.held.send_replace(true);
            }
            None => {}
        }
        let _ = held.wait_for(|held| !held).await;
        if !shared.pass(Way::Up, connection).await {
            continue;
        }
        if to.write_all(&piece[..n]).await.is_err() {
            return connection.cut.cancel();
        }
        connection.up.fetch_add(n as u64, Ordering::SeqCst);
    }
}

/// Server to client.
async fn down(mut from: OwnedReadHalf, to: OwnedWriteHalf, connection: &Connection, shared: &Shared) {
    let mut to = Some(to);
    let mut held = connection.held.subscribe();
    let mut piece = vec![0; 64 * 1024];
    loop {
        let n = tokio::select! {
            read = from.read(&mut piece) => read.unwrap_or(0),
            () = connection.cut_client.cancelled(), if to.is_some() => { to = None; continue }
        };
        if n == 0 {
            return connection.cut.cancel();
        }
        let on_answer = connection.on_answer.lock().expect("answer").take();
        match on_answer {
            Some(Action::CutAfter) => {
                connection.orphaned.fetch_add(n as u64, Ordering::SeqCst);
                return connection.cut.cancel();
            }
            Some(Action::HoldAnswer) => {
                connection.held.send_replace(true);
                connection.answered.send_replace(true);
            }
            Some(_) | None => {}
        }
        if connection.answered.borrow().to_owned() {
            let _ = held.wait_for(|held| !held).await;
        }
        if !shared.pass(Way::Down, connection).await {
            continue;
        }
        let sent = match &mut to {
            Some(client) => client.write_all(&piece[..n]).await.is_ok(),
            None => false,
        };
        let count = if sent { &connection.down } else { &connection.orphaned };
        count.fetch_add(n as u64, Ordering::SeqCst);
        if !sent {
            to = None;
        }
        if on_answer == Some(Action::TellAnswer) {
            connection.answered.send_replace(true);
        }
    }
}

impl Shared {
    /// Waits until the weather lets a piece pass; `false` when it swallows it.
    async fn pass(&self, way: Way, connection: &Connection) -> bool {
        let mut weather = self.weather.subscribe();
        if weather.borrow().is_calm() && !connection.torn.load(Ordering::SeqCst) {
            return true;
        }
        self.felt.fetch_add(1, Ordering::SeqCst);
        let passes = super::weather::passes(&mut weather, way).await;
        if !passes {
            connection.torn.store(true, Ordering::SeqCst);
        }
        passes && !connection.torn.load(Ordering::SeqCst)
    }
}

/// Whether the trap springs on this piece (the pattern may lie across two pieces).
fn spring(tail: &mut Vec<u8>, piece: &[u8], connection: &Arc<Connection>, shared: &Shared) -> Option<Action> {
    let mut trap = shared.trap.lock().expect("trap");
    let set = trap.as_ref()?;
    let pattern = &set.0.pattern;
    tail.extend_from_slice(piece);
    let found = tail.windows(pattern.len()).any(|window| window == pattern);
    let keep = tail.len().min(pattern.len() - 1);
    tail.drain(..tail.len() - keep);
    if !found {
        return None;
    }
    let action = set.0.action;
    set.0.sprung.send_replace(Some(connection.clone()));
    *trap = None;
    Some(action)
}
