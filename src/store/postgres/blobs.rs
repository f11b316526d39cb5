//! Contents by hash.

use bytes::Bytes;
use sqlx::{Row, query};

use super::error::Failure;
use super::rows::decoding;
use super::{LONG, PostgresStore};
use crate::clock;
use crate::ids::Sha256;
use crate::store::{StoreError, StoreResult};

/// Bytes and rows of one statement, unless one content is larger by itself.
const CHUNK_BYTES: usize = 4 << 20;
const CHUNK_ROWS: usize = 1_000;

pub(super) async fn read(store: &PostgresStore, hashes: &[Sha256]) -> StoreResult<Vec<(Sha256, Bytes)>> {
    if hashes.is_empty() {
        return Ok(Vec::new());
    }
    let wanted: Vec<&[u8]> = hashes.iter().map(|hash| hash.0.as_slice()).collect();
    let sql = "SELECT sha256, data FROM sqlfs_read_blobs($1)";
    let rows = store.repeatable(LONG, || query(sql).bind(wanted.clone())).await?;
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

pub(super) async fn range(
    store: &PostgresStore,
    hash: Sha256,
    offset: u64,
    len: u64,
) -> StoreResult<Option<Bytes>> {
    // A content is at most 1 GiB, the largest value of Postgres: past it there is nothing.
    let from = i32::try_from(offset).ok().and_then(|from| from.checked_add(1)).unwrap_or(i32::MAX);
    let len = i32::try_from(len).unwrap_or(i32::MAX).min(i32::MAX - from);
    let sql = "SELECT * FROM sqlfs_read_blob_range($1, $2, $3)";
    let rows = store.repeatable(LONG, || query(sql).bind(hash.0.as_slice()).bind(from).bind(len)).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let bytes: &[u8] = row.try_get(0).map_err(|error| decoding(error).of_repeatable())?;
    Ok(Some(Bytes::copy_from_slice(bytes)))
}

/// Stores contents, which come sorted by hash, each once, in short transactions.
pub(super) async fn flush(store: &PostgresStore, contents: &[(&Sha256, &Bytes)]) -> StoreResult<()> {
    let mut rest = contents;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest
            .iter()
            .take(CHUNK_ROWS)
            .take_while(|(_, data)| {
                bytes += data.len();
                bytes <= CHUNK_BYTES
            })
            .count()
            .max(1);
        let (part, later) = rest.split_at(fits);
        rest = later;
        let hashes: Vec<&[u8]> = part.iter().map(|(hash, _)| hash.0.as_slice()).collect();
        let data: Vec<&[u8]> = part.iter().map(|(_, data)| data.as_ref()).collect();
        let now = clock::wall_ns();
        let sql = "SELECT sqlfs_flush_blobs($1, $2, $3)";
        let send = || store.repeatable(LONG, || query(sql).bind(hashes.clone()).bind(data.clone()).bind(now));
        match send().await {
            // A deadlock with another writer of the same contents cannot be (both sort), a
            // row that was collected in the same moment can.
            Err(StoreError::Unavailable(text)) => {
                tracing::debug!(%text, "contents are flushed again");
                send().await?;
            }
            done => {
                done?;
            }
        }
    }
    Ok(())
}
