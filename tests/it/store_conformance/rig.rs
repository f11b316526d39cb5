//! A store on a database of its own, and a way to look at its tables.

use std::path::PathBuf;
use std::sync::Arc;

use sqlfs::store::{Options, Store};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, Row, raw_sql};
use tokio::sync::Mutex;

use super::{audit, rig_memory};
use crate::support::memory_store::MemoryStore;
use crate::support::postgres::Database;

pub struct Rig {
    pub store: Arc<dyn Store>,
    tables: Tables,
}

enum Tables {
    Postgres(Database),
    Sqlite { file: PathBuf, _folder: tempfile::TempDir },
    Memory { store: Arc<MemoryStore>, copy: Mutex<Option<(u64, SqliteConnection)>> },
}

impl Rig {
    pub async fn postgres() -> Self {
        let database = Database::new().await;
        let options = Options { pool_size: 8, auto_migrate: false };
        let store = sqlfs::store::open(&database.app_url(), &options).await.expect("the store opens");
        Self { store, tables: Tables::Postgres(database) }
    }

    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("sqlfs.db");
        let url = format!("sqlite:{}", file.display());
        let store = sqlfs::store::open(&url, &Options::default()).await.expect("the store opens");
        Self { store, tables: Tables::Sqlite { file, _folder: folder } }
    }

    pub fn memory() -> Self {
        let store = Arc::new(MemoryStore::default());
        Self { store: store.clone(), tables: Tables::Memory { store, copy: Mutex::default() } }
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self.tables, Tables::Postgres(_))
    }

    /// A number that a query of the tables gives, past the store and its row-level security.
    pub async fn number(&self, sql: &str) -> i64 {
        match &self.tables {
            Tables::Postgres(database) => database.number(sql).await,
            Tables::Sqlite { file, .. } => {
                let mut connection =
                    SqliteConnectOptions::new().filename(file).connect().await.expect("the file");
                let row = connection.fetch_one(AssertSqlSafe(sql)).await;
                row.and_then(|row| row.try_get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
            }
            Tables::Memory { store, copy } => {
                // Copied anew when the store was called since.
                let calls = store.statements();
                let (mut copy, tables) = (copy.lock().await, store.tables().clone());
                let (_, mut connection) = match copy.take() {
                    Some(fresh) if fresh.0 == calls => fresh,
                    Some(_) | None => (calls, rig_memory::dump(&tables).await),
                };
                let row = connection.fetch_one(AssertSqlSafe(sql)).await;
                let number = row.and_then(|row| row.try_get(0));
                *copy = Some((calls, connection));
                number.unwrap_or_else(|error| panic!("{sql}: {error}"))
            }
        }
    }

    /// Changes the tables past the store.
    pub async fn run(&self, sql: &str) {
        match &self.tables {
            Tables::Postgres(database) => database.run(sql).await,
            Tables::Sqlite { file, .. } => {
                let mut connection =
                    SqliteConnectOptions::new().filename(file).connect().await.expect("the file");
                let done = raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await;
                done.unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
            Tables::Memory { store, copy } => {
                *copy.lock().await = None;
                let mut tables = store.tables().clone();
                let mut connection = rig_memory::dump(&tables).await;
                let done = raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await;
                done.unwrap_or_else(|error| panic!("{sql}: {error}"));
                rig_memory::read_back(&mut connection, &mut tables).await;
                *store.tables() = tables;
            }
        }
    }

    /// Audits the tables and closes.
    pub async fn end(self) {
        audit::audit(&self).await;
        self.store.close().await;
        let closed = self.store.ping().await.expect_err("a closed store answers nothing");
        assert!(matches!(closed, sqlfs::store::StoreError::Unavailable(_)), "{closed:?}");
    }
}
