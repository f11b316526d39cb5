//! Both stores behind one face, each with its own time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use crate::support::redis::shared_url as redis_url;
use sqlfs::ids::{SandboxId, TenantId};
use sqlfs::lease::keys::{LeaseKey, alive};
use sqlfs::lease::memory::Memory;
use sqlfs::lease::redis::RedisLeases;
use sqlfs::lease::store::LeaseStore;
use sqlfs::lease::verbs::{Answer, Claim, Hint, Holding, Incarnation, Ms, Notice, Parting, Terms, Verb};
use sqlfs::remote::RedisServer;
use tokio::sync::{RwLock, RwLockReadGuard, mpsc};

// Long, so that no test hangs on how fast it runs: time passes by `Rig::pass` alone.
pub const LEASE: Ms = 60_000;
pub const MARK: Ms = 40_000;
const TERMS: Terms = Terms { lease: LEASE, mark: MARK };

pub struct Rig {
    pub key: LeaseKey,
    pub store: Arc<dyn LeaseStore>,
    kind: Kind,
}

enum Kind {
    Memory {
        store: Arc<Memory>,
        now: Arc<AtomicU64>,
    },
    Redis(
        redis::aio::MultiplexedConnection,
        #[expect(dead_code, reason = "held")] RwLockReadGuard<'static, ()>,
    ),
}

/// Taken for writing by the test that makes the server forget all scripts.
pub static SCRIPTS: RwLock<()> = RwLock::const_new(());

/// Brings every expiry of the keys nearer, as if time had passed.
const SHIFT: &str = "
for _, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, left - ARGV[1]) end
end
local marks = redis.call('HGETALL', KEYS[2])
for i = 1, #marks, 2 do
  local place, till, number = string.match(marks[i + 1], '^(%d+) (%d+) (%d+)$')
  till = string.format('%.0f', till - ARGV[1])
  redis.call('HSET', KEYS[2], marks[i], place .. ' ' .. till .. ' ' .. number)
end";

/// What was saved names another run than the one that reads it.
const RESTART: &str = "
local value = redis.call('GET', KEYS[1])
local state = value and string.match(value, '^= (%x+) %x+$')
if state then redis.call('SET', KEYS[1], '= ' .. state .. ' ' .. string.rep('0', 40)) end";

/// Runs a test on each store, on a sandbox of its own.
pub async fn each_store(test: impl AsyncFn(Rig)) {
    test(memory()).await;
    test(on_redis().await).await;
}

/// Claim number `number` of owner `owner`, the same within one test and no other.
pub fn claim(owner: u128, number: u64) -> Claim {
    thread_local! {
        static TEST: u128 = uuid::Uuid::new_v4().as_u128() << 8;
    }
    Claim { owner: Incarnation(TEST.with(|test| test + owner)), number }
}

pub fn fresh_key() -> LeaseKey {
    LeaseKey { tenant: TenantId("lease{test}".into()), sandbox: SandboxId::random() }
}

fn memory() -> Rig {
    // Not 0: a server's clock does not start with the test.
    let now = Arc::new(AtomicU64::new(1 << 40));
    let time = now.clone();
    let store = Arc::new(Memory::with_time(TERMS, Box::new(move || time.load(Ordering::SeqCst))));
    Rig { key: fresh_key(), store: store.clone(), kind: Kind::Memory { store, now } }
}

pub async fn on_redis() -> Rig {
    on_redis_with(TERMS).await
}

pub async fn on_redis_with(terms: Terms) -> Rig {
    connect(terms, SCRIPTS.read().await).await
}

pub async fn on_redis_while(scripts: RwLockReadGuard<'static, ()>) -> Rig {
    connect(TERMS, scripts).await
}

async fn connect(terms: Terms, scripts: RwLockReadGuard<'static, ()>) -> Rig {
    let server = RedisServer::new("REDIS_URL", &redis_url(), None).expect("a Redis URL");
    let store = RedisLeases::new(&server, terms, Duration::from_secs(10)).expect("a store");
    let client = redis::Client::open(redis_url()).expect("a Redis URL");
    let connection = client.get_multiplexed_async_connection().await.expect("a Redis that runs");
    Rig { key: fresh_key(), store: Arc::new(store), kind: Kind::Redis(connection, scripts) }
}

impl Rig {
    pub async fn call(&self, verb: &Verb<LeaseKey>) -> Answer {
        self.store.call(verb).await.expect("the store answers")
    }

    pub async fn acquire(&self, claim: Claim, floor: i64) -> Answer {
        self.call(&Verb::Acquire { key: self.key.clone(), claim, floor, evict: None }).await
    }

    pub async fn evict(&self, claim: Claim, evict: Claim) -> Answer {
        let evict = Some(evict);
        self.call(&Verb::Acquire { key: self.key.clone(), claim, floor: 0, evict }).await
    }

    pub async fn release(&self, claim: Claim) -> Answer {
        self.part(claim, Parting::default()).await
    }

    pub async fn part(&self, claim: Claim, parting: Parting) -> Answer {
        self.call(&Verb::Release { key: self.key.clone(), claim, parting }).await
    }

