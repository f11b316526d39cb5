//! Faults. Each waits until it was seen to happen: a cut that cut nothing is no fault.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor, Row};

use super::record::{Outcome, Span, Work};
use super::rig::{Fleet, key};
use super::workload::{Begun, WRITES, World};
use crate::support::eventually;
use crate::support::proxy::{Action, Proxy};
use crate::support::random::Random;
use crate::support::redis::Redis;
use crate::support::weather::{Flow, Weather};

/// Within this a busy machine does what was asked for.
const SOON: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    KillMidScript,
    KillBeforeCommitAnswer,
    KillAfterCommitAnswer,
    StopBeyondLease,
    LeaseDeleted,
    LeaseStolen,
    RedisRestartedEmpty,
    RedisFlushed,
    RedisEvicting,
    GarbageInKey,
    BackendTerminated,
    CommitCutBefore,
    CommitCutAfter,
    CommitArrivesLate,
    CommitHeld,
    CommitAnswerHeld,
    PostgresCut,
    PostgresHung,
    PostgresRepliesLost,
    PostgresPartition,
    PostgresLatency,
    RedisCut,
    RedisRequestsLost,
    RedisRepliesLost,
    RedisHung,
    RedisPartition,
    RedisLatency,
}

/// Where faults happen.
pub struct Field {
    pub fleet: Fleet,
    /// The Redis of this fleet alone.
    pub redis: Redis,
    pub world: std::sync::Arc<World>,
    pub random: Random,
    pub lease: Duration,
    /// How often garbage was put: which comes next.
    pub turns: usize,
}

/// What is put into a key.
const GARBAGE: [&[&str]; 5] = [
    &["SET", "", "garbage"],
    &["SET", "", "99999999999999999999999"],
    &["SET", "", "-1"],
    &["RPUSH", "", "list"],
    &["HSET", "", "00000000000000000000000000000001", "1 99999999999999 1"],
];

const HUNG: Weather = Weather { up: Flow::Hold, down: Flow::Hold, latency: Duration::ZERO };

impl Field {
    fn replica(&mut self) -> usize {
        self.random.below(self.fleet.count() as u64) as usize
    }

    fn place(&mut self) -> usize {
        self.random.below(self.world.count() as u64) as usize
    }

    async fn pause(&mut self, from_ms: u64, to_ms: u64) {
        tokio::time::sleep(Duration::from_millis(from_ms + self.random.below(to_ms - from_ms))).await;
    }

