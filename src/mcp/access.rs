//! Who calls `/mcp`: the owner of a token, or whom a program with MCP_API_KEY acts for.

use axum::http::{HeaderMap, HeaderName};

use crate::config::Config;
use crate::http::HttpState;
use crate::http::auth::{accepted, bearer, check_sub, same_secret};
use crate::http::error::{ApiError, ApiResult};
use crate::ids::{Caller, Owner, Sha256, TenantId};

/// The settings of MCP_API_KEY, ready for use.
pub struct Access {
    key: Option<Sha256>,
    header: HeaderName,
    default: Option<Owner>,
    tenant: TenantId,
}

impl Access {
    /// As configured; `config` has checked the values.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let header = config.mcp_identity_header.to_ascii_lowercase();
        Self {
            key: config.mcp_api_key.as_ref().map(|key| Sha256::of(key.0.as_bytes())),
            header: HeaderName::from_bytes(header.as_bytes()).expect("a header name: config has checked it"),
            default: config.mcp_default_sub.as_deref().map(|sub| Owner(sub.into())),
            tenant: TenantId(config.mcp_static_tenant.as_str().into()),
        }
    }

    /// The caller that a request's head names. With a token the identity header means
    /// nothing: a token's owner cannot act as somebody else.
    pub async fn caller(&self, state: &HttpState, headers: &HeaderMap) -> ApiResult<Caller> {
        match self.by_key(headers)? {
            Some(caller) => Ok(caller),
            None => accepted(state, headers).await,
        }
    }

    /// Whom a request with the key is for; `None` when it brings something else.
    fn by_key(&self, headers: &HeaderMap) -> ApiResult<Option<Caller>> {
        let given = bearer(headers)?;
        if !self.key.is_some_and(|key| same_secret(given.as_bytes(), &[key])) {
            return Ok(None);
        }
        Ok(Some(Caller { tenant: self.tenant.clone(), owner: self.owner(headers)? }))
    }

    fn owner(&self, headers: &HeaderMap) -> ApiResult<Owner> {
        let name = &self.header;
        let mut values = headers.get_all(name).iter();
        let Some(value) = values.next() else {
            return self.default.clone().ok_or_else(|| {
                let message = format!("with MCP_API_KEY, the header {name} must say who it is for");
                ApiError::unauthorized("AUTH_REQUIRED", &message)
            });
        };
        let sub = std::str::from_utf8(value.as_bytes()).ok().filter(|_| values.next().is_none());
        // A placeholder that the client did not fill in would make one owner of all users.
        let sub = sub.map(str::trim).filter(|sub| check_sub(sub).is_ok() && !sub.contains("{{"));
        sub.map(|sub| Owner(sub.into())).ok_or_else(|| {
            let message = format!("{name}: expected one owner of 1 to 256 bytes without control characters");
            ApiError::unauthorized("AUTH_INVALID", &message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;
    use crate::http::auth::{Keys, Lifetime};

    fn config(pairs: &[(&str, &str)]) -> Config {
        let find = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        Config::parse(find).unwrap()
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, axum::http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    fn keys() -> Keys {
        Keys::new(&Secret("secret".into()), None, None).unwrap()
    }

    fn who(access: &Access, pairs: &[(&'static str, &str)]) -> String {
        let headers = headers(pairs);
        let token = || keys().token(&headers).map(|token| token.caller);
        match access.by_key(&headers).and_then(|caller| caller.map_or_else(token, Ok)) {
            Ok(caller) => format!("{}/{}", caller.tenant.0, caller.owner.0),
            Err(error) => error.code().to_owned(),
        }
    }

    #[test]
    fn the_key_acts_for_whom_the_header_names() {
        let access = Access::new(&config(&[
            ("MCP_API_KEY", "key"),
            ("MCP_STATIC_TENANT", "t1"),
            ("TENANT_DATABASES", r#"{"t1": "postgres://h/t1"}"#),
        ]));
        let key = ("authorization", "Bearer key");
        let token = format!("Bearer {}", keys().issue("me", "default", Lifetime::Never).token);
        let user = "x-librechat-user-id";
        let long = "a".repeat(257);
        for (given, expected) in [
            (vec![key, (user, "ann")], "t1/ann"),
            (vec![key, (user, " ünï ")], "t1/ünï"),
            (vec![("authorization", "bearer key"), (user, "ann")], "t1/ann"),
            (vec![key], "AUTH_REQUIRED"),
            (vec![(user, "ann")], "AUTH_REQUIRED"),
            (vec![key, (user, "")], "AUTH_INVALID"),
            (vec![key, (user, "a\tb")], "AUTH_INVALID"),
            (vec![key, (user, &long)], "AUTH_INVALID"),
            (vec![key, (user, "{{LIBRECHAT_USER_ID}}")], "AUTH_INVALID"),
            (vec![key, (user, "ann"), (user, "bob")], "AUTH_INVALID"),
            (vec![key, key, (user, "ann")], "AUTH_INVALID"),
            (vec![("authorization", "Bearer ke"), (user, "ann")], "AUTH_INVALID"),
            (vec![("authorization", "Bearer keys"), (user, "ann")], "AUTH_INVALID"),
            (vec![("authorization", "Bearer "), (user, "ann")], "AUTH_INVALID"),
            (vec![("authorization", "Basic key"), (user, "ann")], "AUTH_INVALID"),
            (vec![("authorization", &token), (user, "ann")], "default/me"),
        ] {
            assert_eq!(who(&access, &given), expected, "{given:?}");
        }
    }

    #[test]
    fn another_header_and_a_default() {
        let access = Access::new(&config(&[
            ("MCP_API_KEY", "key"),
            ("MCP_IDENTITY_HEADER", "X-User"),
            ("MCP_DEFAULT_SUB", "all"),
        ]));
        let key = ("authorization", "Bearer key");
        assert_eq!(who(&access, &[key]), "default/all");
        assert_eq!(who(&access, &[key, ("x-user", "ann")]), "default/ann");
        assert_eq!(who(&access, &[key, ("x-librechat-user-id", "ann")]), "default/all");
        assert_eq!(who(&access, &[key, ("x-user", "")]), "AUTH_INVALID", "no way round a bad name");
    }

    #[test]
    fn without_a_key_there_are_tokens_only() {
        let access = Access::new(&Config::defaults());
        assert_eq!(
            who(&access, &[("authorization", "Bearer "), ("x-librechat-user-id", "a")]),
            "AUTH_INVALID"
        );
        assert_eq!(who(&access, &[("x-librechat-user-id", "a")]), "AUTH_REQUIRED");
        // The default name passes what a token's sub must pass.
        check_sub(&"é".repeat(128)).unwrap();
        let longest = config(&[("MCP_DEFAULT_SUB", &"é".repeat(128))]);
        assert!(check_sub(longest.mcp_default_sub.as_deref().unwrap()).is_ok());
    }
}
