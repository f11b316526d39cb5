//! `chmod`, as of GNU coreutils 9.1.

use super::options::{self, HELP, Spec, Takes, VERSION};
use super::stat::mode_text;
use super::{Answer, Call, join, mode, quote};
use crate::fs::Kind;

const REFERENCE: char = '\u{3}';
const NOTHING: char = '\u{4}';

const SPECS: &[Spec] = &[
    ('c', "changes", Takes::Nothing),
    ('f', "silent", Takes::Nothing),
    ('f', "quiet", Takes::Nothing),
    ('v', "verbose", Takes::Nothing),
    (NOTHING, "no-preserve-root", Takes::Nothing),
    (NOTHING, "preserve-root", Takes::Nothing),
    (REFERENCE, "reference", Takes::Argument),
    ('R', "recursive", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: chmod [OPTION]... MODE[,MODE]... FILE...
  or:  chmod [OPTION]... OCTAL-MODE FILE...
  or:  chmod [OPTION]... --reference=RFILE FILE...
Change the mode of each FILE to MODE.

  -c, --changes          like verbose but report only when a change is made
  -f, --silent, --quiet  suppress most error messages
  -v, --verbose          output a diagnostic for every file processed
      --reference=RFILE  use RFILE's mode instead of MODE values
  -R, --recursive        change files and directories recursively

Each MODE is of the form '[ugoa]*([-+=]([rwxXst]*|[ugo]))+|[-+=][0-7]+'.
";

struct Job<'a> {
    call: &'a Call<'a>,
    mode: String,
    changes: bool,
    silent: bool,
    verbose: bool,
    recursive: bool,
    answer: Answer,
}

/// Whether a word is a mode that only looks like options: `-w`, `-rwx,u+x`.
fn is_mode(word: &str) -> bool {
    word.len() > 1
        && word.starts_with('-')
        && word[1..].chars().all(|c| "rwxXstugo,+=-".contains(c))
        && !word.starts_with("--")
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let refuse = |mut answer: Answer, message: &str| {
        answer.misused(1, "chmod", message);
        answer
    };
    let (modes, words): (Vec<String>, Vec<String>) =
        call.args.iter().cloned().partition(|word| is_mode(word));
    let given = match options::parse(&words, SPECS) {
        Ok(given) => given,
        Err(message) => return refuse(answer, &message),
    };
    let mut job = Job {
        call,
        mode: modes.join(","),
        changes: false,
        silent: false,
        verbose: false,
        recursive: false,
        answer: Answer::default(),
    };
    for (letter, value) in given.options {
        match letter {
            'c' => job.changes = true,
            'f' => job.silent = true,
            'v' => job.verbose = true,
            'R' => job.recursive = true,
            REFERENCE => {
                let file = value.unwrap_or_default();
                match call.files.stat(&call.path(file), true) {
                    Ok(stat) => job.mode = format!("{:o}", stat.mode),
                    Err(errno) => {
                        let file = quote::always(file);
                        answer.complain(1, format!("chmod: failed to get attributes of {file}: {errno}"));
                        return answer;
                    }
                }
            }
            HELP => {
                answer.stdout.extend_from_slice(USAGE.as_bytes());
                return answer;
            }
            VERSION => {
                answer.stdout.extend_from_slice(b"chmod (sqlfs), after GNU coreutils 9.1\n");
                return answer;
            }
            _ => {}
        }
    }
    let mut operands = &given.operands[..];
    if job.mode.is_empty() {
        let [mode, rest @ ..] = operands else { return refuse(answer, "missing operand") };
        (*mode).clone_into(&mut job.mode);
        operands = rest;
    }
    if operands.is_empty() {
        return refuse(answer, &format!("missing operand after {}", quote::curly(&job.mode)));
    }
    if mode::change(&job.mode, 0, false, 0).is_none() {
        return refuse(answer, &format!("invalid mode: {}", quote::curly(&job.mode)));
    }
    for operand in operands {
        let path = call.path(operand);
        job.file(operand, &path, true);
    }
    job.answer
}

impl Job<'_> {
    fn file(&mut self, name: &str, path: &str, operand: bool) {
        if self.call.is_over() {
            return;
        }
        let quoted = quote::always(name);
        let link = self.call.files.stat(path, false).is_ok_and(|stat| stat.kind == Kind::Symlink);
        if link && !operand {
            return;
        }
        let stat = match self.call.files.stat(path, true) {
            Ok(stat) => stat,
            Err(_) if link => return self.complain(&format!("cannot operate on dangling symlink {quoted}")),
            Err(errno) => return self.complain(&format!("cannot access {quoted}: {errno}")),
        };
        let dir = stat.kind == Kind::Dir;
        let wanted = mode::change(&self.mode, stat.mode, dir, self.call.files.umask()).unwrap_or(stat.mode);
        // A short octal mode leaves these of a directory.
        let octal = self.mode.bytes().all(|byte| byte.is_ascii_digit());
        let wanted = if dir && octal && self.mode.len() < 5 { wanted | stat.mode & 0o6000 } else { wanted };
        if let Err(errno) = self.call.files.chmod(path, wanted) {
            return self.complain(&format!("changing permissions of {quoted}: {errno}"));
        }
        let shown = |mode: u32| format!("{mode:04o} ({})", &mode_text(stat.kind, false, mode)[1..]);
        let line = if wanted == stat.mode {
            format!("mode of {quoted} retained as {}\n", shown(wanted))
        } else {
            format!("mode of {quoted} changed from {} to {}\n", shown(stat.mode), shown(wanted))
        };
        if self.verbose || (self.changes && wanted != stat.mode) {
            self.answer.stdout.extend_from_slice(line.as_bytes());
        }
        if dir && self.recursive && !(link && !operand) {
            for (entry, _) in self.call.files.read_dir(path).unwrap_or_default() {
                self.file(&join(name, &entry), &join(path, &entry), false);
            }
        }
    }

    fn complain(&mut self, line: &str) {
        if self.silent {
            self.answer.exit = 1;
        } else {
            self.answer.complain(1, format!("chmod: {line}"));
        }
    }
}
