//! Sessions that leave memory: what they knew is read again, and the least used go first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sqlfs::exec::bash::BashInterpreter;
use sqlfs::fs::{ContentCache, Tree};
use sqlfs::ids::{Caller, Owner, TenantId};
use sqlfs::session::{Service, Settings};
use sqlfs::store::{Loaded, Store};

use super::{Rig, read, script};
use crate::support::TestStore;
use crate::support::gated_store::GatedStore;

pub async fn a_tree_survives_eviction(store: TestStore) {
    let shared = store.open().await;
    let gates = GatedStore::new(shared);
    let settings = Settings { session_idle: Duration::ZERO, ..Settings::default() };
    let stores: HashMap<TenantId, Arc<dyn Store>> =
        HashMap::from([(TenantId("default".into()), gates.clone() as Arc<dyn Store>)]);
    let service =
        Service::new(settings, stores, Arc::new(BashInterpreter::new(4)), Arc::new(ContentCache::new(0)));
    let caller = Caller { tenant: TenantId("default".into()), owner: Owner("tester".into()) };
    let rig = Rig { service, gates, caller };
    let id = rig.create().await;
    let make = "mkdir -p a/b; echo hi > a/b/f; ln a/b/f a/hard; ln -s b/f a/soft; chmod 751 a/b/f; touch -d @1000000000.5 a/b/f";
    rig.exec(id, script(make)).await.expect("a write");
    let look = read("find . -printf '%p %y %m %s %n %T@ %l\\n' | sort; cat a/hard a/soft", false);
    let before = rig.out(id, look.clone()).await;
    let evict = async || {
        assert_eq!(rig.service.reap().await, 1, "the idle session goes");
    };
    evict().await;
    assert_eq!(rig.out(id, look.clone()).await, before);
    evict().await;
    rig.exec(id, script("echo more >> a/hard")).await.expect("a write");
    evict().await;
    assert_eq!(rig.out(id, read("cat a/b/f", false)).await, "hi\nmore\n");
}

pub async fn the_memory_budget_takes_what_was_not_used_for_longest(store: TestStore) {
    let shared = store.open().await;
    let gates = GatedStore::new(shared.clone());
    let caller = Caller { tenant: TenantId("default".into()), owner: Owner("tester".into()) };
    let rig_with = |memory_budget| {
        let settings = Settings { memory_budget, ..Settings::default() };
        let stores = HashMap::from([(TenantId("default".into()), gates.clone() as Arc<dyn Store>)]);
        let cache = Arc::new(ContentCache::new(0));
        let service = Service::new(settings, stores, Arc::new(BashInterpreter::new(4)), cache);
        Rig { service, gates: gates.clone(), caller: caller.clone() }
    };
    let rig = rig_with(u64::MAX);
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = rig.create().await;
        rig.exec(id, script("touch f{1..500}")).await.expect("a write");
        ids.push(id);
    }
    assert_eq!(rig.service.reap().await, 0, "all of them fit");
    let Some((_, Loaded::Full { inodes, dirents })) = shared.load(ids[0], None).await.expect("a load") else {
        panic!("there is a tree");
    };
    let weight = Tree::from_rows(inodes, dirents).expect("a tree").weight();
    let rig = rig_with(weight * 5 / 2);
    for id in [ids[2], ids[0], ids[1], ids[2], ids[1]] {
        rig.out(id, read("ls | wc -l", false)).await;
    }
    assert_eq!(rig.service.reap().await, 1, "one is too much");
    if store.name() == "sqlite" {
        // It counts no statements.
        return;
    }
    let mut loads = Vec::new();
    for id in [ids[1], ids[2], ids[0]] {
        let before = rig.gates.statements();
        rig.out(id, read("ls | wc -l", false)).await;
        loads.push(rig.gates.statements() - before > 1);
    }
    assert_eq!(loads, [false, false, true], "the one that was used first is read again");
}
