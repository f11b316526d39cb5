//! Row-level security as the real serving role, with the WHERE removed.

use sqlfs::ids::SandboxId;
use sqlx::{AssertSqlSafe, Executor, PgConnection, raw_sql};

use super::{USER, open};
use crate::support::model::{Model, Writer};
use crate::support::postgres::{Database, number};

const TABLES: [&str; 5] = ["sandboxes", "inodes", "dirents", "exec_log", "blobs"];

async fn two_sandboxes(database: &Database) -> (Writer, Writer) {
    let store = open(database, 2).await;
    let mut writers = Vec::new();
    for owner in ["alice", "bob"] {
        let mut writer = Writer::create(&*store, owner, Model::first()).await;
        for n in 0..3 {
            let mut next = writer.model.clone();
            next.write(USER, "f", format!("{owner} {n}"));
            writer.done(&*store, next).await;
        }
        writers.push(writer);
    }
    store.close().await;
    let bob = writers.pop().unwrap();
    (writers.pop().unwrap(), bob)
}

async fn sql(app: &mut PgConnection, sql: &str) -> Result<u64, String> {
    let done = raw_sql(AssertSqlSafe(sql)).execute(app).await;
    done.map(|it| it.rows_affected()).map_err(|error| match error.as_database_error() {
        Some(error) => error.code().unwrap_or_default().into_owned(),
        None => error.to_string(),
    })
}

/// Rows of all tables that the connection sees.
async fn seen(app: &mut PgConnection) -> Vec<i64> {
    let mut counts = Vec::new();
    for table in TABLES {
        counts.push(number(app, &format!("SELECT count(*) FROM {table}")).await);
    }
    counts
}

#[tokio::test]
async fn no_context_no_row() {
    let database = Database::new().await;
    let (alice, _) = two_sandboxes(&database).await;
    for table in TABLES {
        assert!(database.number(&format!("SELECT count(*) FROM {table}")).await > 1, "{table} has rows");
    }
    let mut app = database.app().await;
    assert_eq!(seen(&mut app).await, [0; 5], "never set");
    let enter = format!("SELECT sqlfs_enter('{}')", alice.id);
    sql(&mut app, &format!("BEGIN; {enter}; COMMIT")).await.unwrap();
    assert_eq!(seen(&mut app).await, [0; 5], "after a transaction the setting is an empty text");
    sql(&mut app, &format!("SELECT set_config('app.sandbox_id', '{}', false)", SandboxId::random()))
        .await
        .unwrap();
    assert_eq!(seen(&mut app).await, [0; 5], "another sandbox");
    sql(&mut app, "SELECT set_config('app.sandbox_id', 'garbage', false)").await.unwrap();
    assert_eq!(sql(&mut app, "SELECT * FROM inodes").await, Err("22P02".into()), "an error, not rows");
}

#[tokio::test]
async fn a_context_opens_its_own_sandbox_only() {
    let database = Database::new().await;
    let (alice, bob) = two_sandboxes(&database).await;
    let mut app = database.app().await;
    for (writer, other) in [(&alice, &bob), (&bob, &alice)] {
        sql(&mut app, &format!("BEGIN; SELECT set_config('app.sandbox_id', '{}', true)", writer.id))
            .await
            .unwrap();
        let mut expected = Vec::new();
        for (table, key) in TABLES.iter().zip(["id", "sandbox_id", "sandbox_id", "sandbox_id"]) {
            let own = format!("SELECT count(*) FROM {table} WHERE {key} = '{}'", writer.id);
            expected.push(database.number(&own).await);
        }
        expected.push(0);
        assert_eq!(seen(&mut app).await, expected, "contents have a context of their own");
        // Writes without a WHERE.
        assert_eq!(sql(&mut app, "UPDATE sandboxes SET cwd = '/tmp'").await, Ok(1));
        assert_eq!(sql(&mut app, "DELETE FROM dirents").await, Ok(expected[2] as u64));
        assert_eq!(sql(&mut app, "DELETE FROM blobs").await, Ok(0));
        let foreign = format!(
            "INSERT INTO dirents (sandbox_id, parent_ino, name, ino, valid_from) VALUES ('{}', 1, 'x', 2, 9)",
            other.id
        );
        assert_eq!(sql(&mut app, &foreign).await, Err("42501".into()), "no row into another sandbox");
        sql(&mut app, "ROLLBACK").await.unwrap();
        sql(&mut app, &format!("BEGIN; SELECT set_config('app.sandbox_id', '{}', true)", writer.id))
            .await
            .unwrap();
        let moved = format!("UPDATE dirents SET sandbox_id = '{}'", other.id);
        assert_eq!(sql(&mut app, &moved).await, Err("42501".into()), "no row moves into another sandbox");
        sql(&mut app, "ROLLBACK").await.unwrap();
    }
}

