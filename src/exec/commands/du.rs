//! `du`, as of GNU coreutils 9.1. A file takes whole blocks of 4 KiB, a directory one, links and
//! devices none: what `ls -s` and `stat` tell too. Names come sorted by bytes. Devices and what
//! only the engine has are not counted; `-x` means nothing, there is one file system.

use std::collections::HashSet;

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::refusal::{Refusal, choice};
use super::walk::{Entry, Follow, Plan, Trouble, Walk};
use super::{Answer, Call, glob, quote};
use crate::fs::{Kind, Sight};

mod units;

use units::{Unit, threshold};

const APPARENT: char = '\u{3}';
const INODES: char = '\u{4}';
const SI: char = '\u{5}';
const TIME: char = '\u{6}';
const TIME_STYLE: char = '\u{7}';
const EXCLUDE: char = '\u{8}';
const FILES_FROM: char = '\u{9}';
const BLOCK_SIZE: char = '\u{10}';
const THRESHOLD: char = '\u{11}';

const SPECS: &[Spec] = &[
    ('0', "null", Takes::Nothing),
    ('a', "all", Takes::Nothing),
    (APPARENT, "apparent-size", Takes::Nothing),
    ('B', "", Takes::Argument),
    (BLOCK_SIZE, "block-size", Takes::Argument),
    ('b', "bytes", Takes::Nothing),
    ('c', "total", Takes::Nothing),
    ('D', "dereference-args", Takes::Nothing),
    ('d', "max-depth", Takes::Argument),
    (FILES_FROM, "files0-from", Takes::Argument),
    ('H', "", Takes::Nothing),
    ('h', "human-readable", Takes::Nothing),
    (INODES, "inodes", Takes::Nothing),
    ('k', "", Takes::Nothing),
    ('L', "dereference", Takes::Nothing),
    ('l', "count-links", Takes::Nothing),
    ('m', "", Takes::Nothing),
    ('P', "no-dereference", Takes::Nothing),
    ('S', "separate-dirs", Takes::Nothing),
    (SI, "si", Takes::Nothing),
    ('s', "summarize", Takes::Nothing),
    ('t', "", Takes::Argument),
    (THRESHOLD, "threshold", Takes::Argument),
    (TIME, "time", Takes::Optional),
    (TIME_STYLE, "time-style", Takes::Argument),
    ('X', "exclude-from", Takes::Argument),
    (EXCLUDE, "exclude", Takes::Argument),
    ('x', "one-file-system", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: du [OPTION]... [FILE]...
  or:  du [OPTION]... --files0-from=F
Summarize device usage of the set of FILEs, recursively for directories.

  -0, --null            end each output line with NUL, not newline
  -a, --all             write counts for all files, not just directories
      --apparent-size   print apparent sizes rather than device usage
  -B, --block-size=SIZE scale sizes by SIZE before printing them
  -b, --bytes           equivalent to '--apparent-size --block-size=1'
  -c, --total           produce a grand total
  -D, -H, --dereference-args  follow links listed on the command line
  -d, --max-depth=N     print the total for what is at most N levels below
      --files0-from=F   summarize the NUL-terminated file names in file F
  -h, --human-readable  print sizes in human readable format (e.g., 1K 234M 2G)
      --inodes          list inode usage information instead of block usage
  -k, -m                like --block-size=1K, --block-size=1M
  -L, --dereference     follow all symbolic links
  -l, --count-links     count sizes many times if hard linked
  -S, --separate-dirs   for directories do not include size of subdirectories
      --si              like -h, but use powers of 1000 not 1024
  -s, --summarize       display only a total for each argument
  -t, --threshold=SIZE  leave out what is smaller, or larger if negative
      --time, --time-style=STYLE  show the last change: full-iso, long-iso, iso, +FORMAT
  -X, --exclude-from=FILE, --exclude=PATTERN  leave out what matches
";

struct Options<'a> {
    end: u8,
    all: bool,
    apparent: bool,
    unit: Unit,
    total: bool,
    depth: usize,
    inodes: bool,
    count_links: bool,
    separate: bool,
    threshold: Option<(bool, u64)>,
    time: Option<&'a str>,
    follow: Follow,
    exclude: Vec<glob::Pattern>,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let (mut options, starts) = match read(call, &mut answer) {
        Ok(read) => read,
        Err(refusal) => {
            let refused = refusal.answer("du", 1);
            answer.stdout.extend(refused.stdout);
            answer.stderr.extend(refused.stderr);
            answer.exit = answer.exit.max(refused.exit);
            return answer;
        }
    };
    let several = starts.len() > 1;
    let plan = Plan {
        cwd: call.cwd.to_owned(),
        follow: options.follow,
        min: 0,
        max: usize::MAX,
        inside_first: true,
        over: std::collections::BTreeMap::new(),
        starts,
    };
    let walk = match Walk::new(call.files.clone(), plan) {
        Ok(walk) => walk,
        Err(errno) => {
            answer.complain(1, format!("du: {errno}"));
            return answer;
        }
    };
    let (count_links, all) = (options.count_links, several || options.follow == Follow::Always);
    let patterns = std::mem::take(&mut options.exclude);
    // What is met twice counts once.
    let mut met = HashSet::new();
    let walk = walk.skipping(move |path, entry| {
        let tails = || path.match_indices('/').map(|(at, _)| &path[at + 1..]).chain([path]);
        if patterns.iter().any(|pattern| tails().any(|tail| pattern.matches(tail))) {
            return true;
        }
        let shared = all || (entry.stat.kind != Kind::Dir && entry.stat.nlink > 1);
        !count_links && shared && !met.insert(entry.ino)
    });
    count(call, &options, walk, &mut answer);
    answer
}

/// What was counted on one level.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// With all that is below.
    whole: u64,
    /// Without what is in directories.
    direct: u64,
    newest: i64,
}

