//! The case suites through the whole server: a tar goes in, the script runs by HTTP, a
//! tar comes out. Nothing of the engine's score may be lost on the way.

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::support::cases::{self, ENV, Entry, Files, Outcome, Runner, check};
use crate::support::{Api, Server, TestStore};

/// The directory of the direct run, for the same answers.
const DIR: &str = "/home/user/w";

struct OverHttp {
    api: Api,
}

#[async_trait::async_trait]
impl Runner for OverHttp {
    async fn run(&self, files: &Files, script: &str) -> Result<Outcome, String> {
        let id = self.api.create().await;
        self.api.ingest(&id, DIR, "application/x-tar", pack(files)).await.expect(200);
        let env: BTreeMap<_, _> = ENV.into_iter().collect();
        let request = json!({ "script": script, "cwd": DIR, "env": env, "encoding": "base64" });
        let reply = self.api.try_exec(&id, &request).await;
        if reply.status != 200 {
            return Err(format!("ended as {}", reply.json()["code"]));
        }
        let reply = reply.json();
        let files = match self.api.get(&format!("/v1/sandboxes/{id}/export?basePath={DIR}")).await {
            export if export.status == 200 => unpack(&export.body),
            // A case that removes its own directory leaves nothing to export.
            _ => Files::new(),
        };
        self.api.delete(&format!("/v1/sandboxes/{id}")).await.expect(204);
        Ok(Outcome {
            stdout: STANDARD.decode(reply["stdout"].as_str().expect("stdout")).expect("base64"),
            exit: reply["exitCode"].as_i64().expect("an exit code"),
            files,
        })
    }
}

fn pack(files: &Files) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, entry) in files {
        let Entry::File { mode, content } = entry else { panic!("a setup holds files only") };
        let mut header = tar::Header::new_gnu();
        header.set_mode(*mode);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, path, content.as_slice()).expect("an entry");
    }
    tar.into_inner().expect("an archive")
}

fn unpack(tar_gz: &[u8]) -> Files {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(tar_gz));
    let mut files = Files::new();
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let name = entry.path().expect("a path").to_str().expect("UTF-8").to_owned();
        let name = name.trim_start_matches("./").trim_end_matches('/').to_owned();
        if name.is_empty() || name == "." {
            continue;
        }
        let link = |entry: &tar::Entry<_>| {
            entry.link_name().expect("a target").expect("a target").to_str().expect("UTF-8").to_owned()
        };
        let found = match entry.header().entry_type() {
            tar::EntryType::Directory => Entry::Dir,
            tar::EntryType::Symlink => Entry::Link(link(&entry)),
            tar::EntryType::Link => files[link(&entry).trim_start_matches("./")].clone(),
            _ => {
                let mode = entry.header().mode().expect("a mode");
                let mut content = Vec::new();
                entry.read_to_end(&mut content).expect("a content");
                Entry::File { mode, content }
            }
        };
        files.insert(name, found);
    }
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cases_are_equal_but_for_the_listed() {
    let server = Server::start(TestStore::sqlite()).await;
    let runner = OverHttp { api: server.api().await };
    for suite in cases::suites() {
        check(&suite, &runner).await;
    }
}
