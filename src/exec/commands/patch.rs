//! `patch`, as of GNU patch 2.7.6, for unified diffs (git's too, without renames and
//! modes alone). Left out: context and normal diffs, ed scripts, `-D`, merges.

use bytes::Bytes;

use super::options::{self, Given, HELP, Spec, Takes};
use super::{Answer, Call, new_name};
use crate::fs::{Errno, Kind};

mod hunks;
mod parse;

use hunks::{Applied, apply};
use parse::{Patch, parse};

const DRY_RUN: char = '\u{2}';
const NOTHING: char = '\u{3}';
const NO_BACKUP: char = '\u{4}';
const VERBOSE: char = '\u{5}';

const SPECS: &[Spec] = &[
    ('b', "backup", Takes::Nothing),
    ('d', "directory", Takes::Argument),
    (DRY_RUN, "dry-run", Takes::Nothing),
    ('E', "remove-empty-files", Takes::Nothing),
    ('f', "force", Takes::Nothing),
    ('F', "fuzz", Takes::Argument),
    ('i', "input", Takes::Argument),
    ('l', "ignore-whitespace", Takes::Nothing),
    ('N', "forward", Takes::Nothing),
    (NO_BACKUP, "no-backup-if-mismatch", Takes::Nothing),
    (NOTHING, "backup-if-mismatch", Takes::Nothing),
    (NOTHING, "binary", Takes::Nothing),
    ('o', "output", Takes::Argument),
    ('p', "strip", Takes::Argument),
    ('r', "reject-file", Takes::Argument),
    ('R', "reverse", Takes::Nothing),
    ('s', "quiet", Takes::Nothing),
    ('s', "silent", Takes::Nothing),
    ('t', "batch", Takes::Nothing),
    ('u', "unified", Takes::Nothing),
    (VERBOSE, "verbose", Takes::Nothing),
    ('z', "suffix", Takes::Argument),
    (HELP, "help", Takes::Nothing),
    ('v', "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: patch [OPTION]... [ORIGFILE [PATCHFILE]]

  -p NUM  --strip=NUM  Strip NUM leading components from file names.
  -F LINES  --fuzz LINES  Set the fuzz factor to LINES for inexact matching.
  -l  --ignore-whitespace  Ignore white space changes between patch and input.
  -N  --forward  Ignore patches that appear to be reversed or already applied.
  -R  --reverse  Assume patches were created with old and new files swapped.
  -i PATCHFILE  --input=PATCHFILE  Read patch from PATCHFILE instead of stdin.
  -o FILE  --output=FILE  Output patched files to FILE.
  -r FILE  --reject-file=FILE  Output rejects to FILE.
  -b  --backup  Back up the original contents of each file.
      --no-backup-if-mismatch  Back up mismatches only if otherwise requested.
  -z SUFFIX  --suffix=SUFFIX  Append SUFFIX to backup file names.
  -d DIR  --directory=DIR  Change the working directory to DIR first.
      --dry-run  Do not actually change any files; just print what would happen.
  -f -t -s -E  force, batch, silent, remove empty files
";

struct Options<'a> {
    backup: bool,
    backup_mismatch: bool,
    directory: Option<&'a str>,
    dry_run: bool,
    remove_empty: bool,
    force: bool,
    batch: bool,
    forward: bool,
    fuzz: usize,
    input: Option<&'a str>,
    ignore_space: bool,
    output: Option<&'a str>,
    strip: Option<usize>,
    rejects: Option<&'a str>,
    reverse: bool,
    silent: bool,
    suffix: &'a str,
}

struct Job<'a> {
    call: &'a Call<'a>,
    options: Options<'a>,
    cwd: String,
    answer: Answer,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let refuse = |mut answer: Answer, message: &str| {
        answer.complain(2, format!("patch: {message}"));
        answer.complain(2, "patch: Try 'patch --help' for more information.");
        answer
    };
    let Given { options: given, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => return refuse(answer, &message),
    };
    let mut options = Options {
        backup: false,
        backup_mismatch: true,
        directory: None,
        dry_run: false,
        remove_empty: false,
        force: false,
        batch: false,
        forward: false,
        fuzz: 2,
        input: None,
        ignore_space: false,
        output: None,
        strip: None,
        rejects: None,
        reverse: false,
        silent: false,
        suffix: ".orig",
    };
    for (letter, value) in given {
        match letter {
            'b' => options.backup = true,
            'd' => options.directory = value,
            DRY_RUN => options.dry_run = true,
            'E' => options.remove_empty = true,
            'f' => options.force = true,
            'F' | 'p' => {
                let text = value.unwrap_or_default();
                let Ok(number) = text.parse() else {
                    let what = if letter == 'F' { "fuzz factor" } else { "strip count" };
                    answer.complain(2, format!("patch: **** {what} {text} is not a number"));
                    return answer;
                };
                if letter == 'F' { options.fuzz = number } else { options.strip = Some(number) }
            }
            'i' => options.input = value,
            'l' => options.ignore_space = true,
            'N' => options.forward = true,
            NO_BACKUP => options.backup_mismatch = false,
            'o' => options.output = value,
            'r' => options.rejects = value,
            'R' => options.reverse = true,
            's' => options.silent = true,
            't' => options.batch = true,
            'z' => (options.backup, options.suffix) = (true, value.unwrap_or(".orig")),
            HELP => {
                answer.stdout.extend_from_slice(USAGE.as_bytes());
                return answer;
            }
            'v' => {
                answer.stdout.extend_from_slice(b"patch (sqlfs), after GNU patch 2.7.6\n");
                return answer;
            }
            _ => {}
        }
    }
    let (file, input) = match operands[..] {
        [] => (None, options.input),
        [file] => (Some(file), options.input),
        [file, input] => (Some(file), Some(input)),
        [_, _, extra, ..] => return refuse(answer, &format!("{extra}: extra operand")),
    };
    let cwd = options.directory.map_or_else(|| call.cwd.to_owned(), |dir| call.path(dir));
    let mut job = Job { call, options, cwd, answer };
    job.all(file, input);
    job.answer
}

