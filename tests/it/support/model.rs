//! A file system as plain rows, and change sets as the difference of two of them: enough
//! to drive a store without the file system of the product.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use sqlfs::fs::change_set::{DirentRow, InodeRow};
use sqlfs::fs::{BlobUse, ChangeSet, Delta, Kind, Name};
use sqlfs::ids::{ExecId, Head, Ino, Owner, SandboxId, Sha256, Version};
use sqlfs::store::{
    Commit, CommitOutcome, Created, Keep, Loaded, NewSandbox, SandboxRow, Store, StoreResult,
};

/// Rows of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub inodes: BTreeMap<Ino, InodeRow>,
    pub names: BTreeMap<(Ino, Name), Ino>,
    pub contents: BTreeMap<Sha256, Bytes>,
    pub next_ino: Ino,
}

impl Model {
    /// `/`, `/home`, `/home/user`, `/tmp`: inodes 1 to 4.
    pub fn first() -> Self {
        let mut model =
            Self { inodes: BTreeMap::new(), names: BTreeMap::new(), contents: BTreeMap::new(), next_ino: 2 };
        model.inodes.insert(1, row(1, Kind::Dir));
        let home = model.mkdir(1, "home");
        model.mkdir(home, "user");
        model.mkdir(1, "tmp");
        model
    }

    fn add(&mut self, parent: Ino, name: &str, kind: Kind) -> Ino {
        let ino = self.next_ino;
        self.next_ino += 1;
        self.inodes.insert(ino, row(ino, kind));
        self.names.insert((parent, name.into()), ino);
        self.relink();
        ino
    }

    pub fn mkdir(&mut self, parent: Ino, name: &str) -> Ino {
        self.add(parent, name, Kind::Dir)
    }

    pub fn symlink(&mut self, parent: Ino, name: &str, target: &str) -> Ino {
        let ino = self.add(parent, name, Kind::Symlink);
        self.inodes.get_mut(&ino).expect("just made").symlink_target = Some(target.into());
        ino
    }

    /// Makes or rewrites a file.
    pub fn write(&mut self, parent: Ino, name: &str, data: impl Into<Bytes>) -> Ino {
        let data = data.into();
        let ino = match self.names.get(&(parent, name.into())) {
            Some(ino) => *ino,
            None => self.add(parent, name, Kind::File),
        };
        let inode = self.inodes.get_mut(&ino).expect("a name has an inode");
        inode.size = data.len() as u64;
        inode.mtime_ns += 1;
        inode.sha256 = (!data.is_empty()).then(|| Sha256::of(&data));
        if let Some(hash) = inode.sha256 {
            self.contents.insert(hash, data);
        }
        ino
    }

    /// Many files at once, without the quadratic cost of `write`.
    pub fn write_many(&mut self, parent: Ino, files: impl IntoIterator<Item = (String, Bytes)>) {
        for (name, data) in files {
            let ino = self.next_ino;
            self.next_ino += 1;
            let mut inode = row(ino, Kind::File);
            inode.size = data.len() as u64;
            inode.sha256 = (!data.is_empty()).then(|| Sha256::of(&data));
            if let Some(hash) = inode.sha256 {
                self.contents.insert(hash, data);
            }
            self.inodes.insert(ino, inode);
            self.names.insert((parent, name.as_str().into()), ino);
        }
    }

    pub fn link(&mut self, ino: Ino, parent: Ino, name: &str) {
        self.names.insert((parent, name.into()), ino);
        self.relink();
    }

    pub fn remove(&mut self, parent: Ino, name: &str) {
        let ino = self.names.remove(&(parent, name.into())).expect("the name is there");
        if !self.names.values().any(|other| *other == ino) {
            self.inodes.remove(&ino);
        }
        self.relink();
    }

    pub fn rename(&mut self, from: (Ino, &str), to: (Ino, &str)) {
        let ino = self.names.remove(&(from.0, from.1.into())).expect("the name is there");
        if let Some(old) = self.names.insert((to.0, to.1.into()), ino) {
            self.inodes.remove(&old);
        }
        self.relink();
    }

    fn relink(&mut self) {
        let mut links: BTreeMap<Ino, u32> = BTreeMap::new();
        for ((parent, _), ino) in &self.names {
            *links.entry(*ino).or_default() += 1;
            if self.inodes.get(ino).is_some_and(|inode| inode.kind == Kind::Dir) {
                *links.entry(*parent).or_default() += 1;
            }
        }
        for (ino, inode) in &mut self.inodes {
            let named = links.get(ino).copied().unwrap_or_default();
            // A directory: one name (the root has none), its "." and its subdirectories' "..".
            inode.nlink = if inode.kind == Kind::Dir { named + 1 + u32::from(*ino == 1) } else { named };
        }
    }

