//! Runs the protocol: hands events to it and carries out its effects.
//!
//! Timers, renewals and heartbeats run on a thread with a runtime of its own, which does
//! nothing else: however busy scripts and requests keep the server, a lease is renewed
//! in time or its script is ended in time. A request asks its first question itself, on
//! the runtime that it came from; there is no hop on the way to an uncontended lease.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::clock::{self, Instant};
use crate::lease::held::{Held, Signal};
use crate::lease::keys::LeaseKey;
use crate::lease::protocol::{Config, Effect, Event, Loss, Protocol, Rule, Seq, Ticket, WhenAway};
use crate::lease::store::LeaseStore;
#[cfg(debug_assertions)]
use crate::lease::trace::Trace;
use crate::lease::verbs::{Answer, Hint, Incarnation, Ms, Notice, Verb};
use crate::metrics::metrics;
use crate::random;

mod state;

use state::{Pending, State};

/// Why a lease was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError {
    /// The store is out of reach: go on without a lease, or refuse.
    #[error("the lease store is out of reach")]
    Away,
    /// This replica is shutting down.
    #[error("the replica is shutting down")]
    Closed,
}

/// Why a token was not raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RaiseError {
    /// The store is out of reach, or the lease is degraded already.
    #[error("the lease store is out of reach")]
    Away,
    /// The lease is lost.
    #[error("the lease was lost")]
    Lost,
}

/// The leases of this replica. Cheap to clone; the last one dropped ends its thread.
#[derive(Clone)]
pub struct Leases {
    shared: Arc<Shared>,
    _open: Arc<Open>,
}

pub(super) struct Shared {
    state: Mutex<State>,
    store: Arc<dyn LeaseStore>,
    me: Incarnation,
    origin: Instant,
    /// Told of sandboxes that are gone while this replica holds their lease.
    gone: OnceLock<Told>,
    /// Wakes the control thread.
    nudge: Notify,
    /// Told when no ticket is open any more.
    idle: Notify,
    /// Where questions and releases run.
    requests: Handle,
    /// Where renewals and heartbeats run.
    control: Handle,
}

/// Hears of a sandbox that is gone.
type Told = Box<dyn Fn(&LeaseKey) + Send + Sync>;

/// What a step leaves to be done once the state is unlocked.
#[derive(Default)]
struct Todo {
    calls: Vec<(Seq, Verb<LeaseKey>)>,
    lost: Vec<(Arc<Signal>, Loss)>,
}

