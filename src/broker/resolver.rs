//! From names to addresses. A trait, so that tests can say what a name leads to, and count.

use std::io;
use std::net::IpAddr;

/// Asks DNS.
#[async_trait::async_trait]
pub trait Resolver: Send + Sync {
    /// All addresses of `name`, in the order in which they are to be tried.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// As the system does it.
pub struct System;

#[async_trait::async_trait]
impl Resolver for System {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}
