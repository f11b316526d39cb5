//! `rm`, as of GNU coreutils 9.1. `-I` asks as it does there; `--one-file-system` is
//! nothing, there is one.

use super::options::{self, Given, HELP, Spec, Takes, VERSION};
use super::{Answer, Call, base_name, join, quote};
use crate::fs::{Errno, Kind, Stat};

const NOTHING: char = '\u{3}';
const INTERACTIVE: char = '\u{4}';
const NO_PRESERVE_ROOT: char = '\u{5}';

const SPECS: &[Spec] = &[
    ('f', "force", Takes::Nothing),
    ('i', "", Takes::Nothing),
    ('I', "", Takes::Nothing),
    (INTERACTIVE, "interactive", Takes::Optional),
    (NOTHING, "one-file-system", Takes::Nothing),
    (NO_PRESERVE_ROOT, "no-preserve-root", Takes::Nothing),
    (NOTHING, "preserve-root", Takes::Optional),
    ('r', "recursive", Takes::Nothing),
    ('R', "", Takes::Nothing),
    ('d', "dir", Takes::Nothing),
    ('v', "verbose", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    (VERSION, "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: rm [OPTION]... [FILE]...
Remove (unlink) the FILE(s).

  -f, --force           ignore nonexistent files and arguments, never prompt
  -i                    prompt before every removal
  -I                    prompt once before removing more than three files, or
                          when removing recursively
  -r, -R, --recursive   remove directories and their contents recursively
  -d, --dir             remove empty directories
  -v, --verbose         explain what is being done
      --help            display this help and exit
      --version         output version information and exit
";

#[derive(Default)]
struct Options {
    force: bool,
    ask: bool,
    ask_once: bool,
    recursive: bool,
    dir: bool,
    verbose: bool,
    any_root: bool,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Given { options: given, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.misused(1, "rm", &message);
            return answer;
        }
    };
    let mut options = Options::default();
    for (letter, value) in given {
        match (letter, value) {
            ('f', _) => (options.force, options.ask, options.ask_once) = (true, false, false),
            ('i', _) | (INTERACTIVE, None | Some("always" | "yes")) => {
                (options.ask, options.ask_once, options.force) = (true, false, false);
            }
            ('I', _) | (INTERACTIVE, Some("once")) => {
                (options.ask, options.ask_once, options.force) = (false, true, false);
            }
            (INTERACTIVE, _) => (options.ask, options.ask_once) = (false, false),
            ('r' | 'R', _) => options.recursive = true,
            ('d', _) => options.dir = true,
            ('v', _) => options.verbose = true,
            (NO_PRESERVE_ROOT, _) => options.any_root = true,
            (HELP, _) => {
                answer.stdout.extend_from_slice(USAGE.as_bytes());
                return answer;
            }
            (VERSION, _) => {
                answer.stdout.extend_from_slice(b"rm (sqlfs), after GNU coreutils 9.1\n");
                return answer;
            }
            _ => {}
        }
    }
    if operands.is_empty() {
        if !options.force {
            answer.misused(1, "rm", "missing operand");
        }
        return answer;
    }
    let mut job = Job { call, options, answer, stdin: call.stdin };
    if job.options.ask_once && (job.options.recursive || operands.len() > 3) {
        let (count, plural) = (operands.len(), if operands.len() == 1 { "" } else { "s" });
        let how = if job.options.recursive { " recursively" } else { "" };
        if !job.agreed(&format!("remove {count} argument{plural}{how}?")) {
            return job.answer;
        }
    }
    for operand in operands {
        if call.is_over() {
            break;
        }
        job.operand(operand);
    }
    job.answer
}

struct Job<'a> {
    call: &'a Call<'a>,
    options: Options,
    answer: Answer,
    /// Answers to questions.
    stdin: &'a [u8],
}

impl Job<'_> {
    fn operand(&mut self, operand: &str) {
        let path = self.call.path(operand);
        let stat = match self.call.files.stat(&path, false) {
            Ok(stat) => stat,
            Err(Errno::ENOENT | Errno::ENOTDIR) if self.options.force => return,
            Err(errno) => return self.cannot(operand, errno),
        };
        if stat.kind == Kind::Dir {
            if !self.options.recursive && !self.options.dir {
                return self.cannot(operand, Errno::EISDIR);
            }
            if matches!(base_name(operand), "." | "..") {
                let name = quote::always(operand);
                return self
                    .answer
                    .complain(1, format!("rm: refusing to remove '.' or '..' directory: skipping {name}"));
            }
            if self.options.recursive
                && !self.options.any_root
                && self.call.files.canonical(&path).is_ok_and(|path| path == "/")
            {
                self.answer.complain(1, "rm: it is dangerous to operate recursively on '/'");
                return self.answer.complain(1, "rm: use --no-preserve-root to override this failsafe");
            }
        }
        if !self.options.ask && !self.options.verbose && self.options.recursive {
            return match self.call.files.remove_all(&path) {
                Ok(()) => {}
                Err(errno) => self.cannot(operand, errno),
            };
        }
        self.remove(operand, &path, stat);
    }

    /// Whether it is gone.
    fn remove(&mut self, name: &str, path: &str, stat: Stat) -> bool {
        let quoted = quote::always(name);
        if stat.kind != Kind::Dir {
            let kind = match stat.kind {
                Kind::Symlink => "symbolic link",
                Kind::File if stat.ino == 0 => "character special file",
                Kind::File if stat.size == 0 => "regular empty file",
                Kind::File | Kind::Dir => "regular file",
            };
            if self.options.ask && !self.agreed(&format!("remove {kind} {quoted}?")) {
                return false;
            }
            return match self.call.files.unlink(path) {
                Ok(()) => {
                    self.tell(&format!("removed {quoted}"));
                    true
                }
                Err(errno) => {
                    self.cannot(name, errno);
                    false
                }
            };
        }
        let entries = self.call.files.read_dir(path).unwrap_or_default();
        if self.options.recursive && !entries.is_empty() {
            if self.options.ask && !self.agreed(&format!("descend into directory {quoted}?")) {
                return false;
            }
            let mut all = true;
            for (entry, stat) in entries {
                if self.call.is_over() {
                    return false;
                }
                all &= self.remove(&join(name, &entry), &join(path, &entry), stat);
            }
            if !all {
                return false;
            }
        }
        if self.options.ask && !self.agreed(&format!("remove directory {quoted}?")) {
            return false;
        }
        match self.call.files.rmdir(path) {
            Ok(()) => {
                self.tell(&format!("removed directory {quoted}"));
                true
            }
            Err(errno) => {
                self.cannot(name, errno);
                false
            }
        }
    }

    fn agreed(&mut self, question: &str) -> bool {
        super::agreed("rm", question, &mut self.stdin, &mut self.answer)
    }

    fn tell(&mut self, line: &str) {
        if self.options.verbose {
            self.answer.stdout.extend_from_slice(format!("{line}\n").as_bytes());
        }
    }

    fn cannot(&mut self, name: &str, errno: Errno) {
        self.answer.complain(1, format!("rm: cannot remove {}: {errno}", quote::always(name)));
    }
}
