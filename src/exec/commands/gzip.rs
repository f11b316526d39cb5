//! `gzip`, `gunzip` and `zcat`, as of GNU gzip 1.12. What is unpacked may be as large
//! as a file may be. Left out: `-r`, `--rsyncable`.

use std::io::{Read as _, Write as _};

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};

use super::input::{is_descriptor, outside};
use super::options::{self, Given, HELP, Spec, Takes};
use super::{Answer, Call, base_name};
use crate::fs::{Errno, Kind};

const SPECS: &[Spec] = &[
    ('a', "ascii", Takes::Nothing),
    ('c', "stdout", Takes::Nothing),
    ('c', "to-stdout", Takes::Nothing),
    ('d', "decompress", Takes::Nothing),
    ('d', "uncompress", Takes::Nothing),
    ('f', "force", Takes::Nothing),
    ('h', "", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    ('k', "keep", Takes::Nothing),
    ('l', "list", Takes::Nothing),
    ('n', "no-name", Takes::Nothing),
    ('N', "name", Takes::Nothing),
    ('q', "quiet", Takes::Nothing),
    ('S', "suffix", Takes::Argument),
    ('t', "test", Takes::Nothing),
    ('v', "verbose", Takes::Nothing),
    ('V', "version", Takes::Nothing),
    ('1', "fast", Takes::Nothing),
    ('2', "", Takes::Nothing),
    ('3', "", Takes::Nothing),
    ('4', "", Takes::Nothing),
    ('5', "", Takes::Nothing),
    ('6', "", Takes::Nothing),
    ('7', "", Takes::Nothing),
    ('8', "", Takes::Nothing),
    ('9', "best", Takes::Nothing),
];

const USAGE: &str = "\
Usage: gzip [OPTION]... [FILE]...
Compress or uncompress FILEs (by default, compress FILES in-place).

  -c, --stdout      write on standard output, keep original files unchanged
  -d, --decompress  decompress
  -f, --force       force overwrite of output file
  -k, --keep        keep (don't delete) input files
  -l, --list        list compressed file contents
  -n, --no-name     do not save or restore the original name and timestamp
  -S, --suffix=SUF  use suffix SUF on compressed files
  -t, --test        test compressed file integrity
  -v, --verbose     verbose mode
  -1, --fast ... -9, --best  compress faster, better
";

struct Job<'a> {
    name: &'static str,
    call: &'a Call<'a>,
    unpack: bool,
    stdout: bool,
    force: bool,
    keep: bool,
    list: bool,
    no_name: bool,
    test: bool,
    verbose: bool,
    quiet: bool,
    suffix: &'a str,
    level: u32,
    answer: Answer,
}

/// `gzip`.
pub(super) fn gzip(call: &Call<'_>) -> Answer {
    run("gzip", call, false, false)
}

/// `gunzip`.
pub(super) fn gunzip(call: &Call<'_>) -> Answer {
    run("gzip", call, true, false)
}

/// `zcat`.
pub(super) fn zcat(call: &Call<'_>) -> Answer {
    run("gzip", call, true, true)
}

fn run(name: &'static str, call: &Call<'_>, unpack: bool, stdout: bool) -> Answer {
    let mut answer = Answer::default();
    let Given { options: given, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.complain(1, format!("{name}: {message}"));
            answer.complain(1, format!("Try `{name} --help' for more information."));
            return answer;
        }
    };
    let mut job = Job {
        name,
        call,
        unpack,
        stdout,
        force: false,
        keep: false,
        list: false,
        no_name: false,
        test: false,
        verbose: false,
        quiet: false,
        suffix: ".gz",
        level: 6,
        answer,
    };
    for (letter, value) in given {
        match letter {
            'c' => job.stdout = true,
            'd' => job.unpack = true,
            'f' => job.force = true,
            'k' => job.keep = true,
            'l' => (job.list, job.unpack) = (true, true),
            'n' => job.no_name = true,
            'S' => job.suffix = value.unwrap_or(".gz"),
            't' => (job.test, job.unpack) = (true, true),
            'v' => job.verbose = true,
            'q' => job.quiet = true,
            '1'..='9' => job.level = letter as u32 - '0' as u32,
            'h' | HELP | 'V' => {
                let text = if letter == 'V' { "gzip (sqlfs), after GNU gzip 1.12\n" } else { USAGE };
                job.answer.stdout.extend_from_slice(text.as_bytes());
                return job.answer;
            }
            _ => {}
        }
    }
    if job.list {
        let header = "         compressed        uncompressed  ratio uncompressed_name\n";
        job.answer.stdout.extend_from_slice(header.as_bytes());
    }
    if operands.is_empty() {
        job.stream(call.stdin, "stdin");
    }
    for operand in operands {
        if call.is_over() {
            break;
        }
        if operand == "-" { job.stream(call.stdin, "stdin") } else { job.file(operand) }
    }
    job.answer
}

