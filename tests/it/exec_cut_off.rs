//! Scripts that do not end by themselves: by a cause in the files, in time or outside.

use std::fmt::Write as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use sqlfs::clock;
use sqlfs::exec::{BashInterpreter, Control, End, Interpreter, Job, LiveEvent, Output, OutputChunk, Stream};
use sqlfs::fs::{ContentSource, ContentUnavailable, Fatal, Mode, Quota};
use sqlfs::ids::Sha256;
use tokio::sync::mpsc;

use crate::support::scripts::{INTERPRETER, QUOTA, Sandbox};

/// Far above what a busy machine needs, far below how long the scripts would run.
const SOON: Duration = Duration::from_secs(5);

const FOREVER: [&str; 6] = [
    "while :; do :; done",
    "i=0; while ((1)); do ((i++)); i=0; done",
    "sleep 50",
    "sleep 50 | cat",
    "sleep 50 & sleep 50 & wait",
    "while true; do echo y; done > /dev/null",
];

/// Waits until the job's thread has ended it: it lets go of the output last.
async fn thread_is_back(output: &Arc<Output>, what: &str) {
    let start = clock::now();
    while Arc::strong_count(output) > 1 {
        assert!(start.elapsed() < SOON, "{what}: the script still runs");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Writes a file and then goes on without end.
fn forever(sandbox: &Sandbox, script: &str) -> Job {
    sandbox.job(&format!("echo begun; echo x > f\n{script}"))
}

#[tokio::test]
async fn a_timeout_ends_everything_and_keeps_the_output() {
    for script in FOREVER {
        let sandbox = Sandbox::new();
        let mut job = forever(&sandbox, script);
        job.timeout = Duration::from_millis(300);
        let output = job.output.clone();
        let start = clock::now();
        let ran = { sandbox }.run_job(job).await;
        assert_eq!(ran.ended.end, End::TimedOut, "{script}");
        assert!(start.elapsed() < SOON, "{script}: {:?}", start.elapsed());
        assert!(ran.ended.duration >= Duration::from_millis(300), "{script}: {:?}", ran.ended.duration);
        assert!(ran.ended.changes.delta.is_empty(), "{script}");
        assert_eq!(ran.stdout(), "begun\n", "{script}");
        thread_is_back(&output, script).await;
    }
}

/// A job whose output arrives in the receiver.
fn live(mut job: Job, room: usize) -> (Job, LiveOutput) {
    let (to, from) = mpsc::channel(room);
    job.output = Arc::new(Output::live(16 << 20, to));
    (job, LiveOutput(from))
}

/// Live output, piece by piece.
struct LiveOutput(mpsc::Receiver<LiveEvent>);

impl LiveOutput {
    async fn recv(&mut self) -> Option<OutputChunk> {
        match self.0.recv().await? {
            LiveEvent::Output(chunk) => Some(chunk),
            LiveEvent::Started => panic!("the session says that, not the interpreter"),
        }
    }
}

#[tokio::test]
async fn output_is_live_and_a_cancel_ends_everything() {
    for script in FOREVER {
        let sandbox = Sandbox::new();
        let (job, mut output) = live(forever(&sandbox, script), 16);
        let sink = job.output.clone();
        let control = Control::new();
        let running = tokio::spawn({
            let control = control.clone();
            async move { INTERPRETER.run(job, control).await }
        });
        // The script will not end by itself: what comes now came while it ran.
        let chunk = output.recv().await.expect("live output");
        assert_eq!((chunk.stream, chunk.data.as_ref()), (Stream::Stdout, &b"begun\n"[..]), "{script}");
        let start = clock::now();
        control.cancel();
        let ended = running.await.expect("no panic");
        assert!(start.elapsed() < SOON, "{script}: {:?}", start.elapsed());
        assert_eq!(ended.end, End::Cancelled, "{script}");
        assert!(ended.changes.delta.is_empty(), "{script}");
        thread_is_back(&sink, script).await;
    }
}

#[tokio::test]
async fn a_cancel_before_the_start_prevents_it() {
    let control = Control::new();
    control.cancel();
    let ended = INTERPRETER.run(Sandbox::new().job("echo x > f"), control).await;
    assert_eq!(ended.end, End::Cancelled);
    assert!(ended.changes.delta.is_empty());
}

#[tokio::test]
async fn a_large_sort_does_not_hold_up_its_caller() {
    let mut sandbox = Sandbox::new();
    let mut lines = String::new();
    for n in 0..2_000_000_u64 {
        let _ = writeln!(lines, "{}", n.wrapping_mul(6_364_136_223_846_793_005));
    }
    sandbox.edit(|files| files.write("/home/user/lines", lines.as_bytes()).unwrap());
    let mut job = sandbox.job("sort lines lines lines lines | sort -r | sort > sorted");
    job.timeout = Duration::from_millis(200);
    let start = clock::now();
    let ran = sandbox.run_job(job).await;
    assert_eq!(ran.ended.end, End::TimedOut);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_reader_that_is_behind_holds_the_script_up() {
    let script = "for i in {1..1000}; do printf '%01000d' $i; done";
    let sandbox = Sandbox::new();
    let (mut job, unread) = live(sandbox.job(script), 4);
    job.timeout = Duration::from_millis(500);
    let ended = INTERPRETER.run(job, Control::new()).await;
    assert_eq!(ended.end, End::TimedOut, "nobody reads");
    drop(unread);

    let (job, mut output) = live(sandbox.job(script), 4);
    let read = tokio::spawn(async move {
        let mut total = 0;
        while let Some(chunk) = output.recv().await {
            total += chunk.data.len();
        }
        total
    });
    assert_eq!(INTERPRETER.run(job, Control::new()).await.end, End::Exited(0));
    assert_eq!(read.await.expect("no panic"), 1_000_000);
}

#[tokio::test]
async fn dropping_the_future_ends_the_script_and_frees_the_thread() {
    let one = BashInterpreter::new(1);
    let sandbox = Sandbox::new();
    for script in FOREVER {
        let (job, mut output) = live(forever(&sandbox, script), 16);
        let sink = job.output.clone();
        let mut running = Box::pin(one.run(job, Control::new()));
        tokio::select! {
            _ = &mut running => panic!("{script} does not end by itself"),
            chunk = output.recv() => assert!(chunk.is_some(), "{script}"),
        }
        drop(running);
        thread_is_back(&sink, script).await;
        // The only thread is there again.
        let start = clock::now();
        let ended = one.run(sandbox.job("true"), Control::new()).await;
        assert_eq!(ended.end, End::Exited(0), "{script}");
        assert!(start.elapsed() < SOON, "{script}: {:?}", start.elapsed());
    }
}

/// A content that cannot be read until the test lets go of it.
struct Stuck {
    entered: Mutex<Sender<()>>,
    release: Mutex<Receiver<()>>,
}

impl Stuck {
    /// The source; what tells that a reader is in it; what lets all readers out.
    fn new() -> (Arc<Self>, Receiver<()>, Sender<()>) {
        let ((entered, is_in), (let_go, release)) = (channel(), channel());
        (Arc::new(Self { entered: Mutex::new(entered), release: Mutex::new(release) }), is_in, let_go)
    }
}

impl ContentSource for Stuck {
    fn read(&self, _: &Sha256, size: u64) -> Result<Bytes, ContentUnavailable> {
        self.entered.lock().unwrap().send(()).unwrap();
        // An error means that the test has dropped its end.
        let _ = self.release.lock().unwrap().recv();
        Ok(Bytes::from(vec![b'x'; usize::try_from(size).unwrap()]))
    }
}

fn with_stuck_file(content: &Arc<Stuck>, script: &str) -> Job {
    let mut sandbox = Sandbox::new();
    sandbox.edit(|files| files.write("/home/user/stuck", b"12345").unwrap());
    let mut job = sandbox.job(script);
    job.content = content.clone();
    job
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stuck_threads_are_replaced_and_their_work_is_void() {
    const THREADS: usize = 2;
    let interpreter = BashInterpreter::new(THREADS);
    let (content, is_in, let_go) = Stuck::new();
    let is_in = Arc::new(Mutex::new(is_in));
    let mut outputs = Vec::new();
    for _ in 0..=THREADS {
        let job = with_stuck_file(&content, "echo before; echo x > f; cat stuck; echo after; echo y > g");
        outputs.push(job.output.clone());
        let control = Control::new();
        let running = tokio::spawn({
            let (interpreter, control) = (interpreter.clone(), control.clone());
            async move { interpreter.run(job, control).await }
        });
        let is_in = is_in.clone();
        let entered = tokio::task::spawn_blocking(move || is_in.lock().unwrap().recv());
        entered.await.unwrap().expect("the thread is in the read");
        let start = clock::now();
        control.cancel();
        let ended = running.await.expect("no panic");
        assert_eq!(ended.end, End::Cancelled);
        assert!(ended.changes.delta.is_empty());
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    }
    // More stuck threads than places: all places work, at the same time.
    let sandbox = Sandbox::new();
    let job = || sandbox.job("echo x > f; sleep 0.2");
    let (one, two) =
        tokio::join!(interpreter.run(job(), Control::new()), interpreter.run(job(), Control::new()));
    for ended in [one, two] {
        assert_eq!(ended.end, End::Exited(0));
        assert_eq!(ended.changes.changed, 1);
    }
    drop(let_go);
    // What the stuck ones still printed has no reader. (They end; nothing waits for them.)
    for output in outputs {
        assert!(!String::from_utf8_lossy(&output.take().stdout).contains("after"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_revokes_what_a_stuck_thread_still_does() {
    let interpreter = BashInterpreter::new(1);
    let (content, is_in, let_go) = Stuck::new();
    let control = Control::new();
    let job = with_stuck_file(&content, "cat stuck stuck stuck; echo x > f");
    let sink = job.output.clone();
    let running = tokio::spawn({
        let (interpreter, control) = (interpreter.clone(), control.clone());
        async move { interpreter.run(job, control).await }
    });
    let waiting = tokio::task::spawn_blocking(move || {
        is_in.recv().expect("the thread is in the read");
        is_in
    });
    let is_in = waiting.await.expect("no panic");
    control.cancel();
    // It comes back within the grace, and still nothing of it counts.
    drop(let_go);
    let ended = running.await.expect("no panic");
    assert_eq!(ended.end, End::Cancelled);
    assert!(ended.changes.delta.is_empty());
    // The command went on to its next file, which was refused before the content.
    thread_is_back(&sink, "cat").await;
    assert!(is_in.try_recv().is_err(), "a revoked working copy reads nothing more");
}

#[tokio::test]
async fn a_write_in_a_read_only_exec_fails_and_is_latched() {
    for (script, path) in [
        ("echo before; touch a", "/home/user/a"),
        ("echo before; echo x > b; echo y > c", "/home/user/b"),
        ("echo before; mkdir -p d/e || while :; do :; done", "/home/user/d"),
        ("echo before; rm -r /home/user; sleep 50", "/home/user"),
        ("echo before; mv /home/user /tmp/x; true", "/home/user"),
        ("echo before; ln -s x l 2>/dev/null; chmod 700 /tmp", "/home/user/l"),
    ] {
        let sandbox = Sandbox::new();
        let mut job = sandbox.job(script);
        job.mode = Mode::ReadOnly;
        let ran = { sandbox }.run_job(job).await;
        let End::Fs(Fatal::ReadOnly { path: first }) = &ran.ended.end else {
            panic!("{script}: {:?}", ran.ended.end)
        };
        assert!(path.starts_with(first.as_str()) || first.starts_with(path), "{script}: {first}");
        assert_eq!(ran.stdout(), "before\n", "{script}");
        assert!(
            script.contains("2>") || ran.stderr().contains("Read-only file system"),
            "{script}: {}",
            ran.stderr()
        );
        assert!(ran.ended.changes.delta.is_empty(), "{script}");
    }
}

#[tokio::test]
async fn reads_are_not_held_against_a_read_only_exec() {
    let mut sandbox = Sandbox::new();
    sandbox.run("mkdir d; echo x > d/f; ln -s d/f l").await;
    let mut job = sandbox
        .job("cat l; ls -R; find . -type f; grep -r x .; [ -e l ]; cat < d/f; cat nope; cd d; wc -c f");
    job.mode = Mode::ReadOnly;
    let ran = sandbox.run_job(job).await;
    assert_eq!(ran.ended.end, End::Exited(0));
    assert_eq!(ran.ended.cwd, "/home/user/d");
}

#[tokio::test]
async fn quotas_end_the_script() {
    let small = Quota { entries: 10, bytes: 1000, file_bytes: 500, memory: 1 << 20 };
    let cases: [(&str, Quota, Fatal, &str); 3] = [
        (
            "for i in {1..20}; do touch f$i; done",
            small,
            Fatal::Entries { limit: 10 },
            "No space left on device",
        ),
        (
            "for i in 1 2 3; do printf '%0400d' 1 > f$i; done",
            small,
            Fatal::Bytes { limit: 1000 },
            "No space left on device",
        ),
        (
            "for i in 1 2 3; do printf '%09000d' 1 > f$i; done",
            Quota { memory: 16_000, ..QUOTA },
            Fatal::Memory { limit: 16_000 },
            "Cannot allocate memory",
        ),
    ];
    for (script, quota, fatal, words) in cases {
        let mut sandbox = Sandbox::new();
        let mut job = sandbox.job(script);
        job.quota = quota;
        let ran = sandbox.run_job(job).await;
        assert_eq!(ran.ended.end, End::Fs(fatal), "{script}");
        assert!(ran.stderr().contains(words), "{script}: {}", ran.stderr());
        assert!(ran.ended.changes.delta.is_empty(), "{script}");
    }
    // A single file that is too large is an error of the command only.
    let mut sandbox = Sandbox::new();
    let mut job = sandbox.job("printf '%0600d' 1 > f; echo $?; echo ok > g");
    job.quota = small;
    let ran = sandbox.run_job(job).await;
    assert_eq!((&ran.ended.end, ran.stdout().as_str()), (&End::Exited(0), "1\n"));
    assert!(ran.stderr().contains("File too large"), "{}", ran.stderr());
}

struct Away;

impl ContentSource for Away {
    fn read(&self, _: &Sha256, _: u64) -> Result<Bytes, ContentUnavailable> {
        Err(ContentUnavailable)
    }
}

#[tokio::test]
async fn a_content_that_cannot_be_fetched_ends_the_script() {
    let mut sandbox = Sandbox::new();
    sandbox.edit(|files| files.write("/home/user/f", b"x").unwrap());
    let mut job = sandbox.job("cat f || echo never mind; echo x > g");
    job.content = Arc::new(Away);
    let ran = sandbox.run_job(job).await;
    assert_eq!(ran.ended.end, End::Fs(Fatal::ContentUnavailable));
    assert!(ran.ended.changes.delta.is_empty());
}

#[tokio::test]
async fn limits_of_the_engine_have_names() {
    for (script, name) in [
        ("while :; do :; done", "commands"),
        ("x=a; while :; do x=$x$x; done", "memory"),
        ("f() { f; }; f", "function_depth"),
        ("echo {1..999999999}", "script_size"),
    ] {
        let mut sandbox = Sandbox::new();
        let mut job = sandbox.job(&format!("echo x > f; {script}"));
        // The limit comes first however busy the machine is.
        job.timeout = Duration::from_mins(5);
        let ran = sandbox.run_job(job).await;
        let End::Limit { name: met, message } = &ran.ended.end else {
            panic!("{script}: {:?}", ran.ended.end)
        };
        assert_eq!(*met, name, "{script}: {message}");
        assert!(ran.ended.changes.delta.is_empty(), "{script}");
    }
}

#[tokio::test]
async fn output_beyond_its_limit_is_cut_and_flagged() {
    let sandbox = Sandbox::new();
    let mut job =
        sandbox.job("for i in {1..300}; do printf '%01000d' 1; done; printf '%01000d' 1 >&2; echo ok > f");
    job.output = Arc::new(Output::buffered(100_000));
    let ran = { sandbox }.run_job(job).await;
    assert_eq!(ran.ended.end, End::Exited(0));
    assert_eq!((ran.output.stdout.len(), ran.output.stdout_truncated), (100_000, true));
    assert_eq!((ran.output.stderr.len(), ran.output.stderr_truncated), (1_000, false));
    assert_eq!(ran.ended.changes.changed, 1);
}
