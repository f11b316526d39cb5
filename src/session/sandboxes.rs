//! Sandboxes: creation, listing, names, deletion.

use std::sync::Arc;

use crate::clock;
use crate::fs::{ChangeSet, Fatal, Mode, Tree, WorkingCopy};
use crate::ids::{Caller, ExecId, Head, SandboxId};
use crate::session::entry::{Base, Session, store_error};
use crate::session::operators::Growth;
use crate::session::stop::{Cause, Deadline};
use crate::session::types::{Create, Network};
use crate::session::{Inner, Page, Patch, SandboxRow, Service, SessionError};
use crate::store::{Created, NewSandbox, Patched, StoreError};

/// First working directory of every sandbox.
const HOME: &str = "/home/user";

impl Service {
    /// Creates a sandbox with its first files, all or nothing.
    pub async fn create(
        &self,
        caller: &Caller,
        request_id: &str,
        create: Create,
    ) -> Result<SandboxRow, SessionError> {
        if create.unique && create.name.is_none() {
            return Err(SessionError::Invalid("unique: needs a name".into()));
        }
        self.inner.check_permissions(&create)?;
        let store = self.inner.tenants.store(&caller.tenant).await?;
        if self.inner.lifecycle.is_draining() {
            return Err(SessionError::ShuttingDown);
        }
        let (inner, caller, request_id) = (self.inner.clone(), caller.clone(), request_id.to_owned());
        // A task of its own, as for every write: a dropped handler leaves nothing half done.
        let task = tokio::spawn(async move {
            let (tree, first) = inner.first_tree(&caller, create.files).await?;
            let grows = Growth { sandboxes: 1, entries: tree.entries(), bytes: tree.bytes() };
            inner.check_tenant_quota(&caller.tenant, grows)?;
            let new = NewSandbox {
                id: SandboxId::random(),
                owner: caller.owner.clone(),
                name: create.name,
                unique: create.unique,
                env: create.env,
                python: create.python,
                javascript: create.javascript,
                network: network_json(&create.network),
                cwd: HOME.to_owned(),
                head: Head::random(),
                created_at_ns: clock::wall_ns(),
                request_id,
                exec: ExecId::random(),
            };
            let created = match store.create(&new, &first).await {
                Err(StoreError::OutcomeUnknown(text)) => {
                    tracing::warn!(sandbox.id = %new.id, error = %text, "a creation's reply was lost");
                    inner.resolve(store.as_ref(), new.id, new.exec, &new.request_id, &caller).await?;
                    let row = inner.until_answered(|| store.probe(new.id)).await?;
                    Created::Done(Box::new(row.ok_or(SessionError::NotFound)?))
                }
                created => created.map_err(store_error)?,
            };
            match created {
                Created::Done(row) => {
                    let session = inner.registry.session(&caller.tenant, row.id, &store);
                    session.note_row(&Arc::new(SandboxRow::clone(&row)));
                    session.install_committed(Arc::new(Base {
                        tree,
                        version: row.version,
                        head: row.head,
                        next_ino: row.next_ino,
                    }));
                    Ok(*row)
                }
                Created::NameTaken(holder) => Err(SessionError::NameTaken(holder)),
            }
        });
        task.await.map_err(|join| SessionError::Internal(format!("a creation died: {join}")))?
    }

    /// Own live sandboxes, newest first.
    pub async fn list(&self, caller: &Caller, page: &Page) -> Result<Vec<SandboxRow>, SessionError> {
        let store = self.inner.tenants.store(&caller.tenant).await?;
        store.list(&caller.owner, page).await.map_err(store_error)
    }

    /// The row as the store has it now.
    pub async fn get(&self, caller: &Caller, sandbox: SandboxId) -> Result<SandboxRow, SessionError> {
        let store = self.inner.tenants.store(&caller.tenant).await?;
        let row = store.probe(sandbox).await.map_err(store_error)?;
        row.filter(|row| row.owner == caller.owner).ok_or(SessionError::NotFound)
    }

    /// Changes name, uniqueness, environment; makes no version.
    pub async fn patch(
        &self,
        caller: &Caller,
        sandbox: SandboxId,
        patch: Patch,
    ) -> Result<SandboxRow, SessionError> {
        let store = self.inner.tenants.store(&caller.tenant).await?;
        // Not one of the registry: an id that leads nowhere must not stay there.
        let session = Session::new(caller.tenant.clone(), sandbox, store.clone());
        self.inner.void_hint(&session, caller).await?;
        match store.patch(&caller.owner, sandbox, &patch).await.map_err(store_error)? {
            Patched::Done(row) => Ok(*row),
            Patched::NameTaken(holder) => Err(SessionError::NameTaken(holder)),
            Patched::NameMissing => Err(SessionError::Invalid("unique: needs a name".into())),
            Patched::NotFound => Err(SessionError::NotFound),
        }
    }

