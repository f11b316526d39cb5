//! What `cp` does with one operand.

use std::collections::{BTreeMap, BTreeSet};

use super::{Existing, Follow, Job};
use crate::exec::commands::{join, new_name, quote};
use crate::fs::{Errno, Kind, Stat};
use crate::ids::Ino;

/// What was copied so far.
#[derive(Default)]
pub(super) struct Done {
    /// Of files with several names, under `-a` and `-d`: inode → its copy.
    links: BTreeMap<Ino, String>,
    /// Directories that were made: they are not copied into themselves.
    made: BTreeSet<Ino>,
    /// Files that were made, by path.
    files: BTreeSet<String>,
    /// A directory was met in its own copy: there is no end to it.
    into_itself: bool,
}

/// One pair of names, with the operands that it stands below.
struct Pair<'a> {
    source: &'a str,
    dest: &'a str,
    top: (&'a str, &'a str),
}

/// One operand.
pub(super) fn operand(job: &mut Job<'_>, done: &mut Done, source: &str, dest: &str) {
    let pair = Pair { source, dest, top: (source, dest) };
    done.into_itself = false;
    copy(job, done, &pair);
}

fn same_message(source: &str, dest: &str) -> String {
    format!("{} and {} are the same file", quote::always(source), quote::always(dest))
}

fn copy(job: &mut Job<'_>, done: &mut Done, pair: &Pair<'_>) {
    let call = job.call;
    let (source, dest) = (pair.source, pair.dest);
    let (from, to) = (call.path(source), call.path(dest));
    let is_operand = std::ptr::eq(pair.source, pair.top.0);
    let follow = match job.options.follow {
        Some(Follow::Always) => true,
        Some(Follow::Never) => false,
        Some(Follow::Operands) => is_operand,
        None => !job.options.recursive && !job.options.hard_link,
    };
    let stat = match call.lent.get(source) {
        Some(lent) => lent.stat,
        None => match call.files.stat(&from, follow) {
            Ok(stat) => stat,
            Err(errno) => return job.complain(&format!("cannot stat {}: {errno}", quote::always(source))),
        },
    };
    if stat.kind == Kind::Dir && !job.options.recursive {
        return job.complain(&format!("-r not specified; omitting directory {}", quote::always(source)));
    }
    let mut there = call.files.stat(&to, false).ok();
    if let Some(existing) = there {
        match clear_way(job, done, pair, &stat, existing) {
            Some(Way::Free) => there = None,
            Some(Way::Over) => {}
            None => return,
        }
    }
    match stat.kind {
        Kind::Dir => copy_dir(job, done, pair, &stat, there),
        Kind::File | Kind::Symlink => copy_file(job, done, pair, &stat, there),
    }
}

/// How a name that is taken is dealt with.
enum Way {
    Over,
    Free,
}

/// `None`: nothing is copied, and why was told.
fn clear_way(job: &mut Job<'_>, done: &Done, pair: &Pair<'_>, stat: &Stat, there: Stat) -> Option<Way> {
    let call = job.call;
    let (source, dest) = (pair.source, pair.dest);
    let to = call.path(dest);
    let quoted = (quote::always(source), quote::always(dest));
    let behind = call.files.stat(&to, true).ok();
    if stat.kind == Kind::Dir {
        return match behind.filter(|_| std::ptr::eq(source, pair.top.0)).unwrap_or(there).kind {
            Kind::Dir => Some(Way::Over),
            Kind::File | Kind::Symlink => {
                job.complain(&format!(
                    "cannot overwrite non-directory {} with directory {}",
                    quoted.1, quoted.0
                ));
                None
            }
        };
    }
    if job.options.existing == Existing::Keep {
        return None;
    }
    let makes_link = job.options.hard_link || job.options.symlink || stat.kind == Kind::Symlink;
    let shown = if makes_link { Some(there) } else { behind };
    let replaced = job.options.remove_first && there.kind == Kind::Symlink;
    if !replaced && shown.is_some_and(|there| there.ino == stat.ino && there.ino != 0) {
        // A hard link that is already there is made: nothing to do.
        if !job.options.hard_link {
            job.complain(&same_message(source, dest));
        }
        return None;
    }
    if behind.is_none()
        && there.kind == Kind::Symlink
        && !makes_link
        && !job.options.remove_first
        && !job.options.backup
    {
        job.complain(&format!("not writing through dangling symlink {}", quoted.1));
        return None;
    }
    if !job.may_replace(stat, &there, dest) {
        return None;
    }
    if there.kind == Kind::Dir || (!makes_link && behind.is_some_and(|there| there.kind == Kind::Dir)) {
        job.complain(&format!("cannot overwrite directory {} with non-directory", quoted.1));
        return None;
    }
    if done.files.contains(&to) && !job.options.backup {
        job.complain(&format!("will not overwrite just-created {} with {}", quoted.1, quoted.0));
        return None;
    }
    if job.options.backup {
        return match job.back_up(dest) {
            Ok(_) => Some(Way::Free),
            Err(errno) => {
                job.complain(&format!("cannot backup {}: {errno}", quoted.1));
                None
            }
        };
    }
    if job.options.remove_first || stat.kind == Kind::Symlink {
        return match call.files.unlink(&to) {
            Ok(()) => Some(Way::Free),
            Err(errno) => {
                job.complain(&format!("cannot remove {}: {errno}", quoted.1));
                None
            }
        };
    }
    Some(Way::Over)
}

fn tell(job: &mut Job<'_>, pair: &Pair<'_>) {
    job.tell(&format!("{} -> {}", quote::always(pair.source), quote::always(pair.dest)));
}

