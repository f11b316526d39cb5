//! The transactions.

use std::collections::BTreeMap;

use sqlfs::fs::ChangeSet;
use sqlfs::ids::{ExecId, Head, Owner, SandboxId, Version};
use sqlfs::store::{
    Commit, CommitOutcome, Created, Keep, Kept, NewSandbox, Page, Patch, Patched, Resolution, Revocation,
    SandboxRow, StoreError, StoreResult, Usage,
};

use super::rows::{Logged, Sandbox, Tables};

impl Tables {
    pub(super) fn live(&self, id: SandboxId) -> Option<&Sandbox> {
        self.sandboxes.get(&id).filter(|it| it.deleted_at_ns.is_none())
    }

    pub(super) fn live_mut(&mut self, id: SandboxId) -> Option<&mut Sandbox> {
        self.sandboxes.get_mut(&id).filter(|it| it.deleted_at_ns.is_none())
    }

    /// The live sandbox of an owner that holds a name alone.
    fn holder(&self, owner: &Owner, name: &str) -> Option<&SandboxRow> {
        let mut rows = self.sandboxes.values().filter(|it| it.deleted_at_ns.is_none()).map(|it| &it.row);
        rows.find(|row| row.owner == *owner && row.unique && row.name.as_deref() == Some(name))
    }

    fn put_contents(&mut self, changes: &ChangeSet) {
        let carried = changes.blobs.iter().filter_map(|blob| Some((blob.sha256, blob.data.clone()?)));
        self.blobs.extend(carried);
    }

    pub(super) fn create(&mut self, new: &NewSandbox, first: &ChangeSet) -> StoreResult<Created> {
        let held = new.name.as_deref().filter(|_| new.unique).and_then(|name| self.holder(&new.owner, name));
        if let Some(holder) = held {
            return Ok(Created::NameTaken(Box::new(holder.clone())));
        }
        if self.sandboxes.contains_key(&new.id) {
            return Err(StoreError::Inconsistent(format!("sandbox {} is or was there", new.id)));
        }
        let row = SandboxRow {
            id: new.id,
            owner: new.owner.clone(),
            name: new.name.clone(),
            unique: new.unique,
            version: 0,
            head: new.head,
            fence: 0,
            history_from: 0,
            next_ino: first.next_ino,
            entries: first.entries,
            bytes: first.bytes,
            cwd: new.cwd.clone(),
            env: new.env.clone(),
            python: new.python,
            javascript: new.javascript,
            network: new.network.clone(),
            created_at_ns: new.created_at_ns,
            last_used_at_ns: new.created_at_ns,
        };
        let logged = Logged {
            head: new.head,
            exec: new.exec,
            request_id: new.request_id.clone(),
            actor: new.owner.0.to_string(),
            committed: true,
            started_at_ns: new.created_at_ns,
            duration_ms: 0,
            script_sha256: None,
        };
        let mut made = empty(row.clone());
        made.log.insert(0, logged);
        made.check(first, &self.blobs)?;
        made.write(0, first);
        self.put_contents(first);
        self.sandboxes.insert(new.id, made);
        Ok(Created::Done(Box::new(row)))
    }

    pub(super) fn commit(&mut self, commit: &Commit<'_>, now_ns: i64) -> StoreResult<CommitOutcome> {
        let used = self.sandboxes.values().flat_map(|it| it.log.values()).any(|it| it.exec == commit.exec);
        let Self { sandboxes, blobs, kept, .. } = self;
        let live = sandboxes.get_mut(&commit.sandbox).filter(|it| it.deleted_at_ns.is_none());
        let Some(it) = live else { return Ok(CommitOutcome::Gone) };
        if it.row.head != commit.seen || it.row.fence > commit.fence {
            return Ok(CommitOutcome::Stale);
        }
        if used {
            return Err(StoreError::Inconsistent(format!("exec {} is in the log", commit.exec)));
        }
        if commit.keep.is_some_and(|keep| kept.contains_key(&(commit.sandbox, keep.key.to_owned()))) {
            return Ok(CommitOutcome::Stale);
        }
        it.check(commit.changes, blobs)?;
        let version = it.row.version + 1;
        it.write(version, commit.changes);
        let row = &mut it.row;
        (row.version, row.head, row.fence) = (version, commit.new_head, commit.fence);
        (row.next_ino, row.entries) = (commit.changes.next_ino, commit.changes.entries);
        row.bytes = commit.changes.bytes;
        row.last_used_at_ns = row.last_used_at_ns.max(now_ns);
        if let Some(cwd) = commit.cwd {
            cwd.clone_into(&mut row.cwd);
        }
        let logged = Logged {
            head: commit.new_head,
            exec: commit.exec,
            request_id: commit.request_id.to_owned(),
            actor: commit.actor.to_owned(),
            committed: true,
            started_at_ns: commit.started_at_ns,
            duration_ms: commit.duration_ms,
            script_sha256: commit.script_sha256,
        };
        it.log.insert(version, logged);
        self.put_contents(commit.changes);
        if let Some(keep) = &commit.keep {
            self.keep(commit.sandbox, keep, version, commit.new_head, now_ns);
        }
        Ok(CommitOutcome::Done { version })
    }

    fn keep(&mut self, id: SandboxId, keep: &Keep<'_>, version: Version, head: Head, now_ns: i64) {
        let kept = Kept { request: keep.request, version, head, reply: keep.reply.to_vec() };
        self.kept.insert((id, keep.key.to_owned()), (kept, now_ns));
    }

