//! Rules of the settings of caches in Redis.

use super::{Config, ConfigError, Secret};

impl Config {
    /// Where path snapshots lie, with the setting that says so; `None`: nowhere. On the
    /// server of leases they lie only if that is asked for: it must not run out of memory.
    #[must_use]
    pub fn snapshot_server(&self) -> Option<(&'static str, &Secret)> {
        let own = self.redis_cache_url.as_ref().map(|url| ("REDIS_CACHE_URL", url));
        match self.path_snapshots {
            Some(false) => None,
            None => own,
            Some(true) => own.or(self.redis_url.as_ref().map(|url| ("REDIS_URL", url))),
        }
    }

    pub(super) fn check_caches(&self) -> Result<(), ConfigError> {
        if self.path_snapshots == Some(true) && self.snapshot_server().is_none() {
            return Err(ConfigError(
                "REDIS_PATH_SNAPSHOT_ENABLED: true needs REDIS_CACHE_URL or REDIS_URL".into(),
            ));
        }
        Ok(())
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
        Ok(config.snapshot_server().map(|(setting, _)| setting))
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
        assert!(server(&[set("true")]).unwrap_err().contains("needs REDIS_CACHE_URL or REDIS_URL"));
        assert!(server(&[set("yes")]).unwrap_err().contains("must be true or false"));
    }
}
