//! The network as the scripts of one sandbox have it: their requests go through the broker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use crate::broker::{Allow, Ask, Broker, Prefix};
use crate::exec::host::{Bin, Fetch, Fetched, NotFetched, Reply};
use crate::ids::SandboxId;
use crate::session::{Create, Inner, Network, Request, SessionError};
use crate::store::SandboxRow;

/// How often the scripts of a request used the network.
#[derive(Clone, Default)]
pub(crate) struct NetworkCalls(Arc<AtomicU64>);

impl NetworkCalls {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn one(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// An error as the client is told of it.
    pub(crate) fn told(&self, error: SessionError) -> SessionError {
        match error {
            SessionError::AfterNetwork(_) => error,
            error if self.count() > 0 => SessionError::AfterNetwork(Box::new(error)),
            error => error,
        }
    }
}

/// The network, as one sandbox has it.
pub(crate) struct NetworkPart {
    broker: Arc<Broker>,
    allow: Allow,
    sandbox: SandboxId,
    calls: NetworkCalls,
    runtime: tokio::runtime::Handle,
}

impl Inner {
    /// The network of a sandbox, for the scripts of `of`.
    pub(crate) fn network(&self, row: &SandboxRow, of: &Request) -> Option<NetworkPart> {
        Some(NetworkPart {
            broker: self.broker.get()?.clone(),
            allow: allowed(row.network.as_deref()?),
            sandbox: row.id,
            calls: of.network.clone(),
            runtime: self.runtime.clone(),
        })
    }
}

impl Inner {
    /// Whether the operator lets a sandbox be made with these permissions.
    pub(crate) fn check_permissions(&self, create: &Create) -> Result<(), SessionError> {
        let refused = |why: &str| Err(SessionError::NotPermitted(why.to_owned()));
        if create.python && self.settings.python.running == 0 {
            return refused("python: this server runs no programs of python3 (MAX_CONCURRENT_PYTHON)");
        }
        if create.javascript && self.settings.javascript.running == 0 {
            return refused("javascript: this server runs no programs of node (MAX_CONCURRENT_JS)");
        }
        let Some(broker) = self.broker.get() else { return Ok(()) };
        let list = match &create.network {
            Network::Off | Network::All(false) => return Ok(()),
            Network::All(true) => Vec::new(),
            Network::Allow { allow } => {
                allow.iter().filter_map(|prefix| Prefix::parse(prefix).ok()).collect()
            }
        };
        broker.bound().permits(&list).map_err(|why| SessionError::NotPermitted(format!("network: {why}")))
    }
}

/// The list of a sandbox. What cannot be read allows nothing.
fn allowed(text: &str) -> Allow {
    match serde_json::from_str(text) {
        Ok(Network::All(true)) => Allow::All,
        Ok(Network::Allow { allow }) => {
            Allow::Only(allow.iter().filter_map(|prefix| Prefix::parse(prefix).ok()).collect())
        }
        Ok(Network::All(false) | Network::Off) | Err(_) => Allow::Only(Vec::new()),
    }
}

impl NetworkPart {
    pub(crate) async fn fetch(&self, fetch: Fetch) -> Reply {
        // Before anything leaves: from here on the script must not run a second time.
        self.calls.one();
        let ask = Ask {
            method: fetch.method,
            url: fetch.url,
            headers: fetch.headers,
            body: fetch.body.0,
            timeout: Duration::from_millis(fetch.timeout_ms),
            connect_timeout: Duration::from_millis(fetch.connect_timeout_ms),
            longest: fetch.longest,
        };
        let (broker, allow, sandbox) = (self.broker.clone(), self.allow.clone(), self.sandbox);
        let work = async move { broker.fetch(sandbox, &allow, ask).await };
        // A script's thread has no sockets of its own either: its runtime has no driver.
        let answer = AbortOnDropHandle::new(self.runtime.spawn(work.in_current_span())).await;
        match answer {
            Ok(Ok(answer)) => Reply::Fetched(Box::new(Fetched {
                status: answer.status,
                version: answer.version.to_owned(),
                reason: answer.reason,
                url: answer.url,
                headers: answer.headers,
                body: Bin(answer.body),
            })),
            Ok(Err(failure)) => {
                Reply::NotFetched(NotFetched { exit: failure.exit, message: failure.message })
            }
            Err(_) => Reply::Refused("the server is shutting down".into()),
        }
    }
}
