//! The source is checked as text: who may import whom, which crate has one home, which
//! words stay out. DEVELOPER.md explains the rules; each has a test here that it can fail.

use std::path::{Path, PathBuf};

// A file beside this one would be a test program of its own.
#[path = "tidy/licences.rs"]
mod licences;

/// Longest source file, in lines. There are no exceptions.
const LONGEST_FILE: usize = 500;

/// Module → modules that it may import. `http` sees neither store nor lease, so no route
/// can go round the session's guards; the session sees traits, no driver.
const IMPORTS: &[(&str, &[&str])] = &[
    ("main", &["cli"]),
    ("lib", &[]),
    // exec: a worker process starts as a command.
    ("cli", &["app", "clock", "config", "exec", "http", "ids", "store", "telemetry"]),
    (
        "app",
        &[
            "broker",
            "cache",
            "clock",
            "config",
            "exec",
            "fs",
            "http",
            "ids",
            "lease",
            "random",
            "remote",
            "session",
            "store",
            "telemetry",
        ],
    ),
    // The router mounts mcp; mcp takes the routes' own validation and errors.
    ("http", &["clock", "config", "exec", "fs", "ids", "mcp", "metrics", "random", "session", "telemetry"]),
    ("mcp", &["clock", "config", "fs", "http", "ids", "metrics", "random", "session"]),
    (
        "session",
        &[
            "broker",
            "cache",
            "clock",
            "config",
            "exec",
            "fs",
            "ids",
            "lease",
            "metrics",
            "random",
            "store",
            "telemetry",
        ],
    ),
    ("broker", &["clock", "ids", "metrics"]),
    ("cache", &["fs", "ids", "remote"]),
    ("lease", &["clock", "ids", "metrics", "random", "remote"]),
    ("remote", &["clock"]),
    ("exec", &["clock", "fs", "ids"]),
    ("store", &["clock", "fs", "ids", "random"]),
    ("fs", &["ids"]),
    ("telemetry", &["config"]),
    ("config", &[]),
    ("clock", &[]),
    ("metrics", &[]),
    ("ids", &["random"]),
    ("random", &[]),
];

/// Crate → the only places (beginnings of paths below `src/`) that may name it.
const HOMES: &[(&str, &[&str])] = &[
    ("bashkit", &["exec/bash"]),
    ("sqlx", &["store/postgres", "store/sqlite", "store/open.rs"]),
    ("redis", &["cache/redis.rs", "lease/redis", "remote"]),
    ("deadpool_redis", &["remote"]),
    ("hmac", &["cache/snapshot.rs"]),
    ("lz4_flex", &["cache/snapshot.rs"]),
    ("axum", &["http", "mcp"]),
    ("rmcp", &["mcp"]),
    ("utoipa", &["http/openapi", "http/wire"]),
    ("hyper", &["broker/client.rs", "http"]),
    ("hyper_util", &["http"]),
    ("jsonwebtoken", &["http/auth.rs"]),
    ("landlock", &["exec/process/guards"]),
    ("seccompiler", &["exec/process/guards"]),
    ("clap", &["cli"]),
    ("corosensei", &["exec/commands/node/live.rs"]),
    ("tsv_ts", &["exec/commands/node/types.rs"]),
    ("reqwest", &["broker", "cli"]),
    ("webpki_roots", &["broker/client.rs"]),
    ("rustls", &["broker/client.rs", "main.rs", "store/postgres/tls.rs", "remote/server.rs"]),
    ("tracing_subscriber", &["telemetry"]),
    ("opentelemetry", &["telemetry"]),
    ("opentelemetry_sdk", &["telemetry"]),
    ("opentelemetry_otlp", &["telemetry"]),
    ("tracing_opentelemetry", &["telemetry"]),
    ("prometheus_client", &["metrics"]),
];

