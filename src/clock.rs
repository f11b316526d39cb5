//! The one door through which time comes in. Wall time labels files and rows;
//! every wait and deadline uses the monotonic clock of tokio, which tests can pause.

use std::time::{SystemTime, UNIX_EPOCH};

pub use tokio::time::Instant;

/// Wall time, nanoseconds since the Unix epoch. For labels only, never for waits.
#[must_use]
pub fn wall_ns() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    let now = SystemTime::now();
    match now.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_nanos()).unwrap_or(i64::MAX),
    }
}

/// Monotonic time for waits and deadlines.
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}
