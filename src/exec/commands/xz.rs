//! `xz`, `unxz` and `xzcat`, as of XZ Utils 5.4. What is unpacked may be as large as a
//! file may be, and a stream that wants a larger dictionary than level 9 makes is
//! refused. Left out: `-F lzma` and `raw`, `--files`, filter chains; threads and levels
//! above 6 are taken and change nothing, since their memory is not there to be used.

use std::io::{ErrorKind, Read as _, Write as _};

use lzma_rust2::{XzOptions, XzReader, XzWriter};

use super::input::{is_descriptor, outside};
use super::options::{self, DIGIT, Given, HELP, Spec, Takes};
use super::{Answer, Call};
use crate::fs::{Errno, Kind};

const SPECS: &[Spec] = &[
    (DIGIT, "", Takes::Nothing),
    ('1', "fast", Takes::Nothing),
    ('9', "best", Takes::Nothing),
    ('c', "stdout", Takes::Nothing),
    ('c', "to-stdout", Takes::Nothing),
    ('d', "decompress", Takes::Nothing),
    ('d', "uncompress", Takes::Nothing),
    ('e', "extreme", Takes::Nothing),
    ('f', "force", Takes::Nothing),
    ('h', "", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    ('k', "keep", Takes::Nothing),
    ('q', "quiet", Takes::Nothing),
    ('S', "suffix", Takes::Argument),
    ('T', "threads", Takes::Argument),
    ('t', "test", Takes::Nothing),
    ('v', "verbose", Takes::Nothing),
    ('V', "version", Takes::Nothing),
    ('z', "compress", Takes::Nothing),
];

const USAGE: &str = "\
Usage: xz [OPTION]... [FILE]...
Compress or decompress FILEs in the .xz format.

  -z, --compress      force compression
  -d, --decompress    force decompression
  -t, --test          test compressed file integrity
  -k, --keep          keep (don't delete) input files
  -f, --force         force overwrite of output file and (de)compress links
  -c, --stdout        write to standard output and don't delete input files
  -S, --suffix=.SUF   use the suffix '.SUF' on compressed files
  -0 ... -9           compression preset; default is 6

With no FILE, or when FILE is -, read standard input.
";

/// The highest level whose memory (94 MiB while it packs) is given to a script.
const MOST_LEVEL: u32 = 6;

/// Memory that unpacking may take: what a stream of level 9 needs.
pub(super) const UNPACK_KIB: u32 = 66 << 10;

struct Job<'a> {
    name: &'static str,
    call: &'a Call<'a>,
    unpack: bool,
    stdout: bool,
    force: bool,
    keep: bool,
    test: bool,
    quiet: bool,
    suffix: &'a str,
    level: u32,
    answer: Answer,
}

/// `xz`.
pub(super) fn xz(call: &Call<'_>) -> Answer {
    run("xz", call, false, false)
}

/// `unxz`.
pub(super) fn unxz(call: &Call<'_>) -> Answer {
    run("unxz", call, true, false)
}

/// `xzcat`.
pub(super) fn xzcat(call: &Call<'_>) -> Answer {
    run("xzcat", call, true, true)
}

fn run(name: &'static str, call: &Call<'_>, unpack: bool, stdout: bool) -> Answer {
    let mut answer = Answer::default();
    let Given { options: given, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.complain(1, format!("{name}: {message}"));
            answer.complain(1, format!("{name}: Try `{name} --help' for more information."));
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
        test: false,
        quiet: false,
        suffix: ".xz",
        level: MOST_LEVEL,
        answer,
    };
    for (letter, value) in given {
        match letter {
            '0'..='9' => job.level = (letter as u32 - '0' as u32).min(MOST_LEVEL),
            'c' => job.stdout = true,
            'd' => job.unpack = true,
            'f' => job.force = true,
            'k' => job.keep = true,
            'q' => job.quiet = true,
            'S' => job.suffix = value.unwrap_or(".xz"),
            't' => (job.test, job.unpack) = (true, true),
            'z' => (job.test, job.unpack) = (false, false),
            'h' | HELP | 'V' => {
                let text = if letter == 'V' { "xz (sqlfs), after XZ Utils 5.4\n" } else { USAGE };
                job.answer.stdout.extend_from_slice(text.as_bytes());
                return job.answer;
            }
            _ => {}
        }
    }
    if operands.is_empty() {
        job.stream(call.stdin, "(stdin)");
    }
    for operand in operands {
        if call.is_over() {
            break;
        }
        if operand == "-" { job.stream(call.stdin, "(stdin)") } else { job.file(operand) }
    }
    job.answer
}

/// The data, packed.
pub(super) fn packed(data: &[u8], level: u32) -> std::io::Result<Vec<u8>> {
    let mut options = XzOptions::with_preset(level);
    // A dictionary larger than the data serves nothing; 4 KiB is the format's least.
    let enough = u32::try_from(data.len().next_power_of_two()).unwrap_or(u32::MAX).max(4096);
    options.lzma_options.dict_size = options.lzma_options.dict_size.min(enough);
    let mut writer = XzWriter::new(Vec::new(), options)?;
    writer.write_all(data)?;
    writer.finish()
}

/// The bytes, or xz's words for what is wrong.
fn unpacked(data: &[u8], most: u64) -> Result<Vec<u8>, String> {
    const MAGIC: &[u8] = b"\xfd7zXZ\0";
    if data.is_empty() || (data.len() < MAGIC.len() && MAGIC.starts_with(data)) {
        return Err("Unexpected end of input".to_owned());
    }
    if !data.starts_with(MAGIC) {
        return Err("File format not recognized".to_owned());
    }
    let mut out = Vec::new();
    let reader = XzReader::new_mem_limit(data, true, UNPACK_KIB);
    match reader.take(most + 1).read_to_end(&mut out) {
        Ok(_) if out.len() as u64 > most => Err(format!("decompressed size exceeds {most} bytes")),
        Ok(_) => Ok(out),
        Err(error) => Err(match error.kind() {
            ErrorKind::UnexpectedEof => "Unexpected end of input".to_owned(),
            ErrorKind::OutOfMemory => format!("Memory usage limit of {} MiB reached", UNPACK_KIB >> 10),
            ErrorKind::Unsupported => "Unsupported options".to_owned(),
            _ => "Compressed data is corrupt".to_owned(),
        }),
    }
}

impl Job<'_> {
    fn complain(&mut self, exit: u8, text: &str) {
        if self.quiet && exit == 2 {
            self.answer.exit = self.answer.exit.max(exit);
        } else {
            let line = format!("{}: {text}", self.name);
            // A failure weighs more than what was skipped.
            let before = self.answer.exit;
            self.answer.complain(exit, line);
            self.answer.exit = if before == 1 || exit == 1 { 1 } else { exit };
        }
    }

    fn stream(&mut self, data: &[u8], name: &str) {
        if !self.unpack {
            return match packed(data, self.level) {
                Ok(out) => self.answer.stdout.extend_from_slice(&out),
                Err(_) => self.complain(1, &format!("{name}: Internal error (bug)")),
            };
        }
        match unpacked(data, self.call.files.quota().memory) {
            Ok(_) if self.test => {}
            Ok(out) => self.answer.stdout.extend_from_slice(&out),
            Err(message) if self.force && self.stdout && message.ends_with("not recognized") => {
                self.answer.stdout.extend_from_slice(data);
            }
            Err(message) => self.complain(1, &format!("{name}: {message}")),
        }
    }

    fn file(&mut self, name: &str) {
        if let Some(data) = outside(self.call, name) {
            if self.stdout || self.test {
                return self.stream(&data, name);
            }
            return match (is_descriptor(name), self.force) {
                (false, _) => self.complain(1, &format!("{name}: {}", Errno::EROFS)),
                (true, false) => self.complain(2, &format!("{name}: Is a symbolic link, skipping")),
                (true, true) => self.complain(2, &format!("{name}: Not a regular file, skipping")),
            };
        }
        let (files, path) = (self.call.files, self.call.path(name));
        let stat = match files.stat(&path, self.stdout || self.test || self.force) {
            Ok(stat) => stat,
            Err(errno) => return self.complain(1, &format!("{name}: {errno}")),
        };
        match stat.kind {
            Kind::Dir => return self.complain(2, &format!("{name}: Is a directory, skipping")),
            Kind::Symlink => return self.complain(2, &format!("{name}: Is a symbolic link, skipping")),
            Kind::File => {}
        }
        let data = match files.read(&path) {
            Ok(data) => data,
            Err(errno) => return self.complain(1, &format!("{name}: {errno}")),
        };
        if self.stdout || self.test {
            return self.stream(&data, name);
        }
        if stat.nlink > 1 && !self.force {
            return self.complain(2, &format!("{name}: Input file has more than one hard link, skipping"));
        }
        let made = if self.unpack { unpacked(&data, files.quota().file_bytes) } else { Ok(Vec::new()) };
        let unpacked = match made {
            Ok(out) => out,
            Err(message) => return self.complain(1, &format!("{name}: {message}")),
        };
        let stem = name.strip_suffix(self.suffix);
        // Its own suffix is known beside another one.
        let stem = stem.or_else(|| name.strip_suffix(".xz").filter(|_| self.unpack));
        let to = match (self.unpack, stem, name.strip_suffix(".txz")) {
            (false, Some(_), _) => {
                let text = format!("{name}: File already has `{}' suffix, skipping", self.suffix);
                return self.complain(2, &text);
            }
            (false, None, _) => format!("{name}{}", self.suffix),
            (true, Some(stem), _) if !stem.is_empty() => stem.to_owned(),
            (true, _, Some(stem)) if !stem.is_empty() => format!("{stem}.tar"),
            (true, ..) => {
                return self.complain(2, &format!("{name}: Filename has an unknown suffix, skipping"));
            }
        };
        let target = self.call.path(&to);
        if !self.force && files.stat(&target, false).is_ok() {
            return self.complain(1, &format!("{to}: File exists"));
        }
        let made = if self.unpack { Ok(unpacked) } else { packed(&data, self.level) };
        let Ok(out) = made else { return self.complain(1, &format!("{name}: Internal error (bug)")) };
        let written = self.call.replace(&path, &stat, &target, &out, self.keep);
        if let Err(errno) = written {
            self.complain(1, &format!("{to}: {errno}"));
        }
    }
}
