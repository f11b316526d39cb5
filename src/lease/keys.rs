//! What a lease is on, and the names of its keys in Redis.
//!
//! The names of one sandbox share the hash tag `{sandbox}`, so that in a cluster they
//! lie on one node and one script may touch them all. For that the tenant's name must
//! not hold a brace of its own: braces, colons and `%` in it are written as `%xx`.

use crate::ids::{SandboxId, TenantId};
use crate::lease::verbs::{Incarnation, Notice};

/// What a lease is on: one sandbox of one tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaseKey {
    /// The tenant.
    pub tenant: TenantId,
    /// Its sandbox.
    pub sandbox: SandboxId,
}

impl LeaseKey {
    /// Who holds the lease: `vfs:{tenant}:lock:{sandbox}`.
    #[must_use]
    pub fn lock(&self) -> String {
        self.name("lock")
    }

    /// The counter of fencing tokens.
    #[must_use]
    pub fn fence(&self) -> String {
        self.name("fence")
    }

    /// The waiting marks.
    #[must_use]
    pub fn wait(&self) -> String {
        self.name("wait")
    }

    /// The version hint.
    #[must_use]
    pub fn ver(&self) -> String {
        self.name("ver")
    }

    fn name(&self, what: &str) -> String {
        format!("vfs:{}:{what}:{{{}}}", self.tenant.in_keys(), self.sandbox)
    }

    /// The text that a wake-up carries.
    #[must_use]
    pub fn to_wire(&self) -> String {
        format!("{}/{}", self.sandbox, self.tenant)
    }

    /// The key that a wake-up names; `None` for other text.
    #[must_use]
    pub fn from_wire(text: &str) -> Option<Self> {
        let (sandbox, tenant) = text.split_once('/')?;
        Some(Self { tenant: TenantId(tenant.into()), sandbox: sandbox.parse().ok()? })
    }
}

/// The text that tells a holder that the sandbox of `key` is gone.
#[must_use]
pub fn gone_to_wire(key: &LeaseKey) -> String {
    format!("{GONE}{}", key.to_wire())
}

/// What a text on a replica's channel says; `None` for other text.
#[must_use]
pub fn notice(text: &str) -> Option<Notice<LeaseKey>> {
    match text.strip_prefix(GONE) {
        Some(key) => LeaseKey::from_wire(key).map(Notice::Gone),
        None => LeaseKey::from_wire(text).map(Notice::Free),
    }
}

const GONE: char = '-';

/// The key that says that a replica lives.
#[must_use]
pub fn alive(owner: Incarnation) -> String {
    format!("vfs:alive:{owner}")
}

/// The channel on which a replica is woken; an incarnation is appended.
pub const WAKE_CHANNEL: &str = "vfs:wake:";

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tenant: &str) -> LeaseKey {
        LeaseKey { tenant: TenantId(tenant.into()), sandbox: SandboxId::random() }
    }

    #[test]
    fn the_first_brace_opens_the_sandbox_tag_whatever_the_tenant_is_called() {
        for tenant in ["default", "a{b}c", "}{", "a:b", ""] {
            let key = key(tenant);
            for name in [key.lock(), key.fence(), key.wait(), key.ver()] {
                let open = name.find('{').expect("a tag");
                assert_eq!(name[open..], format!("{{{}}}", key.sandbox));
            }
        }
        assert_ne!(key("a:b").lock().split(":lock").next(), key("a%3ab").lock().split(":lock").next());
    }

    #[test]
    fn a_wake_up_names_its_key() {
        for tenant in ["default", "a/b", ""] {
            let key = key(tenant);
            assert_eq!(notice(&key.to_wire()), Some(Notice::Free(key.clone())));
            assert_eq!(notice(&gone_to_wire(&key)), Some(Notice::Gone(key)));
        }
        for garbage in ["", "/", "x/default", "default", "-", "-/", "--/"] {
            assert_eq!(notice(garbage), None);
        }
    }
}
