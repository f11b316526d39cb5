//! The calls under way: carried out whole, in parts, late, or after their answer was given up.

use sqlfs::lease::protocol::Seq;
use sqlfs::lease::verbs::{Answer, Verb};

use super::{InFlight, KEY, NO_OVERTAKING, World};

impl World {
    /// The store carries out one part of a call.
    pub(super) fn carry(&mut self, at: usize, seq: Seq, part: usize, ghost: bool) {
        let Some(call) = self.calls.iter().find(|c| (c.replica, c.seq, c.ghost) == (at, seq, ghost)).cloned()
        else {
            return;
        };
        self.calls.remove(&call);
        let InFlight { verb, mut parts, .. } = call;
        let mut answer = None;
        if let Verb::Heartbeat { owner, leases } = &verb {
            parts[part] = Some(if let Some(lease) = leases.get(part) {
                self.table.keep(self.now, lease, true)
            } else {
                self.table.beat(self.now, *owner);
                true
            });
            if let Some(mut kept) = parts.iter().copied().collect::<Option<Vec<bool>>>() {
                kept.pop();
                answer = Some(Answer::Kept(kept));
            }
        } else {
            answer = Some(self.carry_whole(&verb));
        }
        match answer {
            None => {
                self.calls.insert(InFlight { replica: at, seq, verb, parts, ghost });
            }
            Some(answer) if !ghost => {
                self.replies.insert((at, seq, answer));
            }
            Some(_) => {}
        }
    }

    fn carry_whole(&mut self, verb: &Verb<u8>) -> Answer {
        let before = self.table.claim(self.now, &KEY);
        // A mark that lapsed, of a replica that did not ask in time, counts no more.
        let waited = self.table.waiting(self.now, &KEY);
        self.passed.retain(|owner, _| waited.contains(owner));
        let answer = self.table.call(self.now, verb, &mut Vec::new());
        let waiting = self.table.waiting(self.now, &KEY);
        self.passed.retain(|owner, _| waiting.contains(owner));
        if let (Verb::Acquire { claim, .. }, Answer::Acquired { .. }) = (verb, &answer)
            && before != Some(*claim)
        {
            for owner in waiting.into_iter().filter(|owner| *owner != claim.owner) {
                if !self.passed.entry(owner).or_default().insert(claim.owner) {
                    self.broken.insert(NO_OVERTAKING);
                }
            }
        }
        answer
    }

    pub(super) fn make_ghosts(&mut self, of: impl Fn(&InFlight) -> bool) {
        let turned: Vec<InFlight> = self.calls.iter().filter(|call| of(call)).cloned().collect();
        for call in turned {
            self.calls.remove(&call);
            self.calls.insert(InFlight { ghost: true, ..call });
        }
    }
}
