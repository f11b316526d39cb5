//! `tar`, as of GNU tar 1.34: archives in the formats that Python, npm and GNU write, packed by
//! gzip, xz or bzip2. Names go in sorted by bytes. Left out: `-d`, `-A`, `--delete`, the format
//! `v7`, `--sort=inode`, several volumes, incremental archives.

use std::fmt::Display;

use super::options::{self, HELP, Spec, Takes, VERSION};
use super::refusal::Refusal;
use super::{Answer, Call, date, human, mode, quote};

mod add;
mod pack;
mod stamp;
mod take;
mod transform;

use pack::Packing;
use stamp::{Format, Owner, Stamp};
use transform::Transform;

const EXCLUDE: char = '\u{10}';
const STRIP: char = '\u{11}';
const NO_RECURSION: char = '\u{12}';
const MTIME: char = '\u{13}';
const REMOVE: char = '\u{14}';
const TOTALS: char = '\u{15}';
/// What is so here in any case, or means nothing here: there is one user, and what a link or
/// file was is replaced.
const IGNORED: char = '\u{16}';
const SORT: char = '\u{17}';
const OWNER: char = '\u{18}';
const GROUP: char = '\u{19}';
const NUMERIC: char = '\u{1a}';
const MODE: char = '\u{1b}';
const CLAMP: char = '\u{1c}';
const TRANSFORM: char = '\u{1d}';
const SHOW: char = '\u{1e}';
const NO_VCS: char = '\u{1f}';
const PAX: char = '\u{80}';
const NO_PERMISSIONS: char = '\u{81}';

