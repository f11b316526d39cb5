//! `zip`, of Info-ZIP 3.0. An archive that is there gets what is new and keeps the rest.
//! Left out: encryption, splits, other actions than adding (`-d`, `-F` and so on).

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::{Answer, Call, base_name, glob, join, new_name};
use crate::fs::{Errno, Kind, Stat};

pub(super) mod format;

use format::Entry;

const USAGE: &str = "\
zip (sqlfs), after Info-ZIP 3.0. Usage:
zip [-options] [-x list] [zipfile list]
  -r  recurse into directories   -j  junk (don't record) directory names
  -q  quiet operation            -D  do not add directory entries
  -0  store only ... -9  compress better
  -x  exclude the following names    -i  include only the following names
  -@  read names from stdin      -y  store symbolic links as the link
  -m  move into zipfile (delete files)   -u  update: only changed or new files
";

#[derive(Default)]
struct Options {
    recursive: bool,
    quiet: bool,
    junk: bool,
    no_dirs: bool,
    links: bool,
    names_from_stdin: bool,
    move_in: bool,
    update: bool,
    level: Option<u32>,
    exclude: Vec<String>,
    include: Vec<String>,
}

/// What an option letter takes until the next option.
enum List {
    None,
    Exclude,
    Include,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let (options, operands) = match read_options(call.args) {
        Ok(read) => read,
        Err(message) => {
            answer.complain(16, format!("\nzip error: Invalid command arguments ({message})"));
            return answer;
        }
    };
    let Some((archive, names)) = operands.split_first() else {
        answer.stdout.extend_from_slice(USAGE.as_bytes());
        return answer;
    };
    let last = base_name(archive);
    let archive =
        if archive == "-" || last.contains('.') { archive.clone() } else { format!("{archive}.zip") };
    let mut names = names.to_vec();
    if options.names_from_stdin {
        names.extend(String::from_utf8_lossy(call.stdin).lines().map(str::to_owned));
    }
    let to_stdout = archive == "-";
    let mut entries = match call.files.read(&call.path(&archive)) {
        Ok(data) if !to_stdout => match format::read(&data) {
            Some(entries) => entries,
            None => {
                let place = "Zip file structure invalid";
                answer.complain(3, format!("\nzip error: {place} ({archive})"));
                return answer;
            }
        },
        _ => Vec::new(),
    };
    let mut job = Job { call, options, archive, answer, added: Vec::new() };
    for name in names.iter().filter(|name| *name != "-") {
        let trimmed = if name.len() > 1 { name.trim_end_matches('/') } else { name };
        if job.add(trimmed, &mut entries).is_err() {
            job.answer
                .stdout
                .extend_from_slice(format!("\tzip warning: name not matched: {name}\n").as_bytes());
        }
    }
    if names.iter().any(|name| name == "-") {
        job.pack("-", call.stdin, 0o600, call.now_ns, &mut entries);
    }
    if job.added.is_empty() {
        let archive = &job.archive;
        let line = format!("\nzip error: Nothing to do! ({archive})\n");
        job.answer.stdout.extend_from_slice(line.as_bytes());
        job.answer.exit = 12;
        return job.answer;
    }
    let data = format::write(&entries);
    if to_stdout {
        job.answer.stdout = data;
        return job.answer;
    }
    let path = call.path(&job.archive);
    if let Err(errno) = new_name(&path).and_then(|path| call.files.write(path, &data)) {
        let line =
            format!("zip I/O error: {errno}\nzip error: Could not create output file ({})", job.archive);
        job.answer.complain(15, line);
        return job.answer;
    }
    if job.options.move_in {
        for path in job.added.iter().rev().filter(|path| !path.is_empty()) {
            let _ = call.files.unlink(path).or_else(|_| call.files.rmdir(path));
        }
    }
    job.answer
}

fn read_options(args: &[String]) -> Result<(Options, Vec<String>), String> {
    let mut options = Options::default();
    let (mut operands, mut list, mut rest) = (Vec::new(), List::None, false);
    for arg in args {
        if !rest && arg.len() > 1 && arg.starts_with('-') {
            list = List::None;
            match arg.as_str() {
                "--" => rest = true,
                "--recurse-paths" => options.recursive = true,
                "--quiet" => options.quiet = true,
                "--junk-paths" => options.junk = true,
                "--exclude" => list = List::Exclude,
                "--include" => list = List::Include,
                long if long.starts_with("--") => {
                    return Err(format!("long option '{}' not supported", &long[2..]));
                }
                short => {
                    for letter in short[1..].chars() {
                        match letter {
                            'r' => options.recursive = true,
                            'q' => options.quiet = true,
                            'j' => options.junk = true,
                            'D' => options.no_dirs = true,
                            'y' => options.links = true,
                            '@' => options.names_from_stdin = true,
                            'm' => options.move_in = true,
                            'u' => options.update = true,
                            'x' => list = List::Exclude,
                            'i' => list = List::Include,
                            '0'..='9' => options.level = letter.to_digit(10),
                            // What more is told, and what is not stored in any case.
                            'v' | 'X' | 'o' | 'T' => {}
                            other => return Err(format!("short option '{other}' not supported")),
                        }
                    }
                }
            }
            continue;
        }
        match list {
            List::None => operands.push(arg.clone()),
            List::Exclude => options.exclude.push(arg.clone()),
            List::Include => options.include.push(arg.clone()),
        }
    }
    Ok((options, operands))
}

struct Job<'a> {
    call: &'a Call<'a>,
    options: Options,
    archive: String,
    answer: Answer,
    /// Paths that were put in.
    added: Vec<String>,
}

