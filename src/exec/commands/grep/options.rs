//! The command line of `grep`.

use super::FAILED;
use super::files::Globs;
use crate::exec::commands::options::{self, DIGIT, Given, HELP, Spec, Takes, VERSION};
use crate::exec::commands::refusal::{Refusal, choice};

const INCLUDE: char = '\u{3}';
const EXCLUDE: char = '\u{4}';
const EXCLUDE_FROM: char = '\u{5}';
const EXCLUDE_DIR: char = '\u{6}';
const LABEL: char = '\u{8}';
const COLOR: char = '\u{9}';
const BINARY_FILES: char = '\u{a}';
const LINE_BUFFERED: char = '\u{b}';
const SEPARATOR: char = '\u{c}';
const NO_SEPARATOR: char = '\u{e}';
const NO_IGNORE_CASE: char = '\u{f}';

/// In the order in which an ambiguous one is told.
const SPECS: &[Spec] = &[
    ('G', "basic-regexp", Takes::Nothing),
    ('E', "extended-regexp", Takes::Nothing),
    ('F', "fixed-regexp", Takes::Nothing),
    ('F', "fixed-strings", Takes::Nothing),
    ('P', "perl-regexp", Takes::Nothing),
    ('X', "", Takes::Argument),
    ('A', "after-context", Takes::Argument),
    ('B', "before-context", Takes::Argument),
    (BINARY_FILES, "binary-files", Takes::Argument),
    ('U', "binary", Takes::Nothing),
    ('b', "byte-offset", Takes::Nothing),
    ('C', "context", Takes::Argument),
    (COLOR, "color", Takes::Optional),
    (COLOR, "colour", Takes::Optional),
    ('c', "count", Takes::Nothing),
    ('D', "devices", Takes::Argument),
    ('d', "directories", Takes::Argument),
    (EXCLUDE, "exclude", Takes::Argument),
    (EXCLUDE_FROM, "exclude-from", Takes::Argument),
    (EXCLUDE_DIR, "exclude-dir", Takes::Argument),
    ('f', "file", Takes::Argument),
    ('l', "files-with-matches", Takes::Nothing),
    ('L', "files-without-match", Takes::Nothing),
    (SEPARATOR, "group-separator", Takes::Argument),
    (HELP, "help", Takes::Nothing),
    (INCLUDE, "include", Takes::Argument),
    ('i', "ignore-case", Takes::Nothing),
    ('y', "", Takes::Nothing),
    (NO_IGNORE_CASE, "no-ignore-case", Takes::Nothing),
    ('T', "initial-tab", Takes::Nothing),
    (LABEL, "label", Takes::Argument),
    (LINE_BUFFERED, "line-buffered", Takes::Nothing),
    ('n', "line-number", Takes::Nothing),
    ('x', "line-regexp", Takes::Nothing),
    ('m', "max-count", Takes::Argument),
    ('h', "no-filename", Takes::Nothing),
    (NO_SEPARATOR, "no-group-separator", Takes::Nothing),
    ('s', "no-messages", Takes::Nothing),
    ('Z', "null", Takes::Nothing),
    ('z', "null-data", Takes::Nothing),
    ('o', "only-matching", Takes::Nothing),
    ('q', "quiet", Takes::Nothing),
    ('r', "recursive", Takes::Nothing),
    ('R', "dereference-recursive", Takes::Nothing),
    ('e', "regexp", Takes::Argument),
    ('v', "invert-match", Takes::Nothing),
    ('q', "silent", Takes::Nothing),
    ('a', "text", Takes::Nothing),
    ('I', "", Takes::Nothing),
    ('u', "unix-byte-offsets", Takes::Nothing),
    ('V', "version", Takes::Nothing),
    ('H', "with-filename", Takes::Nothing),
    ('w', "word-regexp", Takes::Nothing),
    (DIGIT, "", Takes::Nothing),
];

const HELP_TEXT: &str = "\
Usage: grep [OPTION]... PATTERNS [FILE]...
Print the lines of each FILE that match one of PATTERNS, which are one per line.

Patterns: -G basic (the default), -E extended, -F plain text, -P as Perl's
  -e PATTERNS, -f FILE   patterns here, or in a file
  -i, --no-ignore-case   ignore case, or not
  -w, -x                 match whole words, whole lines only
  -v                     the lines that do not match
  -z                     lines end in a zero byte

Output: -c counts, -l and -L names with and without a match, -q nothing
  -o                     only what matches, each on its own line
  -m NUM                 stop after NUM lines
  -n, -b                 line numbers, byte offsets
  -H, -h, --label=NAME   file names or none, the name of standard input
  -Z, -T                 a zero byte behind names, a tab before lines
  -A, -B, -C NUM, -NUM   lines of context behind, before, around
      --group-separator=SEP, --no-group-separator
      --color[=WHEN]     never, always, auto (which is never)
  -s                     no messages about files that cannot be read