/// The bytes, or gzip's words for what is wrong.
fn unpacked(data: &[u8], most: u64) -> Result<Vec<u8>, &'static str> {
    if data.len() < 2 || data[..2] != [0x1f, 0x8b] {
        return Err(if data.is_empty() { "unexpected end of file" } else { "not in gzip format" });
    }
    let mut out = Vec::new();
    match MultiGzDecoder::new(data).take(most + 1).read_to_end(&mut out) {
        Ok(_) if out.len() as u64 > most => Err("larger than a file may be"),
        Ok(_) => Ok(out),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err("unexpected end of file"),
        // What follows the last member and is none is ignored, with a warning.
        Err(_) if !out.is_empty() => Err("invalid compressed data--crc error"),
        Err(_) => Err("invalid compressed data--format violated"),
    }
}

impl Job<'_> {
    fn complain(&mut self, exit: u8, line: &str) {
        // gzip begins these with an empty line.
        let blank = if line.starts_with("stdin: ") || line.contains("format") || line.contains("end of file")
        {
            "\n"
        } else {
            ""
        };
        self.answer.complain(exit, format!("{blank}{}: {line}", self.name));
    }

    fn packed(&self, data: &[u8], name: Option<(&str, i64)>) -> Vec<u8> {
        let mut builder = GzBuilder::new().operating_system(3);
        if let Some((name, mtime_ns)) = name.filter(|_| !self.no_name) {
            let seconds = u32::try_from(mtime_ns.div_euclid(1_000_000_000)).unwrap_or(0);
            builder = builder.filename(name).mtime(seconds);
        }
        let mut encoder = builder.write(Vec::new(), Compression::new(self.level));
        // Writing to memory does not fail.
        let _ = encoder.write_all(data);
        encoder.finish().unwrap_or_default()
    }

    fn stream(&mut self, data: &[u8], name: &str) {
        if !self.unpack {
            let packed = self.packed(data, None);
            return self.answer.stdout.extend_from_slice(&packed);
        }
        match unpacked(data, self.call.files.quota().memory) {
            Ok(out) if self.list => self.listed(data.len(), out.len(), name),
            Ok(_) if self.test => {}
            Ok(out) => self.answer.stdout.extend_from_slice(&out),
            Err(_) if self.force && self.stdout => self.answer.stdout.extend_from_slice(data),
            Err(message) => self.complain(1, &format!("{name}: {message}")),
        }
    }

    fn listed(&mut self, packed: usize, size: usize, name: &str) {
        let ratio = if size == 0 { 0.0 } else { 100.0 - (packed as f64 - 18.0) * 100.0 / size as f64 };
        let name = name.strip_suffix(self.suffix).unwrap_or(name);
        let line = format!("{packed:>19} {size:>19} {ratio:>5.1}% {name}\n");
        self.answer.stdout.extend_from_slice(line.as_bytes());
    }

    fn file(&mut self, operand: &str) {
        if let Some(data) = outside(self.call, operand) {
            if self.stdout || self.test || self.list {
                return self.stream(&data, operand);
            }
            let errno = if is_descriptor(operand) { Errno::ELOOP } else { Errno::EROFS };
            return self.complain(1, &format!("{operand}: {errno}"));
        }
        let (files, mut name) = (self.call.files, operand.to_owned());
        let mut found = files.stat(&self.call.path(&name), true);
        if self.unpack && found == Err(Errno::ENOENT) && !name.ends_with(self.suffix) {
            name.push_str(self.suffix);
            found = files.stat(&self.call.path(&name), true);
        }
        let path = self.call.path(&name);
        let stat = match found {
            Ok(stat) if stat.kind == Kind::Dir => {
                if !self.quiet {
                    self.answer.stderr.extend_from_slice(
                        format!("{}: {name} is a directory -- ignored\n", self.name).as_bytes(),
                    );
                }
                self.answer.exit = self.answer.exit.max(2);
                return;
            }
            Ok(stat) => stat,
            Err(errno) => return self.complain(1, &format!("{name}: {errno}")),
        };
        let data = match files.read(&path) {
            Ok(data) => data,
            Err(errno) => return self.complain(1, &format!("{name}: {errno}")),
        };
        if self.list || self.test || (self.stdout && self.unpack) {
            return self.stream(&data, &name);
        }
        if self.stdout {
            let packed = self.packed(&data, Some((base_name(&name), stat.mtime_ns)));
            return self.answer.stdout.extend_from_slice(&packed);
        }
        let linked = files.stat(&path, false).is_ok_and(|stat| stat.kind == Kind::Symlink);
        if linked && !self.force {
            return self.complain(1, &format!("{name}: Too many levels of symbolic links"));
        }
        if stat.nlink > 1 && !self.force {
            let (others, plural) = (stat.nlink - 1, if stat.nlink == 2 { "" } else { "s" });
            let line = format!("{}: {name} has {others} other link{plural} -- file ignored\n", self.name);
            self.answer.stderr.extend_from_slice(line.as_bytes());
            self.answer.exit = self.answer.exit.max(2);
            return;
        }
        let (out, to) = if self.unpack {
            let to = match name.strip_suffix(self.suffix) {
                Some(stem) => stem.to_owned(),
                None => match name.strip_suffix(".tgz") {
                    Some(stem) => format!("{stem}.tar"),
                    None => {
                        self.answer.complain(2, format!("{}: {name}: unknown suffix -- ignored", self.name));
                        return;
                    }
                },
            };
            match unpacked(&data, files.quota().file_bytes) {
                Ok(out) => (out, to),
                Err(message) => return self.complain(1, &format!("{name}: {message}")),
            }
        } else {
            if name.ends_with(self.suffix) {
                self.answer.complain(
                    2,
                    format!("{}: {name} already has {} suffix -- unchanged", self.name, self.suffix),
                );
                return;
            }
            (self.packed(&data, Some((base_name(&name), stat.mtime_ns))), format!("{name}{}", self.suffix))
        };
        let target = self.call.path(&to);
        if !self.force && files.stat(&target, false).is_ok() {
            self.answer.complain(2, format!("{}: {to} already exists;\tnot overwritten", self.name));
            return;
        }
        let made = self.call.replace(&path, &stat, &target, &out, self.keep);
        if let Err(errno) = made {
            return self.complain(1, &format!("{to}: {errno}"));
        }
        if self.verbose {
            let (large, small) = if self.unpack { (out.len(), data.len()) } else { (data.len(), out.len()) };
            let ratio = if large == 0 { 0.0 } else { 100.0 - (small as f64 - 18.0) * 100.0 / large as f64 };
            let how = if self.keep { "created" } else { "replaced with" };
            let line = format!("{name}:\t{ratio:>5.1}% -- {how} {to}\n");
            self.answer.stderr.extend_from_slice(line.as_bytes());
        }
    }
}
