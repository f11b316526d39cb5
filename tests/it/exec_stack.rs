//! Scripts that would overflow a stack. An overflow aborts the process, so each group of
//! probes runs in a child: this test binary again, with one ignored test.

use std::process::Command;
use std::time::Duration;

use crate::support::scripts::Sandbox;

/// What a probe must come to: text in the `Debug` form of its end.
type Probe = (&'static str, String, &'static str);

const REFUSED: &str = "name: \"nesting\"";
/// Any end will do, as long as it is one.
const ANY: &str = "";

fn probe(name: &'static str, script: impl Into<String>, end: &'static str) -> Probe {
    (name, script.into(), end)
}

/// `word` many times, then `true`.
fn chain(name: &'static str, word: &str, times: usize) -> Probe {
    probe(name, format!("{}true", word.repeat(times)), ANY)
}

/// A file `f` with at least `times` times `unit`, made by doubling.
fn file_of(unit: &str, times: usize) -> String {
    let doublings = "cat f f > g; mv g f; ".repeat(times.div_ceil(1024).next_power_of_two().ilog2() as usize);
    format!("printf '%s' '{}' > f; {doublings}", unit.repeat(1024))
}

fn jq(name: &'static str, unit: &str, times: usize, end: &'static str) -> Probe {
    probe(name, format!("jq -n '{}1'", unit.repeat(times)), end)
}

