//! Two services with a lease store between them, and version hints: what one changes, the
//! other sees, and an exec whose tree is warm asks the store nothing before its commit.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlfs::ids::SandboxId;
use sqlfs::lease::driver::Leases;
use sqlfs::lease::keys::LeaseKey;
use sqlfs::lease::memory::Memory;
use sqlfs::lease::protocol::Config;
use sqlfs::lease::store::LeaseStore;
use sqlfs::lease::verbs::{Answer, CallError, Hint, Incarnation, Mode, Notice, Terms, Verb};
use sqlfs::session::{Coordination, LiveEvent, Patch, SessionError, VersionCheck, WhenDown};
use sqlfs::store::Store;
use tokio::sync::{mpsc, watch};

use super::{Rig, read, script};
use crate::support::gated_store::Point;
use crate::support::{TestStore, on_each_store};

on_each_store!(
    what_one_changes_the_other_sees,
    a_kept_directory_is_seen,
    a_patch_is_seen_also_when_it_meets_a_running_script,
    a_deletion_is_seen,
    a_forced_deletion_ends_the_script_of_the_other,
    a_commit_after_the_lease_was_lost_leaves_no_old_hint,
    who_waited_for_the_other_starts_on_what_it_left,
    statements_with_hints,
);

/// The store in the process, that tells how many releases it has carried out.
struct Watched {
    store: Memory,
    releases: watch::Sender<usize>,
}

#[async_trait]
impl LeaseStore for Watched {
    async fn call(&self, verb: &Verb<LeaseKey>) -> Result<Answer, CallError> {
        let answer = self.store.call(verb).await;
        if let Verb::Release { .. } = verb {
            self.releases.send_modify(|count| *count += 1);
        }
        answer
    }

    async fn listen(&self, me: Incarnation, heard: &(dyn Fn(Notice<LeaseKey>) + Send + Sync)) {
        self.store.listen(me, heard).await;
    }
}

struct Pair {
    a: Rig,
    b: Rig,
    leases: Arc<Watched>,
}

impl Pair {
    async fn on(store: &TestStore) -> Self {
        Self::with(&store.open().await, VersionCheck::Hint).await
    }

    async fn with(shared: &Arc<dyn Store>, version_check: VersionCheck) -> Self {
        let times =
            Config { mode: Mode::Lease, lease: 60_000, renew: 50, margin: 1000, poll: 30_000, retry: 20 };
        let terms = Terms { lease: times.lease, mark: 120_000 };
        let leases = Arc::new(Watched { store: Memory::new(terms), releases: watch::channel(0).0 });
        let service = || {
            let leases = Leases::start(leases.clone(), times).expect("the lease thread starts");
            let when_down = WhenDown::Refuse;
            Rig::coordinated(shared.clone(), Coordination::Fleet { leases, when_down, version_check })
        };
        let pair = Self { a: service(), b: service(), leases: leases.clone() };
        while leases.store.listeners() < 2 {
            tokio::task::yield_now().await;
        }
        pair
    }

    /// What the lease store says of the newest state.
    async fn hint(&self, id: SandboxId) -> Option<Hint> {
        match self.leases.call(&Verb::Hint(key(id))).await {
            Ok(Answer::Hint(hint)) => hint,
            other => panic!("no hint: {other:?}"),
        }
    }

    /// Runs `work` and waits until the lease that it took is given back.
    async fn released<T>(&self, work: impl Future<Output = T>) -> T {
        let mut releases = self.leases.releases.subscribe();
        let before = *releases.borrow_and_update();
        let done = work.await;
        releases.wait_for(|count| *count > before).await.expect("the store lives");
        done
    }

    /// A sandbox that is warm on both, with a hint.
    async fn warm(&self) -> SandboxId {
        let id = self.a.create().await;
        for rig in [&self.a, &self.b, &self.a, &self.b] {
            self.released(rig.exec(id, script("echo x >> warm"))).await.expect("a write");
        }
        self.released(self.a.exec(id, script("true"))).await.expect("a reply");
        assert!(self.hint(id).await.is_some());
        id
    }

