//! Compare-and-set, deltas, and commits whose reply was lost.

use bytes::Bytes;
use sqlfs::fs::{ChangeSet, Delta};
use sqlfs::ids::{ExecId, Head, Owner, SandboxId};
use sqlfs::store::{CommitOutcome, Loaded, Resolution, SandboxRow, Store};

use super::rig::Rig;
use crate::support::model::{Model, Writer, new_sandbox};

const USER: u64 = 3;
const TMP: u64 = 4;

async fn since(store: &dyn Store, writer: &Writer, at: (i64, Head)) -> (SandboxRow, Option<Delta>) {
    let (row, loaded) = store.load(writer.id, Some(at)).await.expect("loaded").expect("it is there");
    match loaded {
        Loaded::Delta(delta) => (row, Some(delta)),
        Loaded::Full { inodes, dirents } => {
            assert!(
                writer.model.same_rows(&Model::of(&inodes, &dirents, &row)),
                "a full load is the present tree"
            );
            (row, None)
        }
    }
}

/// The whole tables, as one number each: nothing may have changed.
async fn rows(rig: &Rig) -> Vec<i64> {
    let mut counts = Vec::new();
    for sql in [
        "SELECT count(*) FROM inodes",
        "SELECT count(*) FROM inodes WHERE valid_to IS NULL",
        "SELECT count(*) FROM dirents",
        "SELECT count(*) FROM dirents WHERE valid_to IS NULL",
        "SELECT count(*) FROM exec_log",
        "SELECT CAST(sum(version) AS bigint) FROM sandboxes",
        "SELECT count(*) FROM blobs",
    ] {
        counts.push(rig.number(sql).await);
    }
    counts
}

pub async fn a_commit_is_stored_and_told_as_a_delta(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let mut history = vec![(writer.version, writer.head, writer.model.clone())];
    for n in 0..6 {
        let mut next = writer.model.clone();
        next.write(USER, "counter", format!("{n}"));
        next.write(USER, &format!("file-{n}"), format!("content {n}"));
        if n > 2 {
            next.remove(USER, &format!("file-{}", n - 2));
        }
        writer.done(store, next).await;
        history.push((writer.version, writer.head, writer.model.clone()));
    }
    let row = store.probe(writer.id).await.unwrap().unwrap();
    assert_eq!((row.version, row.head, row.fence), (6, writer.head, 1));
    assert!(row.last_used_at_ns >= row.created_at_ns);
    for (version, head, old) in &history {
        let (row, delta) = since(store, &writer, (*version, *head)).await;
        let delta = delta.expect("this history is all there");
        let expected = writer.model.since(old).delta;
        assert_eq!(delta.is_empty(), version == &writer.version);
        assert_eq!(delta.inodes.len(), expected.inodes.len());
        assert_eq!(
            delta.ended_inodes.len(),
            expected.ended_inodes.len(),
            "what came and went since is not told"
        );
        assert!(old.apply(&delta, &row).same_rows(&writer.model), "from version {version}");
    }
    let log = "SELECT count(*) FROM exec_log WHERE request_id = 'req-1' AND actor = 'alice' \
               AND outcome = 'committed' AND duration_ms = 3 AND script_sha256 IS NOT NULL";
    assert_eq!(rig.number(log).await, 6);
}

pub async fn every_kind_of_change_reloads_equal(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let steps: [fn(&mut Model); 9] = [
        |m| {
            m.write(TMP, "empty", "");
            m.write(TMP, "it's \"quoted\" \\ and ü 漢 🎉", "x");
            m.symlink(TMP, "link", "../häme/\"user\"");
        },
        |m| {
            let ino = m.write(TMP, "a", "1");
            m.link(ino, USER, "b");
        },
        |m| {
            m.write(USER, "b", "22");
        },
        |m| m.remove(TMP, "a"),
        |m| {
            let dir = m.mkdir(TMP, "d");
            let sub = m.mkdir(dir, "sub");
            m.write(sub, "f", "deep");
        },
        |m| m.rename((TMP, "d"), (USER, "moved")),
        |m| m.rename((USER, "b"), (TMP, "empty")),
        |m| {
            m.write(TMP, "empty", "");
            m.remove(TMP, "link");
            m.inodes.get_mut(&TMP).unwrap().mode = 0o1777;
            m.inodes.get_mut(&USER).unwrap().mtime_ns = -1;
        },
        |m| m.remove(TMP, "it's \"quoted\" \\ and ü 漢 🎉"),
    ];
    for step in steps {
        let before = writer.clone();
        let mut next = writer.model.clone();
        step(&mut next);
        writer.done(store, next).await;
        writer.is_stored(store).await;
        let (row, delta) = since(store, &writer, (before.version, before.head)).await;
        assert!(before.model.apply(&delta.expect("one version back"), &row).same_rows(&writer.model));
    }
}

