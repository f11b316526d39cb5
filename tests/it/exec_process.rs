//! Worker processes: what they are given, what they may keep, and what becomes of scripts
//! that they do not survive.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use sqlfs::clock;
use sqlfs::exec::{Control, End, Ended, Interpreter, ProcessInterpreter, Workers};
use sqlfs::fs::Mode;
use sqlfs::ids::Owner;

use crate::support::processes::children_of;
use crate::support::scripts::{Sandbox, workers};
use crate::support::server::send_signal;
use crate::support::{Server, TestStore};

fn interpreter(change: impl FnOnce(&mut Workers)) -> ProcessInterpreter {
    let mut workers = workers(4);
    change(&mut workers);
    ProcessInterpreter::new(workers)
}

async fn run(interpreter: &ProcessInterpreter, sandbox: &mut Sandbox, script: &str) -> (Ended, String) {
    let job = sandbox.job(script);
    let output = job.output.clone();
    let ended = interpreter.run(job, Control::new()).await;
    sandbox.apply(&ended.changes);
    (ended, String::from_utf8(output.take().stdout).unwrap())
}

/// A sandbox with this many small files.
fn with_files(count: usize) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.edit(|files| {
        for n in 0..count {
            files.write(&format!("/home/user/file-{n}"), format!("content {n}").as_bytes()).unwrap();
        }
    });
    sandbox
}

#[tokio::test]
async fn a_tree_reaches_a_worker_once_and_later_its_changes() {
    let interpreter = interpreter(|_| {});
    let mut sandbox = with_files(10_000);
    let mut sent = 0;
    let mut since = |interpreter: &ProcessInterpreter| {
        let before = std::mem::replace(&mut sent, interpreter.figures().sent_bytes);
        sent - before
    };
    let (_, out) = run(&interpreter, &mut sandbox, "ls | wc -l; echo new > file-7").await;
    assert_eq!(out, "10000\n");
    let whole = since(&interpreter);
    assert!(whole > 10_000 * 50, "the tree was sent: {whole} bytes");
    for (script, expected) in [
        ("cat file-7 file-8; rm file-9; mv file-10 moved", "new\ncontent 8"),
        ("cat moved; cat file-9 2>/dev/null || echo gone", "content 10gone\n"),
        ("mkdir d; cp file-1[0-9][0-9] d; ls d | wc -l", "100\n"),
        ("cat d/file-155 file-155; ls | wc -l", "content 155content 15510000\n"),
    ] {
        let (ended, out) = run(&interpreter, &mut sandbox, script).await;
        assert_eq!((out.as_str(), ended.end), (expected, End::Exited(0)), "{script}");
        let sent = since(&interpreter);
        assert!(sent < 20_000, "{script}: {sent} bytes for a few changed files");
    }
    // A change by somebody else, as a reload brings it.
    sandbox.edit(|files| files.write("/home/user/foreign", b"from another replica").unwrap());
    let (_, out) = run(&interpreter, &mut sandbox, "cat foreign").await;
    assert_eq!(out, "from another replica");
    assert!(since(&interpreter) < 2_000);
    // And a script that was cut off leaves nothing in the worker either.
    let mut job = sandbox.job("echo lost > file-1; rm file-2; sleep 50");
    job.timeout = Duration::from_millis(100);
    assert_eq!(interpreter.run(job, Control::new()).await.end, End::TimedOut);
    let (_, out) = run(&interpreter, &mut sandbox, "cat file-1 file-2").await;
    assert_eq!(out, "content 1content 2");
}

