//! Retention, purge, garbage collection.

use bytes::Bytes;
use sqlfs::ids::{Head, Owner};
use sqlfs::store::{GcReport, Loaded, Retention};

use super::rig::Rig;
use crate::support::model::{Model, Writer};

const USER: u64 = 3;
/// The scripts of these tests ran at multiples of this, long ago.
const STEP: i64 = 1_000_000_000;

/// Everything may be kept.
const KEEP: Retention = Retention {
    versions: u64::MAX,
    older_than_ns: 0,
    younger_than_ns: i64::MAX,
    bytes: u64::MAX,
    log_older_than_ns: 0,
};

/// A sandbox with `versions` commits, the one of version `v` at `v * STEP`; and its heads.
async fn with_history(rig: &Rig, owner: &str, versions: i64) -> (Writer, Vec<Head>) {
    let mut writer = Writer::create(&*rig.store, owner, Model::first()).await;
    let mut heads = vec![writer.head];
    for version in 1..=versions {
        let mut next = writer.model.clone();
        next.write(USER, "f", format!("{owner} {version:04}"));
        writer.at_ns = version * STEP;
        writer.done(&*rig.store, next).await;
        heads.push(writer.head);
    }
    (writer, heads)
}

async fn history_from(rig: &Rig, writer: &Writer) -> i64 {
    rig.store.probe(writer.id).await.unwrap().unwrap().history_from
}

async fn told(rig: &Rig, writer: &Writer, version: i64, head: Head) -> bool {
    let (_, loaded) = rig.store.load(writer.id, Some((version, head))).await.unwrap().unwrap();
    matches!(loaded, Loaded::Delta(_))
}

pub async fn history_is_pruned_by_number_of_versions(rig: &Rig) {
    let (writer, heads) = with_history(rig, "alice", 10).await;
    assert_eq!(rig.store.prune_history(&KEEP, 10).await.unwrap(), 0);
    assert_eq!(history_from(rig, &writer).await, 0);
    // Each version ended one inode row; the first one had none.
    let dropped = rig.store.prune_history(&Retention { versions: 3, ..KEEP }, 10).await.unwrap();
    assert_eq!((dropped, history_from(rig, &writer).await), (6, 7));
    assert_eq!(rig.number("SELECT count(*) FROM inodes WHERE valid_to IS NOT NULL").await, 3);
    assert!(!told(rig, &writer, 6, heads[6]).await);
    assert!(told(rig, &writer, 7, heads[7]).await);
    writer.is_stored(&*rig.store).await;
    assert_eq!(rig.store.prune_history(&Retention { versions: 5, ..KEEP }, 10).await.unwrap(), 0);
    assert_eq!(history_from(rig, &writer).await, 7, "it never goes back");
    rig.store.prune_history(&Retention { versions: 0, ..KEEP }, 10).await.unwrap();
    assert_eq!(history_from(rig, &writer).await, 10);
    assert_eq!(rig.number("SELECT count(*) FROM inodes WHERE valid_to IS NOT NULL").await, 0);
    assert!(told(rig, &writer, 10, heads[10]).await, "the present version is always told");
    writer.is_stored(&*rig.store).await;
}

pub async fn history_is_pruned_by_age_but_never_what_is_young(rig: &Rig) {
    let (writer, _) = with_history(rig, "alice", 10).await;
    // Version 5 was superseded at 6 s (and 3 ms, the script's time).
    let by_age = Retention { older_than_ns: 6 * STEP + STEP / 2, ..KEEP };
    rig.store.prune_history(&by_age, 10).await.unwrap();
    assert_eq!(history_from(rig, &writer).await, 6, "the state of that moment is kept");
    let all = Retention { versions: 0, older_than_ns: i64::MAX, bytes: 0, ..KEEP };
    rig.store.prune_history(&Retention { younger_than_ns: 8 * STEP + STEP / 2, ..all }, 10).await.unwrap();
    assert_eq!(history_from(rig, &writer).await, 8, "a reader may still run on what was superseded later");
    rig.store.prune_history(&Retention { younger_than_ns: 0, ..all }, 10).await.unwrap();
    assert_eq!(history_from(rig, &writer).await, 8);
    writer.is_stored(&*rig.store).await;
}

