//! Execs: the write path and the read path, step by step as session.rs numbers them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::clock;
use crate::exec::{LiveEvent, Output};
use crate::fs::{Mode, Tree};
use crate::ids::{Caller, SandboxId, Sha256};
use crate::metrics::metrics;
use crate::session::admission::RunSlot;
use crate::session::commit::{LogEntry, Settled};
use crate::session::entry::{Base, Session, store_error};
use crate::session::guard::{WriteGuard, read_base};
use crate::session::replay::{KEPT_OUTPUT, fingerprint, play, to_keep};
use crate::session::run::{Finished, Run};
use crate::session::stop::{Deadline, Stop};
use crate::session::types::{ExecMode, ExecReply, ExecRequest, Expect};
use crate::session::{Inner, Request, SessionError};
use crate::store::{Keep, SandboxRow};

/// Runs of one script under a lease: the first, and one more after a lost race.
pub(crate) const RUNS: u32 = 2;

impl super::Service {
    /// Runs a script. Dropping the future means that the client left: the script is
    /// ended and leaves no trace. With `live`, output goes there instead of into the
    /// reply, after one `Started`; an error without a `Started` came before the script.
    pub async fn exec(
        &self,
        caller: &Caller,
        request_id: &str,
        sandbox: SandboxId,
        request: ExecRequest,
        live: Option<mpsc::Sender<LiveEvent>>,
    ) -> Result<ExecReply, SessionError> {
        let (begun, mode) = (clock::now(), mode_label(request.mode));
        let running =
            self.in_task(caller, request_id, sandbox, move |inner, request_of, session| async move {
                match request.mode {
                    ExecMode::Write => inner.write_exec(request_of, session, request, live).await,
                    ExecMode::Read { snapshot } => {
                        inner.read_exec(request_of, session, request, snapshot, live).await
                    }
                }
            });
        let result = running.await;
        metrics().execs.note([("mode", mode), ("outcome", outcome_label(&result))], begun.elapsed());
        result
    }
}

impl Inner {
    /// Waits until a script may write: the sandbox first, a run slot last. The deadline is
    /// that of the whole wait.
    pub(crate) async fn write_turn(
        &self,
        of: &mut Request,
        session: Arc<Session>,
    ) -> Result<(WriteGuard, RunSlot, Deadline), SessionError> {
        let begun = clock::now();
        let deadline = Deadline::after(self.settings.acquire_timeout);
        let guard = WriteGuard::acquire(self, session, &of.caller, &of.stop, deadline).await?;
        let slot = of.stop.wait(deadline, self.admission.slot(&of.caller)).await?;
        of.begun();
        metrics().exec_wait.note([("mode", "write")], begun.elapsed());
        Ok((guard, slot, deadline))
    }

    async fn write_exec(
        self: Arc<Self>,
        mut of: Request,
        session: Arc<Session>,
        request: ExecRequest,
        live: Option<mpsc::Sender<LiveEvent>>,
    ) -> Result<ExecReply, SessionError> {
        let (mut guard, slot, deadline) = self.write_turn(&mut of, session).await?;
        let kept = self.replay(&guard.session, &request).await?;
        if kept.is_none() {
            check_expected(&guard.row, request.expect)?;
        }

        let output = self.output(live.as_ref(), request.key.is_some());
        if let Some(live) = live {
            // A reader that left is noticed by the drop of its future.
            let _ = live.send(LiveEvent::Started).await;
        }
        if let Some(kept) = kept {
            return Ok(play(kept, &output).await);
        }
        let mut left = request.timeout;
        let mut runs = 0;
        let reply = loop {
            runs += 1;
            let calls = of.network.count();
            let started_at_ns = clock::wall_ns();
            let run = Run {
                script: &request.script,
                debug: request.debug,
                cwd: request.cwd.as_deref(),
                env: &request.env,
                args: &request.args,
                stdin: request.stdin.as_deref(),
                timeout: left,
                mode: Mode::ReadWrite,
                base: &guard.base,
                row: &guard.row,
                guard: Some(&guard),
                content: self.content(&guard.session),
                output: &output,
            };
            let finished = self.run(run, &of).await?;
            let duration = finished.ended.duration;
            let plan = Plan::of(&request, finished.exit_code);
            // What leaves no trace anyway has no effect that could be doubled.
            let key = request.key.as_deref().filter(|_| plan == Plan::Commit);
            let reply = key.map(|_| to_keep(&finished, &output)).unwrap_or_default();
            let log = LogEntry {
                caller: &of.caller,
                request_id: &of.id,
                started_at_ns,
                duration_ms: duration.as_millis() as i64,
                script_sha256: Some(Sha256::of(request.script.as_bytes())),
                keep: key.map(|key| Keep { key, request: fingerprint(&request), reply: &reply }),
            };
            let keep_cwd = request.cwd.is_none();
            if let Some(reply) = self.settle(&mut guard, &of.stop, finished, plan, keep_cwd, &log).await? {
                break reply;
            }
            left = left.saturating_sub(duration);
            if output.left() || left.is_zero() || of.network.count() > calls {
                return Err(SessionError::Conflict);
            }
            metrics().reruns.one([]);
            guard.again(&self, &of.caller, &of.stop, runs, deadline).await?;
            drop(output.take());
            if let Some(kept) = self.replay(&guard.session, &request).await? {
                return Ok(play(kept, &output).await);
            }
            check_expected(&guard.row, request.expect)?;
        };
        drop(guard);
        drop(slot);
        Ok(ExecReply { output: output.take(), ..reply })
    }

