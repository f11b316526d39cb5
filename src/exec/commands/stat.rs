//! `stat`, as of GNU coreutils 9.1. Left out: file systems (`-f`, `--cached`), SELinux
//! contexts.

use std::fmt::Write as _;

use chrono::DateTime;

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call, quote};
use crate::fs::{Errno, Kind, Stat};

const PRINTF: char = '\u{3}';

const SPECS: &[Spec] = &[
    ('L', "dereference", Takes::Nothing),
    ('c', "format", Takes::Argument),
    (PRINTF, "printf", Takes::Argument),
    ('t', "terse", Takes::Nothing),
    ('f', "file-system", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: stat [OPTION]... FILE...
Display file status.

  -L, --dereference     follow links
  -c  --format=FORMAT   use the specified FORMAT instead of the default;
                          output a newline after each use of FORMAT
      --printf=FORMAT   like --format, but interpret backslash escapes,
                          and do not output a mandatory trailing newline
  -t, --terse           print the information in terse form
      --help            display this help and exit
      --version         output version information and exit

The valid format sequences are
  %a %A permission bits in octal, human readable     %n %N file name, quoted
  %b %B blocks, bytes of each                         %o    I/O transfer size
  %d %D device number in decimal, in hex              %s    total size, in bytes
  %f %F raw mode in hex, file type                    %t %T device type in hex
  %g %G group ID, name                                %u %U user ID, name
  %h %i hard links, inode number                      %w %W time of birth (- and 0)
  %m    mount point                                   %x %X time of last access
  %y %Y time of last modification                     %z %Z time of last change
";

/// `%Q` is ours: the names as the default form quotes them.
const DEFAULT: &str = "  File: %Q\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: %Hd,%Ld\tInode: %-11i Links: %h\nAccess: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\nAccess: %x\nModify: %y\nChange: %z\n Birth: %w\n";
const TERSE: &str = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o\n";

/// The one user of a sandbox, as `id` tells it.
const USER: (u32, &str) = (1000, "user");
const BLOCK: u64 = 512;
const IO_BLOCK: u64 = 4096;

/// Blocks of 512 bytes on a disk with blocks of 4 KiB: what `stat`, `ls -s`, `find` and `du`
/// tell of a file or directory. Links and devices have none.
pub(super) fn blocks(stat: &Stat, device: bool) -> u64 {
    match stat.kind {
        Kind::File if device => 0,
        Kind::Symlink => 0,
        Kind::File | Kind::Dir => stat.size.div_ceil(IO_BLOCK) * (IO_BLOCK / BLOCK),
    }
}

/// A time as `stat` and `diff` print it, in UTC: `2024-01-31 12:00:00.000000000 +0000`.
pub(super) fn time(ns: i64) -> String {
    DateTime::from_timestamp_nanos(ns).format("%Y-%m-%d %H:%M:%S%.9f +0000").to_string()
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Given { options, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.misused(1, "stat", &message);
            return answer;
        }
    };
    let mut follow = false;
    let mut format = (DEFAULT, true, "");
    for (letter, value) in options {
        match letter {
            'L' => follow = true,
            'c' => format = (value.unwrap_or_default(), false, "\n"),
            PRINTF => format = (value.unwrap_or_default(), true, ""),
            't' => format = (TERSE, true, ""),
            'f' => {
                answer.complain(1, "stat: the option -f (file systems) is not supported here");
                return answer;
            }
            HELP => {
                answer.stdout.extend_from_slice(USAGE.as_bytes());
                return answer;
            }
            _ => {
                answer.stdout.extend_from_slice(b"stat (sqlfs), after GNU coreutils 9.1\n");
                return answer;
            }
        }
    }
    if operands.is_empty() {
        answer.misused(1, "stat", "missing operand");
    }
    for name in operands {
        if call.is_over() {
            break;
        }
        match look(call, name, follow) {
            Ok(file) => {
                print(&file, format.0, format.1, &mut answer);
                answer.stdout.extend_from_slice(format.2.as_bytes());
            }
            Err(errno) => answer.complain(1, format!("stat: cannot statx {}: {errno}", quote::always(name))),
        }
    }
    answer
}

struct File<'a> {
    name: &'a str,
    stat: Stat,
    target: Option<String>,
    device: bool,
}

