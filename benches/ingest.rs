//! What it costs to take many files in: 10,000 files of 40 MB together, by HTTP, as a ratio to
//! what the hash of each content and the store's own statements take, in one run.
//! `tests/run --bench` starts a throw-away Postgres and calls this.
//!
//! The floor hashes all contents on one thread, sends them to the store in pieces as large as
//! the product's and commits the rows; it has the files in memory and reads no archive.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use sqlfs::clock;
use sqlfs::fs::{BlobUse, ChangeSet, Mode, Quota, Tree, WorkingCopy};
use sqlfs::ids::Sha256;
use sqlfs::store::{self, Store};

#[path = "support/floor.rs"]
mod floor;
#[path = "../tests/it/support/postgres.rs"]
#[expect(dead_code, reason = "the bench needs a part of it")]
mod postgres;
#[path = "support/rig.rs"]
#[allow(dead_code, reason = "each bench needs another part of it")]
mod rig;

use rig::{Server, quantile};

const FILES: usize = 10_000;
const FILE_BYTES: usize = 4096;
/// Files of one directory.
const WIDTH: usize = 100;
const ROUNDS: usize = 5;
const TARGET: f64 = 1.6;

fn main() {
    rustls::crypto::ring::default_provider().install_default().expect("the first provider");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let database = runtime.block_on(postgres::Database::new());
    let server = Server::product(&[("DATABASE_URL", &database.app_url()), ("INTERPRETER", "thread")]);
    let mut client = server.client(None);
    let (mut hashes, mut statements) = (Vec::new(), Vec::new());
    let (mut archives, mut lists) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Other contents each time: those that are there already cost nothing.
        let files = |kind: usize| files(round * 3 + kind);
        let (hash, sent) = runtime.block_on(floors(&database.app_url(), &files(0)));
        hashes.push(hash);
        statements.push(sent);
        let archive = archive(&files(1));
        let path = format!("/v1/sandboxes/{}/ingest", client.create());
        archives.push(timed(|| {
            let reply = client.send_as("application/x-tar", &path, &archive);
            reply.assert_ok();
        }));
        let list = list(&files(2));
        let path = format!("/v1/sandboxes/{}/ingest-files", client.create());
        lists.push(timed(|| client.send_as("application/json", &path, list.as_bytes()).assert_ok()));
    }
    let floor: Vec<f64> = hashes.iter().zip(&statements).map(|(hash, sent)| hash + sent).collect();
    for (name, times) in [
        ("floor: hashes", &hashes),
        ("floor: contents and commit", &statements),
        ("tar archive", &archives),
        ("list in JSON", &lists),
    ] {
        println!("{name:28} {:>8.0} ms (median of {ROUNDS})", quantile(times, 0.5));
    }
    println!();
    for (name, times) in [("tar archive", &archives), ("list in JSON", &lists)] {
        let ratio = quantile(times, 0.5) / quantile(&floor, 0.5);
        let verdict = if ratio <= TARGET { "met" } else { "MISSED" };
        println!("{FILES} files as {name:13} / floor = {ratio:5.2}   target <= {TARGET}: {verdict}");
    }
}

fn timed(work: impl FnOnce()) -> f64 {
    let begun = clock::now();
    work();
    milliseconds(begun.elapsed())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Text that packs about as well as source code does.
fn files(seed: usize) -> Vec<(String, Bytes)> {
    (0..FILES)
        .map(|number| {
            let mut text = String::with_capacity(FILE_BYTES + 64);
            let mut state = (seed * FILES + number) as u64;
            while text.len() < FILE_BYTES {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let _ = writeln!(text, "let value_{} = {:016x};", state >> 56, state);
            }
            text.truncate(FILE_BYTES);
            (format!("d{}/f{number}", number / WIDTH), Bytes::from(text))
        })
        .collect()
}

fn archive(files: &[(String, Bytes)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(1_700_000_000);
        builder.append_data(&mut header, name, &data[..]).expect("an entry");
    }
    builder.into_inner().expect("an archive")
}

fn list(files: &[(String, Bytes)]) -> String {
    let encode = |data: &Bytes| base64::engine::general_purpose::STANDARD.encode(data);
    let files: serde_json::Map<_, _> =
        files.iter().map(|(name, data)| (name.clone(), encode(data).into())).collect();
    serde_json::json!({"basePath": "/home/user", "files": files}).to_string()
}

/// Milliseconds that the hashes take, and the statements.
async fn floors(url: &str, files: &[(String, Bytes)]) -> (f64, f64) {
    /// Contents in one statement, as the product has them.
    const PIECE: usize = 1000;
    let store = store::open(url, &store::Options::default()).await.expect("a store");
    let (created, changes) = prepared(store.as_ref(), files).await;
    let begun = clock::now();
    let contents: Vec<(Sha256, Bytes)> =
        files.iter().map(|(_, data)| (Sha256::of(data), data.clone())).collect();
    let hashed = milliseconds(begun.elapsed());
    let begun = clock::now();
    for piece in contents.chunks(PIECE) {
        store.flush_blobs(piece).await.expect("contents sent");
    }
    floor::commit(store.as_ref(), &created, &changes).await;
    let sent = milliseconds(begun.elapsed());
    store.close().await;
    (hashed, sent)
}

/// A sandbox, and the change set that puts the files there.
async fn prepared(store: &dyn Store, files: &[(String, Bytes)]) -> (store::SandboxRow, ChangeSet) {
    struct Nothing;
    impl sqlfs::fs::ContentSource for Nothing {
        fn read(&self, _: &Sha256, _: u64) -> Result<Bytes, sqlfs::fs::ContentUnavailable> {
            Err(sqlfs::fs::ContentUnavailable)
        }
    }
    let (tree, next_ino) = Tree::first(clock::wall_ns());
    let created = floor::sandbox(store, &tree.whole(next_ino, Vec::new())).await;
    let large = 1 << 40;
    let quota = Quota { entries: large, bytes: large, file_bytes: large, memory: large };
    let files_of =
        WorkingCopy::new(tree, created.next_ino, Mode::ReadWrite, quota, Arc::new(Nothing), clock::wall_ns);
    for (name, data) in files {
        let path = format!("/home/user/{name}");
        let (dir, _) = path.rsplit_once('/').expect("a directory");
        files_of.mkdir_all(dir).expect("a directory");
        files_of.write(&path, data).expect("a file");
    }
    let mut changes = files_of.finish().expect("a change set");
    // They are sent ahead.
    changes.blobs.iter_mut().for_each(|blob: &mut BlobUse| blob.data = None);
    (created, changes)
}
