//! Which files are left alone: `.gitignore`, `.git/info/exclude`, `core.excludesFile`.

use super::failed::Done;
use super::join;
use super::repo::Repo;
use crate::exec::commands::glob;

/// One line.
struct Rule {
    /// Where it holds, from the root, with a slash at its end unless it is the root.
    dir: String,
    /// Its parts between slashes.
    parts: Vec<String>,
    /// Of whole paths below `dir`, not of names alone.
    anchored: bool,
    dirs_only: bool,
    /// Takes back what a line before it said.
    back: bool,
}

/// The rules that hold in a directory, the strongest last.
#[derive(Default)]
pub(super) struct Rules(Vec<Rule>);

impl Rules {
    /// Those that hold everywhere.
    pub(super) fn new(repo: &Repo<'_>, home: &str) -> Done<Self> {
        let mut rules = Self::default();
        let global = match repo.config.get("core.excludesfile") {
            Some(path) => path.strip_prefix("~/").map_or_else(|| path.to_owned(), |rest| join(home, rest)),
            None => join(home, ".config/git/ignore"),
        };
        for path in [global, repo.path("info/exclude")] {
            if let Ok(Some(data)) = repo.file(&path) {
                rules.add("", &String::from_utf8_lossy(&data));
            }
        }
        Ok(rules)
    }

    /// Takes in those of a directory. Gives what [`Rules::leave`] takes.
    pub(super) fn enter(&mut self, repo: &Repo<'_>, work: &str, dir: &str) -> Done<usize> {
        let before = self.0.len();
        let path = join(&join(work, dir), ".gitignore");
        // A link could lead anywhere; git does not follow it either.
        let is_file = repo.call.files.stat(&path, false).is_ok_and(|stat| stat.kind == crate::fs::Kind::File);
        if is_file && let Some(data) = repo.file(&path)? {
            self.add(dir, &String::from_utf8_lossy(&data));
        }
        Ok(before)
    }

    /// Drops those of a directory.
    pub(super) fn leave(&mut self, before: usize) {
        self.0.truncate(before);
    }

    fn add(&mut self, dir: &str, text: &str) {
        let dir = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        for line in text.trim_start_matches('\u{feff}').lines() {
            let mut line = line.strip_suffix('\r').unwrap_or(line);
            while line.ends_with(' ') && !line.ends_with("\\ ") {
                line = &line[..line.len() - 1];
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let back = line.starts_with('!');
            let line = if back { &line[1..] } else { line };
            let dirs_only = line.ends_with('/');
            let line = line.strip_suffix('/').unwrap_or(line);
            let anchored = line.contains('/');
            let parts: Vec<String> = line.trim_start_matches('/').split('/').map(str::to_owned).collect();
            if parts.iter().any(|part| !part.is_empty()) {
                self.0.push(Rule { dir: dir.clone(), parts, anchored, dirs_only, back });
            }
        }
    }

    /// Whether a file or directory is ignored; what is above it is not.
    pub(super) fn ignores(&self, path: &str, is_dir: bool) -> bool {
        let last = self.0.iter().rev().find(|rule| rule.matches(path, is_dir));
        last.is_some_and(|rule| !rule.back)
    }
}

impl Rule {
    fn matches(&self, path: &str, is_dir: bool) -> bool {
        if self.dirs_only && !is_dir {
            return false;
        }
        let Some(rest) = path.strip_prefix(&self.dir) else { return false };
        if !self.anchored {
            return glob::matches(&self.parts[0], rest.rsplit('/').next().unwrap_or(rest));
        }
        let names: Vec<&str> = rest.split('/').collect();
        segments(&self.parts, &names)
    }
}

/// Parts against names; `**` is any number of names. At the end it is one at least.
fn segments(parts: &[String], names: &[&str]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < names.len() {
        if parts.get(p).is_some_and(|part| part == "**") {
            if p + 1 == parts.len() {
                return true;
            }
            star = Some((p, n));
            p += 1;
        } else if parts.get(p).is_some_and(|part| glob::matches(part, names[n])) {
            (p, n) = (p + 1, n + 1);
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (p, n) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    p == parts.len()
}

#[cfg(test)]
mod tests {
    use super::Rules;

    #[test]
    fn rules_are_gits() {
        let mut rules = Rules::default();
        rules.add("", "# c\n*.o\n!keep.o\n/top\ndoc/*.txt\nbuild/\na/**/z\n**/deep\nin/**\n\\#x\nsp\\ \n");
        for (path, dir, ignored) in [
            ("a.o", false, true),
            ("x/a.o", false, true),
            ("keep.o", false, false),
            ("top", false, true),
            ("x/top", false, false),
            ("doc/a.txt", false, true),
            ("doc/x/a.txt", false, false),
            ("x/doc/a.txt", false, false),
            ("build", true, true),
            ("build", false, false),
            ("x/build", true, true),
            ("a/z", false, true),
            ("a/b/c/z", false, true),
            ("b/z", false, false),
            ("x/y/deep", false, true),
            ("deep", false, true),
            ("in", true, false),
            ("in/x", false, true),
            ("#x", false, true),
            ("sp ", false, true),
        ] {
            assert_eq!(rules.ignores(path, dir), ignored, "{path}");
        }
        rules.add("sub", "/only\n!a.o\n");
        assert!(rules.ignores("sub/only", false) && !rules.ignores("only", false));
        assert!(!rules.ignores("sub/a.o", false) && rules.ignores("a.o", false));
    }
}
