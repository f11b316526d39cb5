//! A lease store within the process: one replica, or several in one test.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::broadcast;

use crate::clock;
use crate::lease::keys::LeaseKey;
use crate::lease::store::LeaseStore;
use crate::lease::table::{Table, Wake};
use crate::lease::verbs::{Answer, CallError, Incarnation, Ms, Notice, Terms, Verb};

/// Tells the store's time, in milliseconds.
pub type Time = Box<dyn Fn() -> Ms + Send + Sync>;

/// The store. It forgets everything when it is dropped.
pub struct Memory {
    table: Mutex<Table<LeaseKey>>,
    time: Time,
    wakes: broadcast::Sender<Wake<LeaseKey>>,
}

impl Memory {
    /// An empty store on the monotonic clock.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        let origin = clock::now();
        Self::with_time(terms, Box::new(move || (clock::now() - origin).as_millis() as Ms))
    }

    /// An empty store on a clock of the caller's.
    #[must_use]
    pub fn with_time(terms: Terms, time: Time) -> Self {
        Self { table: Mutex::new(Table::new(terms)), time, wakes: broadcast::channel(1024).0 }
    }

    /// Forgets everything, as a flushed server does.
    pub fn flush(&self) {
        self.table().flush();
    }

    /// Starts again with what was saved, as a restarted or replaced server does: only
    /// hints are looked at twice.
    pub fn restart(&self) {
        self.table().restart();
    }

    /// How many replicas listen for wake-ups.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.wakes.receiver_count()
    }

    fn table(&self) -> MutexGuard<'_, Table<LeaseKey>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LeaseStore for Memory {
    async fn call(&self, verb: &Verb<LeaseKey>) -> Result<Answer, CallError> {
        let mut wakes = Vec::new();
        let answer = self.table().call((self.time)(), verb, &mut wakes);
        for wake in wakes {
            // Nobody listening is no error: a waiting replica asks by itself.
            let _ = self.wakes.send(wake);
        }
        Ok(answer)
    }

    async fn listen(&self, me: Incarnation, heard: &(dyn Fn(Notice<LeaseKey>) + Send + Sync)) {
        let mut wakes = self.wakes.subscribe();
        loop {
            match wakes.recv().await {
                Ok((owner, notice)) if owner == me => heard(notice),
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}
