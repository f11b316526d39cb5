//! Rows of sandboxes.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use sqlfs::ids::{ExecId, Head, Owner, SandboxId};
use sqlfs::store::{CommitOutcome, Created, NewSandbox, Page, Patch, Patched, SandboxRow};

use super::rig::Rig;
use crate::support::model::{Model, Writer, new_sandbox};

fn owner(name: &str) -> Owner {
    Owner(name.into())
}

async fn create(rig: &Rig, new: &NewSandbox) -> Created {
    rig.store.create(new, &Model::first().whole()).await.expect("created or refused")
}

async fn made(rig: &Rig, new: &NewSandbox) -> SandboxRow {
    match create(rig, new).await {
        Created::Done(row) => *row,
        Created::NameTaken(holder) => panic!("taken by {holder:?}"),
    }
}

pub async fn a_created_sandbox_is_there_as_asked_for(rig: &Rig) {
    let mut new = new_sandbox("alice");
    new.name = Some("build \"ü\"".to_owned());
    let model = Model::first();
    let row = made(rig, &new).await;
    let expected = SandboxRow {
        id: new.id,
        owner: new.owner.clone(),
        name: new.name.clone(),
        unique: false,
        version: 0,
        head: new.head,
        fence: 0,
        history_from: 0,
        next_ino: model.next_ino,
        entries: 4,
        bytes: 0,
        cwd: "/home/user".to_owned(),
        env: new.env.clone(),
        python: true,
        javascript: false,
        network: new.network.clone(),
        created_at_ns: new.created_at_ns,
        last_used_at_ns: new.created_at_ns,
    };
    assert_eq!(row, expected);
    assert_eq!(rig.store.probe(new.id).await.unwrap(), Some(expected.clone()));
    let writer = Writer { id: new.id, head: new.head, version: 0, model, fence: 0, at_ns: 0 };
    writer.is_stored(&*rig.store).await;
    assert_eq!(writer.load(&*rig.store).await.0, expected);
    assert_eq!(rig.store.probe(SandboxId::random()).await.unwrap(), None);
    assert!(rig.store.load(SandboxId::random(), None).await.unwrap().is_none());
    assert_eq!(
        rig.number("SELECT count(*) FROM exec_log WHERE version = 0 AND outcome = 'committed'").await,
        1
    );
}

pub async fn listing_pages_from_newest_to_oldest(rig: &Rig) {
    let mut all = Vec::new();
    for n in 0..7_i64 {
        let mut new = new_sandbox("alice");
        // Three share a moment: the id decides.
        new.created_at_ns = 1_000 + n / 3;
        new.name = Some(if n % 2 == 0 { "even" } else { "odd" }.to_owned());
        all.push(made(rig, &new).await);
    }
    made(rig, &new_sandbox("bob")).await;
    let gone = made(rig, &new_sandbox("alice")).await;
    assert!(rig.store.delete(&owner("alice"), gone.id).await.unwrap());
    all.sort_by_key(|row| std::cmp::Reverse((row.created_at_ns, row.id)));

    let mut page = Page { limit: 3, after: None, name: None };
    let mut listed = Vec::new();
    loop {
        let rows = rig.store.list(&owner("alice"), &page).await.unwrap();
        assert!(rows.len() <= 3);
        let Some(last) = rows.last() else { break };
        page.after = Some((last.created_at_ns, last.id));
        listed.extend(rows);
    }
    assert_eq!(listed, all);
    let even = Page { limit: 100, after: None, name: Some("even".to_owned()) };
    let even = rig.store.list(&owner("alice"), &even).await.unwrap();
    assert_eq!(even, all.into_iter().filter(|row| row.name.as_deref() == Some("even")).collect::<Vec<_>>());
    let nobody =
        rig.store.list(&owner("nobody"), &Page { limit: 100, after: None, name: None }).await.unwrap();
    assert_eq!(nobody, []);
}

