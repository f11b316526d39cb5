//! What a seed decides before its run begins.

use sqlfs::lease::protocol::{Config, Rule};
use sqlfs::lease::verbs::{Mode, Ms, Terms};
use sqlfs::session::WhenDown;

/// As app.rs derives them from a lease of 2 s.
pub const LEASE: Ms = 2_000;
pub const TERMS: Terms = Terms { lease: LEASE, mark: 400 };
pub const LEASE_CALL: Ms = 400;

/// A random number generator: SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x5157_4c46_5300_0000)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// A rule that a twin switches off, to show that the checks notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// The store commits whatever head was seen.
    NoCompareAndSet,
    /// A commit that was not found is not voided.
    NoVoiding,
    /// Freshness is answered from a cache.
    StaleProbe,
    /// Scripts start and commits begin without a look at the lease.
    NoEnter,
    /// The kill-switch acts late after a pause.
    NoKillSwitch,
}

/// See the module. Which faults a run can have is drawn too: a run with all of them
/// rarely comes far enough for the rare ones to matter.
#[derive(Clone, Debug)]
pub struct Plan {
    pub mutation: Option<Mutation>,
    pub replicas: usize,
    pub sandboxes: usize,
    pub clients: usize,
    /// Of each client.
    pub execs: usize,
    pub mode: Mode,
    pub when_down: WhenDown,
    /// Thousandths of lease calls that meet a fault, of wake-ups that are late or lost.
    pub lease_faults: u64,
    /// Thousandths of store calls that meet a fault.
    pub store_faults: u64,
    /// Thousandths of execs whose client hangs up.
    pub hang_ups: u64,
    /// The last sandbox is deleted while it is used.
    pub deletes: bool,
    pub crashes: bool,
    /// Replicas that end in order and start again.
    pub restarts: bool,
    pub pauses: bool,
    pub flushes: bool,
    /// Times in which a replica does not reach the store.
    pub outages: bool,
    /// Times in which a replica does not reach the lease store.
    pub partitions: bool,
}

impl Plan {
    pub fn draw(rng: &mut Rng, mutation: Option<Mutation>) -> Self {
        let faulty = rng.below(8) > 0;
        let replicas = 2 + rng.below(2) as usize;
        let clients = 2 + rng.below(4) as usize;
        let mut some = |rate: u64| if faulty && rng.coin() { 1 + rng.below(rate) } else { 0 };
        let (lease_faults, store_faults, hang_ups) = (some(150), some(150), some(60));
        let (crashes, restarts, pauses) = (some(1) > 0, some(1) > 0, some(1) > 0);
        let (outages, partitions) = (some(1) > 0, some(1) > 0);
        let sandboxes = 1 + usize::from(rng.below(3) == 0);
        let deletes = sandboxes > 1 && rng.coin();
        let flushes = faulty && rng.below(4) == 0;
        Self {
            mutation,
            replicas,
            sandboxes,
            clients,
            execs: (10 + rng.below(31) as usize).div_ceil(clients),
            mode: if rng.coin() { Mode::Lease } else { Mode::Preemptible },
            when_down: if rng.coin() { WhenDown::Refuse } else { WhenDown::Degrade },
            lease_faults,
            store_faults,
            hang_ups,
            deletes,
            crashes,
            restarts,
            pauses,
            flushes,
            outages,
            partitions,
        }
    }

    /// Nothing happens but waiting for each other.
    pub fn is_quiet(&self) -> bool {
        self.lease_faults + self.store_faults + self.hang_ups == 0
            && !(self.deletes
                || self.crashes
                || self.restarts
                || self.pauses
                || self.flushes
                || self.outages
                || self.partitions)
    }

    /// Whether at most one script of a sandbox may run at a time: the lease store keeps
    /// its memory, and nobody goes on without it.
    pub fn one_at_a_time(&self) -> bool {
        self.when_down == WhenDown::Refuse && !self.flushes
    }

    pub fn lease_config(&self) -> Config {
        Config { mode: self.mode, lease: LEASE, renew: 600, margin: 300, poll: 100, retry: 20 }
    }

    pub fn without(&self) -> Option<Rule> {
        (self.mutation == Some(Mutation::NoEnter)).then_some(Rule::PermissionNeedsLease)
    }
}
