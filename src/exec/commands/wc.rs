//! `wc`, as of GNU coreutils 9.1, in a UTF-8 locale. Standard input is taken for a
//! pipe: its counts are seven wide.

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call, quote};
use crate::fs::Kind;

const FILES: char = '\u{3}';

const SPECS: &[Spec] = &[
    ('c', "bytes", Takes::Nothing),
    ('m', "chars", Takes::Nothing),
    ('l', "lines", Takes::Nothing),
    (FILES, "files0-from", Takes::Argument),
    ('L', "max-line-length", Takes::Nothing),
    ('w', "words", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: wc [OPTION]... [FILE]...
  or:  wc [OPTION]... --files0-from=F
Print newline, word, and byte counts for each FILE, and a total line if
more than one FILE is specified.

  -c, --bytes            print the byte counts
  -m, --chars            print the character counts
  -l, --lines            print the newline counts
      --files0-from=F    read input from the files specified by
                           NUL-terminated names in file F
  -L, --max-line-length  print the maximum display width
  -w, --words            print the word counts
";

/// Width of counts of what is no regular file.
const UNKNOWN_WIDTH: usize = 7;

#[derive(Clone, Copy, Default)]
struct Counts {
    lines: u64,
    words: u64,
    chars: u64,
    bytes: u64,
    longest: u64,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Given { options: given, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.misused(1, "wc", &message);
            return answer;
        }
    };
    let mut names: Vec<String> = operands.iter().map(|name| (*name).to_owned()).collect();
    let (mut wanted, mut list_from_stdin) = (Vec::new(), false);
    for (letter, value) in given {
        match letter {
            HELP => {
                answer.stdout.extend_from_slice(USAGE.as_bytes());
                return answer;
            }
            VERSION => {
                answer.stdout.extend_from_slice(b"wc (sqlfs), after GNU coreutils 9.1\n");
                return answer;
            }
            FILES => {
                let list = value.unwrap_or_default();
                list_from_stdin = list == "-";
                match call.read(list) {
                    Ok(data) => names.extend(
                        data.split(|&byte| byte == 0)
                            .filter(|name| !name.is_empty())
                            .map(|name| String::from_utf8_lossy(name).into_owned()),
                    ),
                    Err(errno) => {
                        let list = quote::always(list);
                        answer.complain(1, format!("wc: cannot open {list} for reading: {errno}"));
                        return answer;
                    }
                }
            }
            other => wanted.push(other),
        }
    }
    if wanted.is_empty() {
        wanted = vec!['l', 'w', 'c'];
    }
    let shown: Vec<char> =
        ['l', 'w', 'm', 'c', 'L'].into_iter().filter(|letter| wanted.contains(letter)).collect();
    let from_stdin = names.is_empty();
    if from_stdin {
        names.push("-".to_owned());
    }
    // Of a list that is still being read, no file is known beforehand.
    let width = if list_from_stdin { 1 } else { width(call, &names, shown.len()) };
    let mut total = Counts::default();
    for name in &names {
        if call.is_over() {
            return answer;
        }
        let read = match (name.as_str(), call.lent.get(name)) {
            ("-", _) => Ok(call.stdin.to_vec().into()),
            (_, Some(lent)) => Ok(lent.data.clone()),
            (name, None) => read(call, name),
        };
        let counts = match read {
            Ok(data) => count(&data, &shown),
            Err(errno) => {
                answer.complain(1, format!("wc: {}: {errno}", quote::when_needed(name)));
                if errno != crate::fs::Errno::EISDIR {
                    continue;
                }
                Counts::default()
            }
        };
        total.lines += counts.lines;
        total.words += counts.words;
        total.chars += counts.chars;
        total.bytes += counts.bytes;
        total.longest = total.longest.max(counts.longest);
        print(&counts, &shown, width, if from_stdin { "" } else { name }, &mut answer);
    }
    if names.len() > 1 {
        print(&total, &shown, width, "total", &mut answer);
    }
    answer
}

fn read(call: &Call<'_>, name: &str) -> Result<bytes::Bytes, crate::fs::Errno> {
    let path = call.path(name);
    if path == "/dev/stdin" { Ok(call.stdin.to_vec().into()) } else { call.files.read(&path) }
}

fn width(call: &Call<'_>, names: &[String], counts: usize) -> usize {
    if names.len() == 1 && counts == 1 {
        return 1;
    }
    let (mut least, mut sum) = (1, 0);
    for name in names {
        let stat = match call.lent.get(name) {
            Some(_) => None,
            None if name == "-" => None,
            None => match call.files.stat(&call.path(name), true) {
                Ok(stat) => Some(stat),
                Err(_) => continue,
            },
        };
        match stat {
            Some(stat) if stat.kind == Kind::File && stat.ino != 0 => sum += stat.size,
            _ => least = UNKNOWN_WIDTH,
        }
    }
    sum.to_string().len().max(least)
}

fn print(counts: &Counts, shown: &[char], width: usize, name: &str, answer: &mut Answer) {
    let number = |letter: &char| match letter {
        'l' => counts.lines,
        'w' => counts.words,
        'm' => counts.chars,
        'c' => counts.bytes,
        _ => counts.longest,
    };
    let mut line: Vec<String> = shown.iter().map(|letter| format!("{:>width$}", number(letter))).collect();
    if !name.is_empty() {
        line.push(name.to_owned());
    }
    answer.stdout.extend_from_slice(format!("{}\n", line.join(" ")).as_bytes());
}

fn count(data: &[u8], shown: &[char]) -> Counts {
    let mut counts = Counts { bytes: data.len() as u64, ..Counts::default() };
    counts.lines = data.iter().filter(|&&byte| byte == b'\n').count() as u64;
    if !shown.iter().any(|letter| matches!(letter, 'w' | 'm' | 'L')) {
        return counts;
    }
    let (mut in_word, mut at) = (false, 0_u64);
    for chunk in data.utf8_chunks() {
        for c in chunk.valid().chars() {
            counts.chars += 1;
            match c {
                '\n' | '\r' | '\u{c}' => {
                    counts.longest = counts.longest.max(at);
                    at = 0;
                }
                '\t' => at += 8 - at % 8,
                c if !c.is_control() => at += columns(c),
                _ => {}
            }
            if c.is_whitespace() {
                counts.words += u64::from(std::mem::take(&mut in_word));
            } else if !c.is_control() {
                in_word = true;
            }
        }
    }
    counts.words += u64::from(in_word);
    counts.longest = counts.longest.max(at);
    counts
}

/// Columns that a character takes.
fn columns(c: char) -> u64 {
    match c as u32 {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}
