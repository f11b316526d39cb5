//! Garbage collection by the servers themselves.

use std::time::Duration;

use bytes::Bytes;
use sqlfs::ids::Sha256;

use super::rig::{CALM, Fleet};
use crate::support::eventually;
use crate::support::redis::shared_url;

#[tokio::test]
async fn the_replicas_collect_what_nothing_names_and_nothing_else() {
    let fleet = Fleet::start(2, &shared_url(), CALM, &[("BLOB_GC_INTERVAL", "1")]).await;
    let id = fleet.api(0).create().await;
    fleet.api(0).exec(&id, "echo kept > f").await;
    let database = fleet.replica(0).store().database().expect("Postgres");
    let store = fleet.replica(0).store().open().await;
    let loose = |text: &'static str| (Sha256::of(text.as_bytes()), Bytes::from_static(text.as_bytes()));
    store.flush_blobs(&[loose("old"), loose("young")]).await.expect("stored");
    // A day and more ago: everything but one.
    let old = format!("UPDATE blobs SET last_referenced_at = 1 WHERE sha256 <> '\\x{}'", loose("young").0);
    database.run(&old).await;
    let count = "SELECT count(*) FROM blobs";
    eventually("one content is collected", Duration::from_secs(20), || async {
        (database.number(count).await == 2).then_some(())
    })
    .await;
    assert_eq!(store.blobs(&[loose("young").0]).await.expect("read").len(), 1, "within its grace");
    // The replica that has not got it in its cache reads it from the store.
    assert_eq!(fleet.api(1).stdout(&id, "cat f").await, "kept\n");
}
