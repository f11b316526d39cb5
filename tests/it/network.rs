//! The network of scripts: `curl` and `wget` in a real server, and the broker beneath.

mod broker;
mod commands;
mod hostile;
mod measured;
mod once;
mod ssrf;
mod switch;

use serde_json::{Value, json};

use crate::support::{Api, Server, TestStore};

/// Both ways of running scripts.
pub const INTERPRETERS: [&str; 2] = ["process", "thread"];

/// A server that lets scripts reach `private`.
pub async fn server(interpreter: &str, private: &str, env: &[(&str, &str)]) -> (Server, Api) {
    let mut all = vec![("INTERPRETER", interpreter), ("NETWORK_ALLOW_PRIVATE", private)];
    all.extend(env);
    let server = Server::start_with(TestStore::sqlite(), &all).await;
    let api = server.api().await;
    (server, api)
}

/// A sandbox that may reach what `network` says.
pub async fn sandbox(api: &Api, network: Value) -> String {
    api.create_with(&json!({ "network": network })).await["id"].as_str().expect("an id").to_owned()
}

/// One line of a table: a script, its exit code, its stdout, a part of its stderr.
pub type Line<'a> = (&'a str, i64, &'a str, &'a str);

/// Runs a table; `WEB` in a text is `web`.
pub async fn run_table(api: &Api, id: &str, web: &str, table: &[Line<'_>]) {
    for (script, exit, stdout, stderr) in table {
        let [script, stdout, stderr] = [script, stdout, stderr].map(|text| text.replace("WEB", web));
        let reply = api.exec(id, &script).await;
        assert_eq!(reply["exitCode"], *exit, "{script}: {reply}");
        assert_eq!(reply["stdout"].as_str(), Some(stdout.as_str()), "{script}: {reply}");
        let said = reply["stderr"].as_str().expect("stderr");
        assert!(said.contains(&stderr), "{script}: {stderr:?} in {said:?}");
        assert!(!stderr.is_empty() || said.is_empty(), "{script}: {said:?}");
    }
}
