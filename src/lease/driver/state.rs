//! What the driver keeps: the protocol, and who waits for news of which ticket.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{AcquireError, RaiseError};
use crate::lease::held::Signal;
use crate::lease::keys::LeaseKey;
use crate::lease::protocol::{Effect, Event, Protocol, Ticket};
#[cfg(debug_assertions)]
use crate::lease::trace::Trace;
use crate::lease::verbs::{Hint, Ms};

/// Under one lock.
pub(super) struct State {
    pub(super) protocol: Protocol<LeaseKey>,
    pub(super) next_ticket: Ticket,
    pub(super) pending: HashMap<Ticket, Pending>,
    /// When the control thread will look by itself.
    pub(super) asleep_until: Ms,
    pub(super) closed: bool,
    pub(super) ended: bool,
    #[cfg(debug_assertions)]
    pub(super) trace: Option<Trace>,
}

/// Who waits for news of a ticket.
pub(super) struct Pending {
    pub(super) grant: Option<oneshot::Sender<Granted>>,
    pub(super) raise: Option<oneshot::Sender<Result<i64, RaiseError>>>,
    pub(super) signal: Arc<Signal>,
}

/// The fencing token and the hint.
pub(super) type Granted = Result<(i64, Option<Hint>), AcquireError>;

impl State {
    pub(super) fn new(protocol: Protocol<LeaseKey>) -> Self {
        Self {
            protocol,
            next_ticket: 0,
            pending: HashMap::new(),
            asleep_until: 0,
            closed: false,
            ended: false,
            #[cfg(debug_assertions)]
            trace: None,
        }
    }

    pub(super) fn step(&mut self, now: Ms, event: Event<LeaseKey>) -> Vec<Effect<LeaseKey>> {
        #[cfg(debug_assertions)]
        if let Some(trace) = &mut self.trace {
            let effects = self.protocol.step(now, event.clone());
            trace.add(now, event, &effects);
            return effects;
        }
        self.protocol.step(now, event)
    }

    pub(super) fn tell_grant(&mut self, ticket: Ticket, answer: Granted) {
        if let Some(grant) = self.pending.get_mut(&ticket).and_then(|pending| pending.grant.take()) {
            // One who left gives the ticket back by itself.
            let _ = grant.send(answer);
        }
    }

    pub(super) fn tell_raise(&mut self, ticket: Ticket, answer: Result<i64, RaiseError>) {
        if let Some(raise) = self.pending.get_mut(&ticket).and_then(|pending| pending.raise.take()) {
            let _ = raise.send(answer);
        }
    }
}