type Calls = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Leases {
    /// Starts the control thread. Must be called within the runtime that requests run
    /// on. An error says what is wrong with the times, or why there is no thread.
    pub fn start(store: Arc<dyn LeaseStore>, config: Config) -> Result<Self, String> {
        // Before there is a runtime: one must not be dropped on an async worker.
        config.check()?;
        let me = Incarnation(random::uuid().as_u128());
        Self::launch(store, config, me, State::new(Protocol::new(config, me)))
    }

    /// As [`Leases::start`], and each step of the protocol is written down in a file of
    /// `folder`. Test builds alone have it.
    #[cfg(debug_assertions)]
    pub fn start_traced(
        store: Arc<dyn LeaseStore>,
        config: Config,
        folder: &std::path::Path,
    ) -> Result<Self, String> {
        config.check()?;
        let me = Incarnation(random::uuid().as_u128());
        let trace = Trace::begin(folder, config, me);
        let trace = trace.map_err(|error| format!("no lease trace in {}: {error}", folder.display()))?;
        let state = State { trace: Some(trace), ..State::new(Protocol::new(config, me)) };
        Self::launch(store, config, me, state)
    }

    fn launch(
        store: Arc<dyn LeaseStore>,
        config: Config,
        me: Incarnation,
        state: State,
    ) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("the lease runtime did not start: {error}"))?;
        let (leases, control) = Self::new(store, config, me, state, runtime.handle().clone());
        std::thread::Builder::new()
            .name("sqlfs-lease".into())
            .spawn(move || runtime.block_on(control))
            .map_err(|error| format!("the lease thread did not start: {error}"))?;
        Ok(leases)
    }

    /// For runs in virtual time: everything on the current runtime. The caller drives the
    /// returned future, which does what the control thread does otherwise, and may hold
    /// it up as a stopped process is. `without`: a rule that a test switches off.
    #[doc(hidden)]
    pub fn driven(
        store: Arc<dyn LeaseStore>,
        config: Config,
        without: Option<Rule>,
    ) -> Result<(Self, impl Future<Output = ()> + Send + 'static), String> {
        config.check()?;
        let me = Incarnation(random::uuid().as_u128());
        let protocol = without.into_iter().fold(Protocol::new(config, me), Protocol::without);
        Ok(Self::new(store, config, me, State::new(protocol), Handle::current()))
    }

    fn new(
        store: Arc<dyn LeaseStore>,
        config: Config,
        me: Incarnation,
        state: State,
        control: Handle,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            store,
            me,
            origin: clock::now(),
            gone: OnceLock::new(),
            nudge: Notify::new(),
            idle: Notify::new(),
            requests: Handle::current(),
            control,
        });
        // A timer that looks twice per renewal time sees every renewal in time, so that
        // granting a lease need not wake the thread.
        let look = (config.renew / 2).max(1);
        let control = shared.clone().run(look);
        let open = Arc::new(Open(shared.clone()));
        (Self { shared, _open: open }, control)
    }

    /// Waits for the lease of `key`. Dropping the future stops the wait at once; the
    /// caller's own time limit is the only other bound. `floor` is the highest fencing
    /// token known to have committed; the token granted is above it.
    pub async fn acquire(
        &self,
        key: LeaseKey,
        floor: i64,
        when_away: WhenAway,
    ) -> Result<Held, AcquireError> {
        let shared = &self.shared;
        let (grant, granted) = oneshot::channel();
        let signal = Arc::new(Signal::default());
        let (ticket, todo) = {
            let mut state = shared.state();
            if state.closed {
                return Err(AcquireError::Closed);
            }
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            let pending = Pending { grant: Some(grant), raise: None, signal: signal.clone() };
            state.pending.insert(ticket, pending);
            let degrade = when_away == WhenAway::Degrade;
            (ticket, shared.take_in(&mut state, Event::Acquire { ticket, key, floor, degrade }))
        };
        // From here on dropping gives the ticket back, granted or not.
        let mut held = Held::new(shared.clone(), ticket, signal);
        let mut first = Unfinished(None, shared.requests.clone());
        for (seq, verb) in todo.calls {
            if is_control(&verb) {
                shared.spawn_call(seq, verb);
            } else {
                first.0 = Some(Box::pin(shared.clone().call(seq, verb)));
            }
        }
        first.finish().await;
        let (token, hint) = granted.await.unwrap_or(Err(AcquireError::Closed))?;
        held.granted(token, hint);
        Ok(held)
    }

    /// Grants nothing any more and waits until every lease is given back, at most for
    /// `within`. Says whether all are.
    pub async fn close(&self, within: Duration) -> bool {
        self.shared.state().closed = true;
        let all_released = async {
            loop {
                let idle = self.shared.idle.notified();
                if self.shared.state().protocol.open() == 0 {
                    return;
                }
                idle.await;
            }
        };
        tokio::time::timeout(within, all_released).await.is_ok()
    }

    /// Whether the store answers now.
    pub async fn reachable(&self) -> bool {
        self.shared.store.call(&Verb::Alive(self.shared.me)).await.is_ok()
    }

    /// The newest state, if nobody holds the lease and the store knows; one call.
    pub async fn hint(&self, key: LeaseKey) -> Option<Hint> {
        match self.shared.store.call(&Verb::Hint(key)).await {
            Ok(Answer::Hint(hint)) => hint,
            Ok(_) | Err(_) => None,
        }
    }

    /// Drops the hint; for `block` ms none is given or set. Whether that was done.
    pub async fn void(&self, key: LeaseKey, block: Ms) -> bool {
        self.shared.store.call(&Verb::Void { key, block }).await.is_ok()
    }

    /// Tells whoever holds the lease, on whichever replica, that what it is on is gone.
    /// Whether the store took it; the message may be lost all the same.
    pub async fn end(&self, key: LeaseKey) -> bool {
        self.shared.store.call(&Verb::End(key)).await.is_ok()
    }

    /// Has `told` called when another replica ends a lease of this one. It runs on the
    /// control thread: it must be short and must not wait. The first call counts.
    pub fn on_gone(&self, told: impl Fn(&LeaseKey) + Send + Sync + 'static) {
        let _ = self.shared.gone.set(Box::new(told));
    }

    /// The name of this run of the replica, as it stands in the store.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.shared.me
    }
}

