//! Run slots, handed out in turn: first over the tenants that have someone waiting, then
//! over the owners within one. A tenant or owner at its cap keeps its place for later but
//! is passed over.

use std::collections::{HashMap, VecDeque};

use tokio::sync::oneshot;

use crate::ids::{Caller, Owner, TenantId};

/// All slots of one replica.
#[derive(Debug)]
pub(super) struct Slots {
    free: usize,
    per_tenant: usize,
    per_owner: usize,
    tenants: HashMap<TenantId, TenantQueue>,
    /// Tenants with someone waiting, in the order of their next turn.
    turn: VecDeque<TenantId>,
}

#[derive(Debug, Default)]
struct TenantQueue {
    running: usize,
    owners: HashMap<Owner, OwnerQueue>,
    /// Owners with someone waiting, in the order of their next turn.
    turn: VecDeque<Owner>,
}

#[derive(Debug, Default)]
struct OwnerQueue {
    running: usize,
    waiting: VecDeque<oneshot::Sender<()>>,
}

impl Slots {
    pub(super) fn new(free: usize, per_tenant: usize, per_owner: usize) -> Self {
        Self { free, per_tenant, per_owner, tenants: HashMap::new(), turn: VecDeque::new() }
    }

    /// Slots that are taken.
    pub(super) fn running(&self) -> usize {
        self.tenants.values().map(|tenant| tenant.running).sum()
    }

    pub(super) fn enqueue(&mut self, caller: &Caller, waiter: oneshot::Sender<()>) {
        let tenant = self.tenants.entry(caller.tenant.clone()).or_default();
        let owner = tenant.owners.entry(caller.owner.clone()).or_default();
        owner.waiting.push_back(waiter);
        if owner.waiting.len() == 1 {
            tenant.turn.push_back(caller.owner.clone());
        }
        if tenant.turn.len() == 1 && !self.turn.contains(&caller.tenant) {
            self.turn.push_back(caller.tenant.clone());
        }
    }

    /// Gives free slots out, one to each tenant in turn.
    pub(super) fn hand_out(&mut self) {
        let mut passed_over = 0;
        while self.free > 0 && passed_over < self.turn.len() {
            let Some(name) = self.turn.pop_front() else { return };
            let Some(tenant) = self.tenants.get_mut(&name) else { continue };
            let given = tenant.running < self.per_tenant && tenant.hand_out(self.per_owner);
            if given {
                self.free -= 1;
                passed_over = 0;
            }
            if !tenant.turn.is_empty() {
                self.turn.push_back(name);
                passed_over += usize::from(!given);
            } else if tenant.owners.is_empty() {
                self.tenants.remove(&name);
            }
        }
    }

    /// Takes a slot back, and gives it to the next.
    pub(super) fn give_back(&mut self, caller: &Caller) {
        self.free += 1;
        if let Some(tenant) = self.tenants.get_mut(&caller.tenant) {
            tenant.running -= 1;
            if let Some(owner) = tenant.owners.get_mut(&caller.owner) {
                owner.running -= 1;
            }
            tenant.tidy(&caller.owner);
            if tenant.owners.is_empty() {
                self.tenants.remove(&caller.tenant);
            }
        }
        self.hand_out();
    }
}

impl TenantQueue {
    /// Gives a slot to the next owner that may have one; whether somebody took it.
    fn hand_out(&mut self, per_owner: usize) -> bool {
        let mut passed_over = 0;
        while passed_over < self.turn.len() {
            let Some(name) = self.turn.pop_front() else { return false };
            let Some(owner) = self.owners.get_mut(&name) else { continue };
            owner.waiting.retain(|waiter| !waiter.is_closed());
            if owner.running >= per_owner && !owner.waiting.is_empty() {
                self.turn.push_back(name);
                passed_over += 1;
                continue;
            }
            let taken = owner.waiting.pop_front().is_some_and(|waiter| waiter.send(()).is_ok());
            owner.running += usize::from(taken);
            self.running += usize::from(taken);
            if owner.waiting.is_empty() {
                self.tidy(&name);
            } else {
                self.turn.push_back(name);
            }
            if taken {
                return true;
            }
        }
        false
    }

    fn tidy(&mut self, name: &Owner) {
        if self.owners.get(name).is_some_and(|owner| owner.running == 0 && owner.waiting.is_empty()) {
            self.owners.remove(name);
        }
    }
}
