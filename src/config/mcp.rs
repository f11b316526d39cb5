//! The settings of MCP_API_KEY, as they must stand to the others.

use super::{Config, ConfigError, DEFAULT_TENANT};

impl Config {
    /// Whom MCP_API_KEY may act for.
    pub(super) fn check_mcp(&self) -> Result<(), ConfigError> {
        let Some(key) = &self.mcp_api_key else { return Ok(()) };
        let others = [&self.auth_secret, &self.auth_secret_previous, &self.admin_secret];
        if others.into_iter().flatten().any(|secret| secret == key) {
            return Err(ConfigError(
                "MCP_API_KEY: must differ from AUTH_SECRET, AUTH_SECRET_PREVIOUS and ADMIN_SECRET".into(),
            ));
        }
        let tenants = self.tenants();
        if !tenants.contains(&self.mcp_static_tenant.as_str()) {
            return Err(ConfigError(format!(
                "MCP_STATIC_TENANT: there is no tenant {}; there are {}",
                self.mcp_static_tenant,
                tenants.join(", ")
            )));
        }
        Ok(())
    }

    /// Names of all tenants. `default` is one unless all of them are in TENANT_DATABASES.
    #[must_use]
    pub fn tenants(&self) -> Vec<&str> {
        let default = self.database_url.is_some() || self.tenant_databases.is_empty();
        let default = default.then_some(DEFAULT_TENANT);
        default.into_iter().chain(self.tenant_databases.keys().map(String::as_str)).collect()
    }

    /// Settings that are set and do nothing without the key; one line each.
    pub(super) fn idle_mcp_settings(&self) -> Vec<String> {
        let of_the_key = [
            ("MCP_DEFAULT_SUB", self.mcp_default_sub.is_some()),
            ("MCP_STATIC_TENANT", self.mcp_static_tenant != DEFAULT_TENANT),
        ];
        let idle = of_the_key.into_iter().filter(|(_, set)| *set && self.mcp_api_key.is_none());
        idle.map(|(name, _)| format!("{name} does nothing without MCP_API_KEY")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Config, String> {
        Config::parse(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
            .map_err(|e| e.0)
    }

    #[test]
    fn the_key_acts_in_a_tenant_that_is_there() {
        let key = ("MCP_API_KEY", "key");
        let tenants = ("TENANT_DATABASES", r#"{"acme": "postgres://h/a", "b": "postgres://h/b"}"#);
        let acme = ("MCP_STATIC_TENANT", "acme");
        let database = ("DATABASE_URL", "postgres://h/d");
        for (pairs, there) in [
            (&[key, acme][..], "default"),
            (&[key, tenants], "acme, b"),
            (&[key, tenants, database, ("MCP_STATIC_TENANT", "c")], "default, acme, b"),
        ] {
            let error = parse(pairs).unwrap_err();
            assert!(error.starts_with("MCP_STATIC_TENANT: there is no tenant "), "{error}");
            assert!(error.ends_with(&format!("; there are {there}")), "{error}");
        }
        for pairs in [&[key][..], &[key, tenants, acme], &[key, tenants, database], &[tenants]] {
            parse(pairs).unwrap();
        }
        // Without the key nobody acts in it, and the operator hears so.
        let idle = parse(&[acme, ("MCP_DEFAULT_SUB", "all")]).unwrap().warnings();
        assert_eq!(idle.len(), 2, "{idle:?}");
        assert!(idle.iter().all(|line| line.ends_with(" does nothing without MCP_API_KEY")), "{idle:?}");
        for other in ["AUTH_SECRET", "ADMIN_SECRET", "AUTH_SECRET_PREVIOUS"] {
            let secrets = [key, ("AUTH_SECRET", "secret"), (other, "key")];
            let lookup: Vec<_> = secrets.into_iter().rev().collect();
            assert!(parse(&lookup).unwrap_err().starts_with("MCP_API_KEY: must differ"), "{other}");
        }
    }
}
