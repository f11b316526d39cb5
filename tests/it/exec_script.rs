//! A script from its first line to its change set: what it sees, prints and leaves.

use sqlfs::exec::End;
use sqlfs::fs::{Kind, Mode};

use crate::support::scripts::Sandbox;

/// Runs in a fresh sandbox; stdout, stderr.
async fn printed(script: &str) -> (String, String) {
    let ran = Sandbox::new().run(script).await;
    assert!(matches!(ran.ended.end, End::Exited(_)), "{:?}", ran.ended.end);
    (ran.stdout(), ran.stderr())
}

async fn stdout(script: &str) -> String {
    let (out, err) = printed(script).await;
    assert_eq!(err, "", "of {script}");
    out
}

#[tokio::test]
async fn a_script_prints_and_leaves_files() {
    let mut sandbox = Sandbox::new();
    let ran = sandbox.run("echo hi; echo err >&2; mkdir -p a/b; echo data > a/b/f; exit 7").await;
    assert_eq!((ran.stdout().as_str(), ran.stderr().as_str()), ("hi\n", "err\n"));
    assert_eq!(ran.ended.end, End::Exited(7));
    assert!(ran.ended.changes.changed > 0);
    let next = sandbox.run("cat a/b/f; pwd").await;
    assert_eq!(next.stdout(), "data\n/home/user\n");
    assert_eq!(next.ended.changes.changed, 0);
}

#[tokio::test]
async fn exit_codes_are_bytes() {
    for (script, code) in
        [("exit 0", 0), ("exit 255", 255), ("exit 300", 44), ("exit -1", 255), ("nope", 127)]
    {
        assert_eq!(Sandbox::new().run(script).await.ended.end, End::Exited(code), "{script}");
    }
}

#[tokio::test]
async fn a_syntax_error_is_an_ordinary_end() {
    let ran = Sandbox::new().run("if then fi").await;
    assert_eq!(ran.ended.end, End::Exited(2));
    assert_eq!(
        ran.stderr(),
        "bash: -c: line 1: syntax error near unexpected token `then'\nbash: -c: line 1: `if then fi'\n"
    );
    // bash reads a script line by line: what stands above the error has run.
    let ran = Sandbox::new().run("echo a > f; echo ran\nif then fi").await;
    assert_eq!((&ran.ended.end, ran.stdout().as_str()), (&End::Exited(2), "ran\n"));
    assert_eq!(ran.ended.changes.changed, 1);
}

