//! Redis servers, for leases and for caches: where they are, connections that mend
//! themselves, and when to leave a server alone.

mod breaker;
mod line;
mod server;

pub(crate) use line::{Line, Role};
pub use server::RedisServer;
pub(crate) use server::explain;

/// A call that brought no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub enum CallError {
    /// It was never sent.
    #[error("the server is out of reach")]
    NotSent,
    /// It may have been carried out, or may still be.
    #[error("the server did not answer")]
    Unknown,
}