/// Text → where it is allowed (beginnings of paths below `src/`), and why not elsewhere.
const BANNED: &[(&str, &[&str], &str)] = &[
    ("todo!(", &[], "leave out what is not there"),
    ("unimplemented!(", &[], "leave out what is not there"),
    ("dbg!(", &[], "use tracing"),
    ("println!(", &["cli", "app"], "standard output belongs to the command line; use tracing"),
    ("std::env::", &["config.rs"], "the environment is read in config.rs"),
    ("SystemTime::now(", &["clock.rs"], "use clock::wall_ns"),
    ("Instant::now(", &["clock.rs"], "use clock::now"),
    ("new_v4(", &["random.rs"], "use random::uuid"),
    ("thread::sleep(", &[], "wait for the event itself, or use tokio::time::sleep"),
    // A worker that holds too much memory ends at once, whatever its threads do.
    (
        "process::exit(",
        &["exec/process/memory.rs"],
        "return an exit code, so that everything is closed in order",
    ),
    ("#[allow(", &[], "use #[expect(.., reason = ..)]"),
];

/// Library code, without comments and without its unit tests.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    lines.map(|(n, line)| (n + 1, without_comment(line)))
}

/// The line up to `//`, unless that stands in a URL.
fn without_comment(line: &str) -> &str {
    let start = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'));
    start.map_or(line, |(at, _)| &line[..at])
}

/// Top-level module of a path below `src/`.
fn module(path: &str) -> &str {
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs")
}

/// The identifiers that follow `prefix` in a line.
fn names_after<'a>(line: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(prefix).filter_map(move |(at, _)| {
        let before = line[..at].chars().next_back();
        let rest = &line[at + prefix.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        (!before.is_some_and(|c| c.is_alphanumeric() || c == '_') && end > 0).then_some(&rest[..end])
    })
}

/// Whether `name` is used as a crate: `name::`, `use name;`, `use name as`.
fn names_crate(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        let whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '"');
        let used = before.trim_end().ends_with("use") && (after.starts_with(';') || after.starts_with(" as"));
        whole && (after.starts_with("::") || used)
    })
}

fn import_breaches(path: &str, text: &str) -> Vec<String> {
    let own = module(path);
    let Some((_, allowed)) = IMPORTS.iter().find(|(name, _)| *name == own) else {
        return vec![format!("{path}: module {own} is not in the import table of tests/tidy.rs")];
    };
    let mut breaches = Vec::new();
    for (n, line) in code(text) {
        for prefix in ["crate::", "sqlfs::"] {
            for name in names_after(line, prefix) {
                let known = IMPORTS.iter().any(|(module, _)| *module == name);
                if known && name != own && !allowed.contains(&name) {
                    breaches.push(format!("{path}:{n}: {own} may not import {name}"));
                }
            }
        }
        if line.contains("use crate::{") || line.contains("use super::super") {
            breaches.push(format!(
                "{path}:{n}: one module a line, by its full path, so that this test can read it"
            ));
        }
    }
    breaches
}

fn home_breaches(path: &str, text: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    for (name, homes) in HOMES {
        if homes.iter().any(|home| path.starts_with(home)) {
            continue;
        }
        for (n, line) in code(text).filter(|(_, line)| names_crate(line, name)) {
            breaches.push(format!("{path}:{n}: only {homes:?} may name {name}: {}", line.trim()));
        }
    }
    breaches
}

fn banned_breaches(path: &str, text: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    for (word, allowed, why) in BANNED {
        if allowed.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        for (n, line) in code(text) {
            let found = line.match_indices(word).any(|(at, _)| {
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') || word.starts_with('#')
            });
            if found && !(*word == "println!(" && line.contains("eprintln!(")) {
                breaches.push(format!("{path}:{n}: {word} is out: {why}"));
            }
        }
    }
    breaches
}

fn shape_breaches(path: &str, text: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST_FILE {
        breaches.push(format!("{path}: {lines} lines; split it by behaviour (at most {LONGEST_FILE})"));
    }
    if !text.starts_with("//! ") {
        breaches.push(format!("{path}: begins with one sentence that says what it is for (//!)"));
    }
    breaches
}

