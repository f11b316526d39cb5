//! Scripts made from a grammar, by us and by the machine's GNU bash: output, exit status
//! and the files afterwards are compared. README.md, "What differs from bash", lists the
//! causes of what is left.

use std::collections::BTreeMap;

use crate::support::beside_gnu::{Beside, Seen};
use crate::support::random::Random;
use crate::support::score;

const GRAMMAR: &str = include_str!("../data/differential/grammar.txt");
const SETUP: &str = include_str!("../data/differential/setup.sh");

/// Scripts of a long run, and the share of them that must be equal, in tenths of a percent.
const LONG: usize = 2_000;
const LONG_FLOOR: usize = 970;

/// The same of a run among the other tests; so few scripts meet rare causes more often.
const SHORT: usize = 300;
const SHORT_FLOOR: usize = 950;

/// The same scripts in every run; others with SQLFS_TEST_SEED.
const SEED: u64 = 20_240_229;

/// Rule → alternatives.
struct Grammar(BTreeMap<&'static str, Vec<&'static str>>);

impl Grammar {
    fn read() -> Self {
        let mut rules: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut rule = "";
        for line in GRAMMAR.lines().filter(|line| !line.starts_with('#')) {
            match line.strip_prefix("  ") {
                Some(alternative) => rules.entry(rule).or_default().push(alternative),
                // The alternative that is nothing.
                None if line.is_empty() && rules.get(rule).is_none_or(Vec::is_empty) => {
                    rules.entry(rule).or_default().push("");
                }
                None if line.is_empty() => {}
                None => rule = line,
            }
        }
        rules.remove("");
        Self(rules)
    }

    fn make(&self, rule: &str, random: &mut Random) -> String {
        let alternatives = self.0.get(rule).unwrap_or_else(|| panic!("no rule {rule}"));
        let mut rest = alternatives[random.below(alternatives.len() as u64) as usize];
        let mut made = String::new();
        while let Some((before, after)) = rest.split_once('«') {
            let (name, after) = after.split_once('»').expect("« has its »");
            made.push_str(before);
            made.push_str(&self.make(name, random));
            rest = after;
        }
        made.push_str(rest);
        made
    }
}

/// What differs, in words; nothing if all is equal.
fn difference(ours: &Result<Seen, String>, real: &Result<Seen, String>) -> Option<String> {
    let (ours, real) = match (ours, real) {
        (Ok(ours), Ok(real)) => (ours, real),
        (ours, real) if ours.is_err() && real.is_err() => return None,
        (Err(how), _) => return Some(format!("ours {how}")),
        (_, Err(how)) => return Some(format!("real {how}")),
    };
    let mut said = Vec::new();
    if ours.stdout != real.stdout {
        said.push(format!("    ours {:?}\n    real {:?}", ours.stdout, real.stdout));
    }
    if ours.exit != real.exit {
        said.push(format!("    exit: ours {}, real {}", ours.exit, real.exit));
    }
    for path in ours.files.keys().chain(real.files.keys().filter(|path| !ours.files.contains_key(*path))) {
        let [left, right] = [ours, real].map(|seen| seen.files.get(path));
        if left != right {
            let shown = |entry: Option<&(char, Vec<u8>, String)>| {
                entry.map(|(kind, content, same)| {
                    format!("{kind} {:?} {same}", String::from_utf8_lossy(content))
                })
            };
            said.push(format!("    {path}: ours {:?}\n      real {:?}", shown(left), shown(right)));
        }
    }
    if said.is_empty() {
        None
    } else {
        Some(format!(
            "{}\n    stderr: ours {:?}\n            real {:?}",
            said.join("\n"),
            ours.stderr,
            real.stderr
        ))
    }
}

#[tokio::test]
async fn most_scripts_do_what_they_do_in_gnu_bash() {
    let long = std::env::var_os("SQLFS_TEST_LONG").is_some();
    let (rounds, floor) = if long { (LONG, LONG_FLOOR) } else { (SHORT, SHORT_FLOOR) };
    #[expect(clippy::disallowed_methods, reason = "the seed of a run to repeat comes from the environment")]
    let seed = std::env::var("SQLFS_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(SEED);
    println!("SQLFS_TEST_SEED={seed}");
    let (grammar, beside) = (Grammar::read(), Beside::new(SETUP).await);
    let mut random = Random(seed);
    let mut equal = 0;
    for _ in 0..rounds {
        let script = grammar.make("script", &mut random).replace('⏎', "\n");
        match difference(&beside.ours(&script).await, &beside.real(&script)) {
            None => equal += 1,
            Some(said) => println!("differs: {script:?}\n{said}"),
        }
    }
    println!("{equal} of {rounds} scripts equal");
    if seed == SEED {
        let told_as = if long { "2,000 made from a grammar" } else { "300 made from a grammar" };
        score::hold(told_as, equal, rounds, rounds / 100);
    }
    assert!(equal * 1000 >= rounds * floor, "{equal} of {rounds} scripts are equal, too few");
}
