//! `mkdir` and `rmdir`, as of GNU coreutils 9.1.

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call, mode, new_name, quote};
use crate::fs::{Errno, Kind};

const IGNORE: char = '\u{3}';

const MKDIR: &[Spec] = &[
    ('m', "mode", Takes::Argument),
    ('p', "parents", Takes::Nothing),
    ('v', "verbose", Takes::Nothing),
    ('Z', "context", Takes::Optional),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const RMDIR: &[Spec] = &[
    (IGNORE, "ignore-fail-on-non-empty", Takes::Nothing),
    ('p', "parents", Takes::Nothing),
    ('v', "verbose", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const MKDIR_USAGE: &str = "\
Usage: mkdir [OPTION]... DIRECTORY...
Create the DIRECTORY(ies), if they do not already exist.

  -m, --mode=MODE   set file mode (as in chmod), not a=rwx - umask
  -p, --parents     no error if existing, make parent directories as needed
  -v, --verbose     print a message for each created directory
";

const RMDIR_USAGE: &str = "\
Usage: rmdir [OPTION]... DIRECTORY...
Remove the DIRECTORY(ies), if they are empty.

      --ignore-fail-on-non-empty
                    ignore each failure to remove a non-empty directory
  -p, --parents     remove DIRECTORY and its ancestors
  -v, --verbose     output a diagnostic for every directory processed
";

/// Operands and options, unless the answer is already there.
fn read<'a>(
    call: &Call<'a>,
    name: &str,
    specs: &[Spec],
    usage: &str,
    answer: &mut Answer,
) -> Option<Given<'a>> {
    let complaint = match options::parse(call.args, specs) {
        Ok(given) => {
            if given.has(HELP) || given.has(VERSION) {
                let version = format!("{name} (sqlfs), after GNU coreutils 9.1\n");
                let text = if given.has(HELP) { usage } else { &version };
                answer.stdout.extend_from_slice(text.as_bytes());
                return None;
            }
            if !given.operands.is_empty() {
                return Some(given);
            }
            "missing operand".to_owned()
        }
        Err(message) => message,
    };
    answer.misused(1, name, &complaint);
    None
}

/// `mkdir`.
pub(super) fn mkdir(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Some(Given { options, operands, .. }) = read(call, "mkdir", MKDIR, MKDIR_USAGE, &mut answer) else {
        return answer;
    };
    let (mut bits, mut parents, mut verbose) = (None, false, false);
    for (letter, value) in options {
        match letter {
            'm' => {
                let text = value.unwrap_or_default();
                let Some(mode) = mode::change(text, 0o777, true, call.files.umask()) else {
                    answer.complain(1, format!("mkdir: invalid mode {}", quote::curly(text)));
                    return answer;
                };
                bits = Some(mode);
            }
            'p' => parents = true,
            'v' => verbose = true,
            _ => {}
        }
    }
    for operand in operands {
        let path = call.path(operand);
        let made = |dir: &str, answer: &mut Answer| {
            if verbose {
                let line = format!("mkdir: created directory {}\n", quote::always(dir));
                answer.stdout.extend_from_slice(line.as_bytes());
            }
        };
        let mut make = || {
            if parents {
                // Each missing one above, from the top.
                for (at, _) in operand.match_indices('/').filter(|(at, _)| *at > 0) {
                    let dir = &operand[..at];
                    match new_name(&call.path(dir)).and_then(|path| call.files.mkdir(path)) {
                        Ok(()) => made(dir, &mut answer),
                        Err(Errno::EEXIST | Errno::EINVAL) => {
                            if call.files.stat(&call.path(dir), true).is_ok_and(|stat| stat.kind != Kind::Dir)
                            {
                                return Err((dir, Errno::ENOTDIR));
                            }
                        }
                        Err(errno) => return Err((dir, errno)),
                    }
                }
            }
            match new_name(&path).and_then(|path| call.files.mkdir(path)) {
                Ok(()) => {}
                Err(Errno::EEXIST) if parents => {
                    let dir = call.files.stat(&path, true).is_ok_and(|stat| stat.kind == Kind::Dir);
                    return if dir { Ok(()) } else { Err((operand, Errno::EEXIST)) };
                }
                Err(errno) => return Err((operand, errno)),
            }
            made(operand, &mut answer);
            bits.map_or(Ok(()), |bits| call.files.chmod(&path, bits)).map_err(|errno| (operand, errno))
        };
        if let Err((dir, errno)) = make() {
            answer.complain(1, format!("mkdir: cannot create directory {}: {errno}", quote::curly(dir)));
        }
    }
    answer
}

/// `rmdir`.
pub(super) fn rmdir(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Some(Given { options, operands, .. }) = read(call, "rmdir", RMDIR, RMDIR_USAGE, &mut answer) else {
        return answer;
    };
    let given = |wanted| options.iter().any(|(letter, _)| *letter == wanted);
    let (ignore, parents, verbose) = (given(IGNORE), given('p'), given('v'));
    for operand in operands {
        let mut dir = operand;
        loop {
            if verbose {
                let line = format!("rmdir: removing directory, {}\n", quote::always(dir));
                answer.stdout.extend_from_slice(line.as_bytes());
            }
            match call.files.rmdir(&call.path(dir)) {
                Ok(()) => {}
                Err(Errno::ENOTEMPTY) if ignore => break,
                Err(errno) => {
                    let what = if dir == operand { "" } else { "directory " };
                    answer.complain(
                        1,
                        format!("rmdir: failed to remove {what}{}: {errno}", quote::always(dir)),
                    );
                    break;
                }
            }
            let Some((up, _)) = dir.trim_end_matches('/').rsplit_once('/').filter(|_| parents) else { break };
            dir = up.trim_end_matches('/');
            if dir.is_empty() {
                break;
            }
        }
    }
    answer
}
