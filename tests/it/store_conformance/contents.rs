//! Contents by hash.

use bytes::Bytes;
use sqlfs::ids::{ExecId, Sha256};
use sqlfs::store::{CommitOutcome, StoreError};

use super::rig::Rig;
use crate::support::model::{Model, Writer};

const USER: u64 = 3;

/// Bytes that do not repeat within reach.
fn noise(seed: u8, len: usize) -> Bytes {
    let mut state = u32::from(seed) + 1;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

pub async fn flushed_contents_are_read_back_whole_and_in_ranges(rig: &Rig) {
    let contents: Vec<Bytes> =
        [1, 7, 8_192, 100_000, 5 << 20].iter().zip(0..).map(|(len, seed)| noise(seed, *len)).collect();
    let pairs: Vec<_> = contents.iter().map(|data| (Sha256::of(data), data.clone())).collect();
    rig.store.flush_blobs(&pairs).await.unwrap();
    rig.store.flush_blobs(&pairs).await.expect("again is no error");
    rig.store.flush_blobs(&[]).await.unwrap();
    assert_eq!(rig.number("SELECT count(*) FROM blobs").await, 5);

    let absent = Sha256::of(b"absent");
    let mut asked: Vec<_> = pairs.iter().map(|(hash, _)| *hash).collect();
    asked.push(absent);
    let mut read = rig.store.blobs(&asked).await.unwrap();
    read.sort();
    let mut expected = pairs.clone();
    expected.sort();
    assert_eq!(read, expected);
    assert_eq!(rig.store.blobs(&[]).await.unwrap(), []);

    let (hash, data) = pairs.last().unwrap();
    let len = data.len() as u64;
    for (offset, wanted) in
        [(0, 10), (1 << 20, 65_536), (len - 3, 10), (len, 10), (len + 5, 1), (0, u64::MAX)]
    {
        let piece = rig.store.blob_range(*hash, offset, wanted).await.unwrap().unwrap();
        let from = offset.min(len) as usize;
        let to = offset.saturating_add(wanted).min(len) as usize;
        assert!(piece == data[from..to.max(from)], "{wanted} bytes from {offset}");
    }
    assert_eq!(rig.store.blob_range(absent, 0, 10).await.unwrap(), None);
}

pub async fn a_commit_may_name_flushed_contents(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let mut next = writer.model.clone();
    next.write(USER, "flushed", "flushed before");
    next.write(USER, "carried", "carried along");
    let mut changes = next.since(&writer.model);
    let hash = Sha256::of(b"flushed before");
    let flushed = changes.blobs.iter_mut().find(|blob| blob.sha256 == hash).unwrap();
    store.flush_blobs(&[(hash, flushed.data.take().unwrap())]).await.unwrap();
    // Long ago: the commit must make it young again.
    rig.run("UPDATE blobs SET last_referenced_at = 5").await;
    let (outcome, head) = writer.send(store, ExecId::random(), &changes).await.unwrap();
    assert_eq!(outcome, CommitOutcome::Done { version: 1 });
    (writer.version, writer.head, writer.model) = (1, head, next);
    writer.is_stored(store).await;
    assert_eq!(rig.number("SELECT count(*) FROM blobs WHERE last_referenced_at = 5").await, 0);
}

pub async fn a_commit_that_names_an_absent_content_changes_nothing(rig: &Rig) {
    let store = &*rig.store;
    let writer = Writer::create(store, "alice", Model::first()).await;
    let mut next = writer.model.clone();
    next.write(USER, "f", "never flushed");
    let mut changes = next.since(&writer.model);
    changes.blobs[0].data = None;
    let error = writer.send(store, ExecId::random(), &changes).await.expect_err("the content is not there");
    assert!(matches!(error, StoreError::Inconsistent(_)), "{error:?}");
    writer.is_stored(store).await;
    assert_eq!(rig.number("SELECT count(*) FROM exec_log").await, 1);
}

pub async fn large_contents_are_flushed_before_the_commit(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let mut next = writer.model.clone();
    for seed in 0..5 {
        next.write(USER, &format!("big-{seed}"), noise(seed, 3 << 20));
    }
    // A writer that loses has flushed for nothing; garbage collection will take it.
    let stale = Writer { head: sqlfs::ids::Head::random(), ..writer.clone() };
    let (outcome, _) = stale.send(store, ExecId::random(), &next.since(&writer.model)).await.unwrap();
    assert_eq!(outcome, CommitOutcome::Stale);
    assert_eq!(rig.number("SELECT count(*) FROM blobs").await, 5);
    writer.done(store, next).await;
    writer.is_stored(store).await;
    let hashes: Vec<_> = writer.model.contents.keys().copied().collect();
    for (hash, data) in store.blobs(&hashes).await.unwrap() {
        assert_eq!(Sha256::of(&data), hash);
    }
}
