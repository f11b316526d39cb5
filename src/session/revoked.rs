//! Which tokens of a tenant are no longer accepted. Kept in its database; each replica
//! holds the list in memory and reads it again from time to time.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock};

use crate::ids::Owner;
use crate::store::{Revocation, Revoked, Store, StoreResult};

const NS: i64 = 1_000_000_000;

/// The list of one tenant.
#[derive(Default)]
pub(crate) struct RevokedTokens(RwLock<Lists>);

#[derive(Default)]
struct Lists {
    ids: HashSet<String>,
    /// Owner → wall ns up to which its tokens are void.
    owners: HashMap<Owner, i64>,
}

/// What a token says of itself, as far as revocation goes.
#[derive(Clone, Copy, Debug)]
pub struct TokenFacts<'a> {
    /// Its id, if it has one.
    pub jti: Option<&'a str>,
    /// When it was made, seconds since the Unix epoch.
    pub issued_at: Option<f64>,
}

impl RevokedTokens {
    /// Reads the list from the store.
    pub(crate) async fn refresh(&self, store: &dyn Store) -> StoreResult<()> {
        let mut lists = Lists::default();
        for revocation in store.revocations().await? {
            lists.add(revocation);
        }
        // One that was added here meanwhile is in the store and comes with the next read,
        // but must not be forgotten until then.
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        lists.ids.extend(now.ids.drain());
        for (owner, at) in now.owners.drain() {
            lists.add(Revocation { what: Revoked::Sub(owner), at_ns: at });
        }
        *now = lists;
        Ok(())
    }

    /// Adds one at once.
    pub(crate) fn add(&self, revocation: Revocation) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).add(revocation);
    }

    /// Whether a token of `owner` is revoked. One that does not say when it was made counts
    /// as older than any revocation of its owner.
    pub(crate) fn has(&self, owner: &Owner, token: TokenFacts<'_>) -> bool {
        let lists = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let by_id = token.jti.is_some_and(|jti| lists.ids.contains(jti));
        let by_owner = lists.owners.get(owner).is_some_and(|at| {
            #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
            let at = (at / NS) as f64;
            token.issued_at.is_none_or(|issued| issued <= at)
        });
        by_id || by_owner
    }
}

impl Lists {
    fn add(&mut self, revocation: Revocation) {
        match revocation.what {
            Revoked::Jti(id) => {
                self.ids.insert(id);
            }
            Revoked::Sub(owner) => {
                let at = self.owners.entry(owner).or_insert(revocation.at_ns);
                *at = (*at).max(revocation.at_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner(name.into())
    }

    #[test]
    fn a_token_is_revoked_by_its_id_or_by_its_owner_and_age() {
        let revoked = RevokedTokens::default();
        revoked.add(Revocation { what: Revoked::Jti("x".into()), at_ns: 0 });
        revoked.add(Revocation { what: Revoked::Sub(owner("a")), at_ns: 10 * NS + 5 });
        let has = |name: &str, jti, issued_at| revoked.has(&owner(name), TokenFacts { jti, issued_at });
        assert!(has("b", Some("x"), Some(99.0)));
        assert!(!has("b", Some("y"), Some(1.0)));
        assert!(has("a", Some("y"), Some(10.0)), "made in the second of the revocation");
        assert!(!has("a", Some("y"), Some(11.0)));
        assert!(has("a", None, None));
        assert!(!has("b", None, None));
    }
}
