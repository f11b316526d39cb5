//! A repository in which one file is damaged by chance: every command ends in order.

use std::fs;
use std::path::{Path, PathBuf};

use sha1::{Digest as _, Sha1};

use super::hostile::PANICKED;
use super::travel::{MADE, make, sent};
use crate::support::random::{Random, seed};
use crate::support::{Server, TestStore};

/// What is tried in each.
const TRIED: &str = "status|log -p --all|log --stat -3|branch -av|tag -n|ls-files -s|diff HEAD~3|show heavy|describe --always|\
                     checkout -q -f side|merge -q main|rev-list --count --all|cat-file -p HEAD^{tree}|ls-tree -r main|config -l|\
                     stash|reset -q --hard main|commit -q --allow-empty -m x|clone -q . ../copy|for-each-ref";

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if !path.to_string_lossy().contains("/hooks/") {
            found.push(path);
        }
    }
    found.sort();
}

/// Some bytes are others, the end is missing, or there is more.
fn damaged(random: &mut Random, mut data: Vec<u8>) -> Vec<u8> {
    let signed = data.len() > 40 && random.below(2) == 0;
    let end = if signed { data.len() - 20 } else { data.len() };
    for _ in 0..=random.below(4) {
        let at = random.below(end.min(data.len()).max(1) as u64) as usize;
        let at = at.min(data.len());
        match random.below(6) {
            0 => data.truncate(at),
            1 => data.splice(at..at, (0..random.below(9)).map(|_| 0xff)).for_each(drop),
            2 => data.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0xff),
            3 => data.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0),
            _ => data.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
        }
    }
    if signed && data.len() > 20 {
        // A right checksum over what is wrong, as indexes and packs have it.
        let body = data.len() - 20;
        let sum = Sha1::digest(&data[..body]);
        data[body..].copy_from_slice(&sum);
    }
    data
}

#[tokio::test]
async fn whatever_is_damaged_commands_end_in_order() {
    let mut random = Random(seed());
    let rounds = if std::env::var_os("SQLFS_TEST_LONG").is_some() { 1500 } else { 60 };
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let there = tempfile::tempdir().expect("a folder");
    make(there.path(), MADE);
    let id = sent(&api, there.path()).await;
    let mut all = Vec::new();
    files(&there.path().join(".git"), &mut all);
    for _ in 0..rounds {
        let file = &all[random.below(all.len() as u64) as usize];
        let name = file.strip_prefix(there.path()).expect("below").to_str().expect("UTF-8");
        let script = "cd /home/user; rm -rf t copy; cp -a w t";
        assert_eq!(api.exec(&id, script).await["exitCode"], 0);
        let data = damaged(&mut random, fs::read(file).expect("a file"));
        api.put(&id, &format!("/home/user/t/{name}"), data).await;
        let script = format!(
            "cd /home/user/t; export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a; IFS='|'; \
             for line in {}; do IFS=' '; git $line > /dev/null; echo $?; done",
            TRIED.split('|').map(|line| format!("'{line}'")).collect::<Vec<_>>().join(" ")
        );
        let reply = api.try_exec(&id, &serde_json::json!({"script": script, "timeoutMs": 60_000})).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.text());
        let reply = reply.json();
        let codes: Vec<&str> = reply["stdout"].as_str().expect("stdout").lines().collect();
        assert_eq!(codes.len(), TRIED.split('|').count(), "{name}: {reply}");
        assert!(!reply["stderr"].as_str().expect("stderr").contains(PANICKED), "{name}: {reply}");
        assert!(codes.iter().all(|code| ["0", "1", "2", "128", "129"].contains(code)), "{name}: {reply}");
    }
}