    /// Commits what a finished script did, or drops it as planned. `None`: the race
    /// was lost and nothing applied.
    pub(crate) async fn settle(
        &self,
        guard: &mut WriteGuard,
        stop: &Stop,
        finished: Finished,
        plan: Plan,
        keep_cwd: bool,
        log: &LogEntry<'_>,
    ) -> Result<Option<ExecReply>, SessionError> {
        let Finished { exit_code, ended } = finished;
        let mut warnings = ended.warnings;
        let mut reply = ExecReply {
            output: crate::exec::Captured::default(),
            exit_code,
            duration: ended.duration,
            version: guard.base.version,
            head: guard.base.head,
            committed: false,
            changed: ended.changes.changed,
            changes: None,
            warnings: Vec::new(),
            replayed: false,
        };
        let new_cwd = (keep_cwd && ended.cwd != guard.row.cwd).then_some(ended.cwd.as_str());
        match plan {
            Plan::Undo => reply.changed = 0,
            Plan::Report => {
                let after = apply(&guard.base, &ended.changes.delta)?;
                reply.changes = Some(guard.base.tree.path_changes(&after));
            }
            Plan::Commit if ended.changes.delta.is_empty() => {
                if let Some(keep) = &log.keep {
                    if !self.keep_reply(guard, stop, new_cwd, keep).await? {
                        return Ok(None);
                    }
                } else if let Some(cwd) = new_cwd {
                    let _committing = guard.begin_commit(stop)?;
                    let store = guard.session.store.clone();
                    match store.keep_cwd(guard.session.sandbox, guard.base.head, cwd).await {
                        Ok(true) => guard.moved_to(cwd),
                        Ok(false) => {
                            warnings
                                .push("the working directory was not kept: another commit came first".into());
                        }
                        Err(error) => {
                            tracing::warn!(error = %error, "a working directory was not kept");
                            warnings
                                .push("the working directory was not kept: the store is unavailable".into());
                        }
                    }
                    guard.settle_hint(self, false).await;
                }
            }
            Plan::Commit => {
                let after = apply(&guard.base, &ended.changes.delta)?;
                match self.commit(guard, stop, &ended.changes, after, new_cwd, log).await? {
                    Settled::Lost => return Ok(None),
                    Settled::Done => {
                        reply.committed = true;
                        (reply.version, reply.head) = (guard.base.version, guard.base.head);
                    }
                }
            }
        }
        reply.warnings = warnings;
        Ok(Some(reply))
    }