    pub(super) fn keep_unchanged(
        &mut self,
        id: SandboxId,
        seen: Head,
        cwd: Option<&str>,
        keep: &Keep<'_>,
        now_ns: i64,
    ) -> bool {
        let taken = self.kept.contains_key(&(id, keep.key.to_owned()));
        let Some(it) = self.live_mut(id).filter(|it| it.row.head == seen && !taken) else { return false };
        if let Some(cwd) = cwd {
            cwd.clone_into(&mut it.row.cwd);
        }
        let version = it.row.version;
        self.keep(id, keep, version, seen, now_ns);
        true
    }

    pub(super) fn forget(&mut self, before_ns: i64, limit: u32) -> u64 {
        let mut old: Vec<_> = self.kept.iter().filter(|(_, (_, at))| *at < before_ns).collect();
        old.sort_by_key(|(_, (_, at))| *at);
        let old: Vec<_> = old.into_iter().take(limit as usize).map(|(key, _)| key.clone()).collect();
        for key in &old {
            self.kept.remove(key);
        }
        old.len() as u64
    }

    /// What the log says of an exec of a sandbox: its version, and its row.
    pub fn logged(&self, id: SandboxId, exec: ExecId) -> Option<(Version, &Logged)> {
        let log = &self.sandboxes.get(&id)?.log;
        log.iter().find(|(_, it)| it.exec == exec).map(|(version, it)| (*version, it))
    }

    pub(super) fn resolve(
        &mut self,
        id: SandboxId,
        exec: ExecId,
        request_id: &str,
        actor: &str,
        now_ns: i64,
    ) -> Resolution {
        let head = Head::random();
        let logged = self.logged(id, exec).map(|(version, it)| (version, it.head, it.committed));
        if let Some((version, head, true)) = logged {
            return Resolution::Applied { version, head };
        }
        let it = self.sandboxes.entry(id).or_insert_with(|| tombstone(id, actor, head, now_ns));
        if it.deleted_at_ns.is_some() {
            return Resolution::Gone;
        }
        if logged.is_none() {
            (it.row.version, it.row.head) = (it.row.version + 1, head);
            let voided = Logged {
                head,
                exec,
                request_id: request_id.to_owned(),
                actor: actor.to_owned(),
                committed: false,
                started_at_ns: now_ns,
                duration_ms: 0,
                script_sha256: None,
            };
            it.log.insert(it.row.version, voided);
        }
        Resolution::NotApplied
    }

    /// What the live sandboxes hold together.
    pub(super) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for row in self.sandboxes.values().filter(|it| it.deleted_at_ns.is_none()).map(|it| &it.row) {
            usage.sandboxes += 1;
            usage.entries += row.entries;
            usage.bytes += row.bytes;
        }
        usage
    }

    pub(super) fn revoke(&mut self, revocation: &Revocation) {
        let at = self.revoked.entry(revocation.what.clone()).or_insert(revocation.at_ns);
        *at = (*at).max(revocation.at_ns);
    }

    /// Of one owner, or of all.
    pub(super) fn list(&self, owner: Option<&Owner>, page: &Page) -> Vec<SandboxRow> {
        let live = self.sandboxes.values().filter(|it| it.deleted_at_ns.is_none()).map(|it| &it.row);
        let wanted = live.filter(|row| {
            owner.is_none_or(|owner| row.owner == *owner)
                && page.after.is_none_or(|after| (row.created_at_ns, row.id) < after)
                && page.name.as_ref().is_none_or(|name| row.name.as_ref() == Some(name))
        });
        let mut rows: Vec<SandboxRow> = wanted.cloned().collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.created_at_ns, row.id)));
        rows.truncate(page.limit as usize);
        rows
    }

    pub(super) fn patch(&mut self, owner: &Owner, id: SandboxId, patch: &Patch) -> Patched {
        let Some(old) = self.live(id).map(|it| &it.row).filter(|row| row.owner == *owner) else {
            return Patched::NotFound;
        };
        let name = patch.name.clone().unwrap_or_else(|| old.name.clone());
        // Letting go of the name lets go of holding it alone.
        let unique = patch.unique.unwrap_or(old.unique && name.is_some());
        if unique {
            let Some(name) = &name else { return Patched::NameMissing };
            if let Some(holder) = self.holder(owner, name).filter(|holder| holder.id != id) {
                return Patched::NameTaken(Box::new(holder.clone()));
            }
        }
        let Some(it) = self.live_mut(id) else { return Patched::NotFound };
        (it.row.name, it.row.unique) = (name, unique);
        if let Some(env) = &patch.env {
            it.row.env = env.clone();
        }
        Patched::Done(Box::new(it.row.clone()))
    }
}

fn empty(row: SandboxRow) -> Sandbox {
    Sandbox {
        row,
        deleted_at_ns: None,
        inodes: BTreeMap::new(),
        names: BTreeMap::new(),
        log: BTreeMap::new(),
    }
}

/// What keeps the place of a sandbox that was never made.
fn tombstone(id: SandboxId, actor: &str, head: Head, now_ns: i64) -> Sandbox {
    let row = SandboxRow {
        id,
        owner: Owner(actor.into()),
        name: None,
        unique: false,
        version: 0,
        head,
        fence: 0,
        history_from: 0,
        next_ino: 2,
        entries: 0,
        bytes: 0,
        cwd: "/".to_owned(),
        env: BTreeMap::new(),
        python: false,
        javascript: false,
        network: None,
        created_at_ns: now_ns,
        last_used_at_ns: now_ns,
    };
    Sandbox { deleted_at_ns: Some(now_ns), ..empty(row) }
}
