//! Housekeeping: the reaper of idle sessions, retention of history, purge of deleted
//! sandboxes, garbage collection of contents.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::clock;
use crate::metrics::metrics;
use crate::session::coordination::Housekeeping;
use crate::session::entry::Session;
use crate::session::{Inner, Service};
use crate::store::{GcReport, Retention, Store, StoreResult};

/// Sandboxes treated in one transaction of maintenance.
const BATCH: u32 = 100;
/// History that running readers and exports may still need.
const ALWAYS_KEPT: Duration = Duration::from_hours(1);
/// Age of exec log rows.
const LOG_AGE: Duration = Duration::from_hours(30 * 24);
/// Deleted sandboxes keep their rows this long, for an operator's second thought.
const PURGE_AGE: Duration = Duration::from_hours(1);

/// Time between two looks at the memory budget: cold sandboxes may come in at hundreds a second.
const TRIM_EVERY: Duration = Duration::from_secs(2);

/// Replies of keys are kept this long.
const REPLY_AGE: Duration = Duration::from_hours(24);

impl Service {
    /// Starts reaper, maintenance and garbage collection; they end with the service. Of
    /// several replicas one at a time does the last two.
    pub fn start_housekeeping(&self) {
        self.until_drained(|inner| async move { inner.refresh_tenants().await });
        self.until_drained(|inner| async move { inner.collect_contents().await });
        let service = self.clone();
        self.inner.background.spawn(async move {
            let inner = &service.inner;
            let mut reap = tokio::time::interval(inner.settings.reap_every);
            let mut trim = tokio::time::interval(TRIM_EVERY);
            let mut maintain = tokio::time::interval(inner.settings.maintain_every);
            // A slow round must not be due again at once: the other one has its turn.
            reap.set_missed_tick_behavior(MissedTickBehavior::Delay);
            trim.set_missed_tick_behavior(MissedTickBehavior::Delay);
            maintain.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    biased;
                    () = inner.lifecycle.draining() => return,
                    _ = maintain.tick() => { inner.maintain().await; }
                    _ = reap.tick() => { inner.reap().await; }
                    _ = trim.tick() => { inner.trim(inner.registry.all()); }
                }
            }
        });
    }

    /// Runs `work` beside everything else, until the service goes down.
    fn until_drained<F, Fut>(&self, work: F)
    where
        F: FnOnce(Arc<Inner>) -> Fut,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let (inner, work) = (self.inner.clone(), work(self.inner.clone()));
        self.inner.background.spawn(async move {
            tokio::select! {
                () = inner.lifecycle.draining() => {}
                () = work => {}
            }
        });
    }

    /// One round of retention and purge, over all tenants. Rows dropped.
    pub async fn maintain(&self) -> u64 {
        self.inner.maintain().await
    }

    /// One round of the reaper. Sessions evicted.
    pub async fn reap(&self) -> usize {
        self.inner.reap().await
    }
}

impl Inner {
    /// Writes the readers' use times, evicts sessions that are idle, and others as far as the
    /// memory budget needs it.
    async fn reap(&self) -> usize {
        let mut sessions = self.registry.all();
        for (tenant, store) in self.tenants.in_use() {
            let used: Vec<_> = sessions
                .iter()
                .filter(|session| session.tenant == tenant)
                .filter_map(|session| Some((session.sandbox, session.take_reader_note()?)))
                .collect();
            if let Err(error) = store.touch(&used).await {
                tracing::warn!(tenant = %tenant, error = %error, "use times were not written");
            }
        }
        let is_idle = |session: &Arc<Session>| session.idle_since().elapsed() > self.settings.session_idle;
        let before = sessions.len();
        sessions.retain(|session| !(is_idle(session) && self.registry.evict_unused(session)));
        before - sessions.len() + self.trim(sessions)
    }

    /// Evicts sessions until trees and contents fit the memory budget: over-weight ones first,
    /// then those whose last use is longest ago. Never one with work in flight. Sessions evicted.
    fn trim(&self, sessions: Vec<Arc<Session>>) -> usize {
        let weighed = |session: Arc<Session>| (session.weight(), session.idle_since(), session);
        let mut sessions: Vec<_> = sessions.into_iter().map(weighed).collect();
        let mut held = self.cache.weight() + sessions.iter().map(|(weight, ..)| weight).sum::<u64>();
        if held <= self.settings.memory_budget {
            return 0;
        }
        let heavy = self.settings.path_cache_bytes;
        sessions.sort_by_key(|(weight, used, _)| (*weight <= heavy, *used));
        let mut evicted = 0;
        for (weight, _, session) in sessions {
            if held <= self.settings.memory_budget {
                break;
            }
            if self.registry.evict_unused(&session) {
                held -= weight;
                evicted += 1;
            }
        }
        evicted
    }

    /// Collects garbage again and again.
    async fn collect_contents(&self) {
        let every = self.settings.collect_every;
        let mut tick = tokio::time::interval_at(clock::now() + every, every);
        loop {
            tick.tick().await;
            self.collect().await;
        }
    }

    /// Garbage collection of every tenant that no other replica is at.
    async fn collect(&self) {
        for (tenant, store) in self.tenants.in_use() {
            let Some(turn) = self.coordination.housekeeping(&tenant).await else { continue };
            let begun = clock::now();
            match collect(store.as_ref(), self.settings.collect_grace, &turn).await {
                Ok(report) => tracing::info!(
                    tenant = %tenant,
                    deleted = report.deleted,
                    bytes = report.bytes,
                    spared = report.spared,
                    duration_ms = begun.elapsed().as_millis() as u64,
                    "contents that nothing names were collected"
                ),
                Err(error) => tracing::warn!(tenant = %tenant, error = %error, "garbage collection failed"),
            }
        }
    }

    async fn maintain(&self) -> u64 {
        let now = clock::wall_ns();
        let ago = |age: Duration| now.saturating_sub(age.as_nanos() as i64);
        let retention = Retention {
            versions: self.settings.history_versions,
            older_than_ns: ago(self.settings.history_age),
            younger_than_ns: ago(ALWAYS_KEPT),
            bytes: self.settings.history_bytes,
            log_older_than_ns: ago(LOG_AGE),
        };
        let mut dropped = 0;
        for (tenant, store) in self.tenants.in_use() {
            let Some(_turn) = self.coordination.housekeeping(&tenant).await else { continue };
            let pruned = store.prune_history(&retention, BATCH).await;
            let purged = store.purge_deleted(ago(PURGE_AGE), BATCH).await;
            let forgotten = store.forget_replies(ago(REPLY_AGE), BATCH * 10).await;
            for result in [pruned, purged, forgotten] {
                match result {
                    Ok(rows) => dropped += rows,
                    Err(error) => tracing::warn!(tenant = %tenant, error = %error, "maintenance failed"),
                }
            }
        }
        dropped
    }
}

/// Collects as long as there is something to collect and the turn stands.
async fn collect(store: &dyn Store, grace: Duration, turn: &Housekeeping) -> StoreResult<GcReport> {
    let before = clock::wall_ns().saturating_sub(grace.as_nanos() as i64);
    let mut total = GcReport::default();
    loop {
        let round = store.gc_blobs(before, BATCH * 10).await?;
        metrics().collected.add([], round.deleted);
        total.candidates += round.candidates;
        total.deleted += round.deleted;
        total.bytes += round.bytes;
        total.spared += round.spared;
        // Spared ones would come again: only progress is a reason to go on.
        if round.deleted == 0 || !turn.stands() {
            return Ok(total);
        }
    }
}
