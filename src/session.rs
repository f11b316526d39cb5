//! Sessions: the warm state of sandboxes on this replica, and the only way to them.
//! `http` and the command line see this module and nothing below it.
//!
//! A write exec, step by step (DEVELOPER.md walks through it with the reasons):
//! 1. `in_task`: a waiting place (429 when there is none) and a task of its own.
//! 2. `guard`: a turn among this replica's writers, the lease, the session lock.
//! 3. `freshness`, `entry`: one read of the row; what differs is reloaded.
//! 4. `admission`: a run slot, taken last.
//! 5. `run`: the script, off the async workers, over a private working copy.
//! 6. `commit`: compare-and-set on the head together with all rows.
//! 7. `guard`: the new tree is swapped in.
//! 8. `exec`: a lost race is run once more, if nothing of it was seen.
//! 9. `commit`: a lost reply is asked about until there is a definite answer.
//!
//! A read exec takes the session lock shared, only while it picks a tree, and then
//! holds nothing.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, OnceLock};

use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::broker::Broker;
use crate::exec::Interpreter;
use crate::fs::ContentSource;
use crate::fs::content_cache::ContentCache;
use crate::ids::{Caller, SandboxId, TenantId};
use crate::lease::InProcess;
use crate::store::Store;

mod admission;
mod batch;
mod blobs;
mod commit;
mod content;
pub mod coordination;
mod entry;
pub mod error;
mod exec;
mod freshness;
mod guard;
mod hint;
mod host;
mod lifecycle;
mod maintenance;
mod network;
mod operators;
mod read;
mod registry;
mod replay;
mod revoked;
mod run;
mod runtimes;
mod sandboxes;
pub mod settings;
pub mod snapshots;
mod stop;
pub mod tenants;
mod types;
mod watch;
mod write;

pub use crate::exec::{Captured, LiveEvent, OutputChunk, Stream};
pub use crate::store::{Page, Patch, Revoked, SandboxRow};
pub use coordination::{Coordination, VersionCheck, WhenDown};
pub use error::SessionError;
pub use lifecycle::Readiness;
pub use read::ReadView;
pub use revoked::TokenFacts;
pub use settings::{RuntimeLimits, Settings, TenantQuota};
pub use tenants::Tenants;
pub use types::*;
pub use write::Edit;

/// The list of a sandbox, as it is checked before it is kept.
pub use crate::broker::Prefix as NetworkPrefix;

use admission::{Admission, WaitingPlace};
use blobs::Blobs;
use content::StoredContent;
use entry::Session;
use lifecycle::Lifecycle;
use network::NetworkCalls;
use registry::Registry;
use runtimes::Runtimes;
use stop::Stop;

/// The service: all sandboxes of all tenants as this replica sees them. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    tenants: Tenants,
    interpreter: Arc<dyn Interpreter>,
    cache: Arc<ContentCache>,
    registry: Registry,
    admission: Admission,
    runtimes: Arc<Runtimes>,
    coordination: Coordination,
    /// Set once, before the first exec; without it no script has a network.
    broker: OnceLock<Arc<Broker>>,
    /// Set once, before the first exec; without it replicas share no contents.
    blobs: OnceLock<Arc<Blobs>>,
    lifecycle: Lifecycle,
    /// Work that nobody waits for, ended at shutdown.
    background: TaskTracker,
    runtime: tokio::runtime::Handle,
}

/// What every step of a request carries.
struct Request {
    caller: Caller,
    id: String,
    stop: Stop,
    place: Option<WaitingPlace>,
    /// How often its scripts used the network.
    network: NetworkCalls,
}

impl Request {
    /// Gives the waiting place back: the wait is over.
    fn begun(&mut self) {
        self.place = None;
    }
}

impl Service {
    /// A service over one store per tenant, coordinated with no other replica. Must be
    /// called within a tokio runtime.
    #[must_use]
    pub fn new(
        settings: Settings,
        stores: HashMap<TenantId, Arc<dyn Store>>,
        interpreter: Arc<dyn Interpreter>,
        cache: Arc<ContentCache>,
    ) -> Self {
        Self::coordinated(
            settings,
            stores.into(),
            interpreter,
            cache,
            Coordination::Alone(InProcess::default()),
        )
    }

