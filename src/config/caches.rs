//! Rules of the settings of caches in Redis.

use super::{Config, ConfigError, Secret};

impl Config {
    /// Whether path snapshots are used. On the server of leases they lie only if that is
    /// asked for: it must not run out of memory.
    #[must_use]
    pub fn keeps_snapshots(&self) -> bool {
        self.path_snapshots.unwrap_or(self.redis_cache_url.is_some())
    }

    /// Where caches lie, with the setting that says so; `None` if there are none.
    #[must_use]
    pub fn cache_server(&self) -> Option<(&'static str, &Secret)> {
        let own = self.redis_cache_url.as_ref().map(|url| ("REDIS_CACHE_URL", url));
        let any = own.or(self.redis_url.as_ref().map(|url| ("REDIS_URL", url)));
        any.filter(|_| self.keeps_snapshots() || self.blob_cache)
    }

    pub(super) fn check_caches(&self) -> Result<(), ConfigError> {
        let settings = [
            ("REDIS_PATH_SNAPSHOT_ENABLED", self.keeps_snapshots()),
            ("REDIS_BLOB_CACHE_ENABLED", self.blob_cache),
        ];
        match settings.iter().find(|(_, on)| *on && self.cache_server().is_none()) {
            Some((name, _)) => Err(ConfigError(format!("{name}: true needs REDIS_CACHE_URL or REDIS_URL"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(pairs: &[(&str, &str)]) -> Result<Option<&'static str>, String> {
        let lookup =
            |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let config = Config::parse(lookup).map_err(|error| error.0)?;
        assert!(!format!("{config:?}").contains("canary"));
        Ok(config.cache_server().map(|(setting, _)| setting))
    }

    #[test]
    fn snapshots_lie_on_the_lease_server_only_if_that_is_asked_for() {
        let (leases, caches) = (("REDIS_URL", "redis://:canary@h"), ("REDIS_CACHE_URL", "redis://:canary@i"));
        let set = |value| ("REDIS_PATH_SNAPSHOT_ENABLED", value);
        assert_eq!(server(&[]), Ok(None));
        assert_eq!(server(&[leases]), Ok(None));
        assert_eq!(server(&[leases, set("true")]), Ok(Some("REDIS_URL")));
        assert_eq!(server(&[leases, caches]), Ok(Some("REDIS_CACHE_URL")));
        assert_eq!(server(&[caches, ("SNAPSHOT_KEY", "canary")]), Ok(Some("REDIS_CACHE_URL")));
        assert_eq!(server(&[leases, caches, set("false")]), Ok(None));
        let blobs = ("REDIS_BLOB_CACHE_ENABLED", "true");
        assert_eq!(server(&[leases, caches, set("false"), blobs]), Ok(Some("REDIS_CACHE_URL")));
        assert_eq!(server(&[leases, blobs]), Ok(Some("REDIS_URL")));
        assert!(server(&[blobs]).unwrap_err().starts_with("REDIS_BLOB_CACHE_ENABLED: true needs"));
        assert!(server(&[set("true")]).unwrap_err().contains("needs REDIS_CACHE_URL or REDIS_URL"));
        assert!(server(&[set("yes")]).unwrap_err().contains("must be true or false"));
    }
}