fn count(call: &Call<'_>, options: &Options<'_>, mut walk: Walk, answer: &mut Answer) {
    let mut sums = vec![Sum { newest: i64::MIN, ..Sum::default() }];
    let mut total = 0u64;
    let mut newest = i64::MIN;
    let mut met = 0u32;
    loop {
        let entry = walk.next();
        for trouble in std::mem::take(&mut walk.trouble) {
            match trouble {
                Trouble::Errno(path, errno) => {
                    answer.complain(1, format!("du: cannot access {}: {errno}", quote::always(&path)));
                }
                // What is above is being counted.
                Trouble::Loop(..) => {}
            }
        }
        let Some(entry) = entry else { break };
        met = met.wrapping_add(1);
        if met.is_multiple_of(64) && call.is_over() {
            return;
        }
        let follows = match options.follow {
            Follow::Always => true,
            Follow::Starts => entry.level == 0,
            Follow::Never => false,
        };
        if follows && entry.stat.kind == Kind::Symlink {
            answer.complain(1, format!("du: cannot access {}", quote::always(walk.path(&entry))));
            continue;
        }
        let is_dir = entry.stat.kind == Kind::Dir;
        sums.resize(sums.len().max(entry.level + 2), Sum { newest: i64::MIN, ..Sum::default() });
        let below = if is_dir {
            std::mem::replace(&mut sums[entry.level + 1], Sum { newest: i64::MIN, ..Sum::default() })
        } else {
            Sum { newest: i64::MIN, ..Sum::default() }
        };
        let own = size(options, &entry);
        let whole = own.saturating_add(below.whole);
        let latest = entry.stat.mtime_ns.max(below.newest);
        let here = &mut sums[entry.level];
        here.whole = here.whole.saturating_add(whole);
        here.newest = here.newest.max(latest);
        if !is_dir {
            here.direct = here.direct.saturating_add(own);
        }
        if entry.level == 0 {
            total = total.saturating_add(whole);
            newest = newest.max(latest);
        }
        let shown = if options.separate && is_dir { own.saturating_add(below.direct) } else { whole };
        let prints = entry.level == 0 || (entry.level <= options.depth && (is_dir || options.all));
        let fits =
            options.threshold.is_none_or(|(most, limit)| if most { shown <= limit } else { shown >= limit });
        if prints && fits {
            print(options, shown, latest, walk.path(&entry), answer);
        }
    }
    if options.total {
        print(options, total, newest.max(0), "total", answer);
    }
}

fn size(options: &Options<'_>, entry: &Entry) -> u64 {
    let device = Sight::is_device(entry.ino);
    if options.inodes {
        1
    } else if options.apparent {
        if device { 0 } else { entry.stat.size }
    } else {
        super::stat::blocks(&entry.stat, device) * 512
    }
}

fn print(options: &Options<'_>, amount: u64, newest: i64, name: &str, answer: &mut Answer) {
    let amount = if options.inodes { options.unit.count(amount) } else { options.unit.size(amount) };
    let out = &mut answer.stdout;
    out.extend_from_slice(amount.as_bytes());
    if let Some(format) = options.time {
        let date = chrono::DateTime::from_timestamp_nanos(newest).format(format).to_string();
        out.push(b'\t');
        out.extend_from_slice(date.as_bytes());
    }
    out.push(b'\t');
    out.extend_from_slice(name.as_bytes());
    out.push(options.end);
}

