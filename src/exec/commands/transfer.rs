//! `cp` and `mv`, as of GNU coreutils 9.1: options and operands. What they share is
//! where a file goes; see `copy.rs` and `rename.rs` for what is done with it. Left out:
//! numbered backups, `--attributes-only`, SELinux contexts.

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call, base_name, join, quote};
use crate::fs::{Errno, Kind, Stat};

mod copy;
mod rename;

const PARENTS: char = '\u{3}';
const PRESERVE: char = '\u{4}';
const NOTHING: char = '\u{5}';
const BACKUP: char = '\u{6}';
const REMOVE: char = '\u{7}';
const SLASHES: char = '\u{8}';
const NO_PRESERVE: char = '\u{e}';

const CP: &[Spec] = &[
    ('a', "archive", Takes::Nothing),
    ('b', "", Takes::Nothing),
    (BACKUP, "backup", Takes::Optional),
    ('d', "", Takes::Nothing),
    ('f', "force", Takes::Nothing),
    ('i', "interactive", Takes::Nothing),
    ('H', "", Takes::Nothing),
    ('l', "link", Takes::Nothing),
    ('L', "dereference", Takes::Nothing),
    ('n', "no-clobber", Takes::Nothing),
    ('P', "no-dereference", Takes::Nothing),
    ('p', "", Takes::Nothing),
    (PRESERVE, "preserve", Takes::Optional),
    (NO_PRESERVE, "no-preserve", Takes::Argument),
    (PARENTS, "parents", Takes::Nothing),
    ('R', "recursive", Takes::Nothing),
    ('r', "", Takes::Nothing),
    (NOTHING, "reflink", Takes::Optional),
    (REMOVE, "remove-destination", Takes::Nothing),
    (NOTHING, "sparse", Takes::Argument),
    (SLASHES, "strip-trailing-slashes", Takes::Nothing),
    ('s', "symbolic-link", Takes::Nothing),
    ('S', "suffix", Takes::Argument),
    ('t', "target-directory", Takes::Argument),
    ('T', "no-target-directory", Takes::Nothing),
    ('u', "update", Takes::Nothing),
    ('v', "verbose", Takes::Nothing),
    ('x', "one-file-system", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const MV: &[Spec] = &[
    ('b', "", Takes::Nothing),
    (BACKUP, "backup", Takes::Optional),
    ('f', "force", Takes::Nothing),
    ('i', "interactive", Takes::Nothing),
    ('n', "no-clobber", Takes::Nothing),
    (SLASHES, "strip-trailing-slashes", Takes::Nothing),
    ('S', "suffix", Takes::Argument),
    ('t', "target-directory", Takes::Argument),
    ('T', "no-target-directory", Takes::Nothing),
    ('u', "update", Takes::Nothing),
    ('v', "verbose", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const CP_USAGE: &str = "\
Usage: cp [OPTION]... [-T] SOURCE DEST
  or:  cp [OPTION]... SOURCE... DIRECTORY
  or:  cp [OPTION]... -t DIRECTORY SOURCE...
Copy SOURCE to DEST, or multiple SOURCE(s) to DIRECTORY.

  -a  same as -dR --preserve=all       -r, -R  copy directories recursively
  -d  same as -P --preserve=links      -p  preserve mode and time
  -L -P -H  follow links: always, never, of the command line
  -l -s     make hard, symbolic links instead of copying
  -f -i -n -u  force, prompt, do not overwrite, only when newer
  -b -S     backups and their suffix   -t -T  the destination is a directory, none
      --parents, --remove-destination, --strip-trailing-slashes
  -v  explain what is being done
";

const MV_USAGE: &str = "\
Usage: mv [OPTION]... [-T] SOURCE DEST
  or:  mv [OPTION]... SOURCE... DIRECTORY
  or:  mv [OPTION]... -t DIRECTORY SOURCE...
Rename SOURCE to DEST, or move SOURCE(s) to DIRECTORY.

  -f -i -n -u  force, prompt, do not overwrite, only when newer
  -b -S     backups and their suffix   -t -T  the destination is a directory, none
      --strip-trailing-slashes
  -v  explain what is being done
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follow {
    Never,
    Operands,
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existing {
    Overwrite,
    Ask,
    Keep,
}

struct Options<'a> {
    recursive: bool,
    follow: Option<Follow>,
    existing: Existing,
    update: bool,
    keep_mode: bool,
    keep_time: bool,
    keep_links: bool,
    hard_link: bool,
    symlink: bool,
    parents: bool,
    remove_first: bool,
    backup: bool,
    suffix: &'a str,
    verbose: bool,
}

/// A command at work.
struct Job<'a> {
    name: &'static str,
    call: &'a Call<'a>,
    options: Options<'a>,
    answer: Answer,
    /// Answers to questions.
    stdin: &'a [u8],
}

/// `cp`.
pub(super) fn cp(call: &Call<'_>) -> Answer {
    run("cp", CP, CP_USAGE, call, copy::operand)
}

/// `mv`.
pub(super) fn mv(call: &Call<'_>) -> Answer {
    run("mv", MV, MV_USAGE, call, |job, _, source, dest| rename::operand(job, source, dest))
}

type Operand = fn(&mut Job<'_>, &mut copy::Done, &str, &str);

fn run(name: &'static str, specs: &[Spec], usage: &str, call: &Call<'_>, operand: Operand) -> Answer {
    let mut answer = Answer::default();
    let refuse = |mut answer: Answer, message: &str| {
        answer.misused(1, name, message);
        answer
    };
    let Given { options: given, operands, .. } = match options::parse(call.args, specs) {
        Ok(given) => given,
        Err(message) => return refuse(answer, &message),
    };
    let mut options = Options {
        recursive: false,
        follow: None,
        existing: Existing::Overwrite,
        update: false,
        keep_mode: false,
        keep_time: false,
        keep_links: false,
        hard_link: false,
        symlink: false,
        parents: false,
        remove_first: false,
        backup: false,
        suffix: "~",
        verbose: false,
    };
    let (mut target, mut no_target, mut strip) = (None, false, false);
    for (letter, value) in given {
        match letter {
            'a' => {
                (options.recursive, options.follow) = (true, Some(Follow::Never));
                (options.keep_mode, options.keep_time, options.keep_links) = (true, true, true);
            }
            'b' | BACKUP => {
                options.backup = !matches!(value, Some("none" | "off"));
                if let Some("numbered" | "t") = value {
                    answer.complain(1, format!("{name}: numbered backups are not supported here"));
                    return answer;
                }
            }
            'd' => (options.follow, options.keep_links) = (Some(Follow::Never), true),
            'f' if name == "mv" => options.existing = Existing::Overwrite,
            'i' => options.existing = Existing::Ask,
            'n' => options.existing = Existing::Keep,
            'H' => options.follow = Some(Follow::Operands),
            'l' => options.hard_link = true,
            'L' => options.follow = Some(Follow::Always),
            'P' => options.follow = Some(Follow::Never),
            'p' => (options.keep_mode, options.keep_time) = (true, true),
            PRESERVE | NO_PRESERVE => {
                for what in value.unwrap_or("mode,timestamps").split(',') {
                    let on = letter == PRESERVE;
                    match what {
                        "mode" => options.keep_mode = on,
                        "timestamps" => options.keep_time = on,
                        "links" => options.keep_links = on,
                        "all" => (options.keep_mode, options.keep_time, options.keep_links) = (on, on, on),
                        _ => {}
                    }
                }
            }
            PARENTS => options.parents = true,
            'R' | 'r' => options.recursive = true,
            REMOVE => options.remove_first = true,
            SLASHES => strip = true,
            's' => options.symlink = true,
            'S' => (options.backup, options.suffix) = (true, value.unwrap_or("~")),
            't' => target = value,
            'T' => no_target = true,
            'u' => options.update = true,
            'v' => options.verbose = true,
            HELP => {
                answer.stdout.extend_from_slice(usage.as_bytes());
                return answer;
            }
            VERSION => {
                answer
                    .stdout
                    .extend_from_slice(format!("{name} (sqlfs), after GNU coreutils 9.1\n").as_bytes());
                return answer;
            }
            _ => {}
        }
    }
    let kind_of = |path: &str| call.files.stat(&call.path(path), true).map(|stat| stat.kind);
    let (sources, target) = match (&operands[..], target) {
        ([], _) => return refuse(answer, "missing file operand"),
        (_, Some(_)) if no_target => {
            answer.complain(
                1,
                format!("{name}: cannot combine --target-directory (-t) and --no-target-directory (-T)"),
            );
            return answer;
        }
        (all, Some(dir)) => match kind_of(dir) {
            Ok(Kind::Dir) => (all, Some(dir)),
            other => {
                let errno = other.err().unwrap_or(Errno::ENOTDIR);
                answer.complain(1, format!("{name}: target directory {}: {errno}", quote::always(dir)));
                return answer;
            }
        },
        ([one], None) => {
            let one = quote::always(one);
            return refuse(answer, &format!("missing destination file operand after {one}"));
        }
        ([_, _, extra, ..], None) if no_target => {
            return refuse(answer, &format!("extra operand {}", quote::always(extra)));
        }
        ([sources @ .., last], None) => match kind_of(last) {
            Ok(Kind::Dir) if !no_target => (sources, Some(*last)),
            Err(errno) if sources.len() > 1 => {
                answer.complain(1, format!("{name}: target {}: {errno}", quote::always(last)));
                return answer;
            }
            Ok(_) if sources.len() > 1 => {
                let (last, errno) = (quote::always(last), Errno::ENOTDIR);
                answer.complain(1, format!("{name}: target {last}: {errno}"));
                return answer;
            }
            _ => (sources, None),
        },
    };
    if options.parents && target.is_none() {
        return refuse(answer, "with --parents, the destination must be a directory");
    }
    let mut job = Job { name, call, options, answer, stdin: call.stdin };
    let mut done = copy::Done::default();
    let mut seen = std::collections::BTreeSet::new();
    for source in sources {
        if sources.len() > 1 && name == "cp" && !job.options.backup && !seen.insert(*source) {
            let line =
                format!("cp: warning: source file {} specified more than once\n", quote::always(source));
            job.answer.stderr.extend_from_slice(line.as_bytes());
            continue;
        }
        if call.is_over() {
            break;
        }
        let source = if strip { source.trim_end_matches('/') } else { source };
        let dest = match target {
            None => operands[operands.len() - 1].to_owned(),
            Some(dir) if job.options.parents => match copy::make_parents(&mut job, source, dir) {
                Some(dest) => dest,
                None => continue,
            },
            Some(dir) => match base_name(source) {
                ".." => dir.to_owned(),
                name => join(dir, name),
            },
        };
        operand(&mut job, &mut done, source, &dest);
    }
    job.answer
}

impl Job<'_> {
    fn complain(&mut self, line: &str) {
        self.answer.complain(1, format!("{}: {line}", self.name));
    }

    fn tell(&mut self, line: &str) {
        if self.options.verbose {
            self.answer.stdout.extend_from_slice(format!("{line}\n").as_bytes());
        }
    }

    /// Whether a file that is already there may be replaced.
    fn may_replace(&mut self, source: &Stat, there: &Stat, dest: &str) -> bool {
        if self.options.update && source.kind != Kind::Dir && there.mtime_ns >= source.mtime_ns {
            return false;
        }
        match self.options.existing {
            Existing::Overwrite => true,
            Existing::Keep => false,
            Existing::Ask => {
                let question = format!("overwrite {}?", quote::always(dest));
                super::agreed(self.name, &question, &mut self.stdin, &mut self.answer)
            }
        }
    }

    /// Renames what is there to its backup; tells its name.
    fn back_up(&mut self, dest: &str) -> Result<String, Errno> {
        let backup = format!("{}{}", dest.trim_end_matches('/'), self.options.suffix);
        self.call.files.rename(&self.call.path(dest), super::new_name(&self.call.path(&backup))?)?;
        Ok(backup)
    }
}

/// Whether `inner` lies in the directory `outer`, or is it.
fn is_within(call: &Call<'_>, inner: &str, outer: &str) -> bool {
    let parent = |path: &str| {
        let path = call.path(path);
        let trimmed = path.trim_end_matches('/');
        let (dir, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        let dir = call.files.canonical(if dir.is_empty() { "/" } else { dir }).ok()?;
        Some(join(&dir, name))
    };
    let (Some(inner), Ok(outer)) = (parent(inner), call.files.canonical(&call.path(outer))) else {
        return false;
    };
    inner == outer || inner.strip_prefix(&outer).is_some_and(|rest| rest.starts_with('/') || outer == "/")
}
