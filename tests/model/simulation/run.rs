//! One seed: a fleet, a load and faults, then calm, then the checks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sqlfs::lease::keys::LeaseKey;

use super::clients::Load;
use super::fleet::Fleet;
use super::history;
use super::plan::{LEASE, LEASE_CALL, Mutation, Plan, Rng};
use super::world::{World, lock, pause, tenant};

/// What came of a seed.
pub struct Report {
    pub seed: u64,
    /// Of all events in their order.
    pub hash: u64,
    pub counts: BTreeMap<&'static str, u64>,
    pub execs: usize,
    /// The first guarantee that did not hold.
    pub breach: Option<String>,
}

/// Runs one seed on this thread, in virtual time.
pub fn run(seed: u64, mutation: Option<Mutation>, shown: bool) -> Report {
    let _seeded = sqlfs::random::seeded(seed);
    let _named = Named(seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut rng = Rng::new(seed);
        let plan = Plan::draw(&mut rng, mutation);
        let world = World::new(plan, rng, shown);
        world.note(format_args!("seed {seed}: {:?}", world.plan));
        let execs = live(&world).await;
        Report { seed, hash: world.hash(), counts: world.counts(), execs, breach: world.breached() }
    })
}

/// Names the seed of a run that panics.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}: panicked; {}", self.0, replay(self.0));
        }
    }
}

/// How to see a run again.
pub fn replay(seed: u64) -> String {
    format!(
        "replay: SQLFS_TEST_SEED={seed} cargo test --test model every_guarantee_holds_in_every_run -- --nocapture"
    )
}

/// Longest time that a client may have to wait for an answer once all faults are over:
/// the acquire timeout, and some.
const PATIENCE: Duration = Duration::from_mins(5);
/// An idle replica ends at once; it waits for the lease store for 2 s at most.
const DRAIN: Duration = Duration::from_secs(3);
/// Beyond the lease: calls that are still on their way when the last fault ends.
const SLACK: u64 = 1_500;
/// By then a call that met the last fault has failed.
const FAILED: u64 = LEASE_CALL + 100;

async fn live(world: &Arc<World>) -> usize {
    let fleet = Fleet::start(world.clone());
    let load = Load::new(fleet.clone());
    for _ in 0..world.plan.sandboxes {
        load.prepare().await;
    }
    world.switch_faults(true);
    let faults = tokio::spawn(fleet.clone().suffer());
    let mut clients: Vec<_> = (0..world.plan.clients).map(|_| tokio::spawn(load.clone().client())).collect();
    if world.plan.deletes {
        clients.push(tokio::spawn(load.clone().delete(world.plan.sandboxes - 1)));
    }
    // Faults last as long as there is load, but not so long that nothing else is left.
    let storm = async {
        for client in clients {
            client.await.expect("a client");
        }
    };
    tokio::pin!(storm);
    let over = tokio::time::timeout(Duration::from_mins(1), &mut storm).await.is_ok();
    world.switch_faults(false);
    world.note(format_args!("the faults are over"));
    fleet.heal();
    if !over && tokio::time::timeout(PATIENCE, &mut storm).await.is_err() {
        world.breach("a client waits for ever".into());
    }
    faults.abort();
    recover(world, &fleet, &load).await;
    let records = std::mem::take(&mut *lock(&load.history));
    for index in 0..world.plan.sandboxes {
        if let Err(text) = history::check(world, index, &records, &lock(&load.deletions)) {
            world.breach(text);
        }
    }
    if world.plan.one_at_a_time()
        && let Err(text) = history::check_overlap(&lock(&world.runs), world.now())
    {
        world.breach(text);
    }
    fleet.end();
    history::answered(&records)
}

/// G8, and that nothing is left behind.
async fn recover(world: &World, fleet: &Fleet, load: &Load) {
    pause(FAILED).await;
    let limit = Duration::from_millis(LEASE + SLACK - FAILED);
    let deleted: Vec<usize> = lock(&load.deletions).iter().map(|it| it.sandbox).collect();
    for sandbox in 0..world.plan.sandboxes {
        for place in 0..world.plan.replicas {
            let Some(replica) = fleet.at(place) else { continue };
            match tokio::time::timeout(limit, load.last(&replica, sandbox)).await {
                Ok(true) => {}
                // It is gone, or goes when the deletion arrives.
                Ok(false) if deleted.contains(&sandbox) => {}
                Ok(false) => world.breach(format!("G8: a write on r{place} is refused although all is well")),
                Err(_) => {
                    world.breach(format!("G8: sandbox {sandbox} cannot be used on r{place} after a lease"));
                }
            }
        }
    }
    // A drain ends whatever the fleet went through, and gives all leases back.
    for place in 0..world.plan.replicas {
        let Some(replica) = fleet.at(place) else { continue };
        if tokio::time::timeout(DRAIN, replica.service.shutdown()).await.is_err() {
            world.breach(format!("r{place} cannot be shut down"));
        }
        world.must_rest(&replica.gate);
        if !replica.leases.close(Duration::from_millis(LEASE)).await {
            world.breach(format!("r{place} has leases that it does not give back"));
        }
    }
    pause(3 * LEASE).await;
    let table = lock(&world.table);
    for sandbox in lock(&world.sandboxes).iter() {
        let key = LeaseKey { tenant: tenant(), sandbox: *sandbox };
        // What a dead replica held of a deleted sandbox nobody ever asks for again.
        let forgotten = world.store.tables().sandboxes[sandbox].deleted_at_ns.is_some();
        let claim = table.claim(world.now(), &key);
        if let Some(claim) = claim.filter(|claim| !forgotten || table.is_alive(world.now(), claim.owner)) {
            world.breach(format!("the lease of {claim} is never given back"));
        }
        if !table.waiting(world.now(), &key).is_empty() {
            world.breach("somebody waits for ever".into());
        }
    }
}
