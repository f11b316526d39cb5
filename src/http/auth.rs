//! Tokens: HS256 over AUTH_SECRET. `sub` is the owner, `tenant` the tenant.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Map, Value, json};
use subtle::ConstantTimeEq;

use super::HttpState;
use super::body::{self, Cap, SMALL_BODY_BYTES};
use super::error::{ApiError, ApiResult};
use super::extract::{Query, RequestId};
use super::json::Fields;
use super::rate::ClientAddress;
use super::types::rfc3339;
use super::wire::Token;
use crate::clock;
use crate::config::{ConfigError, DEFAULT_TENANT, Secret, check_tenant};
use crate::ids::{Caller, Owner, Sha256, TenantId};
use crate::session::{SessionError, TokenFacts};

const LONGEST_SUB: usize = 256;
const NS: i64 = 1_000_000_000;

/// The secrets, ready for use. Makes and checks tokens.
pub struct Keys {
    signing: EncodingKey,
    accepted: Vec<DecodingKey>,
    validation: Validation,
    bootstrap: Vec<Sha256>,
    admin: Option<Sha256>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// How long a token is valid; 30 days unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// For this long from now on.
    For(Duration),
    /// Without end.
    Never,
}

impl Default for Lifetime {
    fn default() -> Self {
        Self::For(Duration::from_hours(30 * 24))
    }
}

impl std::str::FromStr for Lifetime {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let hours = |n| Ok(Self::For(Duration::from_hours(n)));
        match text {
            "24h" => hours(24),
            "30d" => hours(30 * 24),
            "1y" => hours(365 * 24),
            "never" => Ok(Self::Never),
            other => Err(format!("expected 24h, 30d, 1y or never, got {other:?}")),
        }
    }
}

/// A token that was made.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The token.
    pub token: String,
    /// Its end, nanoseconds since the Unix epoch.
    pub expires_at_ns: Option<i64>,
}

/// A token of this server, as a request brought it.
#[derive(Clone, Debug)]
pub struct Presented {
    /// Whom it stands for.
    pub caller: Caller,
    jti: Option<String>,
    issued_at: Option<f64>,
}

impl Presented {
    /// What revocation asks for.
    #[must_use]
    pub fn facts(&self) -> TokenFacts<'_> {
        TokenFacts { jti: self.jti.as_deref(), issued_at: self.issued_at }
    }
}

impl Keys {
    /// `previous`: tokens of this secret are still accepted. Without `admin` the admin
    /// route refuses everybody.
    pub fn new(
        secret: &Secret,
        previous: Option<&Secret>,
        admin: Option<&Secret>,
    ) -> Result<Self, ConfigError> {
        let empty = |_| ConfigError("AUTH_SECRET: must not be empty".into());
        let secrets = || std::iter::once(secret).chain(previous);
        let mut validation = Validation::new(Algorithm::HS256);
        // Times are checked below, by our clock and without leeway; aud and iss are
        // not used.
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        Ok(Self {
            signing: EncodingKey::from_secret(secret.0.as_bytes()).map_err(empty)?,
            accepted: secrets()
                .map(|s| DecodingKey::from_secret(s.0.as_bytes()))
                .collect::<Result<_, _>>()
                .map_err(empty)?,
            validation,
            bootstrap: secrets().map(|s| Sha256::of(s.0.as_bytes())).collect(),
            admin: admin.map(|s| Sha256::of(s.0.as_bytes())),
        })
    }

