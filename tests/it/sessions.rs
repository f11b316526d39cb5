//! The session layer on a real store and the real interpreter, at moments that HTTP
//! cannot choose: what is in flight when, and what a lost race or a dropped caller
//! leaves behind.

mod eviction;
mod hints;
mod snapshots;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use sqlfs::exec::bash::BashInterpreter;
use sqlfs::fs::ContentCache;
use sqlfs::ids::{Caller, Owner, SandboxId, TenantId};
use sqlfs::lease::InProcess;
use sqlfs::session::{
    BatchRequest, BatchResult, Coordination, Create, ExecMode, ExecReply, ExecRequest, Expect, LiveEvent,
    Service, SessionError, Settings,
};
use sqlfs::store::Store;

use crate::support::gated_store::{GatedStore, Point};
use crate::support::{TestStore, on_each_store};
use eviction::{a_tree_survives_eviction, the_memory_budget_takes_what_was_not_used_for_longest};
use snapshots::a_snapshot_that_differs_from_its_row_is_not_used;

on_each_store!(
    a_second_service_sees_acknowledged_writes_at_once,
    two_services_count_exactly,
    a_lost_race_is_run_again_once,
    a_live_exec_that_was_seen_is_not_run_again,
    if_version_is_checked_again_after_a_lost_race,
    a_read_never_joins_a_probe_in_flight,
    readers_wait_for_a_writer_and_snapshots_do_not,
    a_waiting_exec_starts_on_what_the_one_before_left,
    a_dropped_exec_leaves_nothing_and_frees_the_sandbox,
    a_dropped_caller_cannot_undo_a_commit_that_has_begun,
    a_forced_deletion_ends_the_script,
    a_deletion_waits_for_the_script,
    shutdown_ends_what_waits_and_lets_run_what_runs,
    a_batch_is_one_transaction_if_atomic,
    a_tree_survives_eviction,
    the_memory_budget_takes_what_was_not_used_for_longest,
    statements_per_exec,
    a_snapshot_that_differs_from_its_row_is_not_used,
);

/// A service over `store` that can be gated, and its owner.
struct Rig {
    service: Service,
    gates: Arc<GatedStore>,
    caller: Caller,
}

impl Rig {
    async fn on(store: &TestStore) -> Self {
        Self::over(store.open().await)
    }

    fn over(store: Arc<dyn Store>) -> Self {
        Self::coordinated(store, Coordination::Alone(InProcess::default()))
    }

    fn coordinated(store: Arc<dyn Store>, coordination: Coordination) -> Self {
        let gates = GatedStore::new(store);
        let settings = Settings {
            acquire_timeout: Duration::from_secs(20),
            drain: Duration::from_secs(5),
            ..Settings::default()
        };
        let stores: HashMap<TenantId, Arc<dyn Store>> =
            HashMap::from([(TenantId("default".into()), gates.clone() as Arc<dyn Store>)]);
        let interpreter = Arc::new(BashInterpreter::new(settings.max_execs));
        let cache = Arc::new(ContentCache::new(64 << 20));
        let service = Service::coordinated(settings, stores.into(), interpreter, cache, coordination);
        let caller = Caller { tenant: TenantId("default".into()), owner: Owner("tester".into()) };
        Self { service, gates, caller }
    }

    async fn create(&self) -> SandboxId {
        self.service.create(&self.caller, "t", Create::default()).await.expect("a sandbox").id
    }

    async fn exec(&self, id: SandboxId, request: ExecRequest) -> Result<ExecReply, SessionError> {
        self.service.exec(&self.caller, "t", id, request, None).await
    }

    async fn out(&self, id: SandboxId, request: ExecRequest) -> String {
        let reply = self.exec(id, request).await.expect("a reply");
        assert_eq!(reply.exit_code, 0, "{}", String::from_utf8_lossy(&reply.output.stderr));
        String::from_utf8(reply.output.stdout).expect("text")
    }

    /// Starts an exec that goes on by itself.
    fn spawn(
        &self,
        id: SandboxId,
        request: ExecRequest,
    ) -> tokio::task::JoinHandle<Result<ExecReply, SessionError>> {
        let (service, caller) = (self.service.clone(), self.caller.clone());
        tokio::spawn(async move { service.exec(&caller, "t", id, request, None).await })
    }
}

