//! Programs of a language that agents write, each in a script: run here, and by this machine's
//! own bash and interpreter.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::http::Api;

/// A folder of tests/data.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Scripts of a folder of tests/data, by name.
pub fn scripts(name: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(name)).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "sh") {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            found.push((name, fs::read_to_string(&path).expect("a script")));
        }
    }
    found.sort();
    found
}

/// A sandbox that may run programs of a language: `python` or `javascript`.
pub async fn with(api: &Api, language: &str) -> String {
    let made = api.create_with(&json!({ language: true })).await;
    made["id"].as_str().expect("an id").to_owned()
}

/// What bash of this machine makes of a script.
fn real(script: &str) -> (String, i32) {
    let dir = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(dir.path()).stdin(Stdio::null());
    command.env("TZ", "UTC").env("HOME", dir.path()).env_remove("NODE_OPTIONS").env_remove("PYTHONPATH");
    let ran = command.output().expect("bash");
    (String::from_utf8_lossy(&ran.stdout).into_owned(), ran.status.code().expect("an exit code"))
}

/// The first line that differs, with those beside it.
pub fn difference(ours: &str, theirs: &str) -> String {
    let (mut a, mut b) = (ours.lines(), theirs.lines());
    for number in 1.. {
        match (a.next(), b.next()) {
            (None, None) => break,
            (ours, theirs) if ours != theirs => {
                return format!("line {number}:\n  ours   {ours:?}\n  theirs {theirs:?}");
            }
            _ => {}
        }
    }
    "the ends of the lines differ".to_owned()
}

/// Runs the scripts of the folder that is named as the language, in a sandbox each, and fails
/// with those that print or exit otherwise than on this machine.
pub async fn all_print_what_this_machine_prints(api: &Api, language: &str) {
    let mut wrong = Vec::new();
    for (name, script) in scripts(&format!("programs/{language}")) {
        let ours = api.exec(&with(api, language).await, &script).await;
        let (stdout, exit) = {
            let script = script.clone();
            tokio::task::spawn_blocking(move || real(&script)).await.expect("bash")
        };
        if ours["stdout"] != stdout.as_str() || ours["exitCode"] != exit {
            let ours_out = ours["stdout"].as_str().unwrap_or_default();
            let (where_, err) = (difference(ours_out, &stdout), &ours["stderr"]);
            wrong.push(format!("{name}: exit {} against {exit}; {where_}\n{err}", ours["exitCode"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