    /// A service of one replica among several.
    #[must_use]
    pub fn coordinated(
        settings: Settings,
        mut tenants: Tenants,
        interpreter: Arc<dyn Interpreter>,
        cache: Arc<ContentCache>,
        coordination: Coordination,
    ) -> Self {
        if settings.tenant_quota != TenantQuota::default() {
            tenants.count_usage();
        }
        let admission = Admission::new(
            settings.queue_per_sandbox,
            settings.queue_per_owner,
            settings.max_execs,
            settings.max_execs_per_tenant,
            settings.max_execs_per_owner,
        );
        let runtimes = Arc::new(Runtimes::new(&settings));
        let inner = Arc::new(Inner {
            settings,
            tenants,
            interpreter,
            cache,
            registry: Registry::default(),
            admission,
            runtimes,
            coordination,
            broker: OnceLock::new(),
            blobs: OnceLock::new(),
            lifecycle: Lifecycle::default(),
            background: TaskTracker::new(),
            runtime: tokio::runtime::Handle::current(),
        });
        if let Coordination::Fleet { leases, .. } = &inner.coordination {
            let service = Arc::downgrade(&inner);
            leases.on_gone(move |key| {
                if let Some(service) = service.upgrade() {
                    service.registry.end_writer(&key.tenant, key.sandbox);
                }
            });
        }
        Self { inner }
    }

    /// Lets scripts of sandboxes with network permission use the network. Counts once.
    #[must_use]
    pub fn with_network(self, broker: Arc<Broker>) -> Self {
        let _ = self.inner.broker.set(broker);
        self
    }

    /// Whether there is such a tenant.
    #[must_use]
    pub fn knows_tenant(&self, tenant: &str) -> bool {
        self.inner.tenants.knows(&TenantId(tenant.into()))
    }

    /// Runs `work` as a task of its own, so that a handler that is dropped can leave
    /// nothing half done: the drop only asks the task to stop, at its next safe point.
    async fn in_task<T, F, Fut>(
        &self,
        caller: &Caller,
        request_id: &str,
        sandbox: SandboxId,
        work: F,
    ) -> Result<T, SessionError>
    where
        T: Send + 'static,
        F: FnOnce(Arc<Inner>, Request, Arc<Session>) -> Fut,
        Fut: Future<Output = Result<T, SessionError>> + Send + 'static,
    {
        let place = self.inner.admission.place(caller, sandbox)?;
        let store = self.inner.tenants.store(&caller.tenant).await?;
        let stop = Stop::default();
        let registered = self.inner.lifecycle.register(&stop)?;
        let session = self.inner.registry.session(&caller.tenant, sandbox, &store);
        let request = Request {
            caller: caller.clone(),
            id: request_id.to_owned(),
            stop: stop.clone(),
            place: Some(place),
            network: NetworkCalls::default(),
        };
        let network = request.network.clone();
        let work = work(self.inner.clone(), request, session.clone());
        let inner = self.inner.clone();
        let _gone = stop.on_drop();
        let running = async move {
            let mut result = work.await;
            if matches!(result, Err(SessionError::LeaseLost)) && session.is_gone().await {
                // It was taken away because of that.
                result = Err(SessionError::NotFound);
            }
            if matches!(result, Err(SessionError::NotFound)) {
                // Ids that lead nowhere must not fill the map.
                inner.registry.evict_unused(&session);
            }
            drop(registered);
            result.map_err(|error| network.told(error))
        };
        tokio::spawn(running.in_current_span())
            .await
            .unwrap_or_else(|join| Err(SessionError::Internal(format!("a request's task died: {join}"))))
    }
}

impl Inner {
    /// Where scripts on a sandbox read contents from.
    fn content(&self, session: &Session) -> Arc<dyn ContentSource> {
        Arc::new(StoredContent { contents: self.contents(session), runtime: self.runtime.clone() })
    }
}
