//! What the kernel is asked by workers that run real scripts, as strace(1) sees it: after a
//! worker closed itself, no program is started and nothing is opened.

use std::collections::BTreeMap;

use serde_json::json;

use crate::support::{Server, TestStore, cases};

/// Calls that start a program or make a descriptor.
const CALLS: &str = "execve,execveat,open,openat,openat2,creat,socket,socketpair,connect,accept,accept4,memfd_create,\
                     seccomp,clone,clone3,fork,vfork";

/// Parts of names that libraries ask for and do without: the number of processors, sizes of
/// pages, what a backtrace is made of, a seed (SQLite takes the time), time zones (some are within).
const ASKED_FOR: &[&str] =
    &["\"/sys/", "\"/proc/", "\"/etc/", "\"/usr/lib/debug", "\"/dev/urandom\"", "zoneinfo"];

#[derive(Default)]
struct Worker {
    closed: bool,
    /// What it opened before it closed itself: else the trace would be blind.
    before: usize,
    threads: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_runs_scripts_opens_nothing_and_starts_nothing() {
    if std::env::var("SQLFS_TEST_INTERPRETER").is_ok_and(|interpreter| interpreter == "thread") {
        return;
    }
    let trace = tempfile::NamedTempFile::new().expect("a file");
    let path = trace.path().to_str().expect("UTF-8");
    // The server stays this test's own child (-D), and dies with it.
    let strace =
        ["strace", "-D", "-f", "-qq", "-o", path, "-e", &format!("trace={CALLS}"), "-e", "signal=none"];
    let mut server = Server::start_under(TestStore::sqlite(), &strace).await;
    let api = server.api().await;
    let id = api.create().await;
    let mut scripts: Vec<String> = cases::suites()
        .into_iter()
        .flat_map(|suite| suite.cases.into_iter().map(|case| case.script))
        .collect();
    scripts.push("sqlite3 a.db 'create table t(a); insert into t values(1); select * from t'".into());
    scripts.push(
        "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x".into(),
    );
    for script in &scripts {
        let request = json!({ "script": script, "timeoutMs": 60_000 });
        assert_eq!(api.try_exec(&id, &request).await.status, 200, "{script}");
    }
    server.terminate();
    server.exited().await;
    let workers =
        read(&std::fs::read_to_string(path).expect("a trace")).unwrap_or_else(|found| panic!("{found}"));
    assert!(!workers.is_empty(), "no worker was seen");
    for (pid, worker) in workers {
        assert!(worker.closed || worker.threads == 0, "worker {pid} was not seen to close itself");
        assert!(worker.before > 0, "nothing was seen of worker {pid} before it closed itself");
    }
}

/// Follows the workers through a trace. `Err`: what a closed one got, or should not want.
fn read(trace: &str) -> Result<BTreeMap<u32, Worker>, String> {
    let mut workers: BTreeMap<u32, Worker> = BTreeMap::new();
    // Thread → its worker; calls that were begun.
    let mut threads: BTreeMap<u32, u32> = BTreeMap::new();
    let mut begun: BTreeMap<u32, String> = BTreeMap::new();
    for line in trace.lines() {
        let (thread, call) = line.split_once(' ').expect("a number first");
        let thread: u32 = thread.parse().expect("a number");
        let call = call.trim_start();
        let whole;
        let call = if let Some(head) = call.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, head.to_owned());
            // Whoever begins to be a worker is one, whatever else runs meanwhile.
            head
        } else if let Some((_, tail)) = call.split_once(" resumed>") {
            whole = begun.remove(&thread).unwrap_or_default() + tail;
            &whole
        } else {
            call
        };
        if call.starts_with("execve(") && call.contains("\"worker\"") && !threads.contains_key(&thread) {
            threads.insert(thread, thread);
            workers.insert(thread, Worker::default());
            continue;
        }
        let Some(&of) = threads.get(&thread) else { continue };
        let worker = workers.get_mut(&of).expect("a worker");
        let Some((_, result)) = call.rsplit_once(" = ") else { continue };
        let succeeded = !result.starts_with('-') && !result.starts_with('?');
        if call.starts_with("clone") {
            if let (true, Ok(new)) = (succeeded, result.trim().parse()) {
                threads.insert(new, of);
                worker.threads += 1;
            }
        } else if call.starts_with("seccomp(SECCOMP_SET_MODE_FILTER") {
            worker.closed |= succeeded;
        } else if worker.closed {
            let known = ASKED_FOR.iter().any(|part| call.contains(part));
            if succeeded {
                return Err(format!("a closed worker got what it asked for: {line}"));
            } else if !(call.starts_with("open") && known) {
                return Err(format!("a closed worker asked for more than libraries do: {line}"));
            }
        } else if call.starts_with("open") && succeeded {
            worker.before += 1;
        }
    }
    Ok(workers)
}

#[test]
fn a_trace_in_which_a_closed_worker_opens_a_file_is_refused() {
    let start = "7 execve(\"/proc/self/exe\", [\"sqlfs\", \"worker\"], 0x1 /* 0 vars */) = 0\n\
                 7 openat(AT_FDCWD, \"/lib/libc.so.6\", O_RDONLY) = 3\n\
                 7 seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=3, filter=0x1}) = 0\n\
                 7 clone(child_stack=0x1) = 8\n";
    let with = |line: &str| format!("{start}{line}\n");
    let good = read(&with("8 openat(AT_FDCWD, \"/sys/kernel/mm\", O_RDONLY) = -1 EPERM (no)"));
    assert_eq!(good.map(|workers| workers.len()), Ok(1));
    for bad in [
        "8 openat(AT_FDCWD, \"/sys/kernel/mm\", O_RDONLY) = 4",
        "7 openat(AT_FDCWD, \"/home/x\", O_RDONLY) = -1 EPERM (Operation not permitted)",
        "8 execve(\"/bin/sh\", [\"sh\"], 0x1) = -1 EPERM (Operation not permitted)",
        "8 socket(AF_INET, SOCK_STREAM, 0) = 5",
    ] {
        assert!(read(&with(bad)).is_err(), "{bad}");
    }
}
