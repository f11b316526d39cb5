//! Making a change set true, and knowing whether it became so.

use std::time::Duration;

use tracing::Instrument;

use crate::clock;
use crate::fs::{ChangeSet, Tree};
use crate::ids::{Caller, ExecId, Head, SandboxId, Sha256, Version};
use crate::metrics::metrics;
use crate::session::entry::store_error;
use crate::session::guard::WriteGuard;
use crate::session::operators::Growth;
use crate::session::stop::Stop;
use crate::session::{Inner, SessionError};
use crate::store::{Commit, CommitOutcome, Keep, Resolution, Store, StoreError, StoreResult};
use crate::telemetry::span;

/// What belongs to a change set in the exec log.
pub(crate) struct LogEntry<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) request_id: &'a str,
    pub(crate) started_at_ns: i64,
    pub(crate) duration_ms: i64,
    pub(crate) script_sha256: Option<Sha256>,
    pub(crate) keep: Option<Keep<'a>>,
}

/// How a commit went.
pub(crate) enum Settled {
    /// It is true; the guard stands on the new version.
    Done,
    /// Another commit came first: nothing applied.
    Lost,
}

impl Inner {
    /// Commits `changes` on the guard's base. `tree` is the tree after them. Ends with
    /// a definite outcome, or with `OutcomeUnknown` if the store stays away.
    pub(crate) async fn commit(
        &self,
        guard: &mut WriteGuard,
        stop: &Stop,
        changes: &ChangeSet,
        tree: Tree,
        cwd: Option<&str>,
        log: &LogEntry<'_>,
    ) -> Result<Settled, SessionError> {
        let before = &guard.base.tree;
        let grows = Growth {
            sandboxes: 0,
            entries: tree.entries().saturating_sub(before.entries()),
            bytes: tree.bytes().saturating_sub(before.bytes()),
        };
        self.check_tenant_quota(&guard.session.tenant, grows)?;
        // From here on nothing ends the request any more; before, anything may.
        let _committing = guard.begin_commit(stop)?;
        let settled = self.send_commit(guard, changes, tree, cwd, log).await;
        guard.settle_hint(self, matches!(settled, Err(SessionError::OutcomeUnknown))).await;
        settled
    }

    async fn send_commit(
        &self,
        guard: &mut WriteGuard,
        changes: &ChangeSet,
        tree: Tree,
        cwd: Option<&str>,
        log: &LogEntry<'_>,
    ) -> Result<Settled, SessionError> {
        let (exec, new_head) = (ExecId::random(), Head::random());
        let commit = Commit {
            sandbox: guard.session.sandbox,
            seen: guard.base.head,
            new_head,
            fence: guard.fence,
            cwd,
            changes,
            exec,
            request_id: log.request_id,
            actor: &log.caller.owner.0,
            started_at_ns: log.started_at_ns,
            duration_ms: log.duration_ms,
            script_sha256: log.script_sha256,
            keep: log.keep,
        };
        let begun = clock::now();
        let outcome = guard.session.store.commit(&commit).instrument(span!("commit")).await;
        metrics().commits.note([("outcome", label(&outcome))], begun.elapsed());
        let (version, head) = match outcome {
            Ok(CommitOutcome::Done { version }) => (version, new_head),
            Ok(CommitOutcome::Stale) => return Ok(Settled::Lost),
            Ok(CommitOutcome::Gone) => return Err(SessionError::NotFound),
            Err(StoreError::OutcomeUnknown(text)) => {
                tracing::warn!(sandbox.id = %commit.sandbox, exec.id = %exec, error = %text, "a commit's reply was lost");
                // Whatever comes out, the warm tree is no longer known to be the newest.
                guard.session.forget();
                let store = guard.session.store.clone();
                self.resolve(store.as_ref(), commit.sandbox, exec, log.request_id, log.caller).await?
            }
            Err(error) => return Err(store_error(error)),
        };
        let contents = self.contents(&guard.session);
        for blob in &changes.blobs {
            if let Some(data) = &blob.data {
                contents.keep(blob.sha256, data);
            }
        }
        guard.advance(tree, version, head, changes.next_ino, cwd);
        self.keep_snapshot(&guard.session);
        Ok(Settled::Done)
    }

    /// Asks the store what became of a commit until it says. Its `no` is final: the
    /// head was voided in the same transaction, so a commit still on its way loses.
    pub(crate) async fn resolve(
        &self,
        store: &dyn Store,
        sandbox: SandboxId,
        exec: ExecId,
        request_id: &str,
        caller: &Caller,
    ) -> Result<(Version, Head), SessionError> {
        let resolution =
            self.until_answered(|| store.resolve(sandbox, exec, request_id, &caller.owner.0)).await?;
        let answer = match resolution {
            Resolution::Applied { .. } => "applied",
            Resolution::NotApplied => "not_applied",
            Resolution::Gone => "gone",
        };
        metrics().resolved.one([("answer", answer)]);
        match resolution {
            Resolution::Applied { version, head } => Ok((version, head)),
            Resolution::NotApplied => Err(SessionError::StoreUnavailable),
            Resolution::Gone => Err(SessionError::NotFound),
        }
    }

    /// Repeats a question to the store until it is answered, for as long as an outcome
    /// may stay open.
    pub(crate) async fn until_answered<T, F>(&self, ask: impl Fn() -> F) -> Result<T, SessionError>
    where
        F: Future<Output = StoreResult<T>>,
    {
        let give_up = clock::now() + self.settings.resolve_timeout;
        let mut pause = Duration::from_millis(20);
        loop {
            match tokio::time::timeout_at(give_up, ask()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_))) => {}
                Ok(Err(error @ (StoreError::Inconsistent(_) | StoreError::Refused(_)))) => {
                    tracing::error!(error = %error, "an outcome cannot be read");
                    return Err(SessionError::OutcomeUnknown);
                }
                Err(_) => return Err(SessionError::OutcomeUnknown),
            }
            if clock::now() + pause >= give_up {
                return Err(SessionError::OutcomeUnknown);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    }
}

/// How a commit went, for the metrics.
fn label(outcome: &StoreResult<CommitOutcome>) -> &'static str {
    match outcome {
        Ok(CommitOutcome::Done { .. }) => "done",
        Ok(CommitOutcome::Stale) => "conflict",
        Ok(CommitOutcome::Gone) => "gone",
        Err(StoreError::OutcomeUnknown(_)) => "reply_lost",
        Err(StoreError::Unavailable(_) | StoreError::Inconsistent(_) | StoreError::Refused(_)) => "failed",
    }
}