    /// Deletes. Waits for a running script; with `force` the script is ended and
    /// answers that there is no such sandbox.
    pub async fn delete(&self, caller: &Caller, sandbox: SandboxId, force: bool) -> Result<(), SessionError> {
        self.in_task(caller, "", sandbox, move |inner, of, session| async move {
            let waited = if force {
                None
            } else {
                // First whether it is there: a stranger must not wait for its turn.
                session.row(&of.caller).await?;
                let deadline = Deadline::after(inner.settings.acquire_timeout);
                let turn = of.stop.wait(deadline, session.turn.clone().acquire_owned()).await?;
                let lease = inner.coordination.acquire(&session, &of.stop, deadline).await?;
                let lock = of.stop.wait(deadline, session.lock.clone().write_owned()).await?;
                // Given back in this order.
                Some((lock, lease, turn))
            };
            inner.void_hint(&session, &of.caller).await?;
            let _committing = match &waited {
                Some((_, lease, _)) => lease.enter(|| of.stop.begin_commit())?,
                None => of.stop.begin_commit()?,
            };
            let deleted = match session.store.delete(&of.caller.owner, sandbox).await {
                // Repeating it settles it: afterwards the sandbox is gone, whoever did it.
                Err(StoreError::OutcomeUnknown(_)) => {
                    inner.until_answered(|| session.store.delete(&of.caller.owner, sandbox)).await?;
                    true
                }
                deleted => deleted.map_err(store_error)?,
            };
            if !deleted {
                return Err(SessionError::NotFound);
            }
            // The tombstone stands: a script that runs can commit nothing any more.
            session.forget();
            if let Some(writer) = session.writer() {
                writer.stop(Cause::Deleted);
            }
            if force {
                inner.coordination.end(&session).await;
            }
            drop(waited);
            Ok(())
        })
        .await
    }
}

impl Inner {
    /// The tree of a new sandbox with its first files.
    async fn first_tree(
        &self,
        caller: &Caller,
        files: std::collections::BTreeMap<String, String>,
    ) -> Result<(Tree, ChangeSet), SessionError> {
        let (tree, next_ino) = Tree::first(clock::wall_ns());
        if files.is_empty() {
            let whole = tree.whole(next_ino, Vec::new());
            return Ok((tree, whole));
        }
        let session = Session::new(
            caller.tenant.clone(),
            SandboxId::random(),
            self.tenants.store(&caller.tenant).await?,
        );
        let content = self.content(&session);
        let quota = self.settings.quota;
        let built = tokio::task::spawn_blocking(move || {
            let work =
                WorkingCopy::new(tree.clone(), next_ino, Mode::ReadWrite, quota, content, clock::wall_ns);
            for (path, text) in &files {
                let fail = |errno| match work.fatal() {
                    Some(Fatal::Entries { limit }) => {
                        SessionError::NoSpace { what: "entries", limit, output: Box::default() }
                    }
                    Some(Fatal::Bytes { limit }) => {
                        SessionError::NoSpace { what: "bytes", limit, output: Box::default() }
                    }
                    _ => SessionError::Fs { errno, path: path.clone() },
                };
                let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                if !directory.is_empty() {
                    work.make_dirs(directory).map_err(fail)?;
                }
                work.write(path, text.as_bytes()).map_err(fail)?;
            }
            let changes = work
                .finish()
                .map_err(|errno| SessionError::Internal(format!("a first tree has no end: {errno}")))?;
            let after = tree
                .apply(&changes.delta)
                .map_err(|broken| SessionError::Internal(format!("a first tree does not fit: {broken}")))?;
            let whole = after.whole(changes.next_ino, changes.blobs);
            Ok((after, whole))
        });
        built.await.map_err(|join| SessionError::Internal(format!("a first tree died: {join}")))?
    }
}

/// Network permission as it is stored; `None` for none.
fn network_json(network: &Network) -> Option<String> {
    match network {
        Network::Off | Network::All(false) => None,
        Network::All(true) | Network::Allow { .. } => serde_json::to_string(network).ok(),
    }
}