    /// A script on a that has begun.
    async fn begun(
        &self,
        id: SandboxId,
        text: &'static str,
    ) -> tokio::task::JoinHandle<Result<sqlfs::session::ExecReply, SessionError>> {
        let (send, mut events) = mpsc::channel(16);
        let (service, caller) = (self.a.service.clone(), self.a.caller.clone());
        let running =
            tokio::spawn(async move { service.exec(&caller, "t", id, script(text), Some(send)).await });
        while !matches!(events.recv().await, Some(LiveEvent::Output(_))) {}
        tokio::spawn(async move { while events.recv().await.is_some() {} });
        running
    }
}

fn key(id: SandboxId) -> LeaseKey {
    LeaseKey { tenant: sqlfs::ids::TenantId("default".into()), sandbox: id }
}

async fn what_one_changes_the_other_sees(store: TestStore) {
    let pair = Pair::on(&store).await;
    let id = pair.warm().await;
    for n in 0..30 {
        let (writer, reader) = if n % 2 == 0 { (&pair.a, &pair.b) } else { (&pair.b, &pair.a) };
        let write = writer.exec(id, script(&format!("echo {n} > f")));
        // With the lease given back, or at once.
        if n % 3 == 0 { pair.released(write).await } else { write.await }.expect("a write");
        let asked = if n % 5 < 2 { script("cat f") } else { read("cat f", n % 5 == 4) };
        assert_eq!(reader.out(id, asked).await, format!("{n}\n"), "{n}");
    }
}

async fn a_kept_directory_is_seen(store: TestStore) {
    let pair = Pair::on(&store).await;
    let id = pair.warm().await;
    pair.released(pair.b.exec(id, script("cd /tmp"))).await.expect("a reply");
    // The one that moved gives a hint of the same head.
    pair.released(pair.b.exec(id, script("true"))).await.expect("a reply");
    assert!(pair.hint(id).await.is_some());
    assert_eq!(pair.a.out(id, read("pwd", false)).await, "/tmp\n");
    assert_eq!(pair.a.out(id, script("pwd")).await, "/tmp\n");
}

async fn a_patch_is_seen_also_when_it_meets_a_running_script(store: TestStore) {
    let pair = Pair::on(&store).await;
    let id = pair.warm().await;
    for round in 0..4 {
        let value = format!("v{round}");
        let env = [("X".to_owned(), value.clone())].into();
        let patch = Patch { env: Some(env), ..Patch::default() };
        if round < 2 {
            pair.b.service.patch(&pair.b.caller, id, patch).await.expect("patched");
        } else {
            // The script has the row from before, and changes nothing.
            let running = pair.begun(id, "echo go; sleep 0.3").await;
            pair.b.service.patch(&pair.b.caller, id, patch).await.expect("patched");
            pair.released(running).await.expect("no panic").expect("a reply");
        }
        let asked = if round % 2 == 0 { script("echo $X") } else { read("echo $X", true) };
        assert_eq!(pair.a.out(id, asked.clone()).await, format!("{value}\n"), "{round}");
        assert_eq!(pair.b.out(id, asked).await, format!("{value}\n"), "{round}");
    }
}

async fn a_deletion_is_seen(store: TestStore) {
    let pair = Pair::on(&store).await;
    for force in [false, true] {
        let id = pair.warm().await;
        pair.b.service.delete(&pair.b.caller, id, force).await.expect("deleted");
        for rig in [&pair.a, &pair.b] {
            assert!(matches!(rig.service.read(&rig.caller, id).await, Err(SessionError::NotFound)));
            assert!(matches!(rig.exec(id, read("ls", false)).await, Err(SessionError::NotFound)));
            assert!(matches!(rig.exec(id, script("ls")).await, Err(SessionError::NotFound)));
        }
    }
}

async fn a_forced_deletion_ends_the_script_of_the_other(store: TestStore) {
    let store = store.open().await;
    for check in [VersionCheck::Store, VersionCheck::Hint] {
        let pair = Pair::with(&store, check).await;
        let id = pair.a.create().await;
        let running = pair.begun(id, "echo go; sleep 60").await;
        pair.b.service.delete(&pair.b.caller, id, true).await.expect("deleted");
        let ended = tokio::time::timeout(Duration::from_secs(1), running).await.expect("it is ended at once");
        assert!(matches!(ended.expect("no panic"), Err(SessionError::NotFound)), "{check:?}");
    }
}

