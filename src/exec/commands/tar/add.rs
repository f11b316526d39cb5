//! Files into an archive.

use std::collections::HashMap;
use std::io::{self, Read as _};

use bytes::Bytes;
use tar::{Builder, EntryType, Header};

use super::pack::Packing;
use super::stamp::{Format, parted, record, seal};
use super::transform::{self, Of};
use super::{Job, take};
use crate::exec::commands::{absolute, join, new_name};
use crate::fs::{Errno, Kind, Stat};
use crate::ids::Ino;

/// Bytes of a name in a header. A longer one goes into a member before its own.
const FIELD: usize = 100;
const LONG: &[u8] = b"././@LongLink";

/// The archive that grows.
struct Growing {
    tar: Builder<Vec<u8>>,
    /// Files with several names: inode → the name that has the content.
    linked: HashMap<Ino, String>,
    /// What was in the archive, with its time in seconds: name → time.
    before: HashMap<String, i64>,
    format: Format,
    /// What `--remove-files` takes away, in the order in which it can be.
    added: Vec<(String, Kind)>,
}

impl Job<'_> {
    pub(super) fn add(&mut self, append: bool) {
        if self.plan.names.is_empty() && !append {
            self.answer.complain(2, "tar: Cowardly refusing to create an empty archive");
            self.answer.complain(2, super::TRY);
            return;
        }
        let mut before = Vec::new();
        if append {
            match self.call.read(self.plan.archive) {
                Ok(data) if Packing::of_data(&data) == Packing::None => {
                    before = data[..take::end_of_members(&data)].to_vec();
                }
                Ok(_) => return self.give_up("Cannot update compressed archives"),
                Err(Errno::ENOENT) => {}
                Err(errno) => {
                    return self.give_up(&format!("{}: Cannot open: {errno}", self.plan.archive));
                }
            }
        }
        let mut growing = Growing {
            before: if self.plan.update { take::times(&before) } else { HashMap::new() },
            tar: Builder::new(before),
            linked: HashMap::new(),
            format: self.plan.stamp.format,
            added: Vec::new(),
        };
        for (dir, name) in std::mem::take(&mut self.plan.names) {
            self.member(&dir, &name, &mut growing);
        }
        let Growing { tar, added, .. } = growing;
        let mut total = 0;
        let archive = tar.into_inner().and_then(|archive| {
            // GNU's blocks are of 20 records.
            let mut archive = archive;
            archive.resize(archive.len().next_multiple_of(10_240), 0);
            total = archive.len() as u64;
            self.plan.packing.pack(archive)
        });
        let archive = match archive {
            Ok(archive) => archive,
            Err(error) => return self.give_up(&error.to_string()),
        };
        if self.plan.archive == "-" {
            self.answer.stdout = archive;
        } else {
            let path = self.call.path(self.plan.archive);
            if let Err(errno) = new_name(&path).and_then(|path| self.call.files.write(path, &archive)) {
                return self.give_up(&format!("{}: Cannot open: {errno}", self.plan.archive));
            }
        }
        self.tell_total("written", total);
        if self.plan.remove {
            for (path, kind) in added.iter().rev() {
                let _ = if *kind == Kind::Dir {
                    self.call.files.rmdir(path)
                } else {
                    self.call.files.unlink(path)
                };
            }
        }
    }

    fn member(&mut self, dir: &str, name: &str, growing: &mut Growing) {
        if self.call.is_over() || self.is_left_out(name) {
            return;
        }
        let path = absolute(dir, name);
        let stat = match self.call.files.stat(&path, self.plan.follow) {
            Ok(stat) => stat,
            Err(errno) => return self.complain(&format!("{name}: Cannot stat: {errno}")),
        };
        let archive = self.call.files.stat(&self.call.path(self.plan.archive), true);
        if stat.kind == Kind::File && archive.is_ok_and(|archive| archive.ino == stat.ino) {
            let line = format!("tar: {name}: file is the archive; not dumped\n");
            self.answer.stderr.extend_from_slice(line.as_bytes());
            return;
        }
        let inside = self.inside(name);
        let stored = match stat.kind {
            Kind::Dir => format!("{}/", inside.trim_end_matches('/')),
            _ => inside,
        };
        let known = growing.before.get(stored.trim_end_matches('/'));
        let is_old =
            known.is_some_and(|&time| stat.kind == Kind::Dir || self.plan.stamp.seconds(&stat) <= time);
        // The root itself.
        if stored != "/" && !is_old {
            if self.plan.asks && !self.agreed("add", stored.trim_end_matches('/')) {
                return;
            }
            if let Err(what) = self.put(&path, &stored, &stat, growing) {
                return self.complain(&format!("{name}: {what}"));
            }
            growing.added.push((path.clone(), stat.kind));
        }
        if stat.kind == Kind::Dir && self.plan.recursive {
            match self.call.files.read_dir(&path) {
                Ok(entries) => {
                    for (entry, _) in entries {
                        self.member(dir, &join(name, &entry), growing);
                    }
                }
                Err(errno) => self.complain(&format!("{name}: Cannot open: {errno}")),
            }
        }
    }

    /// A name as it is in the archive.
    fn transformed(&self, name: &str, of: Of) -> Result<String, String> {
        if self.plan.transforms.is_empty() {
            return Ok(name.to_owned());
        }
        let plain = name.strip_suffix('/').filter(|plain| !plain.is_empty());
        let made = transform::apply(&self.plan.transforms, plain.unwrap_or(name), of)?;
        Ok(if plain.is_some() { format!("{}/", made.trim_end_matches('/')) } else { made })
    }

    /// The list of what goes in.
    fn name_it(&mut self, shown: &str, stat: &Stat, header: &Header) {
        let line = if self.plan.verbose > 1 {
            let owner = take::owner(header, self.plan.stamp.numeric);
            let mode = header.mode().unwrap_or(stat.mode);
            let stat =
                Stat { mtime_ns: self.plan.stamp.seconds(stat).saturating_mul(1_000_000_000), mode, ..*stat };
            take::long(shown, &stat, None, &owner, &mut self.width)
        } else {
            format!("{shown}\n")
        };
        self.listed().extend_from_slice(line.as_bytes());
    }

    fn put(&mut self, path: &str, stored: &str, stat: &Stat, growing: &mut Growing) -> Result<(), String> {
        let name = self.transformed(stored, Of::File)?;
        if name.trim_end_matches('/').is_empty() {
            return Ok(());
        }
        let mut header = self.plan.stamp.header(stat).map_err(|error| error.to_string())?;
        let first = match stat.kind {
            Kind::File if stat.nlink > 1 => growing.linked.get(&stat.ino).cloned(),
            _ => None,
        };
        let (kind, target, data) = match (stat.kind, first) {
            (_, Some(first)) => (EntryType::Link, self.transformed(&first, Of::Link)?, Bytes::new()),
            (Kind::Dir, _) => (EntryType::Directory, String::new(), Bytes::new()),
            (Kind::Symlink, _) => {
                let target = self.call.files.read_link(path).map_err(|errno| errno.to_string())?;
                (EntryType::Symlink, self.transformed(&target, Of::Symlink)?, Bytes::new())
            }
            (Kind::File, _) => {
                let data = self.call.files.read(path).map_err(|errno| format!("Cannot open: {errno}"))?;
                growing.linked.insert(stat.ino, stored.to_owned());
                (EntryType::Regular, String::new(), data)
            }
        };
        header.set_entry_type(kind);
        header.set_size(data.len() as u64);
        if self.plan.verbose > 0 {
            let shown = if self.plan.shows { name.clone() } else { stored.to_owned() };
            self.name_it(&shown, stat, &header);
        }
        growing.append(header, &name, &target, &data)
    }
}