    /// Makes a token. `sub` and `tenant` must have passed [`check_sub`] and
    /// [`check_tenant`].
    #[must_use]
    pub fn issue(&self, sub: &str, tenant: &str, lifetime: Lifetime) -> Issued {
        let now = clock::wall_ns() / NS;
        let mut claims = json!({"sub": sub, "tenant": tenant, "iat": now, "jti": crate::random::uuid()});
        let expires = match lifetime {
            Lifetime::For(span) => Some(now + span.as_secs() as i64),
            Lifetime::Never => None,
        };
        if let Some(at) = expires {
            claims["exp"] = json!(at);
        }
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.signing)
            .expect("signing JSON with HMAC cannot fail");
        Issued { token, expires_at_ns: expires.map(|s| s * NS) }
    }

    /// Whether a request has the operators' secret.
    #[must_use]
    pub fn opens_admin(&self, headers: &HeaderMap) -> bool {
        self.admin.is_some_and(|admin| matches(headers.get("x-admin-secret"), &[admin]))
    }

    /// The token in a request's `Authorization`, checked but for its revocation.
    pub fn token(&self, headers: &HeaderMap) -> ApiResult<Presented> {
        self.verify(bearer(headers)?, clock::wall_ns())
    }

    /// Checks a token as of `now_ns`.
    pub fn verify(&self, token: &str, now_ns: i64) -> ApiResult<Presented> {
        let data = self
            .accepted
            .iter()
            .find_map(|key| jsonwebtoken::decode::<Map<String, Value>>(token, key, &self.validation).ok())
            .ok_or_else(|| invalid("the token is not one of this server"))?;
        let head = &data.header;
        // Tokens of this server name no key; whoever names one tries something.
        let names_a_key = head.kid.is_some()
            || head.jku.is_some()
            || head.jwk.is_some()
            || head.x5u.is_some()
            || head.x5c.is_some()
            || head.x5t.is_some()
            || head.x5t_s256.is_some()
            || head.crit.is_some();
        if names_a_key {
            return Err(invalid("the token's header may hold alg and typ only"));
        }
        let claims = data.claims;
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
        let now = (now_ns / NS) as f64;
        if time(&claims, "exp")?.is_some_and(|exp| exp <= now) {
            return Err(invalid("the token has expired"));
        }
        if time(&claims, "nbf")?.is_some_and(|nbf| nbf > now) {
            return Err(invalid("the token is not valid yet"));
        }
        let owner = match claims.get("sub") {
            Some(Value::String(sub)) if check_sub(sub).is_ok() => Owner(sub.as_str().into()),
            _ => return Err(invalid("the token's sub is missing or malformed")),
        };
        let tenant = match claims.get("tenant") {
            None => DEFAULT_TENANT,
            Some(Value::String(tenant)) => tenant,
            Some(_) => return Err(invalid("the token's tenant is malformed")),
        };
        if check_tenant(tenant).is_err() {
            return Err(ApiError::unauthorized("AUTH_UNKNOWN_TENANT", "no such tenant"));
        }
        let jti = claims.get("jti").and_then(Value::as_str).map(str::to_owned);
        let issued_at = time(&claims, "iat")?;
        Ok(Presented { caller: Caller { tenant: TenantId(tenant.into()), owner }, jti, issued_at })
    }
}

/// The caller that a request's token names, if it is not revoked.
pub async fn accepted(state: &HttpState, headers: &HeaderMap) -> ApiResult<Caller> {
    let token = state.keys.token(headers)?;
    if state.service.is_revoked(&token.caller, token.facts()).await? {
        return Err(invalid("the token was revoked"));
    }
    Ok(token.caller)
}

/// The token of the one `Authorization: Bearer`.
pub fn bearer(headers: &HeaderMap) -> ApiResult<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or_else(|| {
        ApiError::unauthorized("AUTH_REQUIRED", "send Authorization: Bearer and a token of this server")
    })?;
    let text = value.to_str().ok().filter(|_| values.next().is_none());
    let token =
        text.and_then(|t| t.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let (_, token) = token.ok_or_else(|| invalid("expected one header Authorization: Bearer TOKEN"))?;
    Ok(token.trim())
}

fn invalid(message: &str) -> ApiError {
    ApiError::unauthorized("AUTH_INVALID", message)
}

fn time(claims: &Map<String, Value>, name: &str) -> ApiResult<Option<f64>> {
    match claims.get(name) {
        None => Ok(None),
        Some(value) => value.as_f64().map(Some).ok_or_else(|| invalid("the token's times must be numbers")),
    }
}

/// An owner: 1 to 256 bytes without control characters.
pub fn check_sub(sub: &str) -> Result<(), String> {
    let fine = !sub.is_empty() && sub.len() <= LONGEST_SUB && !sub.chars().any(char::is_control);
    if fine {
        Ok(())
    } else {
        Err(format!("sub: expected 1 to {LONGEST_SUB} bytes without control characters"))
    }
}

fn matches(given: Option<&axum::http::HeaderValue>, wanted: &[Sha256]) -> bool {
    same_secret(given.map(axum::http::HeaderValue::as_bytes).unwrap_or_default(), wanted)
}

/// Whether a text is one of some secrets, of which only the hashes are known. Takes the
/// same time whatever the answer is.
#[must_use]
pub fn same_secret(given: &[u8], wanted: &[Sha256]) -> bool {
    // Hashes have one length, so the comparison tells nothing about the secret's.
    let given = Sha256::of(given);
    let hits = wanted.iter().map(|w| w.0.ct_eq(&given.0)).fold(subtle::Choice::from(0), |a, b| a | b);
    bool::from(hits)
}

