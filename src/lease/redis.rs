//! Leases in Redis: one script per verb, each on the keys of one sandbox (`keys.rs`).
//!
//! Connections of their own, so that nothing waits behind something else, for: questions
//! and releases, renewals and heartbeats, hints of readers, wake-ups. None carries data.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use redis::{Client, Script, ScriptInvocation};

use crate::lease::keys::{self, LeaseKey, WAKE_CHANNEL};
use crate::lease::store::LeaseStore;
use crate::lease::verbs::{Answer, CallError, Claim, Hint, Holding, Incarnation, Notice, Terms, Verb};
use crate::remote::{Line, RedisServer, Role};

pub mod health;

/// The store.
pub struct RedisLeases {
    terms: Terms,
    requests: Line,
    control: Line,
    hints: Line,
    client: Client,
    scripts: Scripts,
}

struct Scripts {
    acquire: Script,
    raise: Script,
    renew: Script,
    heartbeat: Script,
    alive: Script,
    release: Script,
    hint: Script,
    void: Script,
    end: Script,
}

/// Time between two attempts to listen for wake-ups.
const LISTEN_AGAIN: Duration = Duration::from_millis(500);
/// A reader asks Postgres rather than wait longer for a hint.
const LONGEST_HINT_CALL: Duration = Duration::from_millis(100);

impl RedisLeases {
    /// Connects to nothing yet. Each call takes at most `timeout`. An error is for people.
    pub fn new(server: &RedisServer, terms: Terms, timeout: Duration) -> Result<Self, String> {
        let script = |text: &str| Script::new(&format!("{}\n{text}", include_str!("redis/common.lua")));
        Ok(Self {
            terms,
            requests: Line::new(Role::Leases, server, timeout)?,
            control: Line::new(Role::Leases, server, timeout)?,
            hints: Line::new(Role::Leases, server, timeout.min(LONGEST_HINT_CALL))?,
            client: server.client().clone(),
            scripts: Scripts {
                acquire: script(include_str!("redis/acquire.lua")),
                raise: script(include_str!("redis/raise.lua")),
                renew: script(include_str!("redis/renew.lua")),
                heartbeat: script(include_str!("redis/heartbeat.lua")),
                alive: script(include_str!("redis/alive.lua")),
                release: script(include_str!("redis/release.lua")),
                hint: script(include_str!("redis/hint.lua")),
                void: script(include_str!("redis/void.lua")),
                end: script(include_str!("redis/end.lua")),
            },
        })
    }

    async fn acquire(
        &self,
        key: &LeaseKey,
        claim: Claim,
        floor: i64,
        evict: Option<Claim>,
    ) -> Result<Answer, CallError> {
        let mut script = self.scripts.acquire.prepare_invoke();
        script.key(key.lock()).key(key.fence()).key(key.wait()).key(key.ver());
        script.arg(claim.to_string()).arg(claim.owner.to_string()).arg(floor.max(0));
        script.arg(self.terms.lease).arg(self.terms.mark);
        script.arg(evict.map(|claim| claim.to_string()).unwrap_or_default());
        script.arg(WAKE_CHANNEL).arg(key.to_wire());
        let reply: redis::Value = self.requests.run(&script).await?;
        match redis::from_redis_value::<(i64, i64, String)>(reply).map_err(|_| CallError::Unknown)? {
            (1, fence, hint) => Ok(Answer::Acquired { fence, hint: parse_hint(&hint) }),
            (_, left, holder) => {
                Ok(Answer::Busy { left: u64::try_from(left).ok(), confirmed: parse_claim(&holder) })
            }
        }
    }
}

