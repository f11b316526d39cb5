//! Fails fast while a server is away: after failures in a row, calls are refused for a
//! while; then one at a time may try.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Instant;

/// Failures in a row that open it. One may be a connection closed while idle.
const FAILURES: u32 = 2;
/// How long calls are refused, at first and at most.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(1);

/// One per role, so that one role's trouble is not the other's.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    /// Whether a call may be made now. One that is let through while the breaker is
    /// open keeps the others out for another while, whatever becomes of it: a trial
    /// that is dropped cannot leave the breaker stuck.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.open_until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                state.open_until = Some(now + pause(state.failures));
                true
            }
        }
    }

    pub(super) fn succeeded(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    pub(super) fn failed(&self, now: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures = state.failures.saturating_add(1);
        if state.failures >= FAILURES {
            state.open_until = Some(now + pause(state.failures));
        }
    }
}

fn pause(failures: u32) -> Duration {
    FIRST.saturating_mul(1 << failures.saturating_sub(FAILURES).min(8)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn opens_after_two_failures_and_lets_one_trial_through_at_a_time() {
        let (breaker, start) = (Breaker::default(), clock::now());
        breaker.failed(start);
        assert!(breaker.admits(start));
        breaker.failed(start);
        assert!(!breaker.admits(start));
        let later = start + FIRST;
        assert!(breaker.admits(later), "a trial");
        assert!(!breaker.admits(later), "only one");
        // The trial was dropped: nobody reported. The next one comes all the same.
        let later = later + LONGEST;
        assert!(breaker.admits(later));
        breaker.succeeded();
        assert!(breaker.admits(later) && breaker.admits(later));
    }

    #[test]
    fn the_longest_pause_is_bounded() {
        let (breaker, start) = (Breaker::default(), clock::now());
        (0..100).for_each(|_| breaker.failed(start));
        assert!(!breaker.admits(start));
        assert!(breaker.admits(start + LONGEST));
    }
}