#[tokio::test]
async fn a_worker_serves_one_caller() {
    let interpreter = interpreter(|_| {});
    let sandbox = with_files(1000);
    let mut sent = Vec::new();
    for owner in ["a", "a", "b", "a", "b"] {
        let before = interpreter.figures().sent_bytes;
        let mut job = sandbox.job("ls > /dev/null");
        job.caller.owner = Owner(owner.into());
        assert_eq!(interpreter.run(job, Control::new()).await.end, End::Exited(0));
        sent.push(interpreter.figures().sent_bytes - before > 10_000);
    }
    // Who got a worker that had the tree was sent none.
    assert_eq!(sent, [true, false, true, false, false]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_takes_too_much_memory_ends_alone() {
    const LIMIT: u64 = 160 << 20;
    let dir = tempfile::tempdir().unwrap();
    let interpreter = interpreter(|workers| {
        workers.memory = LIMIT;
        workers.program = own_name(dir.path());
    });
    let (most, done) = watch_children(dir.path());
    let neighbour = {
        let interpreter = interpreter.clone();
        tokio::spawn(async move {
            let mut sandbox = Sandbox::new();
            run(&interpreter, &mut sandbox, "for i in {1..40}; do sleep 0.02; done; echo fine | tee f").await
        })
    };
    for script in [
        "x=$(head -c 30000000 /dev/zero | tr '\\0' a); y=$x$x$x$x$x$x; z=$y$y; echo ${#z}",
        "jq -n '[range(20000000)] | length'",
        "awk 'BEGIN { for (i = 0; i < 30000000; i++) a[i] = i; print length(a) }'",
    ] {
        let (ended, _) = run(&interpreter, &mut Sandbox::new(), script).await;
        let End::Limit { name, message } = &ended.end else { panic!("{script}: {:?}", ended.end) };
        assert_eq!(*name, "memory", "{script}: {message}");
        assert!(ended.changes.delta.is_empty());
    }
    let (ended, out) = neighbour.await.unwrap();
    assert_eq!((ended.end, out.as_str()), (End::Exited(0), "fine\n"));
    assert_eq!(ended.changes.changed, 1);
    done.store(true, Ordering::SeqCst);
    let most = most.load(Ordering::SeqCst);
    println!("{most} bytes at most, {:.3} of the limit", most as f64 / LIMIT as f64);
    assert!(most > LIMIT / 2, "the watch of this test saw the workers: {most}");
    assert!(most <= LIMIT + LIMIT / 10, "{most} bytes were held");
}

/// The largest anonymous memory of any worker of this process, looked at without a pause.
fn watch_children(dir: &Path) -> (Arc<AtomicU64>, Arc<AtomicBool>) {
    let dir = dir.to_owned();
    let (most, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (seen, end) = (most.clone(), done.clone());
    std::thread::spawn(move || {
        while !end.load(Ordering::SeqCst) {
            for pid in children(&dir) {
                let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or("0 kB");
                let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
                seen.fetch_max(kilobytes << 10, Ordering::SeqCst);
            }
            std::thread::yield_now();
        }
    });
    (most, done)
}

/// The worker program under a name of its own, by which its processes are told from those
/// of other tests.
fn own_name(dir: &Path) -> PathBuf {
    let name = dir.join("sqlfs");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sqlfs"), &name).unwrap();
    name
}

/// The processes of that name that this one has started and that live.
fn children(dir: &Path) -> BTreeSet<u32> {
    let is_ours = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(dir.as_os_str().as_encoded_bytes())
    };
    children_of("self").into_iter().filter(is_ours).collect()
}

/// Scripts that are inside one command for long.
const BUSY: [&str; 6] = [
    "for i in {1..40}; do seq 100000; done | sort -r | sort -n | sort -r > /dev/null",
    "jq -n 'last(range(1e12))'",
    "awk 'BEGIN { while (1) i++ }'",
    "head -c 3000000 /dev/zero | tr '\\0' a > f; grep -E '(a|aa)*(a|aa)*(a|aa)*b' f; grep -P '(a+)+$x' f; sleep 9",
    "sleep 50",
    "while :; do :; done",
];

#[tokio::test]
async fn a_script_ends_within_a_tenth_of_a_second_whatever_it_is_in() {
    let interpreter = interpreter(|_| {});
    for script in BUSY {
        let mut best = [Duration::MAX; 2];
        for _ in 0..3 {
            let mut job = Sandbox::new().job(&format!("echo begun; {script}"));
            job.timeout = Duration::from_millis(150);
            let (output, begun) = (job.output.clone(), clock::now());
            assert_eq!(interpreter.run(job, Control::new()).await.end, End::TimedOut, "{script}");
            best[0] = best[0].min(begun.elapsed().saturating_sub(Duration::from_millis(150)));
            // What the engine holds back inside a command that does not yield is lost.
            let seen = output.take().stdout;
            assert!(
                seen == b"begun\n" || seen.is_empty() && script.starts_with(char::is_alphabetic),
                "{script}: {seen:?}"
            );

            let control = Control::new();
            let running = interpreter.run(Sandbox::new().job(script), control.clone());
            let cancel = async {
                tokio::time::sleep(Duration::from_millis(150)).await;
                control.cancel();
                clock::now()
            };
            let (ended, cancelled) = tokio::join!(running, cancel);
            assert_eq!(ended.end, End::Cancelled, "{script}");
            best[1] = best[1].min(cancelled.elapsed());
        }
        println!("{best:?} after timeout, cancel: {script}");
        // The best of three: a busy machine can be late, a wait that is too long always is.
        assert!(best.iter().all(|time| *time <= Duration::from_millis(100)), "{script}: {best:?}");
    }
}

/// A program in place of a worker: it takes the first message, says that it is ready and,
/// when a script comes, says what it likes, in Python.
fn imposter(dir: &Path, says: &str) -> Workers {
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    let python = String::from_utf8(python.stdout).unwrap();
    let program = dir.join("imposter");
    let text = format!(
        "#!{python}
import os, signal, socket, struct, sys, time
line = socket.socket(fileno=0)
def take():
    length, = struct.unpack('<I', line.recv(4, socket.MSG_WAITALL))
    line.recv(length, socket.MSG_WAITALL)
def frame(kind, payload):
    line.sendall(struct.pack('<IB', len(payload) + 1, kind) + payload)
take()
frame(6, b'\\x93\\x92\\x01\\xc3\\xce' + struct.pack('>I', os.getpid()) + b'\\x92\\x00\\x00')
take()
{says}
time.sleep(50)
"
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Workers { program, ..workers(2) }
}

/// A frame `Ended` of a script that ended well, with this change set in MessagePack.
fn ended(delta: &str) -> String {
    // Ending, directory, microseconds, warnings, change set, known contents, worn.
    format!(r"frame(13, b'\x98\x81\xa6Exited\x00\xa1/\x01\x92\x00\x00\x90' + {delta} + b'\x90\xc2')")
}

#[tokio::test]
async fn a_worker_that_is_not_what_it_should_be_is_killed_and_nothing_is_applied() {
    const WRONG: &str = "the script's worker process gave a wrong answer";
    const DIED: &str = "the script's worker process died";
    // Inodes that begin (numbers as in a row), that end, names that begin, that end.
    let file = |ino: &str| format!(r"b'\x94\x91\x98{ino}\xa4File\xcd\x01\xa4\x00\x00\x01\xc0\xc0\x90'");
    let cases = [
        ("nothing, and ends", "sys.exit(3)".to_owned(), DIED),
        ("nothing, and dies by a signal", "os.kill(os.getpid(), 9)".to_owned(), DIED),
        ("no frame", r"line.sendall(b'HTTP/1.1 200 OK\r\n\r\n')".to_owned(), WRONG),
        ("a frame without end", r"line.sendall(b'\xff\xff\xff\xff\x0a' + bytes(100000))".to_owned(), WRONG),
        ("output that is too long", "frame(7, bytes(1 << 20))".to_owned(), WRONG),
        ("a kind that only servers say", "frame(3, b'x')".to_owned(), WRONG),
        ("no message", r"frame(13, b'\xc1\xc1')".to_owned(), WRONG),
        ("a list of four billion", r"frame(13, b'\x98\xdd\xff\xff\xff\xff')".to_owned(), WRONG),
        ("a content without its hash", "frame(12, b'short')".to_owned(), WRONG),
        ("more content than a script may hold", "while True: frame(12, bytes(64 << 20))".to_owned(), WRONG),
        (
            "a question for a content of nobody",
            r"frame(9, b'\x92\x03\xc4\x20' + bytes(32))".to_owned(),
            WRONG,
        ),
        ("a file without a name", ended(&format!(r"{} + b'\x90\x90'", file("\\x09"))), WRONG),
        (
            "a file of a number that is taken",
            { ended(&format!(r"{} + b'\x91\x93\x03\xa1f\x03\x90'", file("\\x03"))) },
            WRONG,
        ),
        (
            "a number far ahead",
            {
                let far = r"\xcf\x10\x00\x00\x00\x00\x00\x00\x00";
                ended(&format!(r"{} + b'\x91\x93\x03\xa1f{far}\x90'", file(far)))
            },
            WRONG,
        ),
        ("the name ..", ended(&format!(r"{} + b'\x91\x93\x03\xa2..\x09\x90'", file("\\x09"))), WRONG),
        ("the root gone", ended(r"b'\x94\x90\x91\x01\x90\x90'"), WRONG),
    ];
    for (what, says, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let interpreter = ProcessInterpreter::new(imposter(dir.path(), &says));
        let mut job = Sandbox::new().job("echo x > f");
        job.timeout = Duration::from_secs(20);
        let ended = interpreter.run(job, Control::new()).await;
        assert_eq!(ended.end, End::Failed(expected.into()), "{what}");
        assert!(ended.changes.delta.is_empty(), "{what}");
    }
    // The control: the same words, of a file that may be made, are applied.
    let dir = tempfile::tempdir().unwrap();
    let says = ended(&format!(r"{} + b'\x91\x93\x03\xa1f\x09\x90'", file("\\x09")));
    let interpreter = ProcessInterpreter::new(imposter(dir.path(), &says));
    let mut sandbox = Sandbox::new();
    let (done, _) = run(&interpreter, &mut sandbox, "true").await;
    assert_eq!((done.end, done.changes.changed), (End::Exited(0), 1));
    assert!(sandbox.tree.resolve("/home/user/f", false).is_ok());
    // In a script that may only read they are not.
    let interpreter = ProcessInterpreter::new(imposter(dir.path(), &says));
    let mut job = Sandbox::new().job("true");
    job.mode = Mode::ReadOnly;
    assert_eq!(interpreter.run(job, Control::new()).await.end, End::Failed(WRONG.into()));
}

#[tokio::test]
async fn a_worker_that_does_not_start_is_told_in_words() {
    let interpreter = interpreter(|workers| workers.program = "/nonexistent/sqlfs".into());
    let ended = interpreter.run(Sandbox::new().job("true"), Control::new()).await;
    assert_eq!(ended.end, End::Failed("the server has no worker process for the script".into()));
}

#[tokio::test]
async fn workers_end_with_their_interpreter() {
    let dir = tempfile::tempdir().unwrap();
    let interpreter = interpreter(|workers| workers.program = own_name(dir.path()));
    let ended: Ended = interpreter.run(Sandbox::new().job("true"), Control::new()).await;
    assert_eq!(ended.end, End::Exited(0));
    assert!(!children(dir.path()).is_empty());
    drop(interpreter);
    // Spare ones may be starting; those that come up see that nobody wants them.
    let begun = clock::now();
    while !children(dir.path()).is_empty() && begun.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(children(dir.path()).is_empty());
}

/// Clock ticks of processor time that a process has used.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// Over HTTP, as a client sees it.
#[tokio::test]
async fn the_death_of_a_worker_is_the_end_of_one_exec() {
    let memory = [("WORKER_MEMORY_BYTES", "160000000"), ("EXEC_MEMORY_BYTES", "64000000")];
    let server = Server::start_with(TestStore::sqlite(), &memory).await;
    let (victim, neighbour) = (server.api_as("victim").await, server.api_as("neighbour").await);
    let (one, other) = (victim.create().await, neighbour.create().await);
    victim.exec(&one, "echo kept > f").await;
    let wait = tokio::spawn({
        let neighbour = neighbour.clone();
        let script =
            "echo a > f; until [ -e /tmp/no ] || ((++i > 300)); do sleep 0.01; done; echo b >> f; cat f";
        async move { neighbour.stdout(&other, script).await }
    });
    let mut events = victim
        .live(
            &one,
            &json!({ "script": "echo lost > f; echo begun; while :; do :; done", "timeoutMs": 60000 }),
        )
        .await;
    assert_eq!(events.next().await.expect("an event").name, "stdout");
    // Its worker is the one that computes.
    let busy = loop {
        let mut workers: Vec<_> =
            children_of(&server.pid().to_string()).into_iter().map(|pid| (ticks(pid), pid)).collect();
        workers.sort_unstable();
        if let [.., (second, _), (first, pid)] = workers[..]
            && first > second + 20
        {
            break pid;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    send_signal(busy, libc::SIGKILL);
    let end = events.next().await.expect("an end");
    assert_eq!(
        (end.name.as_str(), &end.data["code"], &end.data["applied"]),
        ("error", &json!("INTERNAL"), &json!("no")),
        "{end:?}"
    );
    // Nothing of it is there, the next exec works, and nobody else noticed.
    assert_eq!(victim.stdout(&one, "cat f").await, "kept\n");
    assert_eq!(wait.await.unwrap(), "a\nb\n");
    // The same for a script that kills its own worker: by memory.
    let body = json!({ "script": "echo x > f; awk 'BEGIN { for (;;) a[i++] = i }'; echo y > g" });
    let reply = victim.try_exec(&one, &body).await;
    assert_eq!((reply.status, reply.json()["code"].as_str()), (507, Some("MEMORY_LIMIT")), "{reply:?}");
    assert_eq!(victim.stdout(&one, "cat f; ls").await, "kept\nf\n");
}