    pub fn bytes(&self) -> u64 {
        self.inodes.values().filter(|inode| inode.kind == Kind::File).map(|inode| inode.size).sum()
    }

    /// What makes `self` out of `base`.
    pub fn since(&self, base: &Self) -> ChangeSet {
        let mut delta = Delta::default();
        for (ino, inode) in &self.inodes {
            if base.inodes.get(ino) != Some(inode) {
                delta.inodes.push(inode.clone());
            }
        }
        for (ino, inode) in &base.inodes {
            if self.inodes.get(ino) != Some(inode) {
                delta.ended_inodes.push(*ino);
            }
        }
        for ((parent, name), ino) in &self.names {
            if base.names.get(&(*parent, Arc::clone(name))) != Some(ino) {
                delta.dirents.push(DirentRow { parent: *parent, name: Arc::clone(name), ino: *ino });
            }
        }
        for (place, ino) in &base.names {
            if self.names.get(place) != Some(ino) {
                delta.ended_dirents.push(place.clone());
            }
        }
        let live: BTreeSet<Sha256> = base.inodes.values().filter_map(|inode| inode.sha256).collect();
        let new: BTreeSet<Sha256> = self.inodes.values().filter_map(|inode| inode.sha256).collect();
        let blobs = new.difference(&live).map(|hash| {
            let data = self.contents[hash].clone();
            BlobUse { sha256: *hash, size: data.len() as u64, data: Some(data) }
        });
        ChangeSet {
            blobs: blobs.collect(),
            changed: delta.dirents.len() as u64,
            delta,
            next_ino: self.next_ino,
            entries: self.inodes.len() as u64,
            bytes: self.bytes(),
        }
    }

    /// All of it.
    pub fn whole(&self) -> ChangeSet {
        let nothing =
            Self { inodes: BTreeMap::new(), names: BTreeMap::new(), contents: BTreeMap::new(), next_ino: 0 };
        self.since(&nothing)
    }

    /// The rows of a full load, which must be each there once.
    pub fn of(inodes: &[InodeRow], dirents: &[DirentRow], row: &SandboxRow) -> Self {
        let model = Self {
            inodes: inodes.iter().map(|inode| (inode.ino, inode.clone())).collect(),
            names: dirents.iter().map(|it| ((it.parent, Arc::clone(&it.name)), it.ino)).collect(),
            contents: BTreeMap::new(),
            next_ino: row.next_ino,
        };
        assert_eq!(
            (model.inodes.len(), model.names.len()),
            (inodes.len(), dirents.len()),
            "a row is there twice"
        );
        assert_eq!(
            (row.entries, row.bytes),
            (model.inodes.len() as u64, model.bytes()),
            "the row's counters"
        );
        model
    }

    /// The same rows; contents aside.
    pub fn same_rows(&self, other: &Self) -> bool {
        (&self.inodes, &self.names, self.next_ino) == (&other.inodes, &other.names, other.next_ino)
    }

    /// `self` after a delta, as a warm tree applies it.
    pub fn apply(&self, delta: &Delta, row: &SandboxRow) -> Self {
        let mut after = self.clone();
        for ino in &delta.ended_inodes {
            after.inodes.remove(ino).expect("what ended was there");
        }
        for place in &delta.ended_dirents {
            after.names.remove(place).expect("what ended was there");
        }
        for inode in &delta.inodes {
            assert!(after.inodes.insert(inode.ino, inode.clone()).is_none(), "what began was not there");
        }
        for it in &delta.dirents {
            let old = after.names.insert((it.parent, Arc::clone(&it.name)), it.ino);
            assert!(old.is_none(), "what began was not there");
        }
        after.next_ino = row.next_ino;
        after
    }
}

fn row(ino: Ino, kind: Kind) -> InodeRow {
    InodeRow {
        ino,
        kind,
        mode: if kind == Kind::Dir { 0o755 } else { 0o644 },
        size: 0,
        mtime_ns: 1_700_000_000_123_456_789,
        nlink: if kind == Kind::Dir { 2 } else { 1 },
        sha256: None,
        symlink_target: None,
    }
}