const SPECS: &[Spec] = &[
    ('c', "create", Takes::Nothing),
    ('x', "extract", Takes::Nothing),
    ('x', "get", Takes::Nothing),
    ('t', "list", Takes::Nothing),
    ('r', "append", Takes::Nothing),
    ('u', "update", Takes::Nothing),
    ('f', "file", Takes::Argument),
    ('C', "directory", Takes::Argument),
    ('v', "verbose", Takes::Nothing),
    ('z', "gzip", Takes::Nothing),
    ('z', "gunzip", Takes::Nothing),
    ('J', "xz", Takes::Nothing),
    ('j', "bzip2", Takes::Nothing),
    ('a', "auto-compress", Takes::Nothing),
    ('O', "to-stdout", Takes::Nothing),
    ('k', "keep-old-files", Takes::Nothing),
    ('m', "touch", Takes::Nothing),
    ('h', "dereference", Takes::Nothing),
    ('P', "absolute-names", Takes::Nothing),
    ('T', "files-from", Takes::Argument),
    ('X', "exclude-from", Takes::Argument),
    (EXCLUDE, "exclude", Takes::Argument),
    (STRIP, "strip-components", Takes::Argument),
    (NO_RECURSION, "no-recursion", Takes::Nothing),
    (MTIME, "mtime", Takes::Argument),
    (REMOVE, "remove-files", Takes::Nothing),
    (TOTALS, "totals", Takes::Nothing),
    (IGNORED, "wildcards", Takes::Nothing),
    (IGNORED, "overwrite", Takes::Nothing),
    (IGNORED, "no-same-owner", Takes::Nothing),
    (IGNORED, "same-owner", Takes::Nothing),
    (NO_PERMISSIONS, "no-same-permissions", Takes::Nothing),
    (NUMERIC, "numeric-owner", Takes::Nothing),
    (OWNER, "owner", Takes::Argument),
    (GROUP, "group", Takes::Argument),
    (SORT, "sort", Takes::Argument),
    ('H', "format", Takes::Argument),
    (PAX, "posix", Takes::Nothing),
    (MODE, "mode", Takes::Argument),
    (CLAMP, "clamp-mtime", Takes::Nothing),
    (TRANSFORM, "transform", Takes::Argument),
    (TRANSFORM, "xform", Takes::Argument),
    (SHOW, "show-transformed-names", Takes::Nothing),
    (SHOW, "show-stored-names", Takes::Nothing),
    (IGNORED, "warning", Takes::Argument),
    (NO_VCS, "exclude-vcs", Takes::Nothing),
    ('p', "preserve-permissions", Takes::Nothing),
    ('p', "same-permissions", Takes::Nothing),
    ('w', "interactive", Takes::Nothing),
    ('w', "confirmation", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: tar [OPTION...] [FILE]...
Examples:
  tar -cf archive.tar foo bar  # Create archive.tar from files foo and bar.
  tar -tvf archive.tar         # List all files in archive.tar verbosely.
  tar -xf archive.tar          # Extract all files from archive.tar.

  -c, -x, -t         create, extract, list
  -r, -u             append to an archive without compression; only what is newer
  -f, --file=ARCHIVE   its name; - or none: standard input or output
  -z, -J, -j, -a     compress by gzip, xz, bzip2, or as the name of the archive says
  -C, --directory=DIR  change to DIR for the names that follow
  -v                 name what is done
  -O, --to-stdout    extract to standard output
  -k                 do not replace files
  -m                 do not extract times of change
  -h                 follow symbolic links
  -P                 keep slashes at the beginning of names
  -T, -X FILE        take names, or patterns of names to leave out, from FILE
  -p                 extract modes as they are, whatever the umask
  -w                 ask before each member
  -H, --format=FORMAT  gnu, ustar or pax
  --exclude=PATTERN --exclude-vcs --strip-components=N --no-recursion --remove-files
  --mtime=DATE --clamp-mtime --mode=CHANGES --owner=NAME[:ID] --group=NAME[:ID]
  --numeric-owner --sort=name --transform=s/PATTERN/TEXT/ --show-transformed-names --totals
";

/// What a call of tar is to do.
struct Plan<'a> {
    archive: &'a str,
    packing: Packing,
    verbose: usize,
    to_stdout: bool,
    keep: bool,
    touch: bool,
    follow: bool,
    absolute: bool,
    recursive: bool,
    remove: bool,
    strip: usize,
    stamp: Stamp,
    /// Only what is newer than in the archive.
    update: bool,
    asks: bool,
    /// Modes are not cut by the umask.
    permissions: bool,
    totals: bool,
    transforms: Vec<Transform>,
    /// Names are shown as they are after that.
    shows: bool,
    exclude: Vec<String>,
    /// Names of members, each with the directory that it is in.
    names: Vec<(String, String)>,
    /// Where members are extracted to.
    dir: String,
}

/// A call that is under way.
struct Job<'a> {
    call: &'a Call<'a>,
    plan: Plan<'a>,
    answer: Answer,
    /// That names lost their first slash was said.
    told: bool,
    /// Answers to questions.
    replies: &'a [u8],
    /// Columns of owner and size in lists.
    width: usize,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let args = dashed(call.args);
    let (action, plan) = match read(call, &args) {
        Ok(read) => read,
        Err(refusal) => return refusal.answer("tar", 2),
    };
    let mut job =
        Job { call, plan, answer: Answer::default(), told: false, replies: call.stdin, width: take::WIDTH };
    match action {
        'c' | 'r' | 'u' => job.add(action != 'c'),
        _ => job.take(action == 't'),
    }
    let told = [&b"exiting now\n"[..], b"more information.\n"];
    if job.answer.exit != 0 && !told.iter().any(|end| job.answer.stderr.ends_with(end)) {
        job.complain("Exiting with failure status due to previous errors");
    }
    job.answer
}

/// `tar czf a.tgz d` is `tar -c -z -f a.tgz d`: each letter of the first word that takes an
/// argument takes one of the next words.
fn dashed(args: &[String]) -> Vec<String> {
    let Some(first) = args.first().filter(|first| !first.is_empty() && !first.starts_with('-')) else {
        return args.to_vec();
    };
    let mut rest = args[1..].iter();
    let mut all = Vec::new();
    for letter in first.chars() {
        all.push(format!("-{letter}"));
        if SPECS.iter().any(|(known, _, takes)| *known == letter && *takes == Takes::Argument) {
            all.extend(rest.next().cloned());
        }
    }
    all.extend(rest.cloned());
    all
}

/// Where it is told how tar is used.
const TRY: &str = "Try 'tar --help' or 'tar --usage' for more information.";

fn misused(message: impl Display) -> Refusal {
    Refusal::Wrong(format!("{message}\n{TRY}"))
}