/// Settings of a Postgres session outlive the transaction and travel, through a pooler, to
/// other tenants. Allowed are `SET LOCAL`, `SET CONSTRAINTS` and `set_config(.., true)`.
fn sql_breaches(path: &str, sql: &str) -> Vec<String> {
    let sql: String =
        sql.lines().map(|line| line.split("--").next().unwrap_or("").to_owned() + "\n").collect();
    let mut breaches = Vec::new();
    let spaced = sql.replace(';', " ; ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.eq_ignore_ascii_case("set")) {
        // Elsewhere than at the beginning of a statement it belongs to UPDATE or ALTER.
        let begins = at == 0 || is_one_of(words[at - 1], &[";", "BEGIN", "THEN", "ELSE", "LOOP"]);
        let next = words.get(at + 1).copied().unwrap_or_default();
        if begins && !is_one_of(next, &["LOCAL", "CONSTRAINTS", "TRANSACTION"]) {
            breaches.push(format!("{path}: {word} {next} without LOCAL"));
        }
    }
    let calls = sql.to_ascii_lowercase();
    for (at, _) in calls.match_indices("set_config(") {
        let call: String = calls[at..].chars().take_while(|c| *c != ')').collect();
        if call.trim_end().ends_with("false") {
            breaches.push(format!("{path}: set_config for the whole session: {call})"));
        }
    }
    breaches
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// The string literals of Rust code; escapes stay as they are written.
fn literals(text: &str) -> Vec<String> {
    let mut literals = Vec::new();
    let mut chars = text.chars().peekable();
    let mut previous = ' ';
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => drop(chars.by_ref().find(|c| *c == '\n')),
            // A quote as a char: '"'.
            '"' if previous != '\'' => {
                let mut literal = String::new();
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        c => literal.push(c),
                    }
                }
                literals.push(literal);
            }
            _ => {}
        }
        previous = c;
    }
    literals
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder that end so: path below the folder, text.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    fn walk(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, ending, found);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    let (folder, mut found) = (root().join(folder), Vec::new());
    walk(&folder, ending, &mut found);
    assert!(!found.is_empty(), "no {ending} below {}", folder.display());
    found.sort();
    let below = |path: &PathBuf| path.strip_prefix(&folder).expect("below").to_string_lossy().into_owned();
    found.iter().map(|path| (below(path), std::fs::read_to_string(path).expect("text"))).collect()
}

