//! What the tests share: the real server as a child process, a client that says what it
//! expects, and a proxy that breaks connections at a chosen moment.

pub mod beside_gnu;
pub mod cases;
pub mod certificates;
pub mod fs_ops;
pub mod gated_store;
pub mod http;
pub mod lease_trace;
pub mod memory_store;
pub mod model;
pub mod operations;
pub mod postgres;
pub mod postgres_server;
pub mod processes;
pub mod programs;
pub mod proxy;
pub mod python;
pub mod random;
#[cfg(target_os = "linux")]
pub mod real_dir;
pub mod redis;
pub mod redis_calls;
pub mod score;
pub mod scripts;
pub mod server;
pub mod watched;
pub mod weather;
pub mod web;

pub use http::{Api, Reply};
pub use server::{Server, TestStore};

/// Makes each named `async fn(TestStore)` two tests: one on SQLite and one on Postgres.
macro_rules! on_each_store {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(crate::support::TestStore::sqlite()).await;
                }
            )+
        }
        mod postgres {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(crate::support::TestStore::postgres().await).await;
                }
            )+
        }
    };
}
pub(crate) use on_each_store;

/// A port that nobody listens on now.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Polls `probe` until it gives a value; fails the test when `within` has passed. For
/// facts that have no event of their own to wait for.
pub async fn eventually<T, F, Fut>(what: &str, within: std::time::Duration, mut probe: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    let deadline = tokio::time::Instant::now() + within;
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(tokio::time::Instant::now() < deadline, "not within {within:?}: {what}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// The median of some durations.
pub fn median(times: &[std::time::Duration]) -> std::time::Duration {
    assert!(!times.is_empty(), "no times were measured");
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}
