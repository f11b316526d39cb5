//! Times as `-printf` and `-ls` print them, in UTC.

use chrono::{DateTime, Utc};

/// A file whose time is older shows its year.
const RECENT_SECONDS: i64 = 6 * 30 * 86_400;
/// So far in the future a time may lie and still be one of now.
const AHEAD_SECONDS: i64 = 3600;

fn date(ns: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(ns)
}

/// GNU prints ten decimals, of which the last is a zero.
fn decimals(ns: i64) -> String {
    format!("{:09}0", ns.rem_euclid(1_000_000_000))
}

/// As of ctime(3), with decimals.
pub(super) fn whole(ns: i64) -> String {
    let date = date(ns);
    format!("{}.{} {}", date.format("%a %b %e %H:%M:%S"), decimals(ns), date.format("%Y"))
}

/// One directive of strftime(3), or of find: `@`, `+`.
pub(super) fn part(ns: i64, letter: char) -> String {
    let date = date(ns);
    let with = |format: &str| date.format(format).to_string();
    match letter {
        '@' => format!("{}.{}", ns.div_euclid(1_000_000_000), decimals(ns)),
        '+' => format!("{}.{}", with("%Y-%m-%d+%H:%M:%S"), decimals(ns)),
        'S' => format!("{}.{}", with("%S"), decimals(ns)),
        'T' | 'X' => format!("{}.{}", with("%H:%M:%S"), decimals(ns)),
        'c' => with("%a %b %e %H:%M:%S %Y"),
        'x' => with("%m/%d/%y"),
        'Z' => "UTC".to_owned(),
        'z' => "+0000".to_owned(),
        'n' => "\n".to_owned(),
        't' => "\t".to_owned(),
        'a' | 'A' | 'b' | 'B' | 'C' | 'd' | 'D' | 'e' | 'F' | 'g' | 'G' | 'h' | 'H' | 'I' | 'j' | 'k'
        | 'l' | 'm' | 'M' | 'p' | 'r' | 'R' | 's' | 'u' | 'U' | 'V' | 'w' | 'W' | 'y' | 'Y' => {
            with(&format!("%{letter}"))
        }
        other => format!("%{other}"),
    }
}

/// As in a line of `-ls`.
pub(super) fn listed(ns: i64, now_ns: i64) -> String {
    let age = now_ns.div_euclid(1_000_000_000) - ns.div_euclid(1_000_000_000);
    let recent = (-AHEAD_SECONDS..=RECENT_SECONDS).contains(&age);
    date(ns).format(if recent { "%b %e %H:%M" } else { "%b %e  %Y" }).to_string()
}
