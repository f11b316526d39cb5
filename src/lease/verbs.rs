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

/// A state of a sandbox as a version hint names it: equal hints mean the same state. The
/// store keeps it and does not look into it.
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hint(pub u128);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What a holder says of the newest state when it gives the lease back.
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Parting {
    /// The state that it committed or saw, if it knows that to be the newest.
    pub hint: Option<Hint>,
    /// Whether it may have committed.
    pub wrote: bool,
}

/// What a replica hears from the store without having asked. It may come late, twice or
/// never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Notice<K> {
    /// The lease is free, and the replica has waited longest for it.
    Free(K),
    /// What the replica held the lease of is gone.
    Gone(K),
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
        /// The newest state. If the claim holds the lease and the hint is pending under
        /// it, the hint is set, or dropped if there is none. If the claim does not hold
        /// the lease any more and may have committed, the hint is dropped, pending or not.
        parting: Parting,
    },
    /// The newest state, if nobody holds the lease and who held it last knew.
    Hint(
        /// Of what.
        K,
    ),
    /// There is no hint; and none is given or set for a while.
    Void {
        /// Of what.
        key: K,
        /// For how long; 0: until the next release.
        block: Ms,
    },
    /// What is leased is gone: whoever holds the lease loses it and is told.
    End(
        /// What is gone.
        K,
    ),
}

/// The answer to a [`Verb`] of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(debug_assertions, derive(serde::Serialize, serde::Deserialize))]
pub enum Answer {
    /// The claim holds the lease.
    Acquired {
        /// With this fencing token.
        fence: i64,
        /// The newest state, if it was known. From now on the hint is pending.
        hint: Option<Hint>,
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
    /// The newest state, if it is known.
    Hint(Option<Hint>),
    /// There is no hint.
    Voided,
    /// Nobody holds the lease.
    Ended,
}

impl<K> Verb<K> {
    /// For the metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Acquire { .. } => "acquire",
            Self::Raise { .. } => "raise",
            Self::Renew(_) => "renew",
            Self::Heartbeat { .. } => "heartbeat",
            Self::Alive(_) => "alive",
            Self::Release { .. } => "release",
            Self::Hint(_) => "hint",
            Self::Void { .. } => "void",
            Self::End(_) => "end",
        }
    }
}

pub use crate::remote::CallError;

/// The times that all replicas of a fleet agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// How long a lease stands without being renewed or confirmed, and a replica
    /// counts as alive without a heartbeat.
    pub lease: Ms,
    /// How long a waiting mark stands.
    pub mark: Ms,
}
