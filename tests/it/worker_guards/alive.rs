//! What the guards must leave alone: the interpreter and the runtime below it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Mutex;

use sqlfs::exec::process::probe::{Reply, Request};

use super::sqlfs;
use crate::support::cases::{self, ENV, Entry, Files, Outcome, Runner, check};

/// Two cases print the name of the directory that they were recorded in.
const DIR: &str = "/home/user/w";

/// A closed process that runs scripts, one after the other.
struct Scripts {
    child: Child,
    pipes: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

impl Scripts {
    fn start() -> Self {
        let mut command = sqlfs("scripts", &[]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Self { child, pipes: Mutex::new(Some((stdin, BufReader::new(stdout)))) }
    }

    /// `None` when the process is gone.
    fn ask(&self, request: &Request) -> Option<Reply> {
        let mut pipes = self.pipes.lock().expect("no panic");
        let (stdin, stdout) = pipes.as_mut().expect("not ended");
        writeln!(stdin, "{}", serde_json::to_string(request).expect("JSON")).ok()?;
        let mut line = String::new();
        stdout.read_line(&mut line).ok()?;
        (!line.is_empty()).then(|| serde_json::from_str(&line).expect("a reply"))
    }

    fn run(&self, script: &str) -> (String, String) {
        let (cwd, script) = (DIR.to_owned(), script.to_owned());
        let request = Request { cwd, script, files: [].into(), env: [].into() };
        let reply = self.ask(&request).unwrap_or_else(|| panic!("gone at {}", request.script));
        (reply.end, String::from_utf8_lossy(&reply.stdout).into_owned())
    }

    /// The end of its input ends it.
    fn end(mut self) {
        drop(self.pipes.lock().expect("no panic").take());
        let status = self.child.wait().expect("a child");
        assert!(status.success(), "{status}");
    }
}

#[async_trait::async_trait]
impl Runner for Scripts {
    async fn run(&self, files: &Files, script: &str) -> Result<Outcome, String> {
        let file = |(path, entry): (&String, &Entry)| match entry {
            Entry::File { mode, content } => (format!("{DIR}/{path}"), (*mode, content.clone())),
            _ => panic!("a setup holds files only"),
        };
        let request = Request {
            cwd: DIR.to_owned(),
            files: files.iter().map(file).collect(),
            env: ENV.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            script: script.to_owned(),
        };
        let reply = self.ask(&request).ok_or("the process is gone")?;
        let exit = reply.end.strip_prefix("Exited(").and_then(|end| end.strip_suffix(')')?.parse().ok());
        let exit = exit.ok_or_else(|| format!("ended as {}", reply.end))?;
        let entry = |(kind, mode, content): (char, u32, Vec<u8>)| match kind {
            'F' => Entry::File { mode, content },
            'D' => Entry::Dir,
            _ => Entry::Link(String::from_utf8(content).expect("text")),
        };
        let files = reply.files.into_iter().map(|(path, found)| (path, entry(found))).collect();
        Ok(Outcome { stdout: reply.stdout, exit, files })
    }
}

#[tokio::test]
async fn the_cases_pass_in_a_closed_process() {
    let scripts = Scripts::start();
    for suite in cases::suites() {
        check(&suite, &scripts).await;
    }
    scripts.end();
}

/// What is large, deep, long or asks for time and chance.
#[test]
fn heavy_scripts_run_in_a_closed_process() {
    let scripts = Scripts::start();
    let deep = "e='eval \"$e\"'; eval \"$e\"";
    assert!(scripts.run(deep).0.contains("stack"), "recursion ends at the guard before it");
    let sorted = "seq 100000 | sort -r | sort -n | tail -1; seq 9000 | awk '{s+=$1} END {print s}'";
    assert_eq!(scripts.run(sorted), ("Exited(0)".to_owned(), "100000\n40504500\n".to_owned()));
    let value = "jq -n '[range(200000)] | length'; jq -n 'reduce range(1000000) as $i (1; [.]) | 1'";
    assert_eq!(scripts.run(value), ("Exited(0)".to_owned(), "200000\n1\n".to_owned()));
    let pack = "seq 50000 > f; gzip -k f; gunzip -c f.gz | cmp - f && tar czf t.tgz f && tar tzf t.tgz";
    assert_eq!(scripts.run(pack), ("Exited(0)".to_owned(), "f\n".to_owned()));
    let times =
        "[ $(date +%s) -gt 1700000000 ] && TZ=Europe/Paris date -d @0 +%H; sleep 0.05; echo $RANDOM | wc -l";
    assert_eq!(scripts.run(times), ("Exited(0)".to_owned(), "01\n1\n".to_owned()));
    let jobs = "for i in 1 2 3; do (sleep 0.01; echo $i) & done; wait; echo done";
    assert!(scripts.run(jobs).1.ends_with("done\n"));
    // Long enough to be parsed on a thread that starts now.
    let long = "true\n".repeat(20_000) + "echo end";
    assert_eq!(scripts.run(&long), ("Exited(0)".to_owned(), "end\n".to_owned()));
    scripts.end();
}

fn live(name: &str) -> (std::process::ExitStatus, String) {
    let mut command = sqlfs(name, &[]);
    // A backtrace opens files.
    let output = command.env("RUST_BACKTRACE", "1").output().expect("the binary starts");
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status, text)
}

#[test]
fn a_closed_process_starts_threads_has_memory_and_survives_panics() {
    for name in ["threads", "memory", "panic", "runtime"] {
        let (status, text) = live(name);
        assert!(status.success() && text.starts_with("lived\n"), "{name}: {status}: {text}");
    }
}

#[test]
fn a_closed_process_that_fails_dies_at_once() {
    for (name, said) in [("abort", ""), ("overflow", "has overflowed its stack")] {
        let (status, text) = live(name);
        assert_eq!(status.signal(), Some(libc::SIGABRT), "{name}: {status}: {text}");
        assert!(!status.core_dumped() && text.contains(said), "{name}: {status}: {text}");
    }
}
