//! One multiplexed connection that calls share by cloning; deadpool builds it and
//! mends it. (Checking one out of the pool for each call pings: half the speed.)

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deadpool_redis::{Manager, Pool, PoolError, Runtime};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, FromRedisValue, RedisError, ScriptInvocation};
use tokio::sync::Mutex as Turn;

use super::CallError;
use super::breaker::{Breaker, Patience};
use super::server::{RedisServer, explain};
use crate::clock;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Leases: two failures in a row open its breaker, for one may be a connection that was
    /// closed while idle, and short pauses, for execs wait meanwhile.
    Leases,
    /// Caches: one failure, and longer pauses. Nobody needs them.
    Caches,
}

impl Role {
    fn patience(self) -> Patience {
        let (failures, first, longest) = match self {
            Self::Leases => (2, 100, 1000),
            Self::Caches => (1, 1000, 10_000),
        };
        let (first, longest) = (Duration::from_millis(first), Duration::from_millis(longest));
        Patience { failures, first, longest }
    }
}

/// A connection of one role.
pub(crate) struct Line {
    role: Role,
    pool: Pool,
    current: Mutex<Current>,
    /// Held while the connection is built, so that it is built once.
    building: Turn<()>,
    breaker: Breaker,
    timeout: Duration,
}

#[derive(Default)]
struct Current {
    connection: Option<MultiplexedConnection>,
    /// Counts connections, so that a late failure of an old one spares the new one.
    generation: u64,
}

impl Line {
    /// No connection is made yet. `timeout` bounds a whole call, building included.
    pub(crate) fn new(role: Role, server: &RedisServer, timeout: Duration) -> Result<Self, String> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(timeout))
            .set_response_timeout(Some(timeout));
        let manager = Manager::new_with_config(server.info(), config).map_err(|error| error.to_string())?;
        let pool = Pool::builder(manager)
            .max_size(1)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(timeout))
            .create_timeout(Some(timeout))
            .recycle_timeout(Some(timeout))
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            role,
            pool,
            current: Mutex::default(),
            building: Turn::new(()),
            breaker: Breaker::new(role.patience()),
            timeout,
        })
    }

    /// Runs a script: by its hash, and by its text if the server does not know it.
    pub(crate) async fn run<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T, CallError> {
        self.call(|mut connection| async move {
            script.invoke_async(&mut connection).await.map_err(|error: RedisError| {
                tracing::debug!(%error, "a lease call failed");
                CallError::Unknown
            })
        })
        .await
    }

    /// Sends a command. `Ok(None)`: the server answered that it does not do it.
    pub(crate) async fn send<T: FromRedisValue>(&self, command: &Cmd) -> Result<Option<T>, CallError> {
        self.call(|mut connection| async move {
            match command.query_async(&mut connection).await {
                Ok(answer) => Ok(Some(answer)),
                Err(error) => {
                    tracing::debug!(%error, "a command was not done");
                    // An error with a code is the server's own answer.
                    if error.code().is_some() { Ok(None) } else { Err(CallError::Unknown) }
                }
            }
        })
        .await
    }

    /// Makes the connection ahead of the first call.
    pub(crate) async fn connect(&self) -> Result<(), CallError> {
        self.call(|_| async { Ok(()) }).await
    }

    async fn call<T, F>(&self, ask: impl FnOnce(MultiplexedConnection) -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        if !self.breaker.admits(clock::now()) {
            return Err(CallError::NotSent);
        }
        let mut sent = None;
        let call = async {
            let (connection, generation) = self.connection().await.map_err(|()| CallError::NotSent)?;
            sent = Some(generation);
            ask(connection).await
        };
        let result = tokio::time::timeout(self.timeout, call).await;
        match (result, sent) {
            (Ok(Ok(answer)), _) => {
                self.breaker.succeeded();
                Ok(answer)
            }
            (Ok(Err(error)), generation) => {
                self.failed(generation);
                Err(error)
            }
            (Err(_), None) => {
                self.failed(None);
                Err(CallError::NotSent)
            }
            (Err(_), generation) => {
                self.failed(generation);
                Err(CallError::Unknown)
            }
        }
    }

    fn failed(&self, generation: Option<u64>) {
        self.breaker.failed(clock::now());
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if generation == Some(current.generation) {
            current.connection = None;
        }
    }

    fn current(&self) -> Option<(MultiplexedConnection, u64)> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.connection.clone().map(|connection| (connection, current.generation))
    }

    async fn connection(&self) -> Result<(MultiplexedConnection, u64), ()> {
        if let Some(current) = self.current() {
            return Ok(current);
        }
        let _turn = self.building.lock().await;
        if let Some(current) = self.current() {
            return Ok(current);
        }
        let checked = self.pool.get().await.map_err(|error| {
            let error = match &error {
                PoolError::Backend(error) => explain(error),
                other => other.to_string(),
            };
            match self.role {
                Role::Leases => tracing::warn!(error, "the lease server is out of reach"),
                Role::Caches => tracing::warn!(error, "the cache server is out of reach"),
            }
        })?;
        let connection = MultiplexedConnection::clone(&checked);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.generation += 1;
        current.connection = Some(connection.clone());
        Ok((connection, current.generation))
    }
}