pub async fn patch_changes_name_uniqueness_and_environment(rig: &Rig) {
    let alice = owner("alice");
    let row = made(rig, &new_sandbox("alice")).await;
    let patch = async |patch: Patch| rig.store.patch(&alice, row.id, &patch).await.unwrap();
    let done = |patched: Patched| match patched {
        Patched::Done(row) => *row,
        other => panic!("{other:?}"),
    };

    assert_eq!(patch(Patch { unique: Some(true), ..Patch::default() }).await, Patched::NameMissing);
    let named =
        done(patch(Patch { name: Some(Some("x".into())), unique: Some(true), ..Patch::default() }).await);
    assert_eq!(
        (named.name.as_deref(), named.unique, named.version, named.head),
        (Some("x"), true, 0, row.head)
    );
    let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
    let with_env = done(patch(Patch { env: Some(env.clone()), ..Patch::default() }).await);
    assert_eq!((with_env.name.as_deref(), with_env.unique, &with_env.env), (Some("x"), true, &env));
    assert_eq!(rig.store.probe(row.id).await.unwrap(), Some(with_env.clone()));
    let same =
        done(patch(Patch { name: Some(Some("x".into())), unique: Some(true), ..Patch::default() }).await);
    assert_eq!(same, with_env, "taking one's own name again changes nothing");
    let both = patch(Patch { name: Some(None), unique: Some(true), ..Patch::default() }).await;
    assert_eq!(both, Patched::NameMissing);
    let freed = done(patch(Patch { name: Some(None), ..Patch::default() }).await);
    assert_eq!((freed.name, freed.unique), (None, false));

    let mut holder = new_sandbox("alice");
    (holder.name, holder.unique) = (Some("y".into()), true);
    let holder = made(rig, &holder).await;
    let taken = patch(Patch { name: Some(Some("y".into())), unique: Some(true), ..Patch::default() }).await;
    assert_eq!(taken, Patched::NameTaken(Box::new(holder)));
    let label = done(patch(Patch { name: Some(Some("y".into())), ..Patch::default() }).await);
    assert_eq!((label.name.as_deref(), label.unique), (Some("y"), false), "as a label it is free to all");
    let taken = patch(Patch { unique: Some(true), ..Patch::default() }).await;
    assert!(matches!(taken, Patched::NameTaken(_)), "{taken:?}");

    let foreign = rig.store.patch(&owner("bob"), row.id, &Patch { env: Some(env), ..Patch::default() }).await;
    assert_eq!(foreign.unwrap(), Patched::NotFound);
    let unknown = rig.store.patch(&alice, SandboxId::random(), &Patch::default()).await.unwrap();
    assert_eq!(unknown, Patched::NotFound);
}

pub async fn a_unique_name_has_one_holder_in_a_race(rig: &Rig) {
    for round in 0..10 {
        let mut tasks = Vec::new();
        for n in 0..8 {
            let store = Arc::clone(&rig.store);
            let mut new = new_sandbox("alice");
            let name = format!("job-{round}");
            let patched = n % 2 == 0;
            (new.name, new.unique) = (Some(name.clone()), !patched);
            tasks.push(tokio::spawn(async move {
                let created = store.create(&new, &Model::first().whole()).await.unwrap();
                match created {
                    Created::Done(row) if patched => {
                        let hold = Patch { unique: Some(true), ..Patch::default() };
                        match store.patch(&new.owner, row.id, &hold).await.unwrap() {
                            Patched::Done(row) => Ok(row.id),
                            Patched::NameTaken(holder) => Err(holder.id),
                            other => panic!("{other:?}"),
                        }
                    }
                    Created::Done(row) => Ok(row.id),
                    Created::NameTaken(holder) => Err(holder.id),
                }
            }));
        }
        let mut winners = Vec::new();
        let mut holders = HashSet::new();
        for task in tasks {
            match task.await.unwrap() {
                Ok(id) => winners.push(id),
                Err(holder) => drop(holders.insert(holder)),
            }
        }
        assert_eq!(winners.len(), 1, "round {round}");
        assert_eq!(holders, HashSet::from([winners[0]]), "the losers were told who won");
    }
    assert_eq!(rig.number("SELECT count(*) FROM sandboxes WHERE is_unique").await, 10);
}

