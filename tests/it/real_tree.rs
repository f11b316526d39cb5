//! A real source tree (the sources of this project's own dependencies, about 3,000
//! files) goes in as a tar, scripts of the kind that agents write run on it, and
//! output, exit status and resulting tree equal those of GNU bash on the same tree on
//! disk. The server is killed and started again in the middle.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::server::{Server, TestStore};

/// Crates whose sources make the tree; the versions are those of Cargo.lock.
const CRATES: &[&str] = &[
    "axum",
    "bytes",
    "tokio",
    "serde_json",
    "chrono",
    "clap_builder",
    "clap_derive",
    "sqlx-core",
    "sqlx-postgres",
    "sqlx-sqlite",
    "hyper",
    "hyper-util",
    "http",
    "regex-syntax",
    "regex-automata",
    "rustls",
    "futures-util",
    "tower",
    "syn",
    "proc-macro2",
    "indexmap",
    "hashbrown",
    "tracing-subscriber",
    "serde",
    "libc",
    "reqwest",
    "url",
    "uuid",
    "tokio-util",
];

/// Where the tree lives in the sandbox.
const BASE: &str = "/home/user/src";

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite() {
    run(TestStore::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres() {
    run(TestStore::postgres().await).await;
}

async fn run(store: TestStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("src");
    let files = lay_out(&disk);
    assert!(files >= 2000, "a tree of {files} files is no real tree");

    let mut server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    api.ingest(&id, BASE, "application/x-tar", pack(&disk)).await.expect(200);

    let scripts = scripts();
    assert_eq!(scripts.len(), 40);
    let mut differences = Vec::new();
    for (at, (name, script)) in scripts.iter().enumerate() {
        if at == scripts.len() / 2 {
            server.kill();
            server.start_again().await;
        }
        let api = server.api().await;
        let ours = api
            .exec_with(
                &id,
                &json!({ "script": script, "cwd": BASE, "env": {"LC_ALL": "C.UTF-8"}, "timeoutMs": 120_000 }),
            )
            .await;
        let theirs = Command::new("bash")
            .args(["-c", script])
            .current_dir(&disk)
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("bash on this machine");
        let theirs = (String::from_utf8_lossy(&theirs.stdout).into_owned(), theirs.status.code());
        let ours = (
            ours["stdout"].as_str().expect("stdout").to_owned(),
            ours["exitCode"].as_i64().map(|code| code as i32),
        );
        if ours != theirs {
            differences.push(format!("{name}: {}", first_difference(&theirs, &ours)));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of 40 differ from bash:\n{}",
        differences.len(),
        differences.join("\n")
    );

    let api = server.api().await;
    let exported = unpack(&api.export(&id, BASE).await);
    let expected = snapshot(&disk);
    let wrong: Vec<_> = expected
        .keys()
        .chain(exported.keys())
        .filter(|path| expected.get(*path) != exported.get(*path))
        .collect();
    assert!(wrong.is_empty(), "the resulting trees differ at {wrong:?}");
}

/// Copies the crates' sources to `disk`; the number of files.
fn lay_out(disk: &Path) -> usize {
    let lock = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock"))
        .expect("Cargo.lock");
    let sources = registry_sources();
    std::fs::create_dir_all(disk).expect("a folder");
    for name in CRATES {
        let entry = lock.split("[[package]]").find(|entry| entry.contains(&format!("name = \"{name}\"\n")));
        let version = entry.and_then(|entry| entry.split("version = \"").nth(1)).expect("a locked crate");
        let version = version.split('"').next().expect("its version");
        let from = sources.join(format!("{name}-{version}"));
        let copied = Command::new("cp").arg("-r").arg(&from).arg(disk.join(name)).status().expect("cp");
        assert!(copied.success(), "the sources of {name} are not at {}", from.display());
    }
    snapshot(disk).values().filter(|(kind, ..)| *kind == '-').count()
}

/// `CARGO_HOME/registry/src/<registry>`: cargo has put the sources there to build us.
fn registry_sources() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "cargo's own variable, in a test")]
    let home = std::env::var("CARGO_HOME").map(PathBuf::from);
    #[expect(clippy::disallowed_methods, reason = "cargo's default, in a test")]
    let home = home.unwrap_or_else(|_| PathBuf::from(std::env::var("HOME").expect("HOME")).join(".cargo"));
    let all = std::fs::read_dir(home.join("registry/src")).expect("cargo's registry sources");
    let mut all: Vec<_> = all.map(|entry| entry.expect("an entry").path()).collect();
    all.sort();
    all.into_iter().find(|path| path.join("axum-0.8.9").exists() || path.is_dir()).expect("a registry")
}

fn pack(disk: &Path) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    tar.append_dir_all("", disk).expect("a tar of the tree");
    tar.into_inner().expect("its bytes")
}

/// Kind, executable bits and content (or target) by path.
type Snapshot = BTreeMap<String, (char, u32, Vec<u8>)>;

fn snapshot(disk: &Path) -> Snapshot {
    fn walk(root: &Path, at: &Path, into: &mut Snapshot) {
        use std::os::unix::fs::PermissionsExt;
        for entry in std::fs::read_dir(at).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("below the root").to_str().expect("UTF-8").to_owned();
            let meta = path.symlink_metadata().expect("its metadata");
            let mode = meta.permissions().mode() & 0o777;
            if meta.is_symlink() {
                let target = path.read_link().expect("a target").to_str().expect("UTF-8").as_bytes().to_vec();
                into.insert(name, ('l', 0, target));
            } else if meta.is_dir() {
                into.insert(name, ('d', mode, Vec::new()));
                walk(root, &path, into);
            } else {
                into.insert(name, ('-', mode, std::fs::read(&path).expect("its content")));
            }
        }
    }
    let mut into = Snapshot::new();
    walk(disk, disk, &mut into);
    into
}

fn unpack(tar_gz: &[u8]) -> Snapshot {
    let folder = tempfile::tempdir().expect("a folder");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(tar_gz));
    archive.unpack(folder.path()).expect("an archive that unpacks");
    snapshot(folder.path())
}

fn scripts() -> Vec<(&'static str, &'static str)> {
    let text = include_str!("../data/real_tree_scripts.txt");
    text.split("### ").skip(1).map(|block| block.split_once('\n').expect("a name and a script")).collect()
}

fn first_difference(theirs: &(String, Option<i32>), ours: &(String, Option<i32>)) -> String {
    if theirs.0 == ours.0 {
        return format!("exit {:?} instead of {:?}", ours.1, theirs.1);
    }
    let at = theirs.0.lines().zip(ours.0.lines()).position(|(t, o)| t != o);
    let at = at.unwrap_or_else(|| theirs.0.lines().count().min(ours.0.lines().count()));
    format!(
        "line {}: {:?} instead of {:?} (exit {:?}/{:?})",
        at + 1,
        ours.0.lines().nth(at).unwrap_or("<end>"),
        theirs.0.lines().nth(at).unwrap_or("<end>"),
        ours.1,
        theirs.1
    )
}
