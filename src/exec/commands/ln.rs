//! `ln`, as of GNU coreutils 9.1. Left out: backups (`-b`, `--backup`, `-S`), the
//! prompt (`-i`) and hard links to directories (`-d`, `-F`), which no system allows.

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call, base_name, new_name, quote};
use crate::fs::{Errno, Kind, Stat, path};

const SPECS: &[Spec] = &[
    ('f', "force", Takes::Nothing),
    ('L', "logical", Takes::Nothing),
    ('n', "no-dereference", Takes::Nothing),
    ('T', "no-target-directory", Takes::Nothing),
    ('P', "physical", Takes::Nothing),
    ('r', "relative", Takes::Nothing),
    ('s', "symbolic", Takes::Nothing),
    ('t', "target-directory", Takes::Argument),
    ('v', "verbose", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: ln [OPTION]... [-T] TARGET LINK_NAME
  or:  ln [OPTION]... TARGET
  or:  ln [OPTION]... TARGET... DIRECTORY
  or:  ln [OPTION]... -t DIRECTORY TARGET...
Make hard links, or symbolic links with -s.

  -f, --force                 remove existing destination files
  -L, --logical               dereference TARGETs that are symbolic links
  -n, --no-dereference        treat LINK_NAME as a normal file if
                                it is a symbolic link to a directory
  -P, --physical              make hard links directly to symbolic links
  -r, --relative              with -s, create links relative to link location
  -s, --symbolic              make symbolic links instead of hard links
  -t, --target-directory=DIRECTORY  specify the DIRECTORY in which to create
                                the links
  -T, --no-target-directory   treat LINK_NAME as a normal file always
  -v, --verbose               print name of each linked file
      --help                  display this help and exit
      --version               output version information and exit
";

#[derive(Default)]
struct Options {
    force: bool,
    logical: bool,
    no_dereference: bool,
    no_target_directory: bool,
    relative: bool,
    symbolic: bool,
    verbose: bool,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    if let Err(refused) = link_all(call, &mut answer) {
        if refused.usage {
            answer.misused(1, "ln", &refused.message);
        } else {
            answer.complain(1, format!("ln: {}", refused.message));
        }
    }
    answer
}

/// Why nothing was linked at all.
struct Refused {
    message: String,
    usage: bool,
}

fn usage(message: impl Into<String>) -> Refused {
    Refused { message: message.into(), usage: true }
}

fn plain(message: String) -> Refused {
    Refused { message, usage: false }
}

fn link_all(call: &Call<'_>, answer: &mut Answer) -> Result<(), Refused> {
    let Given { options: given, operands, .. } = options::parse(call.args, SPECS).map_err(usage)?;
    let mut options = Options::default();
    let mut target_directory = None;
    for (letter, value) in given {
        match letter {
            'f' => options.force = true,
            'L' => options.logical = true,
            'P' => options.logical = false,
            'n' => options.no_dereference = true,
            'T' => options.no_target_directory = true,
            'r' => options.relative = true,
            's' => options.symbolic = true,
            'v' => options.verbose = true,
            't' => {
                let dir = value.unwrap_or_default();
                if target_directory.is_some() {
                    return Err(plain("multiple target directories specified".to_owned()));
                }
                match call.files.stat(&call.path(dir), true) {
                    Ok(stat) if stat.kind == Kind::Dir => target_directory = Some(dir),
                    Ok(_) => return Err(plain(format!("target {} is not a directory", quote::always(dir)))),
                    Err(errno) => {
                        return Err(plain(format!("failed to access {}: {errno}", quote::always(dir))));
                    }
                }
            }
            HELP => {
                answer.stdout.extend_from_slice(USAGE.as_bytes());
                return Ok(());
            }
            _ => {
                answer.stdout.extend_from_slice(b"ln (sqlfs), after GNU coreutils 9.1\n");
                return Ok(());
            }
        }
    }
    let Some((&first, &last)) = operands.first().zip(operands.last()) else {
        return Err(usage("missing file operand"));
    };
    if options.relative && !options.symbolic {
        return Err(plain("cannot do --relative without --symbolic".to_owned()));
    }
    if options.no_target_directory {
        if target_directory.is_some() {
            return Err(plain("cannot combine --target-directory and --no-target-directory".to_owned()));
        }
        return match operands[..] {
            [_, _] => {
                link(call, &options, first, last, &mut Vec::new(), answer);
                Ok(())
            }
            [_] => Err(usage(format!("missing destination file operand after {}", quote::always(first)))),
            _ => Err(usage(format!("extra operand {}", quote::always(operands[2])))),
        };
    }
    let mut sources = &operands[..];
    let directory = match (target_directory, sources.len()) {
        (Some(dir), _) => dir,
        (None, 1) => ".",
        (None, count) => {
            let is_dir = call.files.stat(&call.path(last), !options.no_dereference);
            match is_dir {
                Ok(stat) if stat.kind == Kind::Dir => {
                    sources = &operands[..count - 1];
                    last
                }
                Ok(_) | Err(_) if count == 2 => {
                    link(call, &options, first, last, &mut Vec::new(), answer);
                    return Ok(());
                }
                Ok(_) => return Err(plain(format!("target {}: {}", quote::always(last), Errno::ENOTDIR))),
                Err(errno) => return Err(plain(format!("target {}: {errno}", quote::always(last)))),
            }
        }
    };
    let mut made = Vec::new();
    for source in sources {
        if call.is_over() {
            break;
        }
        let to = into_directory(directory, base_name(source));
        link(call, &options, source, &to, &mut made, answer);
    }
    Ok(())
}

fn into_directory(directory: &str, name: &str) -> String {
    // As coreutils writes names into its messages.
    let name = if name == "/" { "" } else { name };
    match directory {
        "." => format!("./{name}"),
        dir if dir.ends_with('/') => format!("{dir}{name}"),
        dir => format!("{dir}/{name}"),
    }
}

/// Makes one link. `made` are the links of this call: one is never written over by the
/// next.
fn link(
    call: &Call<'_>,
    options: &Options,
    source: &str,
    dest: &str,
    made: &mut Vec<String>,
    answer: &mut Answer,
) {
    match try_link(call, options, source, dest, made) {
        Ok(shown) => {
            made.push(call.path(dest));
            if options.verbose {
                let arrow = if options.symbolic { "->" } else { "=>" };
                let line = format!("{} {arrow} {}\n", quote::always(dest), quote::always(&shown));
                answer.stdout.extend_from_slice(line.as_bytes());
            }
        }
        Err(message) => answer.complain(1, format!("ln: {message}")),
    }
}

/// The source as it is told by `-v`; `Err` is the message.
fn try_link(
    call: &Call<'_>,
    options: &Options,
    source: &str,
    dest: &str,
    made: &[String],
) -> Result<String, String> {
    let (from, to) = (call.path(source), call.path(dest));
    let quoted = (quote::always(dest), quote::always(source));
    let mut inode = None;
    if !options.symbolic {
        let stat = call
            .files
            .stat(&from, options.logical)
            .map_err(|errno| format!("failed to access {}: {errno}", quoted.1))?;
        if stat.kind == Kind::Dir {
            return Err(format!("{}: hard link not allowed for directory", quote::when_needed(source)));
        }
        inode = Some(stat);
    }
    let text = if options.relative { relative(call, &from, &to) } else { None };
    let text = text.unwrap_or_else(|| source.to_owned());
    // What would be refused in any case takes nothing away.
    let doomed = match inode {
        None => path::check_text(&text).is_err() || new_name(&text).is_err(),
        Some(stat) => stat.ino == 0,
    };
    if options.force && !doomed {
        make_room(call, options, (source, dest), inode, made)?;
    }
    let done = if options.symbolic {
        new_name(&to).and_then(|to| call.files.symlink(new_name(&text)?, to))
    } else {
        let from = if options.logical { call.files.canonical(&from) } else { Ok(from) };
        new_name(&to).and_then(|to| call.files.link(&from?, to))
    };
    match done {
        Ok(()) => Ok(text),
        Err(errno) => {
            let (dest, source) = quoted;
            Err(match (options.symbolic, errno) {
                (true, Errno::ENAMETOOLONG) => {
                    format!("failed to create symbolic link {dest} -> {source}: {errno}")
                }
                (true, _) if text.is_empty() => {
                    format!("failed to create symbolic link {dest} -> {source}: {errno}")
                }
                (true, _) => format!("failed to create symbolic link {dest}: {errno}"),
                (false, Errno::EMLINK) => format!("failed to create hard link to {source}: {errno}"),
                (false, Errno::EEXIST | Errno::ENOSPC | Errno::EROFS) => {
                    format!("failed to create hard link {dest}: {errno}")
                }
                (false, _) => format!("failed to create hard link {dest} => {source}: {errno}"),
            })
        }
    }
}

/// `-f`: takes away what is at the destination, unless that would lose the source.
fn make_room(
    call: &Call<'_>,
    options: &Options,
    (source, dest): (&str, &str),
    inode: Option<Stat>,
    made: &[String],
) -> Result<(), String> {
    let (from, to) = (call.path(source), call.path(dest));
    let there = match call.files.stat(&to, false) {
        Ok(there) => there,
        // The link itself will tell what is wrong on the way.
        Err(Errno::ENOENT) => return Ok(()),
        Err(errno) => return Err(format!("failed to access {}: {errno}", quote::always(dest))),
    };
    if there.kind == Kind::Dir {
        return Err(format!("{}: cannot overwrite directory", quote::when_needed(dest)));
    }
    if made.contains(&to) {
        let (dest, source) = (quote::always(dest), quote::always(source));
        return Err(format!("will not overwrite just-created {dest} with {source}"));
    }
    let inode = if options.symbolic { call.files.stat(&from, true).ok() } else { inode };
    let same = inode.filter(|inode| inode.ino == there.ino);
    if same.is_some_and(|inode| inode.nlink == 1 || same_name(call, &from, &to)) {
        let (source, dest) = (quote::always(source), quote::always(dest));
        return Err(format!("{source} and {dest} are the same file"));
    }
    call.files.unlink(&to).map_err(|errno| format!("cannot remove {}: {errno}", quote::always(dest)))
}

/// Whether both paths are one name in one directory.
fn same_name(call: &Call<'_>, a: &str, b: &str) -> bool {
    let place = |path: &str| {
        let dir = path.trim_end_matches('/').rsplit_once('/').map_or("/", |(dir, _)| dir);
        call.files.canonical(if dir.is_empty() { "/" } else { dir }).ok()
    };
    base_name(a) == base_name(b) && place(a).is_some() && place(a) == place(b)
}

/// `-r`: the target as seen from the directory of the link; `None` when there is no
/// such directory.
fn relative(call: &Call<'_>, from: &str, to: &str) -> Option<String> {
    let dir = to.trim_end_matches('/').rsplit_once('/').map_or("/", |(dir, _)| dir);
    let dir = call.files.canonical(if dir.is_empty() { "/" } else { dir }).ok()?;
    let target = canonical_missing(call, from);
    let dir: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    let target: Vec<&str> = target.split('/').filter(|part| !part.is_empty()).collect();
    let shared = dir.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let mut parts = vec![".."; dir.len() - shared];
    parts.extend_from_slice(&target[shared..]);
    Some(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}

/// The path without links and dots; parts that do not exist are taken as they are.
fn canonical_missing(call: &Call<'_>, path: &str) -> String {
    let mut done = String::from("/");
    for part in path.split('/').filter(|part| !part.is_empty()) {
        let next = if done == "/" { format!("/{part}") } else { format!("{done}/{part}") };
        done = call.files.canonical(&next).unwrap_or_else(|_| match part {
            "." => done,
            ".." => done
                .rsplit_once('/')
                .map_or_else(|| "/".to_owned(), |(up, _)| format!("/{}", up.trim_start_matches('/'))),
            _ => next,
        });
    }
    done
}
