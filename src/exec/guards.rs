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
/// engine's own depth limit does not count. Less than a tenth of what the stack holds.
const TIME_KEYWORDS: usize = 20_000;

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
    let named = |arg: &str| {
        arg == "--from-file" || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains('f'))
    };
    args.windows(2).filter(|pair| named(&pair[0])).map(|pair| pair[1].as_str()).collect()
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

/// Elements of the longest range that the engine expands; it leaves a longer one as it
/// stands, without a word.
const RANGE_ELEMENTS: u64 = 10_000;

/// One warning for each range in the text that is too long to be expanded. (A quoted one
/// is none; nobody writes that many elements in quotes for its looks.)
#[must_use]
pub fn long_ranges(text: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let parameter = rest[..at].ends_with('$');
        rest = &rest[at + 1..];
        let Some(end) = rest.find('}').filter(|_| !parameter) else { continue };
        if range_elements(&rest[..end]).is_some_and(|elements| elements > RANGE_ELEMENTS) {
            warnings.push(format!(
                "the range {{{}}} has more than {RANGE_ELEMENTS} elements and is not expanded; use seq or for ((…))",
                &rest[..end]
            ));
        }
    }
    warnings
}

/// Elements of `first..last` or `first..last..step`; `None` for anything else.
fn range_elements(inner: &str) -> Option<u64> {
    let mut parts = inner.splitn(3, "..");
    let (first, last): (i64, i64) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let step: i64 = parts.next().map_or(Some(1), |step| step.parse().ok())?;
    Some(first.abs_diff(last) / step.unsigned_abs().max(1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ordinary_text_passes() {
        let text = "time ls; echo time time time\n".repeat(4_000);
        assert_eq!(check_text(&text), Ok(()));
        assert_eq!(check_text(&"time a b c d ".repeat(2 * TIME_KEYWORDS)), Ok(()));
        assert_eq!(check_text(&"time ".repeat(TIME_KEYWORDS)), Ok(()));
    }

    #[test]
    fn rows_of_time_are_refused() {
        for word in ["time ", "time\n", "time -p ! ", "ti\\\nme ", "time \\\n"] {
            assert!(check_text(&word.repeat(TIME_KEYWORDS + 1)).is_err(), "{word:?}");
        }
        // An escaped backslash continues no line.
        assert_eq!(check_text(&"ti\\\\\nme ".repeat(TIME_KEYWORDS + 1)), Ok(()));
    }

    #[test]
    fn programs_are_told_from_data() {
        let deep = "[".repeat(NESTING + 1);
        let long = "1,".repeat(PROGRAM_BYTES / 2) + "1";
        let fine = [
            vec!["-n", "--arg", "x", &deep, "$x"],
            vec!["-n", "--argjson", "x", &long, "$x"],
            vec!["-n", "$ARGS", "--args", &deep, &long],
            vec![". | map(.[0]) | {a: [.[]]}", "file"],
        ];
        for args in fine {
            assert_eq!(check_command("jq", &strings(&args)), Ok(()), "{args:?}");
        }
        for args in [[deep.as_str()], [long.as_str()]] {
            assert!(check_command("jq", &strings(&args)).is_err());
        }
        assert_eq!(program_files(&strings(&["-n", "-f", "a.jq"])), ["a.jq"]);
        assert_eq!(program_files(&strings(&["-nf", "a.jq", "in"])), ["a.jq"]);
        assert_eq!(program_files(&strings(&["--from-file", "a.jq"])), ["a.jq"]);
        assert!(program_files(&strings(&["-n", ".", "in"])).is_empty());
    }

    #[test]
    fn find_expressions_are_counted_not_its_files() {
        let files = vec!["a".to_owned(); FIND_WORDS + 1];
        assert_eq!(check_command("find", &files), Ok(()));
        let tests: Vec<String> = strings(&["-name", "x"]).into_iter().cycle().take(FIND_WORDS + 1).collect();
        assert!(check_command("find", &tests).is_err());
        let flat: Vec<String> =
            strings(&["(", "!", "-empty", ")"]).into_iter().cycle().take(FIND_WORDS).collect();
        assert_eq!(check_command("find", &flat), Ok(()));
    }

    #[test]
    fn long_ranges_are_told() {
        assert_eq!(
            long_ranges("echo {1..10000} {a..z} ${x..20000} {1..} {1..99999..10} {"),
            Vec::<String>::new()
        );
        assert_eq!(long_ranges("for i in {1..20000}; do :; done; echo {-9000..9000}").len(), 2);
    }
}
