//! The lease store of one replica: the reference table behind a network that delays,
//! drops, repeats and hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use sqlfs::lease::keys::LeaseKey;
use sqlfs::lease::store::LeaseStore;
use sqlfs::lease::verbs::{Answer, CallError, Incarnation, Notice, Verb};

use super::gate::Gate;
use super::plan::LEASE_CALL;
use super::world::{World, lock, pause};

pub struct LeaseNet {
    pub world: Arc<World>,
    pub gate: Arc<Gate>,
    /// Cut off from the lease store.
    pub away: AtomicBool,
}

/// Longest way of a call that nobody waits for any more.
const LATE: u64 = 1_000;

impl World {
    /// Carries a call out, and sends the wake-ups.
    fn carry_out(self: &Arc<Self>, verb: &Verb<LeaseKey>) -> Answer {
        let mut wakes = Vec::new();
        let answer = lock(&self.table).call(self.now(), verb, &mut wakes);
        for (owner, notice) in wakes {
            let Some(to) = lock(&self.listeners).get(&owner).cloned() else { continue };
            if self.strikes(self.plan.lease_faults) {
                self.count("wake-up lost");
                continue;
            }
            let late = self.strikes(self.plan.lease_faults).then(|| self.between(1, LATE));
            let Some(late) = late else {
                let _ = to.send(notice);
                continue;
            };
            self.count("wake-up late");
            tokio::spawn(async move {
                pause(late).await;
                let _ = to.send(notice);
            });
        }
        answer
    }

    fn carry_out_late(self: &Arc<Self>, verb: &Verb<LeaseKey>) {
        let (world, verb, late) = (self.clone(), verb.clone(), self.between(1, LATE));
        tokio::spawn(async move {
            pause(late).await;
            world.carry_out(&verb);
        });
    }
}

impl LeaseNet {
    async fn send(&self, verb: &Verb<LeaseKey>) -> Result<Answer, CallError> {
        let world = &self.world;
        if self.away.load(Ordering::Relaxed) {
            // Refused at once, or nothing comes back.
            if world.below(2) == 0 {
                return Err(CallError::NotSent);
            }
            pause(LEASE_CALL).await;
            return Err(CallError::Unknown);
        }
        if !world.strikes(world.plan.lease_faults) {
            world.travel().await;
            let answer = world.carry_out(verb);
            world.travel().await;
            return Ok(answer);
        }
        match world.below(5) {
            0 => {
                world.count("lease request dropped");
                pause(LEASE_CALL).await;
            }
            1 => {
                world.count("lease reply dropped");
                world.travel().await;
                world.carry_out(verb);
                pause(LEASE_CALL).await;
            }
            2 => {
                world.count("lease call repeated");
                world.travel().await;
                let answer = world.carry_out(verb);
                world.carry_out_late(verb);
                return Ok(answer);
            }
            3 => {
                world.count("lease call late");
                world.carry_out_late(verb);
                pause(LEASE_CALL).await;
            }
            _ => {
                world.count("lease call slow");
                pause(world.between(50, LEASE_CALL)).await;
                return Ok(world.carry_out(verb));
            }
        }
        Err(CallError::Unknown)
    }
}

#[async_trait]
impl LeaseStore for LeaseNet {
    async fn call(&self, verb: &Verb<LeaseKey>) -> Result<Answer, CallError> {
        self.gate.pass().await;
        let answer = self.send(verb).await;
        self.gate.pass().await;
        if let Ok(Answer::Raised(Some(_))) = answer {
            self.world.count("token raised");
        }
        if let (Verb::Acquire { evict: Some(_), .. }, Ok(Answer::Acquired { .. })) = (verb, &answer) {
            self.world.count("lease of a dead replica taken");
        }
        self.world.note(format_args!("{} {} {}", self.gate.name(), name(verb), Told(&answer)));
        answer
    }

    async fn listen(&self, me: Incarnation, told: &(dyn Fn(Notice<LeaseKey>) + Send + Sync)) {
        let (to, mut wakes) = tokio::sync::mpsc::unbounded_channel();
        lock(&self.world.listeners).insert(me, to);
        while let Some(notice) = wakes.recv().await {
            told(notice);
        }
        std::future::pending::<()>().await;
    }
}

fn name(verb: &Verb<LeaseKey>) -> &'static str {
    match verb {
        Verb::Acquire { evict: Some(_), .. } => "evicts",
        Verb::Acquire { .. } => "asks for the lease",
        Verb::Raise { .. } => "raises its token",
        Verb::Renew(_) => "renews",
        Verb::Heartbeat { .. } => "beats",
        Verb::Alive(_) => "asks who lives",
        Verb::Release { .. } => "releases",
        Verb::Hint(_) => "asks for the hint",
        Verb::Void { .. } => "voids the hint",
        Verb::End(_) => "ends the lease",
    }
}

/// An answer in the event log.
struct Told<'a>(&'a Result<Answer, CallError>);

impl std::fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Ok(Answer::Acquired { fence, .. }) => write!(f, "acquired {fence}"),
            Ok(Answer::Busy { left, confirmed }) => {
                write!(f, "busy {left:?} {}", confirmed.is_some())
            }
            Ok(Answer::Raised(fence)) => write!(f, "raised {fence:?}"),
            Ok(Answer::Kept(kept)) => write!(f, "kept {kept:?}"),
            Ok(Answer::Alive(alive)) => write!(f, "alive {alive}"),
            Ok(Answer::Released) => f.write_str("released"),
            Ok(Answer::Hint(hint)) => write!(f, "hint {}", hint.is_some()),
            Ok(Answer::Voided) => f.write_str("voided"),
            Ok(Answer::Ended) => f.write_str("ended"),
            Err(error) => write!(f, "{error}"),
        }
    }
}
