//! A cache in Redis.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::{Cache, Found};
use crate::remote::{CallError, Line, RedisServer, Role};

/// A `put` may take this many times as long as a `get`: nobody waits for it.
const PATIENCE_OF_PUT: u32 = 20;

/// See the module. Reads and writes have connections of their own: a write of megabytes
/// holds up no read.
pub struct RedisCache {
    reads: Line,
    writes: Line,
}

impl RedisCache {
    /// Connects to nothing yet. `timeout` bounds a `get`, the connection included. An error is
    /// for people.
    pub fn new(server: &RedisServer, timeout: Duration) -> Result<Self, String> {
        let line = |timeout| Line::new(Role::Caches, server, timeout);
        Ok(Self { reads: line(timeout)?, writes: line(timeout * PATIENCE_OF_PUT)? })
    }

    /// Makes the connection that reads use, so that the first one need not.
    pub async fn connect(&self) {
        let _ = self.reads.connect().await;
    }
}

#[async_trait]
impl Cache for RedisCache {
    async fn get(&self, key: &str, limit: usize) -> Found {
        // A key that is not there has an empty range.
        let mut get = redis::cmd("GETRANGE");
        get.arg(key).arg(0).arg(limit.saturating_sub(1));
        match self.reads.send::<Vec<u8>>(&get).await {
            Ok(Some(value)) if !value.is_empty() => Found::Value(value),
            Ok(_) => Found::Nothing,
            Err(CallError::NotSent | CallError::Unknown) => Found::Away,
        }
    }

    async fn put(&self, key: &str, value: Bytes, ttl: Duration, instead_of: Option<&str>) -> bool {
        let mut set = redis::cmd("SET");
        set.arg(key).arg(&value[..]).arg("PX").arg(ttl.as_millis() as u64);
        let done = matches!(self.writes.send::<String>(&set).await, Ok(Some(_)));
        if let (true, Some(old)) = (done, instead_of) {
            // What is left ends by itself.
            let mut unlink = redis::cmd("UNLINK");
            let _ = self.writes.send::<i64>(unlink.arg(old)).await;
        }
        done
    }
}
