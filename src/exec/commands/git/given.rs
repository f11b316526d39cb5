//! Options of a command, in the words of git.

use super::failed::{Done, Failed};
use crate::exec::commands::options::{self, Given, Spec, Takes};

/// Reads options and operands. What follows `--` is given apart; `None` if there is none.
pub(super) fn read<'a>(
    name: &str,
    args: &'a [String],
    specs: &[Spec],
) -> Done<(Given<'a>, Option<Vec<&'a str>>)> {
    let end = args.iter().position(|arg| arg == "--");
    let (before, behind) = match end {
        Some(at) => (&args[..at], Some(args[at + 1..].iter().map(String::as_str).collect())),
        None => (args, None),
    };
    let given = options::parse(before, specs).map_err(|why| misused(name, &why, specs))?;
    Ok((given, behind))
}

/// Wrong usage: what is wrong, and which options there are.
pub(super) fn misused(name: &str, why: &str, specs: &[Spec]) -> Failed {
    let why = if let Some(option) = why.strip_prefix("unrecognized option '--") {
        format!("unknown option `{option}")
    } else if let Some(letter) = why.strip_prefix("invalid option -- '") {
        format!("unknown switch `{letter}")
    } else {
        why.to_owned()
    };
    let mut message = format!("error: {why}\nusage: git {name} [OPTIONS] [ARGS]\nthe options here are:");
    for (letter, long, takes) in specs {
        let value = if *takes == Takes::Nothing { "" } else { "=…" };
        match (letter.is_ascii_graphic(), long.is_empty()) {
            (true, true) => message += &format!(" -{letter}"),
            (true, false) => message += &format!(" -{letter}/--{long}{value}"),
            (false, _) => message += &format!(" --{long}{value}"),
        }
    }
    Failed { exit: 129, message }
}

/// A count.
pub(super) fn number(text: &str) -> Done<usize> {
    text.parse().map_err(|_| super::failed::fatal(format!("'{text}': not an integer")))
}

/// Options whose value may stand apart, or be missing at the end: it is put behind a `=`.
pub(super) fn joined(args: &[String], names: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for arg in args {
        match out.last_mut().filter(|last| names.contains(&last.as_str()) && !arg.starts_with('-')) {
            Some(last) => *last += &format!("={arg}"),
            None => out.push(arg.clone()),
        }
    }
    out
}