fn copy_dir(job: &mut Job<'_>, done: &mut Done, pair: &Pair<'_>, stat: &Stat, there: Option<Stat>) {
    let call = job.call;
    let (from, to) = (call.path(pair.source), call.path(pair.dest));
    let itself = |job: &mut Job<'_>| {
        let (source, dest) = (quote::always(pair.top.0), quote::always(pair.top.1));
        job.complain(&format!("cannot copy a directory, {source}, into itself, {dest}"));
    };
    if done.made.contains(&stat.ino) {
        done.into_itself = true;
        return itself(job);
    }
    if there.is_none() {
        if let Err(errno) = new_name(&to).and_then(|to| call.files.mkdir(to)) {
            return job.complain(&format!("cannot create directory {}: {errno}", quote::always(pair.dest)));
        }
        if let Ok(made) = call.files.stat(&to, true) {
            done.made.insert(made.ino);
        }
        tell(job, pair);
    }
    let entries = match call.files.read_dir(&from) {
        Ok(entries) => entries,
        Err(errno) => return job.complain(&format!("cannot access {}: {errno}", quote::always(pair.source))),
    };
    for (name, _) in entries {
        if call.is_over() || done.into_itself {
            break;
        }
        let (source, dest) = (join(pair.source, &name), join(pair.dest, &name));
        copy(job, done, &Pair { source: &source, dest: &dest, top: pair.top });
    }
    if there.is_none() || job.options.keep_mode {
        let mode = if job.options.keep_mode { stat.mode } else { stat.mode & !0o7022 };
        let _ = call.files.chmod(&to, mode);
    }
    if job.options.keep_time {
        let _ = call.files.set_mtime(&to, stat.mtime_ns, true);
    }
}

fn copy_file(job: &mut Job<'_>, done: &mut Done, pair: &Pair<'_>, stat: &Stat, there: Option<Stat>) {
    let call = job.call;
    let (source, dest) = (pair.source, pair.dest);
    let (from, to) = (call.path(source), call.path(dest));
    let quoted = (quote::always(source), quote::always(dest));
    let linked = job.options.keep_links && stat.nlink > 1;
    if let Some(copy) = done.links.get(&stat.ino).filter(|_| linked) {
        if there.is_some() {
            let _ = call.files.unlink(&to);
        }
        return match call.files.link(copy, &to) {
            Ok(()) => tell(job, pair),
            Err(errno) => job.complain(&format!("cannot create hard link {}: {errno}", quoted.1)),
        };
    }
    if job.options.hard_link {
        return match new_name(&to).and_then(|to| call.files.link(&from, to)) {
            Ok(()) => tell(job, pair),
            Err(errno) => {
                job.complain(&format!("cannot create hard link {} to {}: {errno}", quoted.1, quoted.0))
            }
        };
    }
    if job.options.symlink {
        if !source.starts_with('/') && dest.trim_start_matches("./").contains('/') {
            let dest = quote::when_needed(dest);
            return job
                .complain(&format!("{dest}: can make relative symbolic links only in current directory"));
        }
        return match new_name(&to).and_then(|to| call.files.symlink(source, to)) {
            Ok(()) => tell(job, pair),
            Err(errno) => {
                job.complain(&format!("cannot create symbolic link {} to {}: {errno}", quoted.1, quoted.0));
            }
        };
    }
    if dest.ends_with('/') {
        return job.complain(&format!("cannot create regular file {}: {}", quoted.1, Errno::ENOTDIR));
    }
    let made = if stat.kind == Kind::Symlink {
        call.files.read_link(&from).and_then(|target| call.files.symlink(&target, new_name(&to)?))
    } else {
        write(job, source, &from, &to)
    };
    if let Err(errno) = made {
        let kind = if stat.kind == Kind::Symlink { "symbolic link" } else { "regular file" };
        return job.complain(&format!("cannot create {kind} {}: {errno}", quoted.1));
    }
    if stat.kind == Kind::File && (there.is_none() || job.options.keep_mode) {
        let mode = if job.options.keep_mode { stat.mode } else { stat.mode & 0o777 & !call.files.umask() };
        let _ = call.files.chmod(&to, mode);
    }
    if job.options.keep_time {
        let _ = call.files.set_mtime(&to, stat.mtime_ns, stat.kind != Kind::Symlink);
    }
    done.files.insert(to.clone());
    if linked {
        done.links.insert(stat.ino, to);
    }
    tell(job, pair);
}

fn write(job: &Job<'_>, source: &str, from: &str, to: &str) -> Result<(), Errno> {
    let data = match job.call.lent.get(source) {
        Some(lent) => lent.data.clone(),
        None if from == "/dev/stdin" => job.stdin.to_vec().into(),
        None => job.call.files.read(from)?,
    };
    job.call.files.write(new_name(to)?, &data)
}

/// `--parents`: makes the directories of `source` below `dir`; the name of the copy,
/// unless that failed.
pub(super) fn make_parents(job: &mut Job<'_>, source: &str, dir: &str) -> Option<String> {
    let call = job.call;
    let trimmed = source.trim_matches('/');
    for (at, _) in trimmed.match_indices('/') {
        let part = &trimmed[..at];
        let dest = join(dir, part);
        match new_name(&call.path(&dest)).and_then(|path| call.files.mkdir(path)) {
            Ok(()) => job.tell(&format!("{part} -> {dest}")),
            Err(Errno::EEXIST) => {}
            Err(errno) => {
                job.complain(&format!("cannot make directory {}: {errno}", quote::always(&dest)));
                return None;
            }
        }
    }
    Some(join(dir, trimmed))
}
