//! `xargs`, as of GNU findutils 4.9. What it runs are commands of the shell, so it is
//! made into a script for one. Commands run one after the other, whatever `-P` says.
//! Left out: the prompt (`-p`), `-o`, `--show-limits`.

use std::fmt::Write as _;

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::quote::{self, shell_word};
use super::{Answer, Call};

const SLOT: char = '\u{3}';
const LIMITS: char = '\u{4}';

const SPECS: &[Spec] = &[
    ('0', "null", Takes::Nothing),
    ('a', "arg-file", Takes::Argument),
    ('d', "delimiter", Takes::Argument),
    ('E', "", Takes::Argument),
    ('e', "eof", Takes::Optional),
    ('I', "", Takes::Argument),
    ('i', "replace", Takes::Optional),
    ('L', "", Takes::Argument),
    ('l', "max-lines", Takes::Optional),
    ('n', "max-args", Takes::Argument),
    ('o', "open-tty", Takes::Nothing),
    ('P', "max-procs", Takes::Argument),
    ('p', "interactive", Takes::Nothing),
    (SLOT, "process-slot-var", Takes::Argument),
    ('r', "no-run-if-empty", Takes::Nothing),
    ('s', "max-chars", Takes::Argument),
    (LIMITS, "show-limits", Takes::Nothing),
    ('t', "verbose", Takes::Nothing),
    ('x', "exit", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: xargs [OPTION]... COMMAND [INITIAL-ARGS]...
Run COMMAND with arguments INITIAL-ARGS and more arguments read from input.

  -0, --null                   items are separated by a null, not whitespace
  -a, --arg-file=FILE          read arguments from FILE, not standard input
  -d, --delimiter=CHARACTER    items in input stream are separated by CHARACTER
  -E END, -e[END], --eof[=END] set logical EOF string
  -I R, -i[R], --replace[=R]   replace R in INITIAL-ARGS with names read from input
  -L, -l[LINES], --max-lines[=LINES]  use at most LINES lines per command line
  -n, --max-args=MAX-ARGS      use at most MAX-ARGS arguments per command line
  -P, --max-procs=MAX-PROCS    accepted; one process runs at a time
  -r, --no-run-if-empty        if there are no arguments, do not run COMMAND
  -s, --max-chars=MAX-CHARS    limit length of command line to MAX-CHARS
  -t, --verbose                print commands before executing them
  -x, --exit                   exit if the size (see -s) is exceeded
";

/// Characters of a command line, if `-s` does not say less.
const MAX_CHARS: usize = 128 << 10;

struct Options<'a> {
    delimiter: Option<u8>,
    arg_file: Option<&'a str>,
    end: Option<&'a str>,
    replace: Option<&'a str>,
    lines: Option<usize>,
    args: Option<usize>,
    chars: usize,
    run_if_empty: bool,
    verbose: bool,
    slot: Option<&'a str>,
}

/// An item, and the number of its line.
struct Item {
    text: String,
    line: usize,
}

/// The script, for `bash -c`. `Err`: nothing is to be run.
pub(crate) fn script(call: &Call<'_>) -> Result<String, Answer> {
    let refused = |message: &str, usage: bool| {
        let mut answer = Answer::default();
        if usage {
            answer.misused(1, "xargs", message);
        } else {
            answer.complain(1, format!("xargs: {message}"));
        }
        answer
    };
    let Given { options: given, operands, .. } =
        options::parse_to_operand(call.args, SPECS).map_err(|message| refused(&message, true))?;
    for (letter, _) in &given {
        let text = match *letter {
            HELP => USAGE,
            VERSION => "xargs (sqlfs), after GNU findutils 4.9.0\n",
            'p' | 'o' | LIMITS => {
                return Err(refused("options -p, -o and --show-limits are not supported here", false));
            }
            _ => continue,
        };
        return Err(Answer { stdout: text.as_bytes().to_vec(), ..Answer::default() });
    }
    let options = read_options(&given).map_err(|message| refused(&message, true))?;
    let data = match options.arg_file {
        None | Some("-") => call.stdin.to_vec(),
        Some(file) => match call.read(file) {
            Ok(data) => data.to_vec(),
            Err(errno) => {
                let file = quote::curly(file);
                return Err(refused(&format!("Cannot open input file {file}: {errno}"), false));
            }
        },
    };
    let (items, trouble) = match options.delimiter {
        Some(delimiter) => (delimited(&data, delimiter), None),
        None => words(&data, options.replace.is_some(), options.end),
    };
    let command: Vec<&str> = if operands.is_empty() { vec!["echo"] } else { operands };
    let mut script = preamble(command[0]);
    let mut lines = Lines { options: &options, script: &mut script };
    let done = lines.all(&command, &items, trouble.is_none());
    for message in done.err().into_iter().chain(trouble) {
        let _ = writeln!(script, "echo {} >&2; exit 1", quote::always(&format!("xargs: {message}")));
    }
    script.push_str("exit $__xargs\n");
    Ok(script)
}

/// What comes of the status of a command, and one that does not exist.
fn preamble(command: &str) -> String {
    let name = quote::always(command);
    let told = quote::always(&format!("xargs: {command}: "));
    let mut script = format!(
        "__xargs=0\n\
         __xargs_end() {{ case $1 in \
         255) echo {told}'exited with status 255; aborting' >&2; exit 124;; \
         129|13?|14?) echo {told}\"terminated by signal $(($1 - 128))\" >&2; exit 125;; \
         126|127) case {name} in */*) exit $1;; esac;; esac; __xargs=123; }}\n"
    );
    let found =
        if command.contains('/') { format!("[ -e {name} ]") } else { format!("type -P {name} >/dev/null") };
    let _ = writeln!(script, "{found} || {{ echo {told}'No such file or directory' >&2; exit 127; }}");
    script
}

fn number(text: Option<&str>, letter: char) -> Result<usize, String> {
    let text = text.unwrap_or("1");
    match text.parse() {
        Ok(0) => Err(format!("value {text} for -{letter} option should be >= 1")),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("invalid number \"{text}\" for -{letter} option")),
    }
}

