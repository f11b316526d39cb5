//! Batches of scripts: in order under one lease, as one transaction, or read-only in
//! parallel on one version.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;

use crate::clock;
use crate::exec::{Captured, Output};
use crate::fs::{BlobUse, ChangeSet, ContentSource, Delta, Mode};
use crate::ids::{Caller, SandboxId, Sha256};
use crate::session::admission::RunSlot;
use crate::session::commit::{LogEntry, Settled};
use crate::session::content::Pending;
use crate::session::entry::{Base, Fresh, Session};
use crate::session::exec::{Plan, apply, read_reply, remaining};
use crate::session::guard::{WriteGuard, read_base};
use crate::session::run::{Finished, Run};
use crate::session::stop::Deadline;
use crate::session::types::{BatchItem, BatchRequest, BatchResult, ExecReply};
use crate::session::{Inner, Request, Service, SessionError};
use crate::store::SandboxRow;

/// Scripts of a read-only batch that run at once.
const PARALLEL: usize = 16;

impl Service {
    /// Runs a batch. `Err` only if the first script had not begun, or if a read-only
    /// batch was violated. Dropping the future means that the client left.
    pub async fn exec_batch(
        &self,
        caller: &Caller,
        request_id: &str,
        sandbox: SandboxId,
        batch: BatchRequest,
    ) -> Result<Vec<BatchItem>, SessionError> {
        self.in_task(caller, request_id, sandbox, move |inner, of, session| async move {
            let results = if batch.read_only {
                inner.read_batch(of, session, &batch).await?
            } else if batch.atomic {
                inner.atomic_batch(of, session, &batch).await?
            } else {
                inner.write_batch(of, session, &batch).await?
            };
            let ids = batch.scripts.into_iter().map(|(id, _)| id);
            Ok(ids.zip(results).map(|(id, result)| BatchItem { id, result }).collect())
        })
        .await
    }
}

impl Inner {
    /// One after the other, each committed by itself.
    async fn write_batch(
        &self,
        mut of: Request,
        session: Arc<Session>,
        batch: &BatchRequest,
    ) -> Result<Vec<BatchResult>, SessionError> {
        let (mut guard, _slot, _) = self.write_turn(&mut of, session).await?;
        let began = clock::now();
        let mut results = Vec::with_capacity(batch.scripts.len());
        for (_, script) in &batch.scripts {
            if results.last().is_some_and(ends_batch) {
                results.push(BatchResult::Skipped);
                continue;
            }
            let left = remaining(batch.total, began);
            if left.is_zero() {
                results.push(BatchResult::OutOfTime);
                continue;
            }
            let output = self.output(None, false);
            let this = clock::now();
            let result = self.batch_script(&of, &mut guard, script, batch.each.min(left), &output).await;
            results.push(match result {
                Ok(reply) => BatchResult::Done(Box::new(reply)),
                Err(error) => BatchResult::Failed(of.network.told(error), output.take(), this.elapsed()),
            });
        }
        Ok(results)
    }

    /// One script of a plain batch, with its re-run after a lost race.
    async fn batch_script(
        &self,
        of: &Request,
        guard: &mut WriteGuard,
        script: &str,
        timeout: Duration,
        output: &Arc<Output>,
    ) -> Result<ExecReply, SessionError> {
        let until = Deadline::after(self.settings.acquire_timeout);
        let mut left = timeout;
        let mut runs = 0;
        loop {
            runs += 1;
            let calls = of.network.count();
            let started_at_ns = clock::wall_ns();
            let content = self.content(&guard.session);
            let run = script_run(script, left, Mode::ReadWrite, &guard.base, &guard.row, content, output);
            let finished = self.run(Run { guard: Some(guard), ..run }, of).await?;
            let duration = finished.ended.duration;
            let log = log_entry(of, started_at_ns, duration, script);
            if let Some(reply) = self.settle(guard, &of.stop, finished, Plan::Commit, true, &log).await? {
                return Ok(ExecReply { output: output.take(), ..reply });
            }
            left = left.saturating_sub(duration);
            if left.is_zero() || of.network.count() > calls {
                return Err(SessionError::Conflict);
            }
            guard.again(self, &of.caller, &of.stop, runs, until).await?;
            drop(output.take());
        }
    }

