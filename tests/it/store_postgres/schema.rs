//! Migrations: all or nothing, once, by whoever comes first; and which schemas are refused.

use sqlfs::store::{CommitOutcome, Options, SCHEMA_VERSION, StoreError};

use super::{USER, refusal};
use crate::support::model::{Model, Writer};
use crate::support::postgres::Database;

const AUTO: Options = Options { pool_size: 2, auto_migrate: true };
const MANUAL: Options = Options { pool_size: 2, auto_migrate: false };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_starters_at_once_make_the_schema_once() {
    let database = Database::empty().await;
    let mut starters = Vec::new();
    for n in 0..8 {
        let url = database.owner_url();
        starters.push(tokio::spawn(async move {
            if n % 2 == 0 {
                assert_eq!(sqlfs::store::migrate(&url, None).await.unwrap(), SCHEMA_VERSION);
            } else {
                sqlfs::store::open(&url, &AUTO).await.unwrap().close().await;
            }
        }));
    }
    for starter in starters {
        starter.await.unwrap();
    }
    assert_eq!(database.number("SELECT count(*) FROM sqlfs_schema").await, i64::from(SCHEMA_VERSION));
}

#[tokio::test]
async fn one_ordinary_role_that_owns_the_tables_is_enough() {
    let database = Database::empty().await;
    let store = sqlfs::store::open(&database.owner_url(), &AUTO).await.unwrap();
    let mut writer = Writer::create(&*store, "alice", Model::first()).await;
    let mut next = writer.model.clone();
    next.write(USER, "f", "x");
    assert_eq!(writer.commit(&*store, next).await.unwrap(), CommitOutcome::Done { version: 1 });
    writer.is_stored(&*store).await;
    let settings = "SELECT count(*) FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase \
                    WHERE d.datname = current_database() AND s.setconfig::text LIKE '%statement_timeout=60s%'";
    assert_eq!(database.number(settings).await, 1, "the role's statements are bounded");
    store.close().await;
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing() {
    let database = Database::empty().await;
    // In the way of the last of the tables.
    database.run("CREATE TABLE exec_log (x int)").await;
    let error = sqlfs::store::migrate(&database.owner_url(), None).await.expect_err("a table is in the way");
    assert!(matches!(error, StoreError::Inconsistent(_)), "{error:?}");
    let left = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
    assert_eq!(database.number(left).await, 1);
    assert_eq!(database.number("SELECT count(*) FROM pg_proc WHERE proname LIKE 'sqlfs%'").await, 0);
    database.run("DROP TABLE exec_log").await;
    assert_eq!(sqlfs::store::migrate(&database.owner_url(), None).await.unwrap(), SCHEMA_VERSION);
}

#[tokio::test]
async fn an_older_schema_is_refused_when_it_may_not_be_brought_up() {
    let database = Database::empty().await;
    let line = refusal(sqlfs::store::open(&database.owner_url(), &MANUAL).await);
    assert!(line.contains("version 0") && line.contains("sqlfs migrate"), "{line}");
    // Nor by a role that may not.
    let line = refusal(sqlfs::store::open(&database.app_url(), &AUTO).await);
    assert!(line.contains("MIGRATE_DATABASE_URL"), "{line}");
    let line = refusal(sqlfs::store::migrate(&database.owner_url(), Some("no such \"role\"")).await);
    assert!(line.contains("no such"), "{line}");
    let left = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
    assert_eq!(database.number(left).await, 0, "nothing was made on the way");
}

#[tokio::test]
async fn a_newer_schema_says_which_binaries_may_use_it() {
    let database = Database::new().await;
    database.run("INSERT INTO sqlfs_schema VALUES (98, 1, 0)").await;
    sqlfs::store::open(&database.app_url(), &AUTO).await.expect("it says that this binary may").close().await;
    database.run("INSERT INTO sqlfs_schema VALUES (99, 99, 0)").await;
    for options in [AUTO, MANUAL] {
        let line = refusal(sqlfs::store::open(&database.app_url(), &options).await);
        assert!(line.contains("99") && line.contains("newer sqlfs"), "{line}");
    }
    refusal(sqlfs::store::migrate(&database.owner_url(), None).await);
    assert_eq!(database.number("SELECT count(*) FROM sqlfs_schema").await, i64::from(SCHEMA_VERSION) + 2);
}
