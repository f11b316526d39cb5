//! The replicas, and the faults that strike them as a whole.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqlfs::fs::ContentCache;
use sqlfs::lease::driver::Leases;
use sqlfs::lease::verbs::Ms;
use sqlfs::session::{Coordination, Service, Settings, VersionCheck};
use sqlfs::store::Store;

use super::gate::Gate;
use super::lease_net::LeaseNet;
use super::plan::{LEASE, Mutation};
use super::scripts::Commands;
use super::store_net::StoreNet;
use super::world::{World, lock, pause, tenant};

/// One run of one replica's process.
pub struct Replica {
    pub service: Service,
    pub gate: Arc<Gate>,
    pub store: Arc<StoreNet>,
    pub leases: Leases,
    lease_net: Arc<LeaseNet>,
}

pub struct Fleet {
    pub world: Arc<World>,
    places: Mutex<Vec<Option<Arc<Replica>>>>,
    lives: AtomicU64,
}

impl Replica {
    fn start(world: &Arc<World>, name: String) -> Self {
        let gate = Arc::new(Gate::new(name));
        let net =
            Arc::new(LeaseNet { world: world.clone(), gate: gate.clone(), away: AtomicBool::new(false) });
        let (leases, control) =
            Leases::driven(net.clone(), world.plan.lease_config(), world.plan.without()).expect("good times");
        let held = gate.clone();
        tokio::spawn(async move { held.hold(control).await });
        let me = leases.incarnation();
        let store = Arc::new(StoreNet {
            world: world.clone(),
            gate: gate.clone(),
            me,
            away_until: AtomicU64::new(0),
            cached: Mutex::default(),
        });
        let cache = Arc::new(ContentCache::new(1 << 20));
        let commands = Arc::new(Commands {
            world: world.clone(),
            gate: gate.clone(),
            me,
            store: store.clone(),
            cache: cache.clone(),
        });
        let settings = Settings {
            acquire_timeout: Duration::from_mins(1),
            resolve_timeout: Duration::from_secs(10),
            drain: Duration::from_millis(800),
            max_execs: 8,
            max_execs_per_owner: 8,
            ..Settings::default()
        };
        let stores = HashMap::from([(tenant(), store.clone() as Arc<dyn Store>)]);
        let fleet = Coordination::Fleet {
            leases: leases.clone(),
            when_down: world.plan.when_down,
            version_check: VersionCheck::Store,
        };
        let service = Service::coordinated(settings, stores.into(), commands, cache, fleet);
        Self { service, gate, store, leases, lease_net: net }
    }

    /// Whether its way to the store was cut, or itself stopped, at some time since.
    pub fn troubled_since(&self, since: Ms) -> bool {
        self.gate.paused_since(since) || self.store.away_until.load(Ordering::Relaxed) >= since.max(1)
    }
}

impl Fleet {
    pub fn start(world: Arc<World>) -> Arc<Self> {
        let fleet = Self { places: Mutex::default(), lives: AtomicU64::new(0), world };
        for place in 0..fleet.world.plan.replicas {
            let replica = fleet.boot(place);
            lock(&fleet.places).push(Some(replica));
        }
        Arc::new(fleet)
    }

    fn boot(&self, place: usize) -> Arc<Replica> {
        let life = self.lives.fetch_add(1, Ordering::Relaxed);
        Arc::new(Replica::start(&self.world, format!("r{place}.{life}")))
    }

    /// The replica at a place, if one runs there.
    pub fn at(&self, place: usize) -> Option<Arc<Replica>> {
        lock(&self.places)[place].clone()
    }

    fn crash(&self, place: usize) {
        let Some(replica) = lock(&self.places)[place].take() else { return };
        self.world.count("crash");
        self.world.note(format_args!("{} crashes", replica.gate.name()));
        replica.gate.crash(self.world.now());
    }

    fn revive(&self, place: usize) {
        if self.at(place).is_none() {
            let replica = self.boot(place);
            self.world.note(format_args!("{} starts", replica.gate.name()));
            lock(&self.places)[place] = Some(replica);
        }
    }

