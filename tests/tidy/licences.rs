//! Every package of Cargo.lock, for tests and builds too and on every platform, has a
//! licence that deny.toml allows, comes from crates.io, and is none that deny.toml bans.
//! `cargo deny` says the same and more; this needs nothing installed.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What deny.toml says.
struct Rules {
    allowed: BTreeSet<String>,
    /// Crate, and what it alone may have.
    exceptions: Vec<(String, String)>,
    banned: BTreeSet<String>,
}

/// Texts in quotes.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    text.split('"').skip(1).step_by(2).map(ToOwned::to_owned)
}

/// The lines of a list `name = [` up to its `]`, without comments.
fn list(section: &str, name: &str) -> Vec<String> {
    let begin = format!("\n{name} = [\n");
    let body = section.split_once(&begin).unwrap_or_else(|| panic!("deny.toml has no {name}")).1;
    let lines = body.lines().take_while(|line| *line != "]").map(str::trim);
    lines.filter(|line| !line.starts_with('#')).map(ToOwned::to_owned).collect()
}

fn section<'a>(toml: &'a str, name: &str) -> &'a str {
    let begin = format!("\n[{name}]");
    let body = toml.split_once(&begin).unwrap_or_else(|| panic!("deny.toml has no [{name}]")).1;
    body.split("\n[").next().unwrap_or_default()
}

impl Rules {
    fn read(toml: &str) -> Self {
        let licenses = section(toml, "licenses");
        let exception = |line: String| {
            let [name, licence] =
                quoted(&line).collect::<Vec<_>>().try_into().expect("a crate and a licence");
            (name, licence)
        };
        let banned = list(section(toml, "bans"), "deny");
        Self {
            allowed: list(licenses, "allow")
                .iter()
                .flat_map(|line| quoted(line).collect::<Vec<_>>())
                .collect(),
            exceptions: list(licenses, "exceptions").into_iter().map(exception).collect(),
            banned: banned.iter().filter_map(|line| quoted(line).next()).collect(),
        }
    }

    /// What is wrong with a package of `cargo metadata`.
    fn breaches(&self, package: &Value) -> Vec<String> {
        let text = |name: &str| package[name].as_str().unwrap_or_default();
        let (name, licence) = (text("name"), text("license"));
        let about = format!("{name} {}", text("version"));
        let mut breaches = Vec::new();
        if text("source") != CRATES_IO {
            breaches.push(format!("{about}: comes from {}, not from crates.io", package["source"]));
        }
        if self.banned.contains(name) {
            breaches.push(format!("{about}: deny.toml bans it"));
        }
        // `X+`, this version of X or a later one: X will do.
        let has = |id: &str| {
            let id = id.trim_end_matches('+');
            let own = |(of, licence): &(String, String)| of == name && licence == id;
            self.allowed.contains(id) || self.exceptions.iter().any(own)
        };
        match allows(licence, &has) {
            Some(true) => {}
            Some(false) => breaches.push(format!("{about}: deny.toml does not allow {licence}")),
            None => breaches.push(format!("{about}: its licence cannot be read: {licence:?}")),
        }
        breaches
    }
}

/// Whether an expression of SPDX is met by licences that `has` knows; `None` if it is none.
/// `WITH` binds closest, then `AND`, then `OR`, which older crates write as `/`.
fn allows(expression: &str, has: &dyn Fn(&str) -> bool) -> Option<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let met = either(&mut rest, has)?;
    rest.is_empty().then_some(met)
}

fn either(words: &mut &[&str], has: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut met = both(words, has)?;
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        met |= both(words, has)?;
    }
    Some(met)
}

fn both(words: &mut &[&str], has: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut met = one(words, has)?;
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        met &= one(words, has)?;
    }
    Some(met)
}