fn script(script: &str) -> ExecRequest {
    ExecRequest {
        script: script.into(),
        cwd: None,
        env: BTreeMap::new(),
        stdin: None,
        args: Vec::new(),
        timeout: Duration::from_secs(30),
        mode: ExecMode::Write,
        rollback_on_error: false,
        dry_run: false,
        expect: None,
        debug: false,
        key: None,
    }
}

fn read(text: &str, snapshot: bool) -> ExecRequest {
    ExecRequest { mode: ExecMode::Read { snapshot }, ..script(text) }
}

async fn a_second_service_sees_acknowledged_writes_at_once(store: TestStore) {
    let shared = store.open().await;
    let (one, two) = (Rig::over(shared.clone()), Rig::over(shared));
    let id = one.create().await;
    for n in 0..20 {
        let (writer, reader) = if n % 2 == 0 { (&one, &two) } else { (&two, &one) };
        writer
            .exec(id, script(&format!("echo {n} > f; mkdir -p d{n}; echo x > d{n}/g")))
            .await
            .expect("a write");
        assert_eq!(
            reader.out(id, read("cat f; ls -d d* | wc -l", n % 3 == 0)).await,
            format!("{n}\n{}\n", n + 1)
        );
    }
}

async fn two_services_count_exactly(store: TestStore) {
    let shared = store.open().await;
    let rigs = [Rig::over(shared.clone()), Rig::over(shared)];
    let id = rigs[0].create().await;
    rigs[0].exec(id, script("echo 0 > n")).await.expect("a write");
    let mut tasks = Vec::new();
    for rig in &rigs {
        for _ in 0..10 {
            tasks.push(rig.spawn(id, script("n=$(cat n); echo $((n+1)) > n")));
        }
    }
    let mut applied = 0;
    for task in tasks {
        match task.await.expect("no panic") {
            Ok(reply) => {
                assert!(reply.committed);
                applied += 1;
            }
            // Without a lease between them, a writer can lose twice: then it says so.
            Err(SessionError::Conflict) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert!(applied >= 10, "only {applied} of 20 came through");
    assert_eq!(rigs[1].out(id, read("cat n", false)).await, format!("{applied}\n"));
}

async fn a_lost_race_is_run_again_once(store: TestStore) {
    let shared = store.open().await;
    let (slow, fast) = (Rig::over(shared.clone()), Rig::over(shared));
    let id = slow.create().await;
    slow.exec(id, script("echo 1 > n")).await.expect("a write");

    let mut held = slow.gates.hold(Point::BeforeCommit);
    let first = slow.spawn(id, script("n=$(cat n); echo $((n*10)) > n; echo saw $n"));
    held.reached().await;
    fast.exec(id, script("echo 2 > n")).await.expect("the faster write");
    held.release();
    let reply = first.await.unwrap().expect("it is run again");
    assert_eq!(reply.output.stdout, b"saw 2\n", "the output is the second run's alone");
    assert_eq!(fast.out(id, read("cat n", false)).await, "20\n");

    let mut held = slow.gates.hold(Point::BeforeCommit);
    let lost = slow.spawn(id, script("echo lost >> n"));
    held.reached().await;
    let mut again = slow.gates.hold(Point::BeforeCommit);
    fast.exec(id, script("echo 3 > n")).await.expect("the faster write");
    held.release();
    again.reached().await;
    fast.exec(id, script("echo 4 > n")).await.expect("the faster write");
    again.release();
    assert!(matches!(lost.await.unwrap(), Err(SessionError::Conflict)));
    assert_eq!(slow.out(id, read("cat n", false)).await, "4\n");
}

async fn a_live_exec_that_was_seen_is_not_run_again(store: TestStore) {
    let shared = store.open().await;
    let (slow, fast) = (Rig::over(shared.clone()), Rig::over(shared));
    let id = slow.create().await;
    let mut held = slow.gates.hold(Point::BeforeCommit);
    let (send, mut events) = tokio::sync::mpsc::channel(16);
    let (service, caller) = (slow.service.clone(), slow.caller.clone());
    let live = tokio::spawn(async move {
        service.exec(&caller, "t", id, script("echo once; echo lost > n"), Some(send)).await
    });
    held.reached().await;
    fast.exec(id, script("echo 1 > n")).await.expect("the faster write");
    held.release();
    assert!(matches!(live.await.unwrap(), Err(SessionError::Conflict)));
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        match event {
            LiveEvent::Started => seen.push(b"started".to_vec()),
            LiveEvent::Output(chunk) => seen.push(chunk.data.to_vec()),
        }
    }
    assert_eq!(seen, [b"started".to_vec(), b"once\n".to_vec()]);
    assert_eq!(fast.out(id, read("cat n", false)).await, "1\n");
}

async fn if_version_is_checked_again_after_a_lost_race(store: TestStore) {
    let shared = store.open().await;
    let (slow, fast) = (Rig::over(shared.clone()), Rig::over(shared));
    let id = slow.create().await;
    let mut held = slow.gates.hold(Point::BeforeCommit);
    let late = slow.spawn(id, ExecRequest { expect: Some(Expect::Version(0)), ..script("echo late > n") });
    held.reached().await;
    let won = fast.exec(id, script("echo 1 > n")).await.expect("the faster write");
    held.release();
    match late.await.unwrap() {
        Err(SessionError::VersionMismatch { version, head }) => {
            assert_eq!((version, head), (won.version, won.head));
        }
        other => panic!("{other:?}"),
    }
}

async fn a_read_never_joins_a_probe_in_flight(store: TestStore) {
    let shared = store.open().await;
    let (reader, writer) = (Rig::over(shared.clone()), Rig::over(shared));
    let id = reader.create().await;
    writer.exec(id, script("echo old > f")).await.expect("a write");
    // Warm: else a load after the probe would find the newest state whatever the probe says.
    assert_eq!(reader.out(id, read("cat f", true)).await, "old\n");
    // This probe has read the old head and is held on its way back.
    let mut held = reader.gates.hold(Point::AfterProbe);
    let early = reader.spawn(id, read("cat f", true));
    held.reached().await;
    writer.exec(id, script("echo new > f")).await.expect("a write");
    // This one arrives after the write was acknowledged.
    let late = reader.spawn(id, read("cat f", true));
    // One thread runs all tasks: after a few rounds it waits for a probe, which one is the
    // question.
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    held.release();
    let early = early.await.unwrap().expect("a reply");
    assert!([&b"old\n"[..], b"new\n"].contains(&&early.output.stdout[..]), "either was true while it waited");
    assert_eq!(late.await.unwrap().expect("a reply").output.stdout, b"new\n");
}

async fn readers_wait_for_a_writer_and_snapshots_do_not(store: TestStore) {
    let rig = Rig::on(&store).await;
    let id = rig.create().await;
    rig.exec(id, script("echo old > f")).await.expect("a write");
    let mut held = rig.gates.hold(Point::BeforeCommit);
    let writer = rig.spawn(id, script("echo new > f"));
    held.reached().await;
    assert_eq!(rig.out(id, read("cat f", true)).await, "old\n");
    let view = rig.service.read(&rig.caller, id).await.expect("a view");
    assert_eq!(view.version, 1);
    let mut waits = rig.spawn(id, read("cat f", false));
    let early = tokio::time::timeout(Duration::from_millis(100), &mut waits).await;
    assert!(early.is_err(), "a read that is no snapshot waits for the running writer");
    held.release();
    writer.await.unwrap().expect("the write");
    assert_eq!(waits.await.unwrap().expect("a reply").output.stdout, b"new\n");
}

async fn a_waiting_exec_starts_on_what_the_one_before_left(store: TestStore) {
    let rig = Rig::on(&store).await;
    let id = rig.create().await;
    let mut held = rig.gates.hold(Point::BeforeCommit);
    let first = rig.spawn(id, script("echo 1 >> f"));
    held.reached().await;
    // Its output is seen, so it cannot be run again: it must start on the right tree.
    let (send, mut events) = tokio::sync::mpsc::channel(16);
    let (service, caller) = (rig.service.clone(), rig.caller.clone());
    let second = tokio::spawn(async move {
        service.exec(&caller, "t", id, script("cat f; echo 2 >> f"), Some(send)).await
    });
    let early = tokio::time::timeout(Duration::from_millis(100), events.recv()).await;
    assert!(early.is_err(), "it waits: {early:?}");
    held.release();
    first.await.unwrap().expect("the first");
    assert!(second.await.unwrap().expect("the second, run once").committed);
    assert_eq!(rig.out(id, read("cat f", false)).await, "1\n2\n");
}

async fn a_dropped_exec_leaves_nothing_and_frees_the_sandbox(store: TestStore) {
    let rig = Rig::on(&store).await;
    let id = rig.create().await;
    rig.exec(id, script("echo kept > f")).await.expect("a write");
    for endless in
        ["echo lost > f; sleep 60", "echo lost > f; while :; do :; done", "echo lost > f; cat; sleep 60"]
    {
        let (send, mut events) = tokio::sync::mpsc::channel(16);
        let (service, caller) = (rig.service.clone(), rig.caller.clone());
        let running =
            tokio::spawn(async move { service.exec(&caller, "t", id, script(endless), Some(send)).await });
        assert!(matches!(events.recv().await, Some(LiveEvent::Started)));
        let queued = rig.spawn(id, script("echo queued > f"));
        running.abort();
        queued.abort();
        let _ = (running.await, queued.await);
        let began = tokio::time::Instant::now();
        let text = rig.out(id, script("cat f")).await;
        assert!(["kept\n", "queued\n"].contains(&text.as_str()), "{text}");
        assert!(began.elapsed() < Duration::from_secs(1), "free after {:?}", began.elapsed());
        rig.exec(id, script("echo kept > f")).await.expect("a write");
    }
}

async fn a_dropped_caller_cannot_undo_a_commit_that_has_begun(store: TestStore) {
    let rig = Rig::on(&store).await;
    let id = rig.create().await;
    for (point, kept) in [(Point::BeforeCommit, "1"), (Point::AfterCommit, "2")] {
        let mut held = rig.gates.hold(point);
        let exec = rig.spawn(id, script(&format!("echo {kept} > f")));
        held.reached().await;
        exec.abort();
        let _ = exec.await;
        held.release();
        // The commit had begun, so it is finished; the next exec stands on it.
        assert_eq!(rig.out(id, script("cat f")).await, format!("{kept}\n"));
    }
}

async fn a_forced_deletion_ends_the_script(store: TestStore) {
    let rig = Rig::on(&store).await;
    let id = rig.create().await;
    let (send, mut events) = tokio::sync::mpsc::channel(16);
    let (service, caller) = (rig.service.clone(), rig.caller.clone());
    let running = tokio::spawn(async move {
        service.exec(&caller, "t", id, script("echo x > f; sleep 60"), Some(send)).await
    });
    assert!(matches!(events.recv().await, Some(LiveEvent::Started)));
    rig.service.delete(&rig.caller, id, true).await.expect("deleted");
    assert!(matches!(running.await.unwrap(), Err(SessionError::NotFound)));
    assert!(matches!(rig.exec(id, script("ls")).await, Err(SessionError::NotFound)));
    assert!(matches!(rig.service.read(&rig.caller, id).await, Err(SessionError::NotFound)));
    assert!(matches!(rig.service.delete(&rig.caller, id, true).await, Err(SessionError::NotFound)));
}

async fn a_deletion_waits_for_the_script(store: TestStore) {
    let rig = Rig::on(&store).await;
    let id = rig.create().await;
    let mut held = rig.gates.hold(Point::BeforeCommit);
    let writer = rig.spawn(id, script("echo x > f"));
    held.reached().await;
    let (service, caller) = (rig.service.clone(), rig.caller.clone());
    let mut deletion = tokio::spawn(async move { service.delete(&caller, id, false).await });
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut deletion).await.is_err(), "it waits");
    held.release();
    assert!(writer.await.unwrap().expect("the write").committed);
    deletion.await.unwrap().expect("deleted");
    assert!(matches!(rig.exec(id, script("ls")).await, Err(SessionError::NotFound)));
}

