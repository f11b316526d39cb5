//! Operators' routes: any sandbox, and the revocation of tokens. They ask for ADMIN_SECRET,
//! are limited in rate, and leave a line in the audit log, done or refused.

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};

use super::HttpState;
use super::auth::{check_sub, tenant_field};
use super::body::{self, Cap, SMALL_BODY_BYTES};
use super::error::{ApiError, ApiResult};
use super::extract::{Query, RequestId, sandbox_id};
use super::json::Fields;
use super::rate::ClientAddress;
use super::sandboxes::{page_of, page_reply};
use super::wire::{self, SandboxPage};
use crate::ids::{Owner, TenantId};
use crate::session::Revoked;

/// Whoever has ADMIN_SECRET.
pub struct Operator {
    request_id: RequestId,
}

impl FromRequestParts<HttpState> for Operator {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> ApiResult<Self> {
        let request_id = RequestId::from_request_parts(parts, state).await?;
        let address = ClientAddress::from_request_parts(parts, state).await?;
        state.limits.admin.check(address)?;
        if !state.keys.opens_admin(&parts.headers) {
            let path = parts.uri.path();
            tracing::warn!(target: "sqlfs::audit", path, request_id = &*request_id.0, "operator refused");
            return Err(ApiError::forbidden(
                "X-Admin-Secret is missing or wrong, or ADMIN_SECRET is not set",
            ));
        }
        Ok(Self { request_id })
    }
}

fn tenant_of(fields: &mut Fields, state: &HttpState) -> ApiResult<TenantId> {
    tenant_field(state, fields).map(|tenant| TenantId(tenant.into()))
}

fn owner_of(text: Option<String>) -> ApiResult<Option<Owner>> {
    let owner = text.map(|text| check_sub(&text).map(|()| Owner(text.into())).map_err(ApiError::invalid));
    owner.transpose()
}

/// `GET /v1/admin/sandboxes`.
pub async fn list(
    State(state): State<HttpState>,
    operator: Operator,
    query: Query,
) -> ApiResult<Json<SandboxPage>> {
    let mut params = query.fields(&["tenant", "owner", "cursor", "limit"])?;
    let tenant = tenant_of(&mut params, &state)?;
    let owner = owner_of(params.text("owner")?)?;
    let (page, limit) = page_of(&mut params)?;
    let rows = state.service.list_all(&tenant, owner.as_ref(), &page).await?;
    let request_id = &*operator.request_id.0;
    tracing::info!(target: "sqlfs::audit", request_id, tenant = %tenant, "sandboxes listed");
    Ok(Json(page_reply(rows, limit)))
}

/// `DELETE /v1/admin/sandboxes/{id}`.
pub async fn delete(
    State(state): State<HttpState>,
    operator: Operator,
    Path(id): Path<String>,
    query: Query,
) -> ApiResult<StatusCode> {
    let mut params = query.fields(&["tenant", "force"])?;
    let tenant = tenant_of(&mut params, &state)?;
    let force = params.flag("force")?.unwrap_or(false);
    let sandbox = sandbox_id(&id)?;
    let owner = state.service.delete_any(&tenant, sandbox, force).await?;
    let request_id = &*operator.request_id.0;
    tracing::info!(
        target: "sqlfs::audit", request_id, tenant = %tenant, owner = %owner, sandbox = %sandbox, "sandbox deleted"
    );
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /v1/admin/revoke`.
pub async fn revoke(
    State(state): State<HttpState>,
    operator: Operator,
    query: Query,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<wire::Revoked>> {
    query.none()?;
    let cap = Cap { bytes: SMALL_BODY_BYTES, name: "64 KiB" };
    let mut fields = Fields::of(body::json(&headers, body, cap).await?, &["jti", "sub", "tenant"])?;
    let tenant = tenant_of(&mut fields, &state)?;
    let jti = fields.clean_text("jti")?;
    if jti.as_deref() == Some("") {
        return Err(ApiError::invalid("jti: must not be empty"));
    }
    let what = match (jti, owner_of(fields.text("sub")?)?) {
        (Some(jti), None) => Revoked::Jti(jti),
        (None, Some(owner)) => Revoked::Sub(owner),
        (None, None) | (Some(_), Some(_)) => {
            return Err(ApiError::invalid("give jti, for one token, or sub, for all tokens of an owner"));
        }
    };
    let (kind, value) = what.parts();
    let reply = wire::Revoked {
        jti: (kind == "jti").then(|| value.to_owned()),
        sub: (kind == "sub").then(|| value.to_owned()),
        tenant: tenant.0.to_string(),
        effective_within_seconds: 30,
    };
    let request_id = &*operator.request_id.0;
    tracing::info!(target: "sqlfs::audit", request_id, tenant = %tenant, kind, value, "tokens revoked");
    state.service.revoke(&tenant, what).await?;
    Ok(Json(reply))
}