pub async fn a_stale_head_changes_nothing(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let stale = writer.clone();
    let mut next = writer.model.clone();
    next.write(USER, "f", "winner");
    writer.done(store, next).await;
    let before = rows(rig).await;
    let mut other = stale.model.clone();
    other.write(USER, "g", "loser");
    let (outcome, _) = stale.send(store, ExecId::random(), &other.since(&stale.model)).await.unwrap();
    assert_eq!(outcome, CommitOutcome::Stale);
    assert_eq!(rows(rig).await, before);
    writer.is_stored(store).await;
}

pub async fn a_lower_fence_loses_and_the_fence_never_goes_back(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let mut write = async |fence: i64, name: &str| {
        writer.fence = fence;
        let mut next = writer.model.clone();
        next.write(USER, name, "x");
        let outcome = writer.commit(store, next).await.unwrap();
        (outcome, store.probe(writer.id).await.unwrap().unwrap().fence)
    };
    assert_eq!(write(5, "a").await, (CommitOutcome::Done { version: 1 }, 5));
    assert_eq!(write(4, "b").await, (CommitOutcome::Stale, 5));
    assert_eq!(write(5, "c").await, (CommitOutcome::Done { version: 2 }, 5));
    assert_eq!(write(9, "d").await, (CommitOutcome::Done { version: 3 }, 9));
    writer.is_stored(store).await;
}

pub async fn a_deleted_or_unknown_sandbox_is_gone(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let mut next = writer.model.clone();
    next.write(USER, "f", "x");
    assert!(store.delete(&Owner("alice".into()), writer.id).await.unwrap());
    let before = rows(rig).await;
    assert_eq!(writer.commit(store, next.clone()).await.unwrap(), CommitOutcome::Gone);
    writer.id = SandboxId::random();
    assert_eq!(writer.commit(store, next).await.unwrap(), CommitOutcome::Gone);
    assert_eq!(rows(rig).await, before);
}

pub async fn a_change_set_that_does_not_fit_changes_nothing(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let mut next = writer.model.clone();
    next.write(USER, "f", "x");
    writer.done(store, next.clone()).await;
    next.write(USER, "f", "y");
    let before = rows(rig).await;
    let good = next.since(&writer.model);
    let bad: [fn(&mut ChangeSet); 5] = [
        |c| c.delta.ended_inodes.push(4711),
        |c| c.delta.ended_dirents.push((USER, "absent".into())),
        |c| c.delta.ended_inodes.clear(),
        |c| c.delta.inodes[0].nlink = 0,
        |c| c.delta.inodes.push(c.delta.inodes[0].clone()),
    ];
    for spoil in bad {
        let mut changes = good.clone();
        spoil(&mut changes);
        let error = writer.send(store, ExecId::random(), &changes).await.expect_err("it does not fit");
        assert!(matches!(error, sqlfs::store::StoreError::Inconsistent(_)), "{error:?}");
        assert_eq!(rows(rig).await, before);
    }
    writer.done(store, next).await;
    writer.is_stored(store).await;
}

pub async fn an_applied_commit_is_found_by_its_exec_id(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let exec = ExecId::random();
    let mut next = writer.model.clone();
    next.write(USER, "f", "x");
    let (outcome, head) = writer.send(store, exec, &next.since(&writer.model)).await.unwrap();
    assert_eq!(outcome, CommitOutcome::Done { version: 1 });
    (writer.version, writer.head, writer.model) = (1, head, next);
    let applied = Resolution::Applied { version: 1, head };
    assert_eq!(store.resolve(writer.id, exec, "r", "alice").await.unwrap(), applied);
    writer.is_stored(store).await;
    let mut next = writer.model.clone();
    next.write(USER, "f", "later");
    writer.done(store, next).await;
    assert_eq!(
        store.resolve(writer.id, exec, "r", "alice").await.unwrap(),
        applied,
        "also under later commits"
    );
    writer.is_stored(store).await;
    assert!(store.delete(&Owner("alice".into()), writer.id).await.unwrap());
    assert_eq!(store.resolve(writer.id, exec, "r", "alice").await.unwrap(), applied, "also after deletion");
    let other = store.resolve(writer.id, ExecId::random(), "r", "alice").await.unwrap();
    assert_eq!(other, Resolution::Gone);
}

