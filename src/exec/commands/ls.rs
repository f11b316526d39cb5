//! `ls`, as of GNU coreutils 9.1, with output to no terminal. Names are compared by
//! bytes, times are UTC. Left out: colours, SELinux contexts, quoting styles but -Q.

use std::sync::Arc;

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call, glob, join, quote};
use crate::fs::{Errno, Kind, Stat};

mod columns;
mod long;
mod order;

use order::sort;

const COLOR: char = '\u{3}';
const DIRS_FIRST: char = '\u{4}';
const FULL_TIME: char = '\u{5}';
const TIME_STYLE: char = '\u{6}';
const SORT: char = '\u{7}';
const TIME: char = '\u{8}';
const FILE_TYPE: char = '\u{e}';
const SI: char = '\u{f}';
const HIDE: char = '\u{10}';
const FORMAT: char = '\u{11}';
const ZERO: char = '\u{12}';
const INDICATOR: char = '\u{13}';
const BLOCK_SIZE: char = '\u{14}';
const AUTHOR: char = '\u{15}';
const FOLLOW_DIRS: char = '\u{16}';
const CLASSIFY: char = '\u{17}';

const SPECS: &[Spec] = &[
    ('a', "all", Takes::Nothing),
    ('A', "almost-all", Takes::Nothing),
    (AUTHOR, "author", Takes::Nothing),
    ('b', "escape", Takes::Nothing),
    (BLOCK_SIZE, "block-size", Takes::Argument),
    ('B', "ignore-backups", Takes::Nothing),
    ('c', "", Takes::Nothing),
    ('C', "", Takes::Nothing),
    (COLOR, "color", Takes::Optional),
    ('d', "directory", Takes::Nothing),
    ('f', "", Takes::Nothing),
    ('F', "", Takes::Nothing),
    (CLASSIFY, "classify", Takes::Optional),
    (FILE_TYPE, "file-type", Takes::Nothing),
    (FORMAT, "format", Takes::Argument),
    (FULL_TIME, "full-time", Takes::Nothing),
    ('g', "", Takes::Nothing),
    (DIRS_FIRST, "group-directories-first", Takes::Nothing),
    ('G', "no-group", Takes::Nothing),
    ('h', "human-readable", Takes::Nothing),
    (SI, "si", Takes::Nothing),
    ('H', "dereference-command-line", Takes::Nothing),
    (FOLLOW_DIRS, "dereference-command-line-symlink-to-dir", Takes::Nothing),
    (HIDE, "hide", Takes::Argument),
    (INDICATOR, "indicator-style", Takes::Argument),
    ('i', "inode", Takes::Nothing),
    ('I', "ignore", Takes::Argument),
    ('k', "kibibytes", Takes::Nothing),
    ('l', "", Takes::Nothing),
    ('L', "dereference", Takes::Nothing),
    ('m', "", Takes::Nothing),
    ('n', "numeric-uid-gid", Takes::Nothing),
    ('N', "literal", Takes::Nothing),
    ('o', "", Takes::Nothing),
    ('p', "", Takes::Nothing),
    ('q', "hide-control-chars", Takes::Nothing),
    ('Q', "quote-name", Takes::Nothing),
    ('r', "reverse", Takes::Nothing),
    ('R', "recursive", Takes::Nothing),
    ('s', "size", Takes::Nothing),
    ('S', "", Takes::Nothing),
    (SORT, "sort", Takes::Argument),
    (TIME, "time", Takes::Argument),
    (TIME_STYLE, "time-style", Takes::Argument),
    ('t', "", Takes::Nothing),
    ('T', "tabsize", Takes::Argument),
    ('u', "", Takes::Nothing),
    ('U', "", Takes::Nothing),
    ('v', "", Takes::Nothing),
    ('w', "width", Takes::Argument),
    ('x', "", Takes::Nothing),
    ('X', "", Takes::Nothing),
    (ZERO, "zero", Takes::Nothing),
    ('1', "", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: ls [OPTION]... [FILE]...
List information about the FILEs (the current directory by default).

  -a, -A      do not ignore entries starting with . (-A: but . and ..)
  -l          long listing; -g -o -G without owner, group; -n with numeric ids
  -1 -C -x -m one per line, in columns, in lines, with commas
  -d          list directories themselves      -R  subdirectories recursively
  -S -t -X -v -U  sort by size, time, extension, version, not; -r  reverse
  -F -p       append indicators, / to directories
  -h --si     human readable sizes             -i -s  inode number, blocks
  -L -H       follow links, of the command line
  -I --hide   leave out names that match a pattern; -B  backups
  -Q          names in double quotes
      --group-directories-first, --full-time, --time-style=STYLE
";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    OnePerLine,
    Long,
    Columns,
    Across,
    Commas,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Name,
    Size,
    Time,
    Extension,
    Version,
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Human {
    No,
    Binary,
    Decimal,
}

struct Options<'a> {
    all: bool,
    almost_all: bool,
    layout: Layout,
    by: By,
    reverse: bool,
    dirs_first: bool,
    directory: bool,
    recursive: bool,
    /// `/` for directories; with `classify` the other kinds too.
    slash: bool,
    file_type: bool,
    classify: bool,
    owner: bool,
    group: bool,
    numeric: bool,
    human: Human,
    inode: bool,
    blocks: bool,
    follow: bool,
    follow_operands: bool,
    quote: bool,
    hide_control: bool,
    ignore: Vec<&'a str>,
    hide: Vec<&'a str>,
    time_style: &'a str,
    width: usize,
    end: char,
    now_ns: i64,
}

struct Entry {
    name: String,
    path: String,
    stat: Stat,
    /// Of a link.
    target: Option<Arc<str>>,
    /// What a link leads to.
    leads_to: Option<Stat>,
    device: bool,
}

impl Entry {
    fn is_dir(&self) -> bool {
        self.stat.kind == Kind::Dir || self.leads_to.is_some_and(|stat| stat.kind == Kind::Dir)
    }
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Given { options: given, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => return refuse(answer, &message),
    };
    let options = match read_options(&given, call.now_ns) {
        Ok(Some(options)) => options,
        Ok(None) => {
            let version = given.iter().any(|(letter, _)| *letter == VERSION);
            let text = if version { "ls (sqlfs), after GNU coreutils 9.1\n" } else { USAGE };
            answer.stdout.extend_from_slice(text.as_bytes());
            return answer;
        }
        Err(message) => return refuse(answer, &message),
    };
    let operands = if operands.is_empty() { vec!["."] } else { operands };
    let (mut files, mut dirs) = (Vec::new(), Vec::new());
    for operand in &operands {
        match operand_entry(call, &options, operand) {
            Ok(entry) if entry.stat.kind == Kind::Dir && !options.directory => dirs.push(entry),
            Ok(entry) => files.push(entry),
            Err(errno) => {
                answer.complain(2, format!("ls: cannot access {}: {errno}", quote::always(operand)));
            }
        }
    }
    sort(&options, &mut files);
    sort(&options, &mut dirs);
    print(&options, &files, false, &mut answer);
    let headers = operands.len() > 1 || options.recursive;
    let mut first = files.is_empty();
    dirs.reverse();
    while let Some(dir) = dirs.pop() {
        if call.is_over() {
            break;
        }
        if !std::mem::take(&mut first) {
            answer.stdout.push(b'\n');
        }
        if headers {
            answer.stdout.extend_from_slice(format!("{}:\n", shown(&options, &dir.name)).as_bytes());
        }
        let entries = match list(call, &options, &dir) {
            Ok(entries) => entries,
            Err(errno) => {
                let name = quote::always(&dir.name);
                answer.complain(1, format!("ls: cannot open directory {name}: {errno}"));
                continue;
            }
        };
        print(&options, &entries, true, &mut answer);
        if options.recursive {
            // What the interpreter invents has no inode.
            let below = |entry: &Entry| {
                entry.stat.kind == Kind::Dir && entry.stat.ino != 0 && entry.name != "." && entry.name != ".."
            };
            let found: Vec<Entry> = entries.into_iter().filter(below).collect();
            dirs.extend(
                found.into_iter().rev().map(|entry| Entry { name: join(&dir.name, &entry.name), ..entry }),
            );
        }
    }
    answer
}

fn refuse(mut answer: Answer, message: &str) -> Answer {
    answer.misused(2, "ls", message);
    answer
}

/// `None`: help or version.
fn read_options<'a>(given: &[(char, Option<&'a str>)], now_ns: i64) -> Result<Option<Options<'a>>, String> {
    let mut options = Options {
        all: false,
        almost_all: false,
        layout: Layout::OnePerLine,
        by: By::Name,
        reverse: false,
        dirs_first: false,
        directory: false,
        recursive: false,
        slash: false,
        file_type: false,
        classify: false,
        owner: true,
        group: true,
        numeric: false,
        human: Human::No,
        inode: false,
        blocks: false,
        follow: false,
        follow_operands: false,
        quote: false,
        hide_control: false,
        ignore: Vec::new(),
        hide: Vec::new(),
        time_style: "locale",
        width: 80,
        end: '\n',
        now_ns,
    };
    let (mut sorted, mut by_time) = (false, false);
    for &(letter, value) in given {
        let word = value.unwrap_or_default();
        let mut by = |options: &mut Options<'_>, by| (options.by, sorted) = (by, true);
        match letter {
            HELP | VERSION => return Ok(None),
            'a' => options.all = true,
            'A' => options.almost_all = true,
            'l' => options.layout = Layout::Long,
            'g' => (options.layout, options.owner) = (Layout::Long, false),
            'o' => (options.layout, options.group) = (Layout::Long, false),
            'n' => (options.layout, options.numeric) = (Layout::Long, true),
            'G' => options.group = false,
            '1' if options.layout != Layout::Long => options.layout = Layout::OnePerLine,
            'C' => options.layout = Layout::Columns,
            'x' => options.layout = Layout::Across,
            'm' => options.layout = Layout::Commas,
            FORMAT => match word {
                "long" | "verbose" => options.layout = Layout::Long,
                "single-column" => options.layout = Layout::OnePerLine,
                "commas" => options.layout = Layout::Commas,
                "across" | "horizontal" => options.layout = Layout::Across,
                "vertical" => options.layout = Layout::Columns,
                _ => return Err(format!("invalid argument '{word}' for '--format'")),
            },
            'S' => by(&mut options, By::Size),
            't' => by(&mut options, By::Time),
            'X' => by(&mut options, By::Extension),
            'v' => by(&mut options, By::Version),
            'U' => by(&mut options, By::Nothing),
            'f' => {
                options.all = true;
                by(&mut options, By::Nothing);
            }
            SORT => match word {
                "none" => by(&mut options, By::Nothing),
                "size" => by(&mut options, By::Size),
                "time" => by(&mut options, By::Time),
                "version" => by(&mut options, By::Version),
                "extension" => by(&mut options, By::Extension),
                "name" => by(&mut options, By::Name),
                _ => return Err(format!("invalid argument '{word}' for '--sort'")),
            },
            'c' | 'u' => by_time = true,
            'r' => options.reverse = true,
            'd' => options.directory = true,
            'R' => options.recursive = true,
            'p' => options.slash = true,
            FILE_TYPE => (options.slash, options.file_type) = (true, true),
            'F' | CLASSIFY if word != "never" && word != "no" && word != "none" => {
                (options.slash, options.file_type, options.classify) = (true, true, true);
            }
            INDICATOR => {
                options.slash = word != "none";
                options.file_type = matches!(word, "file-type" | "classify");
                options.classify = word == "classify";
            }
            'h' => options.human = Human::Binary,
            SI => options.human = Human::Decimal,
            'i' => options.inode = true,
            's' => options.blocks = true,
            'L' => options.follow = true,
            'H' | FOLLOW_DIRS => options.follow_operands = true,
            'I' => options.ignore.push(word),
            'B' => options.ignore.extend(["*~", ".*~"]),
            HIDE => options.hide.push(word),
            'Q' => options.quote = true,
            'N' => (options.quote, options.hide_control) = (false, false),
            'q' => options.hide_control = true,
            DIRS_FIRST => options.dirs_first = true,
            FULL_TIME => (options.layout, options.time_style) = (Layout::Long, "full-iso"),
            TIME_STYLE => options.time_style = word,
            'w' => options.width = word.parse().map_err(|_| format!("invalid line width: '{word}'"))?,
            ZERO => options.end = '\0',
            'b' | BLOCK_SIZE | AUTHOR => {
                return Err(format!("option {} is not supported here", option_name(letter)));
            }
            // What is so in any case: sizes in kibibytes, no colours to no terminal.
            _ => {}
        }
    }
    if by_time && !sorted && options.layout != Layout::Long {
        options.by = By::Time;
    }
    Ok(Some(options))
}