    pub async fn hint(&self) -> Option<Hint> {
        match self.call(&Verb::Hint(self.key.clone())).await {
            Answer::Hint(hint) => hint,
            other => panic!("no hint: {other:?}"),
        }
    }

    pub async fn void(&self, block: Ms) {
        let void = Verb::Void { key: self.key.clone(), block };
        assert_eq!(self.call(&void).await, Answer::Voided);
    }

    pub async fn end(&self) {
        assert_eq!(self.call(&Verb::End(self.key.clone())).await, Answer::Ended);
    }

    /// The server starts again with what it had saved.
    pub async fn restart(&self) {
        match &self.kind {
            Kind::Memory { store, .. } => store.restart(),
            Kind::Redis(..) => {
                let mut restart = redis::cmd("EVAL");
                self.redis(restart.arg(RESTART).arg(1).arg(self.key.ver())).await;
            }
        }
    }

    pub async fn raise(&self, claim: Claim, floor: i64) -> Answer {
        self.call(&Verb::Raise { key: self.key.clone(), claim, floor }).await
    }

    pub async fn renew(&self, claim: Claim, fence: i64) -> Answer {
        self.call(&Verb::Renew(vec![Holding { key: self.key.clone(), claim, fence }])).await
    }

    pub async fn heartbeat(&self, claim: Claim, fence: i64) -> Answer {
        let leases = vec![Holding { key: self.key.clone(), claim, fence }];
        self.call(&Verb::Heartbeat { owner: claim.owner, leases }).await
    }

    pub async fn beat(&self, owner: Incarnation) {
        self.call(&Verb::Heartbeat { owner, leases: Vec::new() }).await;
    }

    pub async fn alive(&self, owner: Incarnation) -> Answer {
        self.call(&Verb::Alive(owner)).await
    }

    /// Lets time pass.
    pub async fn pass(&self, ms: Ms) {
        match &self.kind {
            Kind::Memory { now, .. } => {
                now.fetch_add(ms, Ordering::SeqCst);
            }
            Kind::Redis(..) => {
                let mut shift = redis::cmd("EVAL");
                shift.arg(SHIFT).arg(6).arg(self.key.lock()).arg(self.key.wait()).arg(self.key.ver());
                for owner in 1..4 {
                    shift.arg(alive(claim(owner, 0).owner));
                }
                self.redis(shift.arg(ms)).await;
            }
        }
    }

    /// The store forgets the key and the owners of this test.
    pub async fn flush(&self) {
        match &self.kind {
            Kind::Memory { store, .. } => store.flush(),
            Kind::Redis(..) => {
                let mut keys = vec![self.key.lock(), self.key.fence(), self.key.wait(), self.key.ver()];
                keys.extend((1..4).map(|owner| alive(claim(owner, 0).owner)));
                self.redis(redis::cmd("DEL").arg(keys)).await;
            }
        }
    }

    /// What a step of the server's clock by an hour does to the lease.
    pub async fn step_clock_forward(&self) {
        match &self.kind {
            Kind::Memory { .. } => self.pass(3_600_000).await,
            Kind::Redis(..) => self.redis(redis::cmd("PEXPIRE").arg(self.key.lock()).arg(0)).await,
        }
    }

    /// The same, backward. The clock of the store in the process cannot step back.
    pub async fn step_clock_back(&self) {
        if let Kind::Redis(..) = &self.kind {
            self.redis(redis::cmd("PEXPIRE").arg(self.key.lock()).arg(3_600_000)).await;
        }
    }

    /// Sends a command of the test's own to Redis.
    pub async fn redis(&self, command: &redis::Cmd) {
        let Kind::Redis(connection, _) = &self.kind else { panic!("not on Redis") };
        let done: redis::RedisResult<redis::Value> = command.query_async(&mut connection.clone()).await;
        done.expect("the test's own command");
    }

    /// Wake-ups of `owner` from now on.
    pub async fn listen(&self, owner: Incarnation) -> mpsc::UnboundedReceiver<Notice<LeaseKey>> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let store = self.store.clone();
        tokio::spawn(async move {
            store.listen(owner, &move |notice| drop(sender.send(notice))).await;
        });
        // Listening has begun when a wake-up comes through.
        let probe = fresh_key();
        let (holder, waiter) = (claim(90, 0), Claim { owner, number: 1 << 40 });
        let mut number = 0;
        loop {
            number += 1;
            let holder = Claim { number, ..holder };
            self.call(&Verb::Acquire { key: probe.clone(), claim: holder, floor: 0, evict: None }).await;
            self.call(&Verb::Acquire { key: probe.clone(), claim: waiter, floor: 0, evict: None }).await;
            let parting = Parting::default();
            self.call(&Verb::Release { key: probe.clone(), claim: holder, parting }).await;
            let woken = tokio::time::timeout(Duration::from_millis(50), receiver.recv()).await;
            self.call(&Verb::Release { key: probe.clone(), claim: waiter, parting }).await;
            if woken.is_ok() {
                break;
            }
        }
        // Earlier probes may have been heard late.
        while tokio::time::timeout(Duration::from_millis(50), receiver.recv()).await.is_ok() {}
        receiver
    }
}
