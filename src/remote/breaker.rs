//! Fails fast while a server is away: after failures in a row, calls are refused for a
//! while; then one at a time may try.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Instant;

/// When a server is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patience {
    /// Failures in a row that open it; at least 1.
    pub(super) failures: u32,
    /// How long calls are refused, at first and at most.
    pub(super) first: Duration,
    pub(super) longest: Duration,
}

/// One per role, so that one role's trouble is not the other's.
#[derive(Debug)]
pub(super) struct Breaker {
    patience: Patience,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    pub(super) fn new(patience: Patience) -> Self {
        Self { patience, state: Mutex::default() }
    }

    /// Whether a call may be made now. One that is let through while the breaker is
    /// open keeps the others out for another while, whatever becomes of it: a trial
    /// that is dropped cannot leave the breaker stuck.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.open_until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                state.open_until = Some(now + self.patience.pause(state.failures));
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
        if state.failures >= self.patience.failures {
            state.open_until = Some(now + self.patience.pause(state.failures));
        }
    }
}

impl Patience {
    fn pause(self, failures: u32) -> Duration {
        self.first.saturating_mul(1 << failures.saturating_sub(self.failures).min(8)).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    const FIRST: Duration = Duration::from_millis(100);
    const LONGEST: Duration = Duration::from_secs(1);
    const PATIENCE: Patience = Patience { failures: 2, first: FIRST, longest: LONGEST };

    #[test]
    fn opens_after_two_failures_and_lets_one_trial_through_at_a_time() {
        let (breaker, start) = (Breaker::new(PATIENCE), clock::now());
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
        let (breaker, start) = (Breaker::new(PATIENCE), clock::now());
        (0..100).for_each(|_| breaker.failed(start));
        assert!(!breaker.admits(start));
        assert!(breaker.admits(start + LONGEST));
    }
}
