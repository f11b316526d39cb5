//! The tables of the store in memory as a SQLite database, so that the suite looks at
//! them, and changes them, with the very statements that it uses elsewhere.

use sqlfs::fs::Kind;
use sqlfs::fs::change_set::InodeRow;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Row, query, raw_sql};

use crate::support::memory_store::rows::{Sandbox, Tables};

const SCHEMA: &str = include_str!("../../../migrations/sqlite/0001_first.sql");

pub async fn dump(tables: &Tables) -> SqliteConnection {
    let mut db = SqliteConnectOptions::new().in_memory(true).connect().await.expect("a database");
    raw_sql(SCHEMA).execute(&mut db).await.expect("the schema");
    // One transaction: the suite counts thousands of rows.
    raw_sql("BEGIN").execute(&mut db).await.expect("a transaction");
    for (hash, data) in &tables.blobs {
        let insert = query("INSERT INTO blobs VALUES (?1, ?2, 0, ?3)");
        let insert = insert.bind(hash.0.as_slice()).bind(data.len() as i64).bind(data.as_ref());
        insert.execute(&mut db).await.expect("a content");
    }
    for it in tables.sandboxes.values() {
        put(&mut db, it).await;
    }
    raw_sql("COMMIT").execute(&mut db).await.expect("committed");
    db
}

/// Takes back what a statement of the suite may have changed past the store.
pub async fn read_back(db: &mut SqliteConnection, tables: &mut Tables) {
    for row in query("SELECT id, history_from FROM sandboxes").fetch_all(db).await.expect("rows") {
        let id = sqlfs::ids::SandboxId(row.get(0));
        tables.sandboxes.get_mut(&id).expect("no sandbox is made past the store").row.history_from =
            row.get(1);
    }
}

async fn put(db: &mut SqliteConnection, it: &Sandbox) {
    let row = &it.row;
    let insert = "INSERT INTO sandboxes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, \
                  ?16, ?17, NULL, ?18, ?19, ?20, NULL)";
    let insert = query(insert)
        .bind(row.id.0)
        .bind(&*row.owner.0)
        .bind(row.name.as_deref())
        .bind(row.unique)
        .bind(if it.deleted_at_ns.is_some() { "deleted" } else { "active" })
        .bind(row.version)
        .bind(row.head.0)
        .bind(row.fence)
        .bind(row.history_from)
        .bind(row.next_ino as i64)
        .bind(row.entries as i64)
        .bind(row.bytes as i64)
        .bind(&row.cwd)
        .bind(serde_json::to_string(&row.env).expect("JSON"))
        .bind(row.python)
        .bind(row.javascript)
        .bind(row.network.as_deref())
        .bind(row.created_at_ns)
        .bind(row.last_used_at_ns)
        .bind(it.deleted_at_ns);
    insert.execute(&mut *db).await.expect("a sandbox");
    for ((ino, from), inode) in &it.inodes {
        let InodeRow { kind, mode, size, mtime_ns, nlink, sha256, symlink_target, .. } = &inode.it;
        let kind = match kind {
            Kind::File => 1,
            Kind::Dir => 2,
            Kind::Symlink => 3,
        };
        let insert = query("INSERT INTO inodes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")
            .bind(row.id.0)
            .bind(*ino as i64)
            .bind(from)
            .bind(inode.ended)
            .bind(kind)
            .bind(mode)
            .bind(*size as i64)
            .bind(mtime_ns)
            .bind(nlink)
            .bind(sha256.as_ref().map(|hash| hash.0.as_slice()))
            .bind(symlink_target.as_deref());
        insert.execute(&mut *db).await.expect("an inode");
    }
    for ((parent, name, from), ino) in &it.names {
        let insert = query("INSERT INTO dirents VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
            .bind(row.id.0)
            .bind(*parent as i64)
            .bind(&**name)
            .bind(ino.it as i64)
            .bind(from)
            .bind(ino.ended);
        insert.execute(&mut *db).await.expect("a name");
    }
    for (version, logged) in &it.log {
        let insert = query("INSERT INTO exec_log VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")
            .bind(row.id.0)
            .bind(version)
            .bind(logged.head.0)
            .bind(logged.exec.0)
            .bind(&logged.request_id)
            .bind(&logged.actor)
            .bind(if logged.committed { "committed" } else { "voided" })
            .bind(logged.started_at_ns)
            .bind(logged.duration_ms)
            .bind(logged.script_sha256.as_ref().map(|hash| hash.0.as_slice()));
        insert.execute(&mut *db).await.expect("a log row");
    }
}
