//! Throw-away databases on the Postgres of `SQLFS_TEST_POSTGRES` (an admin's URL).

use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, Executor, PgConnection};

/// A database of its own, owned by a role that is no superuser.
pub struct Database {
    url: String,
}

impl Database {
    /// Makes one; `None` without `SQLFS_TEST_POSTGRES`.
    pub async fn fresh() -> Option<Self> {
        #[expect(clippy::disallowed_methods, reason = "tests are told where Postgres is")]
        let Ok(admin) = std::env::var("SQLFS_TEST_POSTGRES") else {
            eprintln!("not run: SQLFS_TEST_POSTGRES is not set");
            return None;
        };
        let options = PgConnectOptions::from_str(&admin).expect("SQLFS_TEST_POSTGRES is a URL");
        let name = format!("sqlfs_test_{}", uuid::Uuid::new_v4().simple());
        let mut connection = PgConnection::connect_with(&options).await.expect("Postgres answers");
        for sql in [
            format!("CREATE ROLE {name} LOGIN PASSWORD 'app' NOSUPERUSER NOBYPASSRLS"),
            format!("CREATE DATABASE {name} OWNER {name}"),
        ] {
            connection.execute(sqlx::AssertSqlSafe(sql)).await.expect("a new database");
        }
        let url = format!("postgres://{name}:app@{}:{}/{name}", options.get_host(), options.get_port());
        Some(Self { url })
    }

    /// URL for the app role.
    pub fn url(&self) -> &str {
        &self.url
    }
}
