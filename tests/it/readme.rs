//! README.md says what is true: the table of settings, and the examples in curl, in Python
//! and over MCP, which run here as they stand there.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use sqlfs::config::SETTINGS;

use crate::support::web::Web;
use crate::support::{Server, TestStore, python};

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

/// The code blocks of one language in a part.
fn blocks(part: &str, language: &str) -> String {
    let begin = format!("```{language}\n");
    let blocks = part.split(&begin).skip(1).map(|block| block.split("```").next().expect("a block"));
    blocks.collect()
}

/// Runs a part's code against a server; what the text promises must come out.
async fn works_as_written(part: &str, command: Command) {
    works_with(part, command, &[]).await;
}

/// The same, with settings of the server.
async fn works_with(part: &str, mut command: Command, env: &[(&str, &str)]) {
    let server = Server::start_with(TestStore::sqlite(), env).await;
    let api = server.api().await;
    command.env("SQLFS", server.url()).env("TOKEN", &api.token).current_dir(server.store().data_dir());
    let ran = python::run(command, Duration::from_mins(1)).await;
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{part}\n{stdout}\n{stderr}");
    let promised: Vec<&str> = part.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert!(!promised.is_empty(), "the text promises nothing");
    for line in promised {
        assert!(stdout.contains(line), "{line:?} is promised:\n{stdout}\n{stderr}");
    }
}

#[tokio::test]
async fn the_walk_through_works_as_written() {
    let (_, text) = readme();
    for name in ["walk-through", "openapi", "runtimes", "git"] {
        let part = between(&text, &format!("<!-- {name} -->\n"), &format!("<!-- /{name} -->"));
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", &blocks(part, "sh")]);
        works_as_written(part, bash).await;
    }
}

#[tokio::test]
async fn the_network_example_works_as_written() {
    let (_, text) = readme();
    let part = between(&text, "<!-- network -->\n", "<!-- /network -->");
    let web = Web::start().await;
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", &blocks(part, "sh")]).env("TARGET", web.url());
    works_with(part, bash, &[("NETWORK_ALLOW_PRIVATE", &web.addr.to_string())]).await;
}

/// Runs the one program of a part, in an environment with the packages of `list`.
async fn python_works_as_written(name: &str, list: &'static str) {
    let (_, text) = readme();
    let part = between(&text, &format!("<!-- {name} -->\n"), &format!("<!-- /{name} -->"));
    let python = tokio::task::spawn_blocking(|| python::environment(list)).await.expect("Python");
    let mut command = Command::new(python);
    command.arg("-c").arg(blocks(part, "python")).env_remove("HTTP_PROXY").env_remove("http_proxy");
    // Its code is indented too: the promises stand behind it.
    works_as_written(part.rsplit_once("```").expect("a block").1, command).await;
}

#[tokio::test]
async fn the_python_example_works_as_written() {
    python_works_as_written("python", "client.txt").await;
}

#[tokio::test]
async fn the_mcp_example_works_as_written() {
    python_works_as_written("mcp-example", "mcp.txt").await;
}

/// The packages that README.md tells to install are those that its examples ran with.
#[test]
fn the_packages_of_the_examples_are_those_that_are_tested() {
    let (_, text) = readme();
    let told: Vec<&str> =
        text.split("pip install ").skip(1).map(|rest| rest.split('`').next().unwrap()).collect();
    let told: Vec<&str> = told.iter().map(|name| name.trim()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    for (package, list) in told.into_iter().zip(["client.txt", "mcp.txt"]) {
        let list = std::fs::read_to_string(python::folder().join(list)).expect("the list");
        assert!(
            list.lines().any(|line| line.trim_end_matches(" \\") == package),
            "{package} is not what is tested"
        );
    }
}
