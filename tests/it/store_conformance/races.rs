//! Writers, readers and maintenance at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlfs::store::{CommitOutcome, Loaded, Retention};

use super::rig::Rig;
use crate::support::model::{Model, Writer};

const USER: u64 = 3;

fn rounds(few: usize) -> usize {
    let long = std::env::var_os("SQLFS_TEST_LONG").is_some();
    if long { few * 20 } else { few }
}

pub async fn of_writers_that_saw_the_same_head_one_wins(rig: &Rig) {
    let writer = Writer::create(&*rig.store, "alice", Model::first()).await;
    let mut tasks = Vec::new();
    for n in 0..6 {
        let store = Arc::clone(&rig.store);
        let mut writer = writer.clone();
        tasks.push(tokio::spawn(async move {
            let mut won = 0;
            while won < 10 {
                // Read, compute, commit: a lost update would lose a count.
                let (row, mut model) = writer.load(&*store).await;
                (writer.version, writer.head) = (row.version, row.head);
                writer.model = model.clone();
                let count = model.inodes.values().find(|inode| inode.ino == USER).unwrap().mtime_ns;
                model.inodes.get_mut(&USER).unwrap().mtime_ns = count + 1;
                model.write(USER, &format!("of-{n}"), format!("{won}"));
                match writer.commit(&*store, model).await.unwrap() {
                    CommitOutcome::Done { version } => {
                        assert_eq!(version, row.version + 1);
                        won += 1;
                    }
                    CommitOutcome::Stale => {}
                    CommitOutcome::Gone => panic!("nobody deletes it"),
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let (row, model) = writer.load(&*rig.store).await;
    let first = writer.model.inodes[&USER].mtime_ns;
    assert_eq!((row.version, model.inodes[&USER].mtime_ns - first), (60, 60));
}

pub async fn writers_of_the_same_contents_in_opposite_order_all_commit(rig: &Rig) {
    let a = Writer::create(&*rig.store, "alice", Model::first()).await;
    let b = Writer::create(&*rig.store, "bob", Model::first()).await;
    let mut tasks = Vec::new();
    for (mut writer, reversed) in [(a, false), (b, true)] {
        let store = Arc::clone(&rig.store);
        tasks.push(tokio::spawn(async move {
            for round in 0..rounds(40) {
                let mut next = writer.model.clone();
                for file in 0..10 {
                    next.write(USER, &format!("f-{file}"), format!("{round} {file}"));
                }
                let mut changes = next.since(&writer.model);
                if reversed {
                    // Even a change set that breaks the rule of order must come through.
                    changes.blobs.reverse();
                }
                let sent = writer.send(&*store, sqlfs::ids::ExecId::random(), &changes).await;
                let (outcome, head) = sent.expect("deadlocks are tried again inside");
                assert_eq!(outcome, CommitOutcome::Done { version: writer.version + 1 });
                (writer.version, writer.head, writer.model) = (writer.version + 1, head, next);
            }
            writer.is_stored(&*store).await;
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

pub async fn a_load_is_of_one_version_while_writers_run(rig: &Rig) {
    let mut writer = Writer::create(&*rig.store, "alice", Model::first()).await;
    let mut first = writer.model.clone();
    first.write_many(USER, (0..50).map(|n| (format!("f-{n}"), "same".into())));
    first.write(USER, "odd", "");
    writer.done(&*rig.store, first).await;
    let done = Arc::new(AtomicBool::new(false));
    let id = writer.id;
    let writing = {
        let (store, done) = (Arc::clone(&rig.store), Arc::clone(&done));
        tokio::spawn(async move {
            for round in 0..rounds(60) as i64 {
                let mut next = writer.model.clone();
                // Every file carries the version; a name comes and goes.
                for inode in next.inodes.values_mut().filter(|inode| inode.ino > 4) {
                    inode.mtime_ns = writer.version + 1;
                }
                if round % 2 == 0 {
                    next.write(USER, "even", "")
                } else {
                    next.write(USER, "odd", "")
                };
                next.remove(USER, if round % 2 == 0 { "odd" } else { "even" });
                writer.done(&*store, next).await;
            }
            done.store(true, Ordering::Release);
        })
    };
    let mut loads = 0_u32;
    let mut warm: Option<(i64, sqlfs::ids::Head, Model)> = None;
    while !done.load(Ordering::Acquire) {
        let since = warm.as_ref().map(|it| (it.0, it.1));
        let (row, loaded) = rig.store.load(id, since).await.unwrap().unwrap();
        let model = match (loaded, &warm) {
            (Loaded::Full { inodes, dirents }, _) => Model::of(&inodes, &dirents, &row),
            (Loaded::Delta(delta), Some((_, _, old))) => old.apply(&delta, &row),
            (Loaded::Delta(_), None) => panic!("nothing was warm"),
        };
        for inode in model.inodes.values().filter(|inode| inode.ino > 4 && inode.size > 0) {
            assert!(
                row.version < 2 || inode.mtime_ns == row.version,
                "a file of {} in {}",
                inode.mtime_ns,
                row.version
            );
        }
        assert_eq!(model.inodes.len() as u64, row.entries);
        loads += 1;
        warm = if loads.is_multiple_of(5) { None } else { Some((row.version, row.head, model)) };
    }
    writing.await.unwrap();
    assert!(loads > 3, "readers ran beside the writer");
}

pub async fn garbage_collection_never_takes_a_named_content(rig: &Rig) {
    // Of three writers: 1,200 in all, or 5,100.
    let long = std::env::var_os("SQLFS_TEST_LONG").is_some();
    let each: usize = if long { 1_700 } else { 400 };
    let done = Arc::new(AtomicBool::new(false));
    let met = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for n in 0..3 {
        let (store, met) = (Arc::clone(&rig.store), Arc::clone(&met));
        let mut writer = Writer::create(&*store, &format!("owner-{n}"), Model::first()).await;
        writers.push(tokio::spawn(async move {
            // On a busy machine the collector may come late: the writers wait for it.
            for round in (0..100 * each).take_while(|&n| n < each || !met.load(Ordering::Acquire)) {
                let mut next = writer.model.clone();
                // The same few contents come and go in all sandboxes, and never all are named.
                next.write(USER, "f", format!("content {}", round % 5));
                let changes = next.since(&writer.model);
                if round.is_multiple_of(3) {
                    // Flushed ahead, as uploads are: the collector may take it in between.
                    let carried: Vec<_> =
                        changes.blobs.iter().map(|blob| (blob.sha256, blob.data.clone().unwrap())).collect();
                    store.flush_blobs(&carried).await.unwrap();
                }
                writer.done(&*store, next).await;
            }
            writer.is_stored(&*store).await;
        }));
    }
    let collector = {
        let (store, done, met) = (Arc::clone(&rig.store), Arc::clone(&done), Arc::clone(&met));
        tokio::spawn(async move {
            let mut deleted = 0;
            while !done.load(Ordering::Acquire) {
                // No history and no grace: the hardest case.
                let retention = Retention {
                    versions: 0,
                    older_than_ns: i64::MAX,
                    younger_than_ns: i64::MAX,
                    bytes: 0,
                    log_older_than_ns: i64::MAX,
                };
                store.prune_history(&retention, 10).await.unwrap();
                deleted += store.gc_blobs(i64::MAX, 1_000).await.unwrap().deleted;
                met.fetch_or(deleted > 0, Ordering::AcqRel);
            }
            deleted
        })
    };
    for writer in writers {
        writer.await.unwrap();
    }
    done.store(true, Ordering::Release);
    assert!(collector.await.unwrap() > 0, "the collector met the writers");
    let dangling = "SELECT count(*) FROM inodes i WHERE i.sha256 IS NOT NULL AND NOT EXISTS \
                    (SELECT 1 FROM blobs b WHERE b.sha256 = i.sha256)";
    assert_eq!(rig.number(dangling).await, 0);
}