/// Ends the thread when the last handle goes.
struct Open(Arc<Shared>);

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.closed, state.ended) = (true, true);
        drop(state);
        self.0.nudge.notify_one();
    }
}

/// A call that is finished elsewhere if its request is dropped: its answer must reach
/// the protocol in any case.
struct Unfinished(Option<Calls>, Handle);

impl Unfinished {
    async fn finish(&mut self) {
        if let Some(call) = &mut self.0 {
            call.await;
        }
        self.0 = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            self.1.spawn(call);
        }
    }
}

fn is_control(verb: &Verb<LeaseKey>) -> bool {
    match verb {
        Verb::Renew(_) | Verb::Heartbeat { .. } => true,
        Verb::Acquire { .. }
        | Verb::Raise { .. }
        | Verb::Alive(_)
        | Verb::Release { .. }
        | Verb::Hint(_)
        | Verb::Void { .. }
        | Verb::End(_) => false,
    }
}

impl Shared {
    /// The control thread.
    async fn run(self: Arc<Self>, look: Ms) {
        let heard = |notice| match notice {
            Notice::Free(key) => self.step(Event::Woken(key)),
            Notice::Gone(key) => self.gone.get().into_iter().for_each(|told| told(&key)),
        };
        let listening = self.store.listen(self.me, &heard);
        let ticking = async {
            loop {
                self.step(Event::Tick);
                let until = {
                    let mut state = self.state();
                    if state.ended {
                        return;
                    }
                    let latest = self.now() + look;
                    state.asleep_until = state.protocol.next_due().map_or(latest, |due| due.min(latest));
                    state.asleep_until
                };
                let at = self.origin + Duration::from_millis(until);
                tokio::select! {
                    biased;
                    () = self.nudge.notified() => {}
                    () = tokio::time::sleep_until(at) => metrics().lateness.note([], at.elapsed()),
                }
            }
        };
        tokio::select! {
            // The kill-switch before news that may take a while.
            biased;
            () = ticking => {}
            () = listening => {}
        }
    }

