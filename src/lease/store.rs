//! The door to a lease store.

use async_trait::async_trait;

use crate::lease::keys::LeaseKey;
use crate::lease::verbs::{Answer, CallError, Incarnation, Notice, Verb};

/// Where the leases of a fleet are kept. What each verb means is written down in
/// `table.rs`, which every store behaves like.
#[async_trait]
pub trait LeaseStore: Send + Sync + 'static {
    /// Makes one call. Returns within a short time of the store's own, whatever
    /// happens to the server: an answer, or an error. Calls may run side by side;
    /// `Renew` and `Heartbeat` are never held up by the others.
    async fn call(&self, verb: &Verb<LeaseKey>) -> Result<Answer, CallError>;

    /// Calls `heard` with each notice for `me`. Does not return.
    async fn listen(&self, me: Incarnation, heard: &(dyn Fn(Notice<LeaseKey>) + Send + Sync));
}
