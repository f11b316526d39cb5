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

/// The clock behind [`now`] as a number, nanoseconds since an origin that all processes of
/// the machine share. Test builds alone have it: to put the traces of several in order.
#[cfg(debug_assertions)]
#[must_use]
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    #[expect(unsafe_code, reason = "clock_gettime writes into the value that it is given, nothing else")]
    let got = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(got, 0, "there is a monotonic clock");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Monotonic time for waits and deadlines.
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}
