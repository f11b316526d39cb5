//! What the service shows of itself to operators.

use std::sync::Arc;

use crate::metrics::Snapshot;
use crate::session::entry::Session;
use crate::session::{Service, WarmSession};

impl Service {
    /// The state of this replica, for the metrics.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let inner = &self.inner;
        let sessions = inner.registry.all();
        let (waiting, running) = inner.admission.load();
        let workers = inner.interpreter.figures();
        let mut snapshot = Snapshot {
            sessions: sessions.len(),
            tree_bytes: sessions.iter().map(|session| session.weight()).sum(),
            content_bytes: inner.cache.weight(),
            content_hits: inner.cache.hits(),
            content_misses: inner.cache.misses(),
            running,
            waiting,
            runtimes: inner.runtimes.load(),
            workers: workers.workers,
            workers_standing: workers.standing,
            workers_started: workers.started,
            workers_lost: workers.lost,
            ..Snapshot::default()
        };
        for (_, store) in inner.tenants.in_use() {
            let connections = store.connections();
            snapshot.connections_used += connections.used;
            snapshot.connections_idle += connections.idle;
        }
        snapshot
    }

    /// The sandboxes that are warm here, the largest first.
    #[must_use]
    pub fn warm_sessions(&self) -> Vec<WarmSession> {
        let warm = |session: &Arc<Session>| {
            let base = session.warm();
            WarmSession {
                tenant: session.tenant.0.to_string(),
                sandbox: session.sandbox.to_string(),
                version: base.as_ref().map(|base| base.version),
                entries: base.as_ref().map_or(0, |base| base.tree.entries()),
                tree_bytes: session.weight(),
                idle: session.idle_since().elapsed(),
                writing: session.writer().is_some(),
            }
        };
        let mut all: Vec<_> = self.inner.registry.all().iter().map(warm).collect();
        all.sort_by(|a, b| b.tree_bytes.cmp(&a.tree_bytes).then_with(|| a.sandbox.cmp(&b.sandbox)));
        all
    }
}