#[tokio::test]
async fn args_stdin_env_and_directory_are_given() {
    let sandbox = Sandbox::new();
    let mut job = sandbox.job("echo \"$# $1 $2\"; read a; echo \"$a\"; cat; bash -c 'echo \"[$X]\"'; pwd");
    job.args = vec!["one two".to_owned(), "*".to_owned()];
    job.stdin = Some(b"first\nrest\n".to_vec());
    job.env = [("X", "a b"), ("SQLFS_FENCING_TOKEN", "7")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    job.cwd = "/tmp".to_owned();
    let ran = { sandbox }.run_job(job).await;
    assert_eq!(ran.stdout(), "2 one two *\nfirst\nrest\n[a b]\n/tmp\n");
}

#[tokio::test]
async fn no_stdin_is_an_empty_one() {
    assert_eq!(stdout("cat; read x || echo end").await, "end\n");
}

#[tokio::test]
async fn the_environment_of_a_child_shell_is_exported() {
    let mut sandbox = Sandbox::new();
    let mut job = sandbox.job("X=2; bash -c 'echo $X $HOME $USER'; printenv PATH; export -p | grep -c ' X='");
    job.env = [("X".to_owned(), "1".to_owned())].into();
    let ran = sandbox.run_job(job).await;
    assert_eq!(ran.stdout(), "2 /home/user user\n/usr/local/bin:/usr/bin:/bin\n1\n");
}

#[tokio::test]
async fn nothing_of_the_host_is_visible() {
    let out =
        stdout("whoami; hostname; uname -n; echo $$ $PPID $UID; echo ~; date +%Z; cat /etc/hostname").await;
    assert_eq!(out, "user\nsandbox\nsandbox\n1 0 1000\n/home/user\nUTC\nsandbox\n");
    let (_, err) = printed("cat /etc/shadow /proc/1/root/etc/passwd ../../../../etc/ld.so.cache").await;
    assert_eq!(err.matches("No such file or directory").count(), 3, "{err}");
}

#[tokio::test]
async fn debug_traces_without_moving_lines() {
    let sandbox = Sandbox::new();
    let mut job = sandbox.job("echo $LINENO\necho $LINENO");
    job.debug = true;
    let ran = { sandbox }.run_job(job).await;
    assert_eq!(ran.stdout(), "1\n2\n");
    assert_eq!(ran.stderr(), "+ echo 1\n+ echo 2\n");
}

#[tokio::test]
async fn the_last_directory_is_told() {
    for (script, cwd) in [
        ("cd /tmp", "/tmp"),
        ("(cd /tmp)", "/home/user"),
        ("eval 'cd /tmp'; f() { command cd ..; }; f", "/"),
        ("mkdir d; pushd d >/dev/null; builtin cd ..; cd - >/dev/null", "/home/user/d"),
        ("cd /tmp; exit 3", "/tmp"),
        ("cd nope", "/home/user"),
    ] {
        assert_eq!(Sandbox::new().run(script).await.ended.cwd, cwd, "{script}");
    }
}

#[tokio::test]
async fn a_directory_that_is_gone_is_replaced_with_a_warning() {
    let mut sandbox = Sandbox::new();
    let mut job = sandbox.job("pwd");
    job.cwd = "/home/user/gone".to_owned();
    let ran = sandbox.run_job(job).await;
    assert_eq!(ran.stdout(), "/home/user\n");
    assert_eq!(ran.ended.cwd, "/home/user");
    assert_eq!(ran.ended.warnings, ["the directory /home/user/gone does not exist; started in /home/user"]);
    assert_eq!(sandbox.run("pwd").await.ended.warnings, Vec::<String>::new());
}

#[tokio::test]
async fn bytes_pass_unchanged() {
    let every: Vec<u8> = (0..=255).chain([b'\n', 0, 0xff]).collect();
    let mut sandbox = Sandbox::new();
    sandbox.edit(|files| files.write("/home/user/bytes", &every).unwrap());
    let ran = sandbox.run("cat bytes; cat bytes >&2; cp bytes copy; cat < bytes > again").await;
    assert_eq!(ran.output.stdout, every);
    assert_eq!(ran.output.stderr, every);
    let files = sandbox.working_copy();
    assert_eq!(files.read("/home/user/copy").unwrap(), every);
    assert_eq!(files.read("/home/user/again").unwrap(), every);
    assert_eq!(Sandbox::new().run(r"printf 'a\0\377\n'").await.output.stdout, b"a\0\xff\n");
}

#[tokio::test]
async fn errors_have_the_words_of_bash() {
    let script = "touch f; mkdir d; ln -s l l; cat nope; cat d; cat f/x; cat l; mkdir d; mkdir f/x; \
        rmdir /home; echo > d; echo > nope/x; cd nope; : < nope; touch $(printf 'a%.0s' {1..256})";
    let (_, err) = printed(script).await;
    let reasons: Vec<&str> = err.lines().filter_map(|line| line.rsplit(": ").next()).collect();
    let (absent, not_dir) = ("No such file or directory", "Not a directory");
    assert_eq!(
        reasons,
        [
            absent,
            "Is a directory",
            not_dir,
            "Too many levels of symbolic links",
            "File exists",
            not_dir,
            "Directory not empty",
            "Is a directory",
            absent,
            absent,
            absent,
            "File name too long",
        ],
        "{err}"
    );
    assert!(!err.contains("os error"), "{err}");
}

#[tokio::test]
async fn names_that_are_not_utf8_are_refused() {
    // The engine's words for bytes that its strings cannot hold.
    let mut sandbox = Sandbox::new();
    let ran = sandbox
        .run("printf 'x\\377' > raw; touch \"$(cat raw)\"; mkdir \"$(cat raw)\"; mv raw \"$(cat raw)\"")
        .await;
    assert_eq!(
        ran.stderr().matches("Invalid or incomplete multibyte or wide character").count(),
        3,
        "{}",
        ran.stderr()
    );
    assert_eq!(sandbox.run("ls").await.stdout(), "raw\n");
}

#[tokio::test]
async fn modes_are_kept_on_rewrite_and_copied_to_new_files() {
    let mut sandbox = Sandbox::new();
    let script = "echo '#!/bin/bash' > run; echo 'echo ran $1' >> run; chmod 750 run; ./run 1; cp run new; ./new 2; \
        echo x > old; chmod 600 old; cp run old; sed -i s/ran/RAN/ run; ./run 3; echo 'echo y' > run; ./run; echo >> run";
    let ran = sandbox.run(script).await;
    assert_eq!((ran.stdout().as_str(), ran.stderr().as_str()), ("ran 1\nran 2\nRAN 3\ny\n", ""));
    let files = sandbox.working_copy();
    let mode = |name: &str| files.stat(&format!("/home/user/{name}"), true).unwrap().mode;
    assert_eq!(["run", "new", "old"].map(mode), [0o750, 0o750, 0o600]);
}

#[tokio::test]
async fn times_links_and_renames_arrive_in_the_files() {
    let mut sandbox = Sandbox::new();
    let script = "echo 1 > a; touch -d '2001-02-03 04:05:06 UTC' a; ln -s a l; mkdir d; mv a d/b; ln -s d/b l2; \
        cat l2; echo 2 >> l2; readlink l; cat d/b; [ -e l ] || echo dangling; [ -L l ] && echo link";
    assert_eq!(sandbox.run(script).await.stdout(), "1\na\n1\n2\ndangling\nlink\n");
    let files = sandbox.working_copy();
    assert_eq!(files.read_link("/home/user/l").unwrap().as_ref(), "a");
    assert_eq!(files.stat("/home/user/l", false).unwrap().kind, Kind::Symlink);
    sandbox.run("touch -d '2001-02-03 04:05:06 UTC' d/b").await;
    let mtime_ns = sandbox.working_copy().stat("/home/user/d/b", true).unwrap().mtime_ns;
    assert_eq!(mtime_ns, 981_173_106_000_000_000);
}

/// Devices in redirections and as operands; also in a read-only exec.
const DEVICES: &str = "cat /dev/stdin; echo e > /dev/stderr; echo t | tee /dev/stderr; echo n > /dev/null; \
    echo u | tee /dev/null; cat /dev/null; head -c 10 /dev/zero | wc -c; head -c 3 < /dev/zero | od -An -c; \
    head -c 7 /dev/urandom | wc -c; echo o > /dev/stdout; echo f >/dev/fd/1; exec 3>/dev/null; echo z >&3; \
    { echo a; echo b >&2; } &> /dev/null; wc -c < /dev/null; test -e /dev/null && test -w /dev/null && echo there";

#[tokio::test]
async fn devices_work_in_both_modes() {
    for mode in [Mode::ReadWrite, Mode::ReadOnly] {
        let sandbox = Sandbox::new();
        let mut job = sandbox.job(DEVICES);
        job.stdin = Some(b"in\n".to_vec());
        job.mode = mode;
        let ran = { sandbox }.run_job(job).await;
        assert_eq!(ran.ended.end, End::Exited(0), "{mode:?}: {}", ran.stderr());
        assert_eq!(ran.stdout(), "in\nt\nu\n10\n  \\0  \\0  \\0\n7\no\nf\n0\nthere\n", "{mode:?}");
        assert_eq!(ran.stderr(), "e\nt\n", "{mode:?}");
        assert_eq!(ran.ended.changes.changed, 0, "{mode:?}");
    }
}

#[tokio::test]
async fn a_link_to_dev_null_swallows_too() {
    let mut sandbox = Sandbox::new();
    let ran = sandbox
        .run("ln -s /dev/null n; echo x > n; echo y >> n; cat n; wc -c < /dev/null; rm /dev/null")
        .await;
    assert_eq!(ran.stdout(), "0\n");
    assert!(ran.stderr().contains("Operation not permitted"), "{}", ran.stderr());
    assert_eq!(sandbox.working_copy().read_link("/home/user/n").unwrap().as_ref(), "/dev/null");
}

#[tokio::test]
async fn devices_without_end_give_what_is_asked_for() {
    assert_eq!(
        stdout("head -c 5000000 /dev/zero | wc -c; head -c 1000000 /dev/urandom | wc -c").await,
        "5000000\n1000000\n"
    );
}

#[tokio::test]
async fn a_range_that_is_not_expanded_is_told() {
    let ran = Sandbox::new().run("for i in {1..10001}; do echo $i; done 2>/dev/null").await;
    assert_eq!(ran.stdout(), "{1..10001}\n", "when it expands, drop the warning");
    assert_eq!(ran.ended.warnings.len(), 1);
    assert!(ran.ended.warnings[0].contains("{1..10001}"), "{:?}", ran.ended.warnings);
}