fn read_options<'a>(given: &[(char, Option<&'a str>)]) -> Result<Options<'a>, String> {
    let mut options = Options {
        delimiter: None,
        arg_file: None,
        end: None,
        replace: None,
        lines: None,
        args: None,
        chars: MAX_CHARS,
        run_if_empty: true,
        verbose: false,
        slot: None,
    };
    for &(letter, value) in given {
        match letter {
            '0' => options.delimiter = Some(0),
            'a' => options.arg_file = value,
            'd' => options.delimiter = Some(delimiter(value.unwrap_or_default())?),
            'E' | 'e' => options.end = value.filter(|end| !end.is_empty()),
            'I' | 'i' => {
                options.replace = value.or(Some("{}"));
                (options.lines, options.args) = (None, None);
            }
            'L' | 'l' => {
                options.lines = Some(number(value, letter)?);
                (options.args, options.replace) = (None, None);
            }
            'n' => {
                options.args = Some(number(value, 'n')?);
                // `-I{} -n1` is what -I does in any case.
                if options.args != Some(1) {
                    options.replace = None;
                }
                options.lines = None;
            }
            'r' => options.run_if_empty = false,
            's' => options.chars = number(value, 's')?.min(MAX_CHARS),
            't' => options.verbose = true,
            SLOT => options.slot = value,
            _ => {}
        }
    }
    Ok(options)
}

