//! Caches of the service that lie in Redis.

use std::sync::Arc;
use std::time::Duration;

use super::{StartError, secret};
use crate::cache::snapshot::SnapshotKey;
use crate::cache::{Cache, Found, RedisCache};
use crate::config::Config;
use crate::lease::redis::health::{Finding, Verdict};
use crate::random;
use crate::remote::RedisServer;
use crate::session::Service;

fn server(config: &Config) -> Option<Result<RedisCache, String>> {
    let (setting, url) = config.cache_server()?;
    let server = RedisServer::new(setting, &url.0, config.redis_ca_file.as_deref());
    Some(server.and_then(|server| RedisCache::new(&server, config.redis_cache_timeout)))
}

/// What `doctor` says of the caches' server; nothing if there is none. One that is of no use
/// is not missed.
pub(super) async fn check(config: &Config) -> Option<Finding> {
    let detail = |detail: &str| format!("{detail} within REDIS_CACHE_TIMEOUT_MS");
    let (verdict, detail) = match server(config)? {
        Ok(cache) => {
            let value = random::uuid().to_string();
            let key = format!("vfs:doctor:{value}");
            if !cache.put(&key, value.clone().into(), Duration::from_secs(10), None).await {
                (Verdict::Warn, "keeps nothing: it is away, full or forbids SET".to_owned())
            } else if cache.get(&key, 100).await == Found::Value(value.into()) {
                (Verdict::Ok, detail("gives back what was put there"))
            } else {
                (Verdict::Warn, detail("does not give back what was put there"))
            }
        }
        Err(why) => (Verdict::Fail, why),
    };
    Some(Finding { name: "redis caches", verdict, detail })
}

/// The service with the caches that are configured. Their server need not be there.
pub(super) fn add(mut service: Service, config: &Config) -> Result<Service, StartError> {
    let Some(cache) = server(config) else { return Ok(service) };
    let cache = Arc::new(cache.map_err(StartError::Refused)?);
    let first = cache.clone();
    tokio::spawn(async move { first.connect().await });
    if config.blob_cache {
        service = service.with_blobs(cache.clone(), config.blob_cache_largest, config.blob_cache_ttl);
    }
    if !config.keeps_snapshots() {
        return Ok(service);
    }
    let key = match &config.snapshot_key {
        Some(key) => key.clone(),
        None => secret(config)?.0,
    };
    Ok(service.with_snapshots(cache, SnapshotKey::derive(key.0.as_bytes()), config.path_snapshot_ttl))
}