    /// Does it, and returns when it was seen and is over.
    pub async fn inject(&mut self, fault: Fault) {
        let replica = self.replica();
        match fault {
            Fault::KillMidScript => loop {
                let begun = self.begun(replica, Duration::from_secs(30)).await;
                self.kill(replica).await;
                // Else the script was ended just before: not this fault.
                if begun.end().await == Outcome::Lost {
                    break;
                }
            },
            Fault::KillBeforeCommitAnswer | Fault::KillAfterCommitAnswer => {
                let before = fault == Fault::KillBeforeCommitAnswer;
                let action = if before { Action::HoldAnswer } else { Action::TellAnswer };
                let trap = self.fleet.store_proxy(replica).trap(WRITES.as_bytes(), action);
                trap.answered(SOON).await;
                self.kill(replica).await;
                trap.cut();
            }
            // Else the script had ended before the signal came: not this fault.
            Fault::StopBeyondLease => while !self.stop(replica).await {},
            Fault::LeaseDeleted | Fault::LeaseStolen => self.take_lease(fault == Fault::LeaseStolen).await,
            Fault::RedisRestartedEmpty => {
                self.redis.kill();
                self.pause(50, 800).await;
                self.redis.start_again().await;
            }
            Fault::RedisFlushed => {
                let mut redis = self.fleet.redis().await;
                eventually("there is something to forget", SOON, || async {
                    let size: i64 = redis::cmd("DBSIZE").query_async(&mut redis.clone()).await.expect("size");
                    (size > 0).then_some(())
                })
                .await;
                redis::cmd("FLUSHALL").exec_async(&mut redis).await.expect("flushed");
            }
            Fault::RedisEvicting => self.evict().await,
            Fault::GarbageInKey => self.garbage().await,
            Fault::BackendTerminated => self.terminate().await,
            Fault::CommitCutBefore | Fault::CommitCutAfter => {
                let before = fault == Fault::CommitCutBefore;
                let action = if before { Action::CutBefore } else { Action::CutAfter };
                self.fleet.store_proxy(replica).trap(WRITES.as_bytes(), action).sprung(SOON).await;
            }
            Fault::CommitArrivesLate => {
                let trap = self.fleet.store_proxy(replica).trap(WRITES.as_bytes(), Action::Hold);
                trap.sprung(SOON).await;
                trap.cut_client();
                self.pause(1, 200).await;
                trap.release(SOON).await;
            }
            Fault::CommitHeld | Fault::CommitAnswerHeld => {
                let answer = fault == Fault::CommitAnswerHeld;
                let action = if answer { Action::HoldAnswer } else { Action::Hold };
                let trap = self.fleet.store_proxy(replica).trap(WRITES.as_bytes(), action);
                if answer {
                    trap.answered(SOON).await;
                } else {
                    trap.sprung(SOON).await;
                }
                self.pause(10, 500).await;
                if self.random.below(2) == 0 { trap.let_go() } else { trap.cut() }
            }
            Fault::PostgresCut => cut(self.fleet.store_proxy(replica)).await,
            Fault::RedisCut => cut(self.fleet.redis_proxy(replica)).await,
            Fault::PostgresHung => {
                let cut_in_the_end = self.random.below(2) == 0;
                self.weather(Way::Postgres, replica, HUNG, (50, 600), cut_in_the_end).await;
            }
            Fault::PostgresRepliesLost => {
                let lost = Weather { down: Flow::Swallow, ..Weather::default() };
                self.weather(Way::Postgres, replica, lost, (10, 200), false).await;
            }
            Fault::PostgresLatency | Fault::RedisLatency => {
                let latency = Duration::from_millis(5 + self.random.below(60));
                let way = if fault == Fault::RedisLatency { Way::Redis } else { Way::Postgres };
                let slow = Weather { latency, ..Weather::default() };
                self.weather(way, replica, slow, (200, 600), false).await;
            }
            Fault::RedisRequestsLost => {
                let lost = Weather { up: Flow::Swallow, ..Weather::default() };
                self.weather(Way::Redis, replica, lost, (50, 600), false).await;
            }
            Fault::RedisRepliesLost => {
                let lost = Weather { down: Flow::Swallow, ..Weather::default() };
                self.weather(Way::Redis, replica, lost, (50, 600), false).await;
            }
            Fault::RedisHung => self.weather(Way::Redis, replica, HUNG, (50, 700), false).await,
            Fault::PostgresPartition => {
                partition(self.fleet.store_proxy(replica), Duration::from_millis(700)).await;
            }
            Fault::RedisPartition => {
                partition(self.fleet.redis_proxy(replica), self.lease.mul_f64(1.2)).await;
            }
        }
    }

