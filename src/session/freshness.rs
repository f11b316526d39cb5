//! Freshness: is the warm tree the newest? One primary-key read tells, and requests
//! share it by one rule: a request joins only a probe that starts after it arrived.
//! Joining one already in flight would serve a state older than a write that was
//! acknowledged before the request.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;
use tracing::Instrument;

use crate::clock;
use crate::ids::SandboxId;
use crate::metrics::metrics;
use crate::session::SessionError;
use crate::store::{SandboxRow, Store, StoreError};
use crate::telemetry::span;

/// Result of a probe as a whole cohort sees it.
type Probed = Result<Option<Arc<SandboxRow>>, ProbeFailed>;

/// The store's error, in a form that many can hold.
#[derive(Clone, Debug)]
enum ProbeFailed {
    Unavailable,
    Broken(String),
}

/// The shared probes of one sandbox.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    /// Held while a probe is in flight: one at a time.
    turn: tokio::sync::Mutex<()>,
    /// Requests that wait for the next probe, which has not started.
    next: Mutex<Option<Arc<OnceCell<Probed>>>>,
}

impl Probes {
    /// The sandbox row as it was at some moment after this call began.
    pub(crate) async fn probe(
        &self,
        store: &dyn Store,
        sandbox: SandboxId,
    ) -> Result<Option<Arc<SandboxRow>>, SessionError> {
        let cohort = self.lock_next().get_or_insert_with(Arc::default).clone();
        // The first of the cohort asks for all; should it be dropped, the next one does.
        let probed = cohort
            .get_or_init(|| async {
                let _turn = self.turn.lock().await;
                self.close(&cohort);
                let begun = clock::now();
                let row = store.probe(sandbox).instrument(span!("probe")).await;
                metrics().probes.note([], begun.elapsed());
                match row {
                    Ok(row) => Ok(row.map(Arc::new)),
                    Err(StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_)) => {
                        Err(ProbeFailed::Unavailable)
                    }
                    Err(error @ (StoreError::Inconsistent(_) | StoreError::Refused(_))) => {
                        Err(ProbeFailed::Broken(error.to_string()))
                    }
                }
            })
            .await;
        match probed {
            Ok(row) => Ok(row.clone()),
            Err(ProbeFailed::Unavailable) => Err(SessionError::StoreUnavailable),
            Err(ProbeFailed::Broken(text)) => Err(SessionError::Internal(text.clone())),
        }
    }

    /// From here on who comes waits for the next probe.
    fn close(&self, cohort: &Arc<OnceCell<Probed>>) {
        let mut next = self.lock_next();
        if next.as_ref().is_some_and(|open| Arc::ptr_eq(open, cohort)) {
            *next = None;
        }
    }

    fn lock_next(&self) -> std::sync::MutexGuard<'_, Option<Arc<OnceCell<Probed>>>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
