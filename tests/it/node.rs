//! `node` and `sqlite3`: programs of the kind that agents write, beside the machine's own Node,
//! and how they end.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::support::programs::{all_print_what_this_machine_prints, difference, folder, scripts, with};
use crate::support::{Server, TestStore};

#[tokio::test]
async fn programs_print_what_the_real_node_prints() {
    let version = Command::new("node").arg("--version").output().expect("this test needs Node 20 on PATH");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    assert!(version.starts_with("v20."), "this test needs Node 20, not {version}");
    assert!(scripts("programs/javascript").len() >= 40);
    let server = Server::start(TestStore::sqlite()).await;
    all_print_what_this_machine_prints(&server.api().await, "javascript").await;
}

#[tokio::test]
async fn what_a_program_prints_leaves_while_it_runs() {
    for interpreter in ["process", "thread"] {
        let server = Server::start_with(TestStore::sqlite(), &[("INTERPRETER", interpreter)]).await;
        let api = server.api().await;
        let id = with(&api, "javascript").await;
        // Each would run for ever: what is seen was not printed at its end.
        for endless in
            ["for (;;);", "setInterval(() => {}, 1000)", "await new Promise(() => setInterval(() => {}, 9))"]
        {
            let code = format!("console.log('one'); console.error('two'); {endless}");
            let script = format!("echo zero; node --input-type=module -e \"{code}\"");
            let mut live = api.live(&id, &json!({"script": script, "timeoutMs": 60_000})).await;
            let (mut stdout, mut stderr) = (String::new(), String::new());
            while stdout != "zero\none\n" || stderr != "two\n" {
                let event = live.next().await.expect("an event");
                let text = event.data["data"].as_str().unwrap_or_default();
                match event.name.as_str() {
                    "stdout" => stdout += text,
                    "stderr" => stderr += text,
                    _ => panic!("{interpreter}: {endless}: {event:?}"),
                }
            }
        }
        // In order with what stands around it, wherever it goes.
        for (script, out) in [
            (
                "echo a; node -e 'console.log(1); console.error(2); console.log(3)' 2>&1; echo b",
                "a\n1\n2\n3\nb\n",
            ),
            ("node -e 'console.log(1); console.error(2)' > f 2>&1; cat f", "1\n2\n"),
            ("node -e 'console.log(1); console.error(2)' 2>/dev/null >> f; cat f", "1\n2\n1\n"),
            ("x=$(node -p 6*7); echo \"<$x>\"; { node -p 1; node -p 2; } > g; cat g", "<42>\n1\n2\n"),
            (
                "node -p 1 | cat; echo in | node -e 'console.log(fs.readFileSync(0, \"utf8\").trim() + 1)'",
                "1\nin1\n",
            ),
            (
                "node -e 'for (let i = 0; ; i++) console.log(i)' | head -n 2; echo ${PIPESTATUS[0]}",
                "0\n1\n141\n",
            ),
            (
                "node -e 'process.stdout.write(\"x\".repeat(3e6))' | wc -c; node -e 'process.exit(3)'; echo $?",
                "3000000\n3\n",
            ),
            ("f() { node -p 5; }; f; (node -p 6) ; node -p 7 & wait; node -p 8 >&2 2>/dev/null", "5\n6\n7\n"),
        ] {
            assert_eq!(api.stdout(&id, script).await, out, "{interpreter}: {script}");
        }
        // Who prints without an end is held to what a program may print.
        let full = api.exec(&id, "node -e 'for (;;) console.log(\"x\".repeat(1e6))' > /dev/null").await;
        assert_eq!(full["exitCode"], 134, "{full}");
        assert!(full["stderr"].as_str().unwrap().contains("printed more than"), "{full}");
    }
}

/// The expectations were written by Node 20, whose types another tool (SWC) had taken out;
/// those of `stdin_eval` by hand.
#[tokio::test]
async fn typescript_prints_what_it_prints_without_its_types() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let programs = scripts("programs/typescript");
    assert!(programs.len() >= 16, "{}", programs.len());
    for (name, script) in programs {
        let file = folder("programs/typescript").join(format!("{name}.out"));
        let expected = fs::read_to_string(file).expect("expectations");
        let ours = api.exec(&with(&api, "javascript").await, &script).await;
        let stdout = ours["stdout"].as_str().unwrap_or_default();
        assert!(stdout == expected, "{name}: {}\n{}", difference(stdout, &expected), ours["stderr"]);
    }
}

