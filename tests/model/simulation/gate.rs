//! Whether a replica runs. A stopped one sends nothing, takes in no answer, and its
//! timers do not act; one that crashed stays so. Its tasks cannot be stopped from
//! outside, so every effect, and the control loop of its leases, passes here.

use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Poll, Waker};

use sqlfs::lease::verbs::Ms;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::world::lock;

pub struct Gate {
    name: String,
    state: Mutex<State>,
    opened: Notify,
    crashed: CancellationToken,
}

#[derive(Default)]
struct State {
    /// From, and to as far as they are over.
    pauses: Vec<(Ms, Option<Ms>)>,
    paused: bool,
    crashed_at: Option<Ms>,
    /// The control loop alone is held up.
    control_held: bool,
    control: Option<Waker>,
}

impl Gate {
    pub fn new(name: String) -> Self {
        Self { name, state: Mutex::default(), opened: Notify::new(), crashed: CancellationToken::new() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Goes on once the replica runs.
    pub async fn pass(&self) {
        loop {
            let opened = self.opened.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            {
                let state = lock(&self.state);
                if !state.paused && state.crashed_at.is_none() {
                    return;
                }
            }
            opened.await;
        }
    }

    /// As `pass`; `false` when the replica crashed.
    pub async fn pass_alive(&self) -> bool {
        tokio::select! {
            biased;
            () = self.crashed.cancelled() => false,
            () = self.pass() => true,
        }
    }

    /// Resolves when the replica has crashed.
    pub async fn crashed(&self) {
        self.crashed.cancelled().await;
    }

    pub fn crash(&self, now: Ms) {
        lock(&self.state).crashed_at.get_or_insert(now);
        self.crashed.cancel();
    }

    /// Whether it runs.
    pub fn is_open(&self) -> bool {
        let state = lock(&self.state);
        !state.paused && state.crashed_at.is_none()
    }

    pub fn stop(&self, now: Ms) {
        let mut state = lock(&self.state);
        state.paused = true;
        state.pauses.push((now, None));
    }

    /// Lets it run again: first the control loop, or first the rest. `hold_control`: the
    /// control loop stays where it is.
    pub fn go_on(&self, now: Ms, control_first: bool, hold_control: bool) {
        let waker = {
            let mut state = lock(&self.state);
            state.paused = false;
            state.control_held = hold_control;
            if let Some((_, end)) = state.pauses.last_mut() {
                end.get_or_insert(now);
            }
            state.control.take()
        };
        let wake = || waker.into_iter().for_each(Waker::wake);
        if control_first {
            wake();
            self.opened.notify_waiters();
        } else {
            self.opened.notify_waiters();
            wake();
        }
    }

    /// Ends what `go_on` held.
    pub fn free_control(&self) {
        let waker = {
            let mut state = lock(&self.state);
            state.control_held = false;
            state.control.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// The control loop of the replica's leases, which runs while the replica does.
    pub async fn hold(&self, control: impl Future<Output = ()>) {
        let mut control: Pin<Box<_>> = Box::pin(control);
        std::future::poll_fn(|context| {
            {
                let mut state = lock(&self.state);
                if state.paused || state.crashed_at.is_some() || state.control_held {
                    state.control = Some(context.waker().clone());
                    return Poll::Pending;
                }
            }
            control.as_mut().poll(context)
        })
        .await;
    }

    /// Whether it was stopped at some time since.
    pub fn paused_since(&self, since: Ms) -> bool {
        lock(&self.state).pauses.iter().any(|(_, end)| end.is_none_or(|end| end >= since))
    }

    /// The parts of `from..to` in which the replica ran.
    pub fn running(&self, from: Ms, to: Ms) -> Vec<(Ms, Ms)> {
        let state = lock(&self.state);
        let to = state.crashed_at.map_or(to, |at| at.min(to));
        let mut parts = Vec::new();
        let mut at = from;
        for (begin, end) in &state.pauses {
            if *begin > at {
                parts.push((at, (*begin).min(to)));
            }
            at = at.max(end.unwrap_or(Ms::MAX));
        }
        parts.push((at, to));
        parts.retain(|(from, to)| from < to);
        parts
    }
}
