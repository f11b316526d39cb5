//! `diff`, as of GNU diffutils 3.8: normal, unified and context output, directories.
//! Left out, and refused by name: side by side (`-y`), ed and RCS scripts (`-e`, `-n`),
//! merged output (`-D`), regular expressions (`-I`, `-F`), `-X`, tabs (`-t`, `-T`), `-l`,
//! colours.

use std::borrow::Cow;

use super::options::{self, DIGIT, Given, HELP, Spec, Takes};
use super::{Answer, Call, quote};

mod compare;
pub(super) mod format;
pub(super) mod lines;

const LABEL: char = '\u{3}';
const NORMAL: char = '\u{4}';
const CR: char = '\u{5}';
const COLOR: char = '\u{6}';
const NO_DEREFERENCE: char = '\u{7}';
const CONTEXT: char = '\u{e}';
const UNIFIED: char = '\u{f}';
const SPEED: char = 'H';

const SPECS: &[Spec] = &[
    (NORMAL, "normal", Takes::Nothing),
    ('q', "brief", Takes::Nothing),
    ('s', "report-identical-files", Takes::Nothing),
    ('c', "", Takes::Nothing),
    ('C', "", Takes::Argument),
    (CONTEXT, "context", Takes::Optional),
    ('u', "", Takes::Nothing),
    ('U', "", Takes::Argument),
    (UNIFIED, "unified", Takes::Optional),
    (LABEL, "label", Takes::Argument),
    ('L', "", Takes::Argument),
    ('r', "recursive", Takes::Nothing),
    (NO_DEREFERENCE, "no-dereference", Takes::Nothing),
    ('N', "new-file", Takes::Nothing),
    ('x', "exclude", Takes::Argument),
    ('i', "ignore-case", Takes::Nothing),
    ('E', "ignore-tab-expansion", Takes::Nothing),
    ('Z', "ignore-trailing-space", Takes::Nothing),
    ('b', "ignore-space-change", Takes::Nothing),
    ('w', "ignore-all-space", Takes::Nothing),
    ('B', "ignore-blank-lines", Takes::Nothing),
    ('a', "text", Takes::Nothing),
    (CR, "strip-trailing-cr", Takes::Nothing),
    ('d', "minimal", Takes::Nothing),
    (SPEED, "speed-large-files", Takes::Nothing),
    (COLOR, "color", Takes::Optional),
    (HELP, "help", Takes::Nothing),
    ('v', "version", Takes::Nothing),
    (DIGIT, "", Takes::Nothing),
    // Known, and refused.
    ('y', "side-by-side", Takes::Nothing),
    ('W', "width", Takes::Argument),
    ('e', "ed", Takes::Nothing),
    ('n', "rcs", Takes::Nothing),
    ('p', "show-c-function", Takes::Nothing),
    ('F', "show-function-line", Takes::Argument),
    ('t', "expand-tabs", Takes::Nothing),
    ('T', "initial-tab", Takes::Nothing),
    ('l', "paginate", Takes::Nothing),
    ('X', "exclude-from", Takes::Argument),
    ('S', "starting-file", Takes::Argument),
    ('I', "ignore-matching-lines", Takes::Argument),
    ('D', "ifdef", Takes::Argument),
    ('P', "unidirectional-new-file", Takes::Nothing),
];

const USAGE: &str = "\
Usage: diff [OPTION]... FILES
Compare FILES line by line.

      --normal                  output a normal diff (the default)
  -q, --brief                   report only when files differ
  -s, --report-identical-files  report when two files are the same
  -c, -C NUM, --context[=NUM]   output NUM (default 3) lines of copied context
  -u, -U NUM, --unified[=NUM]   output NUM (default 3) lines of unified context
      --label LABEL             use LABEL instead of file name and timestamp
                                  (can be repeated)
  -r, --recursive               recursively compare any subdirectories found
      --no-dereference          don't follow symbolic links
  -N, --new-file                treat absent files as empty
  -x, --exclude=PAT             exclude files that match PAT
  -i, --ignore-case             ignore case differences in file contents
  -E, --ignore-tab-expansion    ignore changes due to tab expansion
  -Z, --ignore-trailing-space   ignore white space at line end
  -b, --ignore-space-change     ignore changes in the amount of white space
  -w, --ignore-all-space        ignore all white space
  -B, --ignore-blank-lines      ignore changes where lines are all blank
  -a, --text                    treat all files as text
      --strip-trailing-cr       strip trailing carriage return on input
  -d, --minimal                 try hard to find a smaller set of changes
      --help                    display this help and exit
  -v, --version                 output version information and exit

FILES are 'FILE1 FILE2' or 'DIR1 DIR2' or 'DIR FILE' or 'FILE DIR'.
If a FILE is '-', read standard input.
Exit status is 0 if inputs are the same, 1 if different, 2 if trouble.
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Normal,
    Unified,
    Context,
}

/// How much white space counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Space {
    #[default]
    Counts,
    TabExpansion,
    Trailing,
    Change,
    All,
}