fn look<'a>(call: &Call<'_>, name: &'a str, follow: bool) -> Result<File<'a>, Errno> {
    let path = call.path(name);
    match call.files.stat(&path, follow) {
        Ok(stat) => {
            let target = match stat.kind {
                Kind::Symlink => Some(call.files.read_link(&path)?.to_string()),
                Kind::File | Kind::Dir => None,
            };
            Ok(File { name, stat, target, device: stat.ino == 0 && stat.kind == Kind::File })
        }
        Err(errno) => match call.lent.get(name) {
            Some(lent) => Ok(File { name, stat: lent.stat, target: None, device: false }),
            None => Err(errno),
        },
    }
}

/// A directive between `%` and its letter.
#[derive(Default)]
struct Field {
    left: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

impl Field {
    fn pad(&self, text: &str, number: bool) -> String {
        let mut text = text.to_owned();
        if let Some(precision) = self.precision {
            if !number {
                text = text.chars().take(precision).collect();
            } else if text.len() < precision {
                text.insert_str(0, &"0".repeat(precision - text.len()));
            }
        }
        let missing = self.width.saturating_sub(text.chars().count());
        if self.left {
            text.push_str(&" ".repeat(missing));
        } else {
            let sign = if self.zero && number && self.precision.is_none() { "0" } else { " " };
            text.insert_str(0, &sign.repeat(missing));
        }
        text
    }
}

/// No field is wider.
const MAX_WIDTH: usize = 4096;

fn print(file: &File<'_>, format: &str, escapes: bool, answer: &mut Answer) {
    let mut out = String::new();
    let mut bytes = Vec::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '%' => {
                let mut field = Field::default();
                while let Some(&flag) = rest.peek() {
                    match flag {
                        '-' => field.left = true,
                        '0' => field.zero = true,
                        '#' => field.alternate = true,
                        // Signs of numbers that are never negative, or grouped.
                        '+' | ' ' | '\'' => {}
                        _ => break,
                    }
                    rest.next();
                }
                let number = |rest: &mut std::iter::Peekable<std::str::Chars<'_>>| {
                    let mut number = 0usize;
                    while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
                        number = (number * 10 + digit as usize).min(MAX_WIDTH);
                        rest.next();
                    }
                    number
                };
                field.width = number(&mut rest);
                if rest.peek() == Some(&'.') {
                    rest.next();
                    field.precision = Some(number(&mut rest));
                }
                let part = rest.peek().copied().filter(|c| matches!(c, 'H' | 'L'));
                if part.is_some() {
                    rest.next();
                }
                match (part, rest.next()) {
                    (None, None | Some('%')) => out.push('%'),
                    (_, None) => out.push('?'),
                    (part, Some(letter)) => {
                        out.push_str(&directive(file, part, letter, &field, std::ptr::eq(format, DEFAULT)));
                    }
                }
            }
            '\\' if escapes => escape(&mut rest, &mut out, &mut bytes),
            c => out.push(c),
        }
    }
    bytes.extend_from_slice(out.as_bytes());
    answer.stdout.extend_from_slice(&bytes);
}

/// Text so far goes to `bytes` before a byte that may be no text.
fn escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String, bytes: &mut Vec<u8>) {
    let c = match rest.next() {
        Some('n') => '\n',
        Some('t') => '\t',
        Some('r') => '\r',
        Some('a') => '\u{7}',
        Some('b') => '\u{8}',
        Some('e') => '\u{1b}',
        Some('f') => '\u{c}',
        Some('v') => '\u{b}',
        None => '\\',
        Some(first @ ('0'..='7' | 'x')) => {
            let (radix, most) = if first == 'x' { (16, 2) } else { (8, 2) };
            let mut value = first.to_digit(8).unwrap_or(0);
            for _ in 0..most {
                let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else { break };
                value = value * radix + digit;
                rest.next();
            }
            bytes.extend_from_slice(out.as_bytes());
            out.clear();
            bytes.push(value as u8);
            return;
        }
        Some(other) => other,
    };
    out.push(c);
}