async fn shutdown_ends_what_waits_and_lets_run_what_runs(store: TestStore) {
    let shared = store.open().await;
    let rig = Rig::over(shared);
    let id = rig.create().await;
    let mut held = rig.gates.hold(Point::BeforeCommit);
    let running = rig.spawn(id, script("echo done > f"));
    held.reached().await;
    let waiting = rig.spawn(id, script("echo never > g"));
    tokio::task::yield_now().await;
    let service = rig.service.clone();
    let shutdown = tokio::spawn(async move { service.shutdown().await });
    assert!(matches!(waiting.await.unwrap(), Err(SessionError::ShuttingDown)));
    held.release();
    assert!(running.await.unwrap().expect("it may finish").committed);
    shutdown.await.unwrap();
    assert!(matches!(rig.exec(id, script("ls")).await, Err(SessionError::ShuttingDown)));
}

async fn a_batch_is_one_transaction_if_atomic(store: TestStore) {
    let rig = Rig::on(&store).await;
    let id = rig.create().await;
    let batch = |scripts: &[&str], atomic| BatchRequest {
        scripts: scripts.iter().enumerate().map(|(n, s)| (n.to_string(), (*s).to_owned())).collect(),
        total: Duration::from_secs(30),
        each: Duration::from_secs(10),
        read_only: false,
        atomic,
    };
    let run = async |scripts: &[&str], atomic| {
        rig.service.exec_batch(&rig.caller, "t", id, batch(scripts, atomic)).await.expect("results")
    };
    let results = run(
        &["mkdir d; cd d; echo one > f", "cat f; echo two >> f; ln f ../hard", "cat ../hard; rm f"],
        true,
    )
    .await;
    let outputs: Vec<_> = results
        .iter()
        .map(|item| match &item.result {
            BatchResult::Done(reply) => {
                assert_eq!((reply.version, reply.committed), (1, true));
                String::from_utf8(reply.output.stdout.clone()).unwrap()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(outputs, ["", "one\n", "one\ntwo\n"]);
    assert_eq!(rig.out(id, read("pwd; ls; cat ../hard", false)).await, "/home/user/d\none\ntwo\n");

    let results = run(&["echo gone > g", "exit 3", "echo never"], true).await;
    assert!(matches!(&results[0].result, BatchResult::Done(reply) if !reply.committed));
    assert!(matches!(&results[1].result, BatchResult::Done(reply) if reply.exit_code == 3));
    assert!(matches!(&results[2].result, BatchResult::Skipped));
    assert_eq!(rig.out(id, read("ls; pwd", false)).await, "/home/user/d\n");

    let results = run(&["echo 1 > a", "exit 3", "cat a; cd /tmp", "pwd"], false).await;
    let done: Vec<_> = results
        .iter()
        .map(|item| match &item.result {
            BatchResult::Done(reply) => (reply.exit_code, reply.version, reply.output.stdout.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(done, [(0, 2, vec![]), (3, 2, vec![]), (0, 2, b"1\n".to_vec()), (0, 2, b"/tmp\n".to_vec())]);
}

async fn statements_per_exec(store: TestStore) {
    let rig = Rig::on(&store).await;
    let id = rig.create().await;
    rig.exec(id, script("for i in {1..200}; do echo $i > f$i; done")).await.expect("a write");
    let counted = async |request: ExecRequest| {
        let before = rig.gates.statements();
        rig.exec(id, request).await.expect("a reply");
        rig.gates.statements() - before
    };
    if store.name() == "sqlite" {
        // The number is a promise about Postgres round trips; SQLite has none.
        return;
    }
    assert_eq!(counted(read("cat f1 f2 f3", false)).await, 1, "a warm read: one probe");
    assert_eq!(counted(script("cat f1")).await, 1, "a warm exec that changes nothing: one probe");
    assert_eq!(counted(script("echo x > f1")).await, 2, "a warm write: probe and commit");
    assert_eq!(
        counted(script("for i in {1..200}; do echo y > f$i; done")).await,
        2,
        "whatever the number of files"
    );
    assert_eq!(counted(script("cd /tmp")).await, 2, "a directory that is kept: probe and update");
}