#[track_caller]
fn none(breaches: &[String]) {
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

fn check_source(rule: fn(&str, &str) -> Vec<String>) {
    let breaches: Vec<String> =
        files("src", ".rs").iter().flat_map(|(path, text)| rule(path, text)).collect();
    none(&breaches);
}

#[test]
fn modules_import_downwards() {
    check_source(import_breaches);
}

#[test]
fn crates_stay_in_their_homes() {
    check_source(home_breaches);
}

#[test]
fn banned_words_stay_out() {
    check_source(banned_breaches);
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    check_source(shape_breaches);
    let tests: Vec<String> =
        files("tests", ".rs").iter().flat_map(|(path, text)| shape_breaches(path, text)).collect();
    none(&tests);
}

#[test]
fn sql_sets_nothing_for_a_whole_session() {
    let mut breaches = Vec::new();
    for (path, text) in files("migrations", ".sql") {
        breaches.extend(sql_breaches(&path, &text));
    }
    for (path, text) in files("src/store", ".rs") {
        for literal in literals(&text) {
            breaches.extend(sql_breaches(&path, &literal));
        }
    }
    none(&breaches);
}

#[test]
fn every_dependency_says_why_it_is_there() {
    let cargo = std::fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml");
    none(&dependency_breaches(&cargo));
}

/// Each dependency has a comment line above it; `x-y` may share the one of `x`.
fn dependency_breaches(cargo: &str) -> Vec<String> {
    let (mut breaches, mut inside, mut said) = (Vec::new(), false, None);
    for line in cargo.lines() {
        match line.split_once(" = ") {
            _ if line.starts_with('[') => inside = line.ends_with("dependencies]"),
            _ if line.starts_with('#') => said = Some(""),
            Some((name, _)) if inside => {
                if !said.is_some_and(|family| name.starts_with(family)) {
                    breaches.push(format!("Cargo.toml: no line says why: {line}"));
                }
                said = Some(name);
            }
            _ => said = None,
        }
    }
    breaches
}

mod each_rule_can_fail {
    use super::*;

    #[test]
    fn imports() {
        for (path, text) in [
            ("http/files.rs", "use crate::store::Store;"),
            ("http.rs", "fn f(s: &crate::lease::Lease) {}"),
            ("mcp/read.rs", "use crate::store::Store;"),
            ("session/guard.rs", "use crate::http::router;"),
            ("fs/tree.rs", "use crate::clock;"),
            ("ids.rs", "use crate::fs::Tree;"),
            ("exec/pool.rs", "use crate::session::Service;"),
            ("store/model.rs", "use crate::{fs, session};"),
            ("newcomer.rs", ""),
        ] {
            assert_eq!(import_breaches(path, text).len(), 1, "{path}: {text}");
        }
        for (path, text) in [
            ("http/files.rs", "use crate::session::Service;\nuse crate::http::error;"),
            ("fs/tree.rs", "// see crate::store\nuse crate::ids::Ino;"),
            ("fs/tree.rs", "#[cfg(test)]\nmod tests {\n    use crate::clock;\n}"),
            ("session.rs", "use crate::store::Store;"),
        ] {
            none(&import_breaches(path, text));
        }
    }

    #[test]
    fn homes() {
        for (path, text) in [
            ("session.rs", "use sqlx::Row;"),
            ("session/guard.rs", "use redis::Script;"),
            ("exec/pool.rs", "let b: bashkit::Bash;"),
            ("session/sse.rs", "    pub use axum;"),
            ("http.rs", "x(hyper::Body)\n"),
        ] {
            // http is hyper's home, so that one is asked elsewhere.
            let path = if text.contains("hyper") { "app.rs" } else { path };
            assert_eq!(home_breaches(path, text).len(), 1, "{path}: {text}");
        }
        for (path, text) in [
            ("exec/bash.rs", "use bashkit::Bash;"),
            ("app.rs", "use crate::lease::redis::RedisLeases;"),
            ("exec/bash/hooks.rs", "use bashkit::hooks;"),
            ("store/postgres/commit.rs", "sqlx::query(\"\")"),
            ("session.rs", "// sqlx::query is elsewhere\nlet my_sqlx::x = 1; \"sqlx::query\""),
        ] {
            none(&home_breaches(path, text));
        }
    }

    #[test]
    fn banned_words() {
        for (word, _, _) in BANNED {
            let line = format!("    {word}x");
            assert_eq!(banned_breaches("fs/x.rs", &line).len(), 1, "{word}");
            none(&banned_breaches("fs/x.rs", &format!("// {word}x")));
            none(&banned_breaches("fs/x.rs", &format!("#[cfg(test)]\n{line}")));
        }
        none(&banned_breaches("config.rs", "std::env::var(x)"));
        none(&banned_breaches("http/x.rs", "eprintln!(x)"));
    }

    #[test]
    fn shapes() {
        assert_eq!(shape_breaches("a.rs", &format!("//! x\n{}", "\n".repeat(LONGEST_FILE))).len(), 1);
        assert_eq!(shape_breaches("a.rs", "use x;").len(), 1);
        none(&shape_breaches("a.rs", "//! x\n"));
    }

    #[test]
    fn session_settings() {
        for sql in [
            "SET lock_timeout = '5s'",
            "set search_path to x;",
            "BEGIN; SET ROLE app; COMMIT",
            "DO $$ BEGIN SET jit = off; END $$",
            "SET SESSION AUTHORIZATION x",
            "SELECT set_config('app.owner', $1, false)",
        ] {
            assert_eq!(sql_breaches("x.sql", sql).len(), 1, "{sql}");
        }
        for sql in [
            "SET LOCAL lock_timeout = '5s'",
            "UPDATE a\nSET b = 1;",
            "SELECT set_config('app.owner', $1, true)",
            "-- SET x = 1\nSELECT 1",
            "ALTER ROLE a SET statement_timeout = '1s'",
        ] {
            none(&sql_breaches("x.sql", sql));
        }
        let rust = "let a = '\"'; // \"SET a = 1\"\nq(\"SET b = 1\")";
        assert_eq!(literals(rust), ["SET b = 1"]);
    }

    #[test]
    fn dependencies() {
        assert_eq!(dependency_breaches("[dependencies]\n# why\na = \"1\"\nb = \"1\"\n").len(), 1);
        none(&dependency_breaches("[package]\nname = \"x\"\n[dev-dependencies]\n# why\na = \"1\"\n"));
    }
}