fn directive(file: &File<'_>, part: Option<char>, letter: char, field: &Field, by_default: bool) -> String {
    let stat = &file.stat;
    let number = |value: u64| field.pad(&value.to_string(), true);
    let hex = |value: u64| {
        let sign = if field.alternate && value != 0 { "0x" } else { "" };
        field.pad(&format!("{sign}{value:x}"), true)
    };
    let text = |value: &str| field.pad(value, false);
    let names = |quoted: fn(&str) -> String| {
        let target = file.target.as_ref().map(|target| format!(" -> {}", quoted(target)));
        text(&format!("{}{}", quoted(file.name), target.unwrap_or_default()))
    };
    match (part, letter) {
        (None, 'a') => {
            let sign = if field.alternate && stat.mode != 0 { "0" } else { "" };
            field.pad(&format!("{sign}{:o}", stat.mode), true)
        }
        (None, 'A') => text(&mode_text(stat.kind, file.device, stat.mode)),
        (None, 'b') => number(blocks(stat, file.device)),
        (None, 'B') => number(BLOCK),
        // One device; no file is one.
        (Some(_), 'd' | 'r') | (None, 'd' | 't' | 'T' | 'r' | 'W') => number(0),
        (None, 'D' | 'R') => hex(0),
        (None, 'f') => hex(u64::from(file_type(file) | stat.mode)),
        (None, 'F') => text(kind_text(file)),
        (None, 'g' | 'u') => number(u64::from(USER.0)),
        (None, 'G' | 'U') => text(USER.1),
        (None, 'h') => number(u64::from(stat.nlink)),
        (None, 'i') => number(stat.ino),
        (None, 'm') => text(if file.device { "/dev" } else { "/" }),
        (None, 'n') => text(file.name),
        (None, 'N') => names(quote::always),
        (None, 'Q') if by_default => names(quote::when_needed),
        (None, 'o') => number(IO_BLOCK),
        (None, 's') => number(if file.device { 0 } else { stat.size }),
        (None, 'w') => text("-"),
        (None, 'x' | 'y' | 'z') => text(&time(stat.mtime_ns)),
        (None, 'X' | 'Y' | 'Z') => seconds(stat.mtime_ns, field),
        _ => "?".to_owned(),
    }
}

/// Seconds since the epoch, with as many decimals as the precision asks for.
fn seconds(ns: i64, field: &Field) -> String {
    let mut text = ns.div_euclid(1_000_000_000).to_string();
    if let Some(precision) = field.precision {
        let digits = if precision == 0 { 9 } else { precision.min(9) };
        let _ = write!(text, ".{}", &format!("{:09}", ns.rem_euclid(1_000_000_000))[..digits]);
        text.push_str(&"0".repeat(precision.saturating_sub(9)));
    }
    let field = Field { precision: None, ..*field };
    field.pad(&text, true)
}

fn file_type(file: &File<'_>) -> u32 {
    match file.stat.kind {
        Kind::File if file.device => 0o020_000,
        Kind::File => 0o100_000,
        Kind::Dir => 0o040_000,
        Kind::Symlink => 0o120_000,
    }
}

fn kind_text(file: &File<'_>) -> &'static str {
    match file.stat.kind {
        Kind::File if file.device => "character special file",
        Kind::File if file.stat.size == 0 => "regular empty file",
        Kind::File => "regular file",
        Kind::Dir => "directory",
        Kind::Symlink => "symbolic link",
    }
}

/// As `ls -l` shows it.
pub(super) fn mode_text(kind: Kind, device: bool, mode: u32) -> String {
    let mut text = String::from(match kind {
        Kind::File if device => "c",
        Kind::File => "-",
        Kind::Dir => "d",
        Kind::Symlink => "l",
    });
    for (shift, special, on, off) in [(6, 0o4000, 's', 'S'), (3, 0o2000, 's', 'S'), (0, 0o1000, 't', 'T')] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => on,
            (true, false) => off,
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}
