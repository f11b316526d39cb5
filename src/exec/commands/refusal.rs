//! Why a command does not begin, in the words of coreutils.

use super::{Answer, quote};

/// What is told instead of the work.
pub(super) enum Refusal {
    /// Wrong usage: where it is told how it is right, follows.
    Misused(String),
    /// What is wrong.
    Wrong(String),
    /// As [`Refusal::Misused`], where the exit is 1 whatever the command's own is.
    Choice(String),
    /// The exit, and all that is told: no command's name stands before it.
    Bare(u8, String),
    /// What was asked for: a help or a version, which is no failure.
    Told(&'static str),
}

impl Refusal {
    /// The answer of `command`, whose failures exit with `exit`.
    pub(super) fn answer(self, command: &str, exit: u8) -> Answer {
        let mut answer = Answer::default();
        match self {
            Self::Misused(message) => answer.misused(exit, command, &message),
            Self::Wrong(message) => answer.complain(exit, format!("{command}: {message}")),
            Self::Choice(message) => answer.misused(1, command, &message),
            Self::Bare(exit, text) => answer.complain(exit, text),
            Self::Told(text) => answer.stdout.extend_from_slice(text.as_bytes()),
        }
        answer
    }
}

/// What a word stands for: a name of `names`, or the beginning of a single one. Names of the
/// same meaning follow each other.
pub(super) fn choice<T: Copy + PartialEq>(
    option: &str,
    word: &str,
    names: &[(&str, T)],
) -> Result<T, Refusal> {
    if let Some((_, meant)) = names.iter().find(|(name, _)| *name == word) {
        return Ok(*meant);
    }
    let mut fitting = names.iter().filter(|(name, _)| name.starts_with(word)).map(|(_, meant)| *meant);
    let first = fitting.next();
    let what = match first {
        Some(meant) if fitting.all(|other| other == meant) => return Ok(meant),
        Some(_) => "ambiguous",
        None => "invalid",
    };
    let mut message =
        format!("{what} argument {} for {}\nValid arguments are:", quote::curly(word), quote::curly(option));
    let mut last = None;
    for (name, meant) in names {
        message += if last == Some(*meant) { ", " } else { "\n  - " };
        message += &quote::curly(name);
        last = Some(*meant);
    }
    Err(Refusal::Choice(message))
}

/// A whole number as coreutils read it; one that is too large is the largest.
pub(super) fn count(text: &str) -> Option<usize> {
    let digits = text.trim_start_matches([' ', '\t']);
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(usize::MAX))
}