impl Job<'_> {
    fn path(&self, name: &str) -> String {
        super::absolute(&self.cwd, name)
    }

    fn say(&mut self, line: &str) {
        if !self.options.silent {
            self.answer.stdout.extend_from_slice(format!("{line}\n").as_bytes());
        }
    }

    /// What `-i` names: below the directory of `-d`, or lent.
    fn patch_file(&self, name: &str) -> Result<Bytes, Errno> {
        match self.call.lent.get(name) {
            Some(lent) => Ok(lent.data.clone()),
            None => self.call.files.read(&self.path(name)),
        }
    }

    fn all(&mut self, file: Option<&str>, input: Option<&str>) {
        let text = match input {
            None | Some("-") => self.call.stdin.to_vec(),
            Some(name) => match self.patch_file(name) {
                Ok(data) => data.to_vec(),
                Err(errno) => {
                    return self
                        .answer
                        .complain(2, format!("patch: **** Can't open patch file {name} : {errno}"));
                }
            },
        };
        let patches = match parse(&text) {
            Ok(patches) => patches,
            Err(message) => return self.answer.complain(2, format!("patch: **** {message}")),
        };
        if patches.is_empty() && !text.is_empty() {
            return self.answer.complain(2, "patch: **** Only garbage was found in the patch input.");
        }
        for patch in patches {
            if self.call.is_over() {
                return;
            }
            let patch = if self.options.reverse { patch.reversed() } else { patch };
            let name = file.map(str::to_owned).or_else(|| self.name_of(&patch));
            match name {
                Some(name) => self.file(&name, patch),
                None => self.not_found(&patch),
            }
        }
    }

    /// The name with leading components taken off; none if it has not enough.
    fn stripped(&self, name: &str) -> Option<String> {
        let Some(count) = self.options.strip else {
            return name.rsplit('/').next().map(str::to_owned);
        };
        let mut rest = name;
        for _ in 0..count {
            rest = rest.split_once('/')?.1.trim_start_matches('/');
        }
        Some(rest.to_owned())
    }

    /// The best of the names in the header: one that exists, with few components and
    /// short; for a file that is made, the new one.
    fn name_of(&self, patch: &Patch) -> Option<String> {
        let names = [&patch.old, &patch.new].into_iter().flatten();
        let names: Vec<String> =
            names.filter_map(|name| self.stripped(name)).filter(|name| !name.is_empty()).collect();
        let exists = |name: &&String| {
            self.call.files.stat(&self.path(name), true).is_ok_and(|stat| stat.kind == Kind::File)
        };
        let weight = |name: &&String| {
            (name.matches('/').count(), name.rsplit('/').next().map_or(0, str::len), name.len())
        };
        if let Some(best) = names.iter().filter(exists).min_by_key(weight) {
            return Some(best.clone());
        }
        if patch.makes_file() { names.iter().min_by_key(weight).cloned() } else { None }
    }

    fn not_found(&mut self, patch: &Patch) {
        let line = patch.input_line;
        let mut text = format!("can't find file to patch at input line {line}\n");
        text.push_str(if self.options.strip.is_some() {
            "Perhaps you used the wrong -p or --strip option?\n"
        } else {
            "Perhaps you should have used the -p or --strip option?\n"
        });
        if !patch.leading.is_empty() {
            text.push_str("The text leading up to this was:\n--------------------------\n");
            for line in &patch.leading {
                text.push_str(&format!("|{line}\n"));
            }
            text.push_str("--------------------------\n");
        }
        let count = patch.hunks.len();
        let asks = if self.options.force || self.options.batch {
            "No file to patch.  Skipping patch.\n"
        } else {
            "File to patch: \nSkip this patch? [y] \nSkipping patch.\n"
        };
        text.push_str(asks);
        text.push_str(&format!("{count} out of {count} hunk{} ignored\n", if count == 1 { "" } else { "s" }));
        self.answer.stdout.extend_from_slice(text.as_bytes());
        self.answer.exit = self.answer.exit.max(1);
    }

    fn file(&mut self, name: &str, mut patch: Patch) {
        let path = self.path(name);
        let old = match self.call.files.read(&path) {
            Ok(data) => Some(data),
            Err(Errno::ENOENT) => None,
            Err(errno) => {
                return self.answer.complain(2, format!("patch: **** Can't open file {name} : {errno}"));
            }
        };
        let output = self.options.output.unwrap_or(name).to_owned();
        let verb = if self.options.dry_run { "checking" } else { "patching" };
        let (mut lines, data) = (Vec::new(), old.clone().unwrap_or_default());
        let (fuzz, space) = (self.options.fuzz, self.options.ignore_space);
        let made_again = patch.makes_file() && old.as_ref().is_some_and(|data| !data.is_empty());
        if made_again {
            // Told further down, in other words.
        } else if patch.makes_file() && old.is_none() && self.options.output.is_none() {
            self.say(&format!("{verb} file {name}"));
        } else if let Some(read_from) = self.options.output {
            self.say(&format!("{verb} file {read_from} (read from {name})"));
        } else {
            self.say(&format!("{verb} file {name}"));
        }
        let mut applied = apply(&data, &patch, fuzz, space);
        let first_fails = applied.outcomes.first().is_some_and(|outcome| outcome.is_none());
        if first_fails || made_again {
            let back = patch.clone().reversed();
            if hunks::first_fits(&data, &back, space) {
                match self.reversal(name, made_again) {
                    Reversal::Skip => return self.ignored(name, &patch, made_again),
                    Reversal::Reverse => {
                        patch = back;
                        applied = apply(&data, &patch, fuzz, space);
                    }
                    Reversal::Apply => {}
                }
            }
        }
        if made_again {
            self.say(&format!("{verb} file {name}"));
        }
        let Applied { text, outcomes } = applied;
        let mut mismatch = false;
        for (at, outcome) in outcomes.iter().enumerate() {
            let hunk = &patch.hunks[at];
            match outcome {
                None => {
                    mismatch = true;
                    lines.push(format!("Hunk #{} FAILED at {}.", at + 1, hunk.new_start.max(1)));
                }
                Some(place) if place.fuzz > 0 || place.offset != 0 => {
                    mismatch = true;
                    let fuzz =
                        if place.fuzz > 0 { format!(" with fuzz {}", place.fuzz) } else { String::new() };
                    let plural = if place.offset.abs() == 1 { "" } else { "s" };
                    let offset = if place.offset == 0 {
                        String::new()
                    } else {
                        format!(" (offset {} line{plural})", place.offset)
                    };
                    lines.push(format!("Hunk #{} succeeded at {}{fuzz}{offset}.", at + 1, place.line));
                }
                Some(_) => {}
            }
        }
        for line in lines {
            self.say(&line);
        }
        let failed = outcomes.iter().filter(|outcome| outcome.is_none()).count();
        if failed > 0 {
            self.answer.exit = self.answer.exit.max(1);
            let (all, plural) = (outcomes.len(), if outcomes.len() == 1 { "" } else { "s" });
            let rejects = self.options.rejects.map_or_else(|| format!("{output}.rej"), str::to_owned);
            let saving = if self.options.dry_run {
                String::new()
            } else {
                format!(" -- saving rejects to file {rejects}")
            };
            let line = format!("{failed} out of {all} hunk{plural} FAILED{saving}\n");
            self.answer.stdout.extend_from_slice(line.as_bytes());
            if !self.options.dry_run {
                let text = patch.rejected(name, |at| outcomes[at].is_none());
                self.write(&rejects, &text);
            }
        }
        if self.options.dry_run {
            return;
        }
        if let Some(data) =
            old.as_ref().filter(|_| self.options.backup || (mismatch && self.options.backup_mismatch))
        {
            let backup = format!("{name}{}", self.options.suffix);
            self.write(&backup, data);
        }
        if failed == outcomes.len() && old.is_some() && self.options.output.is_none() {
            return;
        }
        if text.is_empty() && failed == 0 && (patch.removes_file() || self.options.remove_empty) {
            return self.remove(&path, name);
        }
        self.write(&output, &text);
        if let Some(mode) = patch.mode {
            let _ = self.call.files.chmod(&self.path(&output), mode);
        }
    }

    fn write(&mut self, name: &str, data: &[u8]) {
        let path = self.path(name);
        let dir = path.rsplit_once('/').map_or("/", |(dir, _)| if dir.is_empty() { "/" } else { dir });
        let written =
            self.call.files.make_dirs(dir).and_then(|()| self.call.files.write(new_name(&path)?, data));
        if let Err(errno) = written {
            self.answer.complain(2, format!("patch: **** Can't create file {name} : {errno}"));
        }
    }

    fn remove(&mut self, path: &str, name: &str) {
        if let Err(errno) = self.call.files.unlink(path) {
            return self.answer.complain(2, format!("patch: **** Can't remove file {name} : {errno}"));
        }
        // Directories that are empty now go too.
        let mut dir = path;
        let mut left = name.matches('/').count();
        while let Some((up, _)) = dir.rsplit_once('/').filter(|_| left > 0) {
            if self.call.files.rmdir(up).is_err() {
                break;
            }
            (dir, left) = (up, left - 1);
        }
    }

    /// The patch seems to be applied already: asks, without anybody who answers.
    fn reversal(&mut self, name: &str, made_again: bool) -> Reversal {
        let which = if self.options.reverse { "Unreversed" } else { "Reversed" };
        let told = if made_again {
            format!("The next patch would create the file {name},\nwhich already exists!")
        } else {
            format!("{which} (or previously applied) patch detected!")
        };
        let assume = if self.options.reverse { "Ignore" } else { "Assume" };
        if self.options.forward {
            self.answer.stdout.extend_from_slice(format!("{told}  Skipping patch.\n").as_bytes());
            return Reversal::Skip;
        }
        if self.options.force {
            return Reversal::Apply;
        }
        if self.options.batch {
            let how = if self.options.reverse { "Ignoring" } else { "Assuming" };
            self.say(&format!("{told}  {how} -R."));
            return Reversal::Reverse;
        }
        let asked = format!("{told}  {assume} -R? [n] \nApply anyway? [n] \nSkipping patch.\n");
        self.answer.stdout.extend_from_slice(asked.as_bytes());
        Reversal::Skip
    }

    fn ignored(&mut self, name: &str, patch: &Patch, made_again: bool) {
        let (count, plural) = (patch.hunks.len(), if patch.hunks.len() == 1 { "" } else { "s" });
        let rejects = self.options.rejects.map_or_else(|| format!("{name}.rej"), str::to_owned);
        let keeps = !self.options.dry_run && !made_again;
        let saving = if keeps { format!(" -- saving rejects to file {rejects}") } else { String::new() };
        self.answer
            .stdout
            .extend_from_slice(format!("{count} out of {count} hunk{plural} ignored{saving}\n").as_bytes());
        self.answer.exit = self.answer.exit.max(1);
        if keeps {
            let text = patch.rejected(name, |_| true);
            self.write(&rejects, &text);
        }
    }
}

enum Reversal {
    Skip,
    Reverse,
    Apply,
}