fn recursion() -> Vec<Probe> {
    let nested = (0..40).fold("true".to_owned(), |inner, _| format!("$(echo {inner})"));
    vec![
        probe("eval", r#"e='eval "$e"'; eval "$e""#, "name: \"stack\""),
        probe("function", "f() { f; }; f", "function_depth"),
        probe("function in $()", "f() { echo $(f); }; f", "function_depth"),
        probe("function in a subshell", "f() { (f); }; f", "function_depth"),
        probe("function in a pipe", "f() { f | cat; }; f", ANY),
        probe("function in eval", "f() { eval f; }; f", "function_depth"),
        probe("function in timeout", "f() { timeout 5 f; }; f", ANY),
        probe("function in source", "f() { . <(echo f); }; f", ANY),
        probe("function in read loop", "f() { while read l; do f <<< x; done <<< x; }; f", "function_depth"),
        probe("fork bomb", ":(){ :|:& };:", ANY),
        probe("source", "echo '. ./s' > s; . ./s", "function_depth"),
        probe("script", "echo './s' > s; chmod +x s; ./s", ANY),
        probe("bash script", "echo 'bash ./s' > s; bash ./s", ANY),
        probe("bash -c", "export e='bash -c \"$e\"'; bash -c \"$e\"", ANY),
        probe("env bash -c", "export e='env bash -c \"$e\"'; bash -c \"$e\"", ANY),
        probe("timeout bash -c", "export e='timeout 9 bash -c \"$e\"'; bash -c \"$e\"", ANY),
        probe("trap", "trap 'kill -USR1 $$' USR1; kill -USR1 $$", ANY),
        probe("debug trap", "trap 'eval $BASH_COMMAND' DEBUG; true", ANY),
        probe("error trap", "set -E; f() { false; }; trap f ERR; false", ANY),
        probe("prompt", "PS4='${PS4@P}'; set -x; echo ${PS4@P}", "prompt_depth"),
        probe("command not found", "command_not_found_handle() { zzz; }; zzz", ANY),
        probe("mapfile", "seq 9 > f; cb() { mapfile -C cb -c 1 x < f; }; cb", ANY),
        probe("variable", "a=a; echo $((a)); a='b+1'; b='a+1'; echo $((a)); x='x[$x]'; echo $((x))", ANY),
        probe("nameref", "declare -n a=b b=a; echo $a", ANY),
        probe("substitution", format!("echo {nested}"), ANY),
        probe("make", "printf 'a:\\n\\t$(MAKE) a\\n' > Makefile; make", ANY),
        probe("find -exec", "mkdir d; find d -exec find d -exec find d \\; \\;", ANY),
    ]
}

fn chains() -> Vec<Probe> {
    let mut probes = vec![
        probe("time", "time ".repeat(100_000) + "true", REFUSED),
        probe("time with options", "time -p ! ".repeat(100_000) + "true", REFUSED),
        probe("time in continued lines", "ti\\\nme ".repeat(100_000) + "true", REFUSED),
        probe("time in eval", r#"x=$(printf 'time %.0s' {1..9000}); x="$x$x$x"; eval "$x true""#, REFUSED),
        probe(
            "time in bash -c",
            r#"x=$(printf 'time %.0s' {1..9000}); x="$x$x$x"; bash -c "$x true""#,
            REFUSED,
        ),
        probe(
            "time in a trap",
            r#"x=$(printf 'time %.0s' {1..9000}); x="$x$x$x"; trap "$x true" EXIT"#,
            REFUSED,
        ),
        probe("time in source", "printf 'time %.0s' {1..9000} > g; cat g g g > f; . ./f", REFUSED),
        probe("time in bash", "printf 'time %.0s' {1..9000} > g; cat g g g > f; bash f", REFUSED),
        probe(
            "time in a script",
            "printf 'time %.0s' {1..9000} > g; cat g g g > f; chmod +x f; ./f",
            REFUSED,
        ),
        probe(
            "time in an alias",
            format!("shopt -s expand_aliases\nalias t='time '\n{}true", "t ".repeat(100_000)),
            REFUSED,
        ),
        // No level is too deep as long as the text is short.
        probe("time that is fine", "time ".repeat(1_000) + "true", "Exited(0)"),
        probe("time as data", "printf 'time %.0s' {1..9000} > g; cat g g g > f; wc -w f", "Exited(0)"),
    ];
    let words = [
        "command ",
        "builtin ",
        "env ",
        "exec ",
        "timeout 5 ",
        "nohup ",
        "xargs ",
        "nice ",
        "sudo ",
        "busybox ",
        "eval ",
    ];
    probes.extend(words.map(|word| chain(word, word, 4_000)));
    probes
}

fn syntax() -> Vec<Probe> {
    let openers = [
        "( ",
        "{ ",
        "$(",
        "`",
        "if ",
        "while ",
        "until ",
        "case x in x) ",
        "for x in 1; do ",
        "f() { ",
        "function f ",
        "coproc ",
        "! ",
        "[[ ( ",
        "[[ ! ",
        "((",
        "$((",
        "${x:-",
        "\"${x:-\"",
        "${x[",
        "a=(",
        "{a,",
        "<(",
        "a && ",
        "a | ",
        "a; ",
        "<<E ",
        "$'",
        "\"",
    ];
    let mut probes: Vec<Probe> = openers.map(|word| chain(word, word, 50_000)).into();
    probes.extend([
        probe("arithmetic", format!("echo $(({}1))", "(".repeat(50_000)), ANY),
        probe(
            "arithmetic signs",
            format!("echo $(({}1)); let '{}1'", "-".repeat(50_000), "!".repeat(50_000)),
            ANY,
        ),
        probe("[[ ( ( (", format!("[[ {} x ]]", "( ".repeat(50_000)), ANY),
        probe("here-document", format!("cat <<E\n{}\nE\n", "$(".repeat(50_000)), ANY),
        probe("brace expansion", format!("echo {}b{}", "{a,".repeat(2_000), "}".repeat(2_000)), ANY),
        probe("brace product", format!("echo {}", "{a,b}".repeat(40)), ANY),
        probe(
            "regular expression",
            format!("[[ aaa =~ {}a{} ]]", "(".repeat(50_000), ")".repeat(50_000)),
            ANY,
        ),
        probe(
            "extended glob",
            format!("shopt -s extglob; [[ aaa == {}a{} ]]", "+(".repeat(300), ")".repeat(300)),
            ANY,
        ),
    ]);
    probes
}

fn tools() -> Vec<Probe> {
    let many = 50_000;
    let mut probes = vec![
        jq("jq (", "(", many, REFUSED),
        jq("jq [", "[", many, REFUSED),
        jq("jq {", "{a:", many, REFUSED),
        jq("jq if", "if ", many, REFUSED),
        jq("jq def", "def f: ", many, REFUSED),
        jq("jq |", "1|", 60_000, ANY),
        jq("jq ,", "1,", 60_000, ANY),
        jq("jq -", "1-", 60_000, ANY),
        jq("jq try", "try ", 30_000, ANY),
        jq("jq if that fits", "if ", 40_000, ANY),
        jq("jq def that fits", "def f: ", 18_000, ANY),
        probe("jq -f", file_of("1|", 1 << 20) + "echo 1 >> f; jq -n -f f", REFUSED),
        probe("jq -nf", file_of("[", 1 << 20) + "echo 1 >> f; jq -nf ./f", REFUSED),
        probe("jq --from-file", file_of("[", 1 << 20) + "echo 1 >> f; jq -n --from-file f", REFUSED),
        probe("jq value", "jq -n 'reduce range(2000000) as $i (1; [.]) | 1'", ANY),
        probe("jq value of objects", "jq -n 'reduce range(1000000) as $i (1; {a: .}) | 1'", ANY),
        probe("jq function", "jq -n 'def f: 1 + f; f'; jq -n '[limit(3; repeat(1))]'", ANY),
        probe("jq input", file_of("[", 1 << 17) + "jq . f; jq -n input < f; yq . f", ANY),
        probe("find (", format!("find . {}", "\\( ".repeat(many)), REFUSED),
        probe("find !", format!("find . {} -name x", "! ".repeat(many)), REFUSED),
        probe("find -o", format!("find . {} -name x", "-name x -o ".repeat(many)), REFUSED),
        probe("find that fits", format!("find . {} -name x", "-name x -o ".repeat(5_000)), "Exited(0)"),
        probe("bc", format!("echo '{}1' | bc; bc <<< '{}1'", "(".repeat(100_000), "-".repeat(100_000)), ANY),
        probe("expr", format!("expr {} 1; expr {} 1", "\\( ".repeat(many), "1 + ".repeat(many)), REFUSED),
        probe(
            "test",
            format!(
                "[ {} ]; [ {} x ]; [ {} x ]",
                "\\( ".repeat(many),
                "! ".repeat(many),
                "x -o ".repeat(many)
            ),
            ANY,
        ),
        probe("yq", format!("echo a | yq '{}'", "(".repeat(many)), REFUSED),
        probe(
            "tree",
            "d=.; for i in {1..900}; do d=$d/a; done; mkdir -p $d; find . | wc -l; ls -R | wc -l; du | tail -1; \
            cp -r a b; grep -r x . ; shopt -s globstar; echo ** | wc -c; tar cf t a; rm -rf a b; tar xf t",
            ANY,
        ),
    ];
    let awk = |name, unit: &str| probe(name, format!("awk 'BEGIN{{print {}1}}'", unit.repeat(many)), ANY);
    probes.extend([
        awk("awk (", "("),
        awk("awk -", "- "),
        awk("awk !", "!"),
        awk("awk $", "$"),
        awk("awk ^", "1^"),
        awk("awk call", "f("),
        probe("awk function", "awk 'function f(x){return f(x+1)} BEGIN{f(1)}'", ANY),
        probe("awk if", format!("awk 'BEGIN{{{}x=1}}'", "if(1) ".repeat(many)), ANY),
        probe("sed {", format!("echo a | sed '{}'", "{".repeat(many)), ANY),
        probe(
            "patterns",
            format!(
                "echo a | grep -E '{0}'; echo a | grep -P '{0}'; echo a | sed -E 's/{0}//'",
                "(".repeat(many)
            ),
            ANY,
        ),
    ]);
    probes
}

fn probes(group: &str) -> Vec<Probe> {
    match group {
        "recursion" => recursion(),
        "chains" => chains(),
        "syntax" => syntax(),
        "tools" => tools(),
        other => panic!("no group {other}"),
    }
}

const GROUP: &str = "SQLFS_TEST_PROBES";

/// Runs one group when started by a test below.
#[tokio::test]
#[ignore = "started in a child process by the other tests"]
async fn child() {
    #[expect(clippy::disallowed_methods, reason = "how the parent names the group")]
    let group = std::env::var(GROUP).expect("started by a parent");
    for (name, script, _) in probes(&group) {
        eprintln!("probe: {name}");
        let mut sandbox = Sandbox::new();
        let mut job = sandbox.job(&script);
        job.timeout = Duration::from_secs(10);
        let ran = sandbox.run_job(job).await;
        eprintln!("ended: {name}: {:?}", ran.ended.end);
    }
}

fn in_a_child(group: &str) {
    let child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "exec_stack::child", "--ignored", "--nocapture"])
        .env(GROUP, group)
        .output()
        .expect("the child starts");
    let log = String::from_utf8_lossy(&child.stderr);
    let last = log.lines().rfind(|line| line.starts_with("probe: "));
    assert!(child.status.success(), "{:?} after {last:?}", child.status);
    let probes = probes(group);
    for (name, _, end) in &probes {
        let ended = format!("ended: {name}: ");
        let got = log.lines().find_map(|line| line.strip_prefix(ended.as_str()));
        assert!(got.is_some_and(|got| got.contains(end)), "{name}: {got:?}, expected {end:?}");
    }
    assert!(!probes.is_empty());
}

#[test]
fn recursion_from_command_to_command_is_stopped() {
    in_a_child("recursion");
}

#[test]
fn chains_of_words_are_stopped() {
    in_a_child("chains");
}

#[test]
fn deep_syntax_is_refused() {
    in_a_child("syntax");
}

#[test]
fn deep_programs_and_values_of_tools_are_refused() {
    in_a_child("tools");
}