    /// All or nothing: each script runs on the tree that the one before left, and one
    /// commit makes them all true.
    async fn atomic_batch(
        &self,
        mut of: Request,
        session: Arc<Session>,
        batch: &BatchRequest,
    ) -> Result<Vec<BatchResult>, SessionError> {
        let (mut guard, _slot, deadline) = self.write_turn(&mut of, session).await?;
        let mut total = batch.total;
        let mut runs = 0;
        loop {
            runs += 1;
            let (started_at_ns, began) = (clock::wall_ns(), clock::now());
            let mut chain = Chain::new(&guard);
            let mut results = Vec::with_capacity(batch.scripts.len());
            for (_, script) in &batch.scripts {
                let left = remaining(total, began);
                let undone = results
                    .last()
                    .is_some_and(|last| !matches!(last, BatchResult::Done(reply) if reply.exit_code == 0));
                results.push(if undone {
                    BatchResult::Skipped
                } else if left.is_zero() {
                    BatchResult::OutOfTime
                } else {
                    self.chained_script(&of, &guard, &mut chain, script, batch.each.min(left)).await
                });
            }
            let undone = results
                .iter()
                .any(|result| !matches!(result, BatchResult::Done(reply) if reply.exit_code == 0));
            let changes = chain.changes(&guard.base);
            if undone || changes.delta.is_empty() {
                return Ok(results);
            }
            let all: String = batch.scripts.iter().map(|(_, script)| script.as_str()).collect();
            let log = log_entry(&of, started_at_ns, began.elapsed(), &all);
            let cwd = (chain.row.cwd != guard.row.cwd).then(|| chain.row.cwd.clone());
            let committed = self
                .commit(&mut guard, &of.stop, &changes, chain.base.tree.clone(), cwd.as_deref(), &log)
                .await;
            match committed {
                Ok(Settled::Done) => {
                    for result in &mut results {
                        if let BatchResult::Done(reply) = result {
                            reply.committed = reply.changed > 0;
                            (reply.version, reply.head) = (guard.base.version, guard.base.head);
                        }
                    }
                    return Ok(results);
                }
                Ok(Settled::Lost) => {}
                Err(error) => return Err(error),
            }
            total = remaining(total, began);
            if total.is_zero() || of.network.count() > 0 {
                return Err(SessionError::Conflict);
            }
            guard.again(self, &of.caller, &of.stop, runs, deadline).await?;
        }
    }

    /// One script of an atomic batch: extends the chain unless it failed.
    async fn chained_script(
        &self,
        of: &Request,
        guard: &WriteGuard,
        chain: &mut Chain,
        script: &str,
        timeout: Duration,
    ) -> BatchResult {
        let output = self.output(None, false);
        let this = clock::now();
        let content = Pending { new: chain.contents.clone(), stored: self.content(&guard.session) };
        let run =
            script_run(script, timeout, Mode::ReadWrite, &chain.base, &chain.row, Arc::new(content), &output);
        let result = self.run(Run { guard: Some(guard), ..run }, of).await;
        match result.and_then(|finished| chain.extend(finished, &guard.base, &output)) {
            Ok(reply) => BatchResult::Done(Box::new(reply)),
            Err(error) => BatchResult::Failed(of.network.told(error), output.take(), this.elapsed()),
        }
    }

    /// Read-only scripts, in parallel, all on one version.
    async fn read_batch(
        &self,
        mut of: Request,
        session: Arc<Session>,
        batch: &BatchRequest,
    ) -> Result<Vec<BatchResult>, SessionError> {
        let deadline = Deadline::after(self.settings.acquire_timeout);
        let fresh = read_base(self, &session, &of.caller, &of.stop, deadline, false).await?;
        // The wait of the batch ends with the first slot; later scripts wait inside it.
        let first_slot = of.stop.wait(deadline, self.admission.slot(&of.caller)).await?;
        of.begun();
        let began = clock::now();
        let mut first_slot = Some(first_slot);
        let mut scripts = Vec::with_capacity(batch.scripts.len());
        for (_, script) in &batch.scripts {
            scripts.push(self.read_script(&of, &session, &fresh, batch, script, began, first_slot.take()));
        }
        let results: Vec<BatchResult> = stream::iter(scripts).buffered(PARALLEL).collect().await;
        let mut kept = Vec::with_capacity(results.len());
        for result in results {
            match result {
                BatchResult::Failed(error, ..)
                    if matches!(error.beneath(), SessionError::ReadOnlyViolation { .. }) =>
                {
                    return Err(error);
                }
                BatchResult::Done(_)
                | BatchResult::Failed(..)
                | BatchResult::Skipped
                | BatchResult::OutOfTime => {
                    kept.push(result);
                }
            }
        }
        Ok(kept)
    }