#[tokio::test]
async fn what_is_no_type_is_refused_with_its_place() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = with(&api, "javascript").await;
    let unsupported = "SyntaxError [ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX]: TypeScript";
    for (source, place, message) in [
        ("const a: number = 1;\nenum Color { Red }\n", "a.ts:2:1", format!("{unsupported} enum is not")),
        (
            "class A {\n  constructor(private x: number) {}\n}\n",
            "a.ts:2:15",
            format!("{unsupported} parameter property"),
        ),
        ("namespace N {\n  export const x = 1;\n}\n", "a.ts:1:1", format!("{unsupported} namespace")),
        ("let a = 1;\nlet b: = 2;\n", "a.ts:2:8", "SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]".to_owned()),
        ("let s: string = 'open;\n", "a.ts:1:17", "SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]".to_owned()),
    ] {
        api.put(&id, "/home/user/a.ts", source).await;
        for script in [
            "node a.ts",
            "node --check a.ts",
            "node -e \"require('./a.ts')\"",
            "node --input-type=module -e \"import './a.ts'\"",
        ] {
            let reply = api.exec(&id, script).await;
            let stderr = reply["stderr"].as_str().expect("stderr");
            assert_eq!((&reply["exitCode"], &reply["stdout"]), (&json!(1), &json!("")), "{source}: {reply}");
            assert!(
                stderr.contains(&message) && stderr.contains(place),
                "{script}: {message} {place} in {stderr}"
            );
        }
    }
    for (script, part) in [
        ("echo 'x' > a.tsx; node a.tsx", "ERR_UNKNOWN_FILE_EXTENSION"),
        (
            "mkdir -p node_modules/p; echo 'export const a: number = 1' > node_modules/p/index.ts; echo '{\"exports\":\"./index.ts\"}' > node_modules/p/package.json; \
          echo 'import \"p\"' > m.mts; node m.mts",
            "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
        ),
        (
            "printf 'export type A = 1;\\nexport const b = 2;\\n' > t.ts; echo 'import { A } from \"./t.ts\"; console.log(A)' > u.mts; node u.mts",
            "A",
        ),
        ("yes '(' | head -c 900000 | tr -d '\\n' > deep.ts; node deep.ts", "ERR_INVALID_TYPESCRIPT_SYNTAX"),
        ("head -c 3000000 /dev/zero | tr '\\0' ';' > long.ts; node long.ts", "EXEC_MEMORY_BYTES"),
        ("node --experimental-transform-types a.ts", "bad option"),
    ] {
        let reply = api.exec(&id, script).await;
        assert!(reply["exitCode"] == 1 || reply["exitCode"] == 9, "{script}: {reply}");
        assert!(reply["stderr"].as_str().expect("stderr").contains(part), "{script}: {part} in {reply}");
    }
}

/// The expectations were written by SQLite's own shell, 3.40.1.
#[tokio::test]
async fn sqlite3_prints_what_its_own_shell_prints() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    for (name, script) in scripts("sqlite3") {
        let expected =
            fs::read_to_string(folder("sqlite3").join(format!("{name}.out"))).expect("expectations");
        let ours = api.exec(&api.create().await, &script).await;
        let stdout = ours["stdout"].as_str().unwrap_or_default();
        assert!(stdout == expected, "{name}: {}\n{}", difference(stdout, &expected), ours["stderr"]);
    }
}

