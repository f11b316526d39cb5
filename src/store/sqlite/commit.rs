//! Commit and creation: one transaction on the one connection that writes. Large contents
//! are flushed before, so that the transaction holds the writer shortly.

use sqlx::{Row, query};

use super::db::{Db, Tx, bounded};
use super::error::Failure;
use super::rows::{decoding, dirents_json, inodes_json, inos_json, names_json, sandbox, sandbox_columns};
use super::{LONG, blobs, replies};
use crate::clock;
use crate::fs::change_set::ChangeSet;
use crate::ids::SandboxId;
use crate::store::{Commit, CommitOutcome, Created, NewSandbox, StoreResult};

/// Rows of one statement.
const CHUNK_ROWS: usize = 5_000;
/// Above this sum, contents do not travel with the commit.
const FLUSH_BYTES: usize = 8 << 20;
/// A content that was collected in the same moment is sent again this often.
const TRIES: u32 = 5;

/// See [`crate::store::Store::commit`].
pub(super) async fn commit(db: &Db, commit: &Commit<'_>) -> StoreResult<CommitOutcome> {
    let mut tries = 0;
    loop {
        tries += 1;
        let flushed = flush(db, commit.changes).await?;
        match bounded(LONG, commit_once(db, commit, flushed)).await {
            Err(Failure::ContentGone(_)) if flushed && tries < TRIES => {}
            done => return done.map_err(Failure::of_commit),
        }
    }
}

/// See [`crate::store::Store::create`].
pub(super) async fn create(db: &Db, new: &NewSandbox, first: &ChangeSet) -> StoreResult<Created> {
    let mut tries = 0;
    loop {
        tries += 1;
        let flushed = flush(db, first).await?;
        match bounded(LONG, create_once(db, new, first, flushed)).await {
            Err(Failure::ContentGone(_)) if flushed && tries < TRIES => {}
            done => return done.map_err(Failure::of_commit),
        }
    }
}

/// Whether the contents were too large to travel and are flushed now.
async fn flush(db: &Db, changes: &ChangeSet) -> StoreResult<bool> {
    let carried: Vec<_> =
        changes.blobs.iter().filter_map(|blob| Some((&blob.sha256, blob.data.as_ref()?))).collect();
    let large = carried.iter().map(|(_, data)| data.len()).sum::<usize>() > FLUSH_BYTES;
    if large {
        blobs::flush(db, &carried).await?;
    }
    Ok(large)
}

async fn commit_once(db: &Db, commit: &Commit<'_>, flushed: bool) -> Result<CommitOutcome, Failure> {
    let now = clock::wall_ns();
    let id = commit.sandbox;
    let mut tx = db.write().await?;
    let swap = "UPDATE sandboxes SET version = version + 1, head = ?3, fence = ?4, cwd = coalesce(?5, cwd), \
                next_ino = ?6, file_count = ?7, total_bytes = ?8, last_used_at = max(last_used_at, ?9), \
                upkeep_since = coalesce(upkeep_since, ?9) \
                WHERE id = ?1 AND head = ?2 AND state = 'active' AND fence <= ?4 RETURNING version";
    let swapped = query(swap)
        .bind(id.0)
        .bind(commit.seen.0)
        .bind(commit.new_head.0)
        .bind(commit.fence)
        .bind(commit.cwd)
        .bind(commit.changes.next_ino as i64)
        .bind(commit.changes.entries as i64)
        .bind(commit.changes.bytes as i64)
        .bind(now);
    let Some(row) = tx.row(swapped).await? else {
        let alive = query("SELECT 1 FROM sandboxes WHERE id = ?1 AND state = 'active'").bind(id.0);
        let alive = tx.row(alive).await?.is_some();
        return Ok(if alive { CommitOutcome::Stale } else { CommitOutcome::Gone });
    };
    let version: i64 = row.try_get(0).map_err(decoding)?;
    let log = "INSERT INTO exec_log VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'committed', ?7, ?8, ?9)";
    let log = query(log)
        .bind(id.0)
        .bind(version)
        .bind(commit.new_head.0)
        .bind(commit.exec.0)
        .bind(commit.request_id)
        .bind(commit.actor)
        .bind(commit.started_at_ns)
        .bind(commit.duration_ms)
        .bind(commit.script_sha256.as_ref().map(|hash| hash.0.as_slice()));
    tx.execute(log).await?;
    write_rows(&mut tx, id, version, now, commit.changes, flushed).await?;
    if let Some(keep) = &commit.keep
        && !replies::beside(&mut tx, id, keep, version, commit.new_head, now).await?
    {
        return Ok(CommitOutcome::Stale);
    }
    tx.commit().await?;
    Ok(CommitOutcome::Done { version })
}

