//! Snapshots that are authentic and all the same not the sandbox's: a replica with a fault.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sqlfs::cache::snapshot::{Of, SnapshotKey};
use sqlfs::cache::{Cache, Found, snapshot_key};
use sqlfs::fs::Tree;
use sqlfs::ids::TenantId;
use sqlfs::session::snapshots::SMALLEST;

use super::{Rig, script};
use crate::support::TestStore;

/// Has one value.
struct One(String, Vec<u8>);

#[async_trait]
impl Cache for One {
    async fn get(&self, key: &str, _limit: usize) -> Found {
        if key == self.0 { Found::Value(self.1.clone()) } else { Found::Nothing }
    }

    async fn put(&self, _key: &str, _value: Bytes, _ttl: Duration, _instead_of: Option<&str>) -> bool {
        true
    }
}

pub async fn a_snapshot_that_differs_from_its_row_is_not_used(store: TestStore) {
    let store = store.open().await;
    let rig = Rig::over(store.clone());
    let id = rig.create().await;
    rig.exec(id, script(&format!("for ((i = 0; i < {SMALLEST}; i++)); do echo x > $i; done"))).await.unwrap();
    let tenant = TenantId("default".into());
    let head = store.probe(id).await.unwrap().expect("a row").head;
    let of = Of { tenant: tenant.clone(), sandbox: id, head };
    let right = rig.service.read(&rig.caller, id).await.unwrap().tree;
    let key = SnapshotKey::derive(b"key");
    // One with the row's counts is taken: this one differs in a name, to tell.
    let mut rows = right.rows();
    rows.dirents[5].name = "another".into();
    let other = Tree::from_rows(rows.inodes, rows.dirents).expect("a tree");
    for (kept, expected) in [(&other, &other), (&Tree::first(1).0, &right)] {
        let value = key.seal(&of, kept).expect("small");
        let cache = Arc::new(One(snapshot_key(&tenant, id, head), value));
        let mut cold = Rig::over(store.clone());
        cold.service = cold.service.clone().with_snapshots(cache, key.clone(), Duration::from_mins(1));
        let read = cold.service.read(&cold.caller, id).await.unwrap();
        assert!((&read.tree, read.head) == (expected, head), "{} entries", read.tree.entries());
    }
}