fn one(words: &mut &[&str], has: &dyn Fn(&str) -> bool) -> Option<bool> {
    let is_name = |word: &str| !["AND", "OR", "WITH", "(", ")"].contains(&word);
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let met = either(words, has)?;
            let [")", rest @ ..] = *words else { return None };
            *words = rest;
            Some(met)
        }
        [id, "WITH", exception, rest @ ..] if is_name(id) && is_name(exception) => {
            *words = rest;
            Some(has(&format!("{id} WITH {exception}")))
        }
        [id, rest @ ..] if is_name(id) => {
            *words = rest;
            Some(has(id))
        }
        _ => None,
    }
}

/// All packages but our own. Those of other platforms are fetched when they are not there.
fn packages() -> Vec<Value> {
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--all-features", "--format-version", "1"])
        .current_dir(super::root())
        .output()
        .expect("cargo runs");
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let mut metadata: Value = serde_json::from_slice(&cargo.stdout).expect("JSON");
    let Value::Array(mut packages) = metadata["packages"].take() else { panic!("no packages") };
    packages.retain(|package| package["name"] != env!("CARGO_PKG_NAME"));
    packages
}

#[test]
fn every_package_has_a_licence_that_is_allowed() {
    let toml = std::fs::read_to_string(super::root().join("deny.toml")).expect("deny.toml");
    let (rules, packages) = (Rules::read(&toml), packages());
    let lock = std::fs::read_to_string(super::root().join("Cargo.lock")).expect("Cargo.lock");
    assert_eq!(
        packages.len() + 1,
        lock.matches("[[package]]").count(),
        "not all of Cargo.lock was looked at"
    );
    super::none(&packages.iter().flat_map(|package| rules.breaches(package)).collect::<Vec<_>>());
    // What is allowed and not used is a door that nobody watches.
    for (name, _) in &rules.exceptions {
        assert!(packages.iter().any(|package| package["name"] == **name), "deny.toml: {name} is not used");
    }
}

#[test]
fn the_rule_can_fail() {
    let toml = "\n[licenses]\nallow = [\n  # \"GPL-3.0-only\",\n  \"MIT\",\n  \"ISC\",\n  \"A-2 WITH E\",\n]\n\
        exceptions = [\n  { crate = \"x\", allow = [\"MPL-2.0\"] },\n]\n[bans]\ndeny = [\n  { crate = \"bad\", reason = \"r\" },\n]\n";
    let rules = Rules::read(toml);
    let package = |name: &str, licence: Option<&str>, source: &str| serde_json::json!({"name": name, "version": "1", "license": licence, "source": source});
    let breaches = |name: &str, licence| rules.breaches(&package(name, licence, CRATES_IO)).len();
    for fine in [
        "MIT",
        "GPL-3.0-only OR MIT",
        "MIT/GPL-3.0-only",
        "MIT AND ISC",
        "(GPL-1 OR MIT) AND ISC",
        "MIT AND (ISC)",
        "A-2 WITH E",
        "GPL-1 AND GPL-2 OR MIT",
        "MIT+",
    ] {
        assert_eq!(breaches("a", Some(fine)), 0, "{fine}");
    }
    for bad in [
        "GPL-3.0-only",
        "MIT AND GPL-1",
        "GPL-1 OR GPL-2 AND MIT",
        "(GPL-1 OR GPL-2) AND MIT",
        "A-2",
        "MIT WITH E",
        "MPL-2.0",
        "",
        "MIT OR",
        "(MIT",
        "MIT)",
        "OR",
        "MIT ISC",
        "MIT WITH",
        "()",
    ] {
        assert_eq!(breaches("a", Some(bad)), 1, "{bad}");
    }
    assert_eq!(
        (breaches("a", None), breaches("x", Some("MPL-2.0+")), breaches("bad", Some("MIT"))),
        (1, 0, 1)
    );
    for source in ["git+https://github.com/a/b", "registry+https://example.org"] {
        assert_eq!(rules.breaches(&package("a", Some("MIT"), source)).len(), 1, "{source}");
    }
}
