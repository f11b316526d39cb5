//! What operators ask for.

use std::collections::HashSet;

use sqlfs::ids::Owner;
use sqlfs::store::{Page, Revocation, Revoked, Usage};

use super::rig::Rig;
use crate::support::model::{Model, Writer};

/// The directory of the tests' files.
const USER: u64 = 3;

fn owner(name: &str) -> Owner {
    Owner(name.into())
}

pub async fn all_owners_are_listed_in_pages(rig: &Rig) {
    let mut made = Vec::new();
    for name in ["alice", "bob", "alice", "carol", "bob"] {
        made.push((Writer::create(&*rig.store, name, Model::first()).await.id, name));
    }
    let (gone, by) = made.pop().expect("five");
    assert!(rig.store.delete(&owner(by), gone).await.unwrap());
    let mut page = Page { limit: 3, after: None, name: None };
    let first = rig.store.list_all(None, &page).await.unwrap();
    assert_eq!(first.len(), 3);
    let last = first.last().expect("three");
    page.after = Some((last.created_at_ns, last.id));
    let second = rig.store.list_all(None, &page).await.unwrap();
    let all: Vec<_> = first.iter().chain(&second).collect();
    assert!(all.is_sorted_by_key(|row| std::cmp::Reverse((row.created_at_ns, row.id))));
    let seen: HashSet<_> = all.iter().map(|row| (row.id, &*row.owner.0)).collect();
    assert_eq!(seen, made.iter().copied().collect());
    let page = Page { limit: 9, after: None, name: None };
    let of = rig.store.list_all(Some(&owner("alice")), &page).await.unwrap();
    assert_eq!(of.iter().map(|row| row.id).collect::<HashSet<_>>(), HashSet::from([made[0].0, made[2].0]));
    assert!(rig.store.list_all(Some(&owner("nobody")), &page).await.unwrap().is_empty());
}

pub async fn a_revocation_is_kept_with_its_latest_moment(rig: &Rig) {
    assert_eq!(rig.store.revocations().await.unwrap(), []);
    let of = |what: &Revoked, at_ns| Revocation { what: what.clone(), at_ns };
    let (token, alice) = (Revoked::Jti("x".into()), Revoked::Sub(owner("alice")));
    // An owner may be called as a token is.
    let x = Revoked::Sub(owner("x"));
    for (what, at) in [(&token, 5), (&alice, 7), (&alice, 9), (&alice, 8), (&x, 1)] {
        rig.store.revoke(&of(what, at)).await.unwrap();
    }
    let mut kept = rig.store.revocations().await.unwrap();
    kept.sort_by_key(|revocation| revocation.at_ns);
    assert_eq!(kept, [of(&x, 1), of(&token, 5), of(&alice, 9)]);
}

pub async fn usage_counts_what_lives(rig: &Rig) {
    assert_eq!(rig.store.usage().await.unwrap(), Usage::default());
    let mut writer = Writer::create(&*rig.store, "alice", Model::first()).await;
    let other = Writer::create(&*rig.store, "bob", Model::first()).await;
    let mut next = writer.model.clone();
    next.write(USER, "f", "twelve bytes");
    writer.done(&*rig.store, next).await;
    let entries = (writer.model.inodes.len() + other.model.inodes.len()) as u64;
    assert_eq!(rig.store.usage().await.unwrap(), Usage { sandboxes: 2, entries, bytes: 12 });
    assert!(rig.store.delete(&owner("bob"), other.id).await.unwrap());
    let entries = writer.model.inodes.len() as u64;
    assert_eq!(rig.store.usage().await.unwrap(), Usage { sandboxes: 1, entries, bytes: 12 });
}
