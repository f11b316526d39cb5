//! What the metrics are told of a request. It is noted when it is dropped, so that a request
//! whose script was cut off is counted, too.

use std::time::Duration;

use super::{Answer, Failure};
use crate::clock::{self, Instant};
use crate::metrics::metrics;

/// A time that ends when this is dropped.
pub(super) struct Measure {
    begun: Instant,
    outcome: &'static str,
    note: fn(&'static str, Duration),
}

impl Measure {
    /// Of a request.
    pub(super) fn request() -> Self {
        let note = |outcome, time| metrics().network_requests.note([("outcome", outcome)], time);
        Self { begun: clock::now(), outcome: "cut_off", note }
    }

    /// Of a question to DNS.
    pub(super) fn dns() -> Self {
        let note = |result, time| metrics().network_dns.note([("result", result)], time);
        Self { begun: clock::now(), outcome: "cut_off", note }
    }

    /// What became of it.
    pub(super) fn ended(&mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for Measure {
    fn drop(&mut self) {
        (self.note)(self.outcome, self.begun.elapsed());
    }
}

/// Bytes of bodies that were sent.
pub(super) fn sent(bytes: u64) {
    metrics().network_bytes.add([("direction", "sent")], bytes);
}

/// Bytes of bodies that came.
pub(super) fn received(bytes: u64) {
    metrics().network_bytes.add([("direction", "received")], bytes);
}

/// The outcome of a request that could be read.
pub(super) fn outcome(result: &Result<Answer, Failure>) -> &'static str {
    let Err(failure) = result else { return "answered" };
    if let Some(refusal) = failure.refusal {
        metrics().network_refusals.one([("reason", refusal.name())]);
        return "refused";
    }
    match failure.exit {
        6 => "dns",
        7 => "connect",
        28 => "timeout",
        35 | 60 => "tls",
        27 | 63 => "too_large",
        _ => "broken",
    }
}