/// A sandbox as a test's writer knows it.
#[derive(Clone, Debug)]
pub struct Writer {
    pub id: SandboxId,
    pub head: Head,
    pub version: Version,
    pub model: Model,
    pub fence: i64,
    /// Wall ns at which the next commit's script started.
    pub at_ns: i64,
}

/// What a new sandbox of `owner` is in these tests.
pub fn new_sandbox(owner: &str) -> NewSandbox {
    NewSandbox {
        id: SandboxId::random(),
        owner: Owner(owner.into()),
        name: None,
        unique: false,
        env: BTreeMap::from([("LANG".to_owned(), "C.UTF-8 \"ä\"".to_owned())]),
        python: true,
        javascript: false,
        network: Some("{\"allow\":[\"https://example.org/\"]}".to_owned()),
        cwd: "/home/user".to_owned(),
        head: Head::random(),
        created_at_ns: sqlfs::clock::wall_ns(),
        request_id: "req-create".to_owned(),
        exec: ExecId::random(),
    }
}

impl Writer {
    /// A new sandbox with this tree.
    pub async fn create(store: &dyn Store, owner: &str, model: Model) -> Self {
        let new = new_sandbox(owner);
        match store.create(&new, &model.whole()).await.expect("created") {
            Created::Done(row) => assert_eq!((row.id, row.head), (new.id, new.head)),
            Created::NameTaken(_) => panic!("no name was asked for"),
        }
        Self { id: new.id, head: new.head, version: 0, model, fence: 1, at_ns: sqlfs::clock::wall_ns() }
    }

    /// Sends the change to `next` and follows it if it was applied.
    pub async fn commit(&mut self, store: &dyn Store, next: Model) -> StoreResult<CommitOutcome> {
        let (outcome, head) = self.send(store, ExecId::random(), &next.since(&self.model)).await?;
        if let CommitOutcome::Done { version } = outcome {
            (self.version, self.head, self.model) = (version, head, next);
        }
        Ok(outcome)
    }

    /// As `commit`, for changes that must be applied.
    pub async fn done(&mut self, store: &dyn Store, next: Model) {
        let before = self.version;
        let outcome = self.commit(store, next).await.expect("committed");
        assert_eq!(outcome, CommitOutcome::Done { version: before + 1 });
    }

    /// Sends a change set as it is; the new head is returned beside the outcome.
    pub async fn send(
        &self,
        store: &dyn Store,
        exec: ExecId,
        changes: &ChangeSet,
    ) -> StoreResult<(CommitOutcome, Head)> {
        self.send_keeping(store, exec, changes, None).await
    }

    /// The same with a reply to keep.
    pub async fn send_keeping(
        &self,
        store: &dyn Store,
        exec: ExecId,
        changes: &ChangeSet,
        keep: Option<Keep<'_>>,
    ) -> StoreResult<(CommitOutcome, Head)> {
        let new_head = Head::random();
        let commit = Commit {
            sandbox: self.id,
            seen: self.head,
            new_head,
            fence: self.fence,
            cwd: None,
            changes,
            exec,
            request_id: "req-1",
            actor: "alice",
            started_at_ns: self.at_ns,
            duration_ms: 3,
            script_sha256: Some(Sha256::of(b"script")),
            keep,
        };
        Ok((store.commit(&commit).await?, new_head))
    }

    /// The whole tree as the store has it.
    pub async fn load(&self, store: &dyn Store) -> (SandboxRow, Model) {
        match store.load(self.id, None).await.expect("loaded").expect("it is there") {
            (row, Loaded::Full { inodes, dirents }) => {
                let model = Model::of(&inodes, &dirents, &row);
                (row, model)
            }
            (_, Loaded::Delta(_)) => panic!("a whole tree was asked for"),
        }
    }

    /// Asserts that the store holds exactly this writer's state.
    pub async fn is_stored(&self, store: &dyn Store) {
        let (row, model) = self.load(store).await;
        assert_eq!((row.version, row.head), (self.version, self.head));
        assert!(self.model.same_rows(&model), "stored {model:?}\nexpected {:?}", self.model);
    }
}

/// Polls a call of the store until it has sent that many statements and waits for an
/// answer, then drops it. `false`: it ended before.
pub async fn leave_in_statement(store: &dyn Store, statements: u64, call: impl Future) -> bool {
    let mut call = Box::pin(call);
    let last = store.statements() + statements;
    std::future::poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(false),
        Poll::Pending if store.statements() >= last => Poll::Ready(true),
        Poll::Pending => Poll::Pending,
    })
    .await
}