pub async fn a_unique_name_is_free_after_deletion_and_release(rig: &Rig) {
    let unique = |owner: &str| {
        let mut new = new_sandbox(owner);
        (new.name, new.unique) = (Some("lock".into()), true);
        new
    };
    let first = made(rig, &unique("alice")).await;
    assert_eq!(create(rig, &unique("alice")).await, Created::NameTaken(Box::new(first.clone())));
    assert_eq!(rig.number("SELECT count(*) FROM sandboxes").await, 1, "a refused creation leaves nothing");
    assert_eq!(rig.number("SELECT count(*) FROM inodes").await, 4, "a refused creation leaves nothing");
    made(rig, &unique("bob")).await;
    assert!(rig.store.delete(&first.owner, first.id).await.unwrap());
    let second = made(rig, &unique("alice")).await;
    let release = Patch { name: Some(None), ..Patch::default() };
    rig.store.patch(&second.owner, second.id, &release).await.unwrap();
    made(rig, &unique("alice")).await;
}

pub async fn deletion_is_final_and_the_owners_alone(rig: &Rig) {
    let writer = Writer::create(&*rig.store, "alice", Model::first()).await;
    assert!(!rig.store.delete(&owner("bob"), writer.id).await.unwrap());
    assert!(rig.store.probe(writer.id).await.unwrap().is_some());
    assert!(rig.store.delete(&owner("alice"), writer.id).await.unwrap());
    assert!(!rig.store.delete(&owner("alice"), writer.id).await.unwrap());
    assert!(rig.store.probe(writer.id).await.unwrap().is_none());
    assert!(rig.store.load(writer.id, Some((0, writer.head))).await.unwrap().is_none());
    assert!(!rig.store.keep_cwd(writer.id, writer.head, "/tmp").await.unwrap());
    let mut again = new_sandbox("alice");
    again.id = writer.id;
    rig.store.create(&again, &Model::first().whole()).await.expect_err("an id is never used again");
    assert_eq!(rig.number("SELECT count(*) FROM sandboxes WHERE state = 'deleted'").await, 1);
}

pub async fn the_working_directory_is_kept_beside_the_version(rig: &Rig) {
    let mut writer = Writer::create(&*rig.store, "alice", Model::first()).await;
    assert!(rig.store.keep_cwd(writer.id, writer.head, "/tmp").await.unwrap());
    let row = rig.store.probe(writer.id).await.unwrap().unwrap();
    assert_eq!((row.cwd.as_str(), row.version, row.head), ("/tmp", 0, writer.head));
    assert!(!rig.store.keep_cwd(writer.id, Head::random(), "/home").await.unwrap());
    assert_eq!(rig.store.probe(writer.id).await.unwrap().unwrap().cwd, "/tmp");
    let mut next = writer.model.clone();
    next.mkdir(4, "d");
    writer.done(&*rig.store, next).await;
    assert_eq!(
        rig.store.probe(writer.id).await.unwrap().unwrap().cwd,
        "/tmp",
        "a commit without one leaves it"
    );
    let changes = sqlfs::fs::ChangeSet {
        next_ino: writer.model.next_ino,
        entries: writer.model.inodes.len() as u64,
        ..Default::default()
    };
    let new_head = Head::random();
    let commit = sqlfs::store::Commit {
        sandbox: writer.id,
        seen: writer.head,
        new_head,
        fence: 1,
        cwd: Some("/tmp/d"),
        changes: &changes,
        exec: ExecId::random(),
        request_id: "r",
        actor: "alice",
        started_at_ns: 1,
        duration_ms: 1,
        script_sha256: None,
        keep: None,
    };
    assert_eq!(rig.store.commit(&commit).await.unwrap(), CommitOutcome::Done { version: 2 });
    let row = rig.store.probe(writer.id).await.unwrap().unwrap();
    assert_eq!((row.cwd.as_str(), row.head), ("/tmp/d", new_head));
}

pub async fn touch_moves_time_forward_only(rig: &Rig) {
    let a = made(rig, &new_sandbox("alice")).await;
    let b = made(rig, &new_sandbox("bob")).await;
    let later = a.last_used_at_ns + 5;
    rig.store.touch(&[(b.id, b.last_used_at_ns - 5), (SandboxId::random(), 1), (a.id, later)]).await.unwrap();
    assert_eq!(rig.store.probe(a.id).await.unwrap().unwrap().last_used_at_ns, later);
    assert_eq!(rig.store.probe(b.id).await.unwrap().unwrap().last_used_at_ns, b.last_used_at_ns);
    rig.store.touch(&[]).await.unwrap();
}
