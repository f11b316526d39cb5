//! Write routes: an edit goes through the same turn, freshness and commit as an exec.

use std::sync::Arc;

use bytes::Bytes;

use crate::clock;
use crate::fs::{Mode, WorkingCopy};
use crate::ids::{Caller, Head, SandboxId, Sha256, Version};
use crate::session::commit::{LogEntry, Settled};
use crate::session::entry::store_error;
use crate::session::exec::{apply, check_expected};
use crate::session::guard::WriteGuard;
use crate::session::run::fatal_error;
use crate::session::stop::Deadline;
use crate::session::types::Expect;
use crate::session::{Service, SessionError};

/// An edit of a sandbox by a write route: applied to a working copy on a blocking
/// thread, possibly again after a lost race, so it must not consume its inputs.
pub type Edit<T> = Arc<dyn Fn(&WorkingCopy) -> Result<T, SessionError> + Send + Sync>;

impl Service {
    /// Applies an edit and commits it. Dropping the future before the commit has begun
    /// means that nothing is applied.
    pub async fn write<T: Send + 'static>(
        &self,
        caller: &Caller,
        request_id: &str,
        sandbox: SandboxId,
        expect: Option<Expect>,
        edit: Edit<T>,
    ) -> Result<(T, Version, Head), SessionError> {
        self.in_task(caller, request_id, sandbox, move |inner, mut of, session| async move {
            let deadline = Deadline::after(inner.settings.acquire_timeout);
            let mut guard = WriteGuard::acquire(&inner, session, &of.caller, &of.stop, deadline).await?;
            of.begun();
            loop {
                check_expected(&guard.row, expect)?;
                let started_at_ns = clock::wall_ns();
                let began = clock::now();
                let work = Arc::new(WorkingCopy::new(
                    guard.base.tree.clone(),
                    guard.base.next_ino,
                    Mode::ReadWrite,
                    inner.settings.quota,
                    inner.content(&guard.session),
                    clock::wall_ns,
                ));
                let (editing, edit) = (work.clone(), edit.clone());
                let edited = tokio::task::spawn_blocking(move || {
                    let value = edit(&editing);
                    let changes = editing.finish();
                    (value, changes)
                });
                let edited = of.stop.wait(deadline, edited).await.inspect_err(|_| work.revoke())?;
                let (value, changes) =
                    edited.map_err(|join| SessionError::Internal(format!("an edit died: {join}")))?;
                if let Some(fatal) = work.fatal() {
                    return Err(fatal_error(&fatal, &of.stop, Box::default));
                }
                let value = value?;
                let changes = changes
                    .map_err(|errno| SessionError::Internal(format!("an edit has no end: {errno}")))?;
                if changes.delta.is_empty() {
                    return Ok((value, guard.base.version, guard.base.head));
                }
                let after = apply(&guard.base, &changes.delta)?;
                let log = LogEntry {
                    caller: &of.caller,
                    request_id: &of.id,
                    started_at_ns,
                    duration_ms: began.elapsed().as_millis() as i64,
                    script_sha256: None,
                    keep: None,
                };
                match inner.commit(&mut guard, &of.stop, &changes, after, None, &log).await? {
                    Settled::Done => return Ok((value, guard.base.version, guard.base.head)),
                    // An edit is cheap: it goes on until its turn's time is up.
                    Settled::Lost if clock::now() < deadline.at => {
                        guard.refresh(&inner, &of.caller).await?;
                    }
                    Settled::Lost => return Err(SessionError::Conflict),
                }
            }
        })
        .await
    }

    /// Stores contents ahead of a `write`, before any lock, after a check that the
    /// sandbox is the caller's. The hash of each, in order; `None` for an empty one.
    pub async fn upload(
        &self,
        caller: &Caller,
        sandbox: SandboxId,
        contents: Vec<Bytes>,
    ) -> Result<Vec<Option<Sha256>>, SessionError> {
        self.in_task(caller, "", sandbox, move |_inner, of, session| async move {
            session.row(&of.caller).await?;
            let hashed = tokio::task::spawn_blocking(move || {
                contents
                    .into_iter()
                    .map(|data| (!data.is_empty()).then(|| (Sha256::of(&data), data)))
                    .collect::<Vec<_>>()
            });
            let hashed =
                hashed.await.map_err(|join| SessionError::Internal(format!("hashing died: {join}")))?;
            let hashes = hashed.iter().map(|content| content.as_ref().map(|(sha256, _)| *sha256)).collect();
            let mut blobs: Vec<(Sha256, Bytes)> = hashed.into_iter().flatten().collect();
            // In one order for all: two uploads of the same files never wait for each other.
            blobs.sort_unstable_by_key(|(sha256, _)| *sha256);
            blobs.dedup_by_key(|(sha256, _)| *sha256);
            if !blobs.is_empty() {
                session.store.flush_blobs(&blobs).await.map_err(store_error)?;
            }
            Ok(hashes)
        })
        .await
    }
}