    fn now(&self) -> Ms {
        (clock::now() - self.origin).as_millis() as Ms
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn step(self: &Arc<Self>, event: Event<LeaseKey>) {
        let todo = {
            let mut state = self.state();
            self.take_in(&mut state, event)
        };
        self.carry_out(todo);
    }

    /// Runs `f` in the same step as the check that the ticket still holds its lease.
    pub(super) fn enter<T>(self: &Arc<Self>, ticket: Ticket, f: impl FnOnce() -> T) -> Option<T> {
        let (todo, result) = {
            let mut state = self.state();
            let effects = state.step(self.now(), Event::Check(ticket));
            let permitted = effects.contains(&Effect::Permitted(ticket));
            let todo = self.sort(&mut state, effects);
            (todo, permitted.then(f))
        };
        self.carry_out(todo);
        result
    }

    pub(super) async fn raise(self: &Arc<Self>, ticket: Ticket, floor: i64) -> Result<i64, RaiseError> {
        let (raise, raised) = oneshot::channel();
        let todo = {
            let mut state = self.state();
            let Some(pending) = state.pending.get_mut(&ticket) else { return Err(RaiseError::Lost) };
            pending.raise = Some(raise);
            self.take_in(&mut state, Event::Raise(ticket, floor))
        };
        self.carry_out(todo);
        raised.await.unwrap_or(Err(RaiseError::Lost))
    }

    /// The request has no more to do with the ticket.
    pub(super) fn leave(self: &Arc<Self>, ticket: Ticket) {
        let todo = {
            let mut state = self.state();
            state.pending.remove(&ticket);
            self.take_in(&mut state, Event::Release(ticket))
        };
        self.carry_out(todo);
    }

    fn take_in(&self, state: &mut State, event: Event<LeaseKey>) -> Todo {
        let effects = state.step(self.now(), event);
        self.sort(state, effects)
    }

    /// Tells whoever waits; what must not be done under the lock is left over.
    fn sort(&self, state: &mut State, effects: Vec<Effect<LeaseKey>>) -> Todo {
        let mut todo = Todo::default();
        for effect in effects {
            match effect {
                Effect::Send(seq, verb) => todo.calls.push((seq, verb)),
                Effect::Granted(ticket, token) => {
                    let hint = state.protocol.hint(ticket);
                    state.tell_grant(ticket, Ok((token, hint)));
                }
                Effect::Denied(ticket) => state.tell_grant(ticket, Err(AcquireError::Away)),
                Effect::Raised(ticket, token) => state.tell_raise(ticket, Ok(token)),
                Effect::NotRaised(ticket) => state.tell_raise(ticket, Err(RaiseError::Away)),
                Effect::Lost(ticket, loss) => {
                    metrics().leases_lost.one([("reason", loss.name())]);
                    if let Some(pending) = state.pending.remove(&ticket) {
                        pending.signal.note_loss(loss);
                        todo.lost.push((pending.signal, loss));
                    }
                }
                Effect::Degraded(ticket) => {
                    if let Some(pending) = state.pending.get(&ticket) {
                        pending.signal.note_degraded();
                    }
                    state.tell_raise(ticket, Err(RaiseError::Away));
                }
                Effect::Due(at) if at < state.asleep_until => {
                    state.asleep_until = at;
                    self.nudge.notify_one();
                }
                Effect::Due(_) | Effect::Permitted(_) => {}
            }
        }
        if state.closed && state.protocol.open() == 0 {
            self.idle.notify_waiters();
        }
        todo
    }

    fn carry_out(self: &Arc<Self>, todo: Todo) {
        for (signal, loss) in todo.lost {
            signal.tell_loss(loss);
        }
        for (seq, verb) in todo.calls {
            self.spawn_call(seq, verb);
        }
    }

    fn spawn_call(self: &Arc<Self>, seq: Seq, verb: Verb<LeaseKey>) {
        if is_control(&verb) {
            self.control.spawn(self.clone().call(seq, verb));
            return;
        }
        // Begun here, so that calls leave in the order of their steps: a release is on
        // its way before the next question of this replica.
        let mut call: Calls = Box::pin(self.clone().call(seq, verb));
        let begun = {
            let _runtime = self.requests.enter();
            call.as_mut().now_or_never()
        };
        if begun.is_none() {
            self.requests.spawn(call);
        }
    }

    async fn call(self: Arc<Self>, seq: Seq, verb: Verb<LeaseKey>) {
        let begun = clock::now();
        let answer = self.store.call(&verb).await;
        let result = if answer.is_ok() { "ok" } else { "failed" };
        metrics().lease_calls.note([("verb", verb.name()), ("result", result)], begun.elapsed());
        self.step(Event::Reply(seq, answer));
    }
}
