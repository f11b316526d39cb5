//! Contents of files that replicas share in Redis (`REDIS_BLOB_CACHE_ENABLED`): compared with
//! their hash, and never missed.

use std::time::Duration;

use sqlfs::cache::blob_key;
use sqlfs::ids::{Sha256, TenantId};

use super::snapshots::{HUNG, PATIENT, Place, SOON};
use crate::support::eventually;

const ON: (&str, &str) = ("REDIS_BLOB_CACHE_ENABLED", "true");
const SMALL: (&str, &str) = ("REDIS_BLOB_MAX_BYTES", "1000");
const READS: &str = "sqlfs_shared_content_read_duration_seconds_count";

fn key(content: &str) -> String {
    blob_key(&TenantId("default".into()), &Sha256::of(content.as_bytes()))
}

#[tokio::test]
async fn a_content_comes_from_redis_if_it_is_whole_and_from_the_store_if_not() {
    let place = Place::new().await;
    let writer = place.replica(&[PATIENT, ON, SMALL]).await;
    let id = writer.api.create().await;
    writer.api.exec(&id, "echo a > a; echo b > b; echo c > c; seq 1000 > large").await;
    for content in ["a\n", "b\n", "c\n"] {
        eventually("a content", SOON, || async { place.get(&key(content)).await.map(drop) }).await;
    }
    place.set(&key("b\n"), b"B\n").await;
    place.set(&key("c\n"), &[b'c'; 5000]).await;
    // No head start from the store: each is asked for by itself.
    let reader = place.replica(&[PATIENT, ON, SMALL, ("CONTENT_CACHE_MAX_BYTES", "0")]).await;
    for (file, text) in [("a", "a\n"), ("b", "b\n"), ("c", "c\n")] {
        assert_eq!(reader.api.file(&id, &format!("/home/user/{file}")).await.expect(200).text(), text);
        assert_eq!(reader.api.stdout(&id, &format!("cat {file}")).await, text);
    }
    assert!(reader.counted(READS, "result=\"hit\"").await >= 1.0);
    assert!(reader.counted(READS, "result=\"forged\"").await >= 2.0);
    for content in ["b\n", "c\n"] {
        eventually("what was wrong is right again", SOON, || async {
            (place.get(&key(content)).await.as_deref() == Some(content.as_bytes())).then_some(())
        })
        .await;
    }
    assert_eq!(reader.api.stdout(&id, "wc -l < large").await, "1000\n");
    let mut sizes = Vec::new();
    for content in place.all_keys("vfs:default:blob:*").await {
        sizes.push(place.get(&content).await.map_or(0, |data| data.len()));
    }
    assert_eq!(sizes, [2, 2, 2], "a large one is not kept");
}

#[tokio::test]
async fn a_redis_that_hangs_or_is_gone_is_not_missed() {
    let mut place = Place::new().await;
    let writer = place.replica(&[ON]).await;
    let id = writer.api.create().await;
    writer.api.exec(&id, "for i in {1..20}; do echo $i > $i; done").await;
    let reader = place.replica(&[ON, ("CONTENT_CACHE_MAX_BYTES", "0")]).await;
    reader.cache.weather(HUNG);
    let begun = tokio::time::Instant::now();
    assert_eq!(reader.api.stdout(&id, "cat {1..20} | wc -l").await, "20\n");
    // Twenty questions of 50 ms would be a second; it is left alone after the first.
    let asked = "sqlfs_shared_content_read_duration_seconds_bucket";
    let quick = reader.counted(asked, "le=\"0.025\",result=\"away\"").await;
    assert!(20.0 - quick <= 1.0 + begun.elapsed().as_secs_f64(), "{quick} of 20");
    place.redis.kill();
    reader.cache.weather(crate::support::weather::Weather::default());
    assert_eq!(reader.api.stdout(&id, "cat {1..20} | wc -l").await, "20\n");
    assert_eq!(reader.api.exec(&id, "echo more > more").await["committed"], true);
    assert!(begun.elapsed() < Duration::from_mins(1));
}
