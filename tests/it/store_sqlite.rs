//! What is SQLite's own: the settings, and the exclusive hold on the folder.

use std::path::Path;

use sqlfs::store::{Options, StoreError, StoreResult, Verdict};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, raw_sql};

use crate::support::model::{Model, Writer, leave_in_statement};

fn url(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("data/sqlfs.db").display())
}

fn refusal<T: std::fmt::Debug>(opened: StoreResult<T>) -> String {
    match opened {
        Err(StoreError::Refused(line)) => line,
        other => panic!("it should be refused: {other:?}"),
    }
}

#[tokio::test]
async fn the_settings_that_durability_needs_are_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlfs::store::open(&url(folder.path()), &Options::default()).await.unwrap();
    let checks = store.checks().await.unwrap();
    for name in ["journal_mode", "synchronous", "foreign_keys", "schema"] {
        let check = checks.iter().find(|check| check.name == name).unwrap();
        assert_eq!(check.verdict, Verdict::Ok, "{check:?}");
    }
    assert!(folder.path().join("data/sqlfs.db-wal").exists(), "a write-ahead log is in use");
    store.close().await;
}

#[tokio::test]
async fn the_folder_has_one_holder() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path());
    let absent = sqlfs::store::checks(&url).await.unwrap();
    assert_eq!((absent.len(), absent[0].verdict), (1, Verdict::Warn), "{absent:?}");
    assert!(!folder.path().join("data").exists(), "looking makes nothing");
    let store = sqlfs::store::open(&url, &Options::default()).await.unwrap();
    let line = refusal(sqlfs::store::open(&url, &Options::default()).await);
    let name = folder.path().join("data").display().to_string();
    let process = std::process::id().to_string();
    assert!(line.contains(&name) && line.contains(&process) && !line.contains('\n'), "{line}");
    refusal(sqlfs::store::migrate(&url, None).await);
    assert_eq!(sqlfs::store::checks(&url).await.unwrap()[0].verdict, Verdict::Refuse);
    let mut writer = Writer::create(&*store, "alice", Model::first()).await;
    let mut next = writer.model.clone();
    next.write(3, "f", "x");
    writer.done(&*store, next).await;
    store.close().await;
    let store = sqlfs::store::open(&url, &Options::default()).await.expect("closing lets go");
    writer.is_stored(&*store).await;
    drop(store);
    sqlfs::store::open(&url, &Options::default()).await.expect("so does dropping").close().await;
}

#[tokio::test]
async fn schemas_that_cannot_be_used_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path());
    let manual = Options { auto_migrate: false, ..Options::default() };
    let line = refusal(sqlfs::store::open(&url, &manual).await);
    assert!(line.contains("sqlfs migrate"), "{line}");
    assert_eq!(sqlfs::store::migrate(&url, None).await.unwrap(), sqlfs::store::SCHEMA_VERSION);
    assert!(refusal(sqlfs::store::migrate(&url, Some("role")).await).contains("no roles"));
    sqlfs::store::open(&url, &manual).await.unwrap().close().await;
    let file = folder.path().join("data/sqlfs.db");
    let mut connection = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    raw_sql("INSERT INTO sqlfs_schema VALUES (99, 99, 0)").execute(&mut connection).await.unwrap();
    drop(connection);
    let line = refusal(sqlfs::store::open(&url, &Options::default()).await);
    assert!(line.contains("newer sqlfs"), "{line}");
    std::fs::write(folder.path().join("data/other.db"), b"this is no database, whatever its name says")
        .unwrap();
    let other = format!("sqlite:{}", folder.path().join("data/other.db").display());
    refusal(sqlfs::store::open(&other, &Options::default()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_caller_leaves_holds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlfs::store::open(&url(folder.path()), &Options::default()).await.unwrap();
    let mut writer = Writer::create(&*store, "alice", Model::first()).await;
    // BEGIN, the compare-and-set, the log, a content for each file, inodes, names, COMMIT.
    for statements in 1..=26 {
        let exec = sqlfs::ids::ExecId::random();
        let mut next = writer.model.clone();
        next.write_many(
            3,
            (0..20).map(|n| (format!("{statements}-{n}"), format!("{n} of {statements}").into())),
        );
        let changes = next.since(&writer.model);
        let left = leave_in_statement(&*store, statements, writer.send(&*store, exec, &changes)).await;
        assert!(left, "the caller left in statement {statements}");
        let resolution = store.resolve(writer.id, exec, "r", "alice").await.expect("the writer is free");
        let (row, stored) = writer.load(&*store).await;
        let expected = match resolution {
            sqlfs::store::Resolution::Applied { .. } => &next,
            sqlfs::store::Resolution::NotApplied => &writer.model,
            sqlfs::store::Resolution::Gone => panic!("nobody deleted it"),
        };
        assert!(stored.same_rows(expected), "{resolution:?}");
        (writer.version, writer.head, writer.model) = (row.version, row.head, stored);
    }
    store.close().await;
}