fn delimiter(text: &str) -> Result<u8, String> {
    let byte = match (text.as_bytes(), text.strip_prefix('\\')) {
        ([byte], _) => Some(*byte),
        (_, Some("n")) => Some(b'\n'),
        (_, Some("t")) => Some(b'\t'),
        (_, Some("r")) => Some(b'\r'),
        (_, Some("a")) => Some(7),
        (_, Some("b")) => Some(8),
        (_, Some("f")) => Some(12),
        (_, Some("v")) => Some(11),
        (_, Some("\\")) => Some(b'\\'),
        (_, Some(digits)) => match digits.strip_prefix('x') {
            Some(hex) => u8::from_str_radix(hex, 16).ok(),
            None => u8::from_str_radix(digits, 8).ok(),
        },
        _ => None,
    };
    byte.ok_or_else(|| {
        format!(
            "Invalid input delimiter specification {text}: the delimiter must be either a single character or \
             an escape sequence starting with \\."
        )
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn delimited(data: &[u8], delimiter: u8) -> Vec<Item> {
    let data = data.strip_suffix(&[delimiter]).unwrap_or(data);
    if data.is_empty() {
        return Vec::new();
    }
    data.split(|&byte| byte == delimiter)
        .enumerate()
        .map(|(line, item)| Item { text: text(item), line })
        .collect()
}

/// Items between blanks (with `by_line`: lines), quotes taken off, and what is wrong
/// with the rest.
fn words(data: &[u8], by_line: bool, end: Option<&str>) -> (Vec<Item>, Option<String>) {
    let (mut items, mut line) = (Vec::new(), 0);
    let (mut word, mut started) = (Vec::new(), false);
    let mut bytes = data.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\n' | b' ' | b'\t' | b'\r' | 0x0b | 0x0c if byte == b'\n' || !(by_line && started) => {
                if started {
                    items.push(Item { text: text(&word), line });
                    if end.is_some_and(|end| end.as_bytes() == word) {
                        items.pop();
                        return (items, None);
                    }
                    (word, started) = (Vec::new(), false);
                }
                // A line that ends in a blank goes on in the next.
                let goes_on = byte != b'\n' && bytes.peek() == Some(&b'\n');
                if goes_on {
                    bytes.next();
                }
                line += usize::from(byte == b'\n');
            }
            b'\'' | b'"' => {
                started = true;
                loop {
                    match bytes.next() {
                        Some(next) if next == byte => break,
                        Some(b'\n') | None => {
                            let kind = if byte == b'"' { "double" } else { "single" };
                            let message = format!(
                                "unmatched {kind} quote; by default quotes are special to xargs unless you use \
                                 the -0 option"
                            );
                            return (items, Some(message));
                        }
                        Some(next) => word.push(next),
                    }
                }
            }
            b'\\' => {
                started = true;
                word.extend(bytes.next());
            }
            byte => {
                started = true;
                word.push(byte);
            }
        }
    }
    if started && end.is_none_or(|end| end.as_bytes() != word) {
        items.push(Item { text: text(&word), line });
    }
    (items, None)
}

struct Lines<'a> {
    options: &'a Options<'a>,
    script: &'a mut String,
}

impl Lines<'_> {
    /// `complete`: the input ended well, so that what is left over is run too.
    fn all(&mut self, command: &[&str], items: &[Item], complete: bool) -> Result<(), String> {
        if let Some(replace) = self.options.replace {
            for item in items {
                let words: Vec<String> =
                    command.iter().map(|word| word.replace(replace, &item.text)).collect();
                self.fits(words.iter().map(|word| word.len() + 1).sum())?;
                self.one(words.iter().map(String::as_str));
            }
            return Ok(());
        }
        let fixed: usize = command.iter().map(|word| word.len() + 1).sum();
        let mut rest = items;
        while let Some(first) = rest.first() {
            let (mut size, mut count, mut lines, mut line) = (fixed, 0, 1, first.line);
            for item in rest {
                size += item.text.len() + 1;
                if item.line != line {
                    (line, lines) = (item.line, lines + 1);
                }
                let full = self.options.args.is_some_and(|most| count == most)
                    || self.options.lines.is_some_and(|most| lines > most)
                    || (count > 0 && size > self.options.chars);
                if full {
                    break;
                }
                count += 1;
            }
            self.fits(fixed + first.text.len() + 1)?;
            let (now, later) = rest.split_at(count);
            if later.is_empty() && !complete {
                return Ok(());
            }
            self.one(command.iter().copied().chain(now.iter().map(|item| item.text.as_str())));
            rest = later;
        }
        if items.is_empty() && self.options.run_if_empty && complete {
            self.one(command.iter().copied());
        }
        Ok(())
    }

    fn fits(&self, size: usize) -> Result<(), String> {
        if size > self.options.chars { Err("argument line too long".to_owned()) } else { Ok(()) }
    }

    fn one<'w>(&mut self, words: impl Iterator<Item = &'w str> + Clone) {
        if self.options.verbose {
            let line: Vec<String> = words.clone().map(quote::when_needed).collect();
            let _ = writeln!(self.script, "printf '%s\\n' {} >&2", shell_word(&line.join(" ")));
        }
        if let Some(slot) = self.options.slot {
            let _ = write!(self.script, "{slot}=0 ");
        }
        for word in words {
            self.script.push_str(&shell_word(word));
            self.script.push(' ');
        }
        self.script.push_str("</dev/null || __xargs_end $?\n");
    }
}