pub async fn history_is_pruned_by_the_bytes_it_alone_holds(rig: &Rig) {
    let mut writer = Writer::create(&*rig.store, "alice", Model::first()).await;
    for version in 1..=6_u8 {
        let mut next = writer.model.clone();
        next.write(USER, "grows", Bytes::from(vec![version; 100]));
        // Live in every version, so history does not hold it alone.
        next.write(USER, "stays", "s".repeat(1_000));
        writer.at_ns = i64::from(version) * STEP;
        writer.done(&*rig.store, next).await;
    }
    // History alone holds versions 1 to 5 of `grows`, 100 bytes each.
    rig.store.prune_history(&Retention { bytes: 500, ..KEEP }, 10).await.unwrap();
    assert_eq!(history_from(rig, &writer).await, 0);
    rig.store.prune_history(&Retention { bytes: 499, ..KEEP }, 10).await.unwrap();
    assert_eq!(history_from(rig, &writer).await, 2, "version 1 held the content that is too much");
    rig.store.prune_history(&Retention { bytes: 200, ..KEEP }, 10).await.unwrap();
    assert_eq!(history_from(rig, &writer).await, 4);
    let held = "SELECT CAST(coalesce(sum(size), 0) AS bigint) FROM inodes i WHERE valid_to IS NOT NULL AND NOT EXISTS \
                (SELECT 1 FROM inodes x WHERE x.sha256 = i.sha256 AND x.valid_to IS NULL)";
    assert_eq!(rig.number(held).await, 200);
    writer.is_stored(&*rig.store).await;
}

pub async fn pruning_visits_every_sandbox_and_then_rests(rig: &Rig) {
    let mut writers = Vec::new();
    for n in 0..5 {
        writers.push(with_history(rig, &format!("owner-{n}"), 3).await.0);
    }
    let none = Retention { versions: 0, log_older_than_ns: i64::MAX, ..KEEP };
    // Two at a time: five sandboxes take three calls, whichever come first.
    let mut visited = Vec::new();
    for _ in 0..3 {
        rig.store.prune_history(&none, 2).await.unwrap();
        let mut done = 0;
        for writer in &writers {
            done += i64::from(history_from(rig, writer).await == 3);
        }
        visited.push(done);
    }
    assert_eq!(visited, [2, 4, 5]);
    assert_eq!(rig.number("SELECT count(*) FROM sandboxes WHERE upkeep_since IS NOT NULL").await, 0);
    assert_eq!(rig.store.prune_history(&none, 2).await.unwrap(), 0);
    // A new commit brings a sandbox back.
    let mut next = writers[4].model.clone();
    next.write(USER, "f", "again");
    writers[4].done(&*rig.store, next).await;
    assert_eq!(rig.number("SELECT count(*) FROM sandboxes WHERE upkeep_since IS NOT NULL").await, 1);
    assert!(rig.store.prune_history(&none, 2).await.unwrap() > 0);
    // More rows than one transaction drops.
    let (writer, _) = with_history(rig, "big", 1).await;
    let mut writer = writer;
    let mut next = writer.model.clone();
    next.write_many(USER, (0..2_500).map(|n| (format!("file-{n}"), Bytes::new())));
    writer.done(&*rig.store, next.clone()).await;
    for n in 0..2_500 {
        next.names.remove(&(USER, format!("file-{n}").as_str().into()));
    }
    next.inodes.retain(|_, inode| next.names.values().any(|ino| *ino == inode.ino) || inode.ino == 1);
    writer.done(&*rig.store, next).await;
    assert!(rig.store.prune_history(&none, 2).await.unwrap() > 5_000);
    assert_eq!(rig.number("SELECT count(*) FROM inodes WHERE valid_to IS NOT NULL").await, 0);
    writer.is_stored(&*rig.store).await;
}