#[async_trait]
impl LeaseStore for RedisLeases {
    async fn call(&self, verb: &Verb<LeaseKey>) -> Result<Answer, CallError> {
        match verb {
            Verb::Acquire { key, claim, floor, evict } => self.acquire(key, *claim, *floor, *evict).await,
            Verb::Raise { key, claim, floor } => {
                let mut script = self.scripts.raise.prepare_invoke();
                script.key(key.lock()).key(key.fence()).arg(claim.to_string()).arg((*floor).max(0));
                let fence: String = self.requests.run(&script).await?;
                Ok(Answer::Raised(fence.parse().ok()))
            }
            Verb::Renew(leases) => {
                let mut script = self.scripts.renew.prepare_invoke();
                script.arg(self.terms.lease);
                add(&mut script, leases);
                Ok(Answer::Kept(flags(self.control.run(&script).await?)))
            }
            Verb::Heartbeat { owner, leases } => {
                let mut script = self.scripts.heartbeat.prepare_invoke();
                script.key(keys::alive(*owner)).arg(self.terms.lease);
                add(&mut script, leases);
                Ok(Answer::Kept(flags(self.control.run(&script).await?)))
            }
            Verb::Alive(owner) => {
                let mut script = self.scripts.alive.prepare_invoke();
                script.key(keys::alive(*owner)).arg(self.terms.lease);
                let alive: i64 = self.requests.run(&script).await?;
                Ok(Answer::Alive(alive == 1))
            }
            Verb::Release { key, claim, parting } => {
                let mut script = self.scripts.release.prepare_invoke();
                script.key(key.lock()).key(key.wait()).key(key.ver());
                script.arg(claim.to_string()).arg(claim.owner.to_string()).arg(self.terms.mark);
                script.arg(WAKE_CHANNEL).arg(key.to_wire());
                script.arg(parting.hint.map(|hint| hint.to_string()).unwrap_or_default());
                script.arg(i32::from(parting.wrote));
                let _: i64 = self.requests.run(&script).await?;
                Ok(Answer::Released)
            }
            Verb::Hint(key) => {
                let mut script = self.scripts.hint.prepare_invoke();
                script.key(key.ver());
                let hint: String = self.hints.run(&script).await?;
                Ok(Answer::Hint(parse_hint(&hint)))
            }
            Verb::Void { key, block } => {
                let mut script = self.scripts.void.prepare_invoke();
                script.key(key.ver()).arg(*block);
                let _: i64 = self.requests.run(&script).await?;
                Ok(Answer::Voided)
            }
            Verb::End(key) => {
                let mut script = self.scripts.end.prepare_invoke();
                script.key(key.lock()).key(key.wait()).key(key.ver());
                script.arg(self.terms.mark).arg(WAKE_CHANNEL).arg(key.to_wire());
                script.arg(keys::gone_to_wire(key));
                let _: i64 = self.requests.run(&script).await?;
                Ok(Answer::Ended)
            }
        }
    }

    async fn listen(&self, me: Incarnation, heard: &(dyn Fn(Notice<LeaseKey>) + Send + Sync)) {
        loop {
            match self.client.get_async_pubsub().await {
                Ok(mut listener) => {
                    if let Err(error) = listener.subscribe(format!("{WAKE_CHANNEL}{me}")).await {
                        tracing::debug!(%error, "cannot listen for wake-ups");
                    } else {
                        let mut messages = listener.into_on_message();
                        while let Some(message) = messages.next().await {
                            let text = message.get_payload::<String>().unwrap_or_default();
                            keys::notice(&text).into_iter().for_each(heard);
                        }
                    }
                }
                Err(error) => tracing::debug!(%error, "cannot listen for wake-ups"),
            }
            // Waiting replicas ask by themselves meanwhile.
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    }
}

fn add(script: &mut ScriptInvocation<'_>, leases: &[Holding<LeaseKey>]) {
    for lease in leases {
        script.key(lease.key.lock()).key(lease.key.fence());
        script.arg(lease.claim.to_string()).arg(lease.fence);
    }
}

fn flags(kept: Vec<i64>) -> Vec<bool> {
    kept.into_iter().map(|kept| kept == 1).collect()
}

/// The state that a script named; `None` for none.
fn parse_hint(text: &str) -> Option<Hint> {
    u128::from_str_radix(text, 16).ok().map(Hint)
}

/// The claim that a script named; `None` for other text.
fn parse_claim(text: &str) -> Option<Claim> {
    let (owner, number) = text.split_once('-')?;
    let owner = Incarnation(u128::from_str_radix(owner, 16).ok()?);
    Some(Claim { owner, number: number.parse().ok()? })
}