Files: -r below directories, -R through links as well
      --include=GLOB --exclude=GLOB --exclude-from=FILE --exclude-dir=GLOB
  -d ACTION, -D ACTION   read or skip directories, devices (-d recurse: -r)
  -a, -I, --binary-files=TYPE   binary files as text, not at all

Exit: 0 if a line was selected, 1 if none was, 2 after an error.
";

/// Which words the patterns are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Basic,
    Extended,
    Fixed,
    Perl,
}

/// What is told instead of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    No,
    Matching,
    Other,
}

/// What binary files are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Binary,
    Text,
    WithoutMatch,
}

/// What is done with directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directories {
    Read,
    Recurse,
    Skip,
}

#[derive(Debug)]
pub(super) struct Options<'a> {
    pub(super) syntax: Syntax,
    /// Given by `-e`; files with more, given by `-f`, in between.
    pub(super) patterns: Vec<Source<'a>>,
    pub(super) ignore_case: bool,
    pub(super) words: bool,
    pub(super) lines: bool,
    pub(super) invert: bool,
    pub(super) end: u8,
    pub(super) messages: bool,
    pub(super) most: u64,
    pub(super) offsets: bool,
    pub(super) numbers: bool,
    pub(super) with_names: bool,
    pub(super) label: &'a str,
    pub(super) only: bool,
    pub(super) quiet: bool,
    pub(super) count: bool,
    pub(super) names: Names,
    pub(super) binary: Binary,
    pub(super) directories: Directories,
    pub(super) skip_devices: bool,
    pub(super) follow: bool,
    pub(super) globs: Globs<'a>,
    pub(super) tab: bool,
    pub(super) null: bool,
    pub(super) before: Option<u64>,
    pub(super) after: Option<u64>,
    pub(super) separator: Option<&'a str>,
    pub(super) color: bool,
    /// Without operands the directory is searched, and its name left out.
    pub(super) implied: bool,
    pub(super) operands: Vec<&'a str>,
    pub(super) warnings: Vec<&'static str>,
}

