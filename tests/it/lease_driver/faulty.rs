//! The store in the process, with troubles of the test's choice, that counts its calls.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use sqlfs::lease::keys::LeaseKey;
use sqlfs::lease::memory::Memory;
use sqlfs::lease::store::LeaseStore;
use sqlfs::lease::verbs::{Answer, CallError, Claim, Incarnation, Notice, Parting, Terms, Verb};
use tokio::sync::{Notify, watch};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    None,
    /// Nothing gets through.
    NotSent,
    /// The next call of this verb is carried out, and its answer lost.
    LoseOneReply(&'static str),
}

pub struct Faulty {
    store: Memory,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
    let_go: Notify,
}

struct State {
    trouble: Trouble,
    cut_off: Vec<Incarnation>,
    calls: BTreeMap<&'static str, usize>,
    hold: Option<&'static str>,
    held: bool,
    holders: BTreeMap<LeaseKey, (Claim, bool)>,
}

impl Faulty {
    pub fn new(terms: Terms) -> Self {
        let state = State {
            trouble: Trouble::None,
            cut_off: Vec::new(),
            calls: BTreeMap::new(),
            hold: None,
            held: false,
            holders: BTreeMap::new(),
        };
        Self {
            store: Memory::new(terms),
            state: Mutex::new(state),
            changed: watch::channel(0).0,
            let_go: Notify::new(),
        }
    }

    pub fn set(&self, trouble: Trouble) {
        self.state().trouble = trouble;
    }

    /// Nothing of this replica gets through any more.
    pub fn cut_off(&self, replica: Incarnation) {
        self.state().cut_off.push(replica);
    }

    /// The next call of the verb is carried out only after `let_go`.
    pub fn hold_next(&self, verb: &'static str) {
        self.state().hold = Some(verb);
    }

    pub fn let_go(&self) {
        self.let_go.notify_one();
    }

    pub async fn until_held(&self) {
        self.until(|state| state.held).await;
    }

    pub fn calls(&self) -> Vec<(&'static str, usize)> {
        self.state().calls.iter().map(|(verb, count)| (*verb, *count)).collect()
    }

    pub async fn until_calls(&self, verb: &'static str, count: usize) {
        self.until(|state| state.calls.get(verb).copied().unwrap_or(0) >= count).await;
    }

    pub async fn until_confirmed(&self, key: &LeaseKey) {
        self.until(|state| state.holders.get(key).is_some_and(|(_, confirmed)| *confirmed)).await;
    }

    /// Frees a lease behind its holder's back.
    pub fn steal(&self, key: &LeaseKey) {
        let (claim, _) = self.state().holders[key];
        let call = Verb::Release { key: key.clone(), claim, parting: Parting::default() };
        futures_util::future::FutureExt::now_or_never(self.store.call(&call))
            .expect("at once")
            .expect("it works");
    }

    /// Wake-ups before that are lost, which is allowed, but not what a test is about.
    pub async fn until_listening(&self, replicas: usize) {
        while self.store.listeners() < replicas {
            tokio::task::yield_now().await;
        }
    }

    async fn until(&self, reached: impl Fn(&State) -> bool) {
        let mut changed = self.changed.subscribe();
        while !reached(&self.state()) {
            changed.changed().await.expect("the store lives");
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("whole")
    }
}

fn name(verb: &Verb<LeaseKey>) -> &'static str {
    match verb {
        Verb::Acquire { .. } => "acquire",
        Verb::Raise { .. } => "raise",
        Verb::Renew(_) => "renew",
        Verb::Heartbeat { .. } => "heartbeat",
        Verb::Alive(_) => "alive",
        Verb::Release { .. } => "release",
        Verb::Hint(_) => "hint",
        Verb::Void { .. } => "void",
        Verb::End(_) => "end",
    }
}

fn owner(verb: &Verb<LeaseKey>) -> Option<Incarnation> {
    match verb {
        Verb::Acquire { claim, .. } | Verb::Raise { claim, .. } | Verb::Release { claim, .. } => {
            Some(claim.owner)
        }
        Verb::Renew(leases) => leases.first().map(|lease| lease.claim.owner),
        Verb::Heartbeat { owner, .. } => Some(*owner),
        Verb::Alive(_) | Verb::Hint(_) | Verb::Void { .. } | Verb::End(_) => None,
    }
}

#[async_trait]
impl LeaseStore for Faulty {
    async fn call(&self, verb: &Verb<LeaseKey>) -> Result<Answer, CallError> {
        let name = name(verb);
        let (refused, hold) = {
            let mut state = self.state();
            let cut_off = owner(verb).is_some_and(|owner| state.cut_off.contains(&owner));
            let hold = state.hold == Some(name);
            if hold {
                (state.hold, state.held) = (None, true);
            }
            (cut_off || state.trouble == Trouble::NotSent, hold)
        };
        self.changed.send_modify(|changes| *changes += 1);
        if refused {
            return Err(CallError::NotSent);
        }
        if hold {
            self.let_go.notified().await;
        }
        let answer = self.store.call(verb).await;
        let lose = {
            let mut state = self.state();
            *state.calls.entry(name).or_default() += 1;
            match (verb, &answer) {
                (Verb::Acquire { key, claim, .. }, Ok(Answer::Acquired { .. })) => {
                    state.holders.insert(key.clone(), (*claim, false));
                }
                (Verb::Heartbeat { leases, .. }, Ok(_)) => {
                    for lease in leases {
                        state.holders.insert(lease.key.clone(), (lease.claim, true));
                    }
                }
                _ => {}
            }
            let lose = state.trouble == Trouble::LoseOneReply(name);
            if lose {
                state.trouble = Trouble::None;
            }
            lose
        };
        self.changed.send_modify(|changes| *changes += 1);
        if lose { Err(CallError::Unknown) } else { answer }
    }

    async fn listen(&self, me: Incarnation, heard: &(dyn Fn(Notice<LeaseKey>) + Send + Sync)) {
        self.store.listen(me, heard).await;
    }
}
