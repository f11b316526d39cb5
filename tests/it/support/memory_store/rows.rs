//! The tables: what is in them, and a change set written over the rows of one sandbox.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use sqlfs::fs::change_set::{DirentRow, InodeRow};
use sqlfs::fs::{ChangeSet, Delta, Kind, Name};
use sqlfs::ids::{ExecId, Head, Ino, SandboxId, Sha256, Version};
use sqlfs::store::{Kept, Loaded, Revoked, SandboxRow, StoreError, StoreResult};

/// All tables.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    pub sandboxes: BTreeMap<SandboxId, Sandbox>,
    pub blobs: BTreeMap<Sha256, Bytes>,
    /// Wall ns of each.
    pub revoked: BTreeMap<Revoked, i64>,
    /// By sandbox and key, with the wall ns at which it was kept.
    pub kept: BTreeMap<(SandboxId, String), (Kept, i64)>,
}

/// The rows of one sandbox. A deleted one keeps them, as it does until it is purged.
#[derive(Clone, Debug)]
pub struct Sandbox {
    pub row: SandboxRow,
    /// Wall ns of its deletion.
    pub deleted_at_ns: Option<i64>,
    /// By number and the version they began at.
    pub inodes: BTreeMap<(Ino, Version), Versioned<InodeRow>>,
    /// By directory, name, and the version they began at.
    pub names: BTreeMap<(Ino, Name, Version), Versioned<Ino>>,
    pub log: BTreeMap<Version, Logged>,
}

/// A row that is live from the version in its key until this one.
#[derive(Clone, Debug)]
pub struct Versioned<T> {
    pub it: T,
    pub ended: Option<Version>,
}

/// A row of the exec log.
#[derive(Clone, Debug)]
pub struct Logged {
    pub head: Head,
    pub exec: ExecId,
    pub request_id: String,
    pub actor: String,
    pub committed: bool,
    pub started_at_ns: i64,
    pub duration_ms: i64,
    pub script_sha256: Option<Sha256>,
}

fn refuse<T>(why: String) -> StoreResult<T> {
    Err(StoreError::Inconsistent(why))
}

impl Sandbox {
    /// Marks it deleted, with a fresh head.
    pub(super) fn bury(&mut self, now_ns: i64) {
        self.deleted_at_ns = Some(now_ns);
        self.row.head = Head::random();
    }

    fn live_inode(&mut self, ino: Ino) -> Option<&mut Versioned<InodeRow>> {
        let (_, last) = self.inodes.range_mut((ino, Version::MIN)..=(ino, Version::MAX)).next_back()?;
        last.ended.is_none().then_some(last)
    }

    fn live_name(&mut self, dir: Ino, name: &Name) -> Option<&mut Versioned<Ino>> {
        let (from, to) = ((dir, name.clone(), Version::MIN), (dir, name.clone(), Version::MAX));
        let (_, last) = self.names.range_mut(from..=to).next_back()?;
        last.ended.is_none().then_some(last)
    }

    /// What the constraints of the tables refuse; then nothing was written.
    pub(super) fn check(&mut self, changes: &ChangeSet, blobs: &BTreeMap<Sha256, Bytes>) -> StoreResult<()> {
        let delta = &changes.delta;
        let ended: BTreeSet<Ino> = delta.ended_inodes.iter().copied().collect();
        let live = ended.iter().filter(|ino| self.live_inode(**ino).is_some()).count();
        if live != delta.ended_inodes.len() {
            return refuse("an inode to end is not live".into());
        }
        let ended_names: BTreeSet<_> = delta.ended_dirents.iter().cloned().collect();
        let live = ended_names.iter().filter(|(dir, name)| self.live_name(*dir, name).is_some()).count();
        if live != delta.ended_dirents.len() {
            return refuse("a name to end is not live".into());
        }
        let mut begun = BTreeSet::new();
        for row in &delta.inodes {
            let there = self.live_inode(row.ino).is_some() && !ended.contains(&row.ino);
            if there || !begun.insert(row.ino) {
                return refuse(format!("inode {} is there already", row.ino));
            }
            let has_content = row.kind == Kind::File && row.size > 0;
            let is_link = row.kind == Kind::Symlink;
            if row.nlink == 0
                || row.sha256.is_some() != has_content
                || row.symlink_target.is_some() != is_link
                || row.mode > 0o7777
            {
                return refuse(format!("no row can be like {row:?}"));
            }
            let carried = |hash| changes.blobs.iter().any(|blob| blob.sha256 == hash && blob.data.is_some());
            if let Some(hash) = row.sha256.filter(|hash| !blobs.contains_key(hash) && !carried(*hash)) {
                return refuse(format!("content {hash} is not there"));
            }
        }
        let mut begun = BTreeSet::new();
        for row in &delta.dirents {
            let place = (row.parent, row.name.clone());
            let there = self.live_name(row.parent, &row.name).is_some() && !ended_names.contains(&place);
            if there || !begun.insert(place) {
                return refuse(format!("the name {:?} is there already", row.name));
            }
        }
        Ok(())
    }

    /// Writes what `check` has found good, as `version`.
    pub(super) fn write(&mut self, version: Version, changes: &ChangeSet) {
        let delta = &changes.delta;
        for ino in &delta.ended_inodes {
            if let Some(row) = self.live_inode(*ino) {
                row.ended = Some(version);
            }
        }
        for (dir, name) in &delta.ended_dirents {
            if let Some(row) = self.live_name(*dir, name) {
                row.ended = Some(version);
            }
        }
        for row in &delta.inodes {
            self.inodes.insert((row.ino, version), Versioned { it: row.clone(), ended: None });
        }
        for row in &delta.dirents {
            let key = (row.parent, row.name.clone(), version);
            self.names.insert(key, Versioned { it: row.ino, ended: None });
        }
    }

    /// See [`sqlfs::store::Store::load`].
    pub(super) fn load(&self, since: Option<(Version, Head)>) -> Loaded {
        let told = since.filter(|(version, head)| {
            (self.row.history_from..=self.row.version).contains(version)
                && self.log.get(version).is_some_and(|logged| logged.head == *head)
        });
        let began = |from: Version| told.is_none_or(|(since, _)| from > since);
        let ended = |from: Version, to: Option<Version>| {
            told.is_some_and(|(since, _)| from <= since && to.is_some_and(|to| to > since))
        };
        let mut delta = Delta::default();
        for ((ino, from), row) in &self.inodes {
            if row.ended.is_none() && began(*from) {
                delta.inodes.push(row.it.clone());
            } else if ended(*from, row.ended) {
                delta.ended_inodes.push(*ino);
            }
        }
        for ((parent, name, from), row) in &self.names {
            if row.ended.is_none() && began(*from) {
                delta.dirents.push(DirentRow { parent: *parent, name: name.clone(), ino: row.it });
            } else if ended(*from, row.ended) {
                delta.ended_dirents.push((*parent, name.clone()));
            }
        }
        if told.is_some() {
            Loaded::Delta(delta)
        } else {
            Loaded::Full { inodes: delta.inodes, dirents: delta.dirents }
        }
    }
}
