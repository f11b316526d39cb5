//! What handlers take out of a request's head. Order of checks: token, then path,
//! then query, then body.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use super::error::{ApiError, ApiResult};
use super::json::Fields;
use super::{HttpState, auth};
use crate::ids::{Caller, SandboxId};

/// The request's id: taken from `X-Request-Id` or made.
#[derive(Clone, Debug)]
pub struct RequestId(pub Arc<str>);

impl FromRequestParts<HttpState> for RequestId {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> ApiResult<Self> {
        parts.extensions.get::<Self>().cloned().ok_or_else(ApiError::internal)
    }
}

/// The caller as the token names it.
#[derive(Clone, Debug)]
pub struct Auth(pub Caller);

impl FromRequestParts<HttpState> for Auth {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> ApiResult<Self> {
        auth::accepted(state, &parts.headers).await.map(Self)
    }
}

/// A sandbox of the path, with who asks.
#[derive(Clone, Debug)]
pub struct Target {
    /// Who asks.
    pub caller: Caller,
    /// The request.
    pub request_id: Arc<str>,
    /// Which sandbox; whether it is the caller's is checked by the session.
    pub sandbox: SandboxId,
}

impl FromRequestParts<HttpState> for Target {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> ApiResult<Self> {
        let Auth(caller) = Auth::from_request_parts(parts, state).await?;
        let RequestId(request_id) = RequestId::from_request_parts(parts, state).await?;
        let id = path_param(parts, "id").await?;
        Ok(Self { caller, request_id, sandbox: sandbox_id(&id)? })
    }
}

/// A sandbox's id from its text.
pub fn sandbox_id(text: &str) -> ApiResult<SandboxId> {
    text.parse().map_err(|_| {
        ApiError::invalid("sandbox id: expected a UUID such as 123e4567-e89b-42d3-a456-426614174000")
    })
}

/// The file path behind `/files/`, absolute.
#[derive(Clone, Debug)]
pub struct FilePath(pub String);

impl FromRequestParts<HttpState> for FilePath {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> ApiResult<Self> {
        let path = path_param(parts, "path").await?;
        absolute("path", &format!("/{path}")).map(Self)
    }
}

/// The query, still unread.
#[derive(Clone, Debug)]
pub struct Query(pub Option<String>);

impl Query {
    /// Its parameters; others than `known` are refused.
    pub fn fields(&self, known: &[&str]) -> ApiResult<Fields> {
        Fields::of_query(self.0.as_deref(), known)
    }

    /// For routes without parameters.
    pub fn none(&self) -> ApiResult<()> {
        self.fields(&[]).map(drop)
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        Ok(Self(parts.uri.query().map(ToOwned::to_owned)))
    }
}

async fn path_param(parts: &mut Parts, name: &str) -> ApiResult<String> {
    let params = RawPathParams::from_request_parts(parts, &())
        .await
        .map_err(|_| ApiError::invalid("the path is not UTF-8 text"))?;
    let found = params.iter().find(|(key, _)| *key == name);
    found.map(|(_, value)| value.to_owned()).ok_or_else(ApiError::internal)
}

/// Checks an absolute path and writes it plainly: no `.`, no empty components. `..` is
/// refused rather than guessed at: what it means depends on links.
pub fn absolute(field: &str, path: &str) -> ApiResult<String> {
    if !path.starts_with('/') {
        return Err(ApiError::invalid(format!("{field}: expected an absolute path, got {path:?}")));
    }
    let components = components(field, path)?;
    Ok(if components.is_empty() {
        "/".into()
    } else {
        components.iter().fold(String::new(), |p, c| p + "/" + c)
    })
}

/// Checks a path relative to a base: not absolute, no `..`, not empty.
pub fn relative(field: &str, path: &str) -> ApiResult<String> {
    let components = components(field, path)?;
    if path.starts_with('/') || components.is_empty() {
        return Err(ApiError::invalid(format!(
            "{field}: expected a path relative to basePath, got {path:?}"
        )));
    }
    Ok(components.join("/"))
}

fn components<'a>(field: &str, path: &'a str) -> ApiResult<Vec<&'a str>> {
    if path.contains('\0') {
        return Err(ApiError::invalid(format!("{field}: holds a NUL")));
    }
    let components: Vec<_> = path.split('/').filter(|c| !c.is_empty() && *c != ".").collect();
    if components.contains(&"..") {
        return Err(ApiError::invalid(format!("{field}: .. is not allowed, got {path:?}")));
    }
    Ok(components)
}

/// The directory that holds an absolute, plain path.
#[must_use]
pub fn parent(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(at) => &path[..at],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_plainly_or_refused() {
        assert_eq!(absolute("path", "//a/./b//c/").unwrap(), "/a/b/c");
        assert_eq!(absolute("path", "/").unwrap(), "/");
        assert_eq!(relative("files", "./a/b").unwrap(), "a/b");
        for bad in ["a", "", "/a/../b", "/..", "/a\0b"] {
            assert_eq!(absolute("path", bad).unwrap_err().code(), "INVALID_INPUT", "{bad:?}");
        }
        for bad in ["", "/a", "..", "a/../../b", ".", "a\0"] {
            assert_eq!(relative("path", bad).unwrap_err().code(), "INVALID_INPUT", "{bad:?}");
        }
        assert_eq!((parent("/a/b"), parent("/a"), parent("/")), ("/a", "/", "/"));
        assert_eq!(absolute("path", "/a..b/...").unwrap(), "/a..b/...", "dots in names are names");
    }
}