/// `POST /v1/auth/bootstrap`.
pub async fn bootstrap(
    State(state): State<HttpState>,
    address: ClientAddress,
    request_id: RequestId,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<(StatusCode, Json<Token>)> {
    state.limits.bootstrap.check(address)?;
    let open = matches(headers.get("x-auth-secret"), &state.keys.bootstrap);
    issue(&state, "bootstrap", open, &request_id, &query, &headers, body).await
}

/// `POST /v1/auth/admin`.
pub async fn admin(
    State(state): State<HttpState>,
    address: ClientAddress,
    request_id: RequestId,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<(StatusCode, Json<Token>)> {
    state.limits.admin.check(address)?;
    let open = state.keys.opens_admin(&headers);
    if open && headers.contains_key(header::AUTHORIZATION) {
        accepted(&state, &headers).await?;
    }
    issue(&state, "admin", open, &request_id, &query, &headers, body).await
}

/// The tenant that a request of an operator names; there must be one.
pub(super) fn tenant_field(state: &HttpState, fields: &mut Fields) -> ApiResult<String> {
    let tenant = fields.text("tenant")?.unwrap_or_else(|| DEFAULT_TENANT.into());
    check_tenant(&tenant).map_err(ApiError::invalid)?;
    if state.service.knows_tenant(&tenant) { Ok(tenant) } else { Err(SessionError::UnknownTenant.into()) }
}

async fn issue(
    state: &HttpState,
    route: &'static str,
    open: bool,
    RequestId(request_id): &RequestId,
    query: &Query,
    headers: &HeaderMap,
    body: Body,
) -> ApiResult<(StatusCode, Json<Token>)> {
    if !open {
        tracing::warn!(target: "sqlfs::audit", route, request_id = &**request_id, "token refused");
        return Err(ApiError::forbidden("the secret is missing or wrong"));
    }
    query.none()?;
    let cap = Cap { bytes: SMALL_BODY_BYTES, name: "64 KiB" };
    let mut fields = Fields::of(body::json(headers, body, cap).await?, &["sub", "tenant", "expiresIn"])?;
    let sub = fields.required_text("sub")?;
    check_sub(&sub).map_err(ApiError::invalid)?;
    let tenant = tenant_field(state, &mut fields)?;
    let lifetime = match fields.text("expiresIn")? {
        None => Lifetime::default(),
        Some(text) => text.parse().map_err(|e| ApiError::invalid(format!("expiresIn: {e}")))?,
    };
    let issued = state.keys.issue(&sub, &tenant, lifetime);
    tracing::info!(target: "sqlfs::audit", route, request_id = &**request_id, sub, tenant, "token issued");
    let expires_at = issued.expires_at_ns.map(rfc3339);
    Ok((StatusCode::CREATED, Json(Token { token: issued.token, sub, tenant, expires_at })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as B64;

    const NOW: i64 = 1_800_000_000;

    fn secret(text: &str) -> Secret {
        Secret(text.into())
    }

    fn keys() -> Keys {
        Keys::new(&secret("current"), Some(&secret("previous")), None).unwrap()
    }

    fn sign(with: &str, header: &Value, claims: &str) -> String {
        let message = format!("{}.{}", B64.encode(header.to_string()), B64.encode(claims));
        let key = EncodingKey::from_secret(with.as_bytes()).unwrap();
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
        format!("{message}.{signature}")
    }

    fn hs256(claims: &str) -> String {
        sign("current", &json!({"alg": "HS256", "typ": "JWT"}), claims)
    }

    fn code(token: &str) -> &'static str {
        keys().verify(token, NOW * NS).map_or_else(|e| e.code(), |_| "ok")
    }

    #[test]
    fn issued_tokens_are_accepted_until_they_end() {
        let issued = keys().issue("me", "default", Lifetime::For(Duration::from_mins(1)));
        let end = issued.expires_at_ns.unwrap();
        let caller = keys().verify(&issued.token, end - NS).unwrap().caller;
        assert_eq!((&*caller.owner.0, &*caller.tenant.0), ("me", "default"));
        assert_eq!(keys().verify(&issued.token, end).unwrap_err().code(), "AUTH_INVALID");
        let forever = keys().issue("me", "t", Lifetime::Never);
        assert!(keys().verify(&forever.token, i64::MAX).is_ok());
        let rotated = Keys::new(&secret("new"), Some(&secret("current")), None).unwrap();
        assert!(rotated.verify(&forever.token, NOW * NS).is_ok());
        let gone = Keys::new(&secret("newer"), Some(&secret("new")), None).unwrap();
        assert!(gone.verify(&forever.token, NOW * NS).is_err());
    }

    #[test]
    fn forged_headers_are_refused() {
        let claims = r#"{"sub":"me"}"#;
        assert_eq!(code(&hs256(claims)), "ok", "the positive control");
        assert_eq!(code(&sign("previous", &json!({"alg": "HS256"}), claims)), "ok");
        assert_eq!(code(&sign("guess", &json!({"alg": "HS256"}), claims)), "AUTH_INVALID");
        for alg in ["none", "nOnE", "HS384", "RS256", "ES256", "hs256", ""] {
            assert_eq!(code(&sign("current", &json!({"alg": alg}), claims)), "AUTH_INVALID", "{alg}");
        }
        let unsigned = format!("{}.{}.", B64.encode(r#"{"alg":"none"}"#), B64.encode(claims));
        assert_eq!(code(&unsigned), "AUTH_INVALID");
        for (name, value) in [
            ("kid", json!("../../dev/null")),
            ("jku", json!("http://127.0.0.1/keys")),
            ("x5u", json!("http://127.0.0.1/cert")),
            ("x5c", json!(["a"])),
            ("jwk", json!({"kty": "oct", "k": "Y3VycmVudA"})),
            ("crit", json!(["exp"])),
            ("crit", json!(["unknown"])),
        ] {
            let header = json!({"alg": "HS256", name: value});
            assert_eq!(code(&sign("current", &header, claims)), "AUTH_INVALID", "{name}");
        }
        let fine = hs256(claims);
        let (message, signature) = fine.rsplit_once('.').unwrap();
        let flipped = if signature.starts_with('A') { "B" } else { "A" };
        for broken in [
            message.to_owned(),
            format!("{message}."),
            format!("{message}.{flipped}{}", &signature[1..]),
            format!("{}.{signature}", hs256(r#"{"sub":"you"}"#).rsplit_once('.').unwrap().0),
            String::new(),
            "a.b.c".into(),
        ] {
            assert_eq!(code(&broken), "AUTH_INVALID", "{broken}");
        }
    }

    #[test]
    fn claims_are_checked() {
        for (claims, expected) in [
            (r#"{"sub":"me","exp":1800000001}"#, "ok"),
            (r#"{"sub":"me","exp":1800000000}"#, "AUTH_INVALID"),
            (r#"{"sub":"me","exp":"1800000001"}"#, "AUTH_INVALID"),
            (r#"{"sub":"me","exp":null}"#, "AUTH_INVALID"),
            (r#"{"sub":"me","exp":1e400}"#, "AUTH_INVALID"),
            (r#"{"sub":"me","nbf":1800000000}"#, "ok"),
            (r#"{"sub":"me","nbf":1800000001}"#, "AUTH_INVALID"),
            (r#"{"sub":"me","aud":["x"],"iss":"y"}"#, "ok"),
            (r#"{"sub":""}"#, "AUTH_INVALID"),
            (r#"{"sub":["me"]}"#, "AUTH_INVALID"),
            (r#"{"sub":"a\u0000b"}"#, "AUTH_INVALID"),
            (r#"{"tenant":"default"}"#, "AUTH_INVALID"),
            (r#"{"sub":"me","tenant":5}"#, "AUTH_INVALID"),
            (r#"{"sub":"me","tenant":"a:b"}"#, "AUTH_UNKNOWN_TENANT"),
            (r#"{"sub":"me","tenant":""}"#, "AUTH_UNKNOWN_TENANT"),
            (r#"{"sub":"me","tenant":"../x"}"#, "AUTH_UNKNOWN_TENANT"),
        ] {
            assert_eq!(code(&hs256(claims)), expected, "{claims}");
        }
    }

    #[test]
    fn authorization_headers() {
        let token = hs256(r#"{"sub":"me"}"#);
        let with = |value: &str| {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
            keys().token(&headers).map_or_else(|e| e.code(), |_| "ok")
        };
        assert_eq!(with(&format!("bearer {token}")), "ok");
        assert_eq!(with(&format!("Basic {token}")), "AUTH_INVALID");
        assert_eq!(with(&token), "AUTH_INVALID");
        assert_eq!(keys().token(&HeaderMap::new()).unwrap_err().code(), "AUTH_REQUIRED");
    }

    #[test]
    fn secrets_of_the_issuing_routes() {
        let value = |text: &str| text.parse::<axum::http::HeaderValue>().unwrap();
        let wanted = [Sha256::of(b"right")];
        assert!(matches(Some(&value("right")), &wanted));
        assert!(!matches(Some(&value("wrong")), &wanted) && !matches(None, &wanted));
    }
}
