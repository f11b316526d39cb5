//! What a call costs, counted in statements and in blocks of the database, never in time.

use bytes::Bytes;
use sqlfs::store::{Loaded, Page, Store};

use super::{USER, open};
use crate::support::model::{Model, Writer};
use crate::support::postgres::Database;

#[tokio::test]
async fn one_statement_for_a_probe_and_one_for_a_commit() {
    let database = Database::new().await;
    let store = open(&database, 2).await;
    let mut writer = Writer::create(&*store, "alice", Model::first()).await;
    let before = store.statements();
    store.probe(writer.id).await.unwrap();
    assert_eq!(store.statements() - before, 1);
    for files in [1, 10, 1_300] {
        let mut next = writer.model.clone();
        next.write_many(USER, (0..files).map(|n| (format!("of-{files}-{n}"), Bytes::from(format!("{n}")))));
        let before = store.statements();
        writer.done(&*store, next).await;
        assert_eq!(store.statements() - before, 1, "{files} files");
    }
    writer.is_stored(&*store).await;
    let before = store.statements();
    assert!(store.keep_cwd(writer.id, writer.head, "/tmp").await.unwrap());
    store.list(&sqlfs::ids::Owner("alice".into()), &Page { limit: 10, ..Page::default() }).await.unwrap();
    assert_eq!(store.statements() - before, 2);
}

/// Blocks of tables and indexes that were looked at so far, by backends that have ended.
async fn blocks(database: &Database) -> i64 {
    let app = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE usename = '{}' AND datname = current_database()",
        database.app_role()
    );
    // A backend reports when it ends.
    while database.number(&app).await > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    database
        .number(
            "SELECT CAST(sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0)) \
             AS bigint) FROM pg_statio_user_tables",
        )
        .await
}

/// Overwrites one file after another and reloads what changed; blocks for one of each.
async fn cost(database: &Database, writer: &mut Writer) -> (i64, i64) {
    const ROUNDS: i64 = 40;
    let before = blocks(database).await;
    let store = open(database, 1).await;
    for n in 0..ROUNDS {
        let mut next = writer.model.clone();
        next.write(USER, &format!("file-{:05}", n * 7), format!("round {n} of {}", writer.version));
        writer.done(&*store, next).await;
    }
    store.close().await;
    let commits = blocks(database).await - before;
    let store = open(database, 1).await;
    let (version, head) = (writer.version, writer.head);
    let mut next = writer.model.clone();
    next.write(USER, "file-00001", format!("after {version}"));
    writer.done(&*store, next).await;
    store.close().await;
    let before = blocks(database).await;
    let store = open(database, 1).await;
    for _ in 0..ROUNDS {
        let (_, loaded) = store.load(writer.id, Some((version, head))).await.unwrap().unwrap();
        let Loaded::Delta(delta) = loaded else { panic!("one version back is a delta") };
        assert_eq!((delta.inodes.len(), delta.ended_inodes.len()), (1, 1));
    }
    store.close().await;
    let loads = blocks(database).await - before;
    (commits / ROUNDS, loads / ROUNDS)
}

/// A sandbox of so many files, in a database of its own.
async fn sandbox(files: usize) -> (Database, Writer) {
    let database = Database::new().await;
    let store = open(&database, 1).await;
    let mut model = Model::first();
    model.write_many(USER, (0..files).map(|n| (format!("file-{n:05}"), Bytes::from(format!("content {n}")))));
    let writer = Writer::create(&*store, "alice", model).await;
    store.close().await;
    (database, writer)
}

#[tokio::test]
async fn a_commit_and_a_delta_cost_the_same_in_a_small_and_in_a_large_sandbox() {
    let (small_database, mut small) = sandbox(1_000).await;
    let (large_database, mut large) = sandbox(30_000).await;
    let base = cost(&small_database, &mut small).await;
    // An index of 30,000 rows may be one or two levels deeper than one of 1,000.
    let check = |what: &str, (commit, load): (i64, i64)| {
        println!("blocks {what}: commit {commit} (small {}), delta {load} (small {})", base.0, base.1);
        assert!(
            commit <= base.0 * 2,
            "{what}: {commit} blocks for a commit, {} in the small sandbox",
            base.0
        );
        assert!(load <= base.1 * 2, "{what}: {load} blocks for a delta, {} in the small sandbox", base.1);
    };
    assert!(base.0 > 0 && base.0 < 200, "{} blocks for a commit in a sandbox of 1,000 files", base.0);
    check("without statistics", cost(&large_database, &mut large).await);
    large_database.run("ANALYZE").await;
    small_database.run("VACUUM ANALYZE").await;
    check("small, fresh statistics", cost(&small_database, &mut small).await);
    check("fresh statistics", cost(&large_database, &mut large).await);
    large_database.run("VACUUM ANALYZE").await;
    check("after a vacuum", cost(&large_database, &mut large).await);
}

/// Blocks that were looked at so far, those of the store's one connection included.
async fn reported(database: &Database, store: &dyn Store) -> i64 {
    let sql = "SELECT CAST(sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read, 0) + \
               coalesce(idx_blks_hit, 0)) AS bigint) FROM pg_statio_user_tables";
    // A backend reports at the end of a transaction, at most once a second: the last one is
    // a ping, which looks at no table.
    tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
    store.ping().await.unwrap();
    database.number(sql).await
}

/// Plans that were cached over empty tables live on while the sandbox grows under them.
#[tokio::test]
async fn plans_that_were_made_over_empty_tables_do_not_hurt_later() {
    let database = Database::new().await;
    database.run("VACUUM ANALYZE").await;
    let store = open(&database, 1).await;
    let mut writer = Writer::create(&*store, "alice", Model::first()).await;
    let overwrite = async |store: &dyn Store, writer: &mut Writer, rounds: i64| {
        let before = reported(&database, store).await;
        for n in 0..rounds {
            let since = (writer.version, writer.head);
            let mut next = writer.model.clone();
            next.write(USER, "file", format!("{n} of {}", writer.version));
            writer.done(store, next).await;
            store.load(writer.id, Some(since)).await.unwrap();
        }
        (reported(&database, store).await - before) / rounds
    };
    // A plan is kept from the sixth call on.
    overwrite(&*store, &mut writer, 10).await;
    for part in 0..10 {
        let mut next = writer.model.clone();
        let files = (part * 2_000)..((part + 1) * 2_000);
        next.write_many(USER, files.map(|n| (format!("file-{n:05}"), Bytes::from(format!("content {n}")))));
        writer.done(&*store, next).await;
    }
    let old = overwrite(&*store, &mut writer, 20).await;
    store.close().await;
    database.run("ANALYZE").await;
    let fresh = open(&database, 1).await;
    overwrite(&*fresh, &mut writer, 10).await;
    let new = overwrite(&*fresh, &mut writer, 20).await;
    println!("blocks for a commit and a delta: {old} with old plans, {new} with new ones");
    assert!(old > 0 && old <= new * 3 / 2, "{old} blocks with old plans, {new} with new ones");
}
