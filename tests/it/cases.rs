//! The case suites straight on the interpreter.

use sqlfs::exec::End;
use sqlfs::fs::{NodeBody, Tree};

use crate::support::cases::{self, ENV, Entry, Files, Outcome, Runner, check};
use crate::support::score;
use crate::support::scripts::Sandbox;

/// Two cases print the name of the directory that they were recorded in.
const DIR: &str = "/home/user/w";

/// The interpreter without a server around it.
struct Direct;

#[async_trait::async_trait]
impl Runner for Direct {
    async fn run(&self, files: &Files, script: &str) -> Result<Outcome, String> {
        let mut sandbox = Sandbox::new();
        sandbox.edit(|working_copy| {
            working_copy.mkdir_all(DIR).unwrap();
            for (path, entry) in files {
                let path = format!("{DIR}/{path}");
                let Entry::File { mode, content } = entry else { panic!("a setup holds files only") };
                working_copy.mkdir_all(path.rsplit_once('/').unwrap().0).unwrap();
                working_copy.write(&path, content).unwrap();
                working_copy.chmod(&path, *mode).unwrap();
            }
        });
        let mut job = sandbox.job(script);
        DIR.clone_into(&mut job.cwd);
        job.env = ENV.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let ran = sandbox.run_job(job).await;
        match ran.ended.end {
            End::Exited(code) => {
                let files = files_below(&sandbox);
                Ok(Outcome { stdout: ran.output.stdout, exit: code.into(), files })
            }
            other => Err(format!("ended as {other:?}")),
        }
    }
}

fn files_below(sandbox: &Sandbox) -> Files {
    let tree: &Tree = &sandbox.tree;
    let working_copy = sandbox.working_copy();
    let entry = |path: &str, body: &NodeBody, mode| match body {
        NodeBody::File { .. } => Entry::File { mode, content: working_copy.read(path).unwrap().to_vec() },
        NodeBody::Dir { .. } => Entry::Dir,
        NodeBody::Symlink { target } => Entry::Link(target.to_string()),
    };
    let Ok(walk) = tree.walk(DIR, None) else { return Files::new() };
    walk.filter_map(|(path, _, node)| {
        let name = path.strip_prefix(DIR)?.strip_prefix('/')?.to_owned();
        Some((name, entry(&path, &node.body, node.mode)))
    })
    .collect()
}

#[tokio::test]
async fn the_cases_are_equal_but_for_the_listed() {
    for suite in cases::suites() {
        let equal = check(&suite, &Direct).await;
        score::hold(suite.told_as, equal, suite.cases.len(), 0);
    }
}

#[test]
fn every_exception_names_a_case() {
    let known: Vec<String> =
        cases::suites().into_iter().flat_map(|suite| suite.cases).map(|c| c.id).collect();
    for id in cases::exceptions().keys() {
        assert!(known.contains(id), "{id} is no case");
    }
}
