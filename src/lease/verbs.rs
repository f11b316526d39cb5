//! What a replica asks of the lease store and what the store answers: plain values,
//! shared by the protocol, the stores, the model and the tests.

use std::fmt;

/// Milliseconds: a length, or an instant counted from an origin of the caller's choice.
pub type Ms = u64;

/// One run of one replica's process, drawn at random when it starts. A restarted
/// replica is another incarnation: it owns nothing of what the one before it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation(pub u128);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Names one acquisition of a lease. Chosen by the asker before it asks, so that the
/// same question may be asked again when its answer was lost; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub struct Claim {
    /// Who asks.
    pub owner: Incarnation,
    /// Counts the acquisitions of that incarnation.
    pub number: u64,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.owner, self.number)
    }
}

/// Whose death frees the lease of a replica that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub enum Mode {
    /// Each lease expires by itself and is renewed by itself.
    Lease,
    /// A lease stands as long as its owner's liveness key; one heartbeat for all.
    Preemptible,
}

/// A lease as its holder describes it to the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub struct Holding<K> {
    /// What is leased.
    pub key: K,
    /// By which acquisition.
    pub claim: Claim,
    /// Its fencing token.
    pub fence: i64,
}

/// A call to the store. Each may be repeated, duplicated or arrive late without harm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub enum Verb<K> {
    /// Take the lease if nobody holds it and nobody waits for longer. The lease then
    /// expires after the lease time. Held by this very claim: the lease time begins
    /// anew. Otherwise a waiting mark is left, or kept fresh.
    Acquire {
        /// What to lease.
        key: K,
        /// The acquisition.
        claim: Claim,
        /// The fencing token is to be above it.
        floor: i64,
        /// A confirmed claim whose owner was seen dead: it counts as nobody's, if it
        /// is still the one that holds the lease.
        evict: Option<Claim>,
    },
    /// A new fencing token, above the floor, for a lease that this claim holds.
    Raise {
        /// What is leased.
        key: K,
        /// The acquisition that holds it.
        claim: Claim,
        /// The new token is to be above it.
        floor: i64,
    },
    /// The lease time of each begins anew, where the claim still holds it.
    Renew(Vec<Holding<K>>),
    /// The liveness time of `owner` begins anew; then each lease that its claim still
    /// holds is confirmed: it no longer expires by itself.
    Heartbeat {
        /// Who lives.
        owner: Incarnation,
        /// What it holds.
        leases: Vec<Holding<K>>,
    },
    /// Whether `owner` has sent a heartbeat within the liveness time.
    Alive(
        /// Of whom.
        Incarnation,
    ),
    /// The claim does not hold the lease any more and its owner does not wait for it.
    /// If the lease is free then, who has waited longest is woken.
    Release {
        /// What was leased or waited for.
        key: K,
        /// The acquisition.
        claim: Claim,
    },
}

/// The answer to a [`Verb`] of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub enum Answer {
    /// The claim holds the lease.
    Acquired {
        /// With this fencing token.
        fence: i64,
    },
    /// Another holds it, or has waited longer.
    Busy {
        /// The time after which it expires by itself, if it does.
        left: Option<Ms>,
        /// The confirmed claim that holds it: its owner's liveness decides.
        confirmed: Option<Claim>,
    },
    /// The claim holds the lease with this new token; `None`: it does not hold it.
    Raised(Option<i64>),
    /// Which leases their claims still hold, in the order asked.
    Kept(Vec<bool>),
    /// Whether the owner lives.
    Alive(bool),
    /// The claim does not hold the lease.
    Released,
}

/// A call that brought no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub enum CallError {
    /// It was never sent.
    #[error("the lease store is out of reach")]
    NotSent,
    /// It may have been carried out, or may still be.
    #[error("the lease store did not answer")]
    Unknown,
}

/// The times that all replicas of a fleet agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// How long a lease stands without being renewed or confirmed, and a replica
    /// counts as alive without a heartbeat.
    pub lease: Ms,
    /// How long a waiting mark stands.
    pub mark: Ms,
}
