//! The tenants of this replica, and the store of each. One that is configured beside the
//! others is opened and checked when it is first used: a tenant whose database is away or
//! not as it must be answers 503, and the others go on.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{self, Instant};
use crate::ids::TenantId;
use crate::session::SessionError;
use crate::session::revoked::RevokedTokens;
use crate::store::{Store, StoreError, StoreResult, Usage};

/// Opens a store, schema and checks included.
pub type Opener =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = StoreResult<Arc<dyn Store>>> + Send>> + Send + Sync>;

/// All tenants. The set is fixed for the life of the process.
pub struct Tenants {
    slots: BTreeMap<TenantId, Slot>,
    /// Whether what they hold is looked at.
    counts_usage: bool,
}

struct Slot {
    open: Mutex<Option<Arc<dyn Store>>>,
    opener: Option<Opener>,
    /// One makes it ready; who comes meanwhile waits.
    opening: tokio::sync::Mutex<()>,
    /// When that failed; `None` since it last succeeded.
    failed_at: Mutex<Option<Instant>>,
    revoked: RevokedTokens,
    /// What its sandboxes held when it was looked at last.
    usage: Mutex<Usage>,
    /// Whether `revoked` and `usage` were read from the store.
    knows: AtomicBool,
}

/// A store that could not be opened is not tried again before this time has passed.
const PAUSE: Duration = Duration::from_secs(1);

impl From<HashMap<TenantId, Arc<dyn Store>>> for Tenants {
    fn from(open: HashMap<TenantId, Arc<dyn Store>>) -> Self {
        let slot = |store| Slot::new(Some(store), None);
        let slots = open.into_iter().map(|(tenant, store)| (tenant, slot(store))).collect();
        Self { slots, counts_usage: false }
    }
}

impl Tenants {
    /// Adds one that is opened when it is first used.
    pub fn add(&mut self, tenant: TenantId, opener: Opener) {
        self.slots.insert(tenant, Slot::new(None, Some(opener)));
    }

    /// Lets [`Tenants::usage`] tell what they hold. It costs a sum over a tenant's sandboxes
    /// at each look.
    pub(crate) fn count_usage(&mut self) {
        self.counts_usage = true;
    }

    /// Whether there is such a tenant.
    #[must_use]
    pub fn knows(&self, tenant: &TenantId) -> bool {
        self.slots.contains_key(tenant)
    }

    /// Its store.
    pub(crate) async fn store(&self, tenant: &TenantId) -> Result<Arc<dyn Store>, SessionError> {
        let slot = self.slots.get(tenant).ok_or(SessionError::UnknownTenant)?;
        if let Some(store) = slot.ready() {
            return Ok(store);
        }
        let _one = slot.opening.lock().await;
        if let Some(store) = slot.ready() {
            return Ok(store);
        }
        if slot.opener.is_some() && slot.failed_at().is_some_and(|at| at.elapsed() < PAUSE) {
            return Err(SessionError::StoreUnavailable);
        }
        let ready = slot.make_ready(self.counts_usage).await;
        *slot.failed_at() = ready.is_err().then(clock::now);
        ready.map_err(|error| {
            // The reason is for the operator: to the tenant its store is unavailable.
            tracing::error!(tenant = %tenant, error = %error, "the store of a tenant cannot be used");
            SessionError::StoreUnavailable
        })
    }

    /// The tenant's list of revoked tokens, as it was read last.
    pub(crate) fn revoked(&self, tenant: &TenantId) -> Result<&RevokedTokens, SessionError> {
        self.slots.get(tenant).map(|slot| &slot.revoked).ok_or(SessionError::UnknownTenant)
    }

    /// What the tenant's sandboxes held when it was looked at last; nothing if it never is.
    pub(crate) fn usage(&self, tenant: &TenantId) -> Usage {
        let of = |slot: &Slot| *slot.usage.lock().unwrap_or_else(PoisonError::into_inner);
        self.slots.get(tenant).map(of).unwrap_or_default()
    }

    /// Reads again what is kept here of the stores in use.
    pub(crate) async fn refresh(&self) {
        for (tenant, store) in self.in_use() {
            let Some(slot) = self.slots.get(&tenant) else { continue };
            if let Err(error) = slot.refresh(store.as_ref(), self.counts_usage).await {
                tracing::warn!(tenant = %tenant, error = %error, "revoked tokens and usage were not read");
            }
        }
    }

    /// Those in use, with their stores.
    pub(crate) fn in_use(&self) -> Vec<(TenantId, Arc<dyn Store>)> {
        self.slots.iter().filter_map(|(tenant, slot)| Some((tenant.clone(), slot.opened()?))).collect()
    }

    /// Those whose store could not be opened when it was last tried.
    pub(crate) fn failed(&self) -> Vec<TenantId> {
        self.slots
            .iter()
            .filter(|(_, slot)| slot.failed_at().is_some())
            .map(|(tenant, _)| tenant.clone())
            .collect()
    }
}

impl Slot {
    fn new(store: Option<Arc<dyn Store>>, opener: Option<Opener>) -> Self {
        Self {
            open: Mutex::new(store),
            opener,
            opening: tokio::sync::Mutex::default(),
            failed_at: Mutex::default(),
            revoked: RevokedTokens::default(),
            usage: Mutex::default(),
            knows: AtomicBool::new(false),
        }
    }

    /// The store, once has been read from it what is kept of it here.
    fn ready(&self) -> Option<Arc<dyn Store>> {
        self.opened().filter(|_| self.knows.load(Ordering::Acquire))
    }

    async fn make_ready(&self, counts_usage: bool) -> StoreResult<Arc<dyn Store>> {
        let store = match (self.opened(), &self.opener) {
            (Some(store), _) => store,
            (None, Some(opener)) => {
                let store = opener().await?;
                *self.open() = Some(store.clone());
                store
            }
            (None, None) => return Err(StoreError::Unavailable("it was never opened".into())),
        };
        self.refresh(store.as_ref(), counts_usage).await?;
        self.knows.store(true, Ordering::Release);
        Ok(store)
    }

    async fn refresh(&self, store: &dyn Store, counts_usage: bool) -> StoreResult<()> {
        self.revoked.refresh(store).await?;
        if counts_usage {
            let usage = store.usage().await?;
            *self.usage.lock().unwrap_or_else(PoisonError::into_inner) = usage;
        }
        Ok(())
    }

    fn failed_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.failed_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, Option<Arc<dyn Store>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> Option<Arc<dyn Store>> {
        self.open().clone()
    }
}
