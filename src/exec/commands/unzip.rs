//! `unzip`, of Info-ZIP 6.0: listing, testing, printing and extracting. Left out:
//! passwords, Zip64, questions (a file that is there is overwritten with `-o` only).

use std::io::Read as _;

use chrono::{NaiveDate, NaiveDateTime};
use flate2::read::DeflateDecoder;

use super::zip::format::{self, Entry};
use super::{Answer, Call, glob, join, new_name};
use crate::fs::Errno;

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let (mut list, mut print, mut test, mut quiet, mut junk, mut over, mut never) =
        (false, false, false, 0, false, false, false);
    let (mut dir, mut names, mut exclude, mut excluding) = (None, Vec::new(), Vec::new(), false);
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        if arg.len() < 2 || !arg.starts_with('-') {
            if excluding {
                exclude.push(arg.as_str())
            } else {
                names.push(arg.as_str())
            }
            continue;
        }
        let mut letters = arg[1..].chars();
        while let Some(letter) = letters.next() {
            match letter {
                'l' => list = true,
                'p' | 'c' => print = true,
                't' => test = true,
                'q' => quiet += 1,
                'j' => junk = true,
                'o' => over = true,
                'n' => never = true,
                'x' => excluding = true,
                'd' => {
                    let attached = std::mem::replace(&mut letters, "".chars());
                    let attached = attached.as_str();
                    dir = if attached.is_empty() { args.next().map(String::as_str) } else { Some(attached) };
                }
                'a' | 'b' | 'u' | 'f' | 'L' | 'X' | 'K' => {}
                other => {
                    answer.complain(10, format!("unzip: the option -{other} is not supported here"));
                    return answer;
                }
            }
        }
    }
    let Some((archive, wanted)) = names.split_first() else {
        answer.complain(10, "Usage: unzip [-lptqjon] file[.zip] [list] [-x xlist] [-d exdir]");
        return answer;
    };
    let found = [(*archive).to_owned(), format!("{archive}.zip")].into_iter().find_map(|name| {
        let data = call.files.read(&call.path(&name)).ok()?;
        Some((name, data))
    });
    let Some((name, data)) = found else {
        answer.complain(9, format!("unzip:  cannot find or open {archive}, {archive}.zip or {archive}.ZIP."));
        return answer;
    };
    let Some(entries) = format::read(&data) else {
        let what = "End-of-central-directory signature not found.  Either this file is not\n  a zipfile, or it constitutes one disk of a multi-part archive.";
        answer.complain(9, format!("  {what}"));
        answer.complain(9, format!("unzip:  cannot find zipfile directory in {name}"));
        return answer;
    };
    let any = |patterns: &[&str], name: &str| patterns.iter().any(|pattern| glob::matches(pattern, name));
    let entries: Vec<&Entry> = entries
        .iter()
        .filter(|entry| (wanted.is_empty() || any(wanted, &entry.name)) && !any(&exclude, &entry.name))
        .collect();
    if quiet == 0 && !print {
        answer.stdout.extend_from_slice(format!("Archive:  {name}\n").as_bytes());
    }
    for pattern in
        wanted.iter().filter(|pattern| !entries.iter().any(|entry| glob::matches(pattern, &entry.name)))
    {
        answer.complain(11, format!("caution: filename not matched:  {pattern}"));
    }
    if list {
        listing(&entries, quiet, &mut answer);
        return answer;
    }
    let most = call.files.quota().file_bytes;
    for entry in &entries {
        if call.is_over() {
            return answer;
        }
        let data = match unpacked(entry, most) {
            Ok(data) => data,
            Err(what) => {
                answer.complain(2, format!("  error:  {what} {}", entry.name));
                continue;
            }
        };
        if test {
            if quiet == 0 {
                answer.stdout.extend_from_slice(format!("    testing: {:<22}   OK\n", entry.name).as_bytes());
            }
            continue;
        }
        if print {
            answer.stdout.extend_from_slice(&data);
            continue;
        }
        let stored = if junk { super::base_name(&entry.name) } else { entry.name.as_str() };
        let is_dir = entry.name.ends_with('/');
        // Nothing leads out of the directory.
        let parts: Vec<&str> = stored.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
        if parts.is_empty() || (junk && is_dir) {
            continue;
        }
        let inside = parts.join("/");
        let shown = dir.map_or_else(|| inside.clone(), |dir| join(dir, &inside));
        let path = call.path(&shown);
        let there = !is_dir && call.files.stat(&path, false).is_ok();
        if there && !over {
            if !never {
                answer.complain(1, format!("replace {shown}? [y]es, [n]o, [A]ll, [N]one, [r]ename:  NULL\n(EOF or read error, treating as \"[N]one\" ...)"));
                return answer;
            }
            continue;
        }
        let kind = match (is_dir, entry.mode >> 12) {
            (true, _) => "   creating",
            (_, 0o12) => "    linking",
            _ if entry.deflated => "  inflating",
            _ => " extracting",
        };
        match extract(call, entry, &path, &data, is_dir) {
            Ok(false) => {}
            Ok(true) if quiet > 0 => {}
            Ok(true) => {
                let slash = if is_dir { "/" } else { "" };
                let space = if is_dir { "" } else { "  " };
                let shown = if is_dir { shown } else { format!("{shown:<22}") };
                answer.stdout.extend_from_slice(format!("{kind}: {shown}{slash}{space}\n").as_bytes());
            }
            Err(errno) => answer.complain(50, format!("error:  cannot create {shown}\n        {errno}")),
        }
    }
    if test && answer.exit == 0 {
        answer
            .stdout
            .extend_from_slice(format!("No errors detected in compressed data of {name}.\n").as_bytes());
    }
    answer
}

