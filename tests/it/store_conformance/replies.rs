//! Replies that are kept under a key, each in the transaction of its effect.

use sqlfs::ids::{ExecId, Head, SandboxId, Sha256};
use sqlfs::store::{CommitOutcome, Keep, Kept};

use super::rig::Rig;
use crate::support::model::{Model, Writer};

/// The directory of the tests' files.
const USER: u64 = 3;

fn keep<'a>(key: &'a str, reply: &'a [u8]) -> Keep<'a> {
    Keep { key, request: Sha256::of(key.as_bytes()), reply }
}

pub async fn a_reply_is_kept_with_its_commit_or_not_at_all(rig: &Rig) {
    let store = &*rig.store;
    let mut writer = Writer::create(store, "alice", Model::first()).await;
    let other = Writer::create(store, "bob", Model::first()).await;
    assert_eq!(store.kept_reply(writer.id, "k").await.unwrap(), None);
    let reply = b"\0\xff first";
    // Small, and in several statements.
    for (key, files) in [("k", 1), ("large", 5_000)] {
        let mut next = writer.model.clone();
        for n in 0..files {
            next.write(USER, &format!("{key}{n}"), "x");
        }
        let changes = next.since(&writer.model);
        let send = writer.send_keeping(store, ExecId::random(), &changes, Some(keep(key, reply)));
        let (outcome, head) = send.await.unwrap();
        let version = writer.version + 1;
        assert_eq!(outcome, CommitOutcome::Done { version });
        (writer.version, writer.head, writer.model) = (version, head, next);
        let kept = Kept { request: Sha256::of(key.as_bytes()), version, head, reply: reply.to_vec() };
        assert_eq!(store.kept_reply(writer.id, key).await.unwrap(), Some(kept));
        assert_eq!(store.kept_reply(other.id, key).await.unwrap(), None, "another sandbox");

        // The key is taken: a commit on the newest head loses, and leaves nothing.
        let mut more = writer.model.clone();
        for n in 0..files {
            more.write(USER, &format!("again{n}"), "x");
        }
        let changes = more.since(&writer.model);
        let again = writer.send_keeping(store, ExecId::random(), &changes, Some(keep(key, b"second")));
        assert_eq!(again.await.unwrap().0, CommitOutcome::Stale);
        writer.is_stored(store).await;
        assert_eq!(store.kept_reply(writer.id, key).await.unwrap().unwrap().reply, reply);
    }
    // A commit that loses its race keeps no reply.
    let stale = Writer { head: Head::random(), ..writer };
    let mut next = stale.model.clone();
    next.write(USER, "late", "x");
    let changes = next.since(&stale.model);
    let late = stale.send_keeping(store, ExecId::random(), &changes, Some(keep("late", b"")));
    assert_eq!(late.await.unwrap().0, CommitOutcome::Stale);
    assert_eq!(store.kept_reply(stale.id, "late").await.unwrap(), None);
}

pub async fn a_reply_without_a_version_is_kept_with_the_directory(rig: &Rig) {
    let store = &*rig.store;
    let writer = Writer::create(store, "alice", Model::first()).await;
    let cwd = async || store.probe(writer.id).await.unwrap().unwrap().cwd;
    let before = cwd().await;
    assert!(store.keep_reply(writer.id, writer.head, None, &keep("a", b"1")).await.unwrap());
    assert_eq!(cwd().await, before);
    assert!(store.keep_reply(writer.id, writer.head, Some("/tmp"), &keep("b", b"2")).await.unwrap());
    assert_eq!(cwd().await, "/tmp");
    for (id, head, key) in [
        (writer.id, writer.head, "b"),
        (writer.id, Head::random(), "c"),
        (SandboxId::random(), writer.head, "c"),
    ] {
        assert!(!store.keep_reply(id, head, Some("/home"), &keep(key, b"3")).await.unwrap(), "{key}");
    }
    assert_eq!(cwd().await, "/tmp", "a key that is taken keeps no directory");
    for (key, reply) in [("a", Some(&b"1"[..])), ("b", Some(b"2")), ("c", None)] {
        let kept = store.kept_reply(writer.id, key).await.unwrap();
        assert_eq!(kept.as_ref().map(|kept| &*kept.reply), reply);
        assert!(kept.is_none_or(|kept| (kept.version, kept.head) == (0, writer.head)));
    }
    writer.is_stored(store).await;
}

pub async fn old_replies_are_forgotten(rig: &Rig) {
    let store = &*rig.store;
    let writer = Writer::create(store, "alice", Model::first()).await;
    for key in ["a", "b", "c"] {
        assert!(store.keep_reply(writer.id, writer.head, None, &keep(key, b"")).await.unwrap());
    }
    let there = async || {
        let mut there = String::new();
        for key in ["a", "b", "c"] {
            if store.kept_reply(writer.id, key).await.unwrap().is_some() {
                there += key;
            }
        }
        there
    };
    let hour = 3_600_000_000_000;
    assert_eq!(store.forget_replies(sqlfs::clock::wall_ns() - hour, 9).await.unwrap(), 0);
    assert_eq!(there().await, "abc");
    let after = sqlfs::clock::wall_ns() + hour;
    assert_eq!(store.forget_replies(after, 2).await.unwrap(), 2);
    assert_eq!(there().await, "c", "the oldest first");
    assert_eq!(store.forget_replies(after, 2).await.unwrap(), 1);
    assert_eq!(store.forget_replies(after, 2).await.unwrap(), 0);
    assert_eq!(there().await, "");
}
