//! What one line of a script must not do to the process.
//!
//! The engine recurses: from command to command (`eval`, chains of `command` or
//! `xargs`), and inside its parser and some tools. An overflow of the stack aborts the
//! process, so recursion from command to command is measured before each one, and text
//! that would make a parser recurse without end is refused before the parser sees it.
//! Every limit here is far above what scripts use and has a probe in the tests.

use super::pool::STACK_BYTES;

/// Stack that commands nested in commands may use; what lies above it is for the one
/// command that comes last.
pub const SCRIPT_STACK_BYTES: usize = 32 << 20;

/// A thread that used more stack than this is not kept: it would hold that memory.
pub const WORN_BYTES: usize = 8 << 20;

/// `time time time …`: each is a level of the parser, and the only keyword that the
/// engine's own depth limit does not count.
const TIME_KEYWORDS: usize = 5_000;

/// Words of a script that expands aliases: an alias can stand for `time`.
const ALIAS_WORDS: usize = 20_000;

/// Brackets in brackets of a jq, yq or bc program, and in a find expression.
const NESTING: usize = 500;

/// Bytes of a jq or yq program: as long as one argument of a command may be on Linux.
/// Its parser recurses in many ways that need no bracket.
const PROGRAM_BYTES: usize = 128 << 10;

/// Tests and operators of one find expression: each is a level of its parser.
const FIND_WORDS: usize = 20_000;

/// Why a script is ended by a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Stable name of the limit.
    pub name: &'static str,
    /// One clear sentence.
    pub message: String,
}

fn refuse(message: String) -> Result<(), Refused> {
    Err(Refused { name: "nesting", message })
}

/// Stack used so far on a script's thread, in bytes; 0 where that cannot be told.
#[must_use]
pub fn stack_used() -> usize {
    stacker::remaining_stack().map_or(0, |left| STACK_BYTES.saturating_sub(left))
}

/// Refuses script text that would overflow the parser.
pub fn check_text(text: &str) -> Result<(), Refused> {
    if is_parser_bomb(text.as_bytes()) {
        return refuse(format!("more than {TIME_KEYWORDS} `time` keywords stand in a row"));
    }
    Ok(())
}

/// Refuses text, in a script that expands aliases, that could be a parser bomb by them.
pub fn check_aliased_text(text: &str) -> Result<(), Refused> {
    let long = text.len() > 2 * ALIAS_WORDS;
    if long && text.split_ascii_whitespace().nth(ALIAS_WORDS).is_some() {
        return refuse(format!("a script that expands aliases has more than {ALIAS_WORDS} words"));
    }
    Ok(())
}

const TIME: &[u8] = b"time";

/// Whether text is long enough for [`is_parser_bomb`]. Cheap.
#[must_use]
pub fn may_be_parser_bomb(text: &[u8]) -> bool {
    text.len() >= TIME_KEYWORDS * (TIME.len() + 1)
}

/// Whether text would overflow the parser if it were run: `time` after `time`, with few
/// other words (options, `!`) between them.
fn is_parser_bomb(text: &[u8]) -> bool {
    if !may_be_parser_bomb(text) {
        return false;
    }
    // A word may be broken by a line continuation.
    let joined;
    let text = if text.windows(2).any(|pair| pair == b"\\\n") {
        joined = without_continuations(text);
        &joined
    } else {
        text
    };
    let (mut row, mut others) = (0, 0);
    for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        if word == TIME {
            row += 1;
            others = 0;
            if row > TIME_KEYWORDS {
                return true;
            }
        } else {
            others += 1;
            if others > 3 {
                row = 0;
            }
        }
    }
    false
}

fn without_continuations(text: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail.first()) {
            (b'\\', Some(b'\n')) => rest = &tail[1..],
            (b'\\', Some(&next)) => {
                joined.extend([first, next]);
                rest = &tail[1..];
            }
            _ => {
                joined.push(first);
                rest = tail;
            }
        }
    }
    joined
}

/// Refuses a command whose arguments would overflow its parser, or carry text that
/// overflows the shell's.
pub fn check_command(name: &str, args: &[String]) -> Result<(), Refused> {
    if args.is_empty() {
        return Ok(());
    }
    match name {
        "jq" | "yq" => check_program(name, args)?,
        "bc" | "expr" | "awk" => check_brackets(name, args.iter().map(String::as_str))?,
        "find" => check_find(args)?,
        _ => {}
    }
    args.iter().try_for_each(|arg| check_text(arg))
}

/// A jq program is among the words that are not data.
fn check_program(name: &str, args: &[String]) -> Result<(), Refused> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--args" | "--jsonargs" => break,
            "--arg" | "--argjson" | "--slurpfile" | "--rawfile" => {
                let _ = (args.next(), args.next());
            }
            _ => check_program_text(name, arg)?,
        }
    }
    Ok(())
}

/// Refuses a jq program that would overflow its parser.
pub fn check_program_text(name: &str, text: &str) -> Result<(), Refused> {
    if text.len() > PROGRAM_BYTES {
        return refuse(format!("{name}: the program is longer than {PROGRAM_BYTES} bytes"));
    }
    check_brackets(name, std::iter::once(text))
}

/// The files that a jq command may read its program from, as named in its arguments.
#[must_use]
pub fn program_files(args: &[String]) -> Vec<&str> {
    let short = |arg: &str| arg.starts_with('-') && !arg.starts_with("--") && arg.contains('f');
    let mut files: Vec<&str> = args.iter().filter_map(|arg| arg.strip_prefix("--from-file=")).collect();
    for pair in args.windows(2) {
        if pair[0] == "--from-file" || short(&pair[0]) {
            files.push(&pair[1]);
        }
    }
    // An argument after other options may be the file too: jq takes the first operand.
    if !files.is_empty() || args.iter().any(|arg| short(arg)) {
        files.extend(args.iter().map(String::as_str).find(|arg| !arg.starts_with('-')));
    }
    files
}

fn check_brackets<'a>(name: &str, texts: impl Iterator<Item = &'a str>) -> Result<(), Refused> {
    let mut depth = 0_usize;
    for byte in texts.flat_map(str::bytes) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > NESTING {
            return refuse(format!("{name}: brackets nest deeper than {NESTING}"));
        }
    }
    Ok(())
}

fn check_find(args: &[String]) -> Result<(), Refused> {
    let expression = args.iter().skip_while(|arg| !arg.starts_with(['-', '(', '!'])).collect::<Vec<_>>();
    if expression.len() > FIND_WORDS {
        return refuse(format!("find: the expression has more than {FIND_WORDS} words"));
    }
    let (mut depth, mut row) = (0_usize, 0_usize);
    for word in expression {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        row = if matches!(word.as_str(), "!" | "-not") { row + 1 } else { 0 };
        if depth > NESTING || row > NESTING {
            return refuse(format!("find: the expression nests deeper than {NESTING}"));
        }
    }
    Ok(())
}