fn option_name(letter: char) -> String {
    let spec = SPECS.iter().find(|spec| spec.0 == letter);
    spec.map_or_else(|| letter.to_string(), |spec| format!("'--{}'", spec.1))
}

fn operand_entry(call: &Call<'_>, options: &Options<'_>, operand: &str) -> Result<Entry, Errno> {
    let path = call.path(operand);
    if let Some(lent) = call.lent.get(operand) {
        let device = lent.stat.kind == Kind::File && path.starts_with("/dev/");
        return Ok(Entry {
            name: operand.to_owned(),
            path,
            stat: lent.stat,
            target: None,
            leads_to: None,
            device,
        });
    }
    let stat = call.files.stat(&path, false)?;
    let entry = entry(call, options, operand.to_owned(), path, stat);
    let to_dir = entry.leads_to.is_some_and(|stat| stat.kind == Kind::Dir);
    let lists = options.layout != Layout::Long && !options.classify && !options.directory;
    match entry.leads_to {
        Some(stat) if options.follow_operands || (to_dir && lists) => {
            Ok(Entry { stat, target: None, ..entry })
        }
        None if options.follow && entry.stat.kind == Kind::Symlink => Err(Errno::ENOENT),
        _ => Ok(entry),
    }
}

fn entry(call: &Call<'_>, options: &Options<'_>, name: String, path: String, stat: Stat) -> Entry {
    let device = stat.kind == Kind::File && stat.ino == 0;
    let mut entry = Entry { name, path, stat, target: None, leads_to: None, device };
    if stat.kind == Kind::Symlink {
        entry.target = call.files.read_link(&entry.path).ok();
        entry.leads_to = call.files.stat(&entry.path, true).ok();
        if let Some(stat) = entry.leads_to.filter(|_| options.follow) {
            (entry.stat, entry.target) = (stat, None);
        }
    }
    entry
}

