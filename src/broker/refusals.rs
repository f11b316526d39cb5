//! Scripts that try what they may not. A scan of ports is cut short, and is one line in the
//! log, not 65,535.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;

use super::{Failure, Refusal};
use crate::clock;
use crate::ids::SandboxId;

/// Time in which refusals of one sandbox are counted together.
const WINDOW: Duration = Duration::from_mins(1);

/// Refusals in a window after which the sandbox reaches nothing until its end.
pub const MOST: u32 = 100;

/// Sandboxes that are remembered.
const SANDBOXES: NonZero<usize> = NonZero::new(10_000).expect("not zero");

struct Window {
    began: clock::Instant,
    count: u32,
}

pub(super) struct Refusals(Mutex<LruCache<SandboxId, Window>>);

impl Default for Refusals {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(SANDBOXES)))
    }
}

impl Refusals {
    /// `Err` if the sandbox was refused too often just now.
    pub(super) fn check(&self, sandbox: SandboxId) -> Result<(), Failure> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let over = |window: &Window| window.count >= MOST && window.began.elapsed() < WINDOW;
        if seen.get(&sandbox).is_some_and(over) {
            let why = "too many requests of this sandbox were refused; wait a minute";
            return Err(Failure::refused(Refusal::TooMany, why));
        }
        Ok(())
    }

    /// One more.
    pub(super) fn note(&self, sandbox: SandboxId) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Window { began: clock::now(), count: 0 };
        let window = seen.get_or_insert_mut(sandbox, fresh);
        if window.began.elapsed() >= WINDOW {
            *window = fresh();
        }
        window.count += 1;
        if window.count == 1 {
            tracing::info!(sandbox = %sandbox, "a script asked for a place on the network that it may not reach");
        }
    }
}
