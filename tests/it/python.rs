//! `python3`: programs of the kind that agents write, beside the machine's own, and how they
//! end.

use std::process::Command;

use serde_json::json;

use crate::support::programs::{all_print_what_this_machine_prints, scripts, with};
use crate::support::{Server, TestStore};

#[tokio::test]
async fn programs_print_what_the_real_python_prints() {
    let version = Command::new("python3").arg("--version").output().expect("this test needs Python on PATH");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let minor: Option<u32> =
        version.strip_prefix("Python 3.").and_then(|rest| rest.split('.').next()?.parse().ok());
    assert!(minor.is_some_and(|minor| minor >= 11), "this test needs Python 3.11 or later, not {version}");
    assert!(scripts("programs/python").len() >= 60);
    let server = Server::start(TestStore::sqlite()).await;
    all_print_what_this_machine_prints(&server.api().await, "python").await;
}

#[tokio::test]
async fn it_is_there_only_where_the_sandbox_has_it() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    // A sandbox with the other language, whose worker cannot run Python.
    let id = with(&api, "javascript").await;
    for name in ["python3", "python"] {
        let ours = api.exec(&id, &format!("{name} -c 'print(1)'")).await;
        assert_eq!(ours["exitCode"], 127, "{ours}");
        let stderr = ours["stderr"].as_str().unwrap();
        assert!(stderr.starts_with(&format!("{name}: command not found\n")), "{stderr}");
        assert!(stderr.contains("\"python\": true"), "{stderr}");
    }
    assert_eq!(api.stdout(&with(&api, "python").await, "python -c 'print(1 + 1)'").await, "2\n");
}

#[tokio::test]
async fn a_program_that_is_cut_off_leaves_nothing_and_gives_its_place_back() {
    for interpreter in ["process", "thread"] {
        let env = [("MAX_CONCURRENT_PYTHON", "1"), ("INTERPRETER", interpreter)];
        let server = Server::start_with(TestStore::sqlite(), &env).await;
        let api = server.api().await;
        let id = with(&api, "python").await;
        for endless in [
            "while True: pass",
            "__import__('time').sleep(1000)",
            "__import__('re').match('(a+)+$', 'a' * 40 + 'b')",
            "sum(range(10 ** 15))",
            "sorted(range(10 ** 6), key=lambda x: -x); [0] * 10 ** 7; 9 ** 9 ** 7",
        ] {
            let script = format!("echo 1 > f; python3 -c \"open('g', 'w').write('x')\n{endless}\"");
            let cut = api.try_exec(&id, &json!({"script": script, "timeoutMs": 700})).await;
            cut.error(408, "EXEC_TIMEOUT");
            assert_eq!(api.stdout(&id, "ls; python3 -c 'print(1)'").await, "1\n", "{interpreter}: {endless}");
        }
        // It may hold so much and no more, and that is its own error.
        let full = api.exec(&id, "python3 -c 'a = []\nwhile True: a.append(bytes(1000000))'").await;
        assert_eq!(full["exitCode"], 1, "{full}");
        assert!(full["stderr"].as_str().unwrap().contains("MemoryError"), "{full}");
        // A full sandbox and a read-only script end it as they end any script.
        let read_only = json!({
            "script": "python3 -c \"\ntry: open('h', 'w').close()\nexcept OSError: pass\nwhile True: pass\"",
            "readOnly": true,
        });
        api.try_exec(&id, &read_only).await.error(422, "EREADONLY_VIOLATION");
        assert_eq!(api.stdout(&id, "ls; python3 -c 'print(2)'").await, "2\n");
    }
}

/// What there is not says so, and nothing hangs.
#[tokio::test]
async fn processes_sockets_and_threads_are_refused_in_words() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = with(&api, "python").await;
    for (program, says) in [
        ("import subprocess; subprocess.run(['ls'])", "starts no processes"),
        ("import os; os.system('ls')", "starts no processes"),
        ("import os; os.fork()", "fork"),
        ("import socket; socket.create_connection(('127.0.0.1', 1))", ""),
        ("import urllib.request; urllib.request.urlopen('http://127.0.0.1:1/')", ""),
        ("import threading; threading.Thread(target=print).start()", "thread"),
        ("import multiprocessing; multiprocessing.Process(target=print).start()", ""),
    ] {
        let ours = api.exec(&id, &format!("python3 -c \"{program}\"")).await;
        assert_eq!(ours["exitCode"], 1, "{program}: {ours}");
        let stderr = ours["stderr"].as_str().unwrap();
        println!("{program}: {}", stderr.lines().last().unwrap_or_default());
        assert!(stderr.contains("Error") && stderr.contains(says), "{program}: {stderr}");
    }
}

/// The guards stand around it: what a program may reach is what the sandbox has.
#[tokio::test]
async fn a_program_sees_the_sandbox_and_nothing_of_the_machine() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = with(&api, "python").await;
    let program = "import os\nfor p in ['/etc/shadow', '/proc/1/environ', '/proc/self/environ', '/root/.bashrc', '../../../../etc/shadow']:\n    try: print(p, open(p).read()[:20])\n    except OSError as e: print(type(e).__name__)\nprint(sorted(k for k in os.environ if 'SECRET' in k or 'DATABASE' in k))";
    let out = api.stdout(&id, &format!("python3 -c \"{program}\"")).await;
    assert_eq!(out, format!("{}[]\n", "FileNotFoundError\n".repeat(5)));
}