pub async fn a_commit_that_was_given_up_on_loses_when_it_comes_late(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let exec = ExecId::random();
    let mut late = writer.model.clone();
    late.write(USER, "f", "late");
    let late = late.since(&writer.model);
    assert_eq!(store.resolve(writer.id, exec, "req-9", "alice").await.unwrap(), Resolution::NotApplied);
    let row = store.probe(writer.id).await.unwrap().unwrap();
    assert_eq!(row.version, 1);
    assert_ne!(row.head, writer.head);
    assert_eq!(store.resolve(writer.id, exec, "req-9", "alice").await.unwrap(), Resolution::NotApplied);
    assert_eq!(store.probe(writer.id).await.unwrap().unwrap(), row, "asking again changes nothing");
    assert_eq!(writer.send(store, exec, &late).await.unwrap().0, CommitOutcome::Stale);
    assert_eq!(store.resolve(writer.id, exec, "req-9", "alice").await.unwrap(), Resolution::NotApplied);

    // A warm tree of the version before goes over the voided one without a full load.
    let (loaded, delta) = since(store, &writer, (0, writer.head)).await;
    assert_eq!((loaded.version, delta), (1, Some(Delta::default())));
    (writer.version, writer.head) = (row.version, row.head);
    let mut next = writer.model.clone();
    next.write(USER, "f", "after");
    writer.done(store, next).await;
    let (after, delta) = since(store, &writer, (1, row.head)).await;
    assert_eq!((after.version, delta.map(|it| it.dirents.len())), (2, Some(1)));
    writer.is_stored(store).await;
    let voided =
        "SELECT count(*) FROM exec_log WHERE outcome = 'voided' AND version = 1 AND request_id = 'req-9'";
    assert_eq!(rig.number(voided).await, 1);
}

pub async fn a_creation_that_was_given_up_on_loses_when_it_comes_late(rig: &Rig) {
    let store = &*rig.store;
    let new = new_sandbox("alice");
    assert_eq!(store.resolve(new.id, new.exec, "r", "alice").await.unwrap(), Resolution::Gone);
    store.create(&new, &Model::first().whole()).await.expect_err("its place is taken by a tombstone");
    assert!(store.probe(new.id).await.unwrap().is_none());
    assert_eq!(rig.number("SELECT count(*) FROM inodes").await, 0);
    let new = new_sandbox("alice");
    store.create(&new, &Model::first().whole()).await.unwrap();
    let applied = Resolution::Applied { version: 0, head: new.head };
    assert_eq!(store.resolve(new.id, new.exec, "r", "alice").await.unwrap(), applied);
}

pub async fn a_delta_is_only_told_in_the_history_it_was_asked_in(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let mut heads = vec![writer.head];
    for n in 0..4 {
        let mut next = writer.model.clone();
        next.write(USER, "f", format!("{n}"));
        writer.done(store, next).await;
        heads.push(writer.head);
    }
    let told = async |version: i64, head: Head| since(store, &writer, (version, head)).await.1.is_some();
    for (version, head) in heads.iter().enumerate() {
        assert!(told(version as i64, *head).await);
    }
    assert!(!told(2, Head::random()).await, "another history has other heads");
    assert!(!told(2, heads[3]).await, "the head of another version");
    assert!(!told(7, writer.head).await, "a version that is still to come");
    assert!(!told(-1, heads[0]).await);
    rig.run("UPDATE sandboxes SET history_from = 3").await;
    assert!(!told(2, heads[2]).await, "its rows may be pruned");
    assert!(told(3, heads[3]).await);
}

pub async fn a_large_change_set_is_stored_as_a_small_one(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let file = |n: usize| (format!("file-{n:05}"), Bytes::from(format!("content {}", n / 2)));
    let mut next = writer.model.clone();
    next.write_many(USER, (0..6_000).map(file));
    let before = store.statements();
    writer.done(store, next).await;
    if rig.is_postgres() {
        assert!(store.statements() - before > 3, "in chunks, in one explicit transaction");
    }
    writer.is_stored(store).await;

    // What ends and what begins in several chunks; a late chunk that fails undoes the first.
    let mut next = writer.model.clone();
    for inode in next.inodes.values_mut().filter(|inode| inode.ino > TMP) {
        inode.mtime_ns += 1;
    }
    let mut spoiled = next.since(&writer.model);
    spoiled.delta.ended_dirents.push((USER, "absent".into()));
    let counts = rows(rig).await;
    let error = writer.send(store, ExecId::random(), &spoiled).await.expect_err("it does not fit");
    assert!(matches!(error, sqlfs::store::StoreError::Inconsistent(_)), "{error:?}");
    assert_eq!(rows(rig).await, counts);
    let stale = Writer { head: Head::random(), ..writer.clone() };
    let (outcome, _) = stale.send(store, ExecId::random(), &next.since(&writer.model)).await.unwrap();
    assert_eq!(outcome, CommitOutcome::Stale);
    assert_eq!(rows(rig).await, counts);
    let before = (writer.version, writer.head, writer.model.clone());
    writer.done(store, next).await;
    writer.is_stored(store).await;
    let (row, delta) = since(store, &writer, (before.0, before.1)).await;
    assert!(before.2.apply(&delta.unwrap(), &row).same_rows(&writer.model));

    let mut whole = Model::first();
    whole.write_many(TMP, (0..3_000).map(file));
    Writer::create(store, "bob", whole).await.is_stored(store).await;
}