impl Growing {
    /// Writes a member under any name: the crate's own way to do so takes no absolute ones.
    fn append(&mut self, header: Header, name: &str, target: &str, data: &[u8]) -> Result<(), String> {
        match self.format {
            Format::Gnu => self.append_gnu(header, name, target, data).map_err(|error| error.to_string()),
            format => self.append_ustar(header, name, target, data, format == Format::Pax),
        }
    }

    fn append_ustar(
        &mut self,
        mut header: Header,
        name: &str,
        target: &str,
        data: &[u8],
        extended: bool,
    ) -> Result<(), String> {
        let mut records = String::new();
        let fields = header.as_ustar_mut().ok_or("no ustar header")?;
        fields.dev_major = *b"0000000\0";
        fields.dev_minor = *b"0000000\0";
        match parted(name) {
            Ok((prefix, rest)) if !extended || name.is_ascii() => {
                fields.prefix[..prefix.len()].copy_from_slice(prefix.as_bytes());
                fields.name[..rest.len()].copy_from_slice(rest.as_bytes());
            }
            Err(what) if !extended => return Err(what),
            _ => {
                records += &record("path", name);
                let length = name.len().min(FIELD);
                fields.name[..length].copy_from_slice(&name.as_bytes()[..length]);
            }
        }
        if target.len() > FIELD || (extended && !target.is_ascii()) {
            if !extended {
                return Err("link name is too long; not dumped".to_owned());
            }
            records += &record("linkpath", target);
        }
        let length = target.len().min(FIELD);
        fields.linkname[..length].copy_from_slice(&target.as_bytes()[..length]);
        seal(&mut header);
        let mut write = || {
            if !records.is_empty() {
                let mut before = Header::new_ustar();
                let place = b"././@PaxHeader";
                let fields = before.as_ustar_mut().ok_or_else(|| io::Error::other("no ustar header"))?;
                fields.name[..place.len()].copy_from_slice(place);
                before.set_entry_type(EntryType::XHeader);
                before.set_mode(0o644);
                before.set_size(records.len() as u64);
                seal(&mut before);
                self.tar.append(&before, records.as_bytes())?;
            }
            self.tar.append(&header, data)
        };
        write().map_err(|error: io::Error| error.to_string())
    }

    fn append_gnu(&mut self, mut header: Header, name: &str, target: &str, data: &[u8]) -> io::Result<()> {
        for (text, kind) in [(target, b'K'), (name, b'L')] {
            if text.len() > FIELD {
                let mut long = Header::new_gnu();
                long.as_gnu_mut().expect("as it was made").name[..LONG.len()].copy_from_slice(LONG);
                long.set_entry_type(EntryType::new(kind));
                long.set_mode(0o644);
                long.set_uid(0);
                long.set_gid(0);
                long.set_mtime(0);
                long.set_username("root")?;
                long.set_groupname("root")?;
                long.set_size(text.len() as u64 + 1);
                seal(&mut long);
                self.tar.append(&long, text.as_bytes().chain(&b"\0"[..]))?;
            }
        }
        let fields = header.as_gnu_mut().expect("as it was made");
        for (field, text) in [(&mut fields.name, name), (&mut fields.linkname, target)] {
            let length = text.len().min(FIELD);
            field[..length].copy_from_slice(&text.as_bytes()[..length]);
        }
        seal(&mut header);
        self.tar.append(&header, data)
    }
}
