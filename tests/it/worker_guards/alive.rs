//! What the guards must leave alone: the interpreter and the runtime below it.

use std::os::unix::process::ExitStatusExt;

use sqlfs::exec::{Control, Interpreter, ProcessInterpreter};

use super::sqlfs;
use crate::support::scripts::{Sandbox, workers};

/// What is large, deep, long or asks for time and chance. (The recorded cases run in worker
/// processes, too: `cases.rs`.)
#[tokio::test]
async fn heavy_scripts_run_in_a_closed_process() {
    let interpreter = ProcessInterpreter::new(workers(1));
    let run = async |script: &str| {
        let job = Sandbox::new().job(script);
        let output = job.output.clone();
        let end = interpreter.run(job, Control::new()).await.end;
        (format!("{end:?}"), String::from_utf8_lossy(&output.take().stdout).into_owned())
    };
    let deep = "e='eval \"$e\"'; eval \"$e\"";
    assert!(run(deep).await.0.contains("stack"), "recursion ends at the guard before it");
    // Long enough to be parsed on a thread that starts now.
    let long = "true\n".repeat(20_000) + "echo end";
    for (script, stdout) in [
        (
            "seq 100000 | sort -r | sort -n | tail -1; seq 9000 | awk '{s+=$1} END {print s}'",
            "100000\n40504500\n",
        ),
        ("jq -n '[range(200000)] | length'; jq -n 'reduce range(1000000) as $i (1; [.]) | 1'", "200000\n1\n"),
        ("seq 50000 > f; gzip -k f; gunzip -c f.gz | cmp - f && tar czf t.tgz f && tar tzf t.tgz", "f\n"),
        (
            "[ $(date +%s) -gt 1700000000 ] && TZ=Europe/Paris date -d @0 +%H; sleep 0.05; echo $RANDOM | wc -l",
            "01\n1\n",
        ),
        ("for i in 1 2 3; do (sleep 0.01) & done; wait; echo done", "done\n"),
        (&long, "end\n"),
    ] {
        let (end, out) = run(script).await;
        assert_eq!((end.as_str(), out.as_str()), ("Exited(0)", stdout), "{script:.80}");
    }
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
