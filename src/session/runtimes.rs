//! Places for programs of the languages that scripts may run. Engines of these take much
//! memory and time, so few run at once; the others wait, one tenant and owner after
//! another, not too many and not too long.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::clock;
use crate::exec::host::Runtime;
use crate::ids::Caller;
use crate::metrics::{RuntimeLoad, metrics};
use crate::session::admission::{FairSlots, RunSlot};
use crate::session::settings::{RuntimeLimits, Settings};

/// The places of one replica.
#[derive(Debug)]
pub(crate) struct Runtimes {
    python: Queue,
    javascript: Queue,
}

#[derive(Debug)]
struct Queue {
    runtime: Runtime,
    limits: RuntimeLimits,
    slots: FairSlots,
    waiting: AtomicUsize,
}

/// The right to run one program; the next waiter gets it when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _slot: RunSlot,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Busy {
    /// Too many wait.
    #[error("{limit} {} programs wait already", .runtime.name())]
    Full {
        /// Which.
        runtime: Runtime,
        /// How many may.
        limit: usize,
    },
    /// The turn did not come.
    #[error("no {} program could be started within {} s", .runtime.name(), .after.as_secs_f64())]
    TimedOut {
        /// Which.
        runtime: Runtime,
        /// How long it waited.
        after: Duration,
    },
}

impl Runtimes {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            python: Queue::new(Runtime::Python, settings.python),
            javascript: Queue::new(Runtime::JavaScript, settings.javascript),
        }
    }

    /// Waits for a place. Dropping the future leaves the queue.
    pub(crate) async fn place(&self, runtime: Runtime, caller: &Caller) -> Result<Place, Busy> {
        let queue = match runtime {
            Runtime::Python => &self.python,
            Runtime::JavaScript => &self.javascript,
        };
        let asked = clock::now();
        let place = queue.place(caller).await;
        metrics().runtime_wait.note([("runtime", runtime.name())], asked.elapsed());
        if let Err(busy) = &place {
            let reason = match busy {
                Busy::Full { .. } => "full",
                Busy::TimedOut { .. } => "timeout",
            };
            metrics().runtime_refusals.one([("reason", reason), ("runtime", runtime.name())]);
        }
        place
    }

    /// What runs and waits now.
    pub(crate) fn load(&self) -> [RuntimeLoad; 2] {
        [&self.python, &self.javascript].map(|queue| RuntimeLoad {
            name: queue.runtime.name(),
            running: queue.slots.running(),
            waiting: queue.waiting.load(Ordering::Relaxed),
        })
    }
}

impl Queue {
    fn new(runtime: Runtime, limits: RuntimeLimits) -> Self {
        // One owner may have them all, as long as nobody else asks.
        let slots = FairSlots::new(limits.running, limits.running, limits.running);
        Self { runtime, limits, slots, waiting: AtomicUsize::new(0) }
    }

    async fn place(&self, caller: &Caller) -> Result<Place, Busy> {
        let mut slot = std::pin::pin!(self.slots.take(caller));
        if let std::task::Poll::Ready(slot) = futures_util::poll!(&mut slot) {
            return Ok(Place { _slot: slot });
        }
        let limit = self.limits.waiting;
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= limit {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(Busy::Full { runtime: self.runtime, limit });
        }
        let _counted = Counted(&self.waiting);
        match tokio::time::timeout(self.limits.timeout, slot).await {
            Ok(slot) => Ok(Place { _slot: slot }),
            Err(_) => Err(Busy::TimedOut { runtime: self.runtime, after: self.limits.timeout }),
        }
    }
}

/// One who waits.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::ids::{Owner, TenantId};

    fn caller(name: &str) -> Caller {
        Caller { tenant: TenantId("t".into()), owner: Owner(name.into()) }
    }

    fn runtimes(running: usize, waiting: usize, timeout: Duration) -> Arc<Runtimes> {
        let limits = RuntimeLimits { running, waiting, timeout };
        Arc::new(Runtimes::new(&Settings { javascript: limits, ..Settings::default() }))
    }

    const JS: Runtime = Runtime::JavaScript;

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_bounded_in_number_and_time() {
        let runtimes = runtimes(1, 1, Duration::from_secs(60));
        let a = caller("a");
        let held = runtimes.place(JS, &a).await.unwrap();
        let mut waits = Box::pin(runtimes.place(JS, &a));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(runtimes.load()[1].waiting, 1);
        assert_eq!(runtimes.place(JS, &a).await.unwrap_err(), Busy::Full { runtime: JS, limit: 1 });
        // Paused time runs on to the next timer.
        let busy = waits.await.unwrap_err();
        assert_eq!(busy, Busy::TimedOut { runtime: JS, after: Duration::from_secs(60) });
        assert_eq!(runtimes.load()[1].waiting, 0);
        // The other language has places of its own.
        runtimes.place(Runtime::Python, &a).await.unwrap();
        drop(held);
        runtimes.place(JS, &a).await.unwrap();
    }

    #[tokio::test]
    async fn who_leaves_the_queue_takes_no_place_and_owners_take_turns() {
        let runtimes = runtimes(1, 9, Duration::from_secs(60));
        let held = runtimes.place(JS, &caller("a")).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        let mut leaves = None;
        for (i, name) in ["a", "a", "a", "b"].into_iter().enumerate() {
            let (runtimes, order) = (runtimes.clone(), order.clone());
            let mut place = Box::pin(async move {
                let place = runtimes.place(JS, &caller(name)).await.unwrap();
                order.lock().unwrap().push(name);
                drop(place);
            });
            assert!(futures_util::poll!(&mut place).is_pending());
            if i == 0 {
                leaves = Some(place);
            } else {
                tasks.push(tokio::spawn(place));
            }
        }
        drop(leaves);
        assert_eq!(runtimes.load()[1].waiting, 3);
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        let order = order.lock().unwrap().clone();
        assert_eq!(order.len(), 3);
        assert!(order.iter().position(|name| *name == "b").unwrap() <= 1, "{order:?}");
        assert_eq!((runtimes.load()[1].running, runtimes.load()[1].waiting), (0, 0));
    }
}
