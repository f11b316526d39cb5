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
pub struct Tenants(BTreeMap<TenantId, Slot>);

struct Slot {
    open: Mutex<Option<Arc<dyn Store>>>,
    opener: Option<Opener>,
    /// One opens it; who comes meanwhile waits. Holds when and why it last failed.
    opening: tokio::sync::Mutex<Option<Instant>>,
    failed: Mutex<bool>,
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
        Self(open.into_iter().map(|(tenant, store)| (tenant, slot(store))).collect())
    }
}

impl Tenants {
    /// Adds one that is opened when it is first used.
    pub fn add(&mut self, tenant: TenantId, opener: Opener) {
        self.0.insert(tenant, Slot::new(None, Some(opener)));
    }

    /// Whether there is such a tenant.
    #[must_use]
    pub fn knows(&self, tenant: &TenantId) -> bool {
        self.0.contains_key(tenant)
    }

    /// Its store.
    pub(crate) async fn store(&self, tenant: &TenantId) -> Result<Arc<dyn Store>, SessionError> {
        let slot = self.0.get(tenant).ok_or(SessionError::UnknownTenant)?;
        if let Some(store) = slot.ready() {
            return Ok(store);
        }
        let mut failed_at = slot.opening.lock().await;
        if let Some(store) = slot.ready() {
            return Ok(store);
        }
        if failed_at.is_some_and(|at| at.elapsed() < PAUSE) {
            return Err(SessionError::StoreUnavailable);
        }
        let opened = slot.make_ready().await;
        *slot.failed.lock().unwrap_or_else(PoisonError::into_inner) = opened.is_err();
        match opened {
            Ok(store) => Ok(store),
            Err(error) => {
                // The reason is for the operator: to the tenant its store is unavailable.
                tracing::error!(tenant = %tenant, error = %error, "the store of a tenant cannot be used");
                *failed_at = Some(clock::now());
                Err(SessionError::StoreUnavailable)
            }
        }
    }

    /// The tenant's list of revoked tokens, as it was read last.
    pub(crate) fn revoked(&self, tenant: &TenantId) -> Result<&RevokedTokens, SessionError> {
        self.0.get(tenant).map(|slot| &slot.revoked).ok_or(SessionError::UnknownTenant)
    }

    /// What the tenant's sandboxes held when it was looked at last.
    pub(crate) fn usage(&self, tenant: &TenantId) -> Usage {
        let of = |slot: &Slot| *slot.usage.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.get(tenant).map(of).unwrap_or_default()
    }

    /// Reads again what is kept here of the stores in use.
    pub(crate) async fn refresh(&self) {
        for (tenant, store) in self.in_use() {
            let Some(slot) = self.0.get(&tenant) else { continue };
            if let Err(error) = slot.refresh(store.as_ref()).await {
                tracing::warn!(tenant = %tenant, error = %error, "revoked tokens and usage were not read");
            }
        }
    }

    /// Those in use, with their stores.
    pub(crate) fn in_use(&self) -> Vec<(TenantId, Arc<dyn Store>)> {
        self.0.iter().filter_map(|(tenant, slot)| Some((tenant.clone(), slot.opened()?))).collect()
    }

    /// Those whose store could not be opened when it was last tried.
    pub(crate) fn failed(&self) -> Vec<TenantId> {
        let failed = |slot: &Slot| *slot.failed.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.iter().filter(|(_, slot)| failed(slot)).map(|(tenant, _)| tenant.clone()).collect()
    }
}

impl Slot {
    fn new(store: Option<Arc<dyn Store>>, opener: Option<Opener>) -> Self {
        Self {
            open: Mutex::new(store),
            opener,
            opening: tokio::sync::Mutex::default(),
            failed: Mutex::default(),
            revoked: RevokedTokens::default(),
            usage: Mutex::default(),
            knows: AtomicBool::new(false),
        }
    }

    /// The store, once has been read from it what is kept of it here.
    fn ready(&self) -> Option<Arc<dyn Store>> {
        self.opened().filter(|_| self.knows.load(Ordering::Acquire))
    }

    async fn make_ready(&self) -> StoreResult<Arc<dyn Store>> {
        let store = match (self.opened(), &self.opener) {
            (Some(store), _) => store,
            (None, Some(opener)) => {
                let store = opener().await?;
                *self.open() = Some(store.clone());
                store
            }
            (None, None) => return Err(StoreError::Unavailable("it was never opened".into())),
        };
        self.refresh(store.as_ref()).await?;
        self.knows.store(true, Ordering::Release);
        Ok(store)
    }

    async fn refresh(&self, store: &dyn Store) -> StoreResult<()> {
        self.revoked.refresh(store).await?;
        let usage = store.usage().await?;
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner) = usage;
        Ok(())
    }

    fn open(&self) -> MutexGuard<'_, Option<Arc<dyn Store>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> Option<Arc<dyn Store>> {
        self.open().clone()
    }
}