    /// Faults until they are switched off; then all is as it should be again.
    pub async fn suffer(self: Arc<Self>) {
        let world = self.world.clone();
        let kinds: Vec<Fault> = [
            (world.plan.crashes, Fault::Crash),
            (world.plan.restarts, Fault::Restart),
            (world.plan.pauses, Fault::Pause),
            (world.plan.flushes, Fault::Flush),
            (world.plan.outages, Fault::Outage),
            (world.plan.partitions, Fault::Partition),
        ]
        .into_iter()
        .filter_map(|(on, fault)| on.then_some(fault))
        .collect();
        while world.faults_on() && !kinds.is_empty() {
            pause(world.between(50, 2_500)).await;
            if !world.faults_on() {
                return;
            }
            let fault = kinds[world.below(kinds.len() as u64) as usize];
            let place = world.below(world.plan.replicas as u64) as usize;
            self.strike(fault, place);
        }
    }

    fn strike(self: &Arc<Self>, fault: Fault, place: usize) {
        let world = self.world.clone();
        if fault == Fault::Flush {
            world.count("flush");
            world.note(format_args!("the lease store forgets everything"));
            lock(&world.table).flush();
            return;
        }
        let Some(replica) = self.at(place).filter(|replica| replica.gate.is_open()) else { return };
        let fleet = self.clone();
        match fault {
            Fault::Crash => {
                self.crash(place);
                let down = world.between(10, 2 * LEASE);
                tokio::spawn(async move {
                    pause(down).await;
                    fleet.revive(place);
                });
            }
            Fault::Restart => {
                world.count("restart");
                world.note(format_args!("{} is to end", replica.gate.name()));
                lock(&self.places)[place] = None;
                tokio::spawn(async move {
                    replica.service.shutdown().await;
                    world.note(format_args!("{} has ended", replica.gate.name()));
                    world.must_rest(&replica.gate);
                    fleet.revive(place);
                });
            }
            Fault::Pause => {
                world.count("pause");
                let stopped = world.between(50, 3 * LEASE);
                let control_first = world.below(2) == 0;
                world.note(format_args!("{} is stopped for {stopped} ms", replica.gate.name()));
                replica.gate.stop(world.now());
                tokio::spawn(async move {
                    pause(stopped).await;
                    let held = world.plan.mutation == Some(Mutation::NoKillSwitch);
                    world.note(format_args!("{} goes on", replica.gate.name()));
                    replica.gate.go_on(world.now(), control_first, held);
                    if held {
                        pause(LEASE).await;
                        replica.gate.free_control();
                    }
                });
            }
            Fault::Outage => {
                world.count("store away");
                // Some outlast the time that an outcome may stay open.
                let away = if world.below(4) == 0 { 14_000 } else { world.between(50, 2_000) };
                world.note(format_args!("{} does not reach the store for {away} ms", replica.gate.name()));
                replica.store.away_until.store(world.now() + away, Ordering::Relaxed);
            }
            Fault::Partition => {
                world.count("lease store away");
                let away = world.between(50, 2 * LEASE);
                world.note(format_args!(
                    "{} does not reach the lease store for {away} ms",
                    replica.gate.name()
                ));
                replica.lease_net.away.store(true, Ordering::Relaxed);
                tokio::spawn(async move {
                    pause(away).await;
                    replica.lease_net.away.store(false, Ordering::Relaxed);
                });
            }
            Fault::Flush => {}
        }
    }

    /// Ends the faults that last.
    pub fn heal(&self) {
        for place in 0..self.world.plan.replicas {
            self.revive(place);
            if let Some(replica) = self.at(place) {
                replica.lease_net.away.store(false, Ordering::Relaxed);
                let until = &replica.store.away_until;
                until.fetch_min(self.world.now(), Ordering::Relaxed);
                if !replica.gate.is_open() {
                    replica.gate.go_on(self.world.now(), true, false);
                }
            }
        }
    }

    /// Nothing makes a step any more.
    pub fn end(&self) {
        for place in 0..self.world.plan.replicas {
            if let Some(replica) = self.at(place) {
                replica.gate.crash(self.world.now());
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Crash,
    Restart,
    Pause,
    Flush,
    Outage,
    Partition,
}