/// Where patterns come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source<'a> {
    Text(&'a str),
    File(&'a str),
}

/// Wrong usage, as grep tells it.
fn misused(message: &str) -> Refusal {
    Refusal::Bare(FAILED, usage(message))
}

fn usage(message: &str) -> String {
    let usage = "Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.";
    if message.is_empty() { usage.to_owned() } else { format!("grep: {message}\n{usage}") }
}

impl<'a> Options<'a> {
    /// Reads them; `syntax` is that of the command's name.
    pub(super) fn of(args: &'a [String], syntax: Option<Syntax>) -> Result<Self, Refusal> {
        let given = options::parse(args, SPECS).map_err(|message| misused(&message))?;
        let mut options = Self {
            syntax: syntax.unwrap_or(Syntax::Basic),
            patterns: Vec::new(),
            ignore_case: false,
            words: false,
            lines: false,
            invert: false,
            end: b'\n',
            messages: true,
            most: u64::MAX,
            offsets: false,
            numbers: false,
            with_names: false,
            label: "(standard input)",
            only: false,
            quiet: false,
            count: false,
            names: Names::No,
            binary: Binary::Binary,
            directories: Directories::Read,
            skip_devices: false,
            follow: false,
            globs: Globs::default(),
            tab: false,
            null: false,
            before: None,
            after: None,
            separator: Some("--"),
            color: false,
            implied: false,
            operands: Vec::new(),
            warnings: Vec::new(),
        };
        options.read(&given, syntax)?;
        Ok(options)
    }

    fn read(&mut self, given: &Given<'a>, named: Option<Syntax>) -> Result<(), Refusal> {
        let (mut context, mut digits, mut names) = (None, None, None);
        let mut syntax = named;
        for &(letter, value) in &given.options {
            let word = value.unwrap_or_default();
            match letter {
                HELP => return Err(Refusal::Told(HELP_TEXT)),
                'V' | VERSION => return Err(Refusal::Told("grep (sqlfs), after GNU grep 3.8\n")),
                'E' | 'F' | 'G' | 'P' | 'X' => {
                    let meant = match (letter, word) {
                        ('E', _) | ('X', "egrep") => Syntax::Extended,
                        ('F', _) | ('X', "fgrep") => Syntax::Fixed,
                        ('G', _) | ('X', "grep") => Syntax::Basic,
                        ('P', _) | ('X', "perl") => Syntax::Perl,
                        _ => return Err(Refusal::Wrong(format!("invalid matcher {word}"))),
                    };
                    if syntax.is_some_and(|other| other != meant) {
                        return Err(Refusal::Wrong("conflicting matchers specified".to_owned()));
                    }
                    syntax = Some(meant);
                }
                'e' => self.patterns.push(Source::Text(word)),
                'f' => self.patterns.push(Source::File(word)),
                'i' | 'y' => self.ignore_case = true,
                NO_IGNORE_CASE => self.ignore_case = false,
                'w' => self.words = true,
                'x' => self.lines = true,
                'z' => self.end = 0,
                's' => self.messages = false,
                'v' => self.invert = true,
                'm' => self.most = most(word)?,
                'b' => self.offsets = true,
                'n' => self.numbers = true,
                'H' => names = Some(true),
                'h' => names = Some(false),
                LABEL => self.label = word,
                'o' => self.only = true,
                'q' => self.quiet = true,
                'c' => self.count = true,
                'l' => self.names = Names::Matching,
                'L' => self.names = Names::Other,
                'a' => self.binary = Binary::Text,
                'I' => self.binary = Binary::WithoutMatch,
                BINARY_FILES => {
                    self.binary = match word {
                        "binary" => Binary::Binary,
                        "text" => Binary::Text,
                        "without-match" => Binary::WithoutMatch,
                        _ => return Err(Refusal::Wrong("unknown binary-files type".to_owned())),
                    };
                }
                'd' => self.directories = directories(word)?,
                'D' => match word {
                    "read" => self.skip_devices = false,
                    "skip" => self.skip_devices = true,
                    _ => return Err(Refusal::Wrong("unknown devices method".to_owned())),
                },
                'r' => (self.directories, self.follow) = (Directories::Recurse, false),
                'R' => (self.directories, self.follow) = (Directories::Recurse, true),
                INCLUDE => self.globs.include(word),
                EXCLUDE => self.globs.exclude(word),
                EXCLUDE_FROM => self.globs.exclude_from(word),
                EXCLUDE_DIR => self.globs.exclude_dir(word),
                'T' => self.tab = true,
                'Z' => self.null = true,
                'A' => self.after = Some(context_length(word)?),
                'B' => self.before = Some(context_length(word)?),
                'C' => context = Some(context_length(word)?),
                digit @ '0'..='9' => {
                    let digit = u64::from(digit as u32 - '0' as u32);
                    digits = Some(digits.unwrap_or(0_u64).saturating_mul(10).saturating_add(digit));
                    context = digits;
                }
                SEPARATOR => self.separator = Some(word),
                NO_SEPARATOR => self.separator = None,
                COLOR => match word {
                    "always" | "yes" | "force" => self.color = true,
                    "" | "never" | "no" | "none" | "auto" | "tty" | "if-tty" => self.color = false,
                    // As GNU's, which helps without a word of what is wrong.
                    _ => return Err(Refusal::Told(HELP_TEXT)),
                },
                'u' => self.warnings.push("--unix-byte-offsets (-u) is obsolete"),
                // What is so in any case.
                _ => {}
            }
        }
        self.syntax = syntax.unwrap_or(Syntax::Basic);
        self.operands.clone_from(&given.operands);
        if self.patterns.is_empty() {
            if self.operands.is_empty() {
                return Err(misused(""));
            }
            self.patterns.push(Source::Text(self.operands.remove(0)));
        }
        (self.before, self.after) = (self.before.or(context), self.after.or(context));
        if self.quiet {
            self.names = Names::No;
        }
        if self.quiet || self.names != Names::No {
            self.count = false;
        }
        self.implied = self.operands.is_empty() && self.directories == Directories::Recurse;
        if self.operands.is_empty() {
            self.operands.push(if self.implied { "." } else { "-" });
        }
        let several = self.operands.len() > 1 || self.directories == Directories::Recurse;
        self.with_names = names.unwrap_or(several);
        Ok(())
    }

    /// Whether only the first selected line of a file matters.
    pub(super) fn one_is_enough(&self) -> bool {
        self.quiet || self.names != Names::No
    }
}

/// A whole number as strtoimax(3) takes it, too large ones cut. `None`: none.
fn number(word: &str) -> Option<i64> {
    let (minus, digits) = match word.trim_start().strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word.trim_start().strip_prefix('+').unwrap_or(word.trim_start())),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse().unwrap_or(i64::MAX);
    Some(if minus { -number } else { number })
}

fn most(word: &str) -> Result<u64, Refusal> {
    let count = number(word).ok_or_else(|| Refusal::Wrong("invalid max count".to_owned()))?;
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
}

fn context_length(word: &str) -> Result<u64, Refusal> {
    let length = number(word).and_then(|length| u64::try_from(length).ok());
    length.ok_or_else(|| Refusal::Wrong(format!("{word}: invalid context length argument")))
}

fn directories(word: &str) -> Result<Directories, Refusal> {
    let names = [("read", Directories::Read), ("recurse", Directories::Recurse), ("skip", Directories::Skip)];
    choice("--directories", word, &names).map_err(|refusal| match refusal {
        Refusal::Choice(message) => Refusal::Bare(1, usage(&message)),
        other => other,
    })
}
