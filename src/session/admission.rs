//! Who may wait, and who may run. Places bound the waiting (per sandbox and per owner,
//! refused when full); run slots bound the running and are handed out in turn (`slots`),
//! so that one tenant's or owner's queue does not stand before another's.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::ids::{Caller, SandboxId, TenantId};
use crate::metrics::metrics;
use crate::session::SessionError;

mod slots;

use slots::Slots;

/// Counted waiting places under one kind of key.
#[derive(Debug)]
struct Places<K> {
    limit: usize,
    taken: Mutex<HashMap<K, usize>>,
}

impl<K: Hash + Eq + Clone> Places<K> {
    fn take(self: &Arc<Self>, key: K) -> Result<Place<K>, SessionError> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(key.clone()).or_insert(0);
        if *count >= self.limit {
            metrics().refused_waits.one([]);
            return Err(SessionError::QueueFull { limit: self.limit });
        }
        *count += 1;
        Ok(Place { places: self.clone(), key })
    }
}

#[derive(Debug)]
struct Place<K: Hash + Eq + Clone> {
    places: Arc<Places<K>>,
    key: K,
}

impl<K: Hash + Eq + Clone> Drop for Place<K> {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

type SandboxKey = (TenantId, SandboxId);

/// The right to wait; given back when the script starts or the request ends.
#[derive(Debug)]
pub(crate) struct WaitingPlace {
    _sandbox: Place<SandboxKey>,
    _owner: Place<Caller>,
}

/// Admission of one replica.
#[derive(Debug)]
pub(crate) struct Admission {
    per_sandbox: Arc<Places<SandboxKey>>,
    per_owner: Arc<Places<Caller>>,
    slots: FairSlots,
}

impl Admission {
    pub(crate) fn new(
        queue_per_sandbox: usize,
        queue_per_owner: usize,
        slots: usize,
        slots_per_tenant: usize,
        slots_per_owner: usize,
    ) -> Self {
        Self {
            per_sandbox: Arc::new(Places { limit: queue_per_sandbox, taken: Mutex::default() }),
            per_owner: Arc::new(Places { limit: queue_per_owner, taken: Mutex::default() }),
            slots: FairSlots::new(slots, slots_per_tenant, slots_per_owner),
        }
    }

    /// A place to wait in, or 429.
    pub(crate) fn place(&self, caller: &Caller, sandbox: SandboxId) -> Result<WaitingPlace, SessionError> {
        Ok(WaitingPlace {
            _sandbox: self.per_sandbox.take((caller.tenant.clone(), sandbox))?,
            _owner: self.per_owner.take(caller.clone())?,
        })
    }

    /// Requests that wait, and scripts that run.
    pub(crate) fn load(&self) -> (usize, usize) {
        let waiting = self.per_sandbox.taken.lock().unwrap_or_else(PoisonError::into_inner).values().sum();
        (waiting, self.slots.running())
    }

    /// The right to run one script; waits for it. Dropping the future leaves the queue.
    pub(crate) async fn slot(&self, caller: &Caller) -> RunSlot {
        self.slots.take(caller).await
    }
}

/// Slots that are handed out in turn.
#[derive(Clone, Debug)]
pub(super) struct FairSlots(Arc<Mutex<Slots>>);

impl FairSlots {
    pub(super) fn new(slots: usize, per_tenant: usize, per_owner: usize) -> Self {
        Self(Arc::new(Mutex::new(Slots::new(slots, per_tenant, per_owner))))
    }

    /// Slots that are taken.
    pub(super) fn running(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).running()
    }

    /// Waits for a slot. Dropping the future leaves the queue.
    pub(super) async fn take(&self, caller: &Caller) -> RunSlot {
        let (sender, mut receiver) = oneshot::channel();
        let slots = self.0.clone();
        {
            let mut state = slots.lock().unwrap_or_else(PoisonError::into_inner);
            state.enqueue(caller, sender);
            state.hand_out();
        }
        // A slot that was handed to a future which is dropped now must not be lost.
        let mut waiter =
            Waiter { slots: slots.clone(), caller: caller.clone(), receiver: Some(&mut receiver) };
        if let Some(receiver) = waiter.receiver.as_mut() {
            // The sender is dropped only together with the whole queue, at exit.
            let _ = receiver.await;
        }
        waiter.receiver = None;
        RunSlot { slots, caller: caller.clone() }
    }
}

