//! Databases on the throw-away Postgres that `tests/run` starts and names in
//! SQLFS_TEST_POSTGRES (URL of an administrator). Each test has a database of its own,
//! copied from a migrated template, and two roles as in a deployment: one owns the tables,
//! one serves.

use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::postgres::{PgConnectOptions, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, PgConnection, Row, raw_sql};
use tokio::sync::{Mutex, OnceCell};

const OWNER: &str = "sqlfs_test_owner";
const APP: &str = "sqlfs_test_app";

/// URL of the administrator.
pub fn admin_url() -> String {
    #[expect(clippy::disallowed_methods, reason = "the test rig is told by tests/run")]
    std::env::var("SQLFS_TEST_POSTGRES").expect(
        "no Postgres to test on: run tests/run, which starts a throw-away one, or set SQLFS_TEST_POSTGRES",
    )
}

/// One database of its own, dropped at the end.
#[derive(Debug)]
pub struct Database {
    name: String,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);
static TEMPLATE: OnceCell<String> = OnceCell::const_new();
// One copy at a time: Postgres refuses a template that somebody else is copying.
static COPYING: Mutex<()> = Mutex::const_new(());

impl Database {
    /// With the schema, and what the serving role needs.
    pub async fn new() -> Self {
        let template = TEMPLATE.get_or_init(make_template).await;
        let copying = COPYING.lock().await;
        let database = Self::create(&format!("TEMPLATE {template}")).await;
        drop(copying);
        database
    }

    /// Without any schema, owned by the owner role.
    pub async fn empty() -> Self {
        make_roles().await;
        Self::create("").await
    }

    async fn create(how: &str) -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("sqlfs_test_{}_{number}", std::process::id());
        run(&admin_url(), &format!("CREATE DATABASE {name} OWNER {OWNER} {how}")).await;
        Self { name }
    }

    fn url(&self, role: &str) -> String {
        url_of(role, &self.name)
    }

    /// URL of the role that owns the tables.
    pub fn owner_url(&self) -> String {
        self.url(OWNER)
    }

    /// URL of the role that serves.
    pub fn app_url(&self) -> String {
        self.url(APP)
    }

    /// Name of the role that serves.
    #[expect(clippy::unused_self, reason = "reads better beside app_url")]
    pub fn app_role(&self) -> &'static str {
        APP
    }

    /// URL of the administrator, who is not subject to row-level security.
    pub fn admin_url(&self) -> String {
        let mut url = admin_url();
        let path = url.rfind('/').expect("the URL names a database");
        url.replace_range(path + 1.., &self.name);
        url
    }

    /// A connection of the administrator.
    pub async fn admin(&self) -> PgConnection {
        connect(&self.admin_url()).await
    }

    /// A connection of the role that serves.
    pub async fn app(&self) -> PgConnection {
        connect(&self.app_url()).await
    }

    /// A number that a query of the administrator gives.
    pub async fn number(&self, sql: &str) -> i64 {
        number(&mut self.admin().await, sql).await
    }

    /// Statements of the administrator.
    pub async fn run(&self, sql: &str) {
        run(&self.admin_url(), sql).await;
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        // Drop cannot wait for async work: a thread of its own does.
        let dropping = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(run(&admin_url(), &sql));
        });
        if dropping.join().is_err() {
            eprintln!("the database {} is left behind", self.name);
        }
    }
}

fn url_of(role: &str, database: &str) -> String {
    let admin = PgConnectOptions::from_str(&admin_url()).expect("SQLFS_TEST_POSTGRES is a URL");
    format!("postgres://{role}:{role}@{}:{}/{database}", admin.get_host(), admin.get_port())
}

async fn make_roles() {
    static MADE: OnceCell<()> = OnceCell::const_new();
    MADE.get_or_init(|| async {
        for role in [OWNER, APP] {
            // Another test process may make it in the same moment.
            let sql = format!(
                "DO $$ BEGIN CREATE ROLE {role} LOGIN PASSWORD '{role}'; \
                 EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
            );
            run(&admin_url(), &sql).await;
        }
    })
    .await;
}

async fn make_template() -> String {
    make_roles().await;
    let name = format!("sqlfs_template_{}", std::process::id());
    run(&admin_url(), &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    run(&admin_url(), &format!("CREATE DATABASE {name} OWNER {OWNER}")).await;
    let version = sqlfs::store::migrate(&url_of(OWNER, &name), Some(APP)).await.expect("the schema is made");
    assert_eq!(version, sqlfs::store::SCHEMA_VERSION);
    name
}

/// A connection.
pub async fn connect(url: &str) -> PgConnection {
    let options = PgConnectOptions::from_str(url).expect("a Postgres URL");
    options.connect().await.expect("the test Postgres answers")
}

/// The first column of the first row.
pub async fn number(connection: &mut PgConnection, sql: &str) -> i64 {
    let row: PgRow =
        connection.fetch_one(AssertSqlSafe(sql)).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    row.try_get(0).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Statements on a connection of their own.
pub async fn run(url: &str, sql: &str) {
    let mut connection = connect(url).await;
    raw_sql(AssertSqlSafe(sql))
        .execute(&mut connection)
        .await
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
}
