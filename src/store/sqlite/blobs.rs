//! Contents by hash.

use bytes::Bytes;
use serde_json::json;
use sqlx::{Row, query};

use super::LONG;
use super::db::{Db, Tx, bounded};
use super::error::Failure;
use super::rows::decoding;
use crate::clock;
use crate::ids::Sha256;
use crate::store::StoreResult;

/// Bytes of one transaction, unless one content is larger by itself.
const CHUNK_BYTES: usize = 8 << 20;
/// A row that exists is written at most once in this time.
const TOUCH_NS: i64 = 3_600_000_000_000;

pub(super) async fn read(db: &Db, hashes: &[Sha256]) -> StoreResult<Vec<(Sha256, Bytes)>> {
    if hashes.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = json!(hashes.iter().map(Sha256::to_string).collect::<Vec<_>>()).to_string();
    let sql =
        "SELECT b.sha256, b.data FROM json_each(?1) j CROSS JOIN blobs b WHERE b.sha256 = unhex(j.value)";
    let rows = db.rows(LONG, query(sql).bind(wanted)).await.map_err(Failure::of_repeatable)?;
    rows.iter()
        .map(|row| {
            let hash: &[u8] = row.try_get(0).map_err(decoding)?;
            let hash = Sha256::from_slice(hash)
                .ok_or_else(|| Failure::Inconsistent("a hash is not 32 bytes long".into()))?;
            Ok((hash, Bytes::copy_from_slice(row.try_get(1).map_err(decoding)?)))
        })
        .collect::<Result<_, Failure>>()
        .map_err(Failure::of_repeatable)
}

pub(super) async fn range(db: &Db, hash: Sha256, offset: u64, len: u64) -> StoreResult<Option<Bytes>> {
    let from = i64::try_from(offset).unwrap_or(i64::MAX - 1) + 1;
    let len = i64::try_from(len).unwrap_or(i64::MAX).min(i64::MAX - from);
    let sql = "SELECT substr(data, ?2, ?3) FROM blobs WHERE sha256 = ?1";
    let call = query(sql).bind(hash.0.as_slice()).bind(from).bind(len);
    let rows = db.rows(LONG, call).await.map_err(Failure::of_repeatable)?;
    let Some(row) = rows.first() else { return Ok(None) };
    let bytes: &[u8] = row.try_get(0).map_err(|error| decoding(error).of_repeatable())?;
    Ok(Some(Bytes::copy_from_slice(bytes)))
}

/// Stores contents in short transactions, so that the writer is free in between.
pub(super) async fn flush(db: &Db, contents: &[(&Sha256, &Bytes)]) -> StoreResult<()> {
    let now = clock::wall_ns();
    let mut rest = contents;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest
            .iter()
            .take_while(|(_, data)| {
                bytes += data.len();
                bytes <= CHUNK_BYTES
            })
            .count()
            .max(1);
        let (part, later) = rest.split_at(fits);
        rest = later;
        let work = async {
            let mut tx = db.write().await?;
            for (hash, data) in part {
                put(&mut tx, hash, data, now).await?;
            }
            tx.commit().await
        };
        bounded(LONG, work).await.map_err(Failure::of_repeatable)?;
    }
    Ok(())
}

pub(super) async fn put(tx: &mut Tx<'_>, hash: &Sha256, data: &Bytes, now: i64) -> Result<(), Failure> {
    let sql = "INSERT INTO blobs (sha256, size, last_referenced_at, data) VALUES (?1, length(?3), ?2, ?3) \
               ON CONFLICT (sha256) DO UPDATE SET last_referenced_at = excluded.last_referenced_at \
               WHERE last_referenced_at < excluded.last_referenced_at - ?4";
    let call = query(sql).bind(hash.0.as_slice()).bind(now).bind(data.as_ref()).bind(TOUCH_NS);
    tx.execute(call).await.map(drop)
}

/// For a content that was flushed before.
pub(super) async fn touch(tx: &mut Tx<'_>, hash: &Sha256, now: i64) -> Result<(), Failure> {
    let sql = "UPDATE blobs SET last_referenced_at = ?2 WHERE sha256 = ?1 AND last_referenced_at < ?2 - ?3";
    tx.execute(query(sql).bind(hash.0.as_slice()).bind(now).bind(TOUCH_NS)).await.map(drop)
}
