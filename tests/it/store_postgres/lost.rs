//! Callers that go away, connections that break, locks that do not come.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sqlfs::clock;
use sqlfs::ids::ExecId;
use sqlfs::store::{CommitOutcome, Resolution, Store, StoreError};
use sqlx::{AssertSqlSafe, Executor};

use super::{USER, open};
use crate::support::model::{Model, Writer, leave_in_statement};
use crate::support::postgres::Database;

/// Waits until a query of the administrator gives `wanted`; shorter than the 10 s after
/// which the server ends an open transaction by itself.
async fn until(database: &Database, what: &str, sql: &str, wanted: i64) {
    let begun = clock::now();
    loop {
        let now = database.number(sql).await;
        if now == wanted {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(6), "{what}: {now} instead of {wanted}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

const HERE: &str = "datname = current_database() AND pid <> pg_backend_pid()";

/// Nothing of the store is left in the server: no open transaction, no advisory lock.
async fn nothing_is_held(database: &Database) {
    let open = format!("SELECT count(*) FROM pg_stat_activity WHERE {HERE} AND state <> 'idle'");
    until(database, "open transactions", &open, 0).await;
    let locks = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database \
                 WHERE l.locktype = 'advisory' AND d.datname = current_database()";
    assert_eq!(database.number(locks).await, 0, "an advisory lock is left");
}

/// What the store says of an exec, checked against its tree; the writer follows.
async fn settle(store: &dyn Store, writer: &mut Writer, exec: ExecId, next: &Model) -> bool {
    let resolution = store.resolve(writer.id, exec, "r", "alice").await.expect("resolved");
    let (row, stored) = writer.load(store).await;
    let applied = match resolution {
        Resolution::Applied { version, head } => {
            assert_eq!((row.version, row.head), (version, head));
            assert!(stored.same_rows(next), "applied means all of it");
            true
        }
        Resolution::NotApplied => {
            assert!(stored.same_rows(&writer.model), "not applied means nothing of it");
            false
        }
        Resolution::Gone => panic!("nobody deleted it"),
    };
    (writer.version, writer.head, writer.model) = (row.version, row.head, stored);
    applied
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_caller_leaves_holds_nothing() {
    let database = Database::new().await;
    let store = open(&database, 4).await;
    let mut writer = Writer::create(&*store, "alice", Model::first()).await;
    // A change set of several chunks: BEGIN, the compare-and-set, three chunks, COMMIT. The
    // caller leaves in each of these statements, and in the one call of a small change set.
    for (files, statements) in
        [(1, 1), (3_000, 1), (3_000, 2), (3_000, 3), (3_000, 4), (3_000, 5), (3_000, 6)]
    {
        let exec = ExecId::random();
        let mut next = writer.model.clone();
        next.write_many(
            USER,
            (0..files).map(|n| (format!("{statements}-{files}-{n}"), Bytes::from(format!("{n}")))),
        );
        let changes = next.since(&writer.model);
        let left = leave_in_statement(&*store, statements, writer.send(&*store, exec, &changes)).await;
        assert!(left, "the caller left in statement {statements} for {files} files");
        nothing_is_held(&database).await;
        settle(&*store, &mut writer, exec, &next).await;
        let mut next = writer.model.clone();
        next.write(USER, "afterwards", format!("{statements} {files}"));
        writer.done(&*store, next).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_was_given_up_on_while_it_waited_is_settled() {
    let database = Database::new().await;
    let store = open(&database, 4).await;
    let mut writer = Writer::create(&*store, "alice", Model::first()).await;
    for _ in 0..5 {
        let mut blocker = database.admin().await;
        let lock = format!("BEGIN; SELECT 1 FROM sandboxes WHERE id = '{}' FOR UPDATE", writer.id);
        sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut blocker).await.unwrap();
        let exec = ExecId::random();
        let mut next = writer.model.clone();
        next.write(USER, "f", format!("{}", writer.version));
        let sending = {
            let (store, writer, changes) = (Arc::clone(&store), writer.clone(), next.since(&writer.model));
            tokio::spawn(async move { writer.send(&*store, exec, &changes).await })
        };
        let waiting =
            format!("SELECT count(*) FROM pg_stat_activity WHERE {HERE} AND wait_event_type = 'Lock'");
        until(&database, "waiting commits", &waiting, 1).await;
        sending.abort();
        assert!(sending.await.is_err());
        // The backend does not know yet that nobody listens. The resolver waits behind it.
        let resolving = {
            let (store, mut writer, next) = (Arc::clone(&store), writer.clone(), next.clone());
            tokio::spawn(async move {
                let applied = settle(&*store, &mut writer, exec, &next).await;
                (writer, applied)
            })
        };
        until(&database, "commit and resolver", &waiting, 2).await;
        blocker.execute("ROLLBACK").await.unwrap();
        (writer, _) = resolving.await.unwrap();
        nothing_is_held(&database).await;
        // Whoever came late must not have changed what was answered.
        writer.is_stored(&*store).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_does_not_come_is_unavailable_and_nothing_is_applied() {
    let database = Database::new().await;
    let store = open(&database, 2).await;
    let mut writer = Writer::create(&*store, "alice", Model::first()).await;
    let mut blocker = database.admin().await;
    let lock = format!("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('{}', 0))", writer.id);
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut blocker).await.unwrap();
    let mut next = writer.model.clone();
    next.write(USER, "f", "x");
    let error = writer.commit(&*store, next.clone()).await.expect_err("the lock is held");
    assert!(matches!(&error, StoreError::Unavailable(text) if text.contains("55P03")), "{error:?}");
    // The resolver does not need the advisory lock: a sleeping holder cannot hold it up.
    let resolution = store.resolve(writer.id, ExecId::random(), "r", "alice").await.unwrap();
    assert_eq!(resolution, Resolution::NotApplied);
    blocker.execute("ROLLBACK").await.unwrap();
    nothing_is_held(&database).await;
    assert_eq!(writer.commit(&*store, next.clone()).await.unwrap(), CommitOutcome::Stale);
    let row = store.probe(writer.id).await.unwrap().unwrap();
    (writer.version, writer.head) = (row.version, row.head);
    writer.done(&*store, next).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_right_while_connections_are_cut() {
    let database = Database::new().await;
    let store = open(&database, 4).await;
    let mut writer = Writer::create(&*store, "alice", Model::first()).await;
    let cut = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {HERE} AND usename = '{}'",
        database.app_role()
    );
    let mut admin = database.admin().await;
    let mut cuts = 0;
    let (mut told, mut unknown, mut refused) = (0, 0, 0);
    for n in 0..200_u64 {
        let exec = ExecId::random();
        let mut next = writer.model.clone();
        next.write(USER, "f", format!("{n}"));
        let changes = next.since(&writer.model);
        // The cut comes at another moment in each round: before, in and after the commit.
        let cutting = async {
            tokio::time::sleep(Duration::from_micros(n * 37 % 4_000)).await;
            crate::support::postgres::number(&mut admin, &cut).await
        };
        let (sent, cut_now) = tokio::join!(writer.send(&*store, exec, &changes), cutting);
        cuts += cut_now;
        match sent {
            Ok((CommitOutcome::Done { version }, head)) => {
                assert_eq!(version, writer.version + 1);
                (writer.version, writer.head, writer.model) = (version, head, next);
                told += 1;
            }
            Ok((other, _)) => panic!("nobody else writes: {other:?}"),
            Err(StoreError::OutcomeUnknown(_)) => {
                unknown += 1;
                // Ask until it is answered; a cut may meet this too.
                let resolution = loop {
                    match store.resolve(writer.id, exec, "r", "alice").await {
                        Ok(resolution) => break resolution,
                        Err(StoreError::Unavailable(_)) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                };
                let (row, stored) = loop {
                    match store.load(writer.id, None).await {
                        Ok(Some((row, sqlfs::store::Loaded::Full { inodes, dirents }))) => {
                            let stored = Model::of(&inodes, &dirents, &row);
                            break (row, stored);
                        }
                        Err(StoreError::Unavailable(_)) => {}
                        other => panic!("{other:?}"),
                    }
                };
                let expected = match resolution {
                    Resolution::Applied { version, head } => {
                        assert_eq!((row.version, row.head), (version, head));
                        &next
                    }
                    Resolution::NotApplied => &writer.model,
                    Resolution::Gone => panic!("nobody deleted it"),
                };
                assert!(stored.same_rows(expected), "{resolution:?}");
                (writer.version, writer.head, writer.model) = (row.version, row.head, stored);
            }
            Err(StoreError::Unavailable(_)) => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    println!("{told} told, {unknown} unknown at first, {refused} not sent, {cuts} connections cut");
    assert!(cuts > 10 && told > 10 && unknown > 0);
    // The last cut may have left broken connections: one call finds out, the next is well.
    let _ = store.ping().await;
    writer.is_stored(&*store).await;
    assert_eq!(store.probe(writer.id).await.unwrap().unwrap().version, writer.version);
    nothing_is_held(&database).await;
}

#[tokio::test]
async fn connections_that_broke_while_idle_are_replaced_unseen() {
    let database = Database::new().await;
    let store = open(&database, 4).await;
    let writer = Writer::create(&*store, "alice", Model::first()).await;
    for _ in 0..3 {
        let (a, b, c) = tokio::join!(store.probe(writer.id), store.ping(), store.load(writer.id, None));
        a.unwrap();
        b.unwrap();
        c.unwrap();
        let cut = format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {HERE}");
        assert!(database.number(&cut).await >= 1);
        // Also those that were just being opened ahead.
        until(&database, "connections", &cut, 0).await;
        store.probe(writer.id).await.expect("a read is repeated on a new connection");
        let mut next = writer.clone();
        let mut model = writer.model.clone();
        model.write(USER, "f", "x");
        let row = store.probe(writer.id).await.unwrap().unwrap();
        (next.version, next.head) = (row.version, row.head);
        let empty =
            sqlfs::fs::ChangeSet { next_ino: row.next_ino, entries: row.entries, ..Default::default() };
        let sent = next
            .send(&*store, ExecId::random(), &empty)
            .await
            .expect("the others were closed with the first");
        assert_eq!(sent.0, CommitOutcome::Done { version: row.version + 1 });
    }
}

#[tokio::test]
async fn a_server_that_takes_no_connection_is_unavailable() {
    let database = Database::new().await;
    let store = open(&database, 2).await;
    let name = database.admin_url().rsplit('/').next().unwrap().to_owned();
    let cut =
        format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}'");
    let unavailable = |error: StoreError| assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    let mut admin = crate::support::postgres::connect(&crate::support::postgres::admin_url()).await;
    for closed in ["CONNECTION LIMIT 0", "ALLOW_CONNECTIONS false"] {
        admin.execute(AssertSqlSafe(format!("ALTER DATABASE {name} {closed}"))).await.unwrap();
        crate::support::postgres::number(&mut admin, &cut).await;
        unavailable(store.ping().await.expect_err(closed));
        let writer = Writer {
            id: sqlfs::ids::SandboxId::random(),
            head: sqlfs::ids::Head::random(),
            version: 0,
            model: Model::first(),
            fence: 1,
            at_ns: 0,
        };
        let sent = writer.send(&*store, ExecId::random(), &sqlfs::fs::ChangeSet::default()).await;
        unavailable(sent.expect_err("nothing could be sent"));
        admin
            .execute(AssertSqlSafe(format!(
                "ALTER DATABASE {name} CONNECTION LIMIT -1 ALLOW_CONNECTIONS true"
            )))
            .await
            .unwrap();
        store.ping().await.expect("it comes back by itself");
    }
    let nobody = "postgres://a:secret@127.0.0.1:1/none";
    let error =
        sqlfs::store::open(nobody, &sqlfs::store::Options::default()).await.expect_err("nobody listens");
    assert!(!error.to_string().contains("secret"));
    unavailable(error);
}
