//! Files out of an archive, and lists of them.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use chrono::DateTime;
use tar::{Archive, Entry, EntryType, Header};

use super::Job;
use super::pack::Packing;
use super::transform::{self, Of};
use crate::exec::commands::stat::mode_text;
use crate::exec::commands::{absolute, glob, join, new_name};
use crate::fs::{Errno, Kind, Stat};

/// A member, as it is in the archive.
struct Member {
    name: String,
    kind: EntryType,
    /// Of a link.
    target: Option<String>,
    stat: Stat,
    owner: String,
}

/// Where an archive without compression could go on: behind its last member.
pub(super) fn end_of_members(data: &[u8]) -> usize {
    let mut end = 0;
    let mut archive = Archive::new(data);
    for entry in archive.entries().into_iter().flatten().flatten() {
        let size = entry.raw_header_position() + 512 + entry.size();
        end = usize::try_from(size).unwrap_or(usize::MAX).next_multiple_of(512);
    }
    end.min(data.len())
}

/// What is in an archive, with the time of its last member of that name.
pub(super) fn times(data: &[u8]) -> HashMap<String, i64> {
    let mut times = HashMap::new();
    for entry in Archive::new(data).entries().into_iter().flatten().flatten() {
        let name = String::from_utf8_lossy(&entry.path_bytes()).trim_end_matches('/').to_owned();
        times.insert(name, i64::try_from(entry.header().mtime().unwrap_or(0)).unwrap_or(i64::MAX));
    }
    times
}

/// Columns that owner and size take at least.
pub(super) const WIDTH: usize = 19;

/// Owner and group of a member, as they are listed.
pub(super) fn owner(header: &Header, numeric: bool) -> String {
    let one = |name: Option<&[u8]>, id: Option<u64>| match name.filter(|name| !name.is_empty() && !numeric) {
        Some(name) => String::from_utf8_lossy(name).into_owned(),
        None => id.unwrap_or(0).to_string(),
    };
    let user = one(header.username_bytes(), header.uid().ok());
    format!("{user}/{}", one(header.groupname_bytes(), header.gid().ok()))
}

/// A line as of `ls -l`. Columns grow to `width`, which the longest line so far had.
pub(super) fn long(
    name: &str,
    stat: &Stat,
    target: Option<(&str, bool)>,
    owner: &str,
    width: &mut usize,
) -> String {
    let mode = mode_text(stat.kind, false, stat.mode);
    let time = DateTime::from_timestamp(stat.mtime_ns.div_euclid(1_000_000_000), 0).unwrap_or_default();
    let (mode, link) = match target {
        Some((target, true)) => (format!("h{}", &mode[1..]), format!(" link to {target}")),
        Some((target, false)) => (mode, format!(" -> {target}")),
        None => (mode, String::new()),
    };
    let size = (if stat.kind == Kind::File { stat.size } else { 0 }).to_string();
    *width = (*width).max(owner.len() + 1 + size.len());
    let columns = *width - owner.len() - 1;
    format!("{mode} {owner} {size:>columns$} {} {name}{link}\n", time.format("%Y-%m-%d %H:%M"))
}

