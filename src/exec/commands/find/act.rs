//! What an expression does, and where it prints.

use super::format::Format;
use crate::exec::commands::quote::shell_word;

/// Where something is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sink {
    Stdout,
    Stderr,
    /// One of [`super::run::Outs`].
    File(usize),
}

#[derive(Debug)]
pub(super) enum Act {
    /// The path, and what ends it.
    Print(Sink, u8),
    Printf(Sink, Format),
    List(Sink),
    Delete,
    Prune,
    Quit,
    /// One of [`super::Asked::execs`].
    Exec(usize),
}

/// Characters of a command line with `+`.
const MAX_CHARS: usize = 128 << 10;

/// A command with `{}` in it.
#[derive(Debug)]
pub(super) struct Exec {
    pub(super) words: Vec<String>,
    /// It runs in the directory of what was found.
    pub(super) in_dir: bool,
    /// `+`: with as many names as fit.
    pub(super) many: bool,
    /// `-ok`
    pub(super) asks: bool,
    /// Whether there is such a command, once it was looked for.
    pub(super) known: Option<bool>,
    /// Of `+`: what waits, and where it is to run.
    names: Vec<String>,
    size: usize,
    dir: String,
}

impl Exec {
    pub(super) fn new(words: Vec<String>, in_dir: bool, many: bool, asks: bool) -> Self {
        Self { words, in_dir, many, asks, known: None, names: Vec::new(), size: 0, dir: String::new() }
    }

    /// What tells whether there is the command; `None`: that shows when it runs.
    pub(super) fn search(&self) -> Option<String> {
        let name = &self.words[0];
        let word = shell_word(name);
        match (name.contains("{}"), name.contains('/')) {
            (true, _) => None,
            (false, false) => Some(format!("type -P -- {word} >/dev/null")),
            (false, true) if self.in_dir && !name.starts_with('/') => None,
            (false, true) => Some(format!("[ -e {word} ]")),
        }
    }

    /// The command for one name.
    pub(super) fn for_one(&self, name: &str, dir: &str) -> String {
        let words: Vec<String> =
            self.words.iter().map(|word| shell_word(&word.replace("{}", name))).collect();
        let input = if self.asks { " </dev/null" } else { "" };
        self.placed(format!("{}{input}", words.join(" ")), dir)
    }

    fn placed(&self, command: String, dir: &str) -> String {
        if self.in_dir { format!("(cd {} && {command})", shell_word(dir)) } else { command }
    }

    /// Whether what waits must run before this name can wait.
    pub(super) fn is_full(&self, name: &str, dir: &str) -> bool {
        let room = self.size + name.len() + 1 <= MAX_CHARS;
        !self.names.is_empty() && (!room || (self.in_dir && self.dir != dir))
    }

    pub(super) fn add(&mut self, name: &str, dir: &str) {
        if self.names.is_empty() {
            self.size = self.words.iter().map(|word| word.len() + 1).sum();
            dir.clone_into(&mut self.dir);
        }
        self.size += name.len() + 1;
        self.names.push(name.to_owned());
    }

    pub(super) fn waits(&self) -> bool {
        !self.names.is_empty()
    }

    /// The command for what waits, which waits no more.
    pub(super) fn for_all(&mut self) -> String {
        let names = std::mem::take(&mut self.names);
        let fixed = &self.words[..self.words.len() - 1];
        let words: Vec<String> = fixed.iter().chain(&names).map(|word| shell_word(word)).collect();
        self.placed(words.join(" "), &self.dir)
    }
}