async fn create_once(
    db: &Db,
    new: &NewSandbox,
    first: &ChangeSet,
    flushed: bool,
) -> Result<Created, Failure> {
    let now = new.created_at_ns;
    let mut tx = db.write().await?;
    if let Some(name) = new.name.as_deref().filter(|_| new.unique) {
        // The transaction holds the right to write, so nobody can take the name after this.
        if let Some(row) = tx.row(query(HOLDER).bind(&*new.owner.0).bind(name)).await? {
            return Ok(Created::NameTaken(Box::new(sandbox(&row)?)));
        }
    }
    let insert = concat!(
        "INSERT INTO sandboxes (id, owner, name, is_unique, head, next_ino, file_count, total_bytes, cwd, env, python, \
         javascript, network, created_at, last_used_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14) RETURNING ",
        sandbox_columns!()
    );
    let insert = query(insert)
        .bind(new.id.0)
        .bind(&*new.owner.0)
        .bind(new.name.as_deref())
        .bind(new.unique)
        .bind(new.head.0)
        .bind(first.next_ino as i64)
        .bind(first.entries as i64)
        .bind(first.bytes as i64)
        .bind(&new.cwd)
        .bind(env_text(&new.env))
        .bind(new.python)
        .bind(new.javascript)
        .bind(new.network.as_deref())
        .bind(now);
    let row = tx.row(insert).await?.ok_or_else(|| Failure::Inconsistent("no row came back".into()))?;
    let made = sandbox(&row)?;
    let log = "INSERT INTO exec_log VALUES (?1, 0, ?2, ?3, ?4, ?5, 'committed', ?6, 0, NULL)";
    let log = query(log)
        .bind(new.id.0)
        .bind(new.head.0)
        .bind(new.exec.0)
        .bind(&new.request_id)
        .bind(&*new.owner.0)
        .bind(now);
    tx.execute(log).await?;
    write_rows(&mut tx, new.id, 0, now, first, flushed).await?;
    tx.commit().await?;
    Ok(Created::Done(Box::new(made)))
}

/// The live sandbox of owner `?1` that holds the name `?2` alone.
pub(super) const HOLDER: &str = concat!(
    "SELECT ",
    sandbox_columns!(),
    " FROM sandboxes WHERE owner = ?1 AND name = ?2 AND is_unique AND state = 'active'"
);

pub(super) fn env_text(env: &std::collections::BTreeMap<String, String>) -> String {
    serde_json::to_string(env).expect("a map of texts is JSON")
}

async fn write_rows(
    tx: &mut Tx<'_>,
    id: SandboxId,
    version: i64,
    now: i64,
    changes: &ChangeSet,
    flushed: bool,
) -> Result<(), Failure> {
    for blob in &changes.blobs {
        match blob.data.as_ref().filter(|_| !flushed) {
            Some(data) => blobs::put(tx, &blob.sha256, data, now).await?,
            None => blobs::touch(tx, &blob.sha256, now).await?,
        }
    }
    let delta = &changes.delta;
    // CROSS JOIN keeps the JSON on the outer side: the cost is that of the changed rows.
    for part in delta.ended_inodes.chunks(CHUNK_ROWS) {
        let sql = "UPDATE inodes SET valid_to = ?2 WHERE rowid IN (SELECT i.rowid FROM json_each(?3) j \
                   CROSS JOIN inodes i WHERE i.sandbox_id = ?1 AND i.ino = j.value AND i.valid_to IS NULL)";
        let ended = tx.execute(query(sql).bind(id.0).bind(version).bind(inos_json(part))).await?;
        all_live(ended, part.len(), "inodes")?;
    }
    for part in delta.inodes.chunks(CHUNK_ROWS) {
        let sql = "INSERT INTO inodes (sandbox_id, ino, valid_from, kind, mode, size, mtime_ns, nlink, sha256, \
                   symlink_target) \
                   SELECT ?1, value ->> 0, ?2, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, \
                   unhex(value ->> 6), value ->> 7 FROM json_each(?3)";
        tx.execute(query(sql).bind(id.0).bind(version).bind(inodes_json(part))).await?;
    }
    for part in delta.ended_dirents.chunks(CHUNK_ROWS) {
        let sql = "UPDATE dirents SET valid_to = ?2 WHERE rowid IN (SELECT d.rowid FROM json_each(?3) j \
                   CROSS JOIN dirents d WHERE d.sandbox_id = ?1 AND d.parent_ino = (j.value ->> 0) \
                   AND d.name = (j.value ->> 1) AND d.valid_to IS NULL)";
        let ended = tx.execute(query(sql).bind(id.0).bind(version).bind(names_json(part))).await?;
        all_live(ended, part.len(), "names")?;
    }
    for part in delta.dirents.chunks(CHUNK_ROWS) {
        let sql = "INSERT INTO dirents (sandbox_id, parent_ino, name, ino, valid_from) \
                   SELECT ?1, value ->> 0, value ->> 1, value ->> 2, ?2 FROM json_each(?3)";
        tx.execute(query(sql).bind(id.0).bind(version).bind(dirents_json(part))).await?;
    }
    Ok(())
}

fn all_live(ended: u64, asked: usize, what: &str) -> Result<(), Failure> {
    if ended == asked as u64 {
        return Ok(());
    }
    Err(Failure::Inconsistent(format!("{} of {asked} {what} to end are not live", asked as u64 - ended)))
}
