//! Commit and creation. An ordinary change set is one call and one round trip; a large one
//! is the same two functions in one explicit transaction, row chunk by row chunk. Large
//! contents are flushed before, in short transactions of their own.

use sqlx::query;

use super::error::Failure;
use super::pool::{Conn, PgQuery};
use super::rows::{Chunk, ChunkSize, decoding, sandbox, sandbox_columns_of_r};
use super::{PostgresStore, SHORT, WRITE, blobs, replies};
use crate::clock;
use crate::fs::change_set::ChangeSet;
use crate::store::{Commit, CommitOutcome, Created, NewSandbox, StoreResult};
use sqlx::Row;
use sqlx::postgres::PgRow;

/// Rows and bytes of one statement.
const CHUNK: ChunkSize = ChunkSize { rows: 4_000, bytes: 8 << 20 };
/// Above this sum, contents do not travel with the commit.
const FLUSH_BYTES: usize = 8 << 20;
/// Deadlocks, serialization failures and garbage-collection races are tried again this often.
const TRIES: u32 = 5;

/// Outcome column, whole row.
type Reply = (String, PgRow);

/// The two ways of sending one change set.
trait Request: Sync {
    /// The whole in one call.
    fn whole<'q>(&'q self, chunk: Chunk<'q>, now: i64) -> PgQuery<'q>;
    /// All but the rows; the reply is that of `whole`.
    fn head(&self, now: i64) -> PgQuery<'_>;
    /// For the rows: sandbox and version out of the reply of `head`.
    fn place(&self, reply: &PgRow) -> Result<(uuid::Uuid, i64), Failure>;
    /// What else belongs to it, after the rows; the answer is `false` if it lost the race.
    fn beside(&self, _version: i64, _now: i64) -> Option<PgQuery<'_>> {
        None
    }
}

struct CommitRequest<'a>(&'a Commit<'a>);

impl CommitRequest<'_> {
    fn bind<'q>(&'q self, query: PgQuery<'q>, now: i64) -> PgQuery<'q> {
        let it = self.0;
        query
            .bind(it.sandbox.0)
            .bind(it.seen.0)
            .bind(it.new_head.0)
            .bind(it.fence)
            .bind(it.cwd)
            .bind(it.changes.next_ino as i64)
            .bind(it.changes.entries as i64)
            .bind(it.changes.bytes as i64)
            .bind(now)
            .bind(it.exec.0)
            .bind(it.request_id)
            .bind(it.actor)
            .bind(it.started_at_ns)
            .bind(it.duration_ms)
            .bind(it.script_sha256.as_ref().map(|hash| hash.0.as_slice()))
    }
}

impl Request for CommitRequest<'_> {
    fn whole<'q>(&'q self, chunk: Chunk<'q>, now: i64) -> PgQuery<'q> {
        let sql = "SELECT outcome, version FROM sqlfs_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, \
                   $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)";
        chunk.bind(self.bind(query(sql), now))
    }

    fn head(&self, now: i64) -> PgQuery<'_> {
        let sql = "SELECT outcome, version FROM sqlfs_commit_head($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
                   $13, $14, $15)";
        self.bind(query(sql), now)
    }

    fn place(&self, reply: &PgRow) -> Result<(uuid::Uuid, i64), Failure> {
        Ok((self.0.sandbox.0, reply.try_get("version").map_err(decoding)?))
    }

    fn beside(&self, version: i64, now: i64) -> Option<PgQuery<'_>> {
        self.0.keep.as_ref().map(|keep| replies::beside(self.0, keep, version, now))
    }
}

struct CreateRequest<'a> {
    new: &'a NewSandbox,
    first: &'a ChangeSet,
    env: String,
}

impl CreateRequest<'_> {
    fn bind<'q>(&'q self, query: PgQuery<'q>) -> PgQuery<'q> {
        let it = self.new;
        query
            .bind(it.id.0)
            .bind(&*it.owner.0)
            .bind(it.name.as_deref())
            .bind(it.unique)
            .bind(it.head.0)
            .bind(&it.cwd)
            .bind(&self.env)
            .bind(it.python)
            .bind(it.javascript)
            .bind(it.network.as_deref())
            .bind(self.first.next_ino as i64)
            .bind(self.first.entries as i64)
            .bind(self.first.bytes as i64)
            .bind(it.created_at_ns)
            .bind(it.exec.0)
            .bind(&it.request_id)
    }
}

impl Request for CreateRequest<'_> {
    fn whole<'q>(&'q self, chunk: Chunk<'q>, _now: i64) -> PgQuery<'q> {
        let sql = concat!(
            "SELECT outcome, ",
            sandbox_columns_of_r!(),
            " FROM sqlfs_create($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, \
             $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33)"
        );
        chunk.bind(self.bind(query(sql)))
    }

    fn head(&self, _now: i64) -> PgQuery<'_> {
        let sql = concat!(
            "SELECT outcome, ",
            sandbox_columns_of_r!(),
            " FROM sqlfs_create_head($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
        );
        self.bind(query(sql))
    }

    fn place(&self, _reply: &PgRow) -> Result<(uuid::Uuid, i64), Failure> {
        Ok((self.new.id.0, 0))
    }
}