#[tokio::test]
async fn the_owners_context_lists_and_does_no_more() {
    let database = Database::new().await;
    let (alice, _) = two_sandboxes(&database).await;
    let mut app = database.app().await;
    sql(&mut app, "BEGIN; SELECT set_config('app.owner', 'alice', true)").await.unwrap();
    assert_eq!(seen(&mut app).await, [1, 0, 0, 0, 0]);
    let id = format!("SELECT count(*) FROM sandboxes WHERE id = '{}'", alice.id);
    assert_eq!(number(&mut app, &id).await, 1);
    assert_eq!(sql(&mut app, "UPDATE sandboxes SET cwd = '/tmp'").await, Ok(0));
    sql(&mut app, "ROLLBACK; BEGIN; SELECT set_config('app.owner', '', true)").await.unwrap();
    assert_eq!(seen(&mut app).await, [0; 5]);
}

#[tokio::test]
async fn maintenance_sees_all_and_only_when_it_says_so() {
    let database = Database::new().await;
    two_sandboxes(&database).await;
    let mut app = database.app().await;
    for value in ["", "off", "ON", "true", "1"] {
        sql(&mut app, &format!("SELECT set_config('app.maintenance', '{value}', false)")).await.unwrap();
        assert_eq!(seen(&mut app).await, [0; 5], "{value:?}");
    }
    sql(&mut app, "BEGIN; SELECT set_config('app.maintenance', 'on', true)").await.unwrap();
    assert!(seen(&mut app).await.iter().all(|rows| *rows > 1));
}

#[tokio::test]
async fn the_owner_of_the_tables_is_subject_to_it_too() {
    let database = Database::new().await;
    two_sandboxes(&database).await;
    let mut owner = crate::support::postgres::connect(&database.owner_url()).await;
    assert_eq!(seen(&mut owner).await, [0; 5]);
}

#[tokio::test]
async fn the_serving_role_cannot_go_round_it() {
    let database = Database::new().await;
    two_sandboxes(&database).await;
    let mut app = database.app().await;
    for refused in [
        "TRUNCATE inodes",
        "DELETE FROM sandboxes",
        "ALTER TABLE inodes DISABLE ROW LEVEL SECURITY",
        "DROP POLICY sandbox ON inodes",
        "CREATE POLICY mine ON inodes USING (true)",
        "INSERT INTO sqlfs_schema VALUES (2, 2, 0)",
        "SET ROLE sqlfs_test_owner",
    ] {
        assert_eq!(sql(&mut app, refused).await, Err("42501".into()), "{refused}");
    }
    let definers = "SELECT count(*) FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace";
    assert_eq!(database.number(definers).await, 0, "no function runs with foreign rights");
    let functions = "SELECT count(*) FROM pg_proc WHERE proname LIKE 'sqlfs%'";
    assert!(database.number(functions).await > 10);
    let open = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace \
                AND relname <> 'sqlfs_schema' AND NOT (relrowsecurity AND relforcerowsecurity)";
    assert_eq!(database.number(open).await, 0, "every table but the schema's own");
    app.execute("SELECT 1").await.unwrap();
}