struct Options<'a> {
    style: Style,
    context: usize,
    brief: bool,
    report_same: bool,
    labels: Vec<&'a str>,
    recursive: bool,
    no_dereference: bool,
    new_file: bool,
    exclude: Vec<&'a str>,
    ignore_case: bool,
    space: Space,
    ignore_blank: bool,
    text: bool,
    strip_cr: bool,
    minimal: bool,
    /// The options as written, for the headers in a recursion: empty, or with a space
    /// before each.
    words: String,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    match read_options(call.args, &mut answer) {
        Ok(Some((options, [a, b]))) => compare::run(call, &options, a, b, &mut answer),
        Ok(None) => {}
        Err(Refused { message, usage }) => {
            answer.complain(2, format!("diff: {message}"));
            if usage {
                answer.complain(2, "diff: Try 'diff --help' for more information.");
            }
        }
    }
    answer
}

struct Refused {
    message: String,
    usage: bool,
}

fn usage(message: impl Into<String>) -> Refused {
    Refused { message: message.into(), usage: true }
}

/// `None`: help was asked for and is printed.
fn read_options<'a>(
    args: &'a [String],
    answer: &mut Answer,
) -> Result<Option<(Options<'a>, [&'a str; 2])>, Refused> {
    let Given { options: given, operands, words } = options::parse(args, SPECS).map_err(usage)?;
    let mut options = Options {
        style: Style::Normal,
        context: 3,
        brief: false,
        report_same: false,
        labels: Vec::new(),
        recursive: false,
        no_dereference: false,
        new_file: false,
        exclude: Vec::new(),
        ignore_case: false,
        space: Space::Counts,
        ignore_blank: false,
        text: false,
        strip_cr: false,
        minimal: false,
        words: words.iter().flat_map(|word| [" ".to_owned(), quote::when_needed(word)]).collect(),
    };
    let mut style = None;
    let mut lines = None;
    let mut digits = String::new();
    for (letter, value) in given {
        match letter {
            NORMAL => set_style(&mut style, Style::Normal)?,
            'c' => set_style(&mut style, Style::Context)?,
            'u' => set_style(&mut style, Style::Unified)?,
            'C' | CONTEXT | 'U' | UNIFIED => {
                let chosen = if matches!(letter, 'C' | CONTEXT) { Style::Context } else { Style::Unified };
                set_style(&mut style, chosen)?;
                if let Some(value) = value {
                    let count = context_length(value)?;
                    lines = lines.max(Some(count));
                }
            }
            '0'..='9' => digits.push(letter),
            'q' => options.brief = true,
            's' => options.report_same = true,
            'L' | LABEL => {
                if options.labels.len() == 2 {
                    return Err(Refused { message: "too many file label options".to_owned(), usage: false });
                }
                options.labels.extend(value);
            }
            'r' => options.recursive = true,
            NO_DEREFERENCE => options.no_dereference = true,
            'N' => options.new_file = true,
            'x' => options.exclude.extend(value),
            'i' => options.ignore_case = true,
            'E' => options.space = options.space.max(Space::TabExpansion),
            'Z' => options.space = options.space.max(Space::Trailing),
            'b' => options.space = options.space.max(Space::Change),
            'w' => options.space = Space::All,
            'B' => options.ignore_blank = true,
            'a' => options.text = true,
            CR => options.strip_cr = true,
            'd' => options.minimal = true,
            SPEED => {}
            COLOR => match value {
                Some("never" | "auto") | None => {}
                Some("always") => return Err(left_out("--color=always")),
                Some(other) => return Err(usage(format!("invalid color '{other}'"))),
            },
            HELP => {
                answer.stdout.extend_from_slice(USAGE.as_bytes());
                return Ok(None);
            }
            'v' => {
                answer.stdout.extend_from_slice(b"diff (sqlfs), after GNU diffutils 3.8\n");
                return Ok(None);
            }
            other => return Err(left_out(&format!("-{other}"))),
        }
    }
    if !digits.is_empty() {
        lines = lines.max(Some(context_length(&digits)?));
    }
    options.style = style.unwrap_or(Style::Normal);
    options.context = lines.unwrap_or(3);
    match operands[..] {
        [a, b] => Ok(Some((options, [a, b]))),
        [_, _, extra, ..] => Err(usage(format!("extra operand '{extra}'"))),
        _ => {
            let before = args.last().map_or("diff", String::as_str);
            Err(usage(format!("missing operand after '{before}'")))
        }
    }
}

fn set_style(style: &mut Option<Style>, chosen: Style) -> Result<(), Refused> {
    if style.is_some_and(|style| style != chosen) {
        return Err(usage("conflicting output style options"));
    }
    *style = Some(chosen);
    Ok(())
}

fn context_length(text: &str) -> Result<usize, Refused> {
    let number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
    if !number {
        return Err(usage(format!("invalid context length '{text}'")));
    }
    // More lines than any file has are all of them.
    Ok(text.parse::<usize>().unwrap_or(usize::MAX).min(1 << 40))
}

fn left_out(option: &str) -> Refused {
    let message = format!("the option {option} is not supported here; normal, -u and -c output are");
    Refused { message, usage: true }
}

impl Options<'_> {
    /// The name of a side as headers show it.
    fn shown<'n>(&'n self, side: usize, name: &'n str) -> Cow<'n, str> {
        Cow::Borrowed(self.labels.get(side).copied().unwrap_or(name))
    }

    /// Whether equal bytes are the only way to be equal.
    fn is_exact(&self) -> bool {
        !self.ignore_case && self.space == Space::Counts && !self.ignore_blank && !self.strip_cr
    }
}