/// Whether something was made.
fn extract(call: &Call<'_>, entry: &Entry, path: &str, data: &[u8], is_dir: bool) -> Result<bool, Errno> {
    let files = call.files;
    let path = new_name(path)?;
    if is_dir {
        let fresh = files.stat(path, true).is_err();
        files.make_dirs(path)?;
        return Ok(fresh);
    }
    let dir = path.rsplit_once('/').map_or("/", |(dir, _)| if dir.is_empty() { "/" } else { dir });
    files.make_dirs(dir)?;
    if entry.mode >> 12 == 0o12 {
        let target = std::str::from_utf8(data).map_err(|_| Errno::EILSEQ)?;
        let _ = files.unlink(path);
        files.symlink(target, path)?;
        return Ok(true);
    }
    files.write(path, data)?;
    if entry.mode & 0o777 != 0 {
        files.chmod(path, entry.mode & 0o777)?;
    }
    if let Some(time) = moment(entry.time) {
        files.set_mtime(path, time.and_utc().timestamp_nanos_opt().unwrap_or(0), true)?;
    }
    Ok(true)
}

fn unpacked(entry: &Entry, most: u64) -> Result<Vec<u8>, &'static str> {
    let mut data = Vec::new();
    if entry.deflated {
        let read = DeflateDecoder::new(entry.packed.as_slice()).take(most + 1).read_to_end(&mut data);
        read.map_err(|_| "invalid compressed data to inflate")?;
    } else {
        data.clone_from(&entry.packed);
    }
    if data.len() as u64 > most {
        return Err("larger than a file may be:");
    }
    let mut crc = flate2::Crc::new();
    crc.update(&data);
    if crc.sum() == entry.crc { Ok(data) } else { Err("bad CRC in") }
}

fn moment(dos: u32) -> Option<NaiveDateTime> {
    let (date, time) = (dos >> 16, dos & 0xffff);
    let day = NaiveDate::from_ymd_opt(1980 + (date >> 9) as i32, date >> 5 & 15, date & 31)?;
    day.and_hms_opt(time >> 11, time >> 5 & 63, (time & 31) * 2)
}

fn listing(entries: &[&Entry], quiet: usize, answer: &mut Answer) {
    let mut out = String::new();
    if quiet < 2 {
        out.push_str("  Length      Date    Time    Name\n---------  ---------- -----   ----\n");
    }
    for entry in entries {
        let time =
            moment(entry.time).map(|time| time.format("%Y-%m-%d %H:%M").to_string()).unwrap_or_default();
        out.push_str(&format!("{:>9}  {time:<16}   {}\n", entry.size, entry.name));
    }
    if quiet < 2 {
        let (sum, count) = (entries.iter().map(|entry| u64::from(entry.size)).sum::<u64>(), entries.len());
        let plural = if count == 1 { "" } else { "s" };
        out.push_str(&format!(
            "---------                     -------\n{sum:>9}                     {count} file{plural}\n"
        ));
    }
    answer.stdout.extend_from_slice(out.as_bytes());
}