pub async fn old_log_rows_go_but_those_that_history_needs(rig: &Rig) {
    let (writer, heads) = with_history(rig, "alice", 10).await;
    let retention = Retention { versions: 4, log_older_than_ns: 3 * STEP + 1, ..KEEP };
    rig.store.prune_history(&retention, 10).await.unwrap();
    // Version 0 was made now; 1, 2 and 3 are old.
    assert_eq!(rig.number("SELECT count(*) FROM exec_log WHERE version BETWEEN 1 AND 3").await, 0);
    assert_eq!(rig.number("SELECT count(*) FROM exec_log").await, 8);
    rig.store.prune_history(&Retention { log_older_than_ns: i64::MAX, ..retention }, 10).await.unwrap();
    assert_eq!(rig.number("SELECT min(version) FROM exec_log").await, 6, "however old it is");
    assert!(told(rig, &writer, 6, heads[6]).await);
}

pub async fn deleted_sandboxes_are_purged_to_a_tombstone(rig: &Rig) {
    let (gone, _) = with_history(rig, "alice", 3).await;
    let (kept, _) = with_history(rig, "bob", 3).await;
    assert!(rig.store.delete(&Owner("alice".into()), gone.id).await.unwrap());
    assert_eq!(rig.store.purge_deleted(1, 10).await.unwrap(), 0, "not before its time");
    let rows = "SELECT (SELECT count(*) FROM inodes) + (SELECT count(*) FROM dirents) + (SELECT count(*) FROM exec_log)";
    let before = rig.number(rows).await;
    let dropped = rig.store.purge_deleted(i64::MAX, 10).await.unwrap();
    assert!(dropped > 0);
    assert_eq!(rig.number(rows).await, before - dropped as i64);
    assert_eq!(rig.number(rows).await * 2, before, "the other sandbox has as many");
    assert_eq!(rig.store.purge_deleted(i64::MAX, 10).await.unwrap(), 0);
    let tombstone = "SELECT count(*) FROM sandboxes WHERE state = 'deleted' AND name IS NULL AND env = '{}'";
    assert_eq!(rig.number(tombstone).await, 1);
    kept.is_stored(&*rig.store).await;
    assert!(rig.store.probe(gone.id).await.unwrap().is_none());
}

pub async fn unnamed_contents_are_collected_after_their_grace(rig: &Rig) {
    let (writer, _) = with_history(rig, "alice", 2).await;
    let loose: Vec<_> = (0..250)
        .map(|n| {
            let data = Bytes::from(format!("loose {n:04}"));
            (sqlfs::ids::Sha256::of(&data), data)
        })
        .collect();
    rig.store.flush_blobs(&loose).await.unwrap();
    let young = sqlfs::clock::wall_ns() - STEP * 3_600;
    assert_eq!(rig.store.gc_blobs(young, 1_000).await.unwrap(), GcReport::default());
    let some = rig.store.gc_blobs(i64::MAX, 120).await.unwrap();
    assert_eq!(some, GcReport { candidates: 120, deleted: 120, bytes: 120 * 10, spared: 0 });
    let rest = rig.store.gc_blobs(i64::MAX, 1_000).await.unwrap();
    assert_eq!((rest.deleted, rest.spared), (130, 0));
    // The present content and the one that history names are still there.
    assert_eq!(rig.number("SELECT count(*) FROM blobs").await, 2);
    rig.store.prune_history(&Retention { versions: 0, ..KEEP }, 10).await.unwrap();
    assert_eq!(rig.store.gc_blobs(i64::MAX, 1_000).await.unwrap().deleted, 1);
    writer.is_stored(&*rig.store).await;
    let live = writer.model.inodes.values().find_map(|inode| inode.sha256).unwrap();
    assert_eq!(rig.store.blobs(&[live]).await.unwrap().len(), 1);
}
