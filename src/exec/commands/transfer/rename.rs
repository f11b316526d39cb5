//! What `mv` does with one operand.

use super::{Existing, Job, is_within};
use crate::exec::commands::{new_name, quote};
use crate::fs::{Errno, Kind};

pub(super) fn operand(job: &mut Job<'_>, source: &str, dest: &str) {
    let call = job.call;
    let (from, to) = (call.path(source), call.path(dest));
    let quoted = (quote::always(source), quote::always(dest));
    let stat = match call.files.stat(&from, false) {
        Ok(stat) => stat,
        Err(errno) => return job.complain(&format!("cannot stat {}: {errno}", quoted.0)),
    };
    let mut backup = String::new();
    match call.files.stat(&to, false) {
        Ok(there) => {
            if job.options.existing == Existing::Keep {
                return;
            }
            let same_name = call.files.canonical(&to).ok() == call.files.canonical(&from).ok();
            let link_to_dest = stat.kind == Kind::Symlink && same_name;
            let same = there.ino == stat.ino;
            if (same || link_to_dest) && !job.options.backup {
                if stat.kind == Kind::Dir && dest.trim_end_matches('/') != source.trim_end_matches('/') {
                    let message =
                        format!("cannot move {} to a subdirectory of itself, {}", quoted.0, quoted.1);
                    return job.complain(&message);
                }
                return job.complain(&format!("{} and {} are the same file", quoted.0, quoted.1));
            }
            if !job.may_replace(&stat, &there, dest) {
                return;
            }
            match (stat.kind, there.kind) {
                (Kind::Dir, Kind::File | Kind::Symlink) => {
                    let message =
                        format!("cannot overwrite non-directory {} with directory {}", quoted.1, quoted.0);
                    return job.complain(&message);
                }
                (Kind::File | Kind::Symlink, Kind::Dir) => {
                    let message = format!("cannot overwrite directory {} with non-directory", quoted.1);
                    return job.complain(&message);
                }
                _ => {}
            }
            if job.options.backup {
                match job.back_up(dest) {
                    Ok(name) => backup = format!(" (backup: {})", quote::always(&name)),
                    Err(errno) => return job.complain(&format!("cannot backup {}: {errno}", quoted.1)),
                }
            }
        }
        Err(_) if stat.kind != Kind::Dir && dest.ends_with('/') => {
            let errno = Errno::ENOTDIR;
            return job.complain(&format!("cannot move {} to {}: {errno}", quoted.0, quoted.1));
        }
        Err(_) => {}
    }
    if stat.kind == Kind::Dir && is_within(call, dest, source) {
        let message = format!("cannot move {} to a subdirectory of itself, {}", quoted.0, quoted.1);
        return job.complain(&message);
    }
    match new_name(&to).and_then(|to| call.files.rename(&from, to)) {
        Ok(()) => job.tell(&format!("renamed {} -> {}{backup}", quoted.0, quoted.1)),
        Err(errno) => job.complain(&format!("cannot move {} to {}: {errno}", quoted.0, quoted.1)),
    }
}