#[tokio::test]
async fn sqlite3_reaches_no_file_but_its_own_and_ends_when_told() {
    // On a thread, where no guard of a process stands behind it.
    let server = Server::start_with(TestStore::sqlite(), &[("INTERPRETER", "thread")]).await;
    let api = server.api().await;
    let id = api.create().await;
    for sql in [
        "attach '/etc/passwd' as p",
        "attach '/tmp/x.db' as p",
        "vacuum into '/tmp/x.db'",
        "select load_extension('x')",
        "select readfile('/etc/passwd')",
        "pragma temp_store_directory = '/tmp'",
        "pragma temp_store = 1",
        "pragma hard_heap_limit = 1000",
        "pragma max_page_count = 1000000",
    ] {
        let ours = api.exec(&id, &format!("sqlite3 a.db \"{sql}\"; echo $?; ls")).await;
        let stdout = ours["stdout"].as_str().unwrap_or_default();
        assert!(stdout != "0\n" && stdout.len() <= 4, "{sql}: {ours}");
        assert!(ours["stderr"].as_str().unwrap_or_default().contains("rror"), "{sql}: {ours}");
    }
    for command in [".shell ls", ".system ls", ".open b.db", ".output |ls"] {
        let ours = api.exec(&id, &format!("sqlite3 a.db '{command}'")).await;
        assert_eq!(ours["exitCode"], 1, "{command}: {ours}");
    }
    let endless = "sqlite3 a.db 'create table t(a); insert into t with recursive c(n) as (select 1 union all select n+1 \
                   from c) select n from c'";
    let cut = api.try_exec(&id, &json!({"script": endless, "timeoutMs": 300})).await;
    assert!(cut.status == 408 || cut.status == 507, "{}", cut.text());
    let sum =
        "sqlite3 b.db 'with recursive c(n) as (select 1 union all select n+1 from c) select sum(n) from c'";
    api.try_exec(&id, &json!({"script": sum, "timeoutMs": 300})).await.error(408, "EXEC_TIMEOUT");
    assert_eq!(api.stdout(&id, "ls").await, "", "nothing of it is there");
    // A file that was there is written once, whole, and stays as it was when a script is cut off.
    api.exec(&id, "sqlite3 c.db 'create table t(a); insert into t values(1)'").await;
    let lost = "sqlite3 c.db 'insert into t values(2)'; while :; do :; done";
    api.try_exec(&id, &json!({"script": lost, "timeoutMs": 300})).await;
    assert_eq!(api.stdout(&id, "sqlite3 c.db 'select * from t'").await, "1\n");
}

#[tokio::test]
async fn it_is_there_only_where_the_sandbox_has_it() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = api.create().await;
    for name in ["node", "js-exec"] {
        let ours = api.exec(&id, &format!("{name} -p 1")).await;
        assert_eq!(ours["exitCode"], 127, "{ours}");
        let stderr = ours["stderr"].as_str().unwrap();
        assert!(stderr.starts_with(&format!("{name}: command not found\n")), "{stderr}");
        assert!(stderr.contains("\"javascript\": true"), "{stderr}");
    }
    assert_eq!(api.stdout(&with(&api, "javascript").await, "js-exec -p 1+1").await, "2\n");
}

#[tokio::test]
async fn a_program_that_is_cut_off_leaves_nothing_and_gives_its_place_back() {
    for interpreter in ["process", "thread"] {
        let env = [("MAX_CONCURRENT_JS", "1"), ("INTERPRETER", interpreter)];
        let server = Server::start_with(TestStore::sqlite(), &env).await;
        let api = server.api().await;
        let id = with(&api, "javascript").await;
        for endless in ["for(;;);", "setInterval(() => {}, 1000)", "/(a+)+$/.test('a'.repeat(40) + 'b')"] {
            let script = format!("echo 1 > f; node -e \"require('fs').writeFileSync('g', 'x'); {endless}\"");
            let cut = api.try_exec(&id, &json!({"script": script, "timeoutMs": 400})).await;
            cut.error(408, "EXEC_TIMEOUT");
            assert_eq!(api.stdout(&id, "ls; node -p 1").await, "1\n", "{interpreter}: {endless}");
        }
        // It may hold so much and no more, and that is its own error.
        let full = api.exec(&id, "node -e 'const a = []; for (;;) a.push(new Array(1000).fill(1.5))'").await;
        // Without room for an error it throws null, which a program may do as well.
        assert!(full["exitCode"] == 134 || full["exitCode"] == 1, "{full}");
        assert!(full["stderr"].as_str().unwrap().contains("EXEC_MEMORY_BYTES"), "{full}");
        // A full sandbox and a read-only script end it as they end any script.
        let read_only = json!({"script": "node -e \"try { fs.writeFileSync('h', '') } catch {} for (;;);\"", "readOnly": true});
        api.try_exec(&id, &read_only).await.error(422, "EREADONLY_VIOLATION");
        assert_eq!(api.stdout(&id, "ls; node -p 2").await, "2\n");
    }
}