fn list(call: &Call<'_>, options: &Options<'_>, dir: &Entry) -> Result<Vec<Entry>, Errno> {
    let lent = call.lent.get(dir.name.as_str()).filter(|lent| lent.stat.kind == Kind::Dir);
    let found = match lent {
        Some(lent) => lent.entries.clone(),
        None => call.files.read_dir(&dir.path)?,
    };
    let mut entries = Vec::with_capacity(found.len() + 2);
    if options.all {
        for name in [".", ".."] {
            let path = join(&dir.path, name);
            let stat = call.files.stat(&path, true).unwrap_or(dir.stat);
            entries.push(entry(call, options, name.to_owned(), path, stat));
        }
    }
    let hidden = |name: &str| {
        let by_pattern = |patterns: &[&str]| patterns.iter().any(|pattern| glob::matches(pattern, name));
        let shows_all = options.all || options.almost_all;
        (!shows_all && (name.starts_with('.') || by_pattern(&options.hide))) || by_pattern(&options.ignore)
    };
    for (name, stat) in found {
        if !hidden(&name) {
            entries.push(entry(call, options, name.as_ref().to_owned(), join(&dir.path, &name), stat));
        }
    }
    sort(options, &mut entries);
    Ok(entries)
}

/// A name as it is printed.
fn shown(options: &Options<'_>, name: &str) -> String {
    if options.quote {
        return quote::double(name);
    }
    if options.hide_control {
        return name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    }
    name.to_owned()
}

