//! Start-up checks on installations that break a promise.

use sqlfs::store::{Options, Verdict};

use super::{open, refusal};
use crate::support::postgres::Database;

async fn refused(url: &str, name: &str) -> String {
    let line = refusal(sqlfs::store::open(url, &Options { pool_size: 2, auto_migrate: false }).await);
    let checks = sqlfs::store::checks(url).await.expect("doctor looks at what start-up refuses");
    let bad: Vec<_> = checks.iter().filter(|check| check.verdict == Verdict::Refuse).collect();
    assert!(bad.iter().any(|check| check.name == name), "{name} in {bad:?}");
    line
}

#[tokio::test]
async fn a_good_installation_passes() {
    let database = Database::new().await;
    let checks = sqlfs::store::checks(&database.app_url()).await.unwrap();
    assert!(checks.iter().all(|check| check.verdict == Verdict::Ok), "{checks:?}");
    let names: Vec<_> = checks.iter().map(|check| check.name).collect();
    for name in [
        "server",
        "role",
        "fsync",
        "full_page_writes",
        "synchronous_commit",
        "schema",
        "row-level security",
        "functions",
        "owner",
        "self-test",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert_eq!(database.number("SELECT count(*) FROM sandboxes").await, 0, "the self-test leaves nothing");
    let owner = sqlfs::store::checks(&database.owner_url()).await.unwrap();
    let warned: Vec<_> = owner.iter().filter(|check| check.verdict != Verdict::Ok).collect();
    assert!(
        warned.len() == 1 && warned[0].name == "owner" && warned[0].verdict == Verdict::Warn,
        "{warned:?}"
    );
    let empty = Database::empty().await;
    let checks = sqlfs::store::checks(&empty.owner_url()).await.unwrap();
    assert!(
        checks.iter().any(|check| check.name == "schema" && check.verdict == Verdict::Warn),
        "{checks:?}"
    );
}

#[tokio::test]
async fn roles_that_bypass_row_level_security_are_refused() {
    let database = Database::new().await;
    let line = refused(&database.admin_url(), "role").await;
    assert!(line.contains("superuser") && line.contains("--grant-to"), "{line}");
    let role = format!("bypass_{}", std::process::id());
    database
        .run(&format!("CREATE ROLE {role} LOGIN PASSWORD '{role}' BYPASSRLS IN ROLE {}", database.app_role()))
        .await;
    let url =
        database.app_url().replacen(&format!("{0}:{0}", database.app_role()), &format!("{role}:{role}"), 1);
    let line = refused(&url, "role").await;
    database.run(&format!("DROP ROLE {role}")).await;
    assert!(line.contains("BYPASSRLS"), "{line}");
}

#[tokio::test]
async fn settings_and_tables_that_break_a_promise_are_refused() {
    let database = Database::new().await;
    let name = database.admin_url().rsplit('/').next().unwrap().to_owned();
    for (check, spoil, mend) in [
        (
            "synchronous_commit",
            format!("ALTER DATABASE {name} SET synchronous_commit = off"),
            format!("ALTER DATABASE {name} RESET synchronous_commit"),
        ),
        (
            "server",
            format!("ALTER DATABASE {name} SET default_transaction_read_only = on"),
            format!("BEGIN READ WRITE; ALTER DATABASE {name} RESET default_transaction_read_only; COMMIT"),
        ),
        (
            "row-level security",
            "ALTER TABLE dirents DISABLE ROW LEVEL SECURITY".into(),
            "ALTER TABLE dirents ENABLE ROW LEVEL SECURITY".into(),
        ),
        (
            "row-level security",
            "ALTER TABLE blobs NO FORCE ROW LEVEL SECURITY".into(),
            "ALTER TABLE blobs FORCE ROW LEVEL SECURITY".into(),
        ),
        (
            "self-test",
            "CREATE POLICY hole ON sandboxes USING (true)".into(),
            "DROP POLICY hole ON sandboxes".into(),
        ),
        (
            "functions",
            "ALTER FUNCTION sqlfs_probe SECURITY DEFINER".into(),
            "ALTER FUNCTION sqlfs_probe SECURITY INVOKER".into(),
        ),
    ] {
        database.run(&spoil).await;
        refused(&database.app_url(), check).await;
        database.run(&mend).await;
        open(&database, 1).await.close().await;
    }
}

#[tokio::test]
async fn urls_that_name_no_store_are_refused_without_telling_secrets() {
    let options = Options::default();
    for url in ["", "mysql://u:secret@h/d", "sqlite:", "postgres://u:secret@h:notaport/d", "secret"] {
        let line = refusal(sqlfs::store::open(url, &options).await);
        assert!(!line.contains("secret"), "{line}");
    }
    let database = Database::new().await;
    let wrong = database.app_url().replacen(&format!(":{}@", database.app_role()), ":wrong@", 1);
    let line = refusal(sqlfs::store::open(&wrong, &options).await);
    assert!(line.contains("28P01"), "{line}");
}