/// The words, understood; warnings go to `answer`.
fn read<'a>(call: &'a Call<'_>, answer: &mut Answer) -> Result<(Options<'a>, Vec<String>), Refusal> {
    let Given { options: given, operands, .. } =
        options::parse(call.args, SPECS).map_err(Refusal::Misused)?;
    let mut options = Options {
        end: b'\n',
        all: false,
        apparent: false,
        unit: Unit::plain(1024),
        total: false,
        depth: usize::MAX,
        inodes: false,
        count_links: false,
        separate: false,
        threshold: None,
        time: None,
        follow: Follow::Never,
        exclude: Vec::new(),
    };
    let (mut depth, mut summarize, mut style, mut from) = (None, false, "long-iso", None);
    for (letter, value) in given {
        let text = value.unwrap_or_default();
        match letter {
            '0' => options.end = 0,
            'a' => options.all = true,
            APPARENT => options.apparent = true,
            'b' => (options.apparent, options.unit) = (true, Unit::plain(1)),
            'B' => options.unit = Unit::read(text, "-B").map_err(Refusal::Wrong)?,
            BLOCK_SIZE => options.unit = Unit::read(text, "--block-size").map_err(Refusal::Wrong)?,
            'c' => options.total = true,
            'D' | 'H' => options.follow = Follow::Starts,
            'L' => options.follow = Follow::Always,
            'P' => options.follow = Follow::Never,
            'd' => {
                let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                if !plain {
                    let text = quote::curly(text);
                    return Err(Refusal::Misused(format!("invalid maximum depth {text}")));
                }
                depth = Some(text.parse().unwrap_or(usize::MAX));
            }
            FILES_FROM => from = Some(text),
            'h' => options.unit = Unit::human(1024),
            SI => options.unit = Unit::human(1000),
            INODES => options.inodes = true,
            'k' => options.unit = Unit::plain(1024),
            'm' => options.unit = Unit::plain(1 << 20),
            'l' => options.count_links = true,
            'S' => options.separate = true,
            's' => summarize = true,
            't' => options.threshold = Some(threshold(text, "-t").map_err(Refusal::Wrong)?),
            THRESHOLD => options.threshold = Some(threshold(text, "--threshold").map_err(Refusal::Wrong)?),
            TIME => {
                const WORDS: &[(&str, u8)] =
                    &[("atime", 0), ("access", 0), ("use", 0), ("ctime", 1), ("status", 1)];
                if value.is_some() {
                    choice("--time", text, WORDS)?;
                }
                options.time = Some("");
            }
            TIME_STYLE => style = text,
            'X' => {
                let data = call.read(text).map_err(|errno| Refusal::Misused(format!("{text}: {errno}")))?;
                let data = String::from_utf8_lossy(&data).into_owned();
                options.exclude.extend(data.lines().map(|line| glob::Pattern::new(line, false)));
            }
            EXCLUDE => options.exclude.push(glob::Pattern::new(text, false)),
            HELP => return Err(Refusal::Told(USAGE)),
            VERSION => return Err(Refusal::Told("du (GNU coreutils) 9.1, as far as it goes here\n")),
            _ => {}
        }
    }
    if options.all && summarize {
        return Err(Refusal::Misused("cannot both summarize and show all entries".to_owned()));
    }
    match depth {
        Some(0) if summarize => {
            answer.complain(0, "du: warning: summarizing is the same as using --max-depth=0");
        }
        Some(depth) if summarize => {
            return Err(Refusal::Misused(format!("warning: summarizing conflicts with --max-depth={depth}")));
        }
        _ => {}
    }
    options.depth = if summarize { 0 } else { depth.unwrap_or(usize::MAX) };
    if options.inodes {
        if options.apparent {
            answer.complain(0, "du: warning: options --apparent-size and -b are ineffective with --inodes");
        }
        if options.unit.is_plain() {
            options.unit = Unit::plain(1);
        }
    }
    if options.time.is_some() {
        options.time = Some(time_style(style)?);
    }
    let mut starts: Vec<String> = operands.iter().map(|&operand| operand.to_owned()).collect();
    if let Some(file) = from {
        if let Some(operand) = starts.first() {
            return Err(Refusal::Misused(format!(
                "extra operand {}\nfile operands cannot be combined with --files0-from",
                quote::curly(operand)
            )));
        }
        let data = call.read(file).map_err(|errno| {
            Refusal::Wrong(format!("cannot open {} for reading: {errno}", quote::always(file)))
        })?;
        let data = data.strip_suffix(b"\0").unwrap_or(&data);
        for (at, name) in data.split(|&byte| byte == 0).enumerate().filter(|_| !data.is_empty()) {
            if name.is_empty() {
                answer.complain(1, format!("du: {file}:{}: invalid zero-length file name", at + 1));
            } else {
                starts.push(String::from_utf8_lossy(name).into_owned());
            }
        }
    } else if starts.is_empty() {
        starts.push(".".to_owned());
    }
    starts.retain(|start| {
        if start.is_empty() {
            answer.complain(1, "du: invalid zero-length file name");
        }
        !start.is_empty()
    });
    Ok((options, starts))
}

fn time_style(style: &str) -> Result<&str, Refusal> {
    if let Some(format) = style.strip_prefix('+') {
        let wrong =
            chrono::format::StrftimeItems::new(format).any(|item| item == chrono::format::Item::Error);
        return if wrong {
            Err(Refusal::Wrong(format!("the time format {} is not known", quote::always(format))))
        } else {
            Ok(format)
        };
    }
    let formats =
        [("full-iso", "%Y-%m-%d %H:%M:%S%.9f +0000"), ("long-iso", "%Y-%m-%d %H:%M"), ("iso", "%Y-%m-%d")];
    choice("time style", style, &formats)
}
