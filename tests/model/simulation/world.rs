//! What all parts of one run share: the seed's choices, the one order of events, what
//! went wrong, and the store and the lease table that no fault destroys.

use std::collections::BTreeMap;
use std::fmt::{Arguments, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlfs::clock::{self, Instant};
use sqlfs::ids::{Owner, SandboxId, TenantId};
use sqlfs::lease::keys::LeaseKey;
use sqlfs::lease::table::Table;
use sqlfs::lease::verbs::{Incarnation, Ms, Notice};
use tokio::sync::mpsc::UnboundedSender;

use super::gate::Gate;
use super::plan::{Plan, Rng, TERMS};
use crate::memory_store::MemoryStore;

/// One run.
pub struct World {
    pub plan: Plan,
    pub store: MemoryStore,
    pub table: Mutex<Table<LeaseKey>>,
    /// Who is told of wake-ups.
    pub listeners: Mutex<BTreeMap<Incarnation, UnboundedSender<Notice<LeaseKey>>>>,
    /// Every script that ran with the right to write.
    pub runs: Mutex<Vec<Run>>,
    pub sandboxes: Mutex<Vec<SandboxId>>,
    rng: Mutex<Rng>,
    log: Mutex<Log>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    breach: Mutex<Option<String>>,
    faults_on: AtomicBool,
    events: AtomicU64,
    origin: Instant,
}

/// A script that ran with the right to write; times in ms of the run.
pub struct Run {
    pub sandbox: usize,
    pub id: u32,
    pub began: Ms,
    pub ended: Option<Ms>,
    pub gate: Arc<Gate>,
}

/// FNV-1a over all lines, and the lines themselves if they are wanted.
struct Log {
    hash: u64,
    line: String,
    shown: bool,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn tenant() -> TenantId {
    TenantId("t".into())
}

pub fn owner() -> Owner {
    Owner("o".into())
}

impl World {
    pub fn new(plan: Plan, rng: Rng, shown: bool) -> Arc<Self> {
        Arc::new(Self {
            plan,
            store: MemoryStore::default(),
            table: Mutex::new(Table::new(TERMS)),
            listeners: Mutex::default(),
            runs: Mutex::default(),
            sandboxes: Mutex::default(),
            rng: Mutex::new(rng),
            log: Mutex::new(Log { hash: 0xcbf2_9ce4_8422_2325, line: String::new(), shown }),
            counts: Mutex::default(),
            breach: Mutex::default(),
            faults_on: AtomicBool::new(false),
            events: AtomicU64::new(0),
            origin: clock::now(),
        })
    }

    pub fn now(&self) -> Ms {
        (clock::now() - self.origin).as_millis() as Ms
    }

    /// Numbers what clients see, in the order in which it happens.
    pub fn event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::Relaxed)
    }

    pub fn note(&self, text: Arguments<'_>) {
        let now = self.now();
        let mut log = lock(&self.log);
        let log = &mut *log;
        log.line.clear();
        let _ = write!(log.line, "{now:6} {text}");
        for byte in log.line.bytes() {
            log.hash = (log.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if log.shown {
            println!("{}", log.line);
        }
    }

    pub fn hash(&self) -> u64 {
        lock(&self.log).hash
    }

    /// Counts a fault or an outcome by name.
    pub fn count(&self, what: &'static str) {
        *lock(&self.counts).entry(what).or_default() += 1;
    }

    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.counts).clone()
    }

    /// A guarantee that does not hold; the first one is told.
    pub fn breach(&self, text: String) {
        self.note(format_args!("BREACH {text}"));
        lock(&self.breach).get_or_insert(text);
    }

    pub fn breached(&self) -> Option<String> {
        lock(&self.breach).clone()
    }

    pub fn switch_faults(&self, on: bool) {
        self.faults_on.store(on, Ordering::Relaxed);
    }

    pub fn faults_on(&self) -> bool {
        self.faults_on.load(Ordering::Relaxed)
    }

    pub fn below(&self, n: u64) -> u64 {
        lock(&self.rng).below(n)
    }

    pub fn between(&self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    /// Whether a fault of this rate, in thousandths, strikes now.
    pub fn strikes(&self, per_mille: u64) -> bool {
        self.faults_on() && per_mille > 0 && self.below(1000) < per_mille
    }

    /// How long a message is on its way.
    pub async fn travel(&self) {
        let ms = match self.below(20) {
            0 => self.between(3, 60),
            1..=9 => self.below(3),
            _ => 0,
        };
        pause(ms).await;
    }

    /// Where a sandbox stands in this run's list.
    pub fn index(&self, id: SandboxId) -> usize {
        lock(&self.sandboxes).iter().position(|known| *known == id).unwrap_or(usize::MAX)
    }

    /// That the lease of a sandbox is this replica's at this instant, in the lease store
    /// itself: without a flush it is, whenever the replica believes so. A forced deletion
    /// ends the lease of what is gone already: nothing can commit there.
    pub fn must_hold(&self, me: Incarnation, gate: &Gate, sandbox: SandboxId, what: &str) {
        let gone = self.store.tables().sandboxes.get(&sandbox).is_some_and(|it| it.deleted_at_ns.is_some());
        if self.plan.flushes || gone {
            return;
        }
        let key = LeaseKey { tenant: tenant(), sandbox };
        let holder = lock(&self.table).claim(self.now(), &key);
        if holder.is_none_or(|claim| claim.owner != me) {
            let (name, index) = (gate.name(), self.index(sandbox));
            self.breach(format!("{what} on {name} in sandbox {index} under a lease that is not held"));
        }
    }

    /// That no script of this replica runs.
    pub fn must_rest(&self, gate: &Arc<Gate>) {
        let runs = lock(&self.runs);
        if let Some(run) = runs.iter().find(|run| run.ended.is_none() && Arc::ptr_eq(&run.gate, gate)) {
            self.breach(format!("script {} runs on {}, which has ended", run.id, gate.name()));
        }
    }
}

pub async fn pause(ms: Ms) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}