/// The words, understood.
fn read<'a>(call: &Call<'_>, args: &'a [String]) -> Result<(char, Plan<'a>), Refusal> {
    let mut plan = Plan {
        archive: "-",
        packing: Packing::None,
        verbose: 0,
        to_stdout: false,
        keep: false,
        touch: false,
        follow: false,
        absolute: false,
        recursive: true,
        remove: false,
        strip: 0,
        stamp: Stamp::new(),
        update: false,
        asks: false,
        permissions: false,
        totals: false,
        transforms: Vec::new(),
        shows: false,
        exclude: Vec::new(),
        names: Vec::new(),
        dir: call.cwd.to_owned(),
    };
    let (mut action, mut auto) = (None, false);
    let lines = |file: &str| -> Result<Vec<String>, Refusal> {
        let data = call.read(file).map_err(|errno| misused(format!("{file}: Cannot open: {errno}")))?;
        Ok(String::from_utf8_lossy(&data)
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect())
    };
    let given = options::parse_in_order(args, SPECS).map_err(misused)?;
    for (letter, value) in given {
        let text = value.unwrap_or_default();
        match letter {
            None => plan.names.push((plan.dir.clone(), text.to_owned())),
            Some('C') => plan.dir = super::absolute(&plan.dir, text),
            Some('T') => {
                let dir = plan.dir.clone();
                plan.names.extend(lines(text)?.into_iter().map(|name| (dir.clone(), name)));
            }
            Some(letter @ ('c' | 'x' | 't' | 'r' | 'u')) => {
                if action.is_some_and(|action| action != letter) {
                    return Err(misused(
                        "You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option",
                    ));
                }
                action = Some(letter);
            }
            Some('f') => plan.archive = text,
            Some('v') => plan.verbose += 1,
            Some('z') => plan.packing = Packing::Gzip,
            Some('J') => plan.packing = Packing::Xz,
            Some('j') => plan.packing = Packing::Bzip2,
            Some('a') => auto = true,
            Some('O') => plan.to_stdout = true,
            Some('k') => plan.keep = true,
            Some('m') => plan.touch = true,
            Some('h') => plan.follow = true,
            Some('P') => plan.absolute = true,
            Some('X') => plan.exclude.extend(lines(text)?),
            Some(EXCLUDE) => plan.exclude.push(text.trim_end_matches('/').to_owned()),
            Some(STRIP) => {
                plan.strip =
                    text.parse().map_err(|_| misused(format!("{text}: Invalid number of elements")))?;
            }
            Some(NO_RECURSION) => plan.recursive = false,
            Some(MTIME) => plan.stamp.mtime = Some(mtime(call, text)?),
            Some(CLAMP) => plan.stamp.clamp = true,
            Some(MODE) => {
                if mode::change(text, 0, false, 0).is_none() {
                    return Err(fatal("Invalid mode given on option"));
                }
                plan.stamp.mode = Some(text.to_owned());
            }
            Some(OWNER) => plan.stamp.owner = Some(Owner::read(text).map_err(fatal)?),
            Some(GROUP) => plan.stamp.group = Some(Owner::read(text).map_err(fatal)?),
            Some(NUMERIC) => plan.stamp.numeric = true,
            Some('H') => plan.stamp.format = Format::read(text).map_err(misused)?,
            Some(PAX) => plan.stamp.format = Format::Pax,
            Some(SORT) => sort(text)?,
            Some(NO_VCS) => plan.exclude.extend(VERSION_CONTROL.iter().map(|&name| name.to_owned())),
            Some(TRANSFORM) => plan.transforms.extend(transform::read(text).map_err(misused)?),
            Some(SHOW) => plan.shows = true,
            Some('p') => plan.permissions = true,
            Some(NO_PERMISSIONS) => plan.permissions = false,
            Some('w') => plan.asks = true,
            Some(TOTALS) => plan.totals = true,
            Some(REMOVE) => plan.remove = true,
            Some(HELP) => return Err(Refusal::Told(USAGE)),
            Some(VERSION) => {
                return Err(Refusal::Told("tar (GNU tar) 1.34, as far as it goes here\n"));
            }
            Some(_) => {}
        }
    }
    let missing = "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options";
    let action = action.ok_or_else(|| misused(missing))?;
    plan.update = action == 'u';
    if matches!(action, 'r' | 'u') && plan.packing != Packing::None {
        return Err(misused("Cannot update compressed archives"));
    }
    if auto && action == 'c' {
        plan.packing = Packing::of_name(plan.archive);
    }
    Ok((action, plan))
}

/// What can do no more.
fn fatal(message: impl Display) -> Refusal {
    Refusal::Wrong(format!("{message}\ntar: Error is not recoverable: exiting now"))
}