impl Job<'_> {
    /// `Err`: there is no such file.
    fn add(&mut self, name: &str, entries: &mut Vec<Entry>) -> Result<(), Errno> {
        let path = self.call.path(name);
        let stat = self.call.files.stat(&path, !self.options.links)?;
        if self.call.is_over() || path == self.call.path(&self.archive) {
            return Ok(());
        }
        if stat.kind != Kind::Dir {
            if !self.chosen(name) {
                return Ok(());
            }
            let data = if stat.kind == Kind::Symlink {
                self.call.files.read_link(&path)?.as_bytes().to_vec()
            } else {
                self.call.files.read(&path)?.to_vec()
            };
            self.file(name, &path, &data, &stat, entries);
            return Ok(());
        }
        let at_root = matches!(name, "." | "./");
        if !self.options.no_dirs && !self.options.junk && !at_root && self.chosen(&format!("{name}/")) {
            self.file(&format!("{name}/"), &path, &[], &stat, entries);
        }
        if self.options.recursive {
            for (child, _) in self.call.files.read_dir(&path)? {
                let child = if at_root { child.as_ref().to_owned() } else { join(name, &child) };
                // What leads nowhere is passed over.
                let _ = self.add(&child, entries);
            }
        }
        Ok(())
    }

    fn chosen(&self, name: &str) -> bool {
        let matches = |patterns: &[String]| patterns.iter().any(|pattern| glob::matches(pattern, name));
        !matches(&self.options.exclude) && (self.options.include.is_empty() || matches(&self.options.include))
    }

    fn file(&mut self, name: &str, path: &str, data: &[u8], stat: &Stat, entries: &mut Vec<Entry>) {
        let kind = match stat.kind {
            Kind::Dir => 0o040_000,
            Kind::File => 0o100_000,
            Kind::Symlink => 0o120_000,
        };
        let stored = if self.options.junk { base_name(name) } else { name };
        let stored = stored.trim_start_matches("./").trim_start_matches('/');
        let newer = |entry: &Entry| entry.name == stored && format::dos_time(stat.mtime_ns) <= entry.time;
        if self.options.update && entries.iter().any(newer) {
            return;
        }
        let stored = stored.to_owned();
        self.pack(&stored, data, kind | stat.mode, stat.mtime_ns, entries);
        path.clone_into(self.added.last_mut().expect("one was just added"));
    }

    fn pack(&mut self, name: &str, data: &[u8], mode: u32, mtime_ns: i64, entries: &mut Vec<Entry>) {
        let mut crc = Crc::new();
        crc.update(data);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(self.options.level.unwrap_or(6)));
        // Writing to memory does not fail.
        let _ = encoder.write_all(data);
        let packed = encoder.finish().unwrap_or_default();
        let deflated = packed.len() < data.len() && self.options.level != Some(0);
        let packed = if deflated { packed } else { data.to_vec() };
        let entry = Entry {
            name: name.to_owned(),
            deflated,
            time: format::dos_time(mtime_ns),
            crc: crc.sum(),
            size: data.len() as u32,
            mode,
            packed,
        };
        let there = entries.iter().position(|entry| entry.name == name);
        let verb = if there.is_some() { "updating" } else { "  adding" };
        if !self.options.quiet {
            let saved =
                if data.is_empty() { 0 } else { (data.len() - entry.packed.len()) * 200 / data.len() };
            let how = if deflated { "deflated" } else { "stored" };
            let line = format!("{verb}: {name} ({how} {}%)\n", saved.div_ceil(2));
            // The archive itself may be the output.
            let out = if self.archive == "-" { &mut self.answer.stderr } else { &mut self.answer.stdout };
            out.extend_from_slice(line.as_bytes());
        }
        match there {
            Some(at) => entries[at] = entry,
            None => entries.push(entry),
        }
        self.added.push(String::new());
    }
}
