//! From names to addresses. A trait, so that tests can say what a name leads to, and count.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use tokio::sync::Semaphore;

/// Asks DNS.
#[async_trait::async_trait]
pub trait Resolver: Send + Sync {
    /// All addresses of `name`, in the order in which they are to be tried.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Questions on their way at once.
const MOST: usize = 64;

/// As the system does it.
pub struct System(Arc<Semaphore>);

impl Default for System {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

#[async_trait::async_trait]
impl Resolver for System {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let place = self.0.clone().acquire_owned().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        // The place is held by the thread: it cannot be stopped when nobody waits any more,
        // and scripts must not take all threads of the server for names that never answer.
        let asking = tokio::task::spawn_blocking(move || {
            let found = (name.as_str(), 0).to_socket_addrs();
            drop(place);
            found
        });
        Ok(asking.await.map_err(io::Error::other)??.map(|address| address.ip()).collect())
    }
}
