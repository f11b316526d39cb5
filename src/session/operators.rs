//! What operators may do with the sandboxes and tokens of others. Who asks is checked by
//! the caller of these methods.

use std::time::Duration;

use crate::clock;
use crate::ids::{Caller, Owner, SandboxId, TenantId};
use crate::session::entry::store_error;
use crate::session::revoked::TokenFacts;
use crate::session::{Inner, Page, SandboxRow, Service, SessionError};
use crate::store::{Revocation, Revoked};

/// Time between two reads of what is kept of a tenant's database: a revocation on one replica is
/// effective on the others after it at the latest, and they promise 30 s.
const REFRESH: Duration = Duration::from_secs(10);

impl Service {
    /// Live sandboxes of all owners of a tenant, or of one; newest first.
    pub async fn list_all(
        &self,
        tenant: &TenantId,
        owner: Option<&Owner>,
        page: &Page,
    ) -> Result<Vec<SandboxRow>, SessionError> {
        let store = self.inner.tenants.store(tenant).await?;
        store.list_all(owner, page).await.map_err(store_error)
    }

    /// Deletes a sandbox whoever owns it, as its owner would.
    pub async fn delete_any(
        &self,
        tenant: &TenantId,
        sandbox: SandboxId,
        force: bool,
    ) -> Result<Owner, SessionError> {
        let store = self.inner.tenants.store(tenant).await?;
        let row = store.probe(sandbox).await.map_err(store_error)?.ok_or(SessionError::NotFound)?;
        let owner = Caller { tenant: tenant.clone(), owner: row.owner };
        self.delete(&owner, sandbox, force).await?;
        Ok(owner.owner)
    }

    /// Revokes tokens of a tenant: here at once, on other replicas within 30 s.
    pub async fn revoke(&self, tenant: &TenantId, what: Revoked) -> Result<(), SessionError> {
        let store = self.inner.tenants.store(tenant).await?;
        let revocation = Revocation { what, at_ns: clock::wall_ns() };
        store.revoke(&revocation).await.map_err(store_error)?;
        self.inner.tenants.revoked(tenant)?.add(revocation);
        Ok(())
    }

    /// Whether a token of the caller is revoked. The first token of a tenant opens its
    /// store, for the list is kept there.
    pub async fn is_revoked(&self, caller: &Caller, token: TokenFacts<'_>) -> Result<bool, SessionError> {
        self.inner.tenants.store(&caller.tenant).await?;
        Ok(self.inner.tenants.revoked(&caller.tenant)?.has(&caller.owner, token))
    }
}

/// By how much a tenant would grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    pub(super) sandboxes: u64,
    pub(super) entries: u64,
    pub(super) bytes: u64,
}

impl Inner {
    /// Reads the lists of revoked tokens, and what tenants hold, again and again.
    pub(super) async fn refresh_tenants(&self) {
        let mut tick = tokio::time::interval(REFRESH);
        loop {
            tick.tick().await;
            self.tenants.refresh().await;
        }
    }

    /// Refuses what would make a tenant larger that is at its limit.
    pub(super) fn check_tenant_quota(&self, tenant: &TenantId, grows: Growth) -> Result<(), SessionError> {
        let (quota, usage) = (self.settings.tenant_quota, self.tenants.usage(tenant));
        for (what, limit, used, grows) in [
            ("tenant sandboxes", quota.sandboxes, usage.sandboxes, grows.sandboxes),
            ("tenant entries", quota.entries, usage.entries, grows.entries),
            ("tenant bytes", quota.bytes, usage.bytes, grows.bytes),
        ] {
            if let Some(limit) = limit
                && grows > 0
                && used.saturating_add(grows) > limit
            {
                return Err(SessionError::NoSpace { what, limit, output: Box::default() });
            }
        }
        Ok(())
    }
}