/// See [`crate::store::Store::commit`].
pub(super) async fn commit(store: &PostgresStore, commit: &Commit<'_>) -> StoreResult<CommitOutcome> {
    let (outcome, row) =
        send(store, &CommitRequest(commit), commit.changes).await.map_err(Failure::of_commit)?;
    match outcome.as_str() {
        "done" => Ok(CommitOutcome::Done {
            version: row.try_get("version").map_err(|error| decoding(error).of_commit())?,
        }),
        "stale" => Ok(CommitOutcome::Stale),
        "gone" => Ok(CommitOutcome::Gone),
        other => Err(unknown_outcome(other).of_commit()),
    }
}

/// See [`crate::store::Store::create`].
pub(super) async fn create(
    store: &PostgresStore,
    new: &NewSandbox,
    first: &ChangeSet,
) -> StoreResult<Created> {
    let request = CreateRequest { new, first, env: env_text(&new.env) };
    let (outcome, row) = send(store, &request, first).await.map_err(Failure::of_commit)?;
    let row = || sandbox(&row).map(Box::new).map_err(Failure::of_commit);
    match outcome.as_str() {
        "done" => Ok(Created::Done(row()?)),
        "name_taken" => Ok(Created::NameTaken(row()?)),
        other => Err(unknown_outcome(other).of_commit()),
    }
}

pub(super) fn env_text(env: &std::collections::BTreeMap<String, String>) -> String {
    serde_json::to_string(env).expect("a map of texts is JSON")
}

pub(super) fn unknown_outcome(outcome: &str) -> Failure {
    Failure::Inconsistent(format!("the database answered with the outcome {outcome:?}"))
}

async fn send(store: &PostgresStore, request: &impl Request, changes: &ChangeSet) -> Result<Reply, Failure> {
    let carried: Vec<_> =
        changes.blobs.iter().filter_map(|blob| Some((&blob.sha256, blob.data.as_ref()?))).collect();
    let flush = carried.iter().map(|(_, data)| data.len()).sum::<usize>() > FLUSH_BYTES;
    let mut tries = 0;
    loop {
        tries += 1;
        if flush {
            // Nothing of the commit is sent yet: a failure here leaves no doubt.
            blobs::flush(store, &carried).await.map_err(Failure::of_store)?;
        }
        match send_once(store, request, changes, flush).await {
            Err(Failure::Contended(text) | Failure::ContentGone(text)) if tries < TRIES => {
                tracing::debug!(%text, tries, "the commit is sent again");
            }
            done => return done,
        }
    }
}

async fn send_once(
    store: &PostgresStore,
    request: &impl Request,
    changes: &ChangeSet,
    flushed: bool,
) -> Result<Reply, Failure> {
    let now = clock::wall_ns();
    let mut chunks = Chunk::cut(changes, flushed, CHUNK);
    if chunks.len() == 1 && request.beside(0, now).is_none() {
        let row = store.once(WRITE, request.whole(chunks.remove(0), now)).await?;
        return outcome(row);
    }
    let mut conn = store.pool.take().await?;
    // Until COMMIT is sent a lost connection means that nothing was applied: the server
    // rolls back. Dropping `conn` on any way out closes it.
    let reply = in_transaction(&mut conn, request, chunks, now).await.map_err(not_sent)?;
    if reply.0 == "done" {
        conn.run(WRITE, "COMMIT").await?;
    } else {
        conn.run(SHORT, "ROLLBACK").await.map_err(|error| not_sent(error.into()))?;
    }
    conn.release();
    Ok(reply)
}

async fn in_transaction(
    conn: &mut Conn,
    request: &impl Request,
    chunks: Vec<Chunk<'_>>,
    now: i64,
) -> Result<Reply, Failure> {
    conn.run(SHORT, "BEGIN").await?;
    let reply = outcome(conn.row(WRITE, request.head(now)).await?)?;
    if reply.0 == "done" {
        let (sandbox, version) = request.place(&reply.1)?;
        for chunk in chunks {
            let sql = "SELECT sqlfs_commit_rows($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
                       $17, $18, $19, $20)";
            conn.row(WRITE, chunk.bind(query(sql).bind(sandbox).bind(version).bind(now))).await?;
        }
        if let Some(beside) = request.beside(version, now) {
            let kept: bool = conn.row(WRITE, beside).await?.try_get(0).map_err(decoding)?;
            if !kept {
                return Ok(("stale".to_owned(), reply.1));
            }
        }
    }
    Ok(reply)
}

fn not_sent(failure: Failure) -> Failure {
    match failure {
        Failure::Lost(text) => Failure::Unavailable(text),
        other => other,
    }
}

fn outcome(row: PgRow) -> Result<Reply, Failure> {
    Ok((row.try_get("outcome").map_err(decoding)?, row))
}
