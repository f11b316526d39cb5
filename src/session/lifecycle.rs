//! Orderly end of the service: new requests are refused, waiting ones answered,
//! running scripts get some time, and what still runs then is ended without a trace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::session::coordination::WhenDown;
use crate::session::stop::{Cause, Stop};
use crate::session::{Service, SessionError};

/// All requests in flight.
#[derive(Clone, Default)]
pub(crate) struct Lifecycle {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    empty: Notify,
    drain: CancellationToken,
}

#[derive(Default)]
struct State {
    draining: bool,
    next: u64,
    requests: BTreeMap<u64, Stop>,
}

impl Lifecycle {
    /// Enters a request, or refuses it because the service is going down.
    pub(crate) fn register(&self, stop: &Stop) -> Result<Registered, SessionError> {
        let mut state = self.state();
        if state.draining {
            return Err(SessionError::ShuttingDown);
        }
        let id = state.next;
        state.next += 1;
        state.requests.insert(id, stop.clone());
        Ok(Registered { lifecycle: self.clone(), id })
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.state().draining
    }

    /// Resolves once the service goes down.
    pub(crate) async fn draining(&self) {
        self.inner.drain.cancelled().await;
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self, which: impl Fn(&Stop) -> bool) {
        let stops: Vec<Stop> = self.state().requests.values().filter(|stop| which(stop)).cloned().collect();
        for stop in stops {
            stop.stop(Cause::ShuttingDown);
        }
    }

    async fn wait_until_empty(&self) {
        loop {
            let notified = self.inner.empty.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.state().requests.is_empty() {
                return;
            }
            notified.await;
        }
    }
}

/// A request in flight; leaves when dropped.
pub(crate) struct Registered {
    lifecycle: Lifecycle,
    id: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut state = self.lifecycle.state();
        state.requests.remove(&self.id);
        if state.requests.is_empty() {
            self.lifecycle.inner.empty.notify_waiters();
        }
    }
}

impl Service {
    /// Refuses new requests from now on, and ends those that still wait for their turn.
    pub fn begin_shutdown(&self) {
        self.inner.lifecycle.state().draining = true;
        self.inner.lifecycle.inner.drain.cancel();
        self.inner.lifecycle.stop(|stop| !stop.is_running());
    }

    /// Resolves once `begin_shutdown` was called.
    pub async fn draining(&self) {
        self.inner.lifecycle.draining().await;
    }

    /// Waits for running scripts as long as `Settings::drain` allows, ends the rest,
    /// and closes the stores. Nothing runs afterwards.
    pub async fn shutdown(&self) {
        self.begin_shutdown();
        let lifecycle = &self.inner.lifecycle;
        if tokio::time::timeout(self.inner.settings.drain, lifecycle.wait_until_empty()).await.is_err() {
            lifecycle.stop(|_| true);
            // A request that was told to stop answers at once; one whose commit has
            // begun finishes it.
            lifecycle.wait_until_empty().await;
        }
        self.inner.background.close();
        self.inner.background.wait().await;
        self.inner.coordination.close().await;
        for (_, store) in self.inner.tenants.in_use() {
            store.close().await;
        }
    }

    /// Whether this replica can serve.
    pub async fn readiness(&self) -> Readiness {
        let mut lacks = Vec::new();
        let mut degraded = Vec::new();
        if self.inner.lifecycle.is_draining() {
            lacks.push("the server is shutting down".to_owned());
        }
        let in_use = self.inner.tenants.in_use();
        let answers = futures_util::future::join_all(in_use.iter().map(|(_, store)| store.ping())).await;
        let mut away: BTreeSet<_> = self.inner.tenants.failed().into_iter().collect();
        let mut serves_some = in_use.is_empty() && away.is_empty();
        for ((tenant, _), answer) in in_use.iter().zip(answers) {
            match answer {
                Ok(()) => serves_some = true,
                Err(error) => {
                    tracing::warn!(tenant = %tenant, error = %error, "the store does not answer");
                    away.insert(tenant.clone());
                }
            }
        }
        // As long as one tenant can be served, the others' requests are answered one by one.
        for tenant in away {
            if serves_some {
                degraded.push(format!("store of tenant {tenant}"));
            } else {
                lacks.push(format!("the store of tenant {tenant} does not answer"));
            }
        }
        match self.inner.coordination.reachable().await {
            Some((false, WhenDown::Degrade)) => degraded.push("redis".to_owned()),
            Some((false, WhenDown::Refuse)) => lacks.push("the lease server does not answer".to_owned()),
            Some((true, _)) | None => {}
        }
        Readiness { lacks, degraded }
    }
}

/// Whether a replica can serve.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    /// What it lacks; empty when it can.
    pub lacks: Vec<String>,
    /// What is away while it serves all the same.
    pub degraded: Vec<String>,
}