    /// One script of a read-only batch, with the run slot that it was given or one of
    /// its own.
    #[expect(clippy::too_many_arguments, reason = "the one place where all of a batch's parts meet")]
    async fn read_script(
        &self,
        of: &Request,
        session: &Session,
        fresh: &Fresh,
        batch: &BatchRequest,
        script: &str,
        began: clock::Instant,
        slot: Option<RunSlot>,
    ) -> BatchResult {
        let until = Deadline { at: began + batch.total, allowed: batch.total };
        let slot = match slot {
            Some(slot) => Ok(slot),
            None => of.stop.wait(until, self.admission.slot(&of.caller)).await,
        };
        let left = remaining(batch.total, began);
        let _slot = match slot {
            Ok(slot) if !left.is_zero() => slot,
            Ok(_) | Err(SessionError::LeaseTimeout(_)) => return BatchResult::OutOfTime,
            Err(error) => return BatchResult::Failed(error, Captured::default(), Duration::ZERO),
        };
        let output = self.output(None, false);
        let this = clock::now();
        let content = self.content(session);
        let timeout = batch.each.min(left);
        let run = script_run(script, timeout, Mode::ReadOnly, &fresh.base, &fresh.row, content, &output);
        match self.run(run, of).await {
            Ok(finished) => BatchResult::Done(Box::new(read_reply(finished, &fresh.base, &output))),
            Err(error) => BatchResult::Failed(of.network.told(error), output.take(), this.elapsed()),
        }
    }
}

/// Scripts of an atomic batch so far: the tree that they made, and what to commit.
struct Chain {
    base: Base,
    row: SandboxRow,
    blobs: BTreeMap<Sha256, BlobUse>,
    contents: Arc<HashMap<Sha256, Bytes>>,
}

impl Chain {
    fn new(guard: &WriteGuard) -> Self {
        Self {
            base: Base::clone(&guard.base),
            row: SandboxRow::clone(&guard.row),
            blobs: BTreeMap::new(),
            contents: Arc::default(),
        }
    }

    fn extend(
        &mut self,
        finished: Finished,
        committed: &Base,
        output: &Output,
    ) -> Result<ExecReply, SessionError> {
        let Finished { exit_code, ended } = finished;
        self.base.tree = apply(&self.base, &ended.changes.delta)?;
        self.base.next_ino = ended.changes.next_ino;
        self.row.cwd = ended.cwd;
        let contents = Arc::make_mut(&mut self.contents);
        for blob in ended.changes.blobs {
            if let Some(data) = &blob.data {
                contents.insert(blob.sha256, data.clone());
            }
            self.blobs.insert(blob.sha256, blob);
        }
        Ok(ExecReply {
            output: output.take(),
            exit_code,
            duration: ended.duration,
            version: committed.version,
            head: committed.head,
            committed: false,
            changed: ended.changes.changed,
            changes: None,
            warnings: ended.warnings,
            replayed: false,
        })
    }

    /// All scripts' changes as one change set on the committed tree.
    fn changes(&self, committed: &Base) -> ChangeSet {
        let delta = Delta::between(&committed.tree, &self.base.tree);
        let named: BTreeSet<Sha256> = delta.inodes.iter().filter_map(|row| row.sha256).collect();
        ChangeSet {
            blobs: self.blobs.values().filter(|blob| named.contains(&blob.sha256)).cloned().collect(),
            next_ino: self.base.next_ino,
            entries: self.base.tree.entries(),
            bytes: self.base.tree.bytes(),
            changed: committed.tree.path_changes(&self.base.tree).len() as u64,
            delta,
        }
    }
}

/// A script of a batch: nothing but its text and its place.
fn script_run<'a>(
    script: &'a str,
    timeout: Duration,
    mode: Mode,
    base: &'a Base,
    row: &'a SandboxRow,
    content: Arc<dyn ContentSource>,
    output: &'a Arc<Output>,
) -> Run<'a> {
    static NO_ENV: BTreeMap<String, String> = BTreeMap::new();
    Run {
        script,
        debug: false,
        cwd: None,
        env: &NO_ENV,
        args: &[],
        stdin: None,
        timeout,
        mode,
        base,
        row,
        guard: None,
        content,
        output,
    }
}

fn log_entry<'a>(of: &'a Request, started_at_ns: i64, duration: Duration, script: &str) -> LogEntry<'a> {
    LogEntry {
        caller: &of.caller,
        request_id: &of.id,
        started_at_ns,
        duration_ms: duration.as_millis() as i64,
        script_sha256: Some(Sha256::of(script.as_bytes())),
        keep: None,
    }
}

/// Whether the scripts after this one are skipped: the sandbox or the server is lost
/// to the batch, or nobody listens.
fn ends_batch(result: &BatchResult) -> bool {
    match result {
        BatchResult::Skipped => true,
        BatchResult::Done(_) | BatchResult::OutOfTime => false,
        BatchResult::Failed(error, ..) => matches!(
            error.beneath(),
            SessionError::LeaseLost
                | SessionError::CoordinationUnavailable
                | SessionError::Conflict
                | SessionError::ShuttingDown
                | SessionError::ClientGone
                | SessionError::NotFound
                | SessionError::StoreUnavailable
                | SessionError::OutcomeUnknown
        ),
    }
}