/// What `--exclude-vcs` leaves out.
const VERSION_CONTROL: &[&str] = &[
    "CVS",
    ".cvsignore",
    "RCS",
    "SCCS",
    ".git",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".svn",
    ".arch-ids",
    "{arch}",
    "=RELEASE-ID",
    "=meta-update",
    "=update",
    ".bzr",
    ".bzrignore",
    ".bzrtags",
    ".hg",
    ".hgignore",
    ".hgtags",
    "_darcs",
];

/// `--mtime`: a date, or the file whose time it is. In seconds.
fn mtime(call: &Call<'_>, text: &str) -> Result<i64, Refusal> {
    let ns = if text.starts_with(['/', '.']) {
        let stat = call.files.stat(&call.path(text), true);
        let missing =
            |errno| misused(format!("{text}: Cannot stat: {errno}\ntar: Date sample file not found"));
        stat.map_err(missing)?.mtime_ns
    } else {
        let wrong = || fatal(format!("the date {} is not known", quote::curly(text)));
        date::instant(text, call.now_ns).ok_or_else(wrong)?
    };
    Ok(ns.div_euclid(1_000_000_000))
}

/// `--sort`: names are sorted in any case.
fn sort(text: &str) -> Result<(), Refusal> {
    match text {
        "name" | "none" => Ok(()),
        "inode" => Err(Refusal::Wrong("--sort=inode is not supported here".to_owned())),
        text => {
            let names: String = ["none", "name", "inode"]
                .iter()
                .map(|name| format!("\n  - {}", quote::curly(name)))
                .collect();
            let (text, option) = (quote::curly(text), quote::curly("--sort"));
            Err(Refusal::Wrong(format!("invalid argument {text} for {option}\nValid arguments are:{names}")))
        }
    }
}

impl Job<'_> {
    /// Asks whether something is to be done, on the stream of the lists. The answer is the next
    /// line of standard input.
    fn agreed(&mut self, action: &str, name: &str) -> bool {
        let question = format!("{action} {}?", quote::locale(name));
        self.listed().extend_from_slice(question.as_bytes());
        let first = self.replies.first().copied();
        if first.is_none() {
            self.listed().push(b'\n');
        }
        let end = self.replies.iter().position(|&byte| byte == b'\n').map_or(self.replies.len(), |at| at + 1);
        self.replies = &self.replies[end..];
        matches!(first, Some(b'y' | b'Y'))
    }

    /// Where lists go: to standard error where the archive goes to standard output.
    fn listed(&mut self) -> &mut Vec<u8> {
        if self.plan.archive == "-" { &mut self.answer.stderr } else { &mut self.answer.stdout }
    }

    /// `--totals`; how fast it was says nothing here.
    fn tell_total(&mut self, verb: &str, bytes: u64) {
        if self.plan.totals {
            let unit = if bytes < 1024 { "B" } else { "iB" };
            let line = format!("Total bytes {verb}: {bytes} ({}{unit}, ?/s)\n", human::size(bytes, 1024));
            self.answer.stderr.extend_from_slice(line.as_bytes());
        }
    }

    fn complain(&mut self, line: &str) {
        self.answer.complain(2, format!("tar: {line}"));
    }

    /// What went wrong with the archive itself: nothing more can be done.
    fn give_up(&mut self, line: &str) {
        self.complain(line);
        self.answer.complain(2, "tar: Error is not recoverable: exiting now");
    }

    /// The name of a member, without what would lead out of a directory.
    fn inside(&mut self, name: &str) -> String {
        if self.plan.absolute || !name.starts_with('/') {
            return name.to_owned();
        }
        if !std::mem::replace(&mut self.told, true) {
            let line = "tar: Removing leading `/' from member names\n";
            self.answer.stderr.extend_from_slice(line.as_bytes());
        }
        name.trim_start_matches('/').to_owned()
    }

    /// Whether a pattern leaves out a name, or a directory that it is in. Stars match slashes.
    fn is_left_out(&self, name: &str) -> bool {
        let plain = name.trim_end_matches('/');
        let tails = || plain.match_indices('/').map(|(at, _)| &plain[at + 1..]).chain([plain]);
        let heads = |tail: &str, pattern: &str| {
            let ends = tail.match_indices('/').map(|(at, _)| at).chain([tail.len()]);
            ends.into_iter().any(|end| super::glob::matches(pattern, &tail[..end]))
        };
        self.plan.exclude.iter().any(|pattern| tails().any(|tail| heads(tail, pattern)))
    }
}
