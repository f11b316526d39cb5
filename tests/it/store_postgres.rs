//! What is Postgres' own: row-level security, round trips, plans, lost connections, the
//! schema and the start-up checks.

mod checks;
mod lost;
mod plans;
mod row_security;
mod schema;
mod two_versions;

use std::sync::Arc;

use sqlfs::store::{Options, Store, StoreError, StoreResult};

use crate::support::postgres::Database;

const USER: u64 = 3;

/// A store of the serving role.
async fn open(database: &Database, pool_size: u32) -> Arc<dyn Store> {
    let options = Options { pool_size, auto_migrate: false };
    sqlfs::store::open(&database.app_url(), &options).await.expect("the store opens")
}

/// The line with which a store is refused.
fn refusal<T: std::fmt::Debug>(opened: StoreResult<T>) -> String {
    match opened {
        Err(StoreError::Refused(line)) => {
            assert!(!line.contains('\n') && !line.contains('@'), "one line without URLs: {line}");
            line
        }
        other => panic!("it should be refused: {other:?}"),
    }
}