impl Job<'_> {
    pub(super) fn take(&mut self, list: bool) {
        let name = self.plan.archive;
        let data = match self.call.read(name) {
            Ok(data) => data,
            Err(errno) => return self.give_up(&format!("{name}: Cannot open: {errno}")),
        };
        let packing = Packing::of_data(&data);
        if packing == Packing::None && self.plan.packing != Packing::None {
            self.answer.stderr.extend_from_slice(b"\ngzip: stdin: not in gzip format\n");
            return self.give_up("Child returned status 1");
        }
        let mut archive = Archive::new(packing.unpack(&data));
        let wanted: Vec<String> = self.plan.names.iter().map(|(_, name)| name.clone()).collect();
        let mut found = vec![false; wanted.len()];
        let mut made = Made::default();
        // Where the last member ends.
        let mut end = 0;
        let entries = match archive.entries() {
            Ok(entries) => entries,
            Err(error) => return self.broken(&error, packing),
        };
        for entry in entries {
            if self.call.is_over() {
                return;
            }
            let mut entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.broken(&error, packing),
            };
            end = (entry.raw_file_position() + entry.size()).next_multiple_of(512);
            let Some(member) = Member::of(&entry, self.plan.stamp.numeric) else { continue };
            let plain = member.name.trim_end_matches('/');
            let hit = wanted.iter().position(|wanted| {
                let wanted = wanted.trim_end_matches('/');
                plain == wanted
                    || plain.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/'))
                    || glob::matches(wanted, plain)
            });
            if let Some(hit) = hit {
                found[hit] = true;
            }
            if (hit.is_none() && !wanted.is_empty()) || self.is_left_out(plain) {
                continue;
            }
            let moved = match self.moved(&member) {
                Ok(moved) => moved,
                Err(what) => {
                    self.complain(&format!("{}: {what}", member.name));
                    continue;
                }
            };
            if !list && self.plan.asks && !self.agreed("extract", &member.name) {
                continue;
            }
            if list || (self.plan.verbose > 0 && !self.plan.to_stdout) {
                self.show(if self.plan.shows { &moved } else { &member }, list);
            }
            let member = moved;
            if !list {
                let taken = self.extract(&member, &mut entry, &mut made);
                if let Err(error) = taken {
                    return self.broken(&error, packing);
                }
            }
        }
        self.tell_total("read", (end + 1024).next_multiple_of(10_240));
        // Times of directories last: what was put into them has changed them.
        for (path, mtime_ns) in made.times.iter().rev() {
            let _ = self.call.files.set_mtime(path, *mtime_ns, true);
        }
        for (name, _) in wanted.iter().zip(found).filter(|(_, found)| !found) {
            self.complain(&format!("{name}: Not found in archive"));
        }
    }

    /// A member under the names that `--transform` gives it.
    fn moved(&self, member: &Member) -> Result<Member, String> {
        let all = &self.plan.transforms;
        let of = if member.kind == EntryType::Link { Of::Link } else { Of::Symlink };
        let target = member.target.as_ref().map(|target| transform::apply(all, target, of));
        Ok(Member {
            name: transform::apply(all, &member.name, Of::File)?,
            target: target.transpose()?,
            owner: member.owner.clone(),
            ..*member
        })
    }

    fn broken(&mut self, error: &io::Error, packing: Packing) {
        let text = error.to_string();
        let end = error.kind() == io::ErrorKind::UnexpectedEof || text.contains("unexpected end");
        if end {
            if packing == Packing::Gzip {
                self.answer.stderr.extend_from_slice(b"\ngzip: stdin: unexpected end of file\n");
                return self.give_up("Child returned status 1");
            }
            return self.give_up("Unexpected EOF in archive");
        }
        if packing == Packing::None {
            return self.complain("This does not look like a tar archive");
        }
        // The reader quotes what it met, which may be any bytes at any length.
        let why: String = text.chars().take(100).flat_map(char::escape_debug).collect();
        self.give_up(&why);
    }

    fn show(&mut self, member: &Member, list: bool) {
        let link = member.target.as_deref().map(|target| (target, member.kind == EntryType::Link));
        let line = if self.plan.verbose > usize::from(!list) {
            long(&member.name, &member.stat, link, &member.owner, &mut self.width)
        } else {
            format!("{}\n", member.name)
        };
        self.answer.stdout.extend_from_slice(line.as_bytes());
    }

    /// The mode that a member gets.
    fn mode(&self, member: &Member) -> u32 {
        let umask = if self.plan.permissions { 0 } else { self.call.files.umask() };
        member.stat.mode & !umask
    }

    /// An error is one of the archive; others are told and the next member follows.
    fn extract(
        &mut self,
        member: &Member,
        entry: &mut Entry<'_, Box<dyn Read + '_>>,
        made: &mut Made,
    ) -> io::Result<()> {
        let most = self.call.files.quota().file_bytes;
        if member.stat.kind == Kind::File && member.kind != EntryType::Link && member.stat.size > most {
            self.complain(&format!("{}: Cannot write: {}", member.name, Errno::EFBIG));
            return Ok(());
        }
        let inside = self.inside(&member.name);
        let mut parts = inside.split('/').filter(|part| !matches!(*part, "" | "."));
        for _ in 0..self.plan.strip {
            parts.next();
        }
        let parts: Vec<&str> = parts.collect();
        if parts.contains(&"..") {
            self.complain(&format!("{}: Member name contains '..'", member.name));
            return Ok(());
        }
        if parts.is_empty() {
            return Ok(());
        }
        let mut data = Vec::new();
        if member.kind.is_file() || member.kind.is_contiguous() || member.kind.is_gnu_sparse() {
            // Its size has been looked at; that of a sparse one is not what is in the archive.
            entry.take(most + 1).read_to_end(&mut data)?;
            if data.len() as u64 > most {
                self.complain(&format!("{}: Cannot write: {}", member.name, Errno::EFBIG));
                return Ok(());
            }
        }
        if self.plan.to_stdout {
            self.answer.stdout.extend_from_slice(&data);
            return Ok(());
        }
        let base = if self.plan.absolute && member.name.starts_with('/') { "/" } else { &self.plan.dir };
        let path = join(base, &parts.join("/"));
        match self.make(member, &path, &parts, &data, made) {
            Ok(()) => {}
            Err(Errno::EEXIST) if self.plan.keep => {
                self.complain(&format!("{}: Cannot open: {}", member.name, Errno::EEXIST));
            }
            Err(errno) => {
                let verb = match member.stat.kind {
                    Kind::Dir => "mkdir",
                    Kind::Symlink => "create symlink",
                    Kind::File => "open",
                };
                self.complain(&format!("{}: Cannot {verb}: {errno}", member.name));
            }
        }
        Ok(())
    }

    fn make(
        &self,
        member: &Member,
        path: &str,
        parts: &[&str],
        data: &[u8],
        made: &mut Made,
    ) -> Result<(), Errno> {
        let files = self.call.files;
        new_name(path)?;
        // An archive does not lead out of its directory through a link of its own.
        let mut above = path[..path.len() - parts.join("/").len()].to_owned();
        for part in &parts[..parts.len() - 1] {
            above = join(&above, part);
            if made.links.contains(&above) {
                return Err(Errno::ENOTDIR);
            }
        }
        files.make_dirs(if above.is_empty() { "/" } else { above.trim_end_matches('/') })?;
        let there = files.stat(path, false);
        if member.kind.is_dir() {
            if !there.is_ok_and(|there| there.kind == Kind::Dir) {
                if files.stat(path, true).is_ok_and(|there| there.kind == Kind::Dir) {
                    return Ok(());
                }
                let _ = files.unlink(path);
                files.mkdir(path)?;
            }
            files.chmod(path, self.mode(member) & 0o7777)?;
            made.times.push((path.to_owned(), member.stat.mtime_ns));
            return Ok(());
        }
        match there {
            Ok(there) if there.kind == Kind::Dir => return Err(Errno::EISDIR),
            Ok(_) if self.plan.keep => return Err(Errno::EEXIST),
            Ok(_) => files.unlink(path)?,
            Err(_) => {}
        }
        if let Some(target) = &member.target {
            if member.kind == EntryType::Symlink {
                files.symlink(new_name(target)?, path)?;
                made.links.insert(path.to_owned());
                return Ok(());
            }
            let plain = target.trim_start_matches('/');
            if plain.split('/').any(|part| part == "..") {
                return Err(Errno::EPERM);
            }
            let stripped: Vec<&str> = plain.split('/').skip(self.plan.strip).collect();
            return files.link(&absolute(&self.plan.dir, &stripped.join("/")), path);
        }
        files.write_new(path, data, self.mode(member) & 0o777)?;
        if self.plan.permissions {
            files.chmod(path, self.mode(member))?;
        }
        if !self.plan.touch {
            files.set_mtime(path, member.stat.mtime_ns, true)?;
        }
        Ok(())
    }
}

/// What an archive has made so far.
#[derive(Default)]
struct Made {
    /// Symbolic links.
    links: HashSet<String>,
    /// Directories, with the times that they are to have.
    times: Vec<(String, i64)>,
}

impl Member {
    /// `None` for what is no file: devices, comments of the archive.
    fn of<R: Read>(entry: &Entry<'_, R>, numeric: bool) -> Option<Self> {
        let header = entry.header();
        let kind = header.entry_type();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (node, target) = match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => (Kind::File, None),
            EntryType::Directory => (Kind::Dir, None),
            EntryType::Symlink => (Kind::Symlink, Some(text(&entry.link_name_bytes()?))),
            EntryType::Link => (Kind::File, Some(text(&entry.link_name_bytes()?))),
            _ => return None,
        };
        let stat = Stat {
            ino: 0,
            kind: node,
            mode: header.mode().unwrap_or(0o644) & 0o7777,
            size: entry.size(),
            mtime_ns: i64::try_from(header.mtime().unwrap_or(0)).unwrap_or(0).saturating_mul(1_000_000_000),
            nlink: 1,
        };
        let owner = owner(header, numeric);
        Some(Self { name: text(&entry.path_bytes()), kind, target, stat, owner })
    }
}