async fn a_commit_after_the_lease_was_lost_leaves_no_old_hint(store: TestStore) {
    let pair = Pair::on(&store).await;
    let id = pair.warm().await;
    let mut held = pair.a.gates.hold(Point::BeforeCommit);
    let late = pair.a.spawn(id, script("echo late > f"));
    held.reached().await;
    // Its lease goes, and it learns that at its next renewal: it then gives it back.
    pair.released(pair.leases.call(&Verb::End(key(id)))).await.expect("an answer");
    // Another sees the state before the commit, and says so.
    assert_eq!(pair.released(pair.b.out(id, script("cat f 2>/dev/null || echo none"))).await, "none\n");
    assert!(pair.hint(id).await.is_some());
    held.release();
    assert!(late.await.unwrap().expect("nobody committed meanwhile").committed);
    assert_eq!(pair.hint(id).await, None);
    assert_eq!(pair.b.out(id, read("cat f", true)).await, "late\n");
    assert_eq!(pair.b.out(id, script("cat f")).await, "late\n");
}

async fn who_waited_for_the_other_starts_on_what_it_left(store: TestStore) {
    let store = store.open().await;
    for check in [VersionCheck::Store, VersionCheck::Hint] {
        let pair = Pair::with(&store, check).await;
        let id = pair.a.create().await;
        pair.a.exec(id, script("echo 1 > f")).await.expect("a write");
        assert_eq!(pair.b.out(id, script("cat f")).await, "1\n", "warm");
        let mut held = pair.b.gates.hold(Point::BeforeCommit);
        let first = pair.b.spawn(id, script("echo 2 >> f"));
        held.reached().await;
        // Output that was seen forbids a second run: it must start on the right tree.
        let (send, mut events) = mpsc::channel(16);
        let (service, caller) = (pair.a.service.clone(), pair.a.caller.clone());
        let second = tokio::spawn(async move {
            service.exec(&caller, "t", id, script("cat f; echo 3 >> f"), Some(send)).await
        });
        assert!(tokio::time::timeout(Duration::from_millis(100), events.recv()).await.is_err(), "it waits");
        held.release();
        first.await.unwrap().expect("the first");
        assert!(second.await.unwrap().expect("the second, run once").committed, "{check:?}");
        assert_eq!(pair.b.out(id, read("cat f", false)).await, "1\n2\n3\n");
    }
}

async fn statements_with_hints(store: TestStore) {
    if store.name() == "sqlite" {
        // The number is a promise about Postgres round trips; SQLite has none.
        return;
    }
    let expected = [
        // An exec that changes nothing, a write, a kept directory, a read.
        (VersionCheck::Store, [1, 2, 2, 1]),
        (VersionCheck::Hint, [0, 1, 1, 0]),
    ];
    let store = store.open().await;
    for (check, statements) in expected {
        let pair = Pair::with(&store, check).await;
        let id = pair.a.create().await;
        pair.released(pair.a.exec(id, script("echo x > f"))).await.expect("a write");
        let counted = async |work| {
            let before = pair.a.gates.statements();
            pair.a.exec(id, work).await.expect("a reply");
            pair.a.gates.statements() - before
        };
        let [nothing, write, moved, reading] = statements;
        assert_eq!(pair.released(counted(script("cat f"))).await, nothing, "{check:?}");
        assert_eq!(pair.released(counted(script("echo y > f"))).await, write, "{check:?}");
        assert_eq!(pair.released(counted(script("cd /tmp"))).await, moved, "{check:?}");
        assert_eq!(counted(read("cat /home/user/f", false)).await, reading, "{check:?}");
        // What another wrote is asked about once: the hint names it, the tree is not here.
        pair.released(pair.b.exec(id, script("echo z > /home/user/f"))).await.expect("a write");
        assert!(pair.released(counted(script("cat /home/user/f"))).await > 1, "{check:?}");
        assert_eq!(pair.released(counted(script("cat /home/user/f"))).await, nothing, "{check:?}");
    }
}