fn indicator(options: &Options<'_>, stat: &Stat) -> &'static str {
    match stat.kind {
        Kind::Dir if options.slash => "/",
        Kind::Symlink if options.file_type => "@",
        Kind::File if options.classify && stat.mode & 0o111 != 0 => "*",
        _ => "",
    }
}

fn print(options: &Options<'_>, entries: &[Entry], in_dir: bool, answer: &mut Answer) {
    let mut out = String::new();
    if in_dir && (options.layout == Layout::Long || options.blocks) {
        let total: u64 = entries.iter().map(long::kibibytes).sum();
        out.push_str(&format!("total {}{}", long::size(options, total * 1024, 1024), options.end));
    }
    if options.layout == Layout::Long {
        long::print(options, entries, &mut out);
    } else {
        let name =
            |entry: &Entry| format!("{}{}", shown(options, &entry.name), indicator(options, &entry.stat));
        let fronts = long::fronts(options, entries);
        let names: Vec<String> =
            entries.iter().zip(fronts).map(|(entry, front)| format!("{front}{}", name(entry))).collect();
        match options.layout {
            Layout::Columns => columns::columns(&names, options.width, true, &mut out),
            Layout::Across => columns::columns(&names, options.width, false, &mut out),
            Layout::Commas => columns::commas(&names, options.width, &mut out),
            Layout::OnePerLine | Layout::Long => {
                for name in names {
                    out.push_str(&name);
                    out.push(options.end);
                }
            }
        }
    }
    answer.stdout.extend_from_slice(out.as_bytes());
}
