//! Calls that run in this process, so that a cancellation finds its own.
//!
//! Ids of requests are unique within one client only. What tells clients of one owner
//! apart is the session id that the handshake gave them; the server keeps nothing under
//! it. A cancellation that comes to another replica finds nothing; the client that closes
//! its connection always ends its call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::ids::Caller;

/// A client's call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallId {
    tenant: String,
    owner: String,
    session: String,
    request: String,
}

impl CallId {
    /// `request` is the JSON text of the request's id.
    #[must_use]
    pub fn new(caller: &Caller, session: &str, request: String) -> Self {
        let (tenant, owner) = (caller.tenant.0.to_string(), caller.owner.0.to_string());
        Self { tenant, owner, session: session.to_owned(), request }
    }
}

/// All calls of this process that can be cancelled.
#[derive(Clone, Debug, Default)]
pub struct Running(Arc<Mutex<HashMap<CallId, CancellationToken>>>);

/// Takes the call out again when it is dropped.
#[derive(Debug)]
pub struct Entry {
    running: Running,
    id: CallId,
    token: CancellationToken,
}

impl Running {
    /// Enters a call. `None` when its client has one of the same id: neither could be
    /// told from the other.
    #[must_use]
    pub fn enter(&self, id: CallId) -> Option<Entry> {
        let token = CancellationToken::new();
        let mut calls = self.calls();
        if calls.contains_key(&id) {
            return None;
        }
        calls.insert(id.clone(), token.clone());
        drop(calls);
        Some(Entry { running: self.clone(), id, token })
    }

    /// Cancels a call; whether it was there.
    pub fn cancel(&self, id: &CallId) -> bool {
        let token = self.calls().get(id).cloned();
        token.inspect(CancellationToken::cancel).is_some()
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<CallId, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// Cancelled when the client says so.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.running.calls().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Owner, TenantId};

    #[test]
    fn a_cancellation_finds_its_own_call_only() {
        let caller = |owner: &str| Caller { tenant: TenantId("t".into()), owner: Owner(owner.into()) };
        let id = |owner: &str, session: &str, request: &str| {
            CallId::new(&caller(owner), session, request.to_owned())
        };
        let running = Running::default();
        let entry = running.enter(id("a", "s", "1")).unwrap();
        assert!(running.enter(id("a", "s", "1")).is_none());
        for other in [id("b", "s", "1"), id("a", "x", "1"), id("a", "s", "\"1\""), id("a", "s", "2")] {
            assert!(!running.cancel(&other), "{other:?}");
        }
        assert!(!entry.token().is_cancelled());
        assert!(running.cancel(&id("a", "s", "1")));
        assert!(entry.token().is_cancelled());
        drop(entry);
        assert!(!running.cancel(&id("a", "s", "1")));
    }
}
