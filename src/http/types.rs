//! Times as they stand in replies.

use chrono::{DateTime, SecondsFormat, Utc};

/// RFC 3339 in UTC with milliseconds, of nanoseconds since the Unix epoch.
#[must_use]
pub fn rfc3339(ns: i64) -> String {
    DateTime::<Utc>::from_timestamp_nanos(ns).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// RFC 3339 in UTC with as many digits (0, 3, 6 or 9) as the time has.
#[must_use]
pub fn rfc3339_exact(ns: i64) -> String {
    DateTime::<Utc>::from_timestamp_nanos(ns).to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(rfc3339(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123Z");
        assert_eq!(rfc3339_exact(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123456789Z");
        assert_eq!(rfc3339_exact(-1_000_000_000), "1969-12-31T23:59:59Z");
    }
}