/// A run slot; the next waiter gets it when it is dropped.
#[derive(Debug)]
pub(crate) struct RunSlot {
    slots: Arc<Mutex<Slots>>,
    caller: Caller,
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        give_back(&self.slots, &self.caller);
    }
}

struct Waiter<'a> {
    slots: Arc<Mutex<Slots>>,
    caller: Caller,
    receiver: Option<&'a mut oneshot::Receiver<()>>,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(receiver) = self.receiver.take() {
            receiver.close();
            if receiver.try_recv().is_ok() {
                give_back(&self.slots, &self.caller);
            }
        }
    }
}

fn give_back(slots: &Mutex<Slots>, caller: &Caller) {
    slots.lock().unwrap_or_else(PoisonError::into_inner).give_back(caller);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Owner;

    fn caller(name: &str) -> Caller {
        Caller { tenant: TenantId("t".into()), owner: Owner(name.into()) }
    }

    #[test]
    fn places_are_bounded_and_given_back() {
        let admission = Admission::new(2, 3, 1, 1, 1);
        let (a, one, two) = (caller("a"), SandboxId::random(), SandboxId::random());
        let first = admission.place(&a, one).unwrap();
        let _second = admission.place(&a, one).unwrap();
        assert!(matches!(admission.place(&a, one), Err(SessionError::QueueFull { limit: 2 })));
        let _third = admission.place(&a, two).unwrap();
        assert!(matches!(admission.place(&a, two), Err(SessionError::QueueFull { limit: 3 })));
        drop(first);
        admission.place(&a, one).unwrap();
    }

    #[tokio::test]
    async fn slots_go_round_the_owners() {
        let admission = Arc::new(Admission::new(9, 9, 1, 1, 1));
        let held = admission.slot(&caller("a")).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for name in ["a", "a", "a", "b"] {
            let (admission, order) = (admission.clone(), order.clone());
            let mut slot = Box::pin(async move { admission.slot(&caller(name)).await });
            // Enqueued in this order: the first poll takes the place.
            assert!(futures_util::poll!(&mut slot).is_pending());
            tasks.push(tokio::spawn(async move {
                let slot = slot.await;
                order.lock().unwrap().push(name);
                drop(slot);
            }));
        }
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        let order = order.lock().unwrap().clone();
        assert!(order.iter().position(|n| *n == "b").unwrap() <= 1, "{order:?}");
    }

    #[tokio::test]
    async fn an_owner_at_its_cap_does_not_hold_up_another() {
        let admission = Admission::new(9, 9, 2, 2, 1);
        let a = caller("a");
        let _held = admission.slot(&a).await;
        let mut waits = Box::pin(admission.slot(&a));
        assert!(futures_util::poll!(&mut waits).is_pending());
        let _other = admission.slot(&caller("b")).await;
    }

    #[tokio::test]
    async fn a_dropped_waiter_loses_no_slot() {
        let admission = Admission::new(9, 9, 1, 9, 9);
        let a = caller("a");
        let held = admission.slot(&a).await;
        let mut gone = Box::pin(admission.slot(&a));
        assert!(futures_util::poll!(&mut gone).is_pending());
        drop(held); // handed to `gone`, which never looks
        drop(gone);
        let _free = admission.slot(&caller("b")).await;
    }

    #[tokio::test]
    async fn one_tenants_many_owners_count_as_one() {
        let of = |tenant: &str, owner: &str| Caller {
            tenant: TenantId(tenant.into()),
            owner: Owner(owner.into()),
        };
        let admission = Arc::new(Admission::new(9, 9, 2, 1, 1));
        let busy = admission.slot(&of("loud", "a")).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for caller in [of("loud", "b"), of("loud", "c"), of("calm", "d")] {
            let (admission, order) = (admission.clone(), order.clone());
            let mut slot = Box::pin(async move {
                let slot = admission.slot(&caller).await;
                order.lock().unwrap().push(caller.owner.0.to_string());
                slot
            });
            // The tenant `loud` is at its cap; a free slot waits for somebody else.
            let first = futures_util::poll!(&mut slot);
            waiting.push((slot, first));
        }
        assert_eq!(*order.lock().unwrap(), ["d"]);
        drop(busy);
        let next = futures_util::poll!(&mut waiting[0].0);
        assert!(next.is_ready());
        assert!(futures_util::poll!(&mut waiting[1].0).is_pending());
    }
}
