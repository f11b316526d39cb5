//! The store's own calls, for floors: a sandbox, and a commit to it, with nothing around them.

use std::collections::BTreeMap;

use sqlfs::clock;
use sqlfs::fs::ChangeSet;
use sqlfs::ids::{ExecId, Head, Owner, SandboxId};
use sqlfs::store::{Commit, CommitOutcome, Created, NewSandbox, SandboxRow, Store};

/// A sandbox with this first tree.
pub async fn sandbox(store: &dyn Store, first: &ChangeSet) -> SandboxRow {
    let new = NewSandbox {
        id: SandboxId::random(),
        owner: Owner("floor".into()),
        name: None,
        unique: false,
        env: BTreeMap::new(),
        python: false,
        javascript: false,
        network: None,
        cwd: "/home/user".into(),
        head: Head::random(),
        created_at_ns: clock::wall_ns(),
        request_id: "floor".into(),
        exec: ExecId::random(),
    };
    match store.create(&new, first).await.expect("a sandbox") {
        Created::Done(created) => *created,
        Created::NameTaken(_) => unreachable!("it has no name"),
    }
}

/// Commits changes to a sandbox that is as its row says.
pub async fn commit(store: &dyn Store, row: &SandboxRow, changes: &ChangeSet) {
    let outcome = store
        .commit(&Commit {
            sandbox: row.id,
            seen: row.head,
            new_head: Head::random(),
            fence: row.fence,
            cwd: None,
            changes,
            exec: ExecId::random(),
            request_id: "floor",
            actor: "floor",
            started_at_ns: clock::wall_ns(),
            duration_ms: 0,
            script_sha256: None,
            keep: None,
        })
        .await
        .expect("a commit");
    assert!(matches!(outcome, CommitOutcome::Done { .. }));
}
