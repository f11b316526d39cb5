//! README.md says what is true: the table of settings, and the walk-through.

use std::fmt::Write;
use std::path::PathBuf;

use sqlfs::config::SETTINGS;

use crate::support::{Server, TestStore};

const BEGIN: &str = "<!-- settings: written by tests/it/readme.rs -->\n";
const END: &str = "<!-- /settings -->\n";

fn readme() -> (PathBuf, String) {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));
    let text = std::fs::read_to_string(&path).expect("README.md");
    (path, text)
}

/// The part between two marks.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let start = text.find(begin).unwrap_or_else(|| panic!("README.md has no {begin:?}")) + begin.len();
    let length = text[start..].find(end).unwrap_or_else(|| panic!("README.md has no {end:?}"));
    &text[start..start + length]
}

fn table() -> String {
    let mut table = "| Variable | Default | Meaning |\n|---|---|---|\n".to_owned();
    for setting in SETTINGS {
        let default = match (setting.default, setting.unit) {
            ("", _) => String::new(),
            (value, "") => format!("`{value}`"),
            (value, unit) => format!("{value} {unit}"),
        };
        let about = setting.about.replace('|', "\\|");
        let _ = writeln!(table, "| `{}` | {default} | {about} |", setting.name);
    }
    table
}

#[test]
fn the_table_of_settings_is_the_programs() {
    let (path, text) = readme();
    let (written, table) = (between(&text, BEGIN, END), table());
    if written != table {
        let update = std::env::var_os("SQLFS_UPDATE_README").is_some();
        if update {
            let (begin, end) = (format!("{BEGIN}{written}"), format!("{BEGIN}{table}"));
            std::fs::write(path, text.replacen(&begin, &end, 1)).expect("written");
            return;
        }
        panic!("the table is out of date; run again with SQLFS_UPDATE_README=1\n{table}");
    }
}

#[tokio::test]
async fn the_walk_through_works_as_written() {
    let (_, text) = readme();
    let part = between(&text, "<!-- walk-through -->\n", "<!-- /walk-through -->");
    let mut script = String::new();
    for block in part.split("```sh\n").skip(1) {
        script += block.split("```").next().expect("a block");
    }
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let ran = std::process::Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .env("SQLFS", server.url())
        .env("TOKEN", &api.token)
        .current_dir(server.store().data_dir())
        .output()
        .expect("bash");
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{script}\n{stdout}\n{stderr}");
    // What the text promises to come out.
    let promised: Vec<&str> = part.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert!(!promised.is_empty(), "the walk-through promises nothing");
    for line in promised {
        assert!(stdout.contains(line), "{line:?} is promised:\n{stdout}\n{stderr}");
    }
}
