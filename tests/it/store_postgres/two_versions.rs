//! Two versions share a database: whatever the oldest binary that a schema allows makes use of
//! is still there, and goes on working while the schema is brought up.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlfs::ids::Owner;
use sqlfs::store::{Options, Page, Retention, SCHEMA_VERSION};
use sqlx::{Executor, Row};

use super::USER;
use crate::support::model::{Model, Writer};
use crate::support::postgres::{Database, run};

/// The text of each step, in order.
fn steps() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").map(|f| f.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).expect("a step")).collect()
}

/// The oldest schema version whose binaries may use the newest schema.
async fn oldest() -> usize {
    let database = Database::new().await;
    let oldest = "SELECT oldest_binary FROM sqlfs_schema ORDER BY version DESC LIMIT 1";
    usize::try_from(database.number(&format!("SELECT ({oldest})::bigint")).await).expect("a version")
}

/// Makes the schema of version `version`, as its binaries did.
async fn make(database: &Database, version: usize) {
    let mut sql = "CREATE TABLE sqlfs_schema (version integer PRIMARY KEY, oldest_binary integer NOT NULL, \
                   applied_at bigint NOT NULL);\n"
        .to_owned();
    for (n, step) in steps().iter().enumerate().take(version) {
        sql.push_str(step);
        let _ = write!(sql, ";\nINSERT INTO sqlfs_schema VALUES ({}, 1, 0);\n", n + 1);
    }
    run(&database.owner_url(), &sql).await;
}

/// All that a binary can meet, a line each, each with its kind and its table before it.
async fn described(database: &Database) -> Vec<String> {
    let sql = "SELECT format('table %s, row security %s %s', relname, relrowsecurity, relforcerowsecurity) \
           FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' \
         UNION ALL SELECT format('column %s %s %s, %s', relname, attname, atttypid::regtype, CASE \
             WHEN atthasdef THEN 'default ' || pg_get_expr(adbin, adrelid) \
             WHEN attnotnull THEN 'must be given' ELSE 'may be null' END) \
           FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid \
           LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum \
           WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND relkind = 'r' \
         UNION ALL SELECT format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid)) \
           FROM pg_constraint WHERE connamespace = 'public'::regnamespace \
         UNION ALL SELECT format('policy %s %s %s %s %s %s', polrelid::regclass, polname, polcmd, polpermissive, \
                                 pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) \
           FROM pg_policy \
         UNION ALL SELECT format('%s %s %s', CASE WHEN indisunique THEN 'constraint' ELSE 'index' END, \
                                 indrelid::regclass, pg_get_indexdef(indexrelid)) \
           FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE relnamespace = 'public'::regnamespace \
         UNION ALL SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc \
           WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'";
    let mut admin = database.admin().await;
    let rows = admin.fetch_all(sqlx::AssertSqlSafe(sql)).await.expect("a description");
    rows.iter().map(|row| row.try_get(0).expect("text")).collect()
}

/// New lines that may refuse a row of a binary which does not know of them.
fn tightened<'a>(before: &[String], after: &'a [String]) -> Vec<&'a String> {
    let of = |line: &str, kind: &str| -> Option<String> {
        Some(line.strip_prefix(kind)?.split([' ', ',']).next()?.to_owned())
    };
    let old: Vec<String> = before.iter().filter_map(|line| of(line, "table ")).collect();
    let refuses = |line: &str| {
        let table = of(line, "constraint ")
            .or_else(|| of(line, "policy "))
            .or_else(|| line.ends_with(", must be given").then(|| of(line, "column ")).flatten());
        table.is_some_and(|table| old.contains(&table))
    };
    after.iter().filter(|line| !before.contains(line) && refuses(line)).collect()
}

#[tokio::test]
async fn the_newest_schema_only_adds_to_what_the_oldest_binary_knows() {
    let (oldest, database) = (oldest().await, Database::empty().await);
    make(&database, oldest).await;
    let before = described(&database).await;
    let functions = before.iter().filter(|line| line.starts_with("function ")).count();
    assert!(functions > 10 && before.len() > 60, "{functions} functions in {} lines", before.len());
    assert_eq!(sqlfs::store::migrate(&database.owner_url(), None).await.unwrap(), SCHEMA_VERSION);
    let after = described(&database).await;
    let missing: Vec<&String> = before.iter().filter(|line| !after.contains(line)).collect();
    assert!(missing.is_empty(), "taken away or changed: {missing:#?}");
    assert_eq!(tightened(&before, &after), Vec::<&String>::new(), "rows of older binaries may be refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_goes_on_while_the_schema_is_brought_up() {
    const BEFORE: i64 = 20;
    const AFTER: i64 = 40;
    let oldest = oldest().await;
    let database = Database::empty().await;
    // A store asks for the schema when it is opened, and never again: so this one stands for
    // a binary of the older version from here on.
    let options = Options { pool_size: 4, auto_migrate: true };
    let store = sqlfs::store::open(&database.owner_url(), &options).await.unwrap();
    run(&database.admin_url(), "DROP SCHEMA public CASCADE").await;
    run(&database.owner_url(), "CREATE SCHEMA public").await;
    make(&database, oldest).await;

    let up = Arc::new(AtomicBool::new(false));
    let (reached, mut reach) = tokio::sync::watch::channel(0);
    let mut writers = Vec::new();
    for n in 0..2 {
        let (store, up, reached) = (Arc::clone(&store), Arc::clone(&up), reached.clone());
        let mut writer = Writer::create(&*store, &format!("owner-{n}"), Model::first()).await;
        writers.push(tokio::spawn(async move {
            let mut left = AFTER;
            while left > 0 {
                let mut next = writer.model.clone();
                next.write(USER, &format!("f-{}", writer.version % 7), format!("{n} {}", writer.version));
                // Panics on anything but "done": no error, no lost commit.
                writer.done(&*store, next).await;
                reached.send_if_modified(|most| {
                    std::mem::replace(most, writer.version.max(*most)) < writer.version
                });
                left -= i64::from(up.load(Ordering::Acquire));
            }
            writer.is_stored(&*store).await;
            writer
        }));
    }
    reach.wait_for(|version| *version >= BEFORE).await.expect("writers");
    assert_eq!(sqlfs::store::migrate(&database.owner_url(), None).await.unwrap(), SCHEMA_VERSION);
    up.store(true, Ordering::Release);
    for (n, writer) in writers.into_iter().enumerate() {
        let writer = writer.await.expect("a writer");
        assert!(writer.version >= AFTER, "it went on: {}", writer.version);
        // What is done beside writing goes on too.
        let owner = Owner(format!("owner-{n}").into());
        let listed = store.list(&owner, &Page { limit: 9, ..Page::default() }).await.unwrap();
        assert_eq!(listed.iter().map(|row| row.id).collect::<Vec<_>>(), [writer.id]);
        assert!(store.delete(&owner, writer.id).await.unwrap());
    }
    let all = Retention {
        versions: 0,
        older_than_ns: i64::MAX,
        younger_than_ns: i64::MAX,
        bytes: 0,
        log_older_than_ns: i64::MAX,
    };
    store.prune_history(&all, 1000).await.unwrap();
    assert!(store.purge_deleted(i64::MAX, 10_000).await.unwrap() > 0);
    assert!(store.gc_blobs(i64::MAX, 1000).await.unwrap().deleted > 0);
    store.close().await;
}