    async fn read_exec(
        self: Arc<Self>,
        mut of: Request,
        session: Arc<Session>,
        request: ExecRequest,
        snapshot: bool,
        live: Option<mpsc::Sender<LiveEvent>>,
    ) -> Result<ExecReply, SessionError> {
        let begun = clock::now();
        let deadline = Deadline::after(self.settings.acquire_timeout);
        let fresh = read_base(&self, &session, &of.caller, &of.stop, deadline, snapshot).await?;
        check_expected(&fresh.row, request.expect)?;
        let _slot = of.stop.wait(deadline, self.admission.slot(&of.caller)).await?;
        of.begun();
        metrics().exec_wait.note([("mode", "read")], begun.elapsed());
        let output = self.output(live.as_ref(), false);
        if let Some(live) = live {
            let _ = live.send(LiveEvent::Started).await;
        }
        let run = Run {
            script: &request.script,
            debug: request.debug,
            cwd: request.cwd.as_deref(),
            env: &request.env,
            args: &request.args,
            stdin: request.stdin.as_deref(),
            timeout: request.timeout,
            mode: Mode::ReadOnly,
            base: &fresh.base,
            row: &fresh.row,
            guard: None,
            content: self.content(&session),
            output: &output,
        };
        let finished = self.run(run, &of).await?;
        Ok(read_reply(finished, &fresh.base, &output))
    }

    /// Keeps the reply of a script that changed no file, and where it ended. `false`: the
    /// race was lost.
    async fn keep_reply(
        &self,
        guard: &mut WriteGuard,
        stop: &Stop,
        cwd: Option<&str>,
        keep: &Keep<'_>,
    ) -> Result<bool, SessionError> {
        let _committing = guard.begin_commit(stop)?;
        let store = guard.session.store.clone();
        let kept = store.keep_reply(guard.session.sandbox, guard.base.head, cwd, keep).await;
        if let (Ok(true), Some(cwd)) = (&kept, cwd) {
            guard.moved_to(cwd);
        }
        guard.settle_hint(self, kept.is_err()).await;
        kept.map_err(store_error)
    }

    /// Where the output of an exec goes; `keyed`: its beginning is kept beside a live reader.
    pub(crate) fn output(&self, live: Option<&mpsc::Sender<LiveEvent>>, keyed: bool) -> Arc<Output> {
        let limit = self.settings.output_limit;
        Arc::new(match live {
            Some(to) if keyed => Output::live(limit, to.clone()).keeping(KEPT_OUTPUT),
            Some(to) => Output::live(limit, to.clone()),
            None => Output::buffered(limit),
        })
    }
}

/// The reply of a finished read-only script.
pub(crate) fn read_reply(finished: Finished, base: &Base, output: &Output) -> ExecReply {
    ExecReply {
        output: output.take(),
        exit_code: finished.exit_code,
        duration: finished.ended.duration,
        version: base.version,
        head: base.head,
        committed: false,
        changed: 0,
        changes: None,
        warnings: finished.ended.warnings,
        replayed: false,
    }
}

/// What is to become of a finished script's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Make them true.
    Commit,
    /// Report them and drop them (dry run).
    Report,
    /// Drop them (rollbackOnError).
    Undo,
}

impl Plan {
    fn of(request: &ExecRequest, exit_code: i32) -> Self {
        if request.dry_run {
            Self::Report
        } else if request.rollback_on_error && exit_code != 0 {
            Self::Undo
        } else {
            Self::Commit
        }
    }
}

/// The tree after a delta that our own interpreter made: not fitting is a bug.
pub(crate) fn apply(base: &Base, delta: &crate::fs::Delta) -> Result<Tree, SessionError> {
    base.tree
        .apply(delta)
        .map_err(|broken| SessionError::Internal(format!("a change set does not fit: {broken}")))
}

/// 412 unless the sandbox is where the request says.
pub(crate) fn check_expected(row: &SandboxRow, expect: Option<Expect>) -> Result<(), SessionError> {
    let met = match expect {
        None => true,
        Some(Expect::Version(version)) => version == row.version,
        Some(Expect::Head(head)) => head == row.head,
    };
    if met { Ok(()) } else { Err(SessionError::VersionMismatch { version: row.version, head: row.head }) }
}

/// Time that is left of `total` after `spent`.
pub(crate) fn remaining(total: Duration, since: clock::Instant) -> Duration {
    total.saturating_sub(since.elapsed())
}

fn mode_label(mode: ExecMode) -> &'static str {
    match mode {
        ExecMode::Write => "write",
        ExecMode::Read { .. } => "read",
    }
}

/// What an exec came to, for the metrics.
fn outcome_label(result: &Result<ExecReply, SessionError>) -> &'static str {
    match result {
        Ok(reply) if reply.replayed => "replayed",
        Ok(reply) if reply.committed => "committed",
        Ok(_) => "unchanged",
        Err(error) => error.kind(),
    }
}