    /// A script of the injector's own that runs on `replica`. How often it has to ask draws
    /// nothing at random, so that the seed gives the same faults in any case.
    async fn begun(&mut self, replica: usize, pause: Duration) -> Begun {
        let place = self.place();
        // Other faults' after-effects may still refuse one: written down, and asked again.
        for _ in 0..50 {
            if let Some(begun) = self.world.begin(place, replica, pause).await {
                return begun;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no script begins on replica {replica}");
    }

    async fn kill(&mut self, replica: usize) {
        let from = self.world.now();
        let server = self.fleet.replica_mut(replica);
        server.kill();
        server.start_again().await;
        self.world.moved(replica, &server.url());
        // A client may learn of it a little later.
        let to = self.world.now();
        self.world.deaths.lock().expect("deaths").push(Span { replica, from, to });
    }

    /// Stops a replica in a script until another has had the sandbox. Whether the script
    /// was refused for that.
    async fn stop(&mut self, replica: usize) -> bool {
        let begun = self.begun(replica, Duration::from_millis(500)).await;
        let place = begun.place();
        self.fleet.replica(replica).signal(libc::SIGSTOP);
        let other = (replica + 1) % self.fleet.count();
        let world = self.world.clone();
        let won = async {
            loop {
                let outcome = world.run(place, other, Work::Append, Duration::ZERO).await;
                if matches!(outcome, Outcome::Done { .. }) {
                    break;
                }
            }
        };
        tokio::time::timeout(self.lease + SOON, won).await.expect("another has the sandbox");
        self.fleet.replica(replica).signal(libc::SIGCONT);
        // Had it committed on what it had read, the counter would show it.
        matches!(begun.end().await, Outcome::Refused(_))
    }

    async fn take_lease(&mut self, steal: bool) {
        let place = self.place();
        let (redis, lock) = (self.fleet.redis().await, key(self.world.id(place)).lock());
        eventually("somebody holds the lease", SOON, || async {
            let mut redis = redis.clone();
            let taken = if steal {
                let mut set = redis::cmd("SET");
                let thief = format!("{:032x}-1 1000 e 700", 7);
                set.arg(&lock).arg(thief).arg("PX").arg(700).arg("XX").arg("GET");
                set.query_async::<Option<String>>(&mut redis).await.expect("Redis").is_some()
            } else {
                redis::cmd("DEL").arg(&lock).query_async::<i64>(&mut redis).await.expect("Redis") == 1
            };
            taken.then_some(())
        })
        .await;
    }

    /// Redis has less memory than it holds, and then none at all.
    async fn evict(&mut self) {
        let mut redis = self.fleet.redis().await;
        let set = |redis: redis::aio::MultiplexedConnection, name: &'static str, value: String| async move {
            let mut config = redis::cmd("CONFIG");
            config.arg("SET").arg(name).arg(value).exec_async(&mut redis.clone()).await.expect("set");
        };
        let number = |info: &str, name: &str| -> u64 {
            let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.expect("in INFO").trim().parse().expect("a number")
        };
        let info: String = redis::cmd("INFO").query_async(&mut redis).await.expect("info");
        let before = number(&info, "evicted_keys");
        set(redis.clone(), "maxmemory-policy", "allkeys-lru".into()).await;
        set(redis.clone(), "maxmemory", (number(&info, "used_memory") + (200 << 10)).to_string()).await;
        for n in 0..400 {
            let mut put = redis::cmd("SET");
            // Refused or evicted: both are what is wanted.
            let _ = put.arg(format!("filler:{n}")).arg("x".repeat(1024)).exec_async(&mut redis).await;
        }
        self.pause(50, 200).await;
        set(redis.clone(), "maxmemory", "1".into()).await;
        self.pause(50, 200).await;
        let info: String = redis::cmd("INFO").query_async(&mut redis).await.expect("info");
        assert!(number(&info, "evicted_keys") > before, "nothing was evicted");
        set(redis.clone(), "maxmemory", "0".into()).await;
    }

    /// The next garbage in the next key of a random sandbox.
    async fn garbage(&mut self) {
        let mut redis = self.fleet.redis().await;
        let place = self.place();
        let key = key(self.world.id(place));
        let mut names = vec![key.lock(), key.fence(), key.wait()];
        let alive: Vec<String> =
            redis::cmd("KEYS").arg("vfs:alive:*").query_async(&mut redis).await.expect("keys");
        names.extend(alive.into_iter().next());
        let garbage = GARBAGE[self.turns % GARBAGE.len()];
        let name = &names[self.turns / GARBAGE.len() % names.len()];
        self.turns += 1;
        let mut put = redis::pipe();
        put.atomic().del(name).ignore().cmd(garbage[0]).arg(name).arg(&garbage[2..]).ignore();
        put.cmd("EXISTS").arg(name);
        let (there,): (i64,) = put.query_async(&mut redis).await.expect("put");
        assert_eq!(there, 1, "no garbage in {name}");
    }

    /// Ends a random backend of this database, every other time one that is at work, and
    /// waits for its end.
    async fn terminate(&mut self) {
        let busy = if self.random.below(2) == 0 { "AND state <> 'idle'" } else { "" };
        let (salt, role) = (self.random.below(1 << 30), self.fleet.database().app_role());
        let sql = format!(
            "SELECT count(*) FROM (SELECT pg_terminate_backend(pid, 5000) AS done FROM (SELECT pid FROM \
             pg_stat_activity WHERE datname = current_database() AND usename = '{role}' {busy} \
             ORDER BY md5(pid::text || '{salt}') LIMIT 1) chosen) ended WHERE done"
        );
        let mut admin = self.fleet.database().admin().await;
        for _ in 0..10_000 {
            let row = admin.fetch_one(AssertSqlSafe(sql.as_str())).await.expect("terminated");
            if row.get::<i64, _>(0) == 1 {
                return;
            }
        }
        panic!("no backend to end");
    }

    /// Bad weather on one replica's way, until it was felt and then for a while.
    async fn weather(&mut self, way: Way, replica: usize, weather: Weather, ms: (u64, u64), cut: bool) {
        let length = Duration::from_millis(ms.0 + self.random.below(ms.1 - ms.0));
        let proxy = match way {
            Way::Postgres => self.fleet.store_proxy(replica),
            Way::Redis => self.fleet.redis_proxy(replica),
        };
        let before = proxy.felt();
        proxy.weather(weather);
        eventually("somebody feels it", SOON, || async { (proxy.felt() > before).then_some(()) }).await;
        tokio::time::sleep(length).await;
        if cut {
            proxy.cut_all();
        }
        proxy.weather(Weather::default());
    }
}

#[derive(Clone, Copy)]
enum Way {
    Postgres,
    Redis,
}

async fn cut(proxy: &Proxy) {
    let before = proxy.broken();
    eventually("there is a connection to cut", SOON, || async {
        proxy.cut_all();
        (proxy.broken() > before).then_some(())
    })
    .await;
}

async fn partition(proxy: &Proxy, length: Duration) {
    proxy.refuse(true);
    cut(proxy).await;
    tokio::time::sleep(length).await;
    proxy.refuse(false);
}
