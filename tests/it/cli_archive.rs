//! `sqlfs ingest` and `export`: whole directories, without a server and on both stores.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::server::run;
use crate::support::{TestStore, on_each_store};

on_each_store![directories_go_in_and_come_out_as_they_were, what_cannot_be_taken_changes_nothing];

/// Runs a command that must end well and say nothing on standard error.
async fn ok(store: &TestStore, args: &[&str]) -> String {
    let (status, stdout, stderr) = run(store, args, &[], b"").await;
    assert!(status.success(), "{args:?}: {status:?}\n{stdout}{stderr}");
    assert_eq!(stderr, "", "{args:?}: progress is for terminals");
    stdout
}

fn shell(script: &str, folder: &Path) -> String {
    let done = Command::new("bash").args(["-ec", script]).current_dir(folder).output().expect("bash");
    assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// A directory with one of each kind, and its folder.
fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    shell(
        "mkdir -p in/sub/deeper in/empty; echo text > in/a; echo '#!/bin/sh' > in/sub/run; chmod 750 in/sub/run
         : > 'in/sub/deeper/€ b%'; ln -s ../a in/sub/link; ln -s nowhere in/dangling
         head -c 3000000 /dev/urandom > in/sub/big; touch -d @1500000000.25 in/a
         long=$(printf 'n%.0s' {1..150}); mkdir -p in/$long; echo far > in/$long/$long; truncate -s 200000 in/sparse",
        folder.path(),
    );
    folder
}

/// Path, kind, mode, time and target of everything, and the bytes.
fn look(folder: &Path, dir: &str) -> String {
    shell(
        &format!(
            "cd {dir}; find . -mindepth 1 -printf '%p %y %m %l\\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum; stat -c %Y a"
        ),
        folder,
    )
}

async fn directories_go_in_and_come_out_as_they_were(store: TestStore) {
    let folder = tree();
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    ok(&store, &["ingest", &at("in"), "work"]).await;
    let script =
        "cat work/a work/sub/link; stat -c %a work/sub/run; ls work/sub/deeper; readlink work/dangling";
    let seen = ok(&store, &["exec", "--read-only", script]).await;
    assert_eq!(seen, "text\ntext\n750\n€ b%\nnowhere\n");

    ok(&store, &["export", "work", "-o", &at("out.tar.gz")]).await;
    shell("mkdir out; tar -xpzf out.tar.gz -C out", folder.path());
    assert_eq!(look(folder.path(), "out"), look(folder.path(), "in"));

    // Archives go in too: packed, plain, and from standard input.
    ok(&store, &["ingest", &at("out.tar.gz"), "packed"]).await;
    shell("tar -cf plain.tar -C in .", folder.path());
    ok(&store, &["ingest", &at("plain.tar"), "/tmp/plain"]).await;
    let plain = fs::read(at("plain.tar")).expect("read");
    let (status, _, stderr) = run(&store, &["ingest", "-s", "other", "-"], &[], &plain).await;
    assert!(status.success(), "{stderr}");
    for (sandbox, dir) in [("default", "packed"), ("default", "/tmp/plain"), ("other", ".")] {
        let file = at("again.tar.gz");
        ok(&store, &["export", "-s", sandbox, dir, "-o", &file]).await;
        shell("rm -rf again; mkdir again; tar -xpzf again.tar.gz -C again", folder.path());
        assert_eq!(look(folder.path(), "again"), look(folder.path(), "in"), "{sandbox} {dir}");
    }
    // Without -o it is standard output.
    let (status, stdout, stderr) = run(&store, &["export", "work"], &[], b"").await;
    assert!(status.success() && stdout.len() > 100_000 && stdout.starts_with('\u{1f}'), "{stderr}");
}

async fn what_cannot_be_taken_changes_nothing(store: TestStore) {
    let folder = tree();
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    ok(&store, &["exec", "echo old > f"]).await;
    shell(
        "mkdir odd; echo x > odd/a; mkfifo odd/pipe; head -c 900000 in/sub/big > cut; gzip -c cut > cut.gz",
        folder.path(),
    );
    shell("tar -czf whole.tar.gz -C in .; head -c 900000 whole.tar.gz > broken.tar.gz", folder.path());
    let few = [("MAX_INGEST_FILES", "2")];
    let small = [("MAX_INGEST_BYTES", "1000000")];
    let none: &[(&str, &str)] = &[];
    for (from, env, said) in [
        ("none", none, "none: No such file"),
        ("odd", none, "odd/pipe: is neither a file nor a directory nor a link"),
        ("broken.tar.gz", none, "INVALID_INPUT"),
        ("cut", none, "INVALID_INPUT"),
        ("in", &few[..], "over the limit of 2 each (PAYLOAD_TOO_LARGE)"),
        ("in", &small[..], "PAYLOAD_TOO_LARGE"),
    ] {
        let (status, stdout, stderr) = run(&store, &["ingest", &at(from)], env, b"").await;
        assert_eq!((status.code(), stdout.as_str()), (Some(1), ""), "{from}: {stderr}");
        assert!(stderr.starts_with("sqlfs: ") && stderr.contains(said), "{from}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{from}: {stderr}");
    }
    assert_eq!(ok(&store, &["ls", "-R"]).await, "f\n", "all of it, or nothing");

    fs::write(at("kept.tar.gz"), "kept").expect("written");
    for from in ["f", "none"] {
        let (status, _, stderr) = run(&store, &["export", from, "-o", &at("kept.tar.gz")], &[], b"").await;
        assert_eq!(status.code(), Some(1), "{from}: {stderr}");
    }
    let (status, _, stderr) = run(&store, &["export", "-s", "nobody"], &[], b"").await;
    assert_eq!((status.code(), stderr.contains("\"nobody\"")), (Some(1), true), "{stderr}");
    assert_eq!(fs::read_to_string(at("kept.tar.gz")).expect("read"), "kept");
    let parts = shell("ls -A | grep -c part || true", folder.path());
    assert_eq!(parts.trim(), "0", "a part is left");
}

#[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
/// What a person sees: `script` gives the command a terminal.
#[tokio::test]
async fn a_terminal_shows_how_far_it_is() {
    let (store, folder) = (TestStore::sqlite(), tree());
    let on_terminal = |command: &str| {
        let mut script = Command::new("script");
        script.args(["-qefc", &format!("{} {command}", env!("CARGO_BIN_EXE_sqlfs")), "/dev/null"]);
        script.env_clear().env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh");
        script
            .env("SQLFS_DATA_DIR", store.data_dir())
            .env("AUTH_SECRET", crate::support::server::AUTH_SECRET);
        let done = script.current_dir(folder.path()).output().expect("script");
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let (code, seen) = on_terminal("ingest in work");
    assert_eq!(code, Some(0), "{seen}");
    // Eight files and links; 3 MB of noise and some zeros.
    assert!(seen.contains("\r8 files, 3.2 MB in ") && seen.contains(" MB/s"), "{seen:?}");
    let (code, seen) = on_terminal("export work -o out.tar.gz");
    assert!(code == Some(0) && seen.contains("\r3.0 MB in "), "{code:?} {seen:?}");
    let size = fs::metadata(folder.path().join("out.tar.gz")).expect("the archive").len() as f64 / 1e6;
    let (code, seen) = on_terminal("ingest out.tar.gz again");
    assert!(code == Some(0) && seen.contains(&format!("\r{size:.1} MB of {size:.1} MB in ")), "{seen:?}");
    let (code, seen) = on_terminal("export work");
    assert!(code == Some(2) && seen.contains("use -o FILE"), "{code:?} {seen:?}");
}
