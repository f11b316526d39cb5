//! Caches of the service that lie in Redis.

use std::sync::Arc;

use super::{StartError, secret};
use crate::cache::RedisCache;
use crate::cache::snapshot::SnapshotKey;
use crate::config::Config;
use crate::remote::RedisServer;
use crate::session::Service;

/// The service with the caches that are configured. Their server need not be there.
pub(super) fn add(mut service: Service, config: &Config) -> Result<Service, StartError> {
    let Some((setting, url)) = config.cache_server() else { return Ok(service) };
    let server = RedisServer::new(setting, &url.0, config.redis_ca_file.as_deref());
    let server = server.map_err(StartError::Refused)?;
    let cache = RedisCache::new(&server, config.redis_cache_timeout);
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
