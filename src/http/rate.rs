//! Limits on how often one address may ask for tokens or use the operators' routes: who
//! guesses a secret is slowed down. Each replica counts for itself.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::HttpState;
use super::error::{ApiError, ApiResult};

/// The address of the connection, put there by the connection loop.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// Who asks: the peer, or with TRUST_PROXY_HEADERS the address that the proxy before this
/// server saw.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub IpAddr);

impl FromRequestParts<HttpState> for ClientAddress {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> ApiResult<Self> {
        let Some(Peer(peer)) = parts.extensions.get::<Peer>().copied() else {
            return Err(ApiError::internal());
        };
        if !state.config.trust_proxy_headers {
            return Ok(Self(peer));
        }
        // What stands further left was written by whoever came before that proxy.
        let last = parts.headers.get_all("x-forwarded-for").iter().next_back();
        let last = last.and_then(|value| value.to_str().ok()).and_then(|text| text.rsplit(',').next());
        Ok(Self(last.and_then(|text| text.trim().parse().ok()).unwrap_or(peer)))
    }
}

/// So many requests of one address in a window.
#[derive(Debug)]
pub struct RateLimit {
    limiter: DefaultKeyedRateLimiter<IpAddr>,
    max: u32,
    window: Duration,
}

/// Addresses that are remembered before old ones are forgotten.
const REMEMBERED: usize = 10_000;

impl RateLimit {
    /// `max` requests at once, and as many again over `window`.
    #[must_use]
    pub fn new(max: u32, window: Duration) -> Self {
        let burst = NonZeroU32::new(max).unwrap_or(NonZeroU32::MIN);
        let each = (window / burst.get()).max(Duration::from_nanos(1));
        let quota = Quota::with_period(each).map(|quota| quota.allow_burst(burst));
        // The period is above zero.
        let quota = quota.unwrap_or_else(|| Quota::per_second(burst));
        Self { limiter: RateLimiter::keyed(quota), max: burst.get(), window }
    }

    /// 429 with Retry-After when the address has asked too often.
    pub fn check(&self, ClientAddress(address): ClientAddress) -> ApiResult<()> {
        if self.limiter.len() > REMEMBERED {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(&network(address)).map_err(|early| {
            let wait = early.wait_time_from(DefaultClock::default().now());
            ApiError::rate_limited(self.max, self.window, wait)
        })
    }
}

/// Who has one address of IPv6 has the 2^64 beside it too.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_burst_and_no_more() {
        let limit = RateLimit::new(2, Duration::from_hours(1));
        let from = |text: &str| ClientAddress(text.parse().unwrap());
        limit.check(from("10.0.0.1")).unwrap();
        limit.check(from("10.0.0.1")).unwrap();
        let refused = limit.check(from("10.0.0.1")).unwrap_err();
        assert_eq!((refused.status().as_u16(), refused.code()), (429, "RATE_LIMITED"));
        limit.check(from("10.0.0.2")).unwrap();
        limit.check(from("2001:db8::1")).unwrap();
        limit.check(from("2001:db8::2")).unwrap();
        assert!(limit.check(from("2001:db8::3")).is_err(), "one network");
        limit.check(from("2001:db8:0:1::1")).unwrap();
        assert!(limit.check(from("::ffff:10.0.0.1")).is_err(), "the first again");
    }
}
