//! Answers of the store, each given to what it is about.

use std::fmt::Debug;

use super::{About, Effect, Protocol, Seq};
use crate::lease::verbs::{Answer, CallError, Ms};

impl<K: Clone + Ord + Debug> Protocol<K> {
    pub(super) fn reply(
        &mut self,
        now: Ms,
        seq: Seq,
        answer: Result<Answer, CallError>,
        out: &mut Vec<Effect<K>>,
    ) {
        // A second answer to the same call is nobody's.
        let Some(call) = self.calls.remove(&seq) else { return };
        // An answer to another question tells nothing: as if there were none.
        match (call.about, answer) {
            (About::Acquire(ticket), Ok(Answer::Acquired { fence, hint })) => {
                self.acquired(now, ticket, call.sent, (fence, hint), out);
            }
            (About::Acquire(ticket), Ok(Answer::Busy { left, confirmed })) => {
                self.busy(now, ticket, left, confirmed, out);
            }
            (About::Judge(ticket), Ok(Answer::Alive(alive))) => self.judged(now, ticket, alive, out),
            (About::Acquire(ticket) | About::Judge(ticket), other) => {
                self.ask_failed(now, ticket, other.err().unwrap_or(CallError::Unknown), out);
            }
            (About::Raise(ticket), Ok(Answer::Raised(fence))) => self.raised(now, ticket, fence, out),
            (About::Raise(ticket), _) => self.raise_failed(ticket, out),
            (About::Renew(tickets), Ok(Answer::Kept(kept))) => {
                self.renewed(now, call.sent, &tickets, &kept, out);
            }
            (About::Renew(tickets), _) => self.renew_failed(now, &tickets, out),
            (About::Heartbeat(tickets), Ok(Answer::Kept(kept))) => {
                self.beaten(now, call.sent, &tickets, &kept, out);
            }
            (About::Heartbeat(_), _) => self.beat_failed(now, out),
            (About::Release(ticket), Ok(Answer::Released)) => self.released(ticket),
            (About::Release(ticket), _) => self.release_failed(now, ticket, out),
        }
    }
}
